"""Forgetting: after a takedown order nothing names the resource but one `deleted`, and followers come along."""

import json
from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Limits, Link
from pelican_resourcesync.publication import Change, ChangeHistory, Resource, TakedownResult, forget_uris
from pelican_resourcesync.publication.takedown import find_uris
from pelican_resourcesync.settings import VersionOptions
from tests.kit.publications import DELETED, SITEURL, UPDATED, Source, change, tree, utc

CONTENTS = {"a.html": b"a", "b.html": b"b", "caf%C3%A9.html": b"c"}
HISTORY = (
    change("2024-01-05T12:00", "a.html"),
    change("2024-01-06T12:00", "b.html"),
    change("2024-02-05T12:00", "a.html", UPDATED),
    change("2024-03-05T12:00", "b.html", UPDATED),
    change("2024-03-06T12:00", "caf%C3%A9.html"),
)
NOW = utc("2024-05-01T12:00")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a source with three months of history, published."""
    source = Source(tmp_path / "output")
    publish_history(source, HISTORY)
    return source


def publish_history(source: Source, history: Collection[Change], contents: Any = CONTENTS, **options: Any) -> None:
    """Publish with a history."""
    landed = max(each.time for each in history)
    source.publish(contents, ChangeHistory(built=landed, changes=list(history), commit="c1", landed=landed), **options)


def take_down(source: Source, *paths: str, built: datetime = NOW) -> TakedownResult:
    """Forget what is at these paths of the site."""
    return source.forget(*(f"{source.siteurl}/{path}" for path in paths), built=built)


def naming(source: Source, *texts: str) -> Iterator[str]:
    """Yield each document that has one of these texts, as often as it does."""
    for path, data in source.documents().items():
        for text in texts:
            yield from [path] * data.count(text.encode())


def intervals(source: Source) -> list[tuple[str, str | None]]:
    """Return from and until of each Change List, as the index has them and the list itself."""
    lists = source.change_lists()
    assert [item.md for item, _ in lists] == [
        {name: each.md[name] for name in ("from", "until") if name in each.md} for _, each in lists
    ]
    return [(each.md["from"], each.md.get("until")) for _, each in lists]


@pytest.mark.parametrize("publisher", ["site", "copy", "repository https://r.example"])
def test_links_to_it_go_without_a_change(tmp_path: Path, publisher: str) -> None:
    """Also of those whose links count as changes otherwise."""
    source, links = Source(tmp_path / "output"), (Link(rel="describedby", href=f"{SITEURL}/b.html"),)
    options: dict[str, Any] = {"publisher": publisher, "records_uri": SITEURL, "versions": VersionOptions()}
    for day in (1, 2):
        files = {name: source.write(f"{name}.html", f"{name}{day}".encode()) for name in "abc"}
        resources = [Resource(f"{SITEURL}/{name}.html", file, links=links) for name, file in files.items()]
        source.publish(resources, f"2024-03-0{day}T12:00", mirrors=(("https://m.example", 1),), **options)
    before = source.rows()
    take_down(source, "b.html")
    assert len([*naming(source, "b.html")]) == 1
    assert [row for row in source.rows() if row not in before] == [("2024-05-01T12:00:00Z", "deleted", "b.html")]


def test_it_is_named_by_one_deletion_alone(source: Source) -> None:
    """Lists, closed or open, do not have it; all else is said as before; what said more is gone."""
    before, rows, was = source.resource_list(), source.rows(), source.state()
    public = {path for path in source.documents() if path.startswith("resourcesync/site/") and path.endswith(".xml")}
    ends = intervals(source)
    done = take_down(source, "b.html")
    assert done.uris == (f"{SITEURL}/b.html",)
    assert list(naming(source, "b.html")) == ["resourcesync/site/2/changelist-20240301T000000Z.xml"]
    assert source.rows() == [
        *(row for row in rows if row[2] != "b.html"),
        ("2024-05-01T12:00:00Z", "deleted", "b.html"),
    ]
    assert source.resource_list() == {uri: item for uri, item in before.items() if not uri.endswith("/b.html")}
    assert intervals(source) == ends
    assert not public & source.documents().keys()
    state = source.state()
    assert (state["generation"], state["restart_number"], state["superseded"]) == (2, 2, {})
    assert (state["commit"], state["landed"]) == (was["commit"], was["landed"])
    assert sum(each["created"] + each["updated"] + each["deleted"] for each in state["change_lists"]) == len(
        source.rows()
    )
    assert source.at() == NOW


def test_changes_are_listed_from_the_takedown_on_if_there_was_no_change_list(tmp_path: Path) -> None:
    """No list has the deletion, so whoever came before it must see a gap, and compare the Resource List."""
    source = Source(tmp_path / "output")
    source.publish({"a.html": b"a", "b.html": b"b"}, ChangeHistory(built=utc("2024-01-05T12:00"), complete=False))
    take_down(source, "b.html")
    assert source.change_lists() == []
    source.publish({"a.html": b"new"}, "2024-06-01T12:00")
    assert intervals(source) == [("2024-05-01T12:00:00Z", "2024-06-01T00:00:00Z"), ("2024-06-01T00:00:00Z", None)]


def test_forgetting_twice_writes_nothing(source: Source) -> None:
    """The second time there is nothing left to forget, also after another build."""
    take_down(source, "b.html")
    before = tree(source.output)
    assert take_down(source, "b.html", built=utc("2024-07-01T12:00")).uris == ()
    assert tree(source.output) == before
    contents = {path: data for path, data in CONTENTS.items() if path != "b.html"}
    source.publish(contents, "2024-06-01T12:00")
    assert take_down(source, "b.html").generation == source.state()["generation"]
    both = take_down(source, "b.html", "a.html", built=utc("2024-07-01T12:00"))
    assert both.uris == (f"{SITEURL}/a.html",)
    assert [row for row in source.rows() if row[1] == "deleted"] == [
        ("2024-05-01T12:00:00Z", "deleted", "b.html"),
        ("2024-07-01T12:00:00Z", "deleted", "a.html"),
    ]


def test_what_is_gone_long_since_is_forgotten_too(tmp_path: Path) -> None:
    """Lists of the past name it, and one deletion takes their place."""
    source = Source(tmp_path / "output")
    publish_history(
        source, [*HISTORY, change("2024-04-01T12:00", "gone.html"), change("2024-04-02T12:00", "gone.html", DELETED)]
    )
    take_down(source, "gone.html")
    assert [row for row in source.rows() if row[2] == "gone.html"] == [("2024-05-01T12:00:00Z", "deleted", "gone.html")]


def test_a_set_without_changes_has_no_deletion(tmp_path: Path) -> None:
    """Where there is no Change List, there are no followers."""
    source = Source(tmp_path / "output")
    source.publish(CONTENTS, ChangeHistory(built=utc("2024-01-01T12:00"), complete=False))
    take_down(source, "a.html")
    assert "changelist" not in source.capabilities()
    assert not list(naming(source, "a.html"))


@pytest.mark.parametrize("path", ["café.html", "caf%c3%a9.html", "caf%C3%A9.html", "%63af%C3%A9.html"])
def test_a_uri_may_be_written_otherwise(source: Source, path: str) -> None:
    """Percent-encoded or not, in small letters or capitals."""
    assert take_down(source, path).uris == (f"{SITEURL}/caf%C3%A9.html",)
    assert len(list(naming(source, "caf%"))) == 1


@pytest.mark.parametrize(("sha256", "which"), [(None, "all"), (lambda *_: "", "some")])
def test_history_of_versions(tmp_path: Path, sha256: Any, which: str) -> None:
    """It says as before whether all resources have versions, or some files may be without one."""
    source = Source(tmp_path / "output")
    for day, data in ((5, b"one"), (6, b"two")):
        source.publish(
            {"a.html": data, "b.html": b"b"}, f"2024-02-0{day}T12:00", versions=VersionOptions(sha256=sha256)
        )
    for home in ("site", "site/2"):
        capability_list = source.document(f"{SITEURL}/resourcesync/{home}/capabilitylist.xml")
        history = source.output / capability_list.links["version-history"].removeprefix(f"{SITEURL}/")
        assert json.loads(history.read_text().splitlines()[0])[3] == which
        if home == "site":
            take_down(source, "b.html")


def test_page_that_shows_a_record(tmp_path: Path) -> None:
    """A record stays, and what is published about it leads to its page no longer."""
    source = Source(tmp_path / "output")
    link = Link(rel="alternate", href=f"{SITEURL}/b.html", type="text/html")
    for day, data in ((5, b"one"), (6, b"two")):
        file = source.write("record.xml", data)
        resources = [
            Resource(f"{SITEURL}/record.xml", file, links=(link,), title="A record"),
            Resource(link.href, source.write("b.html", b"b")),
        ]
        source.publish(resources, f"2024-02-0{day}T12:00")
    take_down(source, "b.html")
    assert list(naming(source, "b.html")) == ["resourcesync/site/2/changelist-20240201T000000Z.xml"]
    assert "A record" in source.documents()["resourcesync/site/2/changes/20240201T000000Z.html"].decode()


def test_a_uri_as_it_is_written_is_meant() -> None:
    """Where two URIs differ in their percent-encoding alone, each means itself."""
    known = {f"{SITEURL}/a/b", f"{SITEURL}/a%2Fb"}
    for uri in known:
        assert find_uris([uri], known) == {uri}
    with pytest.raises(PublicationError, match=r"did you mean https://example\.org/caf%C3%A9\.html"):
        find_uris([f"{SITEURL}/cafe\u0301.html"], {f"{SITEURL}/caf%C3%A9.html"})


def test_an_unknown_uri_is_named_with_the_nearest(source: Source) -> None:
    """And nothing is written, for none."""
    before = tree(source.output)
    with pytest.raises(
        PublicationError, match=r"/b\.htm is neither in .*: did you mean https://example\.org/b\.html or "
    ):
        take_down(source, "a.html", "b.htm")
    with pytest.raises(PublicationError, match="use the URI in the Resource List"):
        find_uris(["?"], source.resource_list())
    with pytest.raises(PublicationError, match=r"/changelist\.xml is neither in "):  # a document is no resource
        take_down(source, "resourcesync/site/changelist.xml")
    assert tree(source.output) == before


def test_it_is_published_in_the_same_manner(tmp_path: Path) -> None:
    """The edition, the page about the site and its name are those of before."""
    source = Source(tmp_path / "output")
    about = f"{SITEURL}/about.html"
    publish_history(source, HISTORY, edition=2014, describedby=about, site_name="Tom & Ann")
    take_down(source, "b.html")
    assert b"datetime=" not in b"".join(data for path, data in source.documents().items() if path.endswith(".xml"))
    assert source.document(f"{SITEURL}/.well-known/resourcesync").links["describedby"] == about
    assert "What&#39;s new at Tom &amp; Ann" in (source.output / "resourcesync/index.html").read_text("utf-8")
    publish_history(source, HISTORY, edition=2017)
    take_down(source, "a.html")
    assert source.changes()


def test_the_page_about_the_site_cannot_be_forgotten(tmp_path: Path) -> None:
    """Every document names it."""
    source = Source(tmp_path / "output")
    publish_history(source, HISTORY, describedby=f"{SITEURL}/b.html")
    with pytest.raises(PublicationError, match="'describedby'"):
        take_down(source, "b.html")


def test_what_changes_for_nothing_is_not_counted_by_name(source: Source) -> None:
    """The state names what it warns of; of what is forgotten it must not."""
    for number in range(3):
        contents = {**CONTENTS, "a.html": b"%d" % number, "b.html": b"%d" % number}
        source.publish(
            contents,
            ChangeHistory(built=utc(f"2024-04-0{number + 1}T12:00"), commit="c1", landed=utc("2024-03-06T12:00")),
        )
    assert source.state()["unstable"].keys() == {f"{SITEURL}/a.html", f"{SITEURL}/b.html"}
    take_down(source, "b.html")
    assert source.state()["unstable"].keys() == {f"{SITEURL}/a.html"}
    assert len(list(naming(source, "b.html"))) == 1


def test_a_document_that_cannot_be_read_stops_it(source: Source) -> None:
    """It is named, and nothing is written."""
    path = "resourcesync/site/changelist-20240101T000000Z.xml"
    data, previous = source.documents()[path], source.previous()
    source.write(path, data[:-20])
    source.reseal()
    with pytest.raises(PublicationError, match=f"is damaged .*{path}"):
        take_down(source, "b.html")
    assert previous
    (source.output / path).unlink()
    before = tree(source.output)
    with pytest.raises(PublicationError, match=f"is damaged .*{path}"):
        forget_uris([previous], [f"{SITEURL}/b.html"], source.output, built=NOW)
    assert tree(source.output) == before


@settings(max_examples=max(20, settings().max_examples // 100))
@given(data=st.data())
def test_whoever_follows_comes_along(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """For any history and any order: the changes since any Resource List lead to this one, and nothing is named."""
    source = Source(tmp_path_factory.mktemp("any") / "output")
    paths = ("aa.html", "bb.html", "cc.html", "dd.html")
    seen: list[tuple[datetime, dict[str, Any]]] = []
    forgotten: set[str] = set()
    for day in range(1, data.draw(st.integers(2, 6))):
        built = utc(f"2024-{day:02}-15T12:00")
        previous = source.previous()
        known = sorted(previous.resources) if previous else []
        if data.draw(st.booleans()) and known:
            gone = data.draw(st.sets(st.sampled_from(known), min_size=1))
            assert previous
            [done] = forget_uris([previous], gone, source.output, built=built)
            forgotten |= set(done.uris)
        else:
            there = data.draw(st.dictionaries(st.sampled_from(paths), st.binary(max_size=1)))
            source.publish(
                there, ChangeHistory(built=built), limits=Limits(entries=data.draw(st.sampled_from([2, 50_000])))
            )
            forgotten -= {f"{SITEURL}/{path}" for path in there}
        now = {uri: item.md["hash"] for uri, item in source.resource_list().items()}
        for at, held in seen:
            copy = dict(held)
            for each in source.changes():
                if datetime.fromisoformat(each.lastmod or "") > at:
                    copy.pop(each.uri, None)
                    copy |= {each.uri: each.md["hash"]} if each.md["change"] != "deleted" else {}
            assert copy == now
        seen.append((source.at(), now))
        for uri in forgotten:
            assert len(list(naming(source, f"<loc>{uri}<"))) == 1
        ends = intervals(source)
        assert all(one[1] == other[0] for one, other in pairwise(ends))
