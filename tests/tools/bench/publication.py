"""Publishes a made set: `python -m tests.tools.bench.publication PROGRAM FOLDER COUNT …`.

The resources are COUNT, in files of 1,000 bytes if there are to be dumps, otherwise without. The history has a number
of Change Lists, each with ten changes.
"""

import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from pathlib import Path

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import (
    Calendar,
    Change,
    ChangeHistory,
    FileResources,
    Layout,
    Options,
    PageOptions,
    PublishRequest,
    Representation,
    Resource,
    publish_sets,
    read_previous,
)
from pelican_resourcesync.settings import Dumps

SITEURL = "https://example.org"
CHANGED, EACH = 100, 10
_LAYOUT = Layout(SITEURL)
_BEGIN = datetime(2020, 1, 1, 12, tzinfo=UTC)


def write_files(folder: Path, count: int, changed: int = 0) -> None:
    """Write the files of the resources, the first of which are `changed`."""
    for number in range(count):
        file = folder / "output" / _name(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_bytes(number, changed=number < changed))


def make(folder: str, count: str, changed: str = "100", dumps: str = "") -> FileResources:
    """Make the resources, as a caller of `publish_sets` does, the first of which are `changed`."""
    return FileResources(_resources(Path(folder), int(count), int(changed), in_files=bool(dumps)))


def _resources(folder: Path, count: int, changed: int, *, in_files: bool) -> Iterator[Resource]:
    for number in range(count):
        data = _bytes(number, changed=number < changed)
        measured = Representation.measured(sha256(data).hexdigest(), len(data), "text/html")
        file = folder / "output" / _name(number) if in_files else None
        yield Resource(f"{SITEURL}/{_name(number)}", file, None, measured)


def _name(number: int) -> str:
    return f"pages/{number % 100}/{number:07}.html"


def _bytes(number: int, *, changed: bool) -> bytes:
    words = f"{number} weighs more than {number // 7}, and {number * 13} less than that. "
    return f"{words * 20:.999}{int(changed)}".encode()


def first(folder: str, count: str, lists: str = "0", dumps: str = "") -> None:
    """Publish for the first time, with so many Change Lists after those in which all resources are created."""
    changes = [
        Change(_BEGIN - timedelta(days=1), f"{SITEURL}/{_name(number)}", ChangeKind.CREATED)
        for number in range(int(count) if int(lists) else 0)
    ]
    changes += [
        Change(_BEGIN + timedelta(days=day), f"{SITEURL}/{_name((day * EACH + each) % int(count))}", ChangeKind.UPDATED)
        for day in range(int(lists))
        for each in range(EACH)
    ]
    built = _BEGIN + timedelta(days=int(lists))
    history = ChangeHistory(built=built, changes=changes, landed=built, complete=int(lists) > 0)
    _publish(folder, make(folder, count, "0", dumps), history, dumps)


def following(folder: str, count: str, dumps: str = "") -> None:
    """Publish with some resources changed."""
    built = _BEGIN + timedelta(days=2_000)
    _publish(folder, make(folder, count, str(CHANGED), dumps), ChangeHistory(built=built, landed=built), dumps)


def directory(folder: str) -> None:
    """Hash the files of a folder and publish them."""
    output = Path(folder, "output")
    top = len(str(output))
    found = (Resource(f"{SITEURL}{str(file)[top:]}", file) for file in output.rglob("*.html"))
    _publish(folder, FileResources(found), ChangeHistory(built=_BEGIN, complete=False), "")


def _publish(folder: str, resources: FileResources, history: ChangeHistory, dumps: str) -> None:
    output = Path(folder, "output")
    output.mkdir(parents=True, exist_ok=True)
    request = PublishRequest(
        resources=resources,
        history=history,
        boundaries=Calendar("day"),
        options=Options(
            output=output,
            layout=_LAYOUT,
            dumps=Dumps(resourcedump=bool(dumps), changedump=bool(dumps)),
            page=PageOptions(compiled=Path(folder, "templates")),  # as all publishers of sites do
        ),
        previous=read_previous(output, _LAYOUT),
    )
    publish_sets([request])


def bare_directory(folder: str) -> None:
    """Scan a folder, hash its files, and write a line for each: the least that a list of it costs."""
    with Path(folder, "bare.xml").open("wb") as stream:
        for file in sorted(Path(folder, "output").rglob("*.html")):
            data = file.read_bytes()
            digest = md5(data, usedforsecurity=False).hexdigest()
            line = f'<url><loc>{SITEURL}/{file}</loc><rs:md hash="md5:{digest}" length="{len(data)}"/></url>\n'
            stream.write(line.encode())


def bare_zip(folder: str) -> None:
    """Pack the files of a folder with `zipfile`."""
    with zipfile.ZipFile(Path(folder, "bare.zip"), "w", zipfile.ZIP_DEFLATED) as package:
        for file in sorted(Path(folder, "output").rglob("*.html")):
            package.write(file, file.relative_to(folder).as_posix())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
