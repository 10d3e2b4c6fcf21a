"""A build that continues what is in a bucket, with its credentials."""

import gzip
import hashlib
import json
import shutil

import pytest

from pelican_resourcesync.delivery.upload import upload
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.http import Bounds, Bucket
from tests.delivery.upload.conftest import contents, files_of, page
from tests.kit.bucket import BucketServer
from tests.kit.folders import Folder

STATE = "resourcesync/publication.json"


def test_each_clone_continues_the_bucket(folder: Folder, store: BucketServer) -> None:
    """The first publication finds an empty bucket; a fresh clone then continues what was uploaded, packages too."""
    shutil.rmtree(folder.public / "resourcesync")
    folder.configure("allow_deletions = true\ndumps = true", previous=store.bucket)
    assert f"there is no publication at {store.bucket}/{STATE}: this is the first publication" in folder.run().stdout
    upload(folder.public, Bucket(store.bucket))
    folder.rebuild({"index.html": page("of a fresh clone"), "new.html": page("new")})
    folder.run()
    assert json.loads((folder.public / STATE).read_bytes())["generation"] == 2
    assert [each[1:] for each in folder.changes()] == [
        ("updated", ""), ("deleted", "a/b.html"), ("deleted", "c%20d%20%C3%A9.txt"), ("created", "new.html"),
    ]  # fmt: skip
    upload(folder.public, Bucket(store.bucket))
    folder.rebuild({"index.html": page("of a fresh clone")})
    folder.run()
    assert len([*(folder.public / "resourcesync/site").glob("changedump-*.zip")]) == 2
    upload(folder.public, Bucket(store.bucket))


def test_bucket_in_gzip(folder: Folder, store: BucketServer) -> None:
    """What another tool compressed in the bucket, and marked so, is continued."""
    folder.configure("allow_deletions = true", previous=store.bucket)
    upload(folder.public, Bucket(store.bucket))
    for path, data in store.contents().items():
        Bucket(store.bucket).put(path, gzip.compress(data), {"Content-Encoding": "gzip"}, replace=True)
    folder.rebuild({"index.html": page("of a fresh clone")})
    folder.run()
    assert json.loads((folder.public / STATE).read_bytes())["generation"] == 2


@pytest.mark.parametrize("last", ["Z.xml", "resourcelist.xml", "site/index.html", "publication.json"])
def test_upload_that_was_killed(folder: Folder, store: BucketServer, last: str) -> None:
    """The last complete publication is continued, wherever the upload of the next one ended."""
    folder.configure("allow_deletions = true", previous=store.bucket)
    upload(folder.public, Bucket(store.bucket))
    folder.update({"index.html": page("second")})
    upload(folder.public, Bucket(store.bucket))
    folder.update({"index.html": page("third")})
    store.fault = lambda method, path: 403 if method == "PUT" and path.endswith(last) else 0
    with pytest.raises(TransportError, match="403"):
        upload(folder.public, Bucket(store.bucket))
    store.fault = lambda *_: 0
    folder.rebuild({"index.html": page("of a fresh clone"), "new.html": page("new")})
    folder.run()
    state = json.loads((folder.public / STATE).read_bytes())
    assert state["generation"] == 3
    assert state["predecessor"] == hashlib.sha256(store.contents()[STATE]).hexdigest()
    for _ in "123":
        upload(folder.public, Bucket(store.bucket), grace=0)
    assert contents(store) == files_of(folder.public)
    assert not [path for path in store.contents() if "/.replaced/" in path]


def test_page_of_a_killed_upload_does_not_stay(folder: Folder, store: BucketServer) -> None:
    """What was written since the last upload ended need not be what is listed: here a page that is as it was before."""
    folder.configure("allow_deletions = true", previous=store.bucket)
    upload(folder.public, Bucket(store.bucket))
    store.age(but=STATE)
    before = store.contents()["index.html"]
    folder.rebuild({"index.html": before.replace(b"first", b"never"), "a/b.html": page("other")})
    folder.run()
    store.fault = lambda method, path: 403 if method == "PUT" and path.endswith("Z.xml") else 0
    with pytest.raises(TransportError, match="403"):
        upload(folder.public, Bucket(store.bucket))
    store.fault = lambda *_: 0
    assert b"never" in store.contents()["index.html"]
    folder.rebuild({"index.html": before, "a/b.html": page("third")})
    folder.run()
    upload(folder.public, Bucket(store.bucket), grace=0)
    assert contents(store) == files_of(folder.public)
    assert store.contents()["index.html"] == before


def test_starting_over(folder: Folder, store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What starts over has new addresses, and continues the bucket for an upload."""
    folder.configure("allow_deletions = true", previous=store.bucket)
    upload(folder.public, Bucket(store.bucket))
    monkeypatch.setenv("RESOURCESYNC_FIRST", "1")
    folder.rebuild({"index.html": page("of a fresh clone")})
    folder.run()
    upload(folder.public, Bucket(store.bucket))
    assert json.loads(store.contents()[STATE])["restart_number"] > 1


def test_limit_of_a_file(store: BucketServer) -> None:
    """What is larger than is allowed is not read."""
    store.put(STATE, b"four")
    with pytest.raises(TransportError, match="larger than 3 bytes"):
        Bucket(store.bucket).read(STATE, Bounds(size=3))
