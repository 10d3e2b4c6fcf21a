"""`publication.json`."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.state import (
    ChangeListSummary,
    Counts,
    Part,
    PublicationState,
    parse_state,
    render_state,
)
from tests.kit.publications import HOSTILE_NAMES, utc
from tests.kit.strategies import zones

NAME = "publication.json"
STATE = PublicationState(
    generation=2,
    siteurl="https://example.org",
    at=utc("2024-03-01T12:00:00.001"),
    began=utc("2024-01-05T12:00"),
    change_lists=(
        ChangeListSummary(
            "resourcesync/s/changelist-20240101T120000Z.xml", utc("2024-01-01T12:00"), utc("2024-02-01T12:00"), 0, 5, 0
        ),
        ChangeListSummary("resourcesync/s/changelist-20240201T000000Z.xml", utc("2024-02-01T12:00"), None, 4, 2, 1),
    ),
    parts=(
        Part(
            path="resourcesync/s/changelist-20240101T000000Z.xml",
            first="https://example.org/a",
            counts=Counts(entries=2, types={"text/html": (2, 5)}, years={"2024": 1}, last="2024-03-01T12:00:00Z"),
        ),
    ),
    documents={
        "resourcesync/s/changelist-20240201T000000Z.xml": "b" * 64,
        "resourcesync/s/changelist-20240101T000000Z.xml": "a" * 64,
    },
    predecessor="cc",
    commit="dd",
    landed=utc("2024-03-01T12:00"),
    postponed={"ee": utc("2024-02-01T12:00")},
    restart_number=3,
    ancestors=("ff", "gg"),
    earlier=(utc("2024-02-20T12:00"),),
    superseded={"resourcesync/s/changelist-20240101T120000Z.xml": "c" * 64},
    packages={"resourcesync/s/resourcedump-20240101T120000Z-00001.zip": 9},
    unstable={"https://example.org/clock": 4},
    site_name="A garden",
    language="de-AT",
    timezone=ZoneInfo("Europe/Berlin"),
    home="https://example.org/home",
)
CONTENT: dict[str, Any] = {
    "ancestors": ["ff", "gg"],
    "at": "2024-03-01T12:00:00.001Z",
    "began": "2024-01-05T12:00:00Z",
    "change_lists": [
        {
            "created": 0,
            "deleted": 0,
            "from": "2024-01-01T12:00:00Z",
            "path": "resourcesync/s/changelist-20240101T120000Z.xml",
            "until": "2024-02-01T12:00:00Z",
            "updated": 5,
        },
        {
            "created": 4,
            "deleted": 1,
            "from": "2024-02-01T12:00:00Z",
            "path": "resourcesync/s/changelist-20240201T000000Z.xml",
            "until": None,
            "updated": 2,
        },
    ],
    "commit": "dd",
    "documents": {
        "resourcesync/s/changelist-20240101T000000Z.xml": "a" * 64,
        "resourcesync/s/changelist-20240201T000000Z.xml": "b" * 64,
    },
    "earlier": ["2024-02-20T12:00:00Z"],
    "format": 1,
    "generation": 2,
    "home": "https://example.org/home",
    "landed": "2024-03-01T12:00:00Z",
    "language": "de-AT",
    "packages": {"resourcesync/s/resourcedump-20240101T120000Z-00001.zip": 9},
    "parts": [
        {
            "entries": 2,
            "first": "https://example.org/a",
            "last": "2024-03-01T12:00:00Z",
            "path": "resourcesync/s/changelist-20240101T000000Z.xml",
            "types": {"text/html": [2, 5]},
            "years": {"2024": 1},
        }
    ],
    "postponed": {"ee": "2024-02-01T12:00:00Z"},
    "predecessor": "cc",
    "publisher": "site",
    "restart_number": 3,
    "site_name": "A garden",
    "siteurl": "https://example.org",
    "superseded": {"resourcesync/s/changelist-20240101T120000Z.xml": "c" * 64},
    "timezone": "Europe/Berlin",
    "tool": "a tool",
    "unstable": {"https://example.org/clock": 4},
}
#: Keys in order, one item a line.
RENDERED = f"{json.dumps(CONTENT, indent=1, sort_keys=True)}\n".encode()

_names = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=8)
_paths = st.from_regex(
    r"resourcesync/s/([2-9]/)?(archive/resource|change)list-2024[01]{4}T[01]{6}Z\.xml", fullmatch=True
)
_digests = st.text("0123456789abcdef", min_size=64, max_size=64)
_counts = st.integers(0, 2**53)
times = st.datetimes(datetime(1970, 1, 2), datetime(8999, 12, 30), timezones=zones)  # noqa: DTZ001 - hypothesis adds the zone
_states = st.builds(
    PublicationState,
    generation=_counts,
    siteurl=_names,
    at=times,
    began=times,
    change_lists=st.lists(
        st.builds(ChangeListSummary, _paths, times, st.none() | times, *[_counts] * 3), max_size=2
    ).map(tuple),
    documents=st.dictionaries(_paths, _digests, max_size=3),
    predecessor=st.none() | _names,
    commit=st.none() | _names,
    landed=st.none() | times,
    postponed=st.dictionaries(_names, times, max_size=3),
    restart_number=st.integers(1, 2**53),
    ancestors=st.lists(_names, max_size=3).map(tuple),
    superseded=st.dictionaries(_paths, _digests, max_size=3),
    packages=st.dictionaries(_paths, _counts, max_size=3),
    unstable=st.dictionaries(_names, _counts, max_size=3),
    site_name=st.text(st.characters(exclude_categories=["Cs"])),
    language=_names,
    home=_names,
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_rendered_by_hand() -> None:
    """The bytes of a state: JSON in ASCII, one item a line, keys in order."""
    assert render_state(STATE, "a tool") == RENDERED
    assert parse_state(RENDERED, NAME) == STATE


@given(_states)
def test_round_trip(state: PublicationState) -> None:
    """What is written is read as it was; the same state has the same bytes."""
    data = render_state(state, "a tool")
    assert parse_state(data, NAME) == state
    assert render_state(parse_state(data, NAME), "a tool") == data
    assert data.isascii()


@pytest.mark.parametrize("newer", [2, "1", None])
def test_another_format(newer: object) -> None:
    """A state of a version to come is not guessed at: the message says to update."""
    data = json.dumps({**CONTENT, "format": newer}).encode()
    with pytest.raises(PublicationError, match=r"publication\.json has the format .*: update pelican-resourcesync"):
        parse_state(data, NAME)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"{}", b"\xff", RENDERED[:-20], b"[" * 100_000, b'"format"', b'{"format": 2,' + RENDERED[1:]],
)
def test_damaged(data: bytes) -> None:
    """What is no state is a clear error that says what to do."""
    with pytest.raises(
        PublicationError,
        match=r"publication\.json is damaged .*: upload it again, or publish once with RESOURCESYNC_FIRST=1",
    ):
        parse_state(data, NAME)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("at", "yesterday"),
        ("at", None),
        ("landed", "2024-03-01T12:00"),
        ("generation", float("inf")),
        ("generation", "two"),
        ("generation", True),
        ("generation", 2**53 + 1),
        ("packages", {"resourcesync/s/changedump-20240101T120000Z.zip": 10**4000}),
        ("documents", {"resourcesync/s/\ud800.xml": "a" * 64}),
        ("change_lists", None),
        ("change_lists", [{}]),
        ("change_lists", [{**CONTENT["change_lists"][0], "deleted": -1}]),
        ("change_lists", [{**CONTENT["change_lists"][0], "created": 1.5}]),
        ("change_lists", [{**CONTENT["change_lists"][0], "updated": "3"}]),
        ("change_lists", [{**CONTENT["change_lists"][0], "from": None}]),
        ("change_lists", [{**CONTENT["change_lists"][0], "until": "yesterday"}]),
        ("parts", [{}]),
        ("parts", [{**CONTENT["parts"][0], "types": {"text/html": 1}}]),
        ("parts", [{**CONTENT["parts"][0], "years": {"x": 1}}]),
        ("parts", [{**CONTENT["parts"][0], "last": "yesterday"}]),
        ("postponed", {"ee": "2024-13-01T12:00:00Z"}),
        ("documents", ["resourcesync/s/changelist-20240101T000000Z.xml"]),
        ("restart_number", 0),
        ("restart_number", "2"),
        ("ancestors", 5),
        ("superseded", ["resourcesync/s/changelist-20240101T000000Z.xml"]),
        ("packages", {"resourcesync/s/changedump-20240101T120000Z.zip": -1}),
        ("unstable", {"https://example.org/": -1}),
        ("at", "9999-12-31T23:59:59Z"),  # a later time must still be possible, for every build to come
        ("landed", "1969-12-31T23:59:59Z"),
        ("siteurl", "https://example.org/\x1b[31m"),
        ("siteurl", None),
        ("commit", "c" * 501),
        ("predecessor", 1),
        ("former", [1]),
        ("site_name", 1),
        ("language", None),
        ("timezone", 1),
        ("home", ["https://example.org/"]),
        *(("sets", [name]) for name in ("../books", "a/b", "", ".a", "a\n", "A", "a" * 101)),
        ("sets", [1]),
    ],
)
def test_damaged_values(key: str, value: object) -> None:
    """A value that cannot be is damage too, whatever it is."""
    data = json.dumps({**CONTENT, key: value}).encode()
    with pytest.raises(
        PublicationError, match=r"is damaged .*: upload it again, or publish once with RESOURCESYNC_FIRST=1"
    ):
        parse_state(data, NAME)


@pytest.mark.promise("Nothing from outside")
@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "a", "a/b/c.xml", "s/2/publication.json", ".a.xml"])
@pytest.mark.parametrize("kind", ["documents", "superseded", "packages", "parts", "change_lists"])
def test_hostile_names(name: str, kind: str) -> None:
    """A state names nothing but documents of sets, wherever it names them."""
    for path in (name, f"resourcesync/{name}", f"resourcesync/s/{name}"):
        if path != "resourcesync/s/a":
            first = CONTENT[kind][0] | {"path": path} if isinstance(CONTENT[kind], list) else None
            value = [first] if first else {path: 1 if kind == "packages" else "a" * 64}
            with pytest.raises(PublicationError, match="is listed, but is not a document of a publication"):
                parse_state(json.dumps(CONTENT | {kind: value}).encode(), NAME)


@pytest.mark.parametrize("digest", ["", "a" * 63, "A" * 64, "g" * 64, "a" * 64 + "\n", "../x", 1, None, ["a" * 64]])
def test_hostile_digests(digest: object) -> None:
    """What is not a SHA-256 proves nothing."""
    with pytest.raises(PublicationError, match="which is not a SHA-256"):
        parse_state(
            json.dumps(CONTENT | {"documents": {"resourcesync/s/changelist-20240101T000000Z.xml": digest}}).encode(),
            NAME,
        )


@pytest.mark.parametrize("key", sorted(set(CONTENT) - {"tool", "site_name", "language", "timezone", "home"}))
def test_missing_keys(key: str) -> None:
    """Every key but the tool's name and what the pages for people show is needed."""
    content = {name: value for name, value in CONTENT.items() if name != key}
    with pytest.raises(PublicationError, match=f"is damaged .*{key}"):
        parse_state(json.dumps(content).encode(), NAME)


def test_ancestry() -> None:
    """All earlier states that are known: the one before, then its own; a first one has none."""
    assert STATE.ancestry == ("cc", "ff", "gg")
    assert replace(STATE, predecessor=None, ancestors=()).ancestry == ()


@given(st.sampled_from(sorted(CONTENT)), _json)
def test_any_value_is_a_state_or_an_error(key: str, value: Any) -> None:
    """Whatever stands in the place of a value: a state, or the one declared error."""
    data = json.dumps({**CONTENT, key: value}).encode()
    try:
        state = parse_state(data, NAME)
    except PublicationError:
        return
    assert isinstance(state.generation, int)
    assert state.at.tzinfo is not None


@given(st.binary(max_size=30))
def test_any_bytes_are_an_error(data: bytes) -> None:
    """No few bytes are a state."""
    with pytest.raises(PublicationError):
        parse_state(data, NAME)
