"""`--listen`: a change reaches a copy within a second, and no caller can do harm."""

import hmac
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest
from pelican.log import LimitFilter

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import listening
from pelican_resourcesync.destination.listening import Listener
from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.http import Request, Sink, new_client
from tests.kit.hub import call
from tests.kit.live import Ask, Manner, closed_port, content, endless, late, redirect, status
from tests.kit.pushed import PushedSource, equal, listen, pushed, wait
from tests.kit.sources import FakeSource, document, fake_source


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nothing, and log each line."""
    monkeypatch.setattr(listening, "_TICK", 0.02)
    LimitFilter._raised_messages.clear()  # Pelican lets no logger say the same twice


@pytest.fixture
def source() -> Iterator[PushedSource]:
    """Yield a Source with a hub."""
    with pushed() as source:
        yield source


@contextmanager
def listener_of(source: PushedSource, *, every: float = 3600, host: str = "127.0.0.1") -> Iterator[Listener]:
    """Yield what listens to the hub of a Source."""
    port = closed_port()
    callback = f"http://{'[::1]' if ':' in host else host}:{port}/hooks/"
    with Listener((host, port), callback, new_client(), every=every) as listener:
        listener.update([(source.topic, Request(url=source.hub_url, sink=Sink(), public=False))])
        yield listener


@contextmanager
def subscribed(source: PushedSource) -> Iterator[tuple[Listener, str, str]]:
    """Yield what has subscribed and had the first hint, its callback and its secret."""
    with listener_of(source) as listener:
        source.hub.wait(lambda: source.hub.subscriptions)
        wait(listener._hint.is_set)
        listener._hint.clear()
        (subscription,) = source.hub.subscriptions.values()
        yield listener, subscription.callback, subscription.secret


def settle(source: PushedSource) -> None:
    """Wait until a command has subscribed, and has read what happened before."""
    source.hub.wait(lambda: source.hub.subscriptions)
    wait(lambda: source.runs() >= 2)
    time.sleep(0.3)


# A copy in step


@pytest.mark.promise("Pushed")
def test_gap_is_healed(source: PushedSource, folder: Path) -> None:
    """What was announced while nobody listened comes with the next notification: the lists have it."""

    def script() -> None:
        settle(source)
        for path in ("b.html", "c.html"):
            source.put(path, path)
            source.publish()  # and its ping is lost
        time.sleep(0.5)
        assert not equal(source, folder)()
        source.update({"d.html": "d"})
        assert b"b.html" not in source.published["rs/notification.xml"]
        source.ping()
        wait(equal(source, folder))

    listen(script, "mirror", source.url, folder)


def test_flood_is_coalesced(source: PushedSource, folder: Path) -> None:
    """A hundred new notifications during a run cause one run more."""

    def script() -> None:
        settle(source)
        before, go_on = source.runs(), Event()

        def held(ask: Ask) -> None:
            go_on.wait(20)
            source.answer(ask)

        source.site.manners["rs/capabilitylist.xml"] = held
        source.hub.deliver(source.topic, b"the first")
        wait(lambda: source.runs() - before == 1)
        for number in range(99):
            source.hub.deliver(source.topic, b"%d" % number)
        assert source.hub.answers == [200] * 100
        go_on.set()
        wait(lambda: source.runs() - before == 2)
        time.sleep(0.3)  # longer than between two runs
        assert source.runs() - before == 2

    listen(script, "mirror", source.url, folder)


def test_follow(source: PushedSource, tmp_path: Path) -> None:
    """A follower gets the changes at once, too; its lines say which Source they are from."""
    file = tmp_path / "lines"

    def script() -> None:
        settle(source)
        source.update({"b.html": "b"})
        source.ping()
        wait(lambda: b"b.html" in file.read_bytes())

    command = f"sh -c 'cat >> {file}; test $RESOURCESYNC_SOURCE = {source.url}'"
    listen(script, "follow", source.url, "--cursor", tmp_path / "cursor", "--exec", command)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["source"], line["uri"].removeprefix(source.url)) for line in lines] == [
        (source.url, "a.html"), (source.url, "b.html"),
    ]  # fmt: skip


HUB = '<link rel="hub" href="{hub}"/><link rel="self" href="{topic}"/>'
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom">{}<entry><link rel="hub" href="http://b.test/"/></entry></feed>'
RSS = '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>{}</channel></rss>'
HEADER = '<{hub}>; rel="hub", <{topic}>; rel=self'


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("", {"Link": HEADER}),
        (f"<!DOCTYPE html><title>Pages</title>{HUB}", {"Content_Type": "text/html"}),
        (ATOM.format(HUB), {}),
        (RSS.format(HUB.replace("<link", "<atom:link")), {}),
        (document("urlset", {"capability": "change-notification"}, HUB.replace("<link", "<rs:ln")).decode(), {}),
        (HUB.replace("{hub}", "http://other.test/"), {"Content_Type": "text/html", "Link": HEADER}),
    ],
    ids=["header", "html", "atom", "rss", "rs", "header before html"],
)
@pytest.mark.parametrize("place", ["rs/notification.xml", ""])
def test_hub_of_the_topic(source: PushedSource, folder: Path, body: str, headers: dict[str, str], place: str) -> None:
    """A hub is found by the headers of a topic, then by its links: of a notification, or of what the user typed."""
    hub, topic = source.hub_url, f"{source.url}topic"
    of_hub = b'<rs:ln rel="hub"[^>]*/>' if place else b"<url><loc>[^<]*notification.*?</url>"
    listed = source.published["rs/capabilitylist.xml"]
    source.published["rs/capabilitylist.xml"] = re.sub(of_hub, b"", listed)
    data, *values = (text.replace("{hub}", hub).replace("{topic}", topic) for text in (body, *headers.values()))
    source.site.manners[place] = content(data.encode(), **dict(zip(headers, values, strict=True)))
    if place or "change-notification" not in body:  # which is not a place to begin
        listen(lambda: source.hub.wait(lambda: source.hub.subscriptions), "mirror", source.url, folder)
        assert {asked["hub.topic"] for asked in source.hub.asked} == {topic}


def test_source_without_a_hub(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line says that nobody will call; the copy is kept up to date all the same."""
    with fake_source({"a.html": "a"}) as source:
        listen(lambda: wait(equal(source, folder)), "mirror", source.url, folder, every="1s")
        assert "the Source has no hub, so it is read every 1 seconds" in capsys.readouterr().err


