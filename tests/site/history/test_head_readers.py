"""Heads of sources: compared with what Pelican's own readers find in the whole."""

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pelican.readers import Readers
from pelican.settings import read_settings

from pelican_resourcesync.site.history.head_readers import InMemoryReader, head_of, replace_readers

BODY = "\n\nA *paragraph*.\n\nDate: 1999-01-01\n\n    code\n"

MARKDOWN: dict[str, str | bytes] = {
    "plain": "Title: A title\nDate: 2024-01-01 10:20\nCategory: News\n",
    "all": "Title: T\nDate: 2024-01-01\nModified: 2024-01-02\nTags: a, b; c\nKeywords: k\nCategory: C\nSlug: s\n"
    "Author: Ann\nAuthors: Ann, Bob\nStatus: draft\nLang: fr\nTranslation: true\nSave_as: x.html\nURL: x/\n"
    "Template: wide\nTimezone: Asia/Tokyo\n",
    "case": "TITLE: T\ndate: 2024-01-01\nSLUG: Mixed Case\n",
    "fences": "---\nTitle: T\nDate: 2024-01-01\n---\n",
    "fences and dots": "---\nTitle: T\nDate: 2024-01-01\n...\nSlug: not-me\n",
    "fence not closed": "---\nTitle: T\n\nDate: 2024-01-01\n",
    "end without begin": "Title: T\n---\nDate: 2024-01-01\n",
    "byte order mark": "\ufeffTitle: T\nDate: 2024-01-01\n",
    "Windows": "Title: T\r\nDate: 2024-01-01\r\nSlug: s\r\n\r\nText: no\r\n",
    "old Macintosh": "Title: T\rDate: 2024-01-01\r\rText: no\r",
    "continued": "Title: A title\n    that goes on\nDate: 2024-01-01\nAuthors: Ann\n         Bob\nTags: a,\n      b\n",
    "continued by a tab": "Title: T\nTags: a,\n\tb\nNote: one\n\ttwo\n",
    "no metadata": "Just text.\n",
    "empty": "",
    "blank": " \n\t\n",
    "blank first": "\n\nTitle: T\n",
    "blank with spaces": "Title: T\n   \nDate: 2024-01-01\n",
    "text first": "Text\nTitle: T\n",
    "duplicates": "Title: One\nTitle: Two\nTags: a\nTags: b\nDate: 2024-01-01\nDate: 2024-02-02\nNote: x\nNote: y\n",
    "empty values": "Title:\nDate: 2024-01-01\nTags:\nCategory:\nSlug:\nStatus:\n",
    "colons": "Title: One: two: three\nURL: https://example.org/x\n",
    "odd keys": "og_image: i.png\nog-title: t\nKey with space: no\nTitle: T\n",
    "indented": " Title: T\n   Date: 2024-01-01\n",
    "other scripts": "Title: Größe und 漢字\nTags: é, 漢\nCategory: Ünï\n",
    "emphasis": "Title: A *title* & <b>more</b>\nDate: 2024-01-01\n",
    "summary": "Title: T\nSummary: A *summary*\n    of two lines\nDate: 2024-01-01\n",
    "bad date": "Title: T\nDate: yesterday, perhaps\n",
    "bad encoding": b"Title: caf\xe9\nDate: 2024-01-01\n",
    "comment": "<!-- Title: no -->\nTitle: T\n",
    "nothing after": "Title: T",
    "form feed": "Title: T\x0c\nDate: 2024-01-01\n",
}

