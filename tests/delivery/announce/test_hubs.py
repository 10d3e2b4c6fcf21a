"""The command `announce` and hubs: thin and fat pings, one hub that is down, each change once with a cursor."""

import hmac
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Condition
from unittest.mock import Mock
from urllib.parse import parse_qs

import pytest

from pelican_resourcesync.commands import delivery as commands
from pelican_resourcesync.delivery import announce
from pelican_resourcesync.settings import Hub as PublishedHub
from tests.delivery.announce.conftest import KEY, Site, with_headers
from tests.kit.flask_hub import flask_hub
from tests.kit.hub import Hub, call
from tests.kit.live import Ask, closed_port, live
from tests.kit.publications import Source
from tests.kit.pushed import wait
from tests.kit.reader import parse
from tests.publishers.folder.conftest import page

TOPIC, FEED = "resourcesync/site/notification.xml", "resourcesync/site/changes.atom"


@dataclass
class Subscriber:
    """Confirms whatever it is asked, and keeps the topic, the body and the signature of what it receives."""

    received: list[tuple[str, bytes, str]] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)

    def __call__(self, ask: Ask) -> None:
        """Answer a hub."""
        if ask.handler.command == "POST":
            body = ask.handler.rfile.read(int(ask.headers["Content-Length"]))
            topic = re.search(r'<([^>]*)>; ?rel="self"', ask.headers["Link"])
            with self.changed:
                self.received.append((topic[1] if topic else "", body, ask.headers["X-Hub-Signature"] or ""))
                self.changed.notify_all()
        ask.send(200, parse_qs(ask.query).get("hub.challenge", [""])[0].encode())

    def wait(self, number: int) -> None:
        """Wait until so much was received."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.received) >= number, 20), self.received


def subscribe(hub: str, callback: str, topic: str) -> None:
    """Subscribe at a hub."""
    form = f"hub.mode=subscribe&hub.topic={topic}&hub.callback={callback}&hub.secret=s3cret&hub.lease_seconds=3600"
    assert call(hub, form.encode(), {"Content-Type": "application/x-www-form-urlencoded"})[0] == 202


def configure(site: Site, *hubs: str, fat: tuple[str, ...] = (), key: str = "", more: str = "") -> None:
    """Set these hubs, and a key of IndexNow only if one is given."""
    listed = [*(json.dumps(each) for each in hubs), *(f"{{url = {json.dumps(each)}, fat = true}}" for each in fat)]
    (site.public / f"{KEY}.txt").unlink(missing_ok=True)
    keyed = f"indexnow_key = {json.dumps(key)}" if key else ""
    site.configure(f"hubs = [{', '.join(listed)}]\nallow_deletions = true\n{keyed}\n{more}")


@pytest.fixture
def hubs() -> Iterator[tuple[Hub, Hub]]:
    """Return a thin hub and a fat one, which are live."""
    thin, fat = Hub(), Hub()
    with live(thin) as one, live(fat) as other:
        thin.url, fat.url = f"{one.url}/hub", f"{other.url}/hub"
        yield thin, fat


def test_pings(site: Site, hubs: tuple[Hub, Hub]) -> None:
    """A thin hub is asked to fetch the topic and the feed; a fat one gets the notification with its links (CN02)."""
    thin, fat = hubs
    configure(site, thin.url, fat=(fat.url,))
    site.release({"b.html": page("BB")})
    topic, subscriber = f"{site.url}/{TOPIC}", Subscriber()
    with live(subscriber) as callback:
        for hub in hubs:
            subscribe(hub.url, callback.url, topic)
            hub.wait(partial(bool, hub.subscriptions))
        said = site.announce()
        subscriber.wait(2)
    assert said == f"Notified {thin.url} of changes: site.\nNotified {fat.url} of changes: site.\n"
    assert [(each.topic, each.body) for each in thin.published] == [(topic, None), (f"{site.url}/{FEED}", None)]
    [published] = fat.published
    document = (site.www / TOPIC).read_bytes()
    assert (published.topic, published.body) == (topic, document)
    assert published.headers["Content-Type"] == "application/xml"
    assert published.headers["Link"] == (
        f'<{topic}>; rel="self", <{site.url}/resourcesync/site/capabilitylist.xml>; rel="resourcesync", '
        f'<{fat.url}>; rel="hub"'
    )
    signature = f"sha256={hmac.new(b's3cret', document, 'sha256').hexdigest()}"
    assert subscriber.received == [(topic, document, signature)] * 2
    assert [each.uri for each in parse(document).entries] == [f"{site.url}/b.html"]
    assert not site.engine.told


def test_hubs_and_search_engines_are_independent(site: Site, hubs: tuple[Hub, Hub]) -> None:
    """Search engines learn of pages, hubs of any change; either is enough."""
    thin, _ = hubs
    configure(site, thin.url, key=KEY)
    site.release({"feed.xml": "<rss>"})
    assert site.announce("--dry-run") == f"notify {thin.url}\n"
    assert not thin.published
    assert site.announce() == f"Notified {thin.url} of changes: site.\n"
    site.release({"feed.xml": "<rss >", "b.html": page("BB")})
    assert site.announce("--dry-run") == f"updated {site.url}/b.html\nnotify {thin.url}\n"
    announced = f"Announced to {site.endpoint}: 1 page (1 updated).\n"
    assert site.announce() == f"Notified {thin.url} of changes: site.\n{announced}"
    assert site.told() == ["b.html"]
    assert len(thin.published) == 4
    configure(site, key=KEY)
    site.release({"b.html": page("BBB")})
    assert site.announce() == announced
    assert len(thin.published) == 4


@pytest.mark.promise("Notified")
def test_a_hub_that_is_down(site: Site, hubs: tuple[Hub, Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named; the others and the search engines are served; the run can be repeated."""
    thin, fat = hubs
    closed = f"http://127.0.0.1:{closed_port()}/"
    configure(site, closed, thin.url, fat=(fat.url,), key=KEY)
    site.release({"b.html": page("BB")})
    thin.down = True
    said = site.announce(status=3)
    assert f"a hub was not notified: {closed}: Connection refused\n" in said
    assert f"a hub was not notified: {thin.url}: the server answered 503 Service Unavailable\n" in said
    assert f"Notified {fat.url} of changes: site.\nAnnounced to " in said
    again = f"announce public --since 2026-01-02T10:00:00Z --endpoint {site.endpoint}"
    assert said.endswith(f"to announce the rest later, run pelican-resourcesync {again}\n")
    assert (len(fat.published), site.told()) == (1, ["b.html"])
    thin.down = False
    configure(site, thin.url, fat=(fat.url,))
    said = site.announce(status=3)
    assert f"Notified {thin.url} of changes: site.\n" in said
    assert len(thin.published) == 2


