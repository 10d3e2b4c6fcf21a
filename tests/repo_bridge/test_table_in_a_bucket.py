"""Tables whose parts are written by several processes or machines, which may also write them into a bucket."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from distributed import LocalCluster

from pelican_resourcesync.checker import check
from pelican_resourcesync.delivery.upload import upload
from pelican_resourcesync.errors import ConflictError, MismatchError, PublicationError, SettingsError, TransportError
from pelican_resourcesync.http import Bucket, BucketPath, buckets
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import Options
from pelican_resourcesync.settings import Archives
from repo_bridge import TableError, plan
from repo_bridge.settings import read_settings
from repo_bridge.tables import Sorting, resources, sort_table, sort_table_by, sorting
from tests.kit.bucket import BucketServer, bucket_server
from tests.kit.repository.press import Press, files_in
from tests.repo_bridge.test_table import AT, parquet

DRAFTS = "resourcesync/.drafts-"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    """Serve an empty bucket, and let parts be small."""
    monkeypatch.setattr(plan, "Options", partial(Options, limits=Limits(entries=3_000)))
    monkeypatch.setattr(sorting, "_GROUP", 2_048)
    monkeypatch.setattr(sorting, "_GROUPS", 1)
    monkeypatch.setattr(resources, "ROOMY", 2_048)
    with bucket_server(monkeypatch) as server:
        yield server


def select(number: int) -> str:
    """Return a statement that selects the rows of a day: some are gone, some are new, and some have other bytes."""
    digest = f"sha256(CAST(k + {number} * (k < 4000 AND k % 1000 = 3)::INT AS VARCHAR))"
    found = "(SELECT i * 7919 % 9000 AS k FROM range(9000) t(i))"
    rows = f"SELECT 'https://e.org/' || printf('%05d', k) AS uri, {digest} AS hash, k FROM {found}"
    return f"SELECT uri, hash FROM ({rows}) WHERE k >= {3 * number} AND k < {8_990 + 5 * number}"


def published(folder: Path, server: BucketServer, *runs: dict[str, Any]) -> list[dict[str, bytes]]:
    """Publish the days of a table with these options; return the files of each publication, wherever they are."""
    press, publications = Press(folder), []
    folder.mkdir()
    for number, more in enumerate(runs):
        file = parquet(folder / f"{number}.parquet", select(number))
        press.publish(None, number, **{"table": file, "base_url": server.url, **more})
        own = files_in(press.public)
        publications.append({**server.contents(), **own} if "bucket" in more else own)
    return publications


def killing(workers: Callable[[], list[int]], begun: Callable[[], bool]) -> threading.Thread:
    """Kill one of the processes when they have begun."""

    def kill() -> None:
        while not begun():
            time.sleep(0.001)
        os.kill(workers()[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.promise("The same by any number")
def test_same_bytes(tmp_path: Path, server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes, and machines that sort the table, too, and of which one is killed, write the same as one process."""
    bucket = BucketPath(server.bucket)
    expected = published(tmp_path / "one", server, {}, {}, {})
    lists = [sorted(path for path in each if "/resourcelist-" in path) for each in expected]
    assert [len(each) for each in lists] == [5, 8, 8]  # three are written again, and those before stay for a while
    monkeypatch.setattr(sorting, "_SORTED_AT_ONCE", 2_500)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        for name in "abc":
            parquet(tmp_path / f"{name}.parquet", f"{select(2)} AND k % 3 = {'abc'.index(name)}")
            server.put(f"tables/{name}.parquet", (tmp_path / f"{name}.parquet").read_bytes())
        among = {"bucket": bucket, "cluster": cluster.scheduler_address}
        runs = among, {"bucket": bucket, "jobs": 2}, {**among, "table": bucket / "tables/[a-c].parquet"}
        before = [worker.pid for worker in cluster.workers.values()]
        thread = killing(lambda: before, lambda: any("/part-" in path for path in server.contents()))
        found = published(tmp_path / "many", server, *runs)
        thread.join()
        assert before[0] not in [worker.pid for worker in cluster.workers.values()]
        elsewhere = published(tmp_path / "two", server, {}, {"jobs": 2}, {"cluster": cluster.scheduler_address})
    assert elsewhere == expected
    for each in found:
        assert not [path for path in each if path.startswith(DRAFTS)]
    there = [{path: each[path] for path in each if not path.startswith("tables/")} for each in found]
    everything = {path: data for each in expected for path, data in each.items() if "/resourcelist-" in path}
    for one, other in zip(there, expected, strict=True):
        assert one == {**{path: everything[path] for path in one if "/resourcelist-" in path}, **other}
    assert not [path for path in files_in(tmp_path / "many/public") if "/resourcelist-" in path]


