"""Surveys: what was listed beside what is there, against a comparison by hand; and listings that are kept."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.protocol import Document, Hash, Limits, Link, Metadata, Root, splice, write
from pelican_resourcesync.publication.diff import Comparison, ListingBuilder, compare
from pelican_resourcesync.publication.documents import writer
from pelican_resourcesync.publication.documents.documents import change_entries
from pelican_resourcesync.publication.model.clock import later
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.options import Archives, Dumps
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import (
    MD5,
    FileResources,
    Listed,
    Representation,
    Resource,
    render_links,
)
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.next_generation import Request
from pelican_resourcesync.publication.previous.previous import PreviousPublication, read_previous, read_state
from pelican_resourcesync.publication.publish import publish_sets
from tests.protocol.strategies import links as any_links
from tests.protocol.strategies import uris as any_uris
from tests.publication.archivist import walk
from tests.publication.strategies import times
from tests.publication.support import LAYOUT, SITEURL, UPDATED, Source, tree, utc
from tests.publication.test_next_generation import Known

NOON = utc("2024-03-01T12:00")

_uris = st.sampled_from([f"{SITEURL}/{name}" for name in ("a", "b", "c&d", "e", "f")])
_hashes = st.builds(Hash, algorithm=st.sampled_from([MD5, "sha-256"]), digest=st.sampled_from("01"))
_lengths = st.none() | st.integers(0, 2)
_types = st.none() | st.just("text/html")
_representations = st.builds(Representation, st.none() | _hashes, _lengths, _types)
_links = st.sampled_from(
    [
        (),
        (Link(href=f"{SITEURL}/x?a=1&b", rel="up"),),
        (Link(href=f"{SITEURL}/x", rel="up", modified=NOON, length=3), Link(href=f"{SITEURL}/y", rel="tag", pri=2)),
        (Link(href="urn:x:1", rel='a "b"\n', type="ä", attributes=(("{urn:x:y}z", "1 < 2"),)),),
    ]
)
_now = st.dictionaries(_uris, st.builds(Known, st.none(), _representations, st.none() | times, _links))
_before = st.dictionaries(_uris, st.builds(Listed, _representations, st.none() | times, _links))


def built(now: Mapping[str, Known]) -> FileResources:
    """Make resources of which no bytes are at hand."""
    return FileResources(Resource(uri, None, each.changed, each.said, each.links) for uri, each in now.items())


def previous_of(listed: Mapping[str, Listed], changes: Sequence[Change] = ()) -> PreviousPublication:
    """Make a previous publication that lists these resources, and these changes in its open range."""
    state = State(generation=1, siteurl=SITEURL, at=NOON, changes=0, documents={})
    opened = Range(NOON, None, tuple(changes)) if changes else None
    return PreviousPublication(
        folder=Path(),
        layout=LAYOUT,
        state=state,
        digest="",
        resources=Listing.of(listed.items()),
        closed=(),
        open=opened,
        last=NOON,
        where="the test",
    )


@given(_now, _before)
def test_candidates(now: Mapping[str, Known], before: Mapping[str, Listed]) -> None:
    """Suspected are those that came, went, are said to be other bytes, or cannot be told apart and are newer."""
    expected = set(now) ^ set(before)
    for uri in set(now) & set(before):
        said, changed, lastmod = now[uri].said, now[uri].changed, before[uri].lastmod
        newer = changed is not None and (lastmod is None or changed > lastmod)
        if said != before[uri].representation or (said.hash is None and newer):
            expected.add(uri)
    assert compare(built(now), previous_of(before)).candidates == sorted(expected)
    assert compare(built(now), None).candidates == []


def test_links_that_count() -> None:
    """Other links are a suspicion only where the caller says so."""
    page = f"{SITEURL}/records/a"
    now = {page: Known(said=Representation(length=1), links=(Link(href=f"{SITEURL}/x", rel="up"),))}
    previous = previous_of({page: Listed(Representation(length=1), NOON, ())})
    for below, found in ((f"{SITEURL}/records/", [page]), (f"{SITEURL}/items/", []), ("", [])):
        compared = compare(built(now), previous, below)
        assert (compared.candidates, compared.relinked) == (found, set(found))


@given(_now, _before, st.sets(_uris), st.booleans())
def test_relisting(now: Mapping[str, Known], before: Mapping[str, Listed], updated: set[str], surveyed: bool) -> None:
    """Listed is what two dicts say; whether it is the same as before, and but for links, what comparing them says."""
    changes = [Change(NOON, uri, UPDATED) for uri in updated]
    expected = {}
    for uri, each in sorted(now.items()):
        lastmod = before[uri].lastmod if uri in before else each.changed
        expected[uri] = Listed(each.said, NOON if uri in updated else lastmod, each.links)
    found = compare(built(now), previous_of(before)) if surveyed else None
    relisting = ListingBuilder(built(now), Listing.of(before.items()), found)
    assert list(relisting.list(changes).items()) == list(expected.items())
    assert relisting.same == (expected == before)
    assert relisting.same_bytes == (
        {uri: (each.representation, each.lastmod) for uri, each in expected.items()}
        == {uri: (each.representation, each.lastmod) for uri, each in before.items()}
    )


def test_the_first_listing() -> None:
    """Where nothing was published, what is there has the time that it tells, or that of a change."""
    now = {f"{SITEURL}/{name}": Known(None, Representation(length=1), utc("2024-01-01T12:00")) for name in "ab"}
    listed = ListingBuilder(built(now), None).list([Change(NOON, f"{SITEURL}/b", UPDATED)])
    assert [each.lastmod for each in listed.values()] == [utc("2024-01-01T12:00"), NOON]


_heavy = st.lists(any_links, max_size=3).map(tuple)
_many = st.lists(st.tuples(any_uris, _heavy), min_size=1, max_size=4)


@given(_many, st.integers(12_000, 40_000), st.sampled_from([2014, 2017]), st.sampled_from(["now", "before", "changes"]))
def test_capacity(many: Sequence[tuple[str, tuple[Link, ...]]], size: int, edition: int, seen: str) -> None:
    """X04: so many changes of the longest of them fit into one list, whatever characters they are of."""
    limits = Limits(size=size)
    if seen == "now":
        found = compare(built({uri: Known(links=leads) for uri, leads in many}), None)
    elif seen == "before":
        found = compare(
            FileResources([]), previous_of({uri: Listed(Representation(), None, leads) for uri, leads in many})
        )
    else:
        before = previous_of({}, [Change(NOON, uri, UPDATED, None, leads) for uri, leads in many])
        found = Comparison.of([], before)
    capacity = found.capacity(limits)
    long = Representation.measured("0" * 64, 10**17, "application/vnd.oasis.opendocument.presentation")
    for uri, leads in dict(many).items():
        changes = [Change(NOON + timedelta(microseconds=1), uri, UPDATED, long, leads)] * capacity
        document = Document(
            root=Root.URLSET, md=Metadata(capability="changelist", from_=NOON), entries=change_entries(changes)
        )
        stream = BytesIO()
        write(document, stream, edition=edition)
        assert capacity == 1 or len(stream.getvalue()) <= size


def test_capacity_by_hand() -> None:
    """The limit of entries counts too; where nothing fits, one change has to."""
    found = Comparison.of([f"{SITEURL}/{'a' * 1_000}"])
    assert found.capacity(Limits()) == (50_000_000 - 10_000) // (1_500 + len(SITEURL) + 1)
    assert found.capacity(Limits(entries=3)) == 3
    assert found.capacity(Limits(size=1)) == 1
    assert Comparison.of([]).capacity(Limits()) == 50_000
    heavy = Link(href="urn:x:" + "&" * 10_000, rel="up")
    assert render_links([heavy])
    found.see("urn:x:1", render_links([heavy]))
    assert found.capacity(Limits()) < 50_000_000 // 50_000


@st.composite
def _series(draw: st.DrawFn) -> list[dict[str, Known]]:
    """Return states of a set; where bytes are at hand, no hash of them is said, and perhaps no length."""
    series = []
    for _ in range(draw(st.integers(2, 4))):
        state = {}
        for uri in draw(st.sets(_uris)):
            data = draw(st.none() | st.sampled_from([b"0", b"1", b"22"]))
            said = draw(_representations)
            if data is not None:
                said = Representation(None, draw(st.sampled_from([None, len(data)])), said.type)
            state[uri] = Known(data, said, draw(st.none() | times), draw(_links))
        series.append(state)
    return series


def publish_state(
    source: Source, state: Mapping[str, Known], told: ChangeHistory, kept: Path | None, **options: Any
) -> None:
    """Publish one state; where `kept` is a folder, go on from the listing in it, and leave the next there."""
    resources = []
    for uri, each in state.items():
        file = None if each.data is None else source.write(f"files/{each.data.decode()}", each.data)
        resources.append(Resource(uri, file, each.changed, each.said, each.links))

    def find(digest: str) -> Listing | None:
        return Listing.open(kept / digest) if kept else None

    draft = kept / "draft" if kept else None
    request = Request(
        resources=FileResources(resources),
        history=told,
        boundaries=source.cuts,
        options=source.options(**options),
        previous=read_previous(source.output, LAYOUT, find=find),
        listing=draft,
    )
    publish_sets([request])
    now = read_previous(source.output, LAYOUT)
    assert now
    if kept and draft:
        draft.rename(kept / now.digest)
        assert dict(Listing.open(kept / now.digest)) == dict(now.resources)


@settings(max_examples=max(12, settings().max_examples // 8))  # each is two series of publications
@given(
    _series(),
    st.sampled_from([2014, 2017]),
    st.booleans(),
    st.sampled_from([2, 50_000]),
    st.lists(st.integers(0, 40), min_size=4, max_size=4).map(sorted),
    st.booleans(),
)
def test_a_kept_listing_is_as_good_as_the_resource_list(  # noqa: PLR0917 - strategies
    series: Iterable[Mapping[str, Known]], edition: int, dumps: bool, limit: int, days: Sequence[int], copied: bool
) -> None:
    """Byte for byte: who goes on from it publishes what one does who reads all documents, in whatever series."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if copied:  # unchanged entries, even of sets as small as these
            patch.setattr(writer, "_FEW", 1)
        kept = Path(folder, "kept")
        kept.mkdir()
        one, other = Source(Path(folder, "one")), Source(Path(folder, "other"))
        options: dict[str, Any] = {
            "edition": edition,
            "limits": Limits(entries=limit),
            "dumps": Dumps(resourcedump=dumps, changedump=dumps),
            "archives": Archives(resourcelist=None if dumps else 0, resourcedump=None if dumps else 0),
        }
        for day, state in zip(days, series, strict=False):
            changed = {uri: each.changed for uri, each in state.items() if each.changed}

            def witness(uris: Sequence[str], known: Mapping[str, datetime] = changed) -> dict[str, datetime]:
                return {uri: known[uri] for uri in uris if uri in known}

            time = later(utc("2024-01-01T00:00") + timedelta(days=day), None)
            told = ChangeHistory(built=time, complete=False, times=witness)
            publish_state(one, state, told, None, **options)
            publish_state(other, state, told, kept, **options)
            assert tree(one.output / "resourcesync") == tree(other.output / "resourcesync")
            walk(other)


