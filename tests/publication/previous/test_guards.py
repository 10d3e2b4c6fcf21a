"""Guards against a previous publication on hosts that the settings do not name, or at a time to come."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Capability, split_entries
from pelican_resourcesync.publication import ChangeHistory, PreviousPublication, local_status, read_previous
from pelican_resourcesync.publication.model.clock import is_ahead
from pelican_resourcesync.publication.model.history import parse_change
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.publications import SITEURL, Source, utc

LIST = "resourcesync/site/resourcelist.xml"
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


def read_at(source: Source, elsewhere: Collection[str] | None = None) -> PreviousPublication | None:
    """Read the publication as one that was fetched from a URL."""
    return read_previous(source.output, source.layout, "https://host.example", elsewhere=elsewhere)


def continue_after(source: Source, elsewhere: Collection[str] | None) -> None:
    """Publish after what was fetched."""
    source.publish({"a.html": b"a4"}, "2024-03-06T12:00", read_at(source, elsewhere))


@pytest.mark.parametrize(
    "uri", ["javascript:alert(1)", "file:///etc/passwd", "https://other.example/a", f"{SITEURL}.evil/a", "https://[1/"]
)
def test_hosts_that_the_settings_do_not_name(source: Source, uri: str) -> None:
    """A site lists nothing elsewhere. The message names the URL and the document, and says what to do."""
    forge(source, LIST, f"<loc>{SITEURL}/a.html", f"<loc>{uri}")
    before = source.documents()
    with pytest.raises(PublicationError) as caught:
        continue_after(source, ())
    said = str(caught.value)
    assert said.startswith("the publication at https://host.example is damaged (")
    assert f"{uri} is not below the address of the site, {SITEURL}): upload it again" in said
    assert "allow-deletions" not in said  # nothing was listed elsewhere that could be deleted
    assert source.documents() == before


def test_words_that_the_standard_does_not_have(source: Source) -> None:
    """A change of another kind is damage; another capability is left out."""
    forge(source, "resourcesync/site/capabilitylist.xml", 'capability="changedump"', 'capability="other"')
    status = local_status(source.output)
    assert status
    assert Capability.CHANGEDUMP not in status.sets[0].overview.documents
    path = source.state()["change_lists"][-1]["path"]
    [text] = split_entries((source.output / path).read_text("utf-8"))
    assert parse_change(text).uri == f"{SITEURL}/a.html"
    for md in (text.md.replace("updated", "other"), text.md.replace(' change="updated"', "")):
        with pytest.raises(DocumentError, match=r"the change of .*/a\.html has no kind or no time"):
            parse_change(text._replace(md=md))


def test_former_addresses_are_recorded(source: Source) -> None:
    """A site that moved twice has had two others."""
    assert "former" not in source.state()
    moved = Source(source.output, siteurl=MOVED)
    for day in (6, 7):
        moved.publish({"a.html": b"a%d" % day}, f"2024-03-0{day}T12:00", moved_from=SITEURL)
        assert moved.state()["former"] == [SITEURL]


@pytest.mark.parametrize("former", ["javascript:alert(1)", "file:", "https://u:p@other.example", "https:/", ""])
def test_former_addresses_are_those_of_sites(source: Source, former: str) -> None:
    """A state may name any former address, because no other record of it is left, but not for scripts or passwords."""
    source.reseal(former=["https://other.example"])
    assert read_at(source)
    source.reseal(former=["https://other.example", former])
    with pytest.raises(PublicationError, match=r"the former address .* is not a valid site URL"):
        read_at(source)


@pytest.mark.parametrize(
    ("uri", "elsewhere", "stops"),
    [
        ("https://other.example/b", None, False),
        ("https://other.example/b", ["https://other.example"], False),
        ("https://other.example/b", ["https://other.example.evil"], True),
        ("https://other.example/b", ["https://other.example/b/"], True),
        ("https://other.example/b", ["https://other.exampl"], True),
        ("file:///etc/passwd", None, True),
        ("http://u:p@other.example/a", None, True),
        ("https://[1/", None, True),
    ],
)
def test_a_repository_lists_what_other_servers_deliver(
    source: Source, uri: str, elsewhere: Collection[str] | None, stops: bool
) -> None:
    """At the addresses that the settings name; where these are not known, at any, but without a user."""
    forge(source, LIST, f"<loc>{SITEURL}/b.html", f"<loc>{uri}")
    if not stops:
        continue_after(source, elsewhere)
        return
    with pytest.raises(PublicationError, match="is not below the address of the site") as caught:
        continue_after(source, elsewhere)
    assert ("publish once with `allow-deletions`" in str(caught.value)) == bool(elsewhere)


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
    why = r"would have the time 2.* but it is 2.* UTC by the clock of this machine: .* publication \(the output\) has"
    with pytest.raises(PublicationError, match=why):
        source.publish(contents, now.isoformat())
    assert source.documents() == before
    source.publish(contents, now.isoformat(), None, restarted_from=source.previous())
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
    with pytest.raises(PublicationError, match=r"it is 2024-03-06 12:00 UTC by the clock of the live site: set the"):
        publish()


@pytest.mark.promise("Continued")
def test_the_way_out_of_a_wrong_time(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publication that has a time to come stops the next; started over under new addresses, it has the right one."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({"a.html": b"2099"}, "2099-01-01T12:00")
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    with pytest.raises(PublicationError, match=r"publish once with RESOURCESYNC_FIRST=1"):
        publish_live(source, "2024-03-07T12:00", utc("2024-03-06T12:00"))
    wrong = source.previous()
    source.publish({"a.html": b"now"}, "2024-03-07T12:00", None, restarted_from=wrong)
    assert source.state()["at"] == "2024-03-07T12:00:00Z"
    assert (source.state()["restart_number"], source.state()["generation"]) == (2, 5)


@pytest.mark.parametrize(("hours", "ahead"), [(-25, False), (0, False), (23, False), (25, True)])
def test_a_day_ahead_of_a_clock(hours: int, ahead: bool) -> None:
    """The clocks of a host and of a machine may differ by a day."""
    for clock, given in ((utc("2024-03-05T12:00"), utc("2024-03-05T12:00")), (datetime.now(UTC), None)):
        assert is_ahead(clock + timedelta(hours=hours), given) is ahead
