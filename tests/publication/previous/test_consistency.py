"""A previous publication whose hashes are right, but which contradicts itself or says what cannot be published."""

import json
import re
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import SITEMAP_NS, EntryText, read
from pelican_resourcesync.publication import (
    STATE,
    Archives,
    ChangeHistory,
    Dumps,
    PlainOutput,
    PredecessorSearch,
    PreviousPublication,
    read_previous,
)
from pelican_resourcesync.publication.model.clock import is_ahead
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.consistency import Addresses, DamagedError, checked_changes
from tests.publication.support import SITEURL, Source, utc

HOME = "resourcesync/site"
LIST, INDEX, OPEN = f"{HOME}/resourcelist.xml", f"{HOME}/changelist.xml", f"{HOME}/changelist-20240301T000000Z.xml"
CLOSED, CAPABILITIES = f"{HOME}/changelist-20240201T000000Z.xml", f"{HOME}/capabilitylist.xml"
FIRST = f"{HOME}/changelist-20240101T000000Z.xml"
DUMPS = f"{HOME}/changedump.xml"
FOREIGN = f"has something in or before the entry of {SITEURL}/a.html that is never written there"
MOVED = "https://moved.example"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a site with changes in three months, and with dumps."""
    source = Source(tmp_path / "output")
    options: dict[str, Any] = {"dumps": Dumps(changedump=True, resourcedump=True), "archives": Archives(resourcelist=2)}
    for month in (1, 2, 3):
        contents = {"a.html": b"a%d" % month, "b.html": b"b"}
        source.publish(contents, f"2024-0{month}-05T12:00", **options)
    return source


def forge(source: Source, path: str, old: str, new: str) -> None:
    """Replace text in a document and let `publication.json` say the right hash for it."""
    file = source.output / path
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    source.reseal()


def read_at(source: Source, url: str = "https://host.example") -> PreviousPublication | None:
    """Read the publication as one that was fetched from a URL."""
    return read_previous(source.output, source.layout, url)


def carry_forward(source: Source) -> None:
    """Publish after what was fetched; Change Dumps are only read when they are continued."""
    source.publish({"a.html": b"a3"}, "2024-03-06T12:00", read_at(source), dumps=Dumps(changedump=True))


@pytest.mark.parametrize(
    ("path", "old", "new", "what"),
    [
        (LIST, f"<loc>{SITEURL}/a.html", "<loc>javascript:alert(1)", "'javascript:alert(1)' is not below"),
        (LIST, f"<loc>{SITEURL}/a.html", "<loc>file:///etc/passwd", "file:///etc/passwd is not below the address"),
        (LIST, f"<loc>{SITEURL}/a.html", "<loc>https://other.example/a", "https://other.example/a is not below"),
        (LIST, f"<loc>{SITEURL}/a.html", "<loc>http://u:p@example.org/", "is not below the address of the site"),
        (LIST, f"<loc>{SITEURL}/a.html", f"<loc>{SITEURL}.evil/a", "is not below the address of the site"),
        (LIST, f"<loc>{SITEURL}/a.html", f"<loc>{SITEURL}/\u009b31m", "characters (X10)"),
        (LIST, f"<loc>{SITEURL}/a.html", f"<loc>{SITEURL}/{'a' * 200_000}", "its loc has 200,0"),
        (LIST, 'at="2024-03-05', 'at="8999-03-05', "at 8999-03-05T12:00:00+00:00 where the at 2024-03-05"),
        (LIST, 'capability="resourcelist"', 'capability="changelist"', "is not a document with the capability res"),
        (OPEN, f"<loc>{SITEURL}/a.html", "<loc>https://other.example/a", "https://other.example/a is not below"),
        (OPEN, "2024-03-05T12:00:00Z", "2999-03-05T12:00:00Z", "has the time 2999-03-05"),
        (OPEN, "2024-03-05T12:00:00Z", "2024-02-05T12:00:00Z", "has the time 2024-02-05"),
        (OPEN, 'from="2024-03-01', 'from="2024-03-02', "where the from 2024-03-01T00:00:00+00:00 is expected"),
        (INDEX, ' until="2024-02-01T00:00:00Z"', "", "ends with no until, and the next has 2024-02-01"),
        (INDEX, ' until="2024-02-01T00:00:00Z"', ' until="2024-02-02T00:00:00Z"', "and the next has 2024-02-01"),
        (CLOSED, ' until="2024-03-01T00:00:00Z"', ' until="2024-04-01T00:00:00Z"', "has the until 2024-04-01"),
        (CAPABILITIES, f"{SITEURL}/{LIST}", f"{SITEURL}/other.xml", "names the resourcelist"),
        (CAPABILITIES, 'capability="changelist"', 'capability="changedump"', "names the changedump"),
        (DUMPS, ' until="2024-03-01T00:00:00Z"', "", "ends with no until"),
        (INDEX, f"{SITEURL}/{CLOSED}", f"{SITEURL}/{'a' * 200_000}", "loc has 200,020 characters; a loc is shorter"),
        (CLOSED, "</lastmod>", "</lastmod><script xmlns='http://www.w3.org/1999/xhtml'>x()</script>", FOREIGN),
        (CLOSED, "<rs:md change", "<rs:md onload='x()' change", FOREIGN),
        (CLOSED, "</url>\n</urlset>", "</url>\n<!-- x --></urlset>", "has something after its entries"),
        (
            CLOSED,
            "<urlset",
            '<?xml-stylesheet href="https://other.example/x"?>\n<urlset',
            "has something before its entr",
        ),
        (CLOSED, "</urlset>\n", "</urlset>\n<!-- x -->", "has something after its entries"),
        (CLOSED, "</urlset>\n", "</urlset>", "has something after its entries that is never written there"),
    ],
)
def test_documents_that_contradict_each_other(source: Source, path: str, old: str, new: str, what: str) -> None:
    """The message names the URL, the document and the entry, and what to do; nothing is published."""
    forge(source, path, old, new)
    before = source.documents()
    with pytest.raises(PublicationError) as caught:
        carry_forward(source)
    said = str(caught.value)
    assert said.startswith("the publication at https://host.example is damaged: ")
    assert path in said
    assert what.replace("'", "") in said
    assert "upload it again" in said
    assert "`previous` ('none' starts over" in said
    assert "allow-deletions" not in said  # nothing was listed elsewhere that could be deleted
    assert len(said) < 1_000
    assert said.isprintable()
    assert source.documents() == before


@pytest.mark.parametrize("changes", [0, 3, 5, 10**15])
def test_wrong_number_of_changes(source: Source, changes: int) -> None:
    """It is counted in closed Change Lists too."""
    counted = len(list(source.changes()))
    assert source.state()["changes"] == counted == 4
    source.reseal(changes=changes)
    with pytest.raises(PublicationError, match=f"counts {changes} changes, but the Change Lists have {counted}"):
        read_at(source)


def test_a_time_that_only_publication_json_has(source: Source) -> None:
    """An `at` in the far future, which every later publication would have to exceed."""
    source.reseal(at="8999-01-01T00:00:00Z")
    with pytest.raises(PublicationError, match=r"resourcelist\.xml has the at 2024-03-05.* where the at 8999-01-01"):
        read_at(source)


def test_former_addresses_are_recorded(source: Source) -> None:
    """The deletions at the old address are believed, because `publication.json` names it; others are not."""
    assert "former" not in source.state()
    moved = Source(source.output, siteurl=MOVED)
    moved.publish({"a.html": b"a3"}, "2024-03-06T12:00", moved_from=SITEURL)
    assert moved.state()["former"] == [SITEURL]
    assert read_at(moved)
    moved.publish({"a.html": b"a4"}, "2024-03-07T12:00")
    assert moved.state()["former"] == [SITEURL]
    content = {key: value for key, value in moved.state().items() if key != "former"}
    (moved.output / STATE).write_text(json.dumps(content))
    with pytest.raises(PublicationError, match=re.escape(f"{SITEURL}/a.html is not below the address of the site")):
        read_at(moved)
    assert read_previous(moved.output, moved.layout, former=[SITEURL])  # with the setting moved_from


@pytest.mark.parametrize("former", ["javascript:alert(1)", "file:", "https://u:p@other.example", "https:/", ""])
def test_former_addresses_are_those_of_sites(source: Source, former: str) -> None:
    """A state may name any former address, because no other record of it is left, but not for scripts or passwords."""
    forge(source, OPEN, f"<loc>{SITEURL}/a.html", f"<loc>{former}/a.html")
    source.reseal(former=["https://other.example", former])
    said = f"publication.json: the former address {former.replace('u:p', '***')} is not one that a site has: upload it"
    with pytest.raises(PublicationError, match=re.escape(said)):
        read_at(source)


def test_a_repository_lists_what_other_servers_deliver(source: Source) -> None:
    """A publication read as of a time is of a repository; even there a URI is http(s), without a user."""
    evaluated = {"evaluated": "2024-03-05T12:00:00Z"}
    for path in (LIST, FIRST):
        forge(source, path, f"<loc>{SITEURL}/b.html", "<loc>https://other.example/b")
    source.reseal(**evaluated)
    assert read_at(source)
    assert read_previous(source.output, source.layout, elsewhere=["https://other.example"])
    for elsewhere in ([], ["https://other.example.evil"], ["https://other.example/b/"], ["https://other.exampl"]):
        with pytest.raises(PublicationError, match=r"resourcelist\.xml: https://other.example/b is not below"):
            read_previous(source.output, source.layout, elsewhere=elsewhere)
    for uri in ("file:///etc/passwd", "http://u:p@other.example/a", "https://[1/"):
        forge(source, LIST, "<loc>https://other.example/b", f"<loc>{uri}")
        with pytest.raises(PublicationError, match="is not below"):
            read_at(source)
        forge(source, LIST, f"<loc>{uri}", "<loc>https://other.example/b")


def test_a_site_lists_nothing_elsewhere_whatever_its_state_says(source: Source, tmp_path: Path) -> None:
    """Its own `publication.json` gives no other host the right to be listed: as a repository, or as a former one."""
    for path in (LIST, FIRST):
        forge(source, path, f"<loc>{SITEURL}/b.html", "<loc>https://other.example/b")
    for more in ({"evaluated": "2024-03-05T12:00:00Z"}, {"former": ["https://other.example"]}):
        source.reseal(**more)
        search = PredecessorSearch(source.layout, PlainOutput(tmp_path), tmp_path, previous=str(source.output))
        with pytest.raises(PublicationError, match=r"https://other\.example/b is not below the address of the site"):
            search.find()


def test_an_implausible_time_stops_the_publication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than five years after everything known, unless SOURCE_DATE_EPOCH says so; nothing is written."""
    source = Source(tmp_path / "output")
    source.publish({"a.html": b"a"}, "2004-01-05T12:00")
    before = source.documents()
    with pytest.raises(PublicationError, match=r"would have the time 2019-01-01 .*more than five years after .*2004"):
        source.publish({"a.html": b"new"}, "2019-01-01T12:00")
    assert source.documents() == before
    landed = utc("2018-01-01T12:00")
    history = ChangeHistory(built=utc("2019-01-01T12:00"), commit="c1", landed=landed)
    assert source.publish({"a.html": b"new"}, history).new  # a commit explains it
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert source.publish({"a.html": b"newer"}, "2199-01-01T12:00").new


