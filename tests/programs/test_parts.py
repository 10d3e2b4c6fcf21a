"""A Resource List in parts, as of different times: whoever follows ten publications is in step after each."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from pelican_resourcesync.checker import check
from pelican_resourcesync.destination import Mirror as Destination
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.protocol import Limits
from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.mirror import Mirror
from tests.kit.publications import Source
from tests.kit.sources import files_of

LIMITS = Limits(entries=6)


def pages(*numbers: int, version: int = 1) -> dict[str, bytes]:
    """Return the contents of pages with these numbers."""
    return {f"{number:02}.html": b"page %d of version %d" % (number, version) for number in numbers}


#: What is added or replaced on each day, and what is removed.
DAYS: Sequence[tuple[dict[str, bytes], tuple[str, ...]]] = (
    (pages(*range(4)), ()),
    (pages(*range(10, 20)), ()),  # divided
    (pages(3, version=2), ()),  # one part changes
    (pages(*range(30, 40)), ()),
    (pages(19, version=2), ()),
    ({}, tuple(pages(*range(10, 18)))),  # parts vanish
    (pages(*range(50, 53)), ()),
    (pages(0, 52, version=3), ()),
    ({}, tuple(pages(*range(30, 40)))),
    ({}, tuple(pages(1, 2, 18, 19, 50, 51, 52))),  # joined again
)


@pytest.mark.promise("Followed")
def test_ten_publications_in_parts(tmp_path: Path) -> None:
    """The client `resync`, the test client, and the mirror have the same bytes; the checker finds nothing."""
    folder, contents, ats = tmp_path / "public", dict[str, bytes](), []
    with served(folder) as address:
        source, follower, mirror = Source(folder, siteurl=address), Follower(address), Mirror(tmp_path, address)
        for day, (new, gone) in enumerate(DAYS, 1):
            contents = {path: data for path, data in {**contents, **new}.items() if path not in gone}
            for path in gone:
                (folder / path).unlink()
            source.publish(contents, f"2024-01-{day:02}T12:00", limits=LIMITS)
            top = source.document(f"{address}/{source.layout.resource_list}")
            parts = [source.document(each.uri) for each in top.entries] if top.root == "sitemapindex" else [top]
            ats.append({part.md["at"] for part in parts})
            assert max(map(datetime.fromisoformat, ats[-1])) == datetime.fromisoformat(top.md["at"])
            report = check(address, deep=True)
            assert [*report.findings.groups()] == []
            assert (follower.incremental() if day > 1 else follower.baseline()) == []
            assert follower.audit() == []
            result = Destination(address, tmp_path / "mirrored", MirrorOptions(sync=False, max_deletions=100)).run()
            assert (result.complete, result.plan.notes) == (True, [])
            assert files_of(tmp_path / "mirrored") == contents
            mirror.run("--baseline", "--delete")
            assert mirror.files() == contents
            assert mirror.audit().startswith("IN SYNC ")
    assert len(ats[0]) == len(ats[-1]) == 1
    assert max(map(len, ats)) >= 3
