"""Change Dumps: when the first one begins (what they hold: test_writer; how many there are: test_archives)."""

import json
import re
import zlib
from typing import Any
from unittest.mock import patch

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.kinds.dumps import begin_of_dumps
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Representation
from pelican_resourcesync.settings import Dumps
from tests.kit.publications import DELETED, EVERYTHING, STATE, Source, change, utc
from tests.kit.work import counted

HELD = Representation(length=1)


def test_begin_by_hand() -> None:
    """After the last change of which there are no bytes, and only if there are any of a later one."""
    january, february, march = (f"2024-0{month}-05T12:00" for month in (1, 2, 3))
    ranges = [Range(start=utc("2024-01-01"))]
    built = change(february, "a.html", representation=HELD)
    gone = change(march, "a.html", DELETED)
    assert begin_of_dumps([built, gone], ranges) == utc("2024-01-01")
    assert begin_of_dumps([change(january, "b.html"), built, gone], ranges) == utc(january)
    assert begin_of_dumps([built, change(march, "b.html")], ranges) is None
    assert begin_of_dumps([gone], ranges) is None
    assert begin_of_dumps([], []) is None


def test_a_package_costs_its_own_changes(source: Source) -> None:
    """However many packages there are, only the changes are packed, and no earlier package is opened."""
    options: dict[str, Any] = {"dumps": Dumps(changedump=True)}
    contents = {f"{number}.html": b"%d" % number for number in range(20)}
    source.publish(contents, "2024-01-01T12:00", **options)
    for day in (2, 3, 4, 5):
        contents["0.html"] = contents["1.html"] = b"day %d" % day
        with counted() as work, patch("zlib.compressobj", wraps=zlib.compressobj) as deflating:
            source.publish(contents, f"2024-01-0{day}T12:00", **options)
        assert deflating.call_count == 2 + 1  # and the manifest
        opened = {path.name: count for path, count in work.opened.items() if path.suffix == ".zip"}
        new = f"changedump-2024010{day}T120000Z.zip"
        assert opened.keys() == {new}


def test_package_without_its_manifest_is_damaged(source: Source) -> None:
    """It may have bytes of what is withdrawn: a manifest that the state does not list is not an empty one."""
    source.publish({"a.html": b"a", "b.html": b"b"}, "2024-01-05T12:00", **EVERYTHING)
    state = source.state()
    [manifest] = (path for path in state["documents"] if path.endswith("-manifest.xml"))
    del state["documents"][manifest]
    (source.output / STATE).write_text(json.dumps(state))
    with pytest.raises(PublicationError, match=rf"damaged .{manifest} is not listed in {STATE}.: upload it again"):
        source.publish({"a.html": b"a"}, "2024-01-06T12:00", **EVERYTHING, remove_deleted=True)


@pytest.mark.parametrize(
    ("name", "attribute", "what"),
    [
        ("changedump.xml", "from", r"changedump.xml lists \S+ without a from time"),
        ("changedump-20240105T120000Z.xml", "from", r"lists the package \S+ without a from or until time"),
        ("changedump-20240105T120000Z.xml", "until", r"lists the package \S+ without a from or until time"),
    ],
)
@pytest.mark.parametrize("all_attributes", [False, True])
def test_dumps_that_are_not_ours(source: Source, name: str, attribute: str, what: str, all_attributes: bool) -> None:
    """A Change Dump or package without its times is refused with a message, and what was published stays."""
    source.publish({"a.html": b"a"}, "2024-01-05T12:00", **EVERYTHING)
    source.publish({"a.html": b"b"}, "2024-01-06T12:00", **EVERYTHING)
    file = source.output / "resourcesync/site" / name
    head, entries = file.read_text().split("</loc>\n")
    left_out = r"    <rs:md .*\n" if all_attributes else f' {attribute}="[^"]*"'
    file.write_text(f"{head}</loc>\n{re.sub(left_out, '', entries)}")
    source.reseal()
    before = source.documents()
    with pytest.raises(PublicationError, match=f"damaged .*{what}"):
        source.publish({"a.html": b"c"}, "2024-01-07T12:00", **EVERYTHING)
    assert source.documents() == before