def publish_copies(source: Source, day: int, kept: Path, **options: Any) -> bytes:
    """Publish a hundred resources, one of which changes each day; return the Resource List."""
    state = {
        f"{SITEURL}/{number:03}": Known(None, Representation(length=day if number == 50 else 1))
        for number in range(100)
    }
    resources = FileResources(Resource(uri, None, each.changed, each.said, each.links) for uri, each in state.items())
    draft = kept / "draft"
    publish_sets(
        [
            Request(
                resources=resources,
                history=ChangeHistory(built=utc(f"2024-01-{day:02}T00:00"), complete=False),
                boundaries=source.cuts,
                options=source.options(**options),
                previous=read_previous(
                    source.output,
                    LAYOUT,
                    find=lambda digest: Listing.open(kept / digest) if (kept / digest).exists() else None,
                ),
                listing=draft,
            )
        ]
    )
    sealed = read_state(source.output, LAYOUT)
    assert sealed
    draft.rename(kept / sealed.digest)
    return (source.output / LAYOUT.resource_list).read_bytes()


@pytest.mark.parametrize("edition", [2014, 2017])
def test_what_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edition: int) -> None:
    """Entries are copied where the list was written from a listing that was kept, and in this edition alone."""
    calls: list[bool] = []

    def spy(*args: Any) -> Any:
        pieces = splice(*args)
        calls.append(pieces is not None)
        return pieces

    monkeypatch.setattr(writer, "splice", spy)
    for day in (1, 2, 3):
        assert b'length="%d"' % day in publish_copies(Source(tmp_path), day, tmp_path, edition=edition)
    assert calls == ([True, True] if edition == 2017 else [])


def test_nothing_is_copied_from_documents_that_were_read(tmp_path: Path) -> None:
    """A list that somebody altered so that all hashes add up is read as rows, and nothing else of it is published."""
    source = Source(tmp_path)
    listed = publish_copies(source, 1, tmp_path)
    altered = listed.replace(b"/080</loc>\n", b"/080</loc>\n    <changefreq>daily</changefreq>\n")
    (source.output / LAYOUT.resource_list).write_bytes(altered)
    state = source.output / LAYOUT.state
    digests = [sha256(data).hexdigest().encode() for data in (listed, altered)]
    assert digests[0] in state.read_bytes()
    state.write_bytes(state.read_bytes().replace(digests[0], digests[1]))
    found = publish_copies(source, 2, tmp_path)
    assert b"changefreq" not in found
    assert found.count(b"<url>") == 100
