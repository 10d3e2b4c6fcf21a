"""What is read is what the rules say is public, exactly."""

import re
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repo_bridge.access import AnonymousView
from repo_bridge.model import Version
from sample_site.dspace.repository import ITEM, STAFF, Policy, Sample, Thing, key, rows_of
from sample_site.dspace.tables import Rows, write_sqlite
from tests.kit.repository.entities import TYPES, register, relate
from tests.kit.repository.oracle import Oracle
from tests.kit.repository.press import BASE, SET, Press
from tests.kit.repository.reading import as_read, read, read_sample, seen, url_of
from tests.kit.repository.samples import AT, PUBLIC, PUBLIC_COLLECTIONS, every_case, samples

VERSIONS = (5, 6, 7, 10)
ZONES = ("UTC", "Pacific/Auckland", "America/Los_Angeles")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_case(version: int, tmp_path: Path) -> None:
    """Of a repository with every case, what was found to be public by hand is read, and nothing else."""
    items = read_sample(every_case(), tmp_path, version)
    numbers = {item.id: number for number in range(1, 21) for item in items if item.handle == f"123456789/{number}"}
    without_handle = [item for item in items if item.handle is None]
    assert [item.metadata[-1].value for item in without_handle] == ["Odd bundles"]
    files = {numbers.get(item.id, 13): {int(file.internal_id or "") for file in item.bitstreams} for item in items}
    assert files == PUBLIC
    first, second = (Version(str(key(version, ITEM, number)), f"123456789/{number}") for number in (1, 2))
    versions = {item.handle: (item.predecessor, item.successor) for item in items}
    assert (versions.pop(first.handle), versions.pop(second.handle)) == ((None, second), (first, None))
    assert {*versions.values()} == {(None, None)}
    names = {collection.name for item in items for collection in item.collections}
    assert names == {"Coins & medals", "Maps"}
    assert len(names) == len(PUBLIC_COLLECTIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_oracle_agrees(version: int, tmp_path: Path) -> None:
    """The slow reading of the rules finds the same in a repository with every case."""
    sample = every_case()
    sample.items = [item for item in sample.items if item.number not in {14, 15}]  # its calendar ends with 9999
    oracle = Oracle(rows_of(sample, version), version, AT, ZoneInfo("UTC"))
    assert seen(read_sample(sample, tmp_path, version)) == as_read(oracle.visible())
    assert len(oracle.visible()) == len(PUBLIC)


@pytest.mark.parametrize("version", [7, 10])
def test_hidden_versions(press: Press, version: int) -> None:
    """A version that is not public is named nowhere: those around it are linked to each other instead."""
    press.version = version
    hidden = [
        Thing(11, in_archive=False, withdrawn=True),
        Thing(12, in_archive=False),
        Thing(13, discoverable=False),
        Thing(14, policies=[]),
        Thing(15, policies=[Policy(STAFF)]),
        Thing(16, policies=[Policy(start="2025-06-16")]),
        Thing(17, policies=[Policy(end="2025-06-14")]),
        Thing(18, policies=[Policy(action=10)]),
    ]
    numbers = [thing.number for thing in hidden]
    press.publish(
        Sample(items=[Thing(1), *hidden, Thing(99)], versions=[[11, 12, 1, 13, 14, None, 15, 16, 99, 17, 18]])
    )
    first, last = (f"{BASE}/resourcesync/{SET}/records/oai_dc/123456789/{number}.xml" for number in (1, 99))
    listed = press.listed()
    assert listed.keys() == {first, last}
    assert [link for link in listed[first].links if "version" in link[0]] == [("successor-version", last)]
    assert [link for link in listed[last].links if "version" in link[0]] == [("predecessor-version", first)]
    everything = b"".join([*map(str.encode, press.files()), *press.files().values()])
    for number in numbers:
        for name in (f"123456789/{number}", key(version, ITEM, number)):
            assert name.encode() not in everything, number
    assert press.findings() == {}


_views = st.builds(
    AnonymousView,
    at=st.sampled_from([AT, AT.replace(hour=0), AT.replace(hour=11, minute=59, second=59), AT.replace(hour=23)]),
    zone=st.none() | st.sampled_from(ZONES).map(ZoneInfo),
    bundles=st.sampled_from([("ORIGINAL",), ("ORIGINAL", "TEXT")]),
)


@pytest.mark.promise("Exactly what is public")
@given(samples(), st.sampled_from(VERSIONS), _views)
def test_no_leak(tmp_path_factory: pytest.TempPathFactory, sample: Sample, version: int, view: AnonymousView) -> None:
    """Of random policies, groups in groups, dates, flags and bundles, what is read is what the slow reading finds."""
    oracle = Oracle(rows_of(sample, version), version, view.at, view.zone, view.bundles)
    folder = tmp_path_factory.getbasetemp()
    assert seen(read_sample(sample, folder, version, view)) == as_read(oracle.visible())


_others = st.integers(2, 4)
_places = st.integers(0, 2)
_names = st.sampled_from([(None, None), (None, None), ("zqleft{}q", "zqright{}q")])
_status = st.sampled_from([0, 0, 0, 0, 1, 2])
_relationships = st.lists(
    st.tuples(st.just(1), _others, st.sampled_from([1, 1, 2, 5, 6]), _places, _places, _names, _status)
    | st.tuples(st.integers(1, 4), _others, st.sampled_from([*TYPES]), _places, _places, _names, _status),
    min_size=1,
    max_size=6,
    unique_by=lambda each: each[:3],
)

#: Why an item is hidden, or not.
_STATES: list[dict[str, Any]] = [
    {},
    {},
    {"withdrawn": True},
    {"in_archive": False},
    {"discoverable": False},
    {"policies": []},
    {"policies": [Policy(STAFF)]},
    {"policies": [Policy(start="2025-06-16")]},
    {"policies": [Policy(start="2025-06-14")]},
    {"policies": [Policy(end="2025-06-15")]},
    {"policies": [Policy(end="2025-06-17"), Policy(start="2025-06-17")]},
]
_states = st.sampled_from(_STATES)
_kinds = st.sampled_from([None, None, "Publication", "publication", "Person", "Journal"])


@st.composite
def related_items(draw: st.DrawFn) -> tuple[int, Rows, dict[str, int]]:
    """Return a version, a repository in which items are related, with words by their numbers, and these by key."""
    version = draw(st.sampled_from((7, 10)))
    things = [Thing(number, **(draw(_states) if number > 1 else {})) for number in range(1, 5)]
    sample = Sample(items=things)
    numbers = {key(version, ITEM, item.number): item.number for item in sample.items}
    rows = rows_of(sample, version)
    register(rows)
    relationships = [
        (left, right, kind, *places, names[0] and names[0].format(left), names[1] and names[1].format(right), status)
        for left, right, kind, *places, names, status in draw(_relationships)
        if left != right
    ]
    relate(rows, relationships, version)
    for item, number in numbers.items():
        words = {900: "family", 901: "given", 902: "organization", 906: "issn", 910: "orcid"}
        texts = {field: f"zq{word}{number}q" for field, word in words.items()} | {903: draw(_kinds)}
        for field, text in texts.items():
            value: dict[str, Any] = {"metadata_value_id": 9000 + 1000 * number + field, "metadata_field_id": field}
            value |= {"text_value": text, "text_lang": None, "place": 0, "dspace_object_id": item}
            if version == 10 and field != 903:
                value["security_level"] = draw(st.sampled_from([None, None, 0, 1]))
            if text:
                rows.setdefault("metadatavalue", []).append(value)
    return version, rows, numbers


@pytest.mark.promise("Exactly what is public")
@settings(max_examples=settings().max_examples // 2)
@given(related_items(), _views)
def test_no_leak_by_related_items(
    tmp_path_factory: pytest.TempPathFactory, repository: tuple[int, Rows, dict[str, int]], view: AnonymousView
) -> None:
    """Of hidden items no word is in the records of related ones, and of public ones exactly what DSpace shows."""
    version, rows, numbers = repository
    oracle = Oracle(rows, version, view.at, view.zone, view.bundles)
    file = tmp_path_factory.getbasetemp() / "related.db"
    file.unlink(missing_ok=True)
    found = seen(read(url_of(write_sqlite(rows, version, file)), view))
    for item, visible in found.items():
        words = " ".join(text for _, text, _ in visible.values)
        for other in oracle.hidden() - {item}:
            assert not re.search(rf"zq[a-z]+{numbers[other]}q", words)
    assert found == as_read(oracle.visible())
