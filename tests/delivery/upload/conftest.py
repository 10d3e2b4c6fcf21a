"""A bucket on loopback, and a folder that is published at its address."""

from pathlib import Path

import pytest

from tests.kit.bucket import BucketServer
from tests.kit.folders import Folder


@pytest.fixture
def folder(tmp_path: Path, store: BucketServer) -> Folder:
    """Publish two pages and a file at the address of the bucket."""
    folder = Folder(tmp_path / "work", store.url)
    folder.write({"index.html": page("first"), "a/b.html": page("other"), "c d é.txt": "text"})
    folder.configure("allow_deletions = true")
    folder.run()
    return folder


def page(text: str) -> str:
    """Return a page."""
    return f"<!DOCTYPE html><html><head><title>{text}</title></head><body>{text}</body></html>"


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of an output, without private ones."""
    files = (each for each in folder.rglob("*") if each.is_file() and not each.name.startswith("."))
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in files}


def contents(store: BucketServer) -> dict[str, bytes]:
    """Return what is in the bucket, without the lease and the documents that were replaced."""
    ours = ("resourcesync/upload.json", "resourcesync/.replaced/")
    return {path: data for path, data in store.contents().items() if not path.startswith(ours)}
