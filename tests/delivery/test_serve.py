"""`serve`: a folder over HTTP, and the versions that were in force."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.delivery.serve import FolderServer
from pelican_resourcesync.http import server as server_module
from pelican_resourcesync.settings import VersionOptions
from pelican_resourcesync.system.dcz import MEDIA_TYPE
from sample_site.dspace.repository import Value
from tests.kit.publications import HOSTILE_NAMES, SITEURL, Source
from tests.kit.repository.press import Press, shelf
from tests.publication.kinds.test_versions import ONE, TWO, three, timemap

HOME = "resourcesync/site"
TIMEGATE = f"timegate/{SITEURL}/"
Answer = tuple[int, http.client.HTTPMessage, bytes]


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve a folder; yield the port."""
    with FolderServer(("127.0.0.1", 0), folder) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def get(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    """Request a path."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def day(number: int, time: str = "12:00:00") -> str:
    """Return a time in March 2024 as headers have it."""
    return f"{['Fri', 'Sat', 'Sun', 'Mon'][number - 1]}, {number:02} Mar 2024 {time} GMT"


@pytest.fixture
def port(source: Source) -> Iterator[int]:
    """Serve what `three` publishes."""
    three(source)
    (source.output / "b.txt").unlink()
    with serving(source.output) as number:
        yield number


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set of which nothing was published."""
    return Source(tmp_path / "output")


@pytest.mark.promise("In force")
@pytest.mark.parametrize(
    ("path", "time", "data", "began"),
    [
        ("a.html", day(1, "11:59:59"), b"1", day(1)),  # before the first version (RFC 7089, section 4.5.3)
        ("a.html", day(1), b"1", day(1)),
        ("a.html", day(2, "11:59:59"), b"1", day(1)),
        ("a.html", day(2), b"2", day(2)),  # published half a second later, but headers have no parts of seconds
        ("a.html", day(3, "11:59:59"), b"2", day(2)),
        ("a.html", day(4), b"1", day(3)),
        ("b.txt", day(3, "11:59:59"), b"2", day(1)),
        ("b.txt", day(3), None, day(3)),  # deleted: a memento of the answer 404 (section 4.5.5)
        ("b.txt", day(4), None, day(3)),
        ("c.html", day(1), b"1", day(2)),
        ("nowhere.html", day(1), None, None),
    ],
)
def test_what_was_in_force(port: int, path: str, time: str, data: bytes | None, began: str | None) -> None:
    """A time gets the memento of then, also of what is gone, at the URL of the resource and from the TimeGate."""
    status, headers, body = get(port, f"/{path}", Accept_Datetime=time)
    assert_the_same((status, headers, body), get(port, f"/{TIMEGATE}{path}", Accept_Datetime=time), port)
    assert (status, headers["Memento-Datetime"]) == (404 if data is None else 200, began)
    if began:
        assert headers["Vary"] == "Accept-Datetime"
        assert is_of(headers, path, data is not None)
    if data is not None:
        ending = path.rpartition(".")[2]
        name = f"{HOME}/versions/{ONE if data == b'1' else TWO}.{ending}"
        types = {"html": "text/html; charset=utf-8", "txt": "text/plain; charset=utf-8"}
        assert (body, headers["Content-Location"], headers["Content-Type"]) == (
            data,
            f"{SITEURL}/{name}",
            types[ending],
        )
        assert get(port, f"/{name}")[::2] == (200, data)


def assert_the_same(answer: Answer, led: Answer, port: int) -> None:
    """Compare an answer with that of the TimeGate: a redirect to a file with the same headers, or the answer itself."""
    expected, headers = dict(answer[1]), led[1]
    if led[0] == 302:
        assert (headers["Location"], headers["Memento-Datetime"]) == (expected.pop("Content-Location"), None)
        assert (headers["Link"], headers["Vary"]) == (expected.pop("Link"), expected.pop("Vary"))
        led = get(port, headers["Location"].removeprefix(SITEURL))
        del led[1]["Link"]
    actual = {**led[1], "Date": expected["Date"]}  # a second may have passed
    assert (led[0], actual, led[2]) == (answer[0], expected, answer[2])


def is_of(headers: http.client.HTTPMessage, path: str, negotiated: bool = False) -> bool:
    """Return whether an answer links to its resource and the TimeMap of that, and to the memento it negotiated."""
    timemap = rf'<{SITEURL}/{HOME}/timemaps/[0-9a-f]{{32}}\.link>; rel="timemap"; type="application/link-format"'
    memento = f', <{headers["Content-Location"]}>; rel="memento"; datetime="{headers["Memento-Datetime"]}"'
    links = rf'<{SITEURL}/{path}>; rel="original timegate", {timemap}{memento if negotiated else ""}'
    return bool(re.fullmatch(links, headers["Link"]))


@pytest.mark.parametrize(
    ("file", "path", "began"), [(f"{ONE}.html", "a.html", day(1)), (f"{TWO}.html", "a.html", day(2))]
)
def test_mementos(port: int, file: str, path: str, began: str) -> None:
    """The file of a version says of which resource it is, and since when: of that which had these bytes first."""
    _, headers, _ = get(port, f"/{HOME}/versions/{file}", Accept_Datetime=day(4))
    assert (headers["Memento-Datetime"], headers["Vary"]) == (began, None)
    assert is_of(headers, path)


def test_a_timegate_elsewhere(port: int, source: Source) -> None:
    """Where the settings name a TimeGate, the resource itself is none."""
    versions = VersionOptions(timegate="https://g.example/")
    source.publish({"a.html": b"1", "c.html": b"1"}, "2024-03-04T12:00", versions=versions)
    for headers in ({}, {"Accept_Datetime": day(1)}):
        links = get(port, "/a.html", **headers)[1]["Link"].split(", ")
        assert links[:2] == [
            f'<{SITEURL}/a.html>; rel="original"',
            f'<https://g.example/{SITEURL}/a.html>; rel="timegate"',
        ]


def test_media_types(port: int, source: Source) -> None:
    """What names do not say is served with the media type that an upload gives it."""
    [timemap] = [each.name for each in (source.output / HOME / "timemaps").iterdir()][:1]
    (source.output / HOME / "patches").mkdir()
    patch = f"patches/{'0' * 64}-{'1' * 64}.dcz"
    (source.output / HOME / patch).write_bytes(b"patch")
    types = {
        f"{HOME}/timemaps/{timemap}": "application/link-format",
        ".well-known/resourcesync": "application/xml",
        f"{HOME}/{patch}": MEDIA_TYPE,
    }
    assert {path: get(port, f"/{path}")[1]["Content-Type"] for path in types} == types


@pytest.mark.promise("Nothing from outside")
def test_files(port: int, source: Source) -> None:
    """Files are served as static hosts do, with links to their versions; nothing outside of the folder is."""
    (source.output / "d").mkdir()
    (source.output / "d/index.html").write_bytes(b"d")
    (source.output / ".mirror").mkdir()
    (source.output / ".mirror/state").write_bytes(b"state")
    (source.output.parent / "secret.txt").write_bytes(b"secret")
    (source.output / "out.txt").symlink_to(source.output.parent / "secret.txt")
    status, headers, body = get(port, "/a.html")
    assert (status, body, headers["Content-Length"], headers["Memento-Datetime"]) == (200, b"1", "1", None)
    assert 'rel="original timegate"' in headers["Link"]
    assert get(port, "/a")[::2] == (200, b"1")
    assert get(port, "/d/")[::2] == (200, b"d")
    assert get(port, "/a.html", "HEAD")[::2] == (200, b"")
    assert [
        get(port, path)[0]
        for path in ("/", "/b.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/out.txt", "/.mirror/state")
    ] == [404] * 6
    assert get(port, "/a.html", "POST")[0] == 405
    for asked in ("yesterday", "Fri, 31 Dec 9999 23:59:59 -2300", "Fri, 1 Mar 2024 12:00:00 GMT"):
        assert get(port, "/a.html", Accept_Datetime=asked)[0] == 400
    path = f"/{HOME}/resourcelist.xml"
    assert get(port, path, Accept_Datetime=day(1))[2] == (source.output / path[1:]).read_bytes()


def test_records(tmp_path: Path) -> None:
    """The records of a repository, which are published beside its documents, have their versions; documents do not."""
    press, sample = Press(tmp_path), shelf(1)
    press.publish(sample, versions=VersionOptions())
    sample.items[0].last_modified = "2025-06-16T10:00:00Z"
    sample.items[0].metadata[0] = Value("dc.title", "Another")
    press.publish(sample, 1, versions=VersionOptions())
    record = "/resourcesync/repository/records/oai_dc/123456789/1.xml"
    with serving(press.public) as port:
        for time, now in (("Sun, 15 Jun 2025", False), ("Mon, 16 Jun 2025", True)):
            status, headers, body = get(port, record, Accept_Datetime=f"{time} 12:00:00 GMT")
            assert (status, b"Another" in body, headers["Vary"]) == (200, now, "Accept-Datetime")
            assert headers["Memento-Datetime"]
            assert f'<https://repo.example/sync{record}>; rel="original timegate"' in headers["Link"]
        document = "/resourcesync/repository/resourcelist.xml"
        status, headers, body = get(port, document, Accept_Datetime="Sun, 15 Jun 2025 12:00:00 GMT")
        assert (status, headers["Memento-Datetime"]) == (200, None)
        assert body == (press.public / document[1:]).read_bytes()


def test_without_a_time(port: int) -> None:
    """The TimeGate answers with the last version, and at other URLs with what is there."""
    for path, expected in (
        ("a.html", (200, day(3), None)),  # not the first state with these bytes, so its file names another time
        ("b.txt", (404, day(3), None)),
        ("c.html", (200, day(2), None)),
    ):
        status, headers, _ = get(port, f"/{TIMEGATE}{path}")
        assert (status, headers["Memento-Datetime"], headers["Location"]) == expected
    assert get(port, "/timegate/https://other.example/")[0] == 404


def test_a_publication_meanwhile(port: int, source: Source) -> None:
    """It counts at once."""
    assert get(port, "/a.html", Accept_Datetime=day(4))[2] == b"1"
    source.publish({"a.html": b"9", "c.html": b"1"}, "2024-03-04T12:00", versions=VersionOptions())
    assert get(port, "/a.html", Accept_Datetime=day(4))[2] == b"9"
    assert len(timemap(source, "a.html")) == 4


def test_the_command(source: Source) -> None:
    """It says where it serves, and ends when it is stopped."""
    three(source)
    command = [sys.executable, "-m", "pelican_resourcesync", "serve", str(source.output), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as process:
        assert process.stdout
        line = process.stdout.readline()
        found = re.fullmatch(rf"Serving {source.output} at http://127\.0\.0\.1:(\d+)/\n", line)
        assert found
        assert get(int(found[1]), "/a.html", Accept_Datetime=day(2))[2] == b"2"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def line_of(source: Source, path: str) -> tuple[Path, str]:
    """Return the version history of a publication, and the line of a resource in it."""
    index = source.output / HOME / "versions.jsonl"
    [line] = [each for each in index.read_text().splitlines() if f"/{path}" in each]
    return index, line


@pytest.mark.promise("Nothing from outside")
@pytest.mark.parametrize("name", [*HOSTILE_NAMES, f"{ONE}/../../../../secret", "link"])
def test_hostile_versions(source: Source, name: str) -> None:
    """Nothing but a version is answered, whatever a history lists; other sets are served as they were."""
    three(source)
    (source.output.parent / "secret").write_bytes(b"secret")
    index, line = line_of(source, "a.html")
    if name == "link":  # which the folder itself has, under the name of a version
        (source.output / HOME / f"versions/{ONE}.html").unlink()
        (source.output / HOME / f"versions/{ONE}.html").symlink_to(source.output.parent / "secret")
    else:
        index.write_text(index.read_text().replace(line, line.replace(f'"{ONE}.html"', json.dumps(name))))
    source.reseal()
    other = Source(source.output, set_name="other")
    other.publish({"o.html": b"other"}, "2024-03-01T12:00", versions=VersionOptions())
    with serving(source.output) as port:
        for path, headers in (("a.html", {"Accept_Datetime": day(1)}), (f"timegate/{SITEURL}/a.html", {})):
            status, _, body = get(port, f"/{path}", **headers)
            assert b"secret" not in body
            assert status in ({200, 302, 404} if name == "link" else {404})
        assert get(port, "/o.html", Accept_Datetime=day(2))[2] == b"other"
        assert get(port, "/a.html")[::2] == (200, b"1")


def test_a_damaged_set(source: Source, caplog: pytest.LogCaptureFixture) -> None:
    """A set whose state is damaged has no versions, with a warning; files and other sets are served."""
    three(source)
    other = Source(source.output, set_name="other")
    other.publish({"o.html": b"other"}, "2024-03-01T12:00", versions=VersionOptions())
    for data in (b"{", b"[" * 9_000, b"\xff"):
        (source.output / "resourcesync/publication.json").write_bytes(data)
        with serving(source.output) as port:
            assert get(port, "/a.html", Accept_Datetime=day(2))[0] == 404
            assert get(port, "/a.html")[::2] == (200, b"1")
            assert get(port, "/o.html", Accept_Datetime=day(2))[2] == b"other"
    assert len([each for each in caplog.messages if "the set site is served without versions: " in each]) == 3


@pytest.mark.parametrize("path", ["a" * 300, "a/" * 5_000, "a%00b", "%ff", "a%0d%0ab", "a.html/x", "%2fetc/passwd"])
def test_names_that_no_file_can_have(port: int, path: str) -> None:
    """They are not there."""
    for headers in ({}, {"Accept_Datetime": day(2)}):
        assert get(port, f"/{path}", **headers)[0] == 404
        assert get(port, f"/timegate/{SITEURL}/{path}", **headers)[0] == 404


def test_slow_clients(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """More clients than can be answered at once end those that send nothing, and a request has to come in time."""
    three(source)
    monkeypatch.setattr(server_module, "_MOST", 4)
    with serving(source.output) as port, ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 10)) for _ in range(20)]
        for each in slow:
            each.sendall(b"GET /a.html HTTP/1.1\r\nX")
        assert get(port, "/a.html")[::2] == (200, b"1")
        assert [each.recv(1) for each in slow[:16]] == [b""] * 16
        assert threading.active_count() < 16
        monkeypatch.setattr(server_module, "monotonic", lambda: time.monotonic() + 31)
        assert slow[-1].recv(1) == b""


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is none, and a port that cannot be used, are one message."""
    assert main(["serve", str(tmp_path / "none")]) == 2
    assert "none is not a folder: pass the output of a site" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--port", "99999"]) == 2
    assert "--port 99999 cannot be used: " in capsys.readouterr().err
