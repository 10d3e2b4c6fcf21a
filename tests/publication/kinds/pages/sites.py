"""Publications to look at: of many sizes, with names that try to break the page."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.publications import CREATED, DELETED, SITEURL, UPDATED, Source, utc

HOSTILE = '</title><script>document.title = "taken"</script>&amp;"\' ' + "long" * 500
BEGIN = utc("2020-01-03T08:00")
LONG_AGO = utc("2000-01-03T08:00")  # where a long history begins, which must not end in the future


def counts(ranges: int) -> Sequence[tuple[int, int, int]]:
    """Return how many resources each month creates, updates and deletes."""
    return [(4 + number % 5, number % 7, 1 if number % 3 == 2 else 0) for number in range(ranges)]


def publish(output: Path, ranges: int, more: int = 0, **options: Any) -> Source:
    """Publish a history of so many months: what `counts` says, and `more` resources at its beginning."""
    source = Source(output)
    contents = {f"more/{number}.txt": b"more" for number in range(more)}
    begin = BEGIN if ranges < 60 else LONG_AGO
    changes = [Change(begin, f"{SITEURL}/{path}", CREATED) for path in contents]
    for month, (created, updated, deleted) in enumerate(counts(ranges)):
        time = begin + month * timedelta(days=30.44)
        for number in range(created):
            path = f"{month}/page-{number}.html"
            contents[path] = path.encode()
            changes.append(Change(time + timedelta(seconds=number), f"{SITEURL}/{path}", CREATED))
        changes += [
            Change(time + timedelta(minutes=number + 1), f"{SITEURL}/0/page-1.html", UPDATED)
            for number in range(updated)
        ]
        for number in range(deleted):
            contents.pop(f"{month}/page-{number}.html")
            changes.append(Change(time + timedelta(hours=1), f"{SITEURL}/{month}/page-{number}.html", DELETED))
    at = changes[-1].time if changes else begin
    history = ChangeHistory(built=at, changes=changes, commit="c" * 40, landed=at)
    source.publish(contents, history, **options)
    return source


def everything(**options: Any) -> dict[str, Any]:
    """Return options with all documents."""
    return {
        "site_name": "A site",
        "dumps": Dumps(resourcedump=True, changedump=True),
        "archives": Archives(resourcelist=3, resourcedump=3),
        **options,
    }
