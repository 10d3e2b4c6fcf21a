"""What an upload sends, in which order and with which headers, and what it refuses."""

import hashlib
import io
import json
import shutil
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from threading import Lock
from unittest import mock
from urllib.request import urlopen

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.delivery.upload import upload, upload_order
from pelican_resourcesync.errors import ConflictError, MismatchError, PublicationError, SettingsError, TransportError
from pelican_resourcesync.http import Bucket
from pelican_resourcesync.publication import kind_of
from pelican_resourcesync.publishers.aggregator import mirror
from pelican_resourcesync.publishers.folder import publish
from tests.delivery.upload.conftest import contents, files_of, page
from tests.kit.bucket import BucketServer
from tests.kit.folders import Folder
from tests.kit.reader import parse_file
from tests.kit.sites import our_command
from tests.kit.sources import fake_source
from tests.programs.test_upload import dead_names

LEASE, DESCRIPTION, WELL_KNOWN = "resourcesync/upload.json", "resourcesync/description.xml", ".well-known/resourcesync"


def output(folder: Folder) -> dict[str, bytes]:
    """Return what an output holds."""
    return files_of(folder.public)


def test_all_is_sent_once_and_then_what_has_changed(
    folder: Folder, store: BucketServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bucket has the bytes of the output; of the next publication, only what differs is sent."""
    assert main(["upload", str(folder.public), store.bucket]) == 0
    assert contents(store) == output(folder)
    files = len(output(folder))
    assert capsys.readouterr().out.startswith(f"{files} of {files} files uploaded (")
    our_command(folder.base, "check", store.url, "--deep")
    store.requests.clear()
    done = upload(folder.public, Bucket(store.bucket))
    assert (done.changed, done.removed, store.requests["PUT"]) == ([], [], 2)  # the lease, taken and released
    store.age(but="resourcesync/publication.json")  # what was written since the last upload ended is compared, too
    before = contents(store)
    folder.update({"index.html": page("second")})
    assert main(["upload", str(folder.public), store.bucket, "--dry-run"]) == 0
    seen = capsys.readouterr().out.splitlines()
    assert "upload index.html" in seen
    assert "upload a/b.html" not in seen
    assert contents(store) == before
    store.requests.clear()
    done = upload(folder.public, Bucket(store.bucket))
    assert contents(store) == output(folder)
    assert set(done.changed) == {path for path, data in output(folder).items() if before.get(path) != data}
    assert [f"upload {path}" for path in done.changed] == seen[:-1]
    copies = {path for path in store.contents() if path.startswith("resourcesync/.replaced/")}
    assert {path.rpartition("/")[2] for path in copies} == {
        hashlib.sha256(before[path]).hexdigest() for path in done.changed if kind_of(path).step > 1 and path in before
        and path in json.loads(before["resourcesync/publication.json"])["documents"]
    }  # fmt: skip
    assert store.requests["PUT"] == len(done.changed) + len(copies) + 2
    # What no publication lists, and is as large as before: the Source Description, its copy, pages, the sitemap.
    assert store.requests["HEAD"] <= 5
    assert sum(store.requests.values()) == done.requests


def test_headers(folder: Folder, store: BucketServer) -> None:
    """Browsers get the types of files; caches may keep what never changes for a year, and nothing else."""
    upload(folder.public, Bucket(store.bucket))
    for path, kind in {
        "index.html": "text/html",
        ".well-known/resourcesync": "application/xml",
        "resourcesync/publication.json": "application/json",
    }.items():
        with urlopen(f"{store.url}/{path}") as response:
            assert (response.headers["Content-Type"], response.headers["Cache-Control"]) == (kind, "no-cache")


def test_order() -> None:
    """The files of a step come before those that mention them; the state of the site is the last of all."""
    state, others = (
        "resourcesync/publication.json",
        ["resourcesync/site/changelist.xml", "resourcesync/zoo/publication.json"],
    )
    files = ["index.html", "resourcesync/site/changelist-20240301T120000Z.xml", *others, state]
    assert upload_order([state, *reversed(files[:-1])]) == files


@pytest.mark.promise("In order")
def test_nothing_is_mentioned_before_it_is_there(folder: Folder, store: BucketServer, tmp_path: Path) -> None:
    """After each single write, all that the entry points lead to is there; the last write is the site's state."""
    folder.configure(
        "dumps = true\narchives = true\nchanges_by = 'day'\nversions = true\nallow_deletions = true\n"
        "[sets.all]\n[sets.pages]\npaths = ['*.html']"
    )
    shutil.rmtree(folder.public / "resourcesync")
    dead, written = list[str](), list[str]()

    def look(method: str, path: str) -> int:
        path = path.removeprefix("/bucket/site/")
        if method == "PUT" and path != LEASE and "/.replaced/" not in path:
            with looking:
                written.append(path)
                shutil.rmtree(tmp_path / "www", ignore_errors=True)
                for name, data in store.contents().items():
                    (tmp_path / "www" / name).parent.mkdir(parents=True, exist_ok=True)
                    (tmp_path / "www" / name).write_bytes(data)
                if all((tmp_path / "www" / path).is_file() for path in (WELL_KNOWN, DESCRIPTION)):
                    dead.extend(dead_names(tmp_path / "www", store.url))
        return 0

    looking, store.deaf = Lock(), look
    for texts in ("one", "other"), ("third", "other"):
        folder.update(dict(zip(("index.html", "a/b.html"), map(page, texts), strict=True)))
        done = upload(folder.public, Bucket(store.bucket))
        assert written[-1] == done.changed[-1] == "resourcesync/pages/publication.json"
        assert not dead
        written.clear()
    assert contents(store) == output(folder)


def test_what_is_gone_is_removed_later(folder: Folder, store: BucketServer) -> None:
    """A reader of the old lists still finds it for a while; what no upload wrote stays for ever."""
    bucket = Bucket(store.bucket)
    upload(folder.public, bucket)
    store.put("stranger.txt", b"x")
    (folder.public / "a/b.html").unlink()
    folder.run()
    done = upload(folder.public, bucket)
    assert (done.removed, done.waiting) == ([], 2)
    assert "a/b.html" in contents(store)
    assert b"b.html" not in store.contents()[LEASE]  # it says no more than the documents do
    store.age(but="", seconds=86_401)
    done = upload(folder.public, bucket)
    assert [path for path in done.removed if ".replaced" not in path] == ["a/b.html"]
    assert contents(store) == {**output(folder), "stranger.txt": b"x"}
    folder.update({"a/b.html": page("again")})
    upload(folder.public, bucket)
    gone = json.loads(store.contents()[LEASE])["gone"].keys()
    assert hashlib.sha256(b"stranger.txt").hexdigest() in gone
    assert hashlib.sha256(b"a/b.html").hexdigest() not in gone


def test_takedown(folder: Folder, store: BucketServer) -> None:
    """With `--grace 0`, no byte of a forgotten page stays: no version, patch, package, or copy of what was replaced."""
    folder.configure("allow_deletions = true\nversions = true\npatches = true\ndumps = true")
    for text in ("SECRET one", "SECRET two"):
        folder.update({"a/b.html": page(text + "".join(map(str, range(9_000))))})
        upload(folder.public, Bucket(store.bucket), grace=0)
        assert store.contents().keys() == {LEASE, *output(folder)}
    assert [path for path in store.contents() if path.endswith(".dcz")]
    (folder.public / "a/b.html").unlink()
    our_command(folder.base, "forget", f"{store.url}/a/b.html", "--output", "public")
    assert main(["upload", str(folder.public), store.bucket, "--grace", "0"]) == 0
    stored = store.contents()
    assert stored.keys() == {LEASE, *output(folder)}
    packages = [zipfile.ZipFile(io.BytesIO(data)) for path, data in stored.items() if path.endswith(".zip")]
    unpacked = [package.read(name) for package in packages for name in package.namelist()]
    assert unpacked
    assert not [data for data in [*stored.values(), *unpacked] if b"SECRET" in data]


@pytest.mark.promise("Uploaded")
def test_stale_output_is_refused(folder: Folder, store: BucketServer, tmp_path: Path) -> None:
    """Of two publications that continue the same one, the second does not replace the first; nor does an older one."""
    bucket = Bucket(store.bucket)
    upload(folder.public, bucket)
    shutil.copytree(folder.base, tmp_path / "other")
    other = Folder(tmp_path / "other", store.url)
    for each in (folder, other):
        each.update({"index.html": page(each.base.name)})
    upload(other.public, bucket)
    before = contents(store)
    with pytest.raises(PublicationError, match=r"generation 2, which generation 2 in .* does not continue"):
        upload(folder.public, bucket)
    assert contents(store) == before == output(other)
    other.update({"index.html": page("next")})
    upload(other.public, bucket)
    with pytest.raises(PublicationError, match="generation 3, which generation 2"):
        upload(folder.public, bucket)


@pytest.mark.promise("Uploaded")
def test_of_two_uploads_one_stops_before_it_writes(
    folder: Folder, store: BucketServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lease that is held, and one that was taken a moment ago, are respected; after its end, it is taken."""
    lease = json.dumps({"until": time.time() + 60, "gone": {}}).encode()
    store.put(LEASE, lease)
    assert main(["upload", str(folder.public), store.bucket]) == 3
    assert "another upload to s3://bucket/site is running or was killed" in capsys.readouterr().err
    assert store.contents() == {LEASE: lease}
    assert upload(folder.public, Bucket(store.bucket), dry_run=True).changed
    store.put(LEASE, json.dumps({"until": time.time() - 1, "gone": {}}).encode())

    def hurry(method: str, path: str) -> int:
        if method == "PUT" and path.endswith(LEASE):
            store.put(LEASE, lease)
        return 0

    store.fault = hurry
    with pytest.raises(TransportError, match="another upload"):
        upload(folder.public, Bucket(store.bucket))
    assert store.contents() == {LEASE: lease}
    store.put(LEASE, json.dumps({"until": time.time() - 1, "gone": {}}).encode())
    store.fault = lambda *_: 0
    upload(folder.public, Bucket(store.bucket))
    assert contents(store) == output(folder)


@pytest.mark.parametrize("ahead", [-4_000, 400, 10 * 366 * 86_400])
def test_lease_of_a_machine_with_another_clock(
    folder: Folder, store: BucketServer, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """It lasts for three minutes after it was written, by the clock of the store, and no longer."""
    real = time.time
    lease = json.dumps({"until": real() + ahead + 180, "gone": {}}).encode()
    store.put(LEASE, lease)
    store.age(but="", seconds=170)
    if ahead > 0:
        with pytest.raises(TransportError, match="or 3 minutes after it was killed"):
            upload(folder.public, Bucket(store.bucket))
        assert store.contents() == {LEASE: lease}
    store.age(but="", seconds=20)
    upload(folder.public, Bucket(store.bucket))

    def hurry(method: str, path: str) -> int:
        if path.endswith("publication.json") and method == "PUT":
            until.append(json.loads(store.contents()[LEASE])["until"] - real())
        return 0

    until = list[float]()
    folder.update({"index.html": page("second")})
    store.fault = hurry
    monkeypatch.setattr(time, "time", lambda: real() + ahead)
    upload(folder.public, Bucket(store.bucket))
    assert 170 < until[0] < 182


@pytest.mark.parametrize("ahead", [-10 * 366 * 86_400, 10 * 366 * 86_400])
def test_grace_is_measured_by_the_clock_of_the_store(
    folder: Folder, store: BucketServer, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """A clock that is wrong neither removes what readers need, nor keeps it for longer."""
    bucket, real = Bucket(store.bucket), time.time
    upload(folder.public, bucket)
    (folder.public / "a/b.html").unlink()
    folder.run()
    gone = hashlib.sha256(b"a/b.html").hexdigest()
    monkeypatch.setattr(time, "time", lambda: real() + ahead)
    for _ in range(2):
        assert "a/b.html" not in upload(folder.public, bucket, grace=3_600).removed
        assert abs(json.loads(store.contents()[LEASE])["gone"][gone] - real()) < 5
    store.put(
        LEASE, json.dumps({"until": 0, "gone": {gone: real() + abs(ahead)}}).encode()
    )  # as a clock ahead wrote it
    store.age(but="", seconds=3_601)
    assert "a/b.html" in upload(folder.public, bucket, grace=3_600).removed


#: What no lease is: of damaged JSON, `system/test_strict_json.py` has more.
DAMAGED = [
    *(
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"until": 0}',
        b'{"until": "soon", "gone": {}}',
        b'{"until": 0, "gone": []}',
    ),
    *(b'{"until": 0, "gone": {"a": %s}}' % each for each in (b'"now"', b"null", b"9" * 400, b"-1e300")),
]


def test_damaged_lease(folder: Folder, store: BucketServer) -> None:
    """A lease that cannot be read counts as none, and is replaced."""
    store.put("stranger.txt", b"x")
    for lease in DAMAGED:
        store.put(LEASE, lease)
        upload(folder.public, Bucket(store.bucket))
        assert json.loads(store.contents()[LEASE]).keys() == {"until", "holder", "gone"}
        assert contents(store) == {**output(folder), "stranger.txt": b"x"}


@pytest.mark.parametrize("path", ["index.html", "resourcesync/site/resourcelist.xml", "resourcesync/publication.json"])
def test_machine_that_slept_replaces_nothing_of_others(folder: Folder, store: BucketServer, path: str) -> None:
    """What another upload wrote since this one began stays, and so does the entry point."""
    bucket = Bucket(store.bucket)
    upload(folder.public, bucket)
    folder.update({"index.html": page("mine")})

    def meanwhile(method: str, where: str) -> int:
        if method == "PUT" and where.endswith(path):
            store.put(path, b"of the other one")
        return 0

    store.fault = meanwhile
    before = contents(store)
    with pytest.raises(ConflictError, match="was changed by another program"):
        upload(folder.public, bucket)
    after = contents(store)
    assert after[path] == b"of the other one"
    later = {each for each in output(folder) if kind_of(each).step > kind_of(path).step}
    assert {each: after.get(each) for each in later} == {each: before.get(each) for each in later}


@pytest.mark.promise("Uploaded")
def test_lease_that_another_upload_has_taken(folder: Folder, store: BucketServer) -> None:
    """It is renewed as long as it lasts; when another upload has taken it, nothing more is written."""
    renewed = list[bool]()

    def slow(method: str, path: str) -> int:
        if method == "PUT" and path.endswith(LEASE):
            renewed.append(len(renewed) == 2)
            if renewed[-1]:
                store.put(LEASE, b'{"until": 0, "gone": {}}')
        elif method == "PUT":
            time.sleep(0.3)
        return 0

    store.fault = slow
    with pytest.raises(ConflictError, match=r"upload.json was changed by another program"):
        upload(folder.public, Bucket(store.bucket), lease_time=0.6)
    assert len(renewed) >= 3
    assert "resourcesync/publication.json" not in contents(store)
    assert json.loads(store.contents()[LEASE]) == {"until": 0, "gone": {}}


def test_lost_answers_and_refusals(folder: Folder, store: BucketServer) -> None:
    """A request whose answer is lost is repeated, and finds what it wrote; so is one that is refused for now."""
    lost, refused = set[str](), set[str]()

    def fault(method: str, path: str) -> int:
        if method == "PUT" and path not in refused:
            refused.add(path)
            return 503
        return 0

    def deaf(method: str, path: str) -> int:
        if method == "PUT" and path not in lost:
            lost.add(path)
            return 500
        return 0

    store.fault, store.deaf = fault, deaf
    upload(folder.public, Bucket(store.bucket))
    assert contents(store) == output(folder)
    assert len(lost) == len(output(folder)) + 1


def test_large_files_go_in_parts(folder: Folder, store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not held in memory, and are compared by their hash, too."""
    monkeypatch.setattr("pelican_resourcesync.delivery.upload._LARGE", 1_000_000)
    (folder.public / "large.bin").write_bytes(bytes(12_000_000))
    folder.run()
    store.requests.clear()
    done = upload(folder.public, Bucket(store.bucket))
    assert store.requests["POST"] == 2  # the parts begin and end
    assert sum(store.requests.values()) == done.requests
    assert contents(store) == output(folder)
    assert upload(folder.public, Bucket(store.bucket)).changed == []


def test_large_file_whose_answer_is_lost(folder: Folder, store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file that is there after all is no failure; nor is one sent that changes meanwhile."""
    monkeypatch.setattr("pelican_resourcesync.delivery.upload._LARGE", 1_000_000)
    (folder.public / "large.bin").write_bytes(bytes(12_000_000))
    folder.run()
    posts = list[str]()

    def complete(method: str, path: str) -> int:
        posts.extend([path] if method == "POST" else [])
        return 404 if len(posts) >= 2 and method == "POST" else 0  # as the store says that the upload is over

    store.deaf = complete
    upload(folder.public, Bucket(store.bucket))
    assert (contents(store), len(posts)) == (output(folder), 2)
    (folder.public / "large.bin").write_bytes(bytes(11_000_000))
    folder.run()
    before = contents(store)

    def change(method: str, path: str) -> int:
        if method == "POST" and path.endswith("large.bin"):
            (folder.public / "large.bin").write_bytes(b"x" * 11_000_000)
        return 0

    store.deaf = change
    with pytest.raises(MismatchError, match=r"large\.bin changed while it was read"):
        upload(folder.public, Bucket(store.bucket))
    assert contents(store)["large.bin"] == before["large.bin"]


def test_output_that_has_changed_since(folder: Folder, store: BucketServer) -> None:
    """What is listed is what is uploaded; and without a publication there is nothing to upload."""
    folder.write({"a/b.html": page("OTHER")})
    with pytest.raises(MismatchError, match="has changed since it was published"):
        upload(folder.public, Bucket(store.bucket))
    shutil.rmtree(folder.public / "resourcesync")
    with pytest.raises(PublicationError, match=r"no publication was found in .*: publish it first"):
        upload(folder.public, Bucket(store.bucket))
    assert "a/b.html" not in contents(store)


def test_links_out_of_the_output_and_private_files_stay(folder: Folder, store: BucketServer, tmp_path: Path) -> None:
    """No file is read through a link that the publication does not list."""
    (tmp_path / "secret").write_text("x")
    (folder.public / "link.txt").symlink_to(tmp_path / "secret")
    (folder.public / ".git").mkdir()
    (folder.public / ".git/config").write_text("x")
    upload(folder.public, Bucket(store.bucket))
    assert not {"link.txt", ".git/config"} & contents(store).keys()


def test_killed_publication_is_recovered_first(folder: Folder, store: BucketServer) -> None:
    """Versions that a killed build had not moved yet are uploaded, with those that were there before."""
    folder.configure("versions = true")
    folder.run()
    before = set(output(folder))
    folder.write({"a/b.html": page("new")})
    with (
        mock.patch("pelican_resourcesync.publication.disk.install.finish", side_effect=KeyboardInterrupt),
        suppress(KeyboardInterrupt),
    ):
        publish(folder.public, base_url=folder.url, config=folder.base / "resourcesync.toml")
    upload(folder.public, Bucket(store.bucket))
    assert contents(store) == output(folder)
    assert before < set(contents(store))


def test_versions_cost_no_requests(folder: Folder, store: BucketServer) -> None:
    """Their names are their hashes, so they are not asked for."""
    folder.configure("versions = true")
    folder.run()
    upload(folder.public, Bucket(store.bucket))
    store.age(but="resourcesync/publication.json")
    asked = list[str]()
    store.deaf = lambda _method, path: bool(asked.append(path))  # type: ignore[func-returns-value]  # in one line
    upload(folder.public, Bucket(store.bucket))
    assert asked
    assert not [path for path in asked if "/versions/" in path]


def test_order_for_other_programs(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """The steps print all files of the output, each once, and those of the last are the state."""
    printed = []
    for step in range(1, 8):
        assert main(["upload", str(folder.public), "--order", str(step)]) == 0
        printed.append(capsys.readouterr().out.splitlines())
    assert sorted(path for each in printed for path in each) == sorted(output(folder))
    assert printed[6] == ["resourcesync/publication.json"]
    with pytest.raises(SystemExit):
        main(["upload", str(folder.public), "--order", "8"])


def test_unusable_buckets(
    folder: Folder,
    store: BucketServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """One message says what is wrong."""
    assert main(["upload", str(folder.public), "bucket"]) == 2
    assert "'bucket' is not the URL of a bucket: write s3://bucket/prefix" in capsys.readouterr().err
    assert main(["upload", str(folder.public), "s3://"]) == 2
    assert main(["upload", str(folder.public), "s3://absent/site"]) == 3
    assert Bucket(store.bucket).get("NoSuchBucket.html") is None
    said = "s3://absent/site/resourcesync/upload.json: The specified bucket does not exist\n"
    assert capsys.readouterr().err.endswith(said)
    assert main(["upload", str(tmp_path / "typing-error"), store.bucket]) == 2
    assert not (tmp_path / "typing-error").exists()
    store.fault = lambda *_: 403
    assert main(["upload", str(folder.public), store.bucket]) == 3
    assert "403" in capsys.readouterr().err
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    assert main(["upload", str(folder.public), store.bucket]) == 3
    assert "needs AWS_ALLOW_HTTP=true" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(SettingsError, match=r"needs obstore: pip install 'pelican-resourcesync\[cloud\]'"):
        Bucket(store.bucket)


def test_copy_that_is_published(store: BucketServer, tmp_path: Path) -> None:
    """All that a copy lists is uploaded, also if a name begins with a dot, or is not that in the URL at the Source."""
    names = ["index.html", ".dotted/a.html", "x/.b.txt", "c%20d%20%C3%A9.txt", "~e", "f/", "CON", "a:b*.txt"]
    with fake_source({name: name for name in names}) as source:
        mirror(source.url, tmp_path / "copy", publish=store.url)
    upload(tmp_path / "copy", Bucket(store.bucket))
    listed = parse_file(tmp_path / "copy/resourcesync/copy/resourcelist.xml").entries
    assert len(listed) == len(names)
    for each in listed:
        with urlopen(each.uri) as response:
            assert response.status == 200
