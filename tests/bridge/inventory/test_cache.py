"""The cache: with it all is the same as without."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.publication import Dumps
from repo_bridge.inventory.cache import Cache, cache_key_of
from repo_bridge.result import Result
from tests.bridge.support.days import Stand, lives
from tests.bridge.support.press import SET, Press, shelf
from tests.bridge.support.repository import Container, Sample, Value

LONG = settings().max_examples > 1_000
ALL_DUMPS = Dumps(resourcedump=True, changedump=True)

_HOW = ("write", "other", "remove", "touch", "link")


def tamper(file: Path, how: str) -> None:
    """Let a file of a record not be as it was left."""
    data = file.read_bytes()
    if how == "touch":
        os.utime(file, ns=(0, 0))
        return
    file.unlink()
    if how == "write":
        file.write_bytes(data + b"<!-- more -->")
    elif how == "other":
        file.write_bytes(b"?" * len(data))
        os.utime(file, (1, 1))
    elif how == "link":
        file.symlink_to(file.with_suffix(".not-there"))


def same(outcome: Result) -> Result:
    """Return an outcome but for its time."""
    return replace(outcome, seconds=0)


_options = st.fixed_dictionaries(
    {
        "sets_by": st.sampled_from(["", "", "collection"]),
        "metadata": st.sampled_from([("oai_dc",), ("oai_dc",), ("oai_dc", "mods")]),
        "bundles": st.sampled_from([("ORIGINAL",), ("ORIGINAL",), ("ORIGINAL", "TEXT")]),
        "dumps": st.sampled_from([Dumps(), ALL_DUMPS]),
    }
)


@settings(max_examples=2_000 if LONG else 4, deadline=None)
@given(
    lives(),
    st.lists(_options, min_size=2, max_size=2),
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(_HOW)), max_size=3),
)
def test_all_is_the_same_without(life: list[Stand], some: list[dict[str, Any]], harm: list[tuple[int, str]]) -> None:
    """Day by day upon the same output, with the cache and without: the same bytes, whatever was done to the records."""
    with TemporaryDirectory() as folder:
        press = Press(Path(folder), life[0].version)
        for number, stand in enumerate(life):
            options = some[min(number, 1) if harm else 0]
            for place, how in harm if number else ():
                records = sorted(file for file in press.records.rglob("*") if file.is_file())
                tamper(records[place % len(records)], how)
            lone = press.without_cache(f"lone{number}")
            told = press.publish(stand.rows(), number, allow_deletions=True, **options)
            assert same(lone.publish(stand.rows(), number, allow_deletions=True, **options)) == same(told)
            assert press.files() == lone.files()
            assert press.findings() == {}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Press:
    """Return a press that has published, to copy."""
    press = Press(tmp_path_factory.mktemp("published"))
    press.publish(shelf(*range(1, 20)))
    assert {each.name for each in press.kept.iterdir()} == {"index.json", "inventory.db", "listing-0.db"}
    return press


@pytest.fixture
def press(published: Press, tmp_path: Path) -> Press:
    """Return a press that has published."""
    return Press(shutil.copytree(published.folder, tmp_path / "press"))


@pytest.fixture(scope="module")
def without(published: Press, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what comes of the edited repository without the cache."""
    lone = Press(tmp_path_factory.mktemp("lone"))
    shutil.copytree(published.public, lone.public)
    lone.publish(edited(), 1)
    return lone.files()


def edited() -> Sample:
    """Return the repository with one item edited."""
    sample = shelf(*range(1, 20))
    sample.items[4].metadata = [Value("dc.title", "Another")]
    return sample


def kept_some(press: Press) -> bool:
    """Tell whether the last publication kept records of items without reading them."""
    return "keeping unchanged records" in press.heard.said[-4:]


def require_same(press: Press, sample: Sample | None = None, **more: Any) -> None:
    """Publish with what is kept and without; the same has to come of both."""
    lone = press.without_cache("lone")
    press.publish(sample or edited(), 1, **more)
    lone.publish(sample or edited(), 1, **more)
    assert press.files() == lone.files()
    assert press.findings() == {}


def test_used(press: Press) -> None:
    """The inventory of last time is used where nothing it depends on is another; also where a record was lost."""
    next(press.records.rglob("3.xml")).unlink()
    require_same(press)
    assert kept_some(press)
    formats: dict[str, Any] = {"metadata": ("oai_dc", "qdc")}
    other = Press(press.folder / "formats")
    other.publish(shelf(*range(1, 20)), **formats)
    next(other.records.glob("qdc/*/3.xml")).unlink()  # the record in the other format is there
    require_same(other, **formats)
    assert kept_some(other)


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": ("oai_dc", "qdc")},
        {"ui_url": "https://other.example", "allow_deletions": True},
        {"server_url": "https://repo.example/server", "allow_deletions": True},
        {"timezone": ZoneInfo("Pacific/Auckland")},
        {"hidden": frozenset({"dc.title"})},
        {"bundles": (), "allow_deletions": True},
        {"fingerprints": False},
        {"sets_by": "collection"},
        {"dumps": ALL_DUMPS},
        {"assetstore": {0: Path("/nowhere")}, "dumps": ALL_DUMPS},
    ],
    ids=lambda more: next(iter(more)),
)
def test_not_used_where_settings_differ(press: Press, more: dict[str, Any]) -> None:
    """With another setting on which entries depend, all items are read."""
    lone = press.without_cache("lone")
    press.publish(shelf(*range(1, 20)), 1, **more)
    assert not kept_some(press)
    lone.publish(shelf(*range(1, 20)), 1, **more)
    assert press.files() == lone.files()


