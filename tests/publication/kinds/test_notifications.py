"""Change notifications: what a publication tells the hubs of a set (CN01, CN03, CN04)."""

from itertools import pairwise
from pathlib import Path

import pytest
from lxml import etree

from pelican_resourcesync.delivery.announce import PublishedSite
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.model.history import ChangeHistory
from pelican_resourcesync.settings import Hub
from tests.kit.publications import SITEURL, Source, change, utc
from tests.kit.reader import RS, XmlDocument, moment, parse, parse_file

HUBS = (Hub("https://hub.example/"), Hub("https://own.example/hub?a=1&b=2", fat=True))
TOPIC = "resourcesync/site/notification.xml"
URI = f"https://example.org/{TOPIC}"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set that was published once, with hubs."""
    source = Source(tmp_path)
    source.publish({"a.html": b"a", "b.html": b"b"}, "2024-01-10T12:00", hubs=HUBS)
    return source


def topic(source: Source) -> XmlDocument:
    """Return the last notification."""
    return parse_file(source.output / TOPIC)


def interval(document: XmlDocument) -> tuple[str, str]:
    """Return the interval of a notification."""
    assert document.root == "urlset"
    assert document.md["capability"] == "change-notification"
    return document.md["from"], document.md["until"]


def listed(document: XmlDocument) -> list[tuple[str, str]]:
    """Return the changes of a notification."""
    return [(each.md["change"], each.uri.removeprefix("https://example.org/")) for each in document.entries]


def hubs_of(document: XmlDocument) -> list[str]:
    """Return the hubs that a document links to."""
    return [
        each.get("href", "") for each in etree.fromstring(document.data).iter(f"{RS}ln") if each.get("rel") == "hub"
    ]


def test_the_channel_is_advertised(source: Source) -> None:
    """CN04: the Capability List has the topic with the hubs; the Source Description and other documents say nothing."""
    [entry] = [
        each
        for each in source.document("https://example.org/resourcesync/site/capabilitylist.xml").entries
        if each.md["capability"] == "change-notification"
    ]
    assert entry.uri == URI
    assert [*entry.links] == [("hub", hub.url) for hub in HUBS]
    documents = source.documents()
    said = {path for path, data in documents.items() if b"https://hub.example/" in data}
    home = "resourcesync/site/"
    assert said == {TOPIC, f"{home}capabilitylist.xml", f"{home}changes.atom", "resourcesync/publication.json"}
    assert source.state()["hubs"] == [
        {"url": "https://hub.example/", "fat": False},
        {"url": "https://own.example/hub?a=1&b=2", "fat": True},
    ]


@pytest.mark.promise("Notified")
def test_each_continues_the_last(source: Source) -> None:
    """CN01: each has the changes of one publication, begins where the last one ends, and stays if nothing changes."""
    assert interval(topic(source)) == ("2024-01-10T12:00:00Z", "2024-01-10T12:00:00Z")
    assert listed(topic(source)) == []
    source.publish({"a.html": b"A", "c.html": b"c"}, "2024-02-10T12:00", hubs=HUBS)
    assert interval(topic(source)) == ("2024-01-10T12:00:00Z", "2024-02-10T12:00:00Z")
    assert listed(topic(source)) == [("updated", "a.html"), ("deleted", "b.html"), ("created", "c.html")]
    up = "https://example.org/resourcesync/site/capabilitylist.xml"
    assert topic(source).links == {"up": up, "self": URI, "hub": HUBS[1].url}
    assert hubs_of(topic(source)) == [each.url for each in HUBS]
    _, _, *change_list = source.changes()
    assert [(each.uri, each.md) for each in topic(source).entries] == [(each.uri, each.md) for each in change_list]
    before = source.documents()
    source.publish({"a.html": b"A", "c.html": b"c"}, "2024-03-10T12:00", hubs=HUBS)
    assert source.documents() == before
    landed = ChangeHistory(built=utc("2024-03-11T12:00"), commit="c2", landed=utc("2024-03-11T12:00"))
    source.publish({"a.html": b"A", "c.html": b"c"}, landed, hubs=HUBS)  # a commit without a change of bytes
    assert source.documents()[TOPIC] == before[TOPIC]
    source.publish({"a.html": b"AA", "c.html": b"c"}, "2024-04-10T12:00", hubs=HUBS)
    assert interval(topic(source)) == ("2024-02-10T12:00:00Z", "2024-04-10T12:00:00Z")
    assert listed(topic(source)) == [("updated", "a.html")]


def test_hubs_come_and_go(source: Source) -> None:
    """Without hubs there is no channel; new hubs change what the notification links to, and nothing else of it."""
    source.publish({"a.html": b"A"}, "2024-02-10T12:00")
    assert "change-notification" not in source.capabilities()
    assert "hubs" not in source.state()
    assert TOPIC in source.state()["superseded"]
    source.publish({"a.html": b"AA"}, "2024-03-10T12:00", hubs=HUBS[:1])
    assert interval(topic(source)) == ("2024-02-10T12:00:00Z", "2024-03-10T12:00:00Z")
    entries = topic(source).entries
    source.publish({"a.html": b"AA"}, "2024-04-10T12:00", hubs=HUBS[1:])
    assert hubs_of(topic(source)) == [HUBS[1].url]
    assert topic(source).entries == entries


def test_a_month_ends(source: Source) -> None:
    """Changes of two Change Lists are one notification if they fit into one document."""
    changes = [change("2024-01-20T12:00", "a.html"), change("2024-02-20T12:00", "b.html")]
    history = ChangeHistory(built=utc("2024-02-21T12:00"), commit="c2", landed=utc("2024-02-20T12:00"), changes=changes)
    source.publish({"a.html": b"A", "b.html": b"B"}, history, hubs=HUBS)
    assert len(source.change_lists()) == 2
    assert listed(topic(source)) == [("updated", "a.html"), ("updated", "b.html")]


@pytest.mark.promise("Notified")
def test_many_changes(source: Source) -> None:
    """CN01: too many are divided into documents without an index, in intervals that touch; the last is at the topic."""
    limits = Limits(entries=3)
    files = {f"{number}.html": b"1" for number in range(8)}
    source.publish(files | {"a.html": b"a", "b.html": b"b"}, "2024-02-10T12:00", hubs=HUBS, limits=limits)
    files_now = [file for file in source.documents() if "/notification" in file]
    paths = [source.output / path for path in source.layout.notifications(files_now)]
    documents = [parse_file(file) for file in paths]
    assert [len(each.entries) for each in documents] == [3, 3, 2]
    assert [listed(each)[0] for each in documents] == [("created", f"{number}.html") for number in (0, 3, 6)]
    assert paths[-1].name == "notification.xml"
    assert all(one.md["until"] == other.md["from"] for one, other in pairwise(documents))
    assert documents[0].md["from"] == "2024-01-10T12:00:00Z"
    assert (
        documents[-1].md["until"] == source.document("https://example.org/resourcesync/site/resourcelist.xml").md["at"]
    )
    for each in documents:
        assert each.links["self"] == URI
        begin, end = map(moment, interval(each))
        assert all(begin < entry.time <= end for entry in each.entries)
    posts = [post.body for post in PublishedSite(str(source.output)).posts(HUBS[1], "site")]
    assert posts == [each.data for each in documents]  # a fat hub receives all, in order
    state = source.state()
    source.publish(files | {"a.html": b"a", "b.html": b"b"}, "2024-03-10T12:00", hubs=HUBS, limits=limits)
    assert source.state() == state
    source.publish(files | {"a.html": b"A", "b.html": b"b"}, "2024-04-10T12:00", hubs=HUBS, limits=limits)
    assert listed(topic(source)) == [("updated", "a.html")]
    assert interval(topic(source))[0] == documents[-1].md["until"]
    assert {file.name for file in paths} <= {file.name for file in (source.output / "resourcesync/site").iterdir()}
    source.publish(files | {"a.html": b"a", "b.html": b"b"}, "2024-05-10T12:00", hubs=HUBS, limits=limits)
    assert [file.name for file in (source.output / "resourcesync/site").glob("notification*")] == ["notification.xml"]


def test_large_notifications(source: Source) -> None:
    """None is larger than a document may be, by its bytes; those of parts of a second come in the order of time."""
    limits = Limits(size=2_000)
    files = {f"{number}.html": b"1" for number in range(12)}
    source.publish(files | {"a.html": b"a", "b.html": b"b"}, "2024-02-10T12:00", hubs=HUBS, limits=limits)
    documents = [each.body or b"" for each in PublishedSite(str(source.output)).posts(HUBS[1], "site")]
    assert len(documents) > 2
    assert max(map(len, documents)) <= 2_000
    assert [uri for each in documents for uri in parse(each).uris()] == sorted(f"{SITEURL}/{path}" for path in files)
    starts = "2024-01-10T12:00:00Z", "2024-02-10T12:00:00.999Z", "2024-02-10T12:00:01Z", "2024-02-10T12:00:01.001Z"
    paths = [source.layout.earlier_notification(moment(each)) for each in starts]
    topic_path = source.layout.notification
    assert source.layout.notifications({topic_path, *paths}) == [*paths, topic_path]


def test_takedown(source: Source) -> None:
    """What is forgotten leaves the notification; its deletion is the only change of the next one, at a new topic."""
    source.publish({"a.html": b"A", "b.html": b"B"}, "2024-02-10T12:00", hubs=HUBS)
    assert listed(topic(source)) == [("updated", "a.html"), ("updated", "b.html")]
    source.forget("https://example.org/a.html", built=utc("2024-03-10T12:00"))
    assert not (source.output / TOPIC).exists()
    assert source.capabilities()["change-notification"] == "https://example.org/resourcesync/site/2/notification.xml"
    again = parse_file(source.output / "resourcesync/site/2/notification.xml")
    assert listed(again) == [("deleted", "a.html")]
    assert interval(again) == ("2024-02-10T12:00:00Z", "2024-03-10T12:00:00Z")
    folder = "https://example.org/resourcesync/site/2"
    assert (again.links["up"], again.links["self"]) == (f"{folder}/capabilitylist.xml", f"{folder}/notification.xml")
    assert hubs_of(again) == [each.url for each in HUBS]
    assert b'rel="hub" href="https://hub.example/"' in source.documents()["resourcesync/site/changes.atom"]
    source.publish({"b.html": b"BB"}, "2024-04-10T12:00", hubs=HUBS)
    assert listed(parse_file(source.output / "resourcesync/site/2/notification.xml")) == [("updated", "b.html")]


def test_takedown_before_any_change(tmp_path: Path) -> None:
    """Where no change is listed, the notification stays as it is."""
    source = Source(tmp_path)
    history = ChangeHistory(built=utc("2024-01-10T12:00"), complete=False)
    source.publish({"a.html": b"a", "b.html": b"b"}, history, hubs=HUBS)
    source.forget("https://example.org/a.html", built=utc("2024-03-10T12:00"))
    again = parse_file(source.output / "resourcesync/site/2/notification.xml")
    assert interval(again) == ("2024-01-10T12:00:00Z", "2024-01-10T12:00:00Z")
    assert listed(again) == []
