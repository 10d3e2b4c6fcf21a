"""What people see of changes: days, titles, pages of Change Lists, and the feed; and what nobody may see any more."""

import json
import re
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from lxml import etree, html

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication.kinds.pages import changes
from pelican_resourcesync.publication.model import history as model
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.options import PageOptions
from pelican_resourcesync.publication.model.ranges import Calendar, FixedBoundaries
from pelican_resourcesync.publication.model.resource import Representation, Resource
from pelican_resourcesync.publication.publish import publish_sets
from pelican_resourcesync.settings import Archives, Hub, VersionOptions
from tests.kit.atom import ATOM, feed_faults
from tests.kit.publications import CREATED, DELETED, SITEURL, UPDATED, Contents, Source, utc

FEED = "resourcesync/site/changes.atom"
MARCH, APRIL = "resourcesync/site/changes/20240301T000000Z.html", "resourcesync/site/changes/20240401T000000Z.html"


def html_of(title: str) -> bytes:
    """Make a page with a title."""
    return f"<!DOCTYPE html><title>{title}</title>".encode()


def page_of(source: Source, path: str = "resourcesync/index.html") -> Any:
    """Parse one of the pages."""
    return html.fromstring((source.output / path).read_bytes().decode())


def shown(page: Any) -> list[tuple[str, str, list[str]]]:
    """Return the days of a page: the day, the sentence, and each change that is listed, as people read it."""
    found = []
    for day in page.xpath("//section[@class='day']"):
        sentence = " | ".join(" ".join(each.text_content().split()) for each in day.xpath("./p | .//summary"))
        names = (item.xpath("./span | ./bdi | ./a/bdi") for item in day.xpath(".//li"))
        listed = [" ".join(f"{kind.text_content()} {name.text_content()}".split()) for kind, name in names]
        found.append((" ".join(day.find("h3").text_content().split()), sentence, listed))
    return found


#: What a site without pages has.
FIRST: Contents = {"first.css": b""}


def empty(output: Path) -> Source:
    """Publish a site that has only a style sheet yet."""
    source = Source(output)
    source.publish(FIRST, ChangeHistory(built=utc("2024-03-01T12:00"), complete=False))
    return source


def march(output: Path) -> tuple[Source, dict[str, bytes]]:
    """Publish a site four times in March: first, with an article, with a change and, on the same day, a removal."""
    source = Source(output)
    contents = {"index.html": html_of("Home"), "old.html": html_of("Old"), "style.css": b"1"}
    source.publish(contents, "2024-03-01T12:00")
    contents |= {"new.html": html_of("News &amp; <b>"), "style.css": b"2"}
    source.publish(contents, "2024-03-14T09:00")
    contents["old.html"] = html_of("Old, renewed")
    source.publish(contents, "2024-03-15T10:20")
    del contents["old.html"]
    contents["feed.atom"] = b"<feed/>"
    source.publish(contents, "2024-03-15T17:05")
    return source, contents


@pytest.mark.promise("Shown to people")
def test_days_with_titles(tmp_path: Path) -> None:
    """By day and publication: what people read, by its title, also when it is gone; other files apart."""
    source, _ = march(tmp_path)
    expected = [
        (
            "15 March 2024, 17:05 UTC",
            "1 removed | 1 other file, such as a feed, a list or a style",
            ["removed Old, renewed", "new /feed.atom"],
        ),
        ("15 March 2024, 10:20 UTC", "1 changed", ["changed Old, renewed"]),
        (
            "14 March 2024",
            "1 new | 1 other file, such as a feed, a list or a style",
            ["new News & <b>", "changed /style.css"],
        ),
        (
            "1 March 2024",
            "First publication: 2 new, 1 other file, such as a feed, a list or a style",
            ["new Old", "new Home", "new /style.css"],
        ),
    ]
    assert shown(page_of(source)) == expected
    assert shown(page_of(source, MARCH)) == expected
    links = [str(each) for each in page_of(source).xpath("//section[@class='day']//a[bdi]/@href")]
    assert links == [f"{SITEURL}/{each}" for each in _LINKED]
    assert not page_of(source).xpath("//b")


_LINKED = ("feed.atom", "old.html", "new.html", "style.css", "old.html", "index.html", "style.css")


def anchors(page: Any) -> list[str]:
    """Return the anchors of the days of a page, on which no two are the same."""
    every = page.xpath("//@id")
    assert len({*every}) == len(every)
    headings = page.xpath("//section[@class='day']/h3")
    assert [heading.find("a").get("href") for heading in headings] == [f"#{heading.get('id')}" for heading in headings]
    return [heading.get("id", "") for heading in headings]


def test_a_link_to_a_day_stays(tmp_path: Path) -> None:
    """The anchor of a day is the same on each page that shows it, and after other publications, also of that day."""
    source, contents = march(tmp_path)
    expected = ["2024-03-15T17:05:00Z", "2024-03-15T10:20:00Z", "2024-03-14T09:00:00Z", "2024-03-01T12:00:00Z"]
    pages = ("resourcesync/index.html", "resourcesync/site/index.html", MARCH)
    assert [anchors(page_of(source, path)) for path in pages] == [expected] * 3
    source.publish(contents | {"a.html": html_of("A")}, "2024-03-15T18:00", page=PageOptions(language="de"))
    expected = ["2024-03-15T18:00:00Z", *expected]
    assert [anchors(page_of(source, path)) for path in pages] == [expected] * 3
    source.publish(contents, "2024-04-02T12:00", page=PageOptions(timezone=ZoneInfo("Asia/Tokyo")))
    assert [anchors(page_of(source, path)) for path in (MARCH, APRIL)] == [expected, ["2024-04-02T12:00:00Z"]]


def test_the_first_minute_has_two_anchors(tmp_path: Path) -> None:
    """The first publication and another one within its minute are shown apart, and each has its anchor."""
    source = Source(tmp_path)
    source.publish(FIRST, "2024-03-01T12:00:05")
    source.publish({**FIRST, "a.html": html_of("A")}, "2024-03-01T12:00:50")
    assert anchors(page_of(source)) == ["2024-03-01T12:00:50Z", "2024-03-01T12:00:05Z"]