def test_first_read_fails(source: FakeSource, folder: Path) -> None:
    """With --every, a failure of the network does not end it, not even at first."""
    source.site.manner = status(503)

    def script() -> None:
        wait(lambda: source.site.times[".well-known/resourcesync"] == 2 or source.site.times[""] == 2)
        source.site.manner = source.answer
        wait(equal(source, folder))

    listen(script, "mirror", source.url, folder, every="0.2s")


# Subscriptions


@pytest.mark.parametrize("verifies", ["before", "after"])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_subscription(source: PushedSource, verifies: str, host: str) -> None:
    """It subscribes with a secret, is verified, is called, and unsubscribes."""
    source.hub.verifies = verifies
    with listener_of(source, host=host) as listener:
        source.hub.wait(lambda: source.hub.subscriptions)
        wait(listener._hint.is_set)  # for what happened before
        listener.wait(0)
        (asked,) = source.hub.asked
        assert asked.keys() == {f"hub.{name}" for name in ("mode", "topic", "callback", "lease_seconds", "secret")}
        assert (asked["hub.mode"], asked["hub.topic"]) == ("subscribe", source.topic)
        assert re.fullmatch(r"http://[^/]+/hooks/[\w-]{32}", asked["hub.callback"])
        assert len(asked["hub.secret"]) == 64
        source.hub.deliver(source.topic, source.published["rs/notification.xml"])
        assert (source.hub.answers, listener._hint.is_set()) == ([200], True)
        begin = time.monotonic()
        listener.wait(30)
        assert time.monotonic() - begin < 5
        listener.update([(source.topic, Request(url=source.hub_url, sink=Sink(), public=False))])
    assert [each["hub.mode"] for each in source.hub.asked] == ["subscribe", "unsubscribe"]
    assert source.hub.asked[1]["hub.callback"] == asked["hub.callback"]
    source.hub.wait(lambda: not source.hub.subscriptions)


