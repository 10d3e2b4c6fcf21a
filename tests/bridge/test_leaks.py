"""What is read is what the rules say is public, exactly."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_bridge.access import AnonymousView
from tests.bridge.support.oracle import Oracle
from tests.bridge.support.reading import read_sample, seen, told
from tests.bridge.support.repository import Sample, rows_of
from tests.bridge.support.samples import AT, PUBLIC, PUBLIC_COLLECTIONS, every_case, samples

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
    names = {collection.name for item in items for collection in item.collections}
    assert names == {"Coins & medals", "Maps"}
    assert len(names) == len(PUBLIC_COLLECTIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_oracle_agrees(version: int, tmp_path: Path) -> None:
    """The slow reading of the rules finds the same in a repository with every case."""
    sample = every_case()
    sample.items = [item for item in sample.items if item.number not in {14, 15}]  # its calendar ends with 9999
    oracle = Oracle(rows_of(sample, version), version, AT, ZoneInfo("UTC"))
    assert seen(read_sample(sample, tmp_path, version)) == told(oracle.visible())
    assert len(oracle.visible()) == len(PUBLIC)


_views = st.builds(
    AnonymousView,
    at=st.sampled_from([AT, AT.replace(hour=0), AT.replace(hour=11, minute=59, second=59), AT.replace(hour=23)]),
    zone=st.none() | st.sampled_from(ZONES).map(ZoneInfo),
    bundles=st.sampled_from([("ORIGINAL",), ("ORIGINAL", "TEXT")]),
)


@given(samples(), st.sampled_from(VERSIONS), _views)
def test_no_leak(tmp_path_factory: pytest.TempPathFactory, sample: Sample, version: int, view: AnonymousView) -> None:
    """Of random policies, groups in groups, dates, flags and bundles, what is read is what the slow reading finds."""
    oracle = Oracle(rows_of(sample, version), version, view.at, view.zone, view.bundles)
    folder = tmp_path_factory.getbasetemp()
    assert seen(read_sample(sample, folder, version, view)) == told(oracle.visible())