def test_days_of_a_time_zone(tmp_path: Path) -> None:
    """A day begins and ends where the site is, and a takedown knows where that is; the documents are in UTC."""
    source, page = Source(tmp_path), PageOptions(timezone=ZoneInfo("Europe/Berlin"))
    source.publish(FIRST, ChangeHistory(built=utc("2024-03-01T12:00"), complete=False), page=page)
    source.publish({**FIRST, "a.html": html_of("A")}, "2024-03-09T23:30", page=page)
    source.publish({**FIRST, "a.html": html_of("Again")}, "2024-03-10T12:00", page=page)
    expected = [
        ("10 March 2024, 13:00 CET", "1 changed", ["changed Again"]),
        ("10 March 2024, 00:30 CET", "1 new", ["new A"]),
    ]
    assert shown(page_of(source)) == expected
    assert page_of(source).xpath("//section[@class='day']//time/@datetime")[1] == "2024-03-09T23:30:00Z"
    assert b"2024-03-09T23:30:00Z</updated>" in (tmp_path / FEED).read_bytes()
    source.forget(f"{SITEURL}/first.css", built=utc("2024-03-11T12:00"))
    assert shown(page_of(source)) == [("11 March 2024", "1 removed; what is withdrawn is not named", []), *expected]


def test_the_feed_is_valid(tmp_path: Path) -> None:
    """By the grammar of RFC 4287, of sites with and without changes, pages, a name and hubs; each hub is a link."""
    assert feed_faults((empty(tmp_path / "first").output / FEED).read_bytes()) == []
    source, contents = march(tmp_path / "march")
    feed = (source.output / FEED).read_bytes()
    assert feed_faults(feed) == []
    contents = contents | {
        "odd.html": html_of("&quot;&apos;&lt;![CDATA[\u202e\u0001 ]]&gt;"),
        "a%20b/%C3%A4.html": html_of(""),
    }
    hubs = (Hub("https://hub.example/?a=1&b=%22"), Hub("https://own.example/", fat=True))
    source.publish(contents, "2024-04-02T12:00", hubs=hubs, site_name="<Name> & co", page=PageOptions(language="de-AT"))
    feed = (source.output / FEED).read_bytes()
    assert feed_faults(feed) == []
    links = etree.fromstring(feed).iterfind(f"{ATOM}link")
    assert [each.get("href") for each in links if each.get("rel") == "hub"] == [each.url for each in hubs]
    for old, new in (
        (b'<link rel="hub" href=', b'<link rel="hub" src='),
        (b"<updated>2024-04", b"<updated>April"),
        (b"<entry>", b"<entry><id>https://example.org/x</id>"),
        (b"#2024-03-15T10:20:00Z</id>", b"#2024-03-15T17:05:00Z</id>"),
    ):
        assert old in feed
        assert feed_faults(feed.replace(old, new)), new


@pytest.mark.promise("Shown to people")
def test_a_closed_page_is_written_once(tmp_path: Path) -> None:
    """The page of a closed list is never written again, and links to the one before, the next and the list."""
    source, contents = march(tmp_path)
    opened = (tmp_path / MARCH).read_bytes()
    source.publish(contents | {"a.html": html_of("A")}, "2024-04-02T12:00")
    closed = (tmp_path / MARCH).read_bytes()
    assert closed != opened
    inode = (tmp_path / MARCH).stat().st_ino
    source.publish(contents | {"b.html": html_of("B")}, "2024-04-03T12:00", site_name="Another name")
    assert (tmp_path / MARCH).read_bytes() == closed
    assert (tmp_path / MARCH).stat().st_ino == inode
    after, before = page_of(source, MARCH).xpath("//a[@rel='next']"), page_of(source, APRIL).xpath("//a[@rel='prev']")
    assert [each.get("href") for each in (*after, *before)] == ["20240401T000000Z.html", "20240301T000000Z.html"]
    assert page_of(source, APRIL).xpath("//a[contains(., 'XML')]/@href") == ["../changelist-20240401T000000Z.xml"]
    assert shown(page_of(source, APRIL)) == [
        ("3 April 2024", "1 new, 1 removed", ["new B", "removed A"]),
        ("2 April 2024", "1 new", ["new A"]),
    ]
    assert source.state()["documents"].keys() >= {MARCH, APRIL}
    rows = page_of(source, "resourcesync/site/changes/index.html").xpath("//table//a/@href")
    assert rows == ["20240401T000000Z.html", "20240301T000000Z.html"]


def history(commit: str, landed: str, *changes: tuple[str, str, Any]) -> ChangeHistory:
    """Make a history of (time, path, kind)."""
    found = [Change(utc(time), f"{SITEURL}/{path}", kind) for time, path, kind in changes]
    return ChangeHistory(built=utc(landed), changes=found, commit=commit * 40, landed=utc(landed))


def test_the_past_and_the_first_publication(tmp_path: Path) -> None:
    """The past has its days; what is dated by the first publication is one sentence, which opens."""
    source = Source(tmp_path)
    past = history(
        "a",
        "2024-03-05T12:00",
        ("2024-03-01T12:00", "a.html", CREATED),
        ("2024-03-01T13:00", "a.html", UPDATED),
        ("2024-03-02T12:00", "b.html", CREATED),
        ("2024-03-02T13:00", "b.html", DELETED),
        ("2024-03-03T12:00", "c.html", CREATED),
        ("2024-03-04T12:00", "c.html", DELETED),
        ("2024-03-04T13:00", "a.html", DELETED),
        ("2024-03-04T14:00", "a.html", CREATED),
    )
    source.publish({"a.html": html_of("A"), "style.css": b"", "tags.html": html_of("Tags")}, past)
    page = page_of(source)
    assert shown(page) == [
        (
            "5 March 2024",
            "First publication: 1 new, 1 other file, such as a feed, a list or a style",
            ["new Tags", "new /style.css"],
        ),
        ("4 March 2024", "1 changed, 1 removed", ["changed A", "removed /c.html"]),
        ("3 March 2024", "1 new", ["new /c.html"]),
        ("1 March 2024", "1 new", ["new A"]),
    ]
    assert "The last twelve months" in page.text_content()
    assert "changes a" not in page.text_content()  # nobody knows yet how often