def test_idle(source: PushedSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing is due, it waits a tick between two looks, whatever comes from the hub."""
    looks, waits = list[int](), list[float]()

    class Ticks(Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0.0)
            return super().wait(timeout)

    with subscribed(source) as (listener, *_):
        monkeypatch.setattr(listener, "_report", lambda: looks.append(len(waits)))
        monkeypatch.setattr(listener, "_woken", Ticks())
        source.hub.deliver(source.topic, b"x")
        wait(lambda: len(looks) >= 4)
        seen = looks[:4]
    assert [later - earlier for earlier, later in pairwise(seen[1:])] == [1, 1]
    assert {*waits[:3]} == {listening._TICK}


def test_renewal(source: PushedSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease is renewed before it ends, and its secret stays."""
    monkeypatch.setattr(listening, "_SHORTEST", 0.0)
    source.hub.lease = 1
    with listener_of(source) as listener:
        source.hub.wait(lambda: len(source.hub.asked) == 2)
        assert {each["hub.secret"] for each in source.hub.asked} == {source.hub.asked[0]["hub.secret"]}
        source.hub.deliver(source.topic, b"")
        assert source.hub.answers == [200]
        listener._hint.clear()
        source.hub.wait(lambda: len(source.hub.asked) == 4)
        assert not listener._hint.is_set()  # it has not ended in between


def test_short_leases_are_not_renewed_all_the_time(source: PushedSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub cannot let us ask it without end; what happened after the end of a lease is read when it is renewed."""
    monkeypatch.setattr(listening, "_SHORTEST", 0.5)
    source.hub.lease = 0
    begin = time.monotonic()
    with subscribed(source) as (listener, *_):
        source.hub.wait(lambda: len(source.hub.asked) == 3)
        assert time.monotonic() - begin >= 0.9
        wait(listener._hint.is_set)


@pytest.mark.promise("Pushed")
def test_hub_that_is_down(source: PushedSource, caplog: pytest.LogCaptureFixture) -> None:
    """A line says so, and it is tried again at each poll."""
    source.hub.down = True
    with listener_of(source, every=0.2):
        source.hub.wait(lambda: len(source.hub.turned_away) == 2)
        wait(lambda: caplog.messages)
        assert caplog.messages == [
            f"the hub cannot be asked to subscribe now: {source.hub_url}: the server answered 503 Service Unavailable"
        ]
        source.hub.down = False
        source.hub.wait(lambda: source.hub.subscriptions)
        source.hub.down = True
    assert caplog.messages[-1].startswith("the hub cannot be asked to unsubscribe now: ")


@pytest.mark.promise("Pushed")
@pytest.mark.parametrize(
    ("manner", "why"),
    [
        (endless, "is larger than 100000 bytes"),
        (late(30, status(202)), "the transfer takes longer than 0.5 seconds|no answer for 0.5 seconds"),
        (redirect("http://127.0.0.1:1/"), "the server answered 302 Found"),
    ],
)
def test_hostile_hubs(
    source: PushedSource, manner: Manner, why: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a hub answers takes neither memory nor time, and leads nowhere."""
    monkeypatch.setattr(listening, "_BOUNDS", listening._BOUNDS._replace(timeout=0.5, total=0.5))
    source.site.manners["hub"] = manner
    source.hub_url = f"{source.url}hub"
    with listener_of(source):
        wait(lambda: caplog.messages)
    assert re.search(why, caplog.messages[0])


def test_private_hubs(source: PushedSource, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document can lead to no private host or port but the Source's own."""
    listen(lambda: wait(equal(source, folder)), "mirror", source.url, folder, private=False)
    said = capsys.readouterr().err
    assert (
        "only URLs that you enter may have private addresses, and its address 127.0.0.1 is not public: if you trust the"
        in said
    )
    assert "add --allow-private\n" in said
    assert not source.hub.asked
    source.hub_url = f"{source.url}hub"
    source.site.manners["hub"] = source.hub
    source.publish()
    listen(lambda: source.hub.wait(lambda: source.hub.subscriptions), "mirror", source.url, folder, private=False)


def test_hub_that_does_not_verify(
    source: PushedSource, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line says what the hub must reach; in the end it is not waited for without end."""
    monkeypatch.setattr(listening, "_FAREWELL", 0.1)
    source.hub.verifies = "never"
    with listener_of(source, every=0.1):
        wait(lambda: caplog.messages)
    callback = source.hub.asked[0]["hub.callback"].rpartition("/")[0]
    assert (
        caplog.messages[0]
        == f"the hub {source.hub_url} has not verified the subscription: make sure that it can reach {callback}"
    )


def test_subscription_that_is_denied(
    source: PushedSource, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub may deny it, at any time; a line says so, and it is asked again at the next poll, an hour later."""
    with subscribed(source) as (listener, callback, _):
        denial = {"mode": "denied", "topic": source.topic, "reason": "not today"}
        assert source.hub.verify(callback, **denial) == (202, b"")
        wait(lambda: caplog.messages)
        assert caplog.messages[0].endswith(f"the last one: {source.hub_url} denies the subscription")
        assert not listener._hint.is_set()
        monkeypatch.setattr(listening, "monotonic", lambda: time.monotonic() + 3600)
        source.hub.wait(lambda: len(source.hub.asked) == 2)
        wait(listener._hint.is_set)  # it has subscribed
        assert source.hub.verify(callback, **denial) == (202, b"")
    assert [each["hub.mode"] for each in source.hub.asked] == ["subscribe"] * 2


def test_hub_that_is_no_longer_named(source: PushedSource) -> None:
    """Its calls are answered with 410, which ends the subscription."""
    with subscribed(source) as (listener, *_):
        listener.update([])
        source.hub.deliver(source.topic, b"")
        assert (source.hub.answers, listener._hint.is_set()) == ([410], False)


# Callers


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512", "md5"])
def test_signatures(source: PushedSource, method: str) -> None:
    """A hub signs as it likes, but not with what is broken."""
    source.hub.method = method
    with subscribed(source) as (listener, *_):
        source.hub.deliver(source.topic, b"x" * 200_000)
        assert (source.hub.answers, listener._hint.is_set()) == ([403] if method == "md5" else [200], method != "md5")


def test_repeated_and_old_notifications(source: PushedSource) -> None:
    """A notification counts once, and none that ends before another that came."""
    notifications = []
    for path in ("b.html", "c.html"):
        source.update({path: path})
        notifications.append(source.published["rs/notification.xml"])
    future = document("urlset", {"capability": "change-notification", "until": "9999-01-01T00:00:00Z"}, "")
    other = document("urlset", {"capability": "changelist", "until": "2000-01-01T00:00:00Z"}, "")
    older, newer = notifications
    with subscribed(source) as (listener, *_):
        for body, counts in [
            (older, True), (older, False), (newer, True), (older, False), (newer, False),  # out of order, doubled
            (b"", True), (b"<urlset", True), (other, True),  # no notification of this kind: it may be new
            (future, True), (future, True),  # a wrong clock does not hide what comes later
        ]:  # fmt: skip
            source.hub.deliver(source.topic, body)
            assert source.hub.answers.pop() == 200
            assert listener._hint.is_set() is counts
            listener._hint.clear()


def signed(secret: str, body: bytes) -> dict[str, str]:
    """Return the header with the signature of a body."""
    return {"X-Hub-Signature": f"sha256={hmac.new(secret.encode(), body, 'sha256').hexdigest()}"}


#: What is refused, by what is wrong with it: takes the callback, the secret and the topic, and returns the status.
_REFUSED: dict[str, tuple[int, Callable[[str, str, str], int]]] = {
    "no signature": (403, lambda url, secret, topic: call(url, b"x")[0]),
    "the signature of other bytes": (403, lambda url, secret, topic: call(url, b"x", signed(secret, b"y"))[0]),
    "another secret": (403, lambda url, secret, topic: call(url, b"x", signed(f"{secret}0", b"x"))[0]),
    "an unknown method": (403, lambda url, secret, topic: call(url, b"x", {"X-Hub-Signature": "sha3=00"})[0]),
    "no digest": (403, lambda url, secret, topic: call(url, b"x", {"X-Hub-Signature": "sha256=\xff"})[0]),
    "another topic": (403, lambda url, secret, topic: call(
        url, b"x", {**signed(secret, b"x"), "Link": '<https://other.example/>; rel="self"'}
    )[0]),
    "another path": (410, lambda url, secret, topic: call(f"{url}x", b"x", signed(secret, b"x"))[0]),
    "the path alone": (410, lambda url, secret, topic: call(url.rpartition("/")[0], b"x")[0]),
    "too much": (413, lambda url, secret, topic: call(url, b"x", {"Content-Length": "100000000"})[0]),
    "far too much": (413, lambda url, secret, topic: call(url, b"x", {"Content-Length": "9" * 400})[0]),
    "a strange length": (413, lambda url, secret, topic: call(url, b"x", {"Content-Length": "-1"})[0]),
    "no length": (413, lambda url, secret, topic: call(url, b"x", {"Content-Length": ""})[0]),
    "10 MB": (403, lambda url, secret, topic: call(url, b"x" * 10_000_000, signed(secret, b"x"))[0]),
    "unsolicited": (404, lambda url, secret, topic: call(
        f"{url}?hub.mode=subscribe&hub.topic={topic}&hub.challenge=1&hub.lease_seconds=9"
    )[0]),
    "no mode": (404, lambda url, secret, topic: call(f"{url}?hub.topic={topic}&hub.challenge=1")[0]),
    "to unsubscribe": (404, lambda url, secret, topic: call(
        f"{url}?hub.mode=unsubscribe&hub.topic={topic}&hub.challenge=1"
    )[0]),
    "to deny another": (404, lambda url, secret, topic: call(f"{url}?hub.mode=denied&hub.topic=x")[0]),
    "many parameters": (404, lambda url, secret, topic: call(f"{url}?hub.topic={topic}{'&x=1' * 1_000}")[0]),
}  # fmt: skip


@pytest.mark.promise("Pushed")
def test_refused_calls(source: PushedSource, caplog: pytest.LogCaptureFixture) -> None:
    """They do nothing, and one line a minute says that there were some; the hub is heard as before."""
    with subscribed(source) as (listener, callback, secret):
        for what, (expected, send) in _REFUSED.items():
            assert (what, send(callback, secret, source.topic)) == (what, expected)
            assert not listener._hint.is_set()
        wait(lambda: caplog.messages)
        assert re.match(r"refused calls to the callback: \d+; the last one: it", caplog.messages[0])
        source.hub.deliver(source.topic, b"x")
        assert (source.hub.answers, listener._hint.is_set()) == ([200], True)
        assert len(caplog.messages) == 1
        listener._next_report = 0.0  # a minute has passed
        wait(lambda: len(caplog.messages) == 2)
    counts = [int(re.findall(r"\d+", each)[0]) for each in caplog.messages]
    assert sum(counts) == len(_REFUSED)


def test_verification_of_another_topic(source: PushedSource) -> None:
    """While a subscription is to be verified, nothing but this is confirmed."""
    source.hub.verifies = "never"
    with listener_of(source) as listener:
        source.hub.wait(lambda: source.hub.asked)
        callback, given = source.hub.asked[0]["hub.callback"], {"challenge": "x", "lease_seconds": "many"}
        assert source.hub.verify(callback, mode="subscribe", topic="https://other.example/", **given)[0] == 404
        assert source.hub.verify(callback, mode="unsubscribe", topic=source.topic, **given)[0] == 404
        assert not listener._hint.is_set()
        assert source.hub.verify(callback, mode="subscribe", topic=source.topic, **given) == (200, b"x")
        assert listener._hint.is_set()
        source.hub.verifies = "after"


def test_other_methods(source: PushedSource) -> None:
    """Nothing but GET and POST is answered."""
    with subscribed(source) as (_, callback, _):
        port, path = re.findall(r":(\d+)(/.*)", callback)[0]
        with socket.create_connection(("127.0.0.1", int(port))) as connection:
            connection.sendall(f"PUT {path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n".encode())
            assert b" 405 " in connection.recv(100)


def test_slow_callers(source: PushedSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many that send their bodies slowly, or nothing, make room for the hub, and end when their time is up."""
    monkeypatch.setattr(listening, "_LONGEST_CALL", 1.0)
    with subscribed(source) as (listener, callback, _), ExitStack() as stack:
        port, path = re.findall(r":(\d+)(/.*)", callback)[0]
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", int(port)))) for _ in range(100)]
        for number, each in enumerate(slow):
            each.settimeout(20)
            if number % 2:
                each.sendall(f"POST {path} HTTP/1.1\r\nX-Hub-Signature: sha1=0\r\nContent-Length: 9\r\n\r\nx".encode())
        begin = time.monotonic()
        source.hub.deliver(source.topic, b"x")
        assert (source.hub.answers, listener._hint.is_set()) == ([200], True)
        assert time.monotonic() - begin < 5  # none of them is waited for
        wait(lambda: len(listener._server.requests) <= 64)
        begin = time.monotonic()
        for each in slow:
            while each.recv(1_000):
                pass
        assert time.monotonic() - begin < 10
        wait(lambda: not listener._server.requests)


# Options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--listen", ":8000"], "use --listen and --callback together"),
        (["--callback", "https://example.org/"], "use --listen and --callback together"),
        (
            ["--listen", ":8000", "--callback", "https://example.org/", "--dry-run"],
            "--dry-run cannot be combined with --every",
        ),
        (["--listen", ":8000", "--callback", "example.org"], "--callback 'example.org': use the http"),
        (["--listen", ":8000", "--callback", "https://example.org/?a=b"], "without a query"),
        (["--listen", ":99999", "--callback", "https://example.org/"], "port 99999 of 127.0.0.1 cannot be used"),
    ],
)
def test_options(given: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be used is refused with a message."""
    assert main(["mirror", "https://example.org/", str(folder), *given]) == 2
    assert message in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize("address", ["localhost", "localhost:http", ":"])
def test_address(address: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An address has a port."""
    with pytest.raises(SystemExit):
        main(["mirror", "https://example.org/", str(folder), "--listen", address])
    assert (
        f"'{address}' is not a valid address: write a port, such as :8090, or a host and a port"
        in capsys.readouterr().err
    )


def test_port_that_is_used() -> None:
    """Two commands cannot listen to one port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(SettingsError, match=r"cannot be used \(.* in use"),
    ):
        Listener(other.getsockname()[:2], "https://example.org/", new_client(), every=1)
