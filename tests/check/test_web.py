"""Sources on the web: what a URL leads to, and what is not asked for."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pelican_resourcesync.check import CheckError, Report, Request, check
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.transport import connect_to_public, is_public
from tests.check.documents import SOURCE, lay, names
from tests.support.servers import Server, served

DOCUMENTS = sum(name.endswith((".xml", "/resourcesync")) for name in SOURCE)


@contextmanager
def on_the_web(folder: Path, changed: dict[str, str | bytes | None] | None = None) -> Iterator[str]:
    """Serve the Source under an address of its own, which all documents name."""
    with served(folder) as address:
        lay(folder, changed, f"{address}/")
        yield address


def run(target: str, **options: Any) -> Report:
    """Check a URL."""
    return check(Request(target=target, **options))


def test_whole_source(tmp_path: Path) -> None:
    """From the host, from each entry point and from robots.txt the same documents are found."""
    with on_the_web(tmp_path) as address:
        for path in ("", "/", "/.well-known/resourcesync", "/description.xml", "/capabilitylist.xml"):
            report = run(f"{address}{path}")
            assert names(report.findings) == [], path
        report = run(f"{address}/robots.txt")
        assert names(report.findings) == []


def test_page_with_a_link(tmp_path: Path) -> None:
    """DI02: a page's link leads to its Capability List."""
    page = '<!doctype html><head><link rel="resourcesync" href="capabilitylist.xml"></head>'
    with on_the_web(tmp_path, {"page.html": page, "bare.html": "<html>", "index.html": page}) as address:
        assert run(f"{address}/page.html").documents >= DOCUMENTS - 1
        with pytest.raises(CheckError, match="has no link with rel=resourcesync"):
            run(f"{address}/bare.html")
        (tmp_path / ".well-known/resourcesync").unlink()
        report = run(address)
        assert names(report.findings) == ["DI01 SHOULD"]
        (tmp_path / "index.html").write_text("<html>", "utf-8")
        with pytest.raises(CheckError, match="its page has no link"):
            run(address)


def test_deep(tmp_path: Path) -> None:
    """Resources are asked for, and their media types compared."""
    with on_the_web(tmp_path, {"a.txt": b"alphA"}) as address:
        assert "X08 MUST" in names(run(address, deep=True, jobs=2).findings)


def test_single_document_asks_for_nothing_more(tmp_path: Path) -> None:
    """Without --follow one request is made; with it, what the document names is visited."""
    with on_the_web(tmp_path) as address:
        assert run(f"{address}/changes-1.xml").documents == 1
        report = run(f"{address}/changes-1.xml", follow=True)
        assert report.documents == 3
        assert names(report.findings) == []
        assert run(f"{address}/dump.zip").packages == 1


def test_no_private_address_that_a_document_names(tmp_path: Path) -> None:
    """A document in a file may name what it likes: nothing on this machine is asked for it."""
    with on_the_web(tmp_path) as address:
        report = run(str(tmp_path / "changes-1.xml"), follow=True)
        assert report.documents == 1
        assert "127.0.0.1 is not public" in report.as_text()
        assert address


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "0.0.0.0",
        "224.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "100.64.0.1",
        "no address",
    ],
)
def test_private_addresses(address: str) -> None:
    """Loopback, private, link-local, multicast and what stands for such."""
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_public_addresses(address: str) -> None:
    """Addresses of the internet."""
    assert is_public(address)


def test_the_address_looked_at_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands for another address a moment later gains nothing; one private address is enough to refuse."""
    asked: list[tuple[str, int]] = []
    answers = ["93.184.216.34", "93.184.216.35"]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (each, 80)) for each in answers])

    def connect(address: tuple[str, int], _: float) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(ConnectionRefusedError):
        connect_to_public(("site.example", 80), 1)
    assert asked == [("93.184.216.34", 80), ("93.184.216.35", 80)]
    answers.append("10.0.0.1")
    with pytest.raises(TransportError, match=r"its address 10\.0\.0\.1 is not public"):
        connect_to_public(("site.example", 80), 1)
    assert len(asked) == 2


class _Headers(SimpleHTTPRequestHandler):
    """A host that says more than it should."""

    def end_headers(self) -> None:
        """Name another Capability List."""
        if self.path.startswith("/a.txt"):
            self.send_header("Link", '</other.xml>; rel="resourcesync"')
        super().end_headers()

    def guess_type(self, path: Any) -> str:
        """Take text for something else."""
        return "application/octet-stream" if str(path).endswith("b.txt") else super().guess_type(path)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing."""


def test_what_the_host_says(tmp_path: Path) -> None:
    """DI03, X09: the Link header leads to the set's Capability List, and the media type is the one listed."""
    with Server(("127.0.0.1", 0), partial(_Headers, directory=str(tmp_path))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        lay(tmp_path, base=f"{address}/")
        report = run(f"{address}/capabilitylist.xml", deep=True, ignore=("DI01",))
        server.shutdown()
        thread.join()
    assert names(report.findings) == ["DI03 MUST", "X09 SHOULD"]
