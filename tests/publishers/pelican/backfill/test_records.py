"""Records: what is written is read again, whatever the names; what did not survive a power failure is none."""

import hashlib
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publishers.git import Commit, Landing
from pelican_resourcesync.publishers.pelican.backfill.builds import (
    BuildRecord,
    BuildStore,
    BuiltFile,
    Environment,
)
from pelican_resourcesync.publishers.static_site import Facets
from pelican_resourcesync.publishers.static_site.files import UNFILED

LANDING = Landing(Commit("a" * 40, 0, ()), datetime(2024, 1, 15, 10, tzinfo=UTC))
ENVIRONMENT = Environment(
    siteurl="https://example.org",
    folder=".",
    settings="pelicanconf.py",
    clean_urls=False,
    index_urls="folder",
    overrides={"SITENAME": "A \u20ac"},
    packages={"Python": "3.11", "Markdown": "3.5"},
)
DIGEST = ENVIRONMENT.digest
EMPTY = hashlib.sha256(b"").hexdigest()

_NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1)
_FACETS = st.just(UNFILED) | st.builds(Facets, st.text(), st.lists(st.text()).map(tuple), st.text())
_FILES = st.builds(BuiltFile, _NAMES, st.none() | st.text(), st.just(EMPTY), st.just(0), _FACETS, _NAMES)


def a_record(*files: BuiltFile, failure: str = "") -> BuildRecord:
    """Make a record."""
    landed = LANDING.time.isoformat()
    return BuildRecord(commit="a" * 40, landed=landed, environment=DIGEST, files=files, missing=[], failure=failure)


def a_store(folder: Path) -> tuple[BuildStore, BuildRecord, Path]:
    """Make a store of a record of one file; return the file of its bytes too."""
    (folder / "file").write_bytes(b"bytes")
    store = BuildStore(folder)
    record = a_record(BuiltFile("file", None, *store.put_file(folder / "file")))
    store.put_record(record)
    return store, record, store.path(record.files[0].sha256)


@given(st.lists(_FILES), st.text())
def test_round_trip(files: list[BuiltFile], failure: str) -> None:
    """Names that are not text (lone surrogates) too."""
    record = a_record(*files, failure=failure)
    with tempfile.TemporaryDirectory() as folder:
        store = BuildStore(Path(folder))
        (Path(folder) / "empty").touch()
        store.put_file(Path(folder) / "empty")
        store.put_record(record)
        assert BuildStore(Path(folder)).record(LANDING, DIGEST) == record


def test_environment(tmp_path: Path) -> None:
    """A record is valid in the environment in which it was made; the first difference is said."""
    store, record, _ = a_store(tmp_path)
    assert store.environment() is None
    store.put_environment(ENVIRONMENT, "b" * 40)
    assert BuildStore(tmp_path).environment() == (ENVIRONMENT, "b" * 40)
    assert store.record(LANDING, DIGEST) == record
    assert store.record(LANDING._replace(time=LANDING.time.replace(day=16)), DIGEST) is None
    for change, message in (
        ({"packages": {"Python": "3.11", "Markdown": "3.6"}}, "Markdown was 3.5 and is now 3.6"),
        ({"packages": {"Python": "3.11"}}, "Markdown was 3.5 and is now missing"),
        ({"overrides": {"SITENAME": "B"}}, "-e SITENAME was A \u20ac and is now B"),
        ({"clean_urls": True}, "clean_urls was False and is now True"),
        ({"index_urls": "file"}, "index_urls was folder and is now file"),
        ({"folder": "web"}, "the folder was . and is now web"),
    ):
        other = replace(ENVIRONMENT, **change)
        assert store.record(LANDING, other.digest) is None
        assert other.difference(ENVIRONMENT) == message


@pytest.mark.parametrize("left", [b"", b'{"commit": "aaa', b"\0" * 99])
def test_after_a_power_failure(tmp_path: Path, left: bytes) -> None:
    """A record that is empty, cut off or of zeros is none, and so is one whose bytes are not as many as they were."""
    store, _, file = a_store(tmp_path)
    (tmp_path / "records" / f"{'a' * 40}.json").write_bytes(left)
    assert store.record(LANDING, DIGEST) is None
    store, record, _ = a_store(tmp_path)
    file.write_bytes(left)
    assert BuildStore(tmp_path).record(LANDING, DIGEST) is None
    assert BuildStore(tmp_path).put_file(tmp_path / "file") == record.files[0][2:4]
    assert file.read_bytes() == b"bytes"
    file.unlink()
    assert BuildStore(tmp_path).record(LANDING, DIGEST) is None


def test_damaged_bytes(tmp_path: Path) -> None:
    """What has the right length and other bytes is not published."""
    store, record, file = a_store(tmp_path)
    file.write_bytes(b"\0" * 5)
    digest = record.files[0].sha256
    with pytest.raises(PublicationError, match="is damaged: remove it, and run backfill again"):
        store.read(digest)
    with pytest.raises(PublicationError, match="is damaged: remove it, and run backfill again"):
        store.copy(digest, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