RST: dict[str, str | bytes] = {
    "plain": "A title\n=======\n\n:date: 2024-01-01 10:20\n:category: News\n",
    "all": "T\n##\n\n:date: 2024-01-01\n:modified: 2024-01-02\n:tags: a, b\n:category: C\n:slug: s\n:author: Ann\n"
    ":status: draft\n:lang: fr\n:save_as: x.html\n:url: x/\n:template: wide\n",
    "overlined": "=======\nA title\n=======\n\n:date: 2024-01-01\n",
    "subtitle": "A title\n=======\n\nA subtitle\n----------\n\n:date: 2024-01-01\n",
    "sections": "A title\n=======\n\n:date: 2024-01-01\n\nText.\n\nSection\n-------\n\nMore.\n\nOther\n-----\n\nEnd.\n",
    "two titles": "First\n=====\n\n:date: 2024-01-01\n\nText.\n\nSecond\n======\n\nMore.\n",
    "two subtitles": "T1\n==\n\nSub\n---\n\n:date: 2024-01-01\n\nText.\n\nOther\n-----\n\nMore.\n",
    "comment first": ".. a comment\n   of two lines\n\nA title\n=======\n\n.. another\n\n:date: 2024-01-01\n",
    "fields of two blocks": "A title\n=======\n\n:date: 2024-01-01\n\n:slug: s\n:tags: a\n",
    "continued": "A title\n=======\n\n:date: 2024-01-01\n:authors: Ann;\n          Bob\n:note: one\n  two\n",
    "list of authors": "A title\n=======\n\n:authors:\n  - Ann\n  - Bob\n:date: 2024-01-01\n",
    "names with colons": "A title\n=======\n\n:x: y\n:og:image: i.png\n:a\\:b: c\n:date: 2024-01-01\n",
    "no title": ":date: 2024-01-01\n:title: From a field\n:slug: s\n\nText.\n",
    "no metadata": "A title\n=======\n\nJust text with a :ref: in it.\n",
    "text before fields": "A title\n=======\n\nText.\n\n:date: 2024-01-01\n",
    "only text": "Text.\n",
    "empty": "",
    "markup in the title": "A *title* with ``code``\n=======================\n\n:date: 2024-01-01\n",
    "substitution": "A |word| title\n==============\n\n:date: 2024-01-01\n\nText.\n\n.. |word| replace:: fine\n",
    "link": "A title\n=======\n\n:summary: See there_.\n:date: 2024-01-01\n\nText.\n\n.. _there: https://example.org/\n",
    "byte order mark": "\ufeffA title\n=======\n\n:date: 2024-01-01\n",
    "Windows": "A title\r\n=======\r\n\r\n:date: 2024-01-01\r\n:slug: s\r\n",
    "other scripts": "Größe und so\n============\n\n:date: 2024-01-01\n:tags: é, ü\n",
    "tabs": "A title\n=======\n\n:date:\t2024-01-01\n:slug:\ts\n",
    "table after": "A title\n=======\n\n:date: 2024-01-01\n\n=====  =====\nA      B\n=====  =====\n1      2\n"
    "=====  =====\n",
    "role before": ".. role:: odd\n\nA title\n=======\n\n:date: 2024-01-01\n:slug: s\n",
    "bad date": "A title\n=======\n\n:date: yesterday, perhaps\n",
    "bad encoding": b"A title\n=======\n\n:note: caf\xe9\n",
    "quotes after": "A title\n=======\n\n:date: 2024-01-01\n\n    A quote.\n\nText.\n",
}

HTML: dict[str, str | bytes] = {
    "plain": '<html><head><title>A title</title><meta name="date" content="2024-01-01 10:20"></head><body><p>x</body>',
    "all": '<HTML><HEAD><TITLE>T</TITLE><META NAME="Tags" CONTENT="a, b"/><meta name="category" content="C" />\n'
    '<meta name="slug" content="s"><meta name="status" content="draft"><meta name="lang" content="fr"></HEAD><BODY>',
    "keywords": '<head><title>T</title><meta name="keywords" content="a,b"></head>',
    "contents": '<head><title>T</title><meta name="date" contents="2024-01-01"></head>',
    "duplicates": '<head><title>T</title><meta name="tags" content="a"><meta name="tags" content="b"></head>',
    "no name": '<head><meta charset="utf-8"><title>T</title></head>',
    "entities": '<head><title>A &amp; B &#233;</title><meta name="category" content="C &amp; D"></head><body>',
    "head in a comment": '<head><!-- </head> <body> --><title>T</title><meta name="slug" content="s"></head>',
    "head in a script": '<head><script>"</head>"</script><style>/* <body */</style><title>T</title></head>',
    "no head": "<p>Just text</p>",
    "no end of head": '<head><title>T</title><meta name="slug" content="s"><body><p>x',
    "body with a title": "<head><title>T</title></head><body><svg><title>no</title></svg></body>",
    "empty": "",
    "byte order mark": "\ufeff<head><title>T</title></head>",
    "Windows": '<head>\r\n<title>Two\r\nlines</title>\r\n<meta name="note" content="a\r\nb"></head>',
    "bad date": '<head><title>T</title><meta name="date" content="yesterday, perhaps"></head>',
    "summary": '<head><title>T</title><meta name="summary" content="A <b>summary</b>"></head>',
}

SOURCES = [
    pytest.param(f"{name}.{ending}", source, id=f"{ending} {name}")
    for ending, sources in (("md", MARKDOWN), ("rst", RST), ("html", HTML))
    for name, source in sources.items()
]


def read(readers: Readers, file: Path) -> dict[str, Any] | str:
    """Return the metadata of a source, save the summary; that it cannot be read, where it cannot."""
    reader = readers.readers[file.suffix[1:]]
    if isinstance(reader, InMemoryReader):
        reader.data = file.read_bytes()
    try:
        _content, metadata = reader.read(str(file))
    except Exception as error:  # noqa: BLE001 - readers raise what they like
        return type(error).__name__
    return {name: value for name, value in metadata.items() if name != "summary"}


