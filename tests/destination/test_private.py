"""Private addresses: only what the user typed may have one, on that port, and only if it had one from the first."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import IncompleteError, TransportError
from pelican_resourcesync.http.urllib3_client import _Timed
from tests.kit.live import redirect
from tests.kit.sources import FAST, FakeSource, digest, entry, fake_source, files_of, following

PUBLIC, PRIVATE = "93.184.216.34", "127.0.0.1"


@dataclass
class Name:
    """What the host of a Source stands for, and how often it was looked up since the address changed."""

    address: str = PUBLIC


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Name:
    """Let `museum.test` stand for an address, and let connections to it lead to this machine."""
    name = Name()
    resolve, connect = socket.getaddrinfo, socket.socket.connect

    def resolved(host: str, port: int, *args: Any, **options: Any) -> Any:
        if host != "museum.test":
            return resolve(host, port, *args, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (name.address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(_Timed, "connect", lambda self, to: connect(self, (PRIVATE, to[1])), raising=False)
    monkeypatch.setitem(__import__("sys").modules, "pelican_resourcesync.http.curl_client", None)
    return name


@pytest.fixture
def source() -> Iterator[FakeSource]:
    """Yield a Source at `museum.test`."""
    with fake_source() as source:
        source.site.url = source.site.url.replace(PRIVATE, "museum.test")
        source.update({"a.html": "one", "b.html": "two"})
        yield source


@pytest.mark.promise("A mirror stays inside")
def test_name_that_becomes_private(source: FakeSource, name: Name, folder: Path) -> None:
    """Between two runs, or two requests, nothing of an internal host comes into the copy."""
    assert Mirror(source.url, folder, FAST).run().complete
    source.update({"a.html": "internal"})
    name.address = PRIVATE
    source.site.asked()
    with pytest.raises(TransportError, match=r"museum\.test is not requested: .* 127\.0\.0\.1 is not public$"):
        Mirror(source.url, folder, FAST).run()
    assert not source.site.asks
    assert files_of(folder) == source.states[-2]
    assert Mirror(source.url, folder, replace(FAST, allow_private=True)).run().complete
    name.address = PUBLIC

    def rebind(ask: Any) -> None:
        name.address = PRIVATE
        ask.handler.close_connection = True
        source.answer(ask)

    source.update({"b.html": "new"})
    source.site.manners["rs/changelist.xml"] = rebind
    assert Mirror(source.url, folder, replace(FAST, retries=0)).run().missing[0][1].endswith("is not public")


def test_name_that_was_private_from_the_first(source: FakeSource, name: Name, folder: Path) -> None:
    """It may be; but not on another port, also by way of a redirect."""
    name.address = PRIVATE
    with fake_source({"c.html": "internal"}) as other:
        elsewhere = other.url.replace(PRIVATE, "museum.test")
        source.published["rs/resourcelist.xml"] = source.resource_list().replace(
            b"</urlset>", entry(f"{elsewhere}c.html", {"hash": digest(b"internal")}).encode() + b"</urlset>"
        )
        source.site.manners["b.html"] = redirect(f"{elsewhere.replace('http:', 'https:')}c.html")
        result = Mirror(source.url, folder, replace(FAST, retries=0)).run()
        assert {uri: "its address 127.0.0.1 is not public" in why for uri, why in result.missing} == {
            f"{elsewhere}c.html": True,
            f"{source.url}b.html": True,
        }
        assert other.site.asks == []
    assert files_of(folder) == {"a.html": b"one"}


def test_other_port_of_loopback(folder: Path) -> None:
    """The same with the faster client, if it is installed."""
    with fake_source({"a.html": "one"}) as source, fake_source({"b.html": "two"}) as other:
        listed = entry(f"{other.url}b.html", {"hash": digest(b"two")})
        source.add("rs/resourcelist.xml", listed)
        assert "is not public" in Mirror(source.url, folder, FAST).run().missing[0][1]
        assert other.site.asks == []
        assert Mirror(source.url, folder, replace(FAST, allow_private=True)).run().complete


def test_cursor_knows(source: FakeSource, name: Name) -> None:
    """A program without a copy keeps in its cursor what the name stood for."""
    changes = following(source.url, None, FAST)
    assert len(list(changes)) == 2
    name.address = PRIVATE
    with pytest.raises(TransportError, match="is not public"):
        list(following(source.url, changes.cursor, FAST))
    changes = following(source.url, None, FAST)
    assert len(list(changes)) == 2
    assert list(following(source.url, changes.cursor, FAST)) == []


def test_name_that_is_none(name: Name, folder: Path) -> None:
    """What cannot be looked up is a failure like others."""
    with pytest.raises((TransportError, IncompleteError)):
        Mirror(f"http://{'a' * 64}.test/", folder, replace(FAST, retries=0)).run()
