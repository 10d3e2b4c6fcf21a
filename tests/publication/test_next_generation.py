"""Resources of which not all is known: no hash, no length, no bytes. A witness says when they changed."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import md5, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import BytesError
from pelican_resourcesync.protocol import Hash, Link
from pelican_resourcesync.publication import MD5, ChangeHistory, Representation, Resource
from pelican_resourcesync.settings import Dumps
from tests.kit.publications import SITEURL, Source, utc
from tests.kit.unpacking import change_dumps, resource_dump, resources_in
from tests.kit.watching import read, time_of, walk

BOTH: dict[str, Any] = {"dumps": Dumps(resourcedump=True, changedump=True)}
BEGIN = utc("2024-01-01T12:00")


class Known(NamedTuple):
    """What is known of a resource: its bytes, where they are at hand; what is said of them; when it changed."""

    data: bytes | None = None
    said: Representation = Representation()
    changed: datetime | None = None
    links: tuple[Link, ...] = ()


def publish(
    source: Source,
    state: Mapping[str, Known],
    built: datetime,
    gone: Mapping[str, datetime] = {},
    read_as_of: datetime | None = None,
) -> None:
    """Publish resources by path, with their times as the witness; of those that went it may know when."""
    times = {f"{SITEURL}/{path}": each.changed for path, each in state.items() if each.changed}
    times |= {f"{SITEURL}/{path}": time for path, time in gone.items() if path not in state}
    history = ChangeHistory(
        built=built,
        complete=False,
        times=lambda uris: {uri: times[uri] for uri in uris if uri in times},
        read_as_of=read_as_of,
    )
    resources = []
    for path, each in state.items():
        file = None if each.data is None else source.write(f"files/{sha256(each.data).hexdigest()}", each.data)
        resources.append(Resource(f"{SITEURL}/{path}", file, each.changed, each.said, each.links))
    source.publish(resources, history, **BOTH)


def dumped(source: Source) -> dict[str, bytes]:
    """Return what is in the Resource Dump; every hash and length in it is right, or the witness fails."""
    uri = source.capabilities()["resourcedump"]
    return resources_in(resource_dump(lambda each: read(source, each), uri, partly=True))


def dumped_changes(source: Source) -> list[tuple[str, str, bytes | None]]:
    """Return what is in the Change Dumps."""
    uri = source.capabilities().get("changedump")
    packages = change_dumps(lambda each: read(source, each), uri, partly=True) if uri else []
    return [
        (each.uri.removeprefix(f"{SITEURL}/"), each.md["change"], each.data)
        for package in packages
        for each in package.bitstreams
    ]


def at(day: int, **rest: int) -> datetime:
    """Return noon of a day, and some time more."""
    return BEGIN + timedelta(days=day - 1, **rest)


def test_what_is_not_known_is_not_said(source: Source) -> None:
    """RL03: hash, length and type are left out one by one, and all are listed with when they changed."""
    digest = Hash(algorithm=MD5, digest="0" * 32)
    state = {
        "all": Known(said=Representation(digest, 3, "text/html"), changed=at(1)),
        "length": Known(said=Representation(None, 3), changed=at(1, milliseconds=-7)),
        "nothing": Known(),
    }
    publish(source, state, at(2))
    listed = source.resource_list()
    assert {uri.removeprefix(f"{SITEURL}/"): (item.lastmod, dict(item.md)) for uri, item in listed.items()} == {
        "all": ("2024-01-01T12:00:00Z", {"hash": f"md5:{'0' * 32}", "length": "3", "type": "text/html"}),
        "length": ("2024-01-01T11:59:59.993Z", {"length": "3"}),
        "nothing": (None, {}),
    }
    assert dumped(source) == {}
    walk(source)


@pytest.mark.parametrize("data", [b"", b"tw", b"twos", b"TWO"])
@pytest.mark.parametrize("hashed", [True, False])
def test_a_file_that_is_not_what_is_said_of_it(source: Source, data: bytes, hashed: bool) -> None:
    """Nothing is published: the resource is named, so that it can be left out; without a hash its length tells."""
    digest = Hash(algorithm=MD5, digest=md5(b"two").hexdigest()) if hashed else None
    state = {"a": Known(b"two", Representation(digest, 3)), "b": Known(data, Representation(digest, 3))}
    if not hashed and len(data) == 3:
        publish(source, state, at(1))
        assert dumped(source)[f"{SITEURL}/b"] == data
        return
    with pytest.raises(
        BytesError, match=f"{SITEURL}/b changed while it was packed, and no longer matches its entry .3 bytes"
    ) as error:
        publish(source, state, at(1))
    assert error.value.uri == f"{SITEURL}/b"
    assert not source.documents()


def test_a_witness_of_what_was_looked_at_before(source: Source) -> None:
    """Who was asked as of a later time than all that was published did not tell it then: nobody knows when it was."""
    publish(source, {"a": Known(changed=at(1)), "b": Known(changed=at(1))}, at(2), read_as_of=at(5))
    publish(source, {"a": Known(changed=at(5)), "b": Known(changed=at(5, milliseconds=1))}, at(9), read_as_of=at(9))
    assert source.rows() == [
        ("2024-01-05T12:00:00.001Z", "updated", "b"),
        ("2024-01-09T12:00:00Z", "updated", "a"),
    ]


def test_what_others_told_before_is_not_a_change(source: Source) -> None:
    """A length or a type that comes or goes, links, or a time that is not newer: no change, and the list says it."""
    publish(source, {"a": Known(said=Representation(None, 3, "text/html"), changed=at(1))}, at(2))
    for number, said in enumerate([Representation(None, 3), Representation(), Representation(None, 4)]):
        publish(source, {"a": Known(said=said, changed=at(1), links=(Link(href="urn:x:1", rel="up"),))}, at(3 + number))
    assert source.rows() == []
    item = source.resource_list()[f"{SITEURL}/a"]
    assert (item.lastmod, dict(item.md)) == ("2024-01-01T12:00:00Z", {"length": "4"})
    publish(source, {"a": Known(said=Representation(None, 5), changed=at(1))}, at(8))
    assert [row[1:] for row in source.rows()] == [("updated", "a")]


_moments = st.none() | st.builds(lambda day, off: at(day, milliseconds=off), st.integers(1, 30), st.integers(-2, 2))
_data = st.sampled_from([b"0", b"1", b"22"])
_said = st.builds(
    Representation,
    st.none() | st.builds(Hash, algorithm=st.just(MD5), digest=st.sampled_from("01")),
    st.none() | st.integers(0, 2),
    st.none(),
)


@st.composite
def _series(draw: st.DrawFn) -> list[dict[str, Known]]:
    """Return states; bytes of resources whose names begin with `here` are at hand."""
    series = []
    for _ in range(draw(st.integers(2, 5))):
        state: dict[str, Known] = {}
        for path in draw(st.sets(st.sampled_from(["a", "b", "here-1", "here-2"]))):
            if path.startswith("here"):
                data = draw(_data)
                digest = draw(st.sampled_from([None, Hash(algorithm=MD5, digest=md5(data).hexdigest())]))
                said = Representation(digest, draw(st.sampled_from([None, len(data)])))
                state[path] = Known(data, said, draw(_moments))
            else:
                state[path] = Known(None, draw(_said), draw(_moments))
        series.append(state)
    return series


def expected_changes(
    source: Source,
    state: Mapping[str, Known],
    built: datetime,
    gone: Mapping[str, datetime],
    read_as_of: datetime | None,
) -> dict[str, tuple[str, datetime]]:
    """Say by hand what changed since the last publication, and when."""
    found = {}
    last = max([source.at(), *(time_of(item) for item in source.changes()), *([read_as_of] if read_as_of else [])])
    listed = {uri.removeprefix(f"{SITEURL}/"): item for uri, item in source.resource_list().items()}
    for path in listed.keys() | state.keys():
        was, now = listed.get(path), state.get(path)
        witness = now.changed if now else gone.get(path)
        before = datetime.fromisoformat(was.lastmod) if was and was.lastmod else None
        newer = witness is not None and (before is None or witness > before)
        if was is None or now is None:
            kind = "created" if now else "deleted"
        else:
            digest = f"md5:{now.said.hash.digest}" if now.said.hash else None
            lengths = (was.md.get("length"), None if now.said.length is None else str(now.said.length))
            differs = None not in lengths and lengths[0] != lengths[1]
            other = was.md.get("hash") != digest if digest or "hash" in was.md else differs or newer
            if not other:
                continue
            kind = "updated"
        time = witness if witness is not None and newer and witness > last else built
        found[path] = (kind, time)
    return found


def is_hashed(state: Mapping[str, Known], uri: str) -> bool:
    """Tell whether the hash of a resource is known."""
    return state[uri.removeprefix(f"{SITEURL}/")].said.hash is not None


@settings(max_examples=settings().max_examples // 5)  # each is a series of its own
@given(_series(), st.dictionaries(st.sampled_from(["a", "b", "here-1", "here-2"]), _moments.filter(bool)), _moments)
def test_any_series(
    series: Sequence[Mapping[str, Known]], gone: Mapping[str, datetime], asked: datetime | None
) -> None:
    """What changed, when, and what is packed of it, is what is worked out by hand."""
    with TemporaryDirectory() as folder:
        source = Source(Path(folder) / "output")
        steps: list[tuple[str, str, bytes | None]] = []
        for number, state in enumerate(series):
            built = at(32 + number)
            expected = expected_changes(source, state, built, gone, asked) if number else {}
            before = len(source.rows()) if number else 0
            publish(source, state, built, gone, asked)
            fresh = list(source.changes())[before:]
            paths = [item.uri.removeprefix(f"{SITEURL}/") for item in fresh]
            found = {path: (item.md["change"], time_of(item)) for path, item in zip(paths, fresh, strict=True)}
            assert found == expected
            assert len(paths) == len(found)
            packed = {f"{SITEURL}/{path}": each.data for path, each in state.items() if each.said.length is not None}
            packed = {uri: data for uri, data in packed.items() if data is not None}
            in_dump = dumped(source)
            # Bytes that changed without a hash, a length or a date saying so cannot be noticed.
            packed |= {uri: in_dump[uri] for uri in packed if uri in in_dump and not is_hashed(state, uri)}
            assert in_dump == packed
            steps += [(path, found[path][0], packed.get(f"{SITEURL}/{path}")) for path in paths]
            assert dumped_changes(source) == [each for each in steps if each[1] == "deleted" or each[2] is not None]
            walk(source)