def test_a_hub_that_refuses(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not asked again; a run that is stopped says so."""

    def refuse(ask: Ask) -> None:
        ask.handler.rfile.read(int(ask.headers["Content-Length"] or 0))
        ask.send(400, b"")

    with live(refuse) as hub:
        configure(site, hub.url)
        site.release({"b.html": page("BB")})
        said = site.announce(status=3)
        assert f"not notified: {hub.url}: the server answered 400 Bad Request: check that its URL is right\n" in said
        assert len(hub.asks) == 1

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(commands, "notify", stop)
        assert f"a hub was not notified: {hub.url}: stopped\n" in site.announce(status=3)


def test_each_set_has_a_topic(site: Site, hubs: tuple[Hub, Hub]) -> None:
    """Only those of sets with changes are pinged."""
    thin, fat = hubs
    configure(site, thin.url, fat=(fat.url,), more='[sets.site]\n[sets.a]\npaths = ["a"]\n[sets.b]\npaths = ["b.html"]')
    site.release({})
    site.release({"b.html": page("BB")})
    assert site.announce().startswith(f"Notified {thin.url} of changes: b, site.\n")
    paths = [each.topic.removeprefix(f"{site.url}/resourcesync/") for each in thin.published]
    assert paths == ["b/notification.xml", "b/changes.atom", "site/notification.xml", "site/changes.atom"]
    assert [each.topic for each in fat.published] == [f"{site.url}/resourcesync/{path}" for path in paths[::2]]


def test_publishers_side_by_side(site: Site, hubs: tuple[Hub, Hub]) -> None:
    """Of a site and a repository in one output, both are announced; what others publish there has no state."""
    thin, _ = hubs
    configure(site, thin.url, key=KEY)
    site.release({"b.html": page("BB")})
    for siteurl, name in ((site.url, "repository"), ("https://elsewhere.example", "elsewhere")):
        other = Source(site.public, siteurl=siteurl, set_name=name)
        other.publish({}, "2026-02-09T10:00")
        for when, data in (("2026-02-10T10:00", b"1"), ("2026-02-11T10:00", b"2")):
            other.publish({}, when, records={"1.xml": data}, hubs=(PublishedHub(thin.url),))
    other = Source(site.public, siteurl=site.url, set_name="repository")
    other.publish({}, "2026-02-12T10:00", records={"1.xml": b"3"}, hubs=(PublishedHub(thin.url),))
    (site.public / "resourcesync/other").mkdir()
    shutil.copy(site.public / "resourcesync/site/capabilitylist.xml", site.public / "resourcesync/other")
    site.deploy()
    assert site.announce("--cursor", "position").startswith(f"Notified {thin.url} of changes: repository, site.\n")
    assert site.told() == ["b.html"]
    position = json.loads((site.base / "position").read_bytes())
    assert {receiver: [*times] for receiver, times in position.items()} == {
        thin.url: ["site", "repository"],
        site.endpoint: ["site", "repository"],
    }
    for each in ("site", "publication.json"):
        path = site.public / "resourcesync" / each
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert site.announce("--dry-run") == f"notify {thin.url}\n"


def test_by_url(site: Site, hubs: tuple[Hub, Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is live says itself which hubs it has; one on a public host may not lead to private addresses."""
    thin, fat = hubs
    configure(site, thin.url, fat=(fat.url,))
    site.release({"b.html": page("BB")})
    site.announce(target=site.url)
    assert (len(thin.published), len(fat.published)) == (2, 1)
    monkeypatch.setattr(announce, "is_loopback", lambda _: False)
    assert "a hub was not notified: 127.0.0.1 is not requested" in site.announce(target=site.url, status=3)
    assert (len(thin.published), len(fat.published)) == (2, 1)


def test_cursor(site: Site, hubs: tuple[Hub, Hub]) -> None:
    """With a file for the position, each change is announced to each receiver until that succeeded, and not again."""
    thin, _ = hubs
    configure(site, thin.url, key=KEY)
    done = f"Notified {thin.url} of changes: site.\n"
    site.release({"b.html": page("BB")})
    assert site.announce("--cursor", "position").startswith(done)
    heard = {"site": "2026-02-02T10:00:00Z"}
    assert json.loads((site.base / "position").read_bytes()) == {thin.url: heard, site.endpoint: heard}
    assert site.told() == ["b.html"]
    assert site.announce("--cursor", "position") == "Nothing to announce: no page has changed.\n"
    assert len(thin.published) == 2
    site.release({"index.html": page("Hi")})
    thin.down = True
    said = site.announce("--cursor", "position", status=3)
    assert said.endswith("pelican-resourcesync: to announce the rest, run the command again\n")
    assert site.told() == [""]
    site.release({"a/index.html": page("AA")})
    site.announce("--cursor", "position", "--dry-run")
    thin.down = False
    assert site.announce("--cursor", "position").startswith(done)
    assert site.told() == ["a/"]
    configure(site, thin.url, key=KEY, more='[sets.site]\n[sets.a]\npaths = ["a"]')
    site.release({})
    assert site.announce("--cursor", "position") == "Nothing to announce: no page has changed.\n"
    site.release({"a/index.html": page("AAA")})
    assert site.announce("--cursor", "position").startswith(f"Notified {thin.url} of changes: a, site.\n")
    for wrong in ("{", "[1]", '{"lines": "soon"}', '{"lines": {"site": "soon"}}'):
        (site.base / "position").write_text(wrong)
        said = site.announce("--cursor", "position", status=2)
        assert "position cannot be read (" in said
        assert said.endswith("): pass the file of an earlier run, or a new file\n")
    both = site.announce("--cursor", "position", "--since", "1", status=2)
    assert "not allowed with argument" in both


def test_who_has_nothing_to_hear_begins_there(site: Site, hubs: tuple[Hub, Hub]) -> None:
    """A receiver without changes is remembered, too, so that it misses none of several publications later."""
    thin, _ = hubs
    configure(site, thin.url, key=KEY)
    site.release({})
    assert site.announce("--cursor", "position") == "Nothing to announce: no page has changed.\n"
    assert json.loads((site.base / "position").read_bytes()).keys() == {thin.url, site.endpoint}
    assert site.announce("--cursor", "other", "--dry-run") == "Nothing to announce: no page has changed.\n"
    assert not (site.base / "other").exists()


def test_json_lines(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change as a line, with the keys of `follow`; nothing else is announced."""
    site.release({"b.html": page("BB"), "f.woff2": b"1"}, "a/index.html")
    lines = [json.loads(line) for line in site.announce("--json-lines", "--cursor", "position").splitlines()]
    assert [(each["set"], each["kind"], each["uri"].removeprefix(site.url)) for each in lines] == [
        ("site", "deleted", "/a/"),
        ("site", "updated", "/b.html"),
        ("site", "created", "/f.woff2"),
    ]
    assert lines[2] == {
        "set": "site",
        "uri": f"{site.url}/f.woff2",
        "kind": "created",
        "time": "2026-02-02T10:00:00Z",
        "hash": "sha-256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
        "length": 1,
        "type": "font/woff2",
        "links": [],
    }
    assert (lines[0]["hash"], lines[0]["length"], lines[0]["type"]) == ("", None, "")
    assert not site.engine.told
    assert site.announce("--json-lines", "--cursor", "position") == ""
    position = (site.base / "position").read_bytes()
    site.release({"b.html": page("BBB")})
    with monkeypatch.context() as patch:
        patch.setattr(commands, "write_line", Mock(side_effect=BrokenPipeError(32, "Broken pipe")))
        said = site.announce("--json-lines", "--cursor", "position", status=3)
    assert "nothing was announced: the lines cannot be written: Broken pipe\n" in said
    assert (site.base / "position").read_bytes() == position
    site.release({"b.html": page("BBBB")}, deploy=False)
    assert "nothing was announced: " in site.announce("--json-lines", "--wait", "1s", status=3)
    assert len(site.announce("--json-lines", "--dry-run").splitlines()) == 1


def test_a_hub_that_none_of_us_wrote(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flask-WebSub takes the ping, and believes only a topic that has both links in its headers."""
    monkeypatch.setenv("no_proxy", "*")
    subscriber = Subscriber()
    with flask_hub(tmp_path) as (hub, failed), live(subscriber) as callback:
        configure(site, hub, more='link_headers = ["_headers"]')
        site.release({"b.html": page("BB")})
        site.host.manner = with_headers(site.www, site.host.manner)
        topics = [f"{site.url}/{path}" for path in (TOPIC, FEED)]
        for topic in topics:
            subscribe(hub, callback.url, topic)
        confirmed = sqlite3.connect(tmp_path / "hub.sqlite")
        wait(lambda: confirmed.execute("SELECT count(*) FROM hub").fetchone() == (2,))
        confirmed.close()
        assert site.announce() == f"Notified {hub} of changes: site.\n"
        subscriber.wait(2)
        assert not failed
    expected = [(topic, (site.www / path).read_bytes()) for topic, path in zip(topics, (TOPIC, FEED), strict=True)]
    assert sorted((topic, body) for topic, body, _ in subscriber.received) == sorted(expected)
    for _, body, signature in subscriber.received:
        assert signature == f"sha512={hmac.new(b's3cret', body, 'sha512').hexdigest()}"
