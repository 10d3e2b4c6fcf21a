"""What lists say of the content of pages, beside the bytes: who reads them knows which changes are news."""

import pytest
from lxml import etree

from pelican_resourcesync.content import content_hash
from pelican_resourcesync.publication import ChangeHistory
from pelican_resourcesync.publication.comparison import parts
from tests.kit.publications import LAYOUT, SITEURL, Source, utc
from tests.kit.reader import XmlEntry

URI = f"{SITEURL}/a.html"


def page(main: str, around: str = "2025", head: str = "") -> bytes:
    """Return a page with this main text, and a footer around it."""
    return f"<head><title>T</title>{head}</head><main><p>{main}</p></main><footer>{around}</footer>".encode()


ONE, AROUND, AGAIN, TWO = page("one"), page("one", "2026"), page("one", "2027"), page("two", "2027")
HIDDEN, HIDDEN_TOO = (page(text, head='<meta name="robots" content="noindex">') for text in ("one", "two"))
#: Content that is as old as the bytes, and content whose age is not known.
NEW, UNKNOWN = None, ""


def day(number: int) -> str:
    """Return the time of a publication."""
    return f"2026-02-0{number}T10:00:00Z"


def publish(source: Source, *states: bytes | None) -> None:
    """Publish states of a page, one a day, beside a file; the first is that of February 1."""
    for number, body in enumerate(states, start=1):
        source.publish({"b.txt": b"b"} | ({"a.html": body} if body else {}), day(number)[:16])


def listed(source: Source) -> XmlEntry | None:
    """Return the entry of the page in the Resource List; that of a file has none of our attributes."""
    found = source.resource_list()
    assert not found[f"{SITEURL}/b.txt"].content
    return found.get(URI)


def changes(source: Source) -> list[XmlEntry]:
    """Return the changes of the page."""
    return [entry for entry in source.changes() if entry.uri == URI]


@pytest.mark.promise("Content")
@pytest.mark.parametrize(
    ("states", "modified"),
    [
        ([ONE, AROUND, AGAIN, TWO], [NEW, day(1), day(1), NEW]),
        ([ONE, ONE, AROUND, AROUND, ONE], [NEW, day(1), day(1)]),
        ([ONE, None, AROUND], [NEW, NEW, NEW]),
        ([HIDDEN, HIDDEN_TOO, ONE, AROUND], [NEW, day(1), NEW, day(3)]),
        ([ONE, HIDDEN, HIDDEN_TOO, None], [NEW, NEW, day(2), day(3)]),
    ],
    ids=["around", "back again", "gone and back", "hidden, then shown", "shown, then hidden, then gone"],
)
def test_each_change_says_since_when_content_is_as_it_is(
    source: Source, states: list[bytes | None], modified: list[str | None]
) -> None:
    """The Resource List says of the page what its last change says."""
    publish(source, *states)
    found, now = changes(source), listed(source)
    assert [change.content.get("modified") for change in found] == modified
    if now:
        assert (now.content, now.lastmod) == (found[-1].content, found[-1].lastmod)


def test_hashes_are_of_content(source: Source) -> None:
    """The hash of a page that is not for people is empty, and equal content has equal hashes."""
    publish(source, None, ONE, AROUND, TWO, HIDDEN)
    one, again, two, hidden = (change.content["hash"] for change in changes(source))
    assert one == again != two
    assert (len(one), one[:2], hidden) == (24, "1-", "")


def test_before_the_first_publication_nothing_is_known(source: Source) -> None:
    """Where no time is listed, the content is as old as that: what is not known is not made up."""
    first = ChangeHistory(built=utc("2026-02-01T10:00"), complete=False)
    source.publish({"a.html": ONE, "b.txt": b"b"}, first)
    source.publish({"a.html": AROUND, "b.txt": b"b"}, "2026-02-02T10:00")
    now = listed(source)
    assert now
    assert (now.lastmod, now.content["modified"]) == (day(2), UNKNOWN)


def test_another_version_of_the_function_is_no_change(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal bytes keep what was said. Others are judged by the version that is stored, and then the new one is."""
    source.publish({"a.html": ONE, "b.txt": b"b"}, day(1)[:16])
    monkeypatch.setattr(parts, "VERSION", "2")
    monkeypatch.setattr(
        parts, "content_hash", lambda body, uri, v="2": "2-new" if v == "2" else content_hash(body, uri, v)
    )
    for number, body, said in ((2, ONE, {}), (3, AROUND, {"hash": "2-new", "modified": day(1)})):
        source.publish({"a.html": body, "b.txt": b"b"}, day(number)[:16])
        assert changes(source)[-1].content == said


@pytest.mark.promise("Content")
def test_equal_bytes_are_not_read_again(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content of a page is looked at where its bytes changed, and nowhere else."""
    read: list[str] = []

    def noting(body: bytes, uri: str) -> str:
        read.append(uri)
        return content_hash(body, uri)

    monkeypatch.setattr(parts, "content_hash", noting)
    source.publish({"a.html": ONE, "c.html": ONE}, day(1)[:16])
    source.publish({"a.html": AROUND, "c.html": ONE}, day(2)[:16])
    assert read == [URI, f"{SITEURL}/c.html", URI]


@pytest.mark.promise("Content")
def test_what_is_no_news_is_on_no_page_for_people(source: Source) -> None:
    """The pages and the feed have changes of content; the page about a list has the number of the others."""
    publish(source, ONE, AROUND, TWO, AGAIN, AGAIN, HIDDEN, HIDDEN_TOO)
    entry = "{http://www.w3.org/2005/Atom}entry"
    feed = etree.parse(source.output / LAYOUT.feed).getroot()
    assert [each.findtext("{*}updated") for each in feed.iter(entry)] == [day(6), day(4), day(3), day(1)]
    [page_of_list] = (source.output / LAYOUT.change_pages).parent.glob("2026*.html")
    assert "Changes only around the content of pages: 2" in page_of_list.read_text("utf-8")


def test_a_takedown_keeps_what_is_said_of_other_pages(source: Source) -> None:
    """A document that is written again has the attributes of before, with the prefix that its root declares."""
    source.publish({"a.html": ONE, "b.txt": b"b", "c.html": ONE}, day(1)[:16])
    source.publish({"a.html": AROUND, "b.txt": b"b", "c.html": TWO}, day(2)[:16])
    before = [change.content for change in changes(source)]
    assert before[-1]["modified"] == day(1)
    source.forget(f"{SITEURL}/c.html", built=utc("2026-02-03T10:00"))
    now = listed(source)
    assert [change.content for change in changes(source)] == before
    assert now
    assert now.content == before[-1]
    assert any(b' c:hash="1-' in data for path, data in source.documents().items() if "resourcelist" in path)