def compare(file: Path, source: str | bytes, **overrides: Any) -> dict[str, Any] | str:
    """Read a source by its head, its head alone, and as Pelican does; return the metadata that all must find."""
    configuration = read_settings(override={"PATH": str(file.parent), "SITEURL": "https://example.org", **overrides})
    ours = Readers(configuration)
    replace_readers(ours)
    whole = source if isinstance(source, bytes) else source.encode()
    file.write_bytes(whole)
    theirs = read(Readers(configuration), file)
    assert read(ours, file) == theirs
    head = head_of(ours.readers[file.suffix[1:]], whole)
    assert len(head) <= len(whole)
    file.write_bytes(head)
    assert read(ours, file) == theirs
    return theirs


@pytest.mark.parametrize(("name", "source"), SOURCES)
def test_head_says_what_pelican_finds_in_the_whole(tmp_path: Path, name: str, source: str | bytes) -> None:
    """Each source has the same metadata by its head, alone and with a body behind it; or neither reads it."""
    compare(tmp_path / name, source)
    if isinstance(source, str) and not name.endswith("html"):
        compare(tmp_path / name, source + BODY)


def test_sources_are_read_at_all(tmp_path: Path) -> None:
    """The comparison compares something: some metadata by hand."""
    assert compare(tmp_path / "a.md", MARKDOWN["continued"]) == {
        "title": ["A title", "that goes on"],
        "date": compare(tmp_path / "b.md", "Date: 2024-01-01")["date"],  # type: ignore[index]  # a dictionary
        "authors": ["Ann"],
        "tags": ["a"],
    }
    assert compare(tmp_path / "a.md", MARKDOWN["bad date"]) == "ValueError"
    assert compare(tmp_path / "a.rst", RST["subtitle"])["title"] == "A title"  # type: ignore[index]  # a dictionary
    assert "date" not in compare(tmp_path / "a.rst", RST["two titles"])
    assert compare(tmp_path / "a.html", HTML["head in a comment"]) == {"title": "T", "slug": "s"}


@pytest.mark.parametrize("fields", [[], ["summary"], ["summary", "title"], ["title", "note"]])
def test_formatted_fields(tmp_path: Path, fields: list[str]) -> None:
    """A formatted title makes the slug, so it is formatted as Pelican does it; the summary never matters."""
    for name, source in (("a.md", "emphasis"), ("b.md", "duplicates"), ("c.md", "summary")):
        compare(tmp_path / name, MARKDOWN[source], FORMATTED_FIELDS=fields)
    compare(tmp_path / "a.rst", RST["markup in the title"], FORMATTED_FIELDS=fields)
    compare(tmp_path / "b.rst", RST["continued"], FORMATTED_FIELDS=fields)


LINES = st.sampled_from(
    [
        "Title: T",
        "Date: 2024-01-01",
        "---",
        "...",
        "",
        " ",
        "    more",
        "Tags: a, b",
        "tags: c",
        "Text",
        "Slug:",
        "\t",
        ":",
    ]
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_lines_of_markdown(tmp_path: Path, lines: list[str], end: str) -> None:
    """However metadata and text are mixed, the head says what Pelican finds."""
    logging.disable(logging.WARNING)
    try:
        compare(tmp_path / "a.md", end.join(lines))
    finally:
        logging.disable(logging.NOTSET)


RST_BLOCKS = st.sampled_from(
    ["T\n=", "Title\n=====", "Sub\n---", "=====\nTitle\n=====", ":date: 2024-01-01", ":slug: s\n:x: y", "Text.",
     ".. no", "* item", ":a:b: c", "::\n\n  code", "-----", ":open", "  indented"]
)  # fmt: skip


@given(st.lists(RST_BLOCKS, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_blocks_of_restructuredtext(tmp_path: Path, blocks: list[str]) -> None:
    """However titles, fields and text are mixed, what Pelican can read, the head says the same of."""
    logging.disable(logging.WARNING)
    file = tmp_path / "a.rst"
    configuration = read_settings(override={"PATH": str(tmp_path), "SITEURL": "https://example.org"})
    ours = Readers(configuration)
    replace_readers(ours)
    try:
        file.write_text("\n\n".join(blocks) + "\n")
        theirs = read(Readers(configuration), file)
        assert theirs in ("SystemMessage", read(ours, file))
    finally:
        logging.disable(logging.NOTSET)


def test_only_pelicans_own_readers_are_replaced(tmp_path: Path) -> None:
    """A plug-in's reader, or a reader of the settings, is used as it is."""
    from pelican.readers import MarkdownReader

    class Own(MarkdownReader):  # type: ignore[misc]  # Pelican carries no types
        """Somebody's reader of Markdown."""

        file_extensions = ()

    configuration = read_settings(
        override={"PATH": str(tmp_path), "SITEURL": "https://example.org", "READERS": {"md": Own, "html": None}}
    )
    readers = Readers(configuration)
    replace_readers(readers)
    assert type(readers.readers["md"]) is Own
    assert isinstance(readers.readers["markdown"], InMemoryReader)
    assert "html" not in readers.readers
    assert head_of(readers.readers["md"], b"Title: a\n\nText") == b"Title: a\n\nText"
