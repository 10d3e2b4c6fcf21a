"""The past of a publication that began without it: whatever is known of it, it comes before, and adds up."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import Change, ChangeHistory, RangeBoundaries
from pelican_resourcesync.publication.model.ranges import Calendar
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.examples import examples
from tests.kit.publications import CREATED, DELETED, SITEURL, UPDATED, Source, change, tree, utc
from tests.kit.sources import following
from tests.kit.strategies import some_boundaries as boundaries
from tests.kit.strategies import some_times as times
from tests.kit.watching import Watch, time_of

PATHS = ("a.html", "b.txt", "c/d.png", "e.txt", "f.html")
FIRST = utc("2024-02-10T12:00")
_MIRROR = MirrorOptions(sync=False, max_deletions=100)
_contents = st.dictionaries(st.sampled_from(PATHS), st.sampled_from([b"one", b"two"]), max_size=5)
_past = st.lists(
    st.builds(
        lambda time, path, kind: Change(time, f"{SITEURL}/{path}", kind),
        times,
        st.sampled_from(PATHS),
        st.sampled_from([CREATED, CREATED, UPDATED, DELETED]),
    ),
    max_size=12,
)


def history(at: datetime, **known: Any) -> ChangeHistory:
    """Return the history of a build of a commit that landed then."""
    return ChangeHistory(built=at, commit=f"c{at}", landed=at, **known)


class Watcher:
    """A mirror and a program without a copy, which began with the same publication."""

    def __init__(self, source: Source, folder: Path) -> None:
        """Begin now."""
        self._source, self._folder = source, folder
        self._held: dict[str, bytes] = {}
        self._cursor: str | None = None
        self.go_on()

    def go_on(self) -> list[str]:
        """Follow; return the URIs of all that came."""
        expected = {uri: self._source.output / uri.removeprefix(f"{SITEURL}/") for uri in self._source.resource_list()}
        result = Mirror(str(self._source.output), self._folder, _MIRROR).run()
        assert (result.complete, result.plan.notes) == (True, [])
        assert not Mirror(str(self._source.output), self._folder, _MIRROR).audit()
        came, changes = [], following(str(self._source.output), self._cursor, _MIRROR)
        for each in changes:
            data = each.content.read() if each.content else None
            assert each.kind != "reset"
            assert data != self._held.pop(each.uri, None)
            self._held |= {each.uri: data} if data is not None else {}
            came.append(each.uri)
        assert self._held == {uri: file.read_bytes() for uri, file in expected.items()}
        self._cursor = changes.cursor
        return [*came, *["mirrored"] * (result.fetched + result.deleted)]


def check_past(source: Source) -> None:
    """Everything before the first publication is listed as before it, in ranges without gaps, and all adds up."""
    there: dict[str, str | None] = {}
    lists = source.change_lists()
    for item, each in lists:
        start = datetime.fromisoformat(each.md["from"])
        until = datetime.fromisoformat(each.md.get("until", "9999-12-31T00:00:00Z"))
        assert item.md == {key: each.md[key] for key in ("from", "until") if key in each.md}
        assert all(start < time_of(change) <= until for change in each.entries)
        for change_ in each.entries:
            assert (change_.uri in there) == (change_.md["change"] != "created")
            there[change_.uri] = change_.lastmod
            if change_.md["change"] == "deleted":
                del there[change_.uri]
    for (_, one), (_, other) in pairwise(lists):
        assert one.md["until"] == other.md["from"]
    assert [*(each.md.get("until") for _, each in lists)][-1:] in ([None], [])
    assert there == {uri: item.lastmod for uri, item in source.resource_list().items()}


@pytest.mark.promise("Append-only")
@pytest.mark.promise("Never back-dated")
@examples(12, 2_000)
@given(
    publications=st.lists(_contents, min_size=1, max_size=4),
    now=_contents | st.none(),
    later=_contents,
    past=_past,
    divided=boundaries,
    limit=st.sampled_from([1, 2, 50_000]),
    dumps=st.booleans(),
)
@example(  # more changes at the time of the first publication than fit into a document
    publications=[dict.fromkeys(PATHS, b"one")],
    now=None,
    later={},
    past=[],
    divided=Calendar("month"),
    limit=1,
    dumps=True,
)
def test_any_past(  # noqa: PLR0917 - Hypothesis names them
    publications: Sequence[dict[str, bytes]],
    now: dict[str, bytes] | None,
    later: dict[str, bytes],
    past: list[Change],
    divided: RangeBoundaries,
    limit: int,
    dumps: bool,
) -> None:
    """Changes at any times, of any resources, with new changes or without: followers stay in step, with nothing twice.

    The Change Lists of before keep their bytes, or grow at their end; publishing once more writes nothing.
    """
    with TemporaryDirectory() as name:
        source = Source(Path(name, "output"), divided)
        kept: dict[str, Any] = {
            "dumps": Dumps(resourcedump=dumps, changedump=dumps),
            "archives": Archives(resourcelist=None, resourcedump=None) if dumps else Archives(),
        }
        options: dict[str, Any] = {"limits": Limits(entries=limit), **kept}
        watch = Watch(source, FIRST)
        watchers: list[Watcher] = []
        at, contents = FIRST, publications[0]
        for number, contents in enumerate(publications):
            at = FIRST + timedelta(days=9 * number)
            published = source.publish(contents, history(at, complete=False), **options)
            for watcher in watchers:
                watcher.go_on()
            watchers.append(Watcher(source, Path(name, str(number))))
            watch.look(contents, published, **kept)
        before = {path: data for path, data in source.documents().items() if "/changelist-2" in path}
        if now is not None:
            at += timedelta(days=9)
        known = sorted(past, key=lambda each: each.time)
        publication = source.publish(contents if now is None else now, history(at, past=known), **options)
        watch.look(contents if now is None else now, publication, **kept)
        came = [watcher.go_on() for watcher in watchers]
        assert now is not None or not any(came)
        for path, data in before.items():
            grown = source.documents()[path]
            assert grown == data or (b" until=" not in data and data.split(b"  <url>", 1)[1][:-10] in grown)
        check_past(source)
        added = [each for each in source.changes() if time_of(each) < FIRST]
        listed = [each for each in source.changes() if time_of(each) >= FIRST]
        assert all(time_of(each) > FIRST for each in listed)
        assert publication.added == ((len(added), time_of(added[0]), time_of(added[-1])) if added else None)
        assert source.state()["first"]["past"] is bool(added)
        files = tree(source.output)
        source.publish(contents if now is None else now, history(at, past=[]), **options)
        assert tree(source.output) == files
        publication = source.publish(later, history(at + timedelta(days=9)), **options)
        watch.look(later, publication, **kept)
        for watcher in watchers:
            watcher.go_on()
        check_past(source)


@pytest.mark.promise("Never back-dated")
def test_times_before_the_first_publication(tmp_path: Path) -> None:
    """What is dated before it keeps its time; what is dated at it or later comes just before it, in the same order."""
    source = Source(tmp_path)
    source.publish({"a.html": b"a", "b.html": b"b"}, history(FIRST, complete=False))
    past = [
        change("2024-01-10T12:00", "a.html"),
        change("2024-02-10T12:00", "a.html", UPDATED),
        change("2024-02-10T12:00", "gone.html"),
        change("2024-02-11T12:00", "gone.html", DELETED),
    ]
    publication = source.publish({"a.html": b"a", "b.html": b"b"}, history(FIRST, past=past))
    assert source.rows() == [
        ("2024-01-10T12:00:00Z", "created", "a.html"),
        ("2024-02-10T11:59:58Z", "updated", "a.html"),
        ("2024-02-10T11:59:58Z", "created", "b.html"),
        ("2024-02-10T11:59:58Z", "created", "gone.html"),
        ("2024-02-10T11:59:59Z", "deleted", "gone.html"),
    ]
    assert publication.added == (5, utc("2024-01-10T12:00"), FIRST - timedelta(seconds=1))


def test_a_resource_of_another_time_is_not_named(tmp_path: Path) -> None:
    """What the history has, and the first publication had not, is named only as far as it was gone by then."""
    source = Source(tmp_path)
    source.publish({"a.html": b"a"}, history(FIRST, complete=False))
    later = utc("2024-03-01T12:00")
    source.publish({"a.html": b"a", "new.html": b"n"}, history(later, complete=False))
    past = [
        change("2024-01-10T12:00", "a.html"),
        change("2024-01-11T12:00", "new.html"),
        change("2024-01-12T12:00", "new.html", DELETED),
        change("2024-01-13T12:00", "new.html"),
        change("2024-01-14T12:00", "other.html"),
    ]
    source.publish({"a.html": b"a", "new.html": b"n"}, history(later, past=past))
    assert source.rows() == [
        ("2024-01-10T12:00:00Z", "created", "a.html"),
        ("2024-01-11T12:00:00Z", "created", "new.html"),
        ("2024-01-12T12:00:00Z", "deleted", "new.html"),
        ("2024-03-01T12:00:00Z", "created", "new.html"),
    ]


def test_after_a_move_there_is_none(tmp_path: Path) -> None:
    """The history has the URIs of today, which are not those that the first publication listed."""
    source = Source(tmp_path)
    source.publish({"a.html": b"a"}, history(FIRST, complete=False))
    assert source.state()["first"] == {"commit": f"c{FIRST}", "past": False}
    source.siteurl = "https://museum.example"
    previous = Source(tmp_path).previous()
    publication = source.publish({"a.html": b"a"}, history(FIRST, past=[]), previous, moved_from=SITEURL)
    assert publication.added is None
    assert "first" not in source.state()