@pytest.mark.parametrize("days", [2, 27_000])
@pytest.mark.parametrize("contents", [{"a.html": b"ahead"}, {"a.html": b"now"}])
def test_a_folder_whose_documents_agree_on_a_time_to_come(
    source: Source, monkeypatch: pytest.MonkeyPatch, contents: dict[str, bytes], days: int
) -> None:
    """No host's clock contradicts it, so this machine's does, whether anything changed or not; a day is allowed."""
    now = datetime.now(UTC)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({"a.html": b"ahead"}, (now + timedelta(days=days)).isoformat())
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    before = source.documents()
    why = r"would have the time 2.* but by the clock of this machine it is 2.* previous publication \(the output\) has"
    with pytest.raises(PublicationError, match=why):
        source.publish(contents, now.isoformat())
    assert source.documents() == before
    source.publish(contents, now.isoformat(), None, over=source.previous())
    assert source.at() < now + timedelta(minutes=10)


def test_a_clock_that_is_hours_behind(source: Source) -> None:
    """Within a day, times go on by a millisecond."""
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=20)
    source.publish({"a.html": b"ahead"}, at.isoformat())
    source.publish({"a.html": b"now"}, "2024-04-05T12:00")
    assert source.at() == at + timedelta(milliseconds=1)


def publish_live(source: Source, time: str, host_time: datetime) -> None:
    """Publish after a previous publication that was fetched from a host with this time."""
    previous = read_previous(source.output, source.layout, "https://host.example", host_time=host_time)
    source.publish({"a.html": time.encode()}, time, previous)


