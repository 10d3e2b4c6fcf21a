"""Versions of records: each state stays public, however it was read, until its record is withdrawn."""

import re
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings import VersionOptions
from repo_bridge import files
from repo_bridge.settings import read_settings
from tests.kit.repository.press import SET, Press, shelf
from tests.repo_bridge.test_files import archive, bytes_of, file, place_of, store, uri_of

VERSIONS: dict[str, Any] = {"versions": VersionOptions(), "allow_deletions": True}


def versions(press: Press) -> set[bytes]:
    """Return the bytes of all versions."""
    return {each.read_bytes() for each in (press.public / "resourcesync" / SET / "versions").iterdir()}


def mementos(press: Press) -> dict[str, str]:
    """Return the version that the entry of each record links to."""
    return {uri: dict(entry.links)["memento"] for uri, entry in press.listed().items() if "/records/" in uri}


@pytest.mark.parametrize("cache", [True, False])
def test_records(press: Press, *, cache: bool) -> None:
    """Each state of a record has a URL of its own; files have none; what is withdrawn goes."""
    sample = shelf(*range(1, 5))
    press.publish(sample, **VERSIONS)
    first = {each.read_bytes() for each in press.records.rglob("*.xml")}
    assert versions(press) == first
    assert all(not dict(each.links).get("memento") for uri, each in press.listed().items() if "/records/" not in uri)
    sample.items[0].metadata = [*sample.items[0].metadata, *sample.items[1].metadata]
    other = press if cache else press.without_cache("other")
    other.publish(sample, 1, **VERSIONS)
    second = {each.read_bytes() for each in other.records.rglob("*.xml")}
    assert len(second - first) == 1
    assert versions(other) == first | second
    names = {each.name for each in (other.public / "resourcesync" / SET / "versions").iterdir()}
    assert {uri.rpartition("/")[2] for uri in mementos(other).values()} <= names
    assert other.findings() == {}
    sample.items[0].withdrawn = True
    other.publish(sample, 2, **VERSIONS)
    third = {each.read_bytes() for each in other.records.rglob("*.xml")}
    assert versions(other) == third
    assert other.findings() == {}


def of_files(press: Press) -> dict[int, bytes]:
    """Return the bytes of the version that the entry of each file links to, by the number of the file."""
    found = {}
    for uri, entry in press.listed().items():
        links = dict(entry.links)
        if "/records/" not in uri and "memento" in links:
            assert entry.md["hash"].startswith("md5:")
            [number] = [each for each in range(1, 9) if uri.endswith(uri_of(each))]
            found[number] = (press.public / links["memento"].removeprefix("https://repo.example/sync/")).read_bytes()
    return found


def test_files(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files have versions if they are asked for; each is read once, and one without the right bytes has none."""
    stores = store(press.folder / "store", 1, 2, 3)
    place_of(stores[0], 2).write_bytes(bytes_of(2, edition=9))  # as long as what the database describes
    more: dict[str, Any] = {**VERSIONS, "version_files": True, "assetstore": stores}
    press.publish(archive(*map(file, range(1, 5))), **VERSIONS)
    before, changes = versions(press), press.changes()
    outcome = press.publish(archive(*map(file, range(1, 5))), 1, **more)
    assert press.changes() == changes  # to have a version is no change
    assert versions(press) == before | {bytes_of(1), bytes_of(3)}
    assert of_files(press) == {1: bytes_of(1), 3: bytes_of(3)}
    assert sorted(re.sub(r".*'(f[0-9].pdf)'.*?(does|cannot).*", r"\1 \2", each) for each in outcome.left_out) == [
        "f2.pdf does",
        "f4.pdf cannot",
    ]
    store(stores[0], 2)
    store(stores[0], 3, edition=2)
    read, hashes = set[str](), files.hashes

    def noted(file: Path) -> tuple[str, str]:
        read.add(file.name[-1])
        return hashes(file)

    monkeypatch.setattr("repo_bridge.files.hashes", noted)
    outcome = press.publish(archive(file(1), file(2), file(3, 2)), 2, **more)
    assert (read, outcome.left_out) == ({"2", "3"}, ())
    assert of_files(press) == {1: bytes_of(1), 2: bytes_of(2), 3: bytes_of(3, 2)}
    assert {bytes_of(3), bytes_of(3, 2)} <= versions(press)
    assert press.findings() == {}
    press.publish(archive(file(1), file(3, 2)), 3, **more)
    assert not versions(press) & {bytes_of(2)}  # it is withdrawn
    press.publish(archive(file(1), file(3, 2)), 4, **VERSIONS)
    assert versions(press) == {each.read_bytes() for each in press.records.rglob("*.xml")}
    assert of_files(press) == {}


def test_a_file_that_is_lost_or_changes(press: Press) -> None:
    """What is known of a file is used only while its bytes are available; a damaged database is created again."""
    stores = store(press.folder / "store", 1, 2)
    more: dict[str, Any] = {**VERSIONS, "version_files": True, "assetstore": stores}
    sample = archive(file(1), file(2))
    press.publish(sample, **more)
    place_of(stores[0], 1).unlink()  # the version that is public stays
    assert press.publish(archive(file(1), file(2), file(3)), 1, **more).left_out_count == 1
    assert of_files(press) == {1: bytes_of(1), 2: bytes_of(2)}
    store(stores[0], 1)
    for number in range(2):
        (press.public / "resourcesync").rename(press.folder / f"lost-{number}")
        place_of(stores[0], 1).unlink()
        store(stores[0], *([1] if number else []), edition=9)  # missing, then other bytes
        outcome = press.publish(sample, number + 2, **more)
        assert outcome.left_out_count == 1
        assert of_files(press) == {2: bytes_of(2)}
        assert press.findings() == {}
        store(stores[0], 1)
    (press.kept / "digests.db").write_bytes(b"no database" * 100)
    press.publish(archive(file(1), file(2), file(3)), 4, **more)
    assert of_files(press) == {1: bytes_of(1), 2: bytes_of(2)}
    assert files.hashes(Path("nowhere")) == ("", "")


def test_what_versions_of_files_need() -> None:
    """Without the bytes there are none."""
    options: dict[str, str | bool] = {
        "database": "d",
        "out": "out",
        "base-url": "https://a.example",
        "ui-url": "https://b.example",
    }
    with pytest.raises(SettingsError, match="version-files needs versions, fingerprints and assetstore: set all"):
        read_settings({**options, "version-files": True, "versions": "5"})
