"""Publishes a set of resources that are made while they are asked for, and prints what that took: run by `test_scale`.

`python -m tests.tools.large.publication FOLDER COUNT CHANGED DAY` publishes COUNT resources, the first CHANGED of which
changed on that day of 2024, into FOLDER/output, after what is there. It prints, as JSON, how many resources are
listed, how many changes are new, and the most memory that the process has ever had, in MB (Linux: VmHWM, all of Python
in it). With a COUNT of 0 nothing is published: that is what Python takes.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import PublishRequest, publish_sets, read_previous
from pelican_resourcesync.publication.model.history import ChangeHistory
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Calendar
from pelican_resourcesync.publication.model.resource import (
    Representation,
    Resource,
    Resources,
    Row,
    render_links,
    render_representation,
    render_time,
)
from tests.kit.publications import LAYOUT, SITEURL, utc

_NAME = re.compile(rf"{SITEURL}/resource/(\d{{7}})\.xml")


class Generated(Resources):
    """So many resources, none of which is held; every third has no hash. The first `changed` changed on a day."""

    def __init__(self, count: int, changed: int, at: datetime) -> None:
        """Take how many, how many of them changed, and when."""
        self._count, self._changed, self._at = count, changed, at

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Make one after another."""
        first, last = (_NAME.fullmatch(uri or "") for uri in (begin, end))
        for number in range(int(first[1]) if first else 0, int(last[1]) if last else self._count):
            each = self._make(number)
            said = render_representation(each.measured or Representation())
            yield Row(each.uri, said, render_links(each.links), render_time(each.modified))

    def get(self, uri: str) -> Resource | None:
        """Make the one that is asked for."""
        found = _NAME.fullmatch(uri)
        return self._make(int(found[1])) if found and int(found[1]) < self._count else None

    def times(self, uris: Mapping[str, str]) -> dict[str, datetime]:
        """Return when resources changed."""
        found = ((uri, self.get(uri)) for uri in uris)
        return {uri: each.modified for uri, each in found if each and each.modified}

    def _make(self, number: int) -> Resource:
        uri, changed = _uri(number), number < self._changed
        said = Representation.measured(sha256(f"{number} {changed}".encode()).hexdigest(), 1_000, "application/xml")
        links = tuple(Link(href=f"{SITEURL}/{name}/{number}", rel=name) for name in ("collection", "describedby"))
        time = self._at if changed else utc("2024-01-01T12:00") + timedelta(milliseconds=number)
        return Resource(uri, None, time, said if number % 3 else said._replace(hash=None), links)


def _uri(number: int) -> str:
    return f"{SITEURL}/resource/{number:07}.xml"


def main(folder: str, count: str, changed: str, day: str) -> None:
    """Publish and print."""
    output = Path(folder, "output")
    built = utc(f"2024-02-{int(day):02}T12:00")
    found = {"resources": 0, "changes": 0}
    Path(folder).mkdir(exist_ok=True)
    if int(count):
        resources = Generated(int(count), int(changed), built)
        previous = read_previous(output, LAYOUT)
        [made] = publish_sets(
            [
                PublishRequest(
                    resources=resources,
                    history=ChangeHistory(built=built, complete=False, times=resources.times),
                    boundaries=Calendar("month"),
                    options=Options(output=output, layout=LAYOUT),
                    previous=previous,
                )
            ]
        )
        found = {"resources": made.resources, "changes": made.changes}
    status = Path("/proc/self/status").read_text("ascii")
    memory = int((re.search(r"VmHWM:\s+(\d+)", status) or [0, 0])[1]) // 1024
    print(json.dumps(found | {"memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
