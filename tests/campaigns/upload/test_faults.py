"""Uploads with a fault in turn at each file and at each request: nothing is named in the bucket that is not there."""

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import unquote

import pytest

from pelican_resourcesync.delivery.upload import upload
from pelican_resourcesync.errors import MismatchError, PublicationError, TransportError
from pelican_resourcesync.http import Bucket
from tests.delivery.upload.conftest import contents, files_of, page
from tests.kit.bucket import BucketServer
from tests.kit.folders import Folder
from tests.kit.reader import parse
from tests.programs.test_upload import dead_names

STATE, WELL_KNOWN = "resourcesync/publication.json", ".well-known/resourcesync"
POINTS = {WELL_KNOWN, "resourcesync/description.xml"}  # which several publishers write, so no state has their hashes


@pytest.fixture
def next_one(folder: Folder, store: BucketServer) -> Folder:
    """Upload a publication with all kinds of documents, and publish the next one, which has another page."""
    folder.configure("versions = true\ndumps = true\nallow_deletions = true")
    folder.run()
    upload(folder.public, Bucket(store.bucket))
    (folder.public / "a/b.html").unlink()
    folder.update({"index.html": page("second"), "new.html": page("new")})
    return folder


def dead(store: BucketServer, folder: Path) -> set[str]:
    """Return what is not there of all that is named: links, documents, resources, and what the states list."""
    files = contents(store)
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)

    def named() -> Iterator[str]:
        yield from json.loads(files[STATE])["documents"]
        for entry in parse(files["resourcesync/site/resourcelist.xml"]).entries:
            path = unquote(entry.uri.removeprefix(f"{store.url}/"))
            yield path if path and not path.endswith("/") else f"{path}index.html"

    return {path for path in named() if path not in files} | {*dead_names(folder, store.url)}


@pytest.mark.promise("In order")
def test_each_file_missing_or_changed(next_one: Folder, store: BucketServer, tmp_path: Path) -> None:
    """What is listed or linked to is there and as it was published, or nothing is written."""
    files, old = files_of(next_one.public), contents(store)
    before, refused = store.snapshot(), dict[bool, set[str]]({True: set(), False: set()})
    tried = [*files][::3]
    for path, data in files.items():
        for is_missing in (True, False) if path in tried else (True,):
            (next_one.public / path).unlink()
            if not is_missing:
                (next_one.public / path).write_bytes(data[:-1] + b"x")
            try:
                upload(next_one.public, Bucket(store.bucket), grace=0)
            except (PublicationError, MismatchError):
                refused[is_missing].add(path)
                assert contents(store) == old
            else:
                assert path in POINTS or dead(store, tmp_path / "www") == set()
                store.restore(before)
            (next_one.public / path).write_bytes(data)
    state = json.loads(files[STATE])
    free = {"sitemap.xml", WELL_KNOWN, ".nojekyll", *state["superseded"]}
    assert refused[True] == files.keys() - free
    assert refused[False] >= {"index.html", "new.html", STATE, *state["documents"]}.intersection(tried)


@pytest.mark.promise("In order")
def test_each_file_missing_or_changed_meanwhile(next_one: Folder, store: BucketServer, tmp_path: Path) -> None:
    """What vanishes or changes while others are sent ends the upload, before anything names it."""
    before, files = store.snapshot(), files_of(next_one.public)
    changed = upload(next_one.public, Bucket(store.bucket), dry_run=True).changed
    listed = {
        "new.html",
        STATE,
        *json.loads(files[STATE])["documents"],
        *(each for each in files if "/versions/" in each),
    }
    for path, text in [(path, text) for path in [changed[-1], *changed[1::5]] for text in (None, b"other")]:

        def harm(method: str, where: str, path: str = path, text: bytes | None = text) -> int:
            if method == "PUT" and where == f"/bucket/site/{changed[0]}":
                (next_one.public / path).unlink()
                if text is not None:
                    (next_one.public / path).write_bytes(text)
            return 0

        store.fault = harm
        with nullcontext() if text and path not in listed else pytest.raises(TransportError):
            upload(next_one.public, Bucket(store.bucket), grace=0, jobs=1)
        assert dead(store, tmp_path / "www") == set()
        store.restore(before)
        (next_one.public / path).write_bytes(files[path])


@pytest.mark.promise("In order")
@pytest.mark.parametrize("answered", [False, True], ids=["refused", "answer lost"])
def test_each_request_in_turn(
    next_one: Folder, store: BucketServer, tmp_path: Path, request: pytest.FixtureRequest, *, answered: bool
) -> None:
    """Whichever request fails for good, readers find all that is named."""
    before, number, step = store.snapshot(), 0, 1 if request.config.getoption("--long") else 5
    while True:
        left = number

        def fault(_method: str, _path: str) -> int:
            nonlocal left
            left -= 1
            return 403 if left < 0 else 0

        store.fault, store.deaf = (lambda *_: 0, fault) if answered else (fault, lambda *_: 0)
        try:
            upload(next_one.public, Bucket(store.bucket), grace=0, jobs=1)
        except TransportError:
            store.fault = store.deaf = lambda *_: 0
            assert dead(store, tmp_path / "www") == set()
        else:
            break
        finally:
            store.restore(before)
        number += step
    assert number > 30
