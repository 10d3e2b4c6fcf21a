"""Publishes a made set: `python -m tests.bench.publication PROGRAM FOLDER COUNT …`.

Each resource has a file of 1,000 bytes if there are dumps, otherwise none. The history has a number of Change Lists,
each with ten changes.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import (
    Archives,
    Calendar,
    Change,
    ChangeHistory,
    Dumps,
    FileResources,
    Layout,
    Options,
    Publication,
    Representation,
    Request,
    Resource,
    publish_sets,
    read_previous,
)

SITEURL = "https://example.org"
LAYOUT = Layout(SITEURL)
CHANGED, TIMES = 100, 10
_BEGIN = datetime(2020, 1, 1, 12, tzinfo=UTC)


def make(folder: str, count: str, changed: str = "100", files: str = "") -> FileResources:
    """Make the resources, as a caller of `publish_sets` does, the first of which are `changed`."""
    return FileResources(_resources(Path(folder), int(count), int(changed), bool(files)))


def _resources(folder: Path, count: int, changed: int, files: bool) -> Iterator[Resource]:
    for number in range(count):
        data = _bytes(number, number < changed)
        said = Representation.measured(sha256(data).hexdigest(), len(data), "text/html")
        file = folder / "output" / _name(number) if files else None
        yield Resource(f"{SITEURL}/{_name(number)}", file, None, said)


def _name(number: int) -> str:
    return f"pages/{number % 100}/{number:07}.html"


def _bytes(number: int, changed: bool) -> bytes:
    return f"{number:999}{int(changed)}".encode()


def first(folder: str, count: str, lists: str, files: str = "") -> None:
    """Publish for the first time, with so many Change Lists."""
    changes = [
        Change(
            _BEGIN + timedelta(days=day), f"{SITEURL}/{_name((day * TIMES + each) % int(count))}", ChangeKind.UPDATED
        )
        for day in range(int(lists))
        for each in range(TIMES)
    ]
    if files:
        _write(Path(folder), int(count), 0)
    built = _BEGIN + timedelta(days=int(lists))
    history = ChangeHistory(built=built, changes=changes, landed=built, complete=int(lists) > 0)
    _publish(folder, make(folder, count, "0", files), history, files)


def change(folder: str, count: str) -> None:
    """Write the files that change."""
    _write(Path(folder), min(CHANGED, int(count)), CHANGED)


def _write(folder: Path, count: int, changed: int) -> None:
    for number in range(count):
        file = folder / "output" / _name(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_bytes(number, number < changed))


def following(folder: str, count: str, files: str = "", changed: str = "100") -> None:
    """Publish with some resources changed."""
    resources = make(folder, count, changed, files)
    built = _BEGIN + timedelta(days=2_000)
    _publish(folder, resources, ChangeHistory(built=built, landed=built), files)


def _publish(folder: str, resources: FileResources, history: ChangeHistory, files: str) -> Publication:
    output = Path(folder, "output")
    output.mkdir(parents=True, exist_ok=True)
    dumps = Dumps(resourcedump=bool(files), changedump=bool(files))
    options = Options(output=output, layout=LAYOUT, dumps=dumps, archives=Archives())
    request = Request(
        resources=resources,
        history=history,
        boundaries=Calendar("day"),
        options=options,
        previous=read_previous(output, LAYOUT),
    )
    [publication] = publish_sets([request])
    return publication


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