def test_listings_are_other_files(tmp_path: Path) -> None:
    """What a program knows to be a list has no title, whatever its bytes say."""
    source = empty(tmp_path)
    file = source.write("tag.html", html_of("Tag"))
    listing = Resource(f"{SITEURL}/tag.html", file, title="")
    titled = Resource(f"{SITEURL}/a.html", source.write("a.html", b""), title="A <title>")
    first = Resource(f"{SITEURL}/first.css", tmp_path / "first.css")
    source.publish([listing, titled, first], "2024-03-02T12:00")
    assert shown(page_of(source))[0][2] == ["new A <title>", "new /tag.html"]
    source.publish([first], "2024-03-03T12:00")
    assert shown(page_of(source))[0][1:] == (
        "1 removed | 1 other file, such as a feed, a list or a style",
        ["removed A <title>", "removed /tag.html"],
    )


def test_records_lead_to_their_pages(tmp_path: Path) -> None:
    """A record is shown by its title, with a link to the page that shows it to people."""
    source = empty(tmp_path)
    dc = "http://purl.org/dc/elements/1.1/"
    data = f'<r xmlns:dc="{dc}"><dc:title>Of ice</dc:title></r>'.encode()
    links = (Link(rel="alternate", href="https://repository.example/items/1", type="text/html"),)
    measured = Representation.measured("0" * 64, len(data), "application/xml")
    record = Resource(f"{SITEURL}/1.xml", source.write("1.xml", data), measured=measured, links=links)
    source.publish([record], "2024-03-02T12:00", page=PageOptions(home="https://repository.example/"))
    page = page_of(source)
    assert shown(page)[0][2] == ["new Of ice", "removed /first.css"]
    assert page.xpath("//section[@class='day']//li//a/@href") == ["https://repository.example/items/1"]
    assert page.xpath("//h1/a/@href") == ["https://repository.example/"]


def test_a_day_in_two_lists(tmp_path: Path) -> None:
    """Two publications of one day show their times, also where a list ends between them; a repository has no feeds."""
    source = Source(tmp_path, boundaries=FixedBoundaries([utc("2024-03-02T12:00")]))
    for time in ("01T12:00", "02T09:00", "02T17:00:05", "02T17:00:50"):  # the last two within a minute
        history = ChangeHistory(built=utc(f"2024-03-{time}"), read_as_of=utc(f"2024-03-{time}"), complete=False)
        source.publish({"a.html": html_of(time), "b.pdf": time.encode()}, history, publisher="repository")
    assert [(day, text) for day, text, _ in shown(page_of(source))] == [
        ("2 March 2024, 17:00 UTC", "1 changed | 1 other file"),
        ("2 March 2024, 09:00 UTC", "1 changed | 1 other file"),
    ]
    assert len(source.change_lists()) == 2