def test_uploaded_and_continued(tmp_path: Path, server: BucketServer) -> None:
    """After an upload, the bucket is a Source; any machine continues it, and old parts go when their time is up."""
    bucket = BucketPath(server.bucket)
    removed = []
    for number in range(3):
        press = Press(tmp_path / str(number))  # another machine
        press.folder.mkdir()
        file = parquet(tmp_path / "table.parquet", select(number))
        more = {"bucket": bucket, "base_url": server.url, "previous": server.bucket}
        result = press.publish(None, number, table=file, **more)
        assert result.publications["repository"].first is (number == 0)
        done = upload(press.public, Bucket(server.bucket), grace=0)
        removed.append([path for path in done.removed if "/resourcelist-" in path])
        assert not any("/resourcelist-" in path for path in done.changed)
        report = check(server.url, deep=False)
        assert report.documents > 8
        assert [*report.findings.groups()] == []
        again = upload(press.public, Bucket(server.bucket), grace=0)
        assert (again.changed, again.removed) == ([], [])
    assert [len(each) for each in removed] == [0, 0, 3]
    assert len([path for path in server.contents() if "/resourcelist-" in path]) == 8

    with pytest.raises(PublicationError, match=r"the publication in .* is damaged .*does not match"):
        press.publish(None, 3, table=file, base_url=server.url)  # without the bucket, most of it is not there


def test_archives_of_what_is_in_a_bucket(tmp_path: Path, server: BucketServer) -> None:
    """Archives are in the output, and only the parts of the current list in the bucket; each run continues the last."""
    press, file = Press(tmp_path), parquet(tmp_path / "table.parquet", select(0))
    more: dict[str, Any] = {"bucket": BucketPath(server.bucket), "base_url": server.url, "changes_by": "day"}
    for number in range(5):
        parquet(file, select(number))
        press.publish(None, number, table=file, archives=Archives(resourcelist=None), **more)
    own = [path for path in files_in(press.public) if "/resourcelist-" in path]
    assert len([path for path in own if "/archive/" in path and path.count("-") == 2]) > 1
    assert "resourcesync/repository/resourcelist-archive.xml" in own
    assert not [path for path in server.contents() if "/archive" in path or "-archive" in path]
    upload(press.public, Bucket(server.bucket), grace=0)
    assert [*check(server.url, deep=False).findings.groups()] == []


def test_lost_parts(tmp_path: Path, server: BucketServer) -> None:
    """An upload names a part that is missing in the bucket or another one, before anything lists it."""
    press, file = Press(tmp_path), parquet(tmp_path / "table.parquet", select(0))
    more: dict[str, Any] = {"table": file, "bucket": BucketPath(server.bucket), "base_url": server.url}
    press.publish(None, **more)
    path = next(path for path in server.contents() if "/resourcelist-" in path)
    before = server.contents()[path]
    server.put(path, before.replace(b"e.org", b"f.org"))
    for kind, message in (
        (MismatchError, f"{path} has changed since it was written: restore it, or start over"),
        (TransportError, f"{path}: there is no such file in the bucket"),
    ):
        with pytest.raises(
            PublicationError, match=f"{path} is missing or was changed after it was published: upload to"
        ):
            upload(press.public, Bucket(server.bucket))
        buckets._read_verified.cache_clear()  # that of another run
        with pytest.raises(kind, match=message):
            press.publish(None, 1, **more)
        assert {each for each in server.contents() if "/resourcelist-" not in each} == {"resourcesync/upload.json"}
        server.delete(path)
    assert not [path for path in server.contents() if path.startswith(DRAFTS)]


def test_never_other_bytes(server: BucketServer, tmp_path: Path) -> None:
    """Files in a bucket stay as they were written; whoever writes the same again may, and drafts are verified."""
    folder = BucketPath(server.bucket)
    for _ in range(2):
        (folder / "a/b").write_bytes(b"1")
    with pytest.raises(ConflictError, match="a/b was changed by another program in the meantime"):
        (folder / "a/b").write_bytes(b"2")
    assert ((folder / "a/b").read_bytes(), (folder / "a/b").name, str(folder / "a/b")) == (b"1", "b", f"{folder}/a/b")
    written = (folder / "a/draft").write_bytes(b"1")
    server.put("a/draft", b"2")
    for read in (written.read_bytes, lambda: written.save(tmp_path / "copy")):
        with pytest.raises(MismatchError, match="a/draft has changed since it was written"):
            read()
    (folder / "a").remove()
    assert server.contents() == {}


def test_table_from_a_bucket(tmp_path: Path, server: BucketServer) -> None:
    """Its rows are named by the URLs of their files; wildcards match no slash."""
    for name in ("t/1.csv", "t/2.csv", "t/deep/3.csv"):
        server.put(name, f"uri,length\nhttps://e.org/{name[-5]},1\nhttps://e.org/x{name[-5]},nothing\n".encode())
    press, files = Press(tmp_path / "press"), BucketPath(server.bucket) / "t/*.csv"
    with pytest.raises(TableError) as caught:
        press.publish(None, table=files)
    found = "; ".join(f"row 2 of {server.bucket}/t/{number}.csv has the invalid length 'nothing'" for number in "12")
    assert str(caught.value) == (f"{files} has 2 bad rows: {found}: correct them, or raise bad-rows to leave them out")
    press.publish(None, table=files, bad_rows=2)
    assert [*press.listed()] == ["https://e.org/1", "https://e.org/2"]
    for name, message in (("t/*.xlsx", "xlsx is not a table"), ("t/none*.csv", "none.* does not exist, or is empty")):
        with pytest.raises(TableError, match=f"^s3://.*{message}"):
            press.publish(None, table=BucketPath(server.bucket) / name)