@pytest.mark.parametrize(
    ("time", "stops"), [("2024-03-07T12:00", False), ("2024-03-07T12:01", True), ("2099-01-01T12:00", True)]
)
def test_the_clock_of_the_live_host(source: Source, time: str, stops: bool) -> None:
    """A day more than the host's clock is allowed."""
    host_time = utc("2024-03-06T12:00")
    publish: Callable[[], None] = lambda: publish_live(source, time, host_time)  # noqa: E731
    if not stops:
        publish()
        return
    with pytest.raises(PublicationError, match=r"by the clock of the live site it is 2024-03-06 12:00 UTC: set the"):
        publish()


def test_the_way_out_of_a_wrong_time(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publication that has a time to come stops the next; started over under new addresses, it has the right one."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({"a.html": b"2099"}, "2099-01-01T12:00")
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    with pytest.raises(PublicationError, match=r"publish once with `previous` 'none' to start over"):
        publish_live(source, "2024-03-07T12:00", utc("2024-03-06T12:00"))
    wrong = source.previous()
    source.publish({"a.html": b"now"}, "2024-03-07T12:00", None, over=wrong)
    assert source.state()["at"] == "2024-03-07T12:00:00Z"
    assert (source.state()["start"], source.state()["generation"]) == (2, 5)


def test_a_document_of_very_many_entries() -> None:
    """Four times as many entries as a document should have are read, and no more."""
    data = f'<urlset xmlns="{SITEMAP_NS}">{"<url><loc>a:b</loc></url>" * 200_001}</urlset>'.encode()
    entries = iter(read(BytesIO(data), name="many.xml").entries)
    assert sum(1 for _ in islice(entries, 200_000)) == 200_000
    with pytest.raises(DocumentError, match="more than 200,000 entries"):
        next(entries)


DAY = utc("2024-01-01T00:00"), utc("2024-01-02T00:00")
ADDRESSES = Addresses(State(generation=1, siteurl=SITEURL, at=DAY[1], changes=0, documents={}), (), ())


def many_changes(**wrong: str) -> list[EntryText]:
    """Return 1,100 changes, a second apart, of which number 600 has these wrong values."""
    found = []
    for number in range(1_100):
        time = f"2024-01-01T01:{number // 60:02}:{number % 60:02}Z"
        found.append(EntryText(f"{SITEURL}/{number}", time, "updated", time, "", "", "", "", ""))
    found[600] = found[600]._replace(**wrong)
    return found


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"lastmod": "2024-01-01T01:09:59Z", "datetime": ""}, None),  # that of the change before
        ({"lastmod": "2024-01-01T01:10:00.500Z", "datetime": ""}, None),
        ({"datetime": ""}, None),
        ({"datetime": "2024-01-01T01:09:59Z"}, "the datetime 2024-01-01T01:09:59"),
        ({"lastmod": "2024-01-01T01:09:58Z", "datetime": ""}, "not in order"),
        ({"lastmod": "2024-01-01T01:09:58.999Z", "datetime": ""}, "not in order"),
        ({"lastmod": "2024-01-02T00:00:01Z", "datetime": ""}, "not in order"),
        ({"lastmod": "", "datetime": ""}, "lacks its kind or its time"),
        ({"change": ""}, "lacks its kind or its time"),
        ({"loc": "https://other.example/600"}, "is not below the address"),
        ({"loc": SITEURL}, None),
    ],
)
def test_one_change_of_many(wrong: dict[str, str], what: str | None) -> None:
    """Changes are checked together, and one that is wrong among them is found and named."""
    changes = many_changes(**wrong)
    if what is None:
        assert [*checked_changes(changes, OPEN, *DAY, ADDRESSES)] == changes
        return
    with pytest.raises(DamagedError, match=what) as caught:
        deque(checked_changes(changes, OPEN, *DAY, ADDRESSES), maxlen=0)
    assert "/600" in str(caught.value) or "datetime" in str(caught.value)


@pytest.mark.parametrize(("first", "last"), [("2024-01-01T01:00:00Z", None), (None, "2024-01-01T01:18:18Z")])
def test_bounds_of_many_changes(first: str | None, last: str | None) -> None:
    """The first change is later than the beginning of the list, and the last is not later than its end."""
    start, until = utc(first[:-1]) if first else DAY[0], utc(last[:-1]) if last else DAY[1]
    with pytest.raises(DamagedError, match="not in order"):
        deque(checked_changes(many_changes(), OPEN, start, until, ADDRESSES), maxlen=0)


@pytest.mark.parametrize(("hours", "ahead"), [(-25, False), (0, False), (23, False), (25, True)])
def test_a_day_ahead_of_a_clock(hours: int, ahead: bool) -> None:
    """The clocks of a host and of a machine may differ by a day."""
    for clock, given in ((utc("2024-03-05T12:00"), utc("2024-03-05T12:00")), (datetime.now(UTC), None)):
        assert is_ahead(clock + timedelta(hours=hours), given) is ahead