def test_many_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long list only the latest changes are shown, and the others are counted."""
    for module in (model, changes):
        monkeypatch.setattr(module, "MOST_CHANGES", 5)
    source = empty(tmp_path)
    contents = {**FIRST} | {f"{number}.html": html_of(f"Page {number}") for number in range(8)}
    source.publish(contents, "2024-03-02T12:00")
    page = "resourcesync/site/changes/20240301T120000Z.html"
    assert shown(page_of(source, page)) == [
        ("2 March 2024", "5 new, 3 more", [f"new Page {number}" for number in (7, 6, 5, 4, 3)])
    ]
    source.publish({**contents, "z.html": html_of("Z")}, "2024-03-03T12:00")
    assert [sentence for _, sentence, _ in shown(page_of(source, page))] == ["1 new", "4 new, 4 more"]


def test_many_names_on_the_front_page(tmp_path: Path) -> None:
    """The front page lists fifteen of each day, of files too, and leads to the page with the others."""
    source = empty(tmp_path)
    pages = {f"{number}.html": html_of(f"Page {number}") for number in range(20)}
    files = {f"{number}.css": b"" for number in range(18)}
    source.publish({**FIRST, **pages, **files}, "2024-03-02T12:00")
    (day,) = shown(page_of(source))
    assert len(day[2]) == 30
    links = page_of(source).xpath("//a[contains(., ' more')]")
    assert [(each.text, each.get("href")) for each in links] == [
        ("5 more", "site/changes/20240301T120000Z.html"),
        ("3 more", "site/changes/20240301T120000Z.html"),
    ]


@pytest.mark.promise("Shown to people")
def test_the_feed(tmp_path: Path) -> None:
    """Valid Atom: every entry has its own identity and time, a title, and a link that leads somewhere (RFC 4287)."""
    source, _ = march(tmp_path)
    feed = etree.parse(tmp_path / FEED).getroot()
    assert feed.tag == f"{ATOM}feed"
    assert feed.findtext(f"{ATOM}id") == f"{SITEURL}/{FEED}"
    assert feed.findtext(f"{ATOM}updated") == "2024-03-15T17:05:00Z"
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == "example.org"
    links = {each.get("rel"): each.get("href") for each in feed.findall(f"{ATOM}link")}
    assert links == {"self": f"{SITEURL}/{FEED}", "alternate": f"{SITEURL}/resourcesync/site/index.html"}
    entries = [
        [entry.findtext(f"{ATOM}{name}") for name in ("updated", "title")] for entry in feed.findall(f"{ATOM}entry")
    ]
    assert entries == [
        ["2024-03-15T17:05:00Z", "removed: Old, renewed"],
        ["2024-03-15T10:20:00Z", "changed: Old, renewed"],
        ["2024-03-14T09:00:00Z", "new: News & <b>"],
        ["2024-03-01T12:00:00Z", "new: Old"],
        ["2024-03-01T12:00:00Z", "new: Home"],
    ]
    ids = [entry.findtext(f"{ATOM}id") for entry in feed.findall(f"{ATOM}entry")]
    assert len({*ids}) == 5
    hrefs = [each.get("href") for each in feed.findall(f"{ATOM}entry/{ATOM}link")]
    assert hrefs[:3] == [f"{SITEURL}/resourcesync/site/index.html", f"{SITEURL}/old.html", f"{SITEURL}/new.html"]
    page = page_of(source)
    assert page.xpath("//link[@type='application/atom+xml']/@href") == ["site/changes.atom"]
    assert page.xpath("//a[contains(., 'Atom')]/@href") == ["site/changes.atom"]


def everything_of(source: Source) -> str:
    """Return all texts that were published, but for Change Lists."""
    files = source.documents().items()
    return "".join(data.decode() for path, data in files if path.endswith((".html", ".atom", ".json")))


@pytest.mark.promise("Shown to people")
@pytest.mark.parametrize("closed", [False, True])
def test_what_is_withdrawn_leaves_the_pages(tmp_path: Path, *, closed: bool) -> None:
    """With `remove_deleted`, neither the title nor the URI is on any page or in the feed, now or after more builds."""
    source = empty(tmp_path)
    keep = {**FIRST, "kept.html": html_of("Kept")}
    source.publish({**keep, "secret.html": html_of("Withdrawn")}, "2024-03-02T12:00")
    if closed:
        keep = {**keep, "more.html": html_of("More")}
        source.publish({**keep, "secret.html": html_of("Withdrawn")}, "2024-04-02T12:00")
    assert "Withdrawn" in everything_of(source)
    later = "2024-04-03" if closed else "2024-03-03"
    source.publish(keep, f"{later}T12:00", remove_deleted=True)
    source.publish({**keep, "last.html": html_of("Last")}, f"{later}T13:00", remove_deleted=True)
    days = [(day.partition(",")[0], sentence.rpartition(" | ")[2]) for day, sentence, _ in shown(page_of(source))]
    day = f"{int(later[-2:])} {'April' if closed else 'March'} 2024"
    assert (day, "1 removed; what is withdrawn is not named") in days
    assert ("2 March 2024", "1 new; what is withdrawn is not named") in days
    entries = etree.parse(tmp_path / FEED).iterfind(f"{ATOM}entry")
    assert [entry[1].text for entry in entries][:2] == ["new: Last", "removed: 1; what is withdrawn is not named"]
    assert feed_faults((tmp_path / FEED).read_bytes()) == []
    text = everything_of(source)
    assert "Withdrawn" not in text
    assert "secret" not in text
    assert {"Kept", "Last"} <= set(re.findall(r"<bdi>(\w+)</bdi>", text))
    assert [path for _, kind, path in source.rows() if kind == "deleted"] == ["secret.html"]  # followers learn of it


def test_withdrawn_one_after_the_other(tmp_path: Path) -> None:
    """What left the page of a closed list does not come back when the page is written again."""
    source = empty(tmp_path)
    first, second = {"one.html": html_of("Secret 1")}, {"two.html": html_of("Secret 2")}
    keep = {**FIRST, "kept.html": html_of("Kept")}
    source.publish({**keep, **first, **second}, "2024-03-02T12:00", remove_deleted=True)
    keep["more.html"] = html_of("More")
    source.publish({**keep, **first, **second}, "2024-04-02T12:00", remove_deleted=True)
    source.publish({**keep, **second}, "2024-04-03T12:00", remove_deleted=True)
    source.publish(keep, "2024-04-04T12:00", remove_deleted=True)
    text = everything_of(source)
    assert not re.findall("Secret|one.html|two.html", text)
    assert ">Kept<" in text


@pytest.mark.parametrize("restarts", [False, True])
def test_withdrawn_from_pages_that_nobody_links(tmp_path: Path, *, restarts: bool) -> None:
    """Nor does a superseded page keep the title, or one from before the set started over."""
    source = empty(tmp_path)
    archives = Archives(changelist=1)
    page, keep = {"secret.html": html_of("Withdrawn")}, {**FIRST, "kept.html": html_of("Kept")}
    source.publish({**keep, **page}, "2024-03-02T12:00", remove_deleted=True)
    if restarts:
        before = source.previous()
        source.publish({**keep, **page}, "2024-03-03T12:00", None, before, remove_deleted=True)
    for month in (4, 5, 6):
        keep["kept.html"] = html_of(f"Kept {month}")
        contents = keep if month == 6 else {**keep, **page}
        source.publish(contents, f"2024-0{month}-02T12:00", remove_deleted=True, archives=archives)
    assert "Withdrawn" not in everything_of(source)


def test_what_has_moved_is_not_withdrawn(tmp_path: Path) -> None:
    """Where a repository gets a new address, its history keeps its titles."""
    source, contents = march(tmp_path)
    moved = Source(tmp_path, siteurl="https://new.example")
    moved.publish(contents, "2024-03-20T12:00", previous=source.previous(), remove_deleted=True)
    listed = [each for _, _, names in shown(page_of(moved, MARCH)) for each in names]
    assert {"new Old", "removed Old, renewed", "new News & <b>", "removed News & <b>"} <= {*listed}


@pytest.mark.promise("Shown to people")
def test_what_is_forgotten_leaves_the_pages(tmp_path: Path) -> None:
    """After a takedown no page and no feed has the title or the URI, and the other titles are still there."""
    source, contents = march(tmp_path)
    source.publish(contents | {"a.html": html_of("A")}, "2024-04-02T12:00")
    source.forget(f"{SITEURL}/new.html", built=utc("2024-04-03T12:00"))
    del contents["new.html"]
    source.publish({**contents, "b.html": html_of("B")}, "2024-04-04T12:00")
    text = everything_of(source)
    assert "News" not in text
    assert "new.html" not in text
    march_page = "resourcesync/site/2/changes/20240301T000000Z.html"
    assert shown(page_of(source, march_page))[0][2] == ["removed Old, renewed", "new /feed.atom"]
    assert "removed A" in [each for _, _, listed in shown(page_of(source)) for each in listed]


@pytest.mark.parametrize("path", [MARCH, MARCH.replace(".html", ".json")])
def test_a_damaged_page_is_a_damaged_publication(tmp_path: Path, path: str) -> None:
    """Titles are read from what was published, by its hash."""
    source, contents = march(tmp_path)
    (tmp_path / path).write_bytes((tmp_path / path).read_bytes().replace(b"News", b"Lies"))
    with pytest.raises(PublicationError, match=f"{re.escape(path)} does not match"):
        source.publish(contents, "2024-03-20T12:00")
    (tmp_path / path).unlink()
    with pytest.raises(PublicationError, match=f"{re.escape(path)} does not match"):
        source.publish(contents, "2024-03-20T12:00")


def test_a_set_that_starts_over(tmp_path: Path) -> None:
    """It says so, and does not call that its first publication. What is published a moment later is apart, and new."""
    source, contents = march(tmp_path)
    source.publish(contents, "2024-03-20T12:00", None, source.previous())
    (day,) = shown(page_of(source))
    assert day[1].startswith("Started over under new addresses: 2 new, 2 other files")
    assert "New in" not in page_of(source).text_content()
    source.publish(contents | {"late.html": html_of("Late")}, "2024-03-20T12:00:45")
    assert shown(page_of(source)) == [
        ("20 March 2024, 12:00 UTC", "1 new", ["new Late"]),
        ("20 March 2024, 12:00 UTC", *day[1:]),
    ]
    source.publish(contents | {"late.html": html_of("Later")}, "2024-05-02T12:00")
    assert page_of(source).xpath("//dl[@class='tiles']//dt/text()") == ["Pages", "New in March 2024", "Last change"]


def test_pages_that_go(tmp_path: Path) -> None:
    """Where only some lists are kept, no page links to an earlier one, which may be gone."""
    source, contents = march(tmp_path)
    for month in (4, 5, 6):
        contents["index.html"] = html_of(f"Home {month}")
        source.publish(contents, f"2024-0{month}-02T12:00", archives=Archives(changelist=2))
    folder = tmp_path / "resourcesync/site/changes"
    for file in [path for path in source.state()["documents"] if path.endswith(".html")]:
        links = page_of(source, file).xpath("//main//a/@href[not(contains(., '://') or starts-with(., '#'))]")
        assert all((folder / str(each)).resolve().is_file() for each in links)
        assert not page_of(source, file).xpath("//a[@rel='prev']")


#: What a theme may do to the pages about changes: markup of its own, or nothing, or templates that fail.
THEMES = {
    "attributes": {
        "days.html": '{% for day in days %}{% for each in day.read %}<li data-uri="/x" data-time="now" class="created">'
        '<bdi>{{ each.title }}</bdi><a class="version" href="/x"></a></li>{% endfor %}{% endfor %}'
    },
    "a page of its own": {"base.html": '<html lang="fr"><meta name="application-name" content="X"><h1><a href="/x">'},
    "nothing": dict.fromkeys(("index.html", "set.html", "changes.html", "days.html", "base.html", "changes.atom"), ""),
    "an error in the syntax": {"base.html": "{% nonsense %}"},
    "an error while it runs": {"days.html": "{{ 1 / 0 }}", "changes.atom": "{{ days.no.such }}"},
    "without an end": {"changes.html": '{% include "resourcesync/changes.html" %}'},
    "no text": {"changes.html": r"{{ '\ud800' }}", "set.html": r"{{ '\ud800' }}"},
}


@pytest.mark.promise("Shown to people")
@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_breaks_nothing(tmp_path: Path, theme: str) -> None:
    """Whatever a theme makes of the pages: publications go on, titles stay, and a takedown knows the site's page."""
    (tmp_path / "theme/resourcesync").mkdir(parents=True)
    for name, text in THEMES[theme].items():
        (tmp_path / "theme/resourcesync" / name).write_text(text)
    shared: dict[str, Any] = {"language": "de", "home": "https://x.example/?a=1&b=2"}
    page = PageOptions(templates=(tmp_path / "theme",), **shared)
    source = empty(tmp_path / "output")
    contents = {**FIRST, "a.html": html_of("A & <b>"), "b.html": html_of("B"), "b.css": b""}
    source.publish(contents, "2024-03-02T12:00", page=page, site_name="A & B")
    source.publish({**FIRST, "b.html": html_of("B")}, "2024-03-03T12:00", page=page, site_name="A & B")
    assert [file.read_bytes().decode() for file in (tmp_path / "output/resourcesync").rglob("*.html")]
    source.publish(FIRST, "2024-03-04T12:00", page=PageOptions(**shared), site_name="A & B")
    expected = [
        ["entfernt B"],
        ["entfernt A & <b>", "entfernt /b.css"],
        ["neu B", "neu A & <b>", "neu /b.css"],
    ]
    assert [names for _, _, names in shown(page_of(source))] == expected
    source.publish({**FIRST, "c.html": b""}, "2024-03-05T12:00", page=page, site_name="A & B")
    source.forget(f"{SITEURL}/c.html", built=utc("2024-03-06T12:00"))
    after = page_of(source)
    assert [names for _, _, names in shown(after)] == [[], *expected]
    assert (after.get("lang"), after.xpath("//h1/a/@href")) == ("de", ["https://x.example/?a=1&b=2"])
    assert after.xpath("//meta[@name='application-name']/@content") == ["A & B"]


