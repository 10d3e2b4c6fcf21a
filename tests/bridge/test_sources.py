"""One repository, from whatever it is read: a live database, a dump in some form, or a copy in SQLite."""

import gzip
from pathlib import Path

import pytest

from repo_bridge.model import Item
from repo_bridge.reading.dump import import_dump
from tests.bridge.support.reading import read, read_sample, url_of
from tests.bridge.support.repository import rows_of
from tests.bridge.support.samples import PUBLIC, every_case
from tests.bridge.support.server import Server

FORMS: dict[str, tuple[str, ...]] = {
    "plain": ("--format=plain",),
    "plain, of rows alone": ("--format=plain", "--data-only"),
    "custom": ("--format=custom",),
    "custom, uncompressed": ("--format=custom", "--compress=0"),
}


def imported(file: Path, folder: Path) -> list[Item]:
    """Import a dump and read it."""
    import_dump(file, folder / "export.db")
    return read(url_of(folder / "export.db"))


@pytest.mark.parametrize("version", [5, 6, 7, 10])
def test_same_from_all(server: Server, tmp_path: Path, version: int) -> None:
    """A live database, plain and custom dumps and a copy in SQLite give the same items, value by value."""
    url = server.database(rows_of(every_case(), version), version)
    live = read(url)
    assert len(live) == len(PUBLIC)
    assert read_sample(every_case(), tmp_path, version) == live
    for form, options in FORMS.items():
        assert imported(server.dump(url, tmp_path / "dump", *options), tmp_path) == live, form
    plain = server.dump(url, tmp_path / "dump.sql")
    packed = tmp_path / "dump.sql.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert imported(packed, tmp_path) == live
    server.drop(url)