@pytest.mark.promise("The same by any number")
def test_bad_rows_of_a_cluster(tmp_path: Path, server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same, with the same numbers, as those that one machine finds."""
    monkeypatch.setattr(sorting, "_SORTED_AT_ONCE", 3)
    rows = ["https://e.org/c", "nothing", '"', "https://e.org/a", "https://e.org/b", "https://e.org/c"]
    (tmp_path / "1.csv").write_text("\n".join(["uri", *rows[:4], ""]), "utf-8")
    (tmp_path / "2.csv").write_text("\n".join(["uri", *rows[4:], "https://e.org/a", "d", ""]), "utf-8")
    how = Sorting(at=AT, zone=ZoneInfo("UTC"), memory="200MB")
    (tmp_path / "sorting").mkdir()
    expected = sort_table(tmp_path / "*.csv", tmp_path / "sorting", how)
    found = sort_table_by(map, tmp_path / "*.csv", BucketPath(server.bucket), how)
    assert ([*found.resources.rows()], found.bad, found.examples) == (
        [*expected.resources.rows()],
        expected.bad,
        expected.examples,
    )
    assert [row.uri for row in found.resources.rows()] == [f"https://e.org/{name}" for name in "abc"]
    assert found.examples == (
        f"row 3 of {tmp_path}/1.csv cannot be read: Value with unterminated quote found.",
        f"row 2 of {tmp_path}/1.csv has the invalid uri 'nothing'",
        f"row 2 of {tmp_path}/2.csv has the uri of an earlier row, 'https://e.org/c'",
        f"row 4 of {tmp_path}/2.csv has the invalid uri 'd'",
    )
    with pytest.raises(TableError, match=r"there are no files .*none.*: check the path"):
        sort_table_by(map, tmp_path / "none*.csv", BucketPath(server.bucket), how)


def test_sets_by_the_beginnings_of_uris(tmp_path: Path) -> None:
    """Each resource is in one set: that of its beginning, or the complete set if its path is too short."""
    press = Press(tmp_path)
    names = ["a/1", "a/2", "b/1", "top", "b.html?x=/y/", "a/b/c"]
    file = parquet(tmp_path / "table.parquet", f"SELECT 'https://e.org/' || unnest({names}) AS uri")
    outcome = press.publish(None, table=file, partition_by=1)
    assert {name: each.resources for name, each in outcome.publications.items()} == {
        "repository": 2,
        "repository-e-org_a": 3,
        "repository-e-org_b": 1,
    }
    assert [*press.listed()] == ["https://e.org/b.html?x=/y/", "https://e.org/top"]
    assert press.findings() == {}
    file = parquet(tmp_path / "table.parquet", f"SELECT 'https://e.org/' || unnest({names[3:5]}) AS uri")
    with pytest.raises(PublicationError, match=r"3 of 3 resources would be listed as deleted, .*: check the table; if"):
        press.publish(None, 1, table=file, partition_by=1)  # no set is a part of another, so each is guarded
    file = parquet(tmp_path / "table.parquet", f"SELECT 'https://e.org/' || unnest({[*names[:2], 'c/1']}) AS uri")
    with pytest.raises(PublicationError, match=r"2 of 2 resources would be listed as deleted, .*: check the table; if"):
        press.publish(None, 1, table=file, partition_by=1)
    outcome = press.publish(None, 1, table=file, partition_by=1, allow_deletions=True)
    assert {name: each.resources for name, each in outcome.publications.items()} == {
        "repository": 0,
        "repository-e-org_a": 2,
        "repository-e-org_b": 0,
        "repository-e-org_c": 1,
    }
    assert press.findings() == {}
    many = parquet(tmp_path / "many.parquet", "SELECT 'https://e.org/' || i || '/x' AS uri FROM range(1001) t(i)")
    with pytest.raises(TableError, match="there would be more than 1,000 sets: reduce partition-by"):
        press.publish(None, 2, table=many, partition_by=1)


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket has a URL, and only tables have parts there."""
    monkeypatch.chdir(tmp_path)
    needed = {"out": "public", "base-url": "https://e.org"}
    settings = read_settings({**needed, "table": "s3://b/t/*.csv", "bucket": "s3://b/site/", "partition-by": "2"})
    assert (settings.table, settings.bucket) == (BucketPath("s3://b/t/*.csv"), BucketPath("s3://b/site"))
    with pytest.raises(SettingsError, match=r"--bucket .* the URL of a bucket, such as 's3://bucket/prefix'"):
        read_settings({**needed, "table": "t.csv", "bucket": "https://b"})
    for key, value in (("bucket", "s3://b/site"), ("partition-by", "1"), ("jobs", "2"), ("cluster", "tcp://e:1")):
        with pytest.raises(SettingsError, match=f"--{key} needs a table"):
            read_settings({**needed, "saf": "archive", key: value})