def test_a_theme_that_fails_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A warning for each page says what fails, where and why; the pages are ours then."""
    source = empty(tmp_path / "output")
    (tmp_path / "theme/resourcesync").mkdir(parents=True)
    (tmp_path / "theme/resourcesync/days.html").write_text("line one\n{% nonsense %}")
    page = PageOptions(templates=(tmp_path / "theme",))
    source.publish({**FIRST, "a.html": html_of("A")}, "2024-03-02T12:00", page=page)
    assert [names for _, _, names in shown(page_of(source))] == [["new A"]]
    assert {each.levelname for each in caplog.records} == {"WARNING"}
    for template, message in zip(("changes", "index", "set"), caplog.messages, strict=True):
        assert f"a page for people ({template}.html) was written without the theme's templates (" in message
        assert "days.html:2: TemplateSyntaxError: Encountered unknown tag 'nonsense'): correct or remove" in message


def test_what_the_next_publication_reads(tmp_path: Path) -> None:
    """The changes of a page with their titles are in JSON beside it, which is carried with it."""
    source, contents = march(tmp_path)
    data = (tmp_path / MARCH).with_suffix(".json")
    content = json.loads(data.read_bytes())
    assert content["more"] == 0
    assert len(content["changes"]) == 8
    assert content["changes"][:3] == [
        {
            "earlier": ["2024-03-15T10:20:00Z", "2024-03-01T12:00:00Z"],
            "kind": "deleted",
            "time": "2024-03-15T17:05:00Z",
            "title": "Old, renewed",
            "uri": f"{SITEURL}/old.html",
        },
        {
            "href": f"{SITEURL}/feed.atom",
            "kind": "created",
            "time": "2024-03-15T17:05:00Z",
            "uri": f"{SITEURL}/feed.atom",
        },
        {
            "earlier": ["2024-03-01T12:00:00Z"],
            "href": f"{SITEURL}/old.html",
            "kind": "updated",
            "time": "2024-03-15T10:20:00Z",
            "title": "Old, renewed",
            "uri": f"{SITEURL}/old.html",
        },
    ]
    path = data.relative_to(tmp_path).as_posix()
    assert source.state()["documents"][path] == sha256(data.read_bytes()).hexdigest()
    source.publish(contents | {"a.html": html_of("A")}, "2024-04-02T12:00")
    inode = data.stat().st_ino
    source.publish(contents | {"b.html": html_of("B")}, "2024-05-03T12:00")
    assert data.stat().st_ino == inode
    assert path in source.state()["documents"]


@pytest.mark.parametrize(("versions", "left"), [(VersionOptions(number=2), []), (None, []), (VersionOptions(), ["b"])])
def test_an_old_page_links_to_no_version_that_goes(
    tmp_path: Path, versions: VersionOptions | None, left: list[str]
) -> None:
    """Also if the page is of a time of which versions were missing before."""
    source, february = Source(tmp_path), "resourcesync/site/changes/20240201T000000Z.html"
    contents: dict[str, bytes] = {}

    def publish(month: int, versions: VersionOptions | None) -> list[str]:
        """Change a page; return those whose versions the page about February links to."""
        contents["a.html"] = html_of(f"{month}")
        source.publish(contents, f"2024-0{month}-10T12:00", versions=versions)
        links = page_of(source, february).xpath("//a[@class='version']") if month > 1 else ()
        return [each.getprevious().text_content() for each in links]

    publish(1, VersionOptions(number=2))
    contents["b.html"] = html_of("b")
    assert publish(2, VersionOptions(number=2)) == ["b", "2"]
    for month, title in ((3, "b"), (4, "b"), (5, "new")):
        contents["b.html"] = html_of(title)
        assert "b" in publish(month, VersionOptions(number=2))
    contents["b.html"] = html_of("newer")
    assert publish(6, versions) == left


@pytest.mark.parametrize(("end", "title"), [("html", "Old, renewed"), ("json", "/old.html")])
@pytest.mark.parametrize("month", [3, 5])
def test_a_page_that_is_not_listed_is_made_again(tmp_path: Path, end: str, title: str, month: int) -> None:
    """Of an open or a closed list: without its JSON, it shows what the list says, with the titles known now."""
    source, contents = march(tmp_path)
    source.publish(contents | {"a.html": html_of("A")}, f"2024-0{month}-20T12:00")
    path = MARCH.replace("html", end)
    (tmp_path / path).unlink()
    documents = source.state()["documents"]
    source.reseal(documents={name: digest for name, digest in documents.items() if name != path})
    source.publish(contents, f"2024-0{month}-21T12:00")
    assert f"removed {title}" in [name for _, _, names in shown(page_of(source, MARCH)) for name in names]
    assert source.state()["documents"].keys() >= {MARCH, MARCH.replace("html", "json")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Another", "Another"), ("", ""), ("A\x0bgarden \ufffe\ud800", "A garden"), ("long" * 500, "long" * 500)],
)
def test_another_name(tmp_path: Path, name: str, expected: str) -> None:
    """A name that changed alone, whatever it is, is in the state, and a takedown writes the pages with it."""
    source, contents = march(tmp_path)
    source.publish(contents, "2024-03-20T12:00", site_name="A house")
    before = source.documents()
    source.publish(contents, "2024-03-20T12:00", site_name=name)
    assert source.state().get("site_name", "") == expected
    changed = {path for path, data in source.documents().items() if data != before[path]}
    assert not [path for path in changed if path.endswith(".xml") or path.startswith(MARCH.removesuffix("html"))]
    source.forget(f"{SITEURL}/new.html", built=utc("2024-03-21T12:00"))
    assert page_of(source).findtext(".//h1/a") == (expected or "example.org")


def test_the_front_page_of_several_sets(tmp_path: Path) -> None:
    """It shows each with its numbers and its latest changes, each change once, and leads to its page and its feed."""
    sources = [Source(tmp_path, set_name=name) for name in ("site", "letters")]
    for day in (1, 2):
        contents: list[Contents] = [{"a.html": html_of("A")}, {"a.html": html_of("A"), "b.html": html_of(f"B{day}")}]
        time = f"2024-03-0{day}T12:00"
        publish_sets([each.request(what, time) for each, what in zip(sources, contents, strict=True)])
    page = page_of(sources[0])
    cards = [" ".join(" ".join(each.itertext()).split()) for each in page.xpath("//ul[@class='cards']/li")]
    assert cards == [
        "site Pages: 1 Last change: 1 March 2024 Subscribe (Atom)",
        "letters Pages: 2 Last change: 2 March 2024 Subscribe (Atom)",
    ]
    heads = [" ".join(each.text_content().split()) for each in page.xpath("//section/h2")]
    assert heads == ["Latest changes: site", "Latest changes: letters"]
    assert [names for _, _, names in shown(page)] == [["new A"], ["changed B2"], ["new B1"]]  # A is in both
    days = ["site-2024-03-01T12:00:00Z", "letters-2024-03-02T12:00:00Z", "letters-2024-03-01T12:00:00Z"]
    assert anchors(page) == days
    assert anchors(page_of(sources[1], "resourcesync/letters/index.html")) == [day[8:] for day in days[1:]]
    feeds = page.xpath("//link[@type='application/atom+xml']")
    assert [(each.get("title"), each.get("href")) for each in feeds] == [
        ("Changes: site", "site/changes.atom"),
        ("Changes: letters", "letters/changes.atom"),
    ]


def test_the_feed_reads_as_many_lists_as_it_needs(tmp_path: Path) -> None:
    """Changes of what people read, whatever other lists lie between them."""
    source = Source(tmp_path, boundaries=Calendar("day"))
    contents = {"a.html": html_of("0"), "a.css": b"0"}
    for day in range(1, 25):
        time = utc("2024-03-01T12:00") + day * timedelta(days=1)
        contents["a.css"] = f"{day}".encode()
        if day % 10 == 0:
            contents["a.html"] = html_of(f"{day}")
        source.publish(contents, f"{time:%Y-%m-%dT%H:%M}")
    titles = [each.text for each in etree.parse(tmp_path / FEED).iterfind(f"{ATOM}entry/{ATOM}title")]
    assert titles == [f"changed: {day}" for day in (20, 10)] + ["new: 0"]


def test_the_rate_of_changes(tmp_path: Path) -> None:
    """How often something changes is said after a month, and does not count the first publication."""
    source = Source(tmp_path)
    contents = {f"{number}.html": b"1" for number in range(100)}
    past = history("a", "2024-03-01T12:00", *((("2024-02-01T12:00"), path, CREATED) for path in contents))
    source.publish(contents, past)
    for day in ("2024-04-10", "2024-04-20", "2024-04-29"):
        contents["0.html"] = day.encode()
        source.publish(contents, f"{day}T12:00")
        assert "How often" not in page_of(source).text_content()
    contents["0.html"] = b"May"
    source.publish(contents, "2024-05-10T12:00")  # 4 changes in the 39.5 days since April began
    assert "about 3.1 changes a month" in page_of(source).text_content()


def test_the_last_twelve_months(tmp_path: Path) -> None:
    """A column of the months with changes of a list: it leads to the list, or to all lists if several begin in it."""
    source = Source(tmp_path, boundaries=Calendar("month"))
    contents = {f"{number}.html": b"1" for number in range(100)}
    source.publish(contents, history("a", "2023-01-20T12:00"))
    for time, count in (("2023-12-10", 16), ("2024-01-03", 4), ("2024-03-15", 1), ("2024-11-05", 9)):
        contents |= {f"{number}.html": time.encode() for number in range(count)}
        source.publish(contents, f"{time}T12:00")
    page = page_of(source)
    columns = page.xpath("//*[@class='year']/li/a")
    assert [(each.text, each.get("href"), each.getparent().get("style")) for each in columns] == [
        ("16", "site/changes/20231201T000000Z.html", "grid-column:1/span 1"),
        ("4", "site/changes/20240101T000000Z.html", "grid-column:2/span 1"),
        ("1", "site/changes/20240301T000000Z.html", "grid-column:4/span 1"),
        ("9", "site/changes/20241101T000000Z.html", "grid-column:12/span 1"),
    ]
    assert [columns[at].get("title") for at in (0, 2)] == ["December 2023: 16 changed", "March 2024: 1 changed"]
    # the square roots of 16, 4, 1 and 9
    assert [each.get("style") for each in page.xpath("//*[@class='year']//span")] == [
        f"--height:{height}" for height in (100, 50, 25, 75)
    ]
    months = [each.text for each in page.xpath("//li[@class='month']")]
    assert (months[0], months[-1], len(months)) == ("Dec", "Nov", 12)
    tagged = Source(tmp_path / "tagged", boundaries=FixedBoundaries([utc("2024-03-20T12:00"), utc("2024-05-20T12:00")]))
    for month in (3, 4, 5, 6):
        tagged.publish({"a.html": f"{month}".encode()}, f"2024-0{month}-05T12:00")
    places = page_of(tagged).xpath("//*[@class='year']/li[a]/@style")
    assert places == ["grid-column:9/span 2", "grid-column:11/span 2"]  # two lists begin in March, one in May
    yearly = Source(tmp_path / "yearly", boundaries=Calendar("year"))
    for time, expected in (
        ("2024-03-05T12:00", "grid-column:10/span 3"),  # from January on
        ("2024-05-05T12:00", "grid-column:8/span 5"),
        ("2025-02-05T12:00", "grid-column:11/span 2"),  # the other list began before these twelve months
    ):
        yearly.publish({"a.html": time.encode()}, time)
        assert page_of(yearly).xpath("//*[@class='year']/li[a]/@style") == [expected]
    assert page_of(yearly).xpath("//*[@class='year']//a/@title") == [
        "January 2025 \N{EN DASH} February 2025: 1 changed"
    ]
    daily = Source(tmp_path / "daily", boundaries=Calendar("day"))
    for day in (1, 2, 3):
        daily.publish({"a.html": f"{day}".encode()}, f"2024-03-0{day}T12:00")
    (column,) = page_of(daily).xpath("//*[@class='year']/li/a")
    assert (column.text, column.get("href")) == ("3", "site/changes/index.html")
    assert column.get("title") == "March 2024: 1 new, 2 changed"


def test_versions(tmp_path: Path) -> None:
    """Each change leads to the version that it made, and each day to a command that restores it; only if these stay."""
    source = Source(tmp_path)
    for day, contents in enumerate([{"a.html": html_of("A")}, {"a.html": html_of("A & B")}, FIRST], 1):
        source.publish(contents, f"2024-03-0{day}T12:00", versions=VersionOptions())
    page = page_of(source, MARCH)
    links = page.xpath("//li/a[@class='version']")
    folder = f"{SITEURL}/resourcesync/site/versions"
    assert [(each.getprevious().text_content(), each.text, each.get("href")) for each in links] == [
        ("/first.css", "this version", f"{folder}/{sha256(b'').hexdigest()}.css"),
        ("A & B", "this version", f"{folder}/{sha256(html_of('A & B')).hexdigest()}.html"),
    ]
    assert [each.text for each in page.xpath("//section[@class='day']//pre/code")] == [
        f"pelican-resourcesync restore https://example.org/ example.org-2024-03-0{day} --at 2024-03-0{day}T12:00:00Z"
        for day in (3, 2, 1)
    ]
    source.publish({}, "2024-04-01T12:00")
    assert not page_of(source, APRIL).xpath("//a[@class='version'] | //pre")


def test_a_title_that_was_edited(tmp_path: Path) -> None:
    """Where what is withdrawn leaves at once, no page keeps the title that a resource had; elsewhere it is a record."""
    for folder, remove, first in ((tmp_path / "a", True, "B"), (tmp_path / "b", False, "A")):
        source = Source(folder)
        source.publish({"a.html": html_of("A"), "c.html": html_of("C")}, "2024-03-01T12:00", remove_deleted=remove)
        source.publish({"a.html": html_of("B"), "c.html": html_of("C")}, "2024-04-01T12:00", remove_deleted=remove)
        assert [names for _, _, names in shown(page_of(source, MARCH))] == [["new C", f"new {first}"]]
        assert [names for _, _, names in shown(page_of(source, APRIL))] == [["changed B"]]


def test_days_before_versions(tmp_path: Path) -> None:
    """Of a day from before versions were kept, no command is shown: nothing could restore it."""
    source = Source(tmp_path)
    source.publish({"a.html": html_of("A")}, "2024-03-01T12:00")
    source.publish({"a.html": html_of("B")}, "2024-03-05T12:00", versions=VersionOptions())
    page = page_of(source, MARCH)
    commands = [day.xpath("count(.//pre)") for day in page.xpath("//section[@class='day']")]
    assert (len(shown(page)), commands) == (2, [1, 0])


def differing(source: Source, path: str) -> list[list[str]]:
    """Return the words that a page shows as removed (`-`) and added (`+`), for each change that has some."""
    signs = {"del": "-", "ins": "+"}
    items = (item.xpath(".//del | .//ins") for item in page_of(source, path).xpath("//li"))
    return [[signs[each.tag] + each.text for each in found] for found in items if found]


#: A page with a text, and one that only leads to another.
TOLD = "<title>{0}</title><main><h1>{0}</h1><p>The old museum in town opens at {1}, every single day of the year.</p>"
STUB = b'<meta http-equiv="refresh" content="0; url=/a.html"><link rel="canonical" href="/a.html">'
COMMITS = "https://code.example/site/{commit}?a=1&b"


@pytest.mark.promise("Shown to people")
def test_a_title_leads_to_its_history(tmp_path: Path) -> None:
    """Each change leads to those before, over lists, with its words and commit; a page that moved says where to."""
    source = Source(tmp_path)
    options: dict[str, Any] = {"versions": VersionOptions(), "page": PageOptions(commit_url=COMMITS)}
    steps = (("02-10", "nine"), ("03-05", "ten &lt;b>"), ("03-06", "eleven"), ("04-05", "noon"))
    for number, (day, time) in enumerate(steps):
        contents = {"a.html": TOLD.format("A", time).encode(), "b.html": TOLD.format("B", "one").encode()}
        contents |= {"b.html": STUB} if number == 3 else {}
        source.publish(contents, history("abcd"[number], f"2024-{day}T12:00"), **options)
    followed, path = [], "resourcesync/index.html"
    [link] = page_of(source).xpath("//li[a/bdi='A'][1]/a[text()='history']/@href")[:1]
    while link:
        name, _, anchor = link.rpartition("#")
        path = (Path(path).parent / name).as_posix()
        [item] = page_of(source, path).xpath(f"//li[@id='{anchor}']")
        commit = item.xpath(".//a[text()='commit']/@href")[0]
        followed.append((item.get("data-time")[5:10], commit, len(item.xpath(".//div/a/time"))))
        link = next(iter(item.xpath(".//div/a[time]/@href")), "")
    expected = [(day, COMMITS.replace("{commit}", sha * 40)) for (day, _), sha in zip(steps, "abcd", strict=True)]
    assert followed == [(*each, number) for number, each in enumerate(expected)][::-1]
    assert differing(source, MARCH) == [["-ten <b>,", "+eleven,"], ["-nine,", "+ten <b>,"]]
    [words] = page_of(source, APRIL).xpath("//li[a/bdi='A']//p")
    assert " ".join(words.text_content().split()) == "… in town opens at eleven, noon, every single day of …"
    [moved] = page_of(source, APRIL).xpath("//li[a/bdi='B']/div[1]")
    assert (moved.text_content(), moved[0].get("href")) == ("moved to /a.html", f"{SITEURL}/a.html")
    source.forget(f"{SITEURL}/a.html", built=utc("2024-05-01T12:00"))
    assert not re.findall("noon|eleven|moved to", everything_of(source))
    kept = options | {"archives": Archives(changelist=1), "remove_deleted": True}
    for day in ("05", "06"):
        source.publish({"b.html": TOLD.format("B", day).encode()}, f"2024-06-{day}T12:00", **kept)
    item = page_of(source, "resourcesync/site/2/changes/20240601T000000Z.html").xpath("//li")[0]
    assert (item.xpath(".//del | .//ins"), len(item.xpath(".//time"))) == ([], 4)  # what a repository may hide later
    assert [Path(href).name[:1] for href in item.xpath(".//div/a/@href")] == ["2"]


def test_versions_that_are_removed(tmp_path: Path) -> None:
    """A closed page loses the links to versions that are gone, and the commands for days of which some are missing."""
    source = Source(tmp_path)

    def publish(title: str, time: str, versions: VersionOptions | None) -> tuple[list[str], list[str]]:
        """Publish a page with this title; return what the page about March links to and has commands for."""
        source.publish({"a.html": html_of(title), "b.html": html_of("B")}, f"2024-{time}T12:00", versions=versions)
        page = page_of(source, MARCH)
        links, commands = page.xpath("//li[a[@class='version']]"), page.xpath("//pre/code")
        return [each.get("data-time")[5:10] for each in links], [each.text.split()[-1][5:10] for each in commands]

    publish("A", "03-01", VersionOptions())
    publish("A2", "03-10", VersionOptions())
    publish("A3", "03-20", VersionOptions())
    assert publish("A4", "04-02", VersionOptions()) == (["03-20", "03-10"], ["03-20", "03-10", "03-01"])
    assert differing(source, MARCH) == [["-A2", "+A3"], ["-A", "+A2"]]
    assert publish("A5", "05-02", VersionOptions(number=3)) == (["03-20"], ["03-20"])
    assert differing(source, MARCH) == []
    assert differing(source, APRIL) == [["-A3", "+A4"]]
    kept = (tmp_path / MARCH).stat().st_ino
    publish("A5", "05-03", VersionOptions(number=3))
    assert (tmp_path / MARCH).stat().st_ino == kept
    source.forget(f"{SITEURL}/b.html", built=utc("2024-05-04T12:00"))
    march = MARCH.replace("site/", "site/2/")
    assert len(page_of(source, march).xpath("//li[a[@class='version']]")) == 1
    assert len(page_of(source, march).xpath("//pre")) == 1
    source.publish({"a.html": html_of("A5")}, "2024-05-05T12:00")
    assert not page_of(source, march).xpath("//li[a[@class='version']] | //pre")