def test_not_used_where_what_items_share_differs(press: Press) -> None:
    """A collection that comes, or that not everybody may read any more, is seen at all items."""
    sample = edited()
    sample.collections = [Container(1, "A")]
    for item in sample.items:
        item.collections = (1,)
    require_same(press, sample)
    sample.collections[0].policies = []
    lone = press.without_cache("again")
    press.publish(sample, 2)
    lone.publish(sample, 2)
    assert press.files() == lone.files()
    assert "/col1" not in str([item.links for item in press.listed().values()])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *(("index.json", data) for data in (b"", b"{}", b"[]", b"\xff", None)),
        *(("inventory.db", data) for data in (b"", b"\xff" * 50_000, b"SQLite format 3\0", None)),
        *(("listing-0.db", data) for data in (b"SQLite format 3\0", None)),
    ],
)
def test_damaged(press: Press, without: dict[str, bytes], name: str, data: bytes | None) -> None:
    """What is kept and is not what it was left as, or is gone, is not believed."""
    file = press.kept / name
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    press.publish(edited(), 1)
    assert press.files() == without
    if name != "listing-0.db":
        assert not kept_some(press)
    assert json.loads((press.kept / "index.json").read_bytes())["files"].keys() == {"inventory.db", "listing-0.db"}


def test_written_again(press: Press, without: dict[str, bytes]) -> None:
    """A file that somebody else wrote is not believed, even if it has the same length."""
    file = press.kept / "inventory.db"
    file.write_bytes(file.read_bytes())
    press.publish(edited(), 1)
    assert press.files() == without
    assert not kept_some(press)


@pytest.mark.parametrize(
    ("key", "value"), [("tool", "0"), ("format", 0), ("basis", "x"), ("at", None), ("files", 5), ("files", {})]
)
def test_of_another_version(press: Press, without: dict[str, bytes], key: str, value: object) -> None:
    """What another version of the tool left, or nobody knows who, is not believed."""
    file = press.kept / "index.json"
    index = json.loads(file.read_bytes())
    file.write_text(json.dumps({**index, key: value}))
    press.publish(edited(), 1)
    assert press.files() == without
    assert not kept_some(press)


def test_not_used_to_go_back(press: Press) -> None:
    """What was kept later than the time of publication is not believed: no change is told later than that."""
    older, again = press.without_cache("older"), press.without_cache("again")
    sample = edited()
    sample.items[4].last_modified = "2025-06-17T01:00:00+00:00"
    press.publish(sample, 2)
    for each in (press, again):
        each.publish(sample, 1, previous=str(older.public))
    assert press.files() == again.files()
    assert [when for _, _, when in press.changes()] == ["2025-06-16T12:00:00Z"]


def test_listings(press: Press) -> None:
    """The listing of the last publication is known by the digest of that, in the same edition, and no other."""
    cache = Cache(press.beside, SET)
    index = json.loads((press.kept / "index.json").read_bytes())
    (digest,) = index["listings"]
    listing = cache.listing(digest, 2017)
    assert listing is not None
    assert [*listing] == sorted(press.listed())
    listing.close()
    assert cache.listing(digest, 2014) is None
    assert cache.listing("0" * 64, 2017) is None
    assert Cache(press.folder, SET).listing(digest, 2017) is None
    assert Cache(press.beside, "other").listing(digest, 2017) is None


def test_basis() -> None:
    """Whatever differs makes another basis."""
    parts = ("a", ("b",), {"c": 1}, None, 1)
    assert cache_key_of(*parts) == cache_key_of(*parts)
    assert len({cache_key_of(*parts), cache_key_of("a", "b"), cache_key_of("ab"), cache_key_of()}) == 4


def test_beside_is_no_part_of_a_repository(press: Press) -> None:
    """Git is told to leave the folder alone."""
    assert (press.beside / ".resourcesync/.gitignore").read_text() == "*\n"
    Cache(press.beside, SET).drop()
    assert not press.kept.exists()
    require_same(press)


def test_work_that_was_killed_is_removed(press: Press) -> None:
    """What runs that were killed have left is removed when it is old; what may be another's work, or is none, stays."""
    beside = press.beside / ".resourcesync"
    old, new, other = (beside / f"bridge-{name}" for name in (f"{SET}.work-a", f"{SET}.work-b", "other.work-a"))
    for each in (old, new, other):
        each.mkdir()
        (each / "inventory.db").write_bytes(b"large")
        if each != new:
            os.utime(each, (1, 1))
    target, link = press.folder / "target", beside / f"bridge-{SET}.work-link"
    target.mkdir()
    link.symlink_to(target)
    os.utime(target, (1, 1))
    with Cache(press.beside, SET).work_directory():
        assert [each.exists() for each in (old, new, other, link, target)] == [False, True, True, True, True]


@pytest.mark.skipif(os.name != "posix", reason="folders have no such modes here")
def test_nobody_else_looks_into_it(press: Press) -> None:
    """What is kept, and the room that it is made in, are for their owner alone."""
    with Cache(press.beside, SET).work_directory() as room:
        assert [each.stat().st_mode & 0o777 for each in (room, press.kept)] == [0o700, 0o700]
