"""Excerpts: no change of a summary is missed, with Pelican's own summaries as the witness."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pelican.contents import Article
from pelican.readers import Readers
from pelican.settings import read_settings

from pelican_resourcesync.site.contents import quiet_reading
from pelican_resourcesync.site.definitions import definitions
from pelican_resourcesync.site.excerpt import body, excerpt, references, summary
from pelican_resourcesync.site.outline import outline
from tests.site.support import SITEURL

#: How many words of the source an excerpt has more than were asked for.
MORE = 5


def words(count: int) -> str:
    """Give some words."""
    return " ".join(f"word{number}" for number in range(count))


def test_excerpt_of_plain_words() -> None:
    """Some words more than were asked for; all of a shorter text; nothing, or all, where that is asked for."""
    text = f"{words(40)}.\n"
    assert excerpt(text, 5) == words(5 + MORE)
    assert excerpt(text, 40 - MORE) == words(40)
    assert excerpt(text, 41 - MORE) == text
    assert excerpt(text, 0) == ""
    assert excerpt(text, None) == text
    assert excerpt("", 5) == ""


def test_each_character_of_some_scripts_is_a_word() -> None:
    """As it is for Pelican: Chinese, Japanese and Korean put no blanks between words."""
    assert excerpt("日本語テ。한국어이다.中文" * 3, 3) == "日本語テ。한국어이"
    assert excerpt(f"日本 a語b 語c {words(20)}", 3) == f"日本 a語b 語c {words(3)}"


@pytest.mark.parametrize(
    "vain",
    [
        "<!-- a comment of some words -->",
        "<!-- of two\n\n lines -->",
        '<img alt="not seen > at all" src="x">',
        "<https://example.org/a/b>",
        "![not seen [at] all](image.png)",
        "![not\nseen](image_(1).png 'no title')",
        "![not seen][image]",
        "](https://example.org 'no title')",
        "][name of it]",
        "&mdash; &#8217; &nbsp;",
        "[^note of it]",
        "{: .a .b } {% tag of it %}",
        "|name of it|",
        ":math:`a b c`",
        "\n1. ",
        "\n  (iv) ",
        "\n[a]: https://example.org 'a title'\n",
        "\n[a]:\n  https://example.org\n  'a title'\n",
        "\n*[HTML]: no more than a language\n",
        "\n[^1]: a footnote\nof two lines\n\n    and another\n\n",
        "\n```{.python hl_lines='1 2'}\n",
        "\n.. a comment\n   of some words\n\n   of some more\n\n",
        "\n.. image:: a.png\n   :alt: not seen\n",
        "\n.. code-block:: python\n   :linenos: table\n\n",
        "\n.. _a name: https://example.org\n",
        "\n__ https://example.org\n",
        "\n:a field: not in the text\n",
        "\nA title\n-------\n",
    ],
)
def test_what_makes_no_word_is_not_counted(vain: str) -> None:
    """It may stand as often as it likes: what comes behind is in the excerpt."""
    assert excerpt(f"one {vain * 9}\n\n{words(40)}", 5).endswith(f"\n{words(4 + MORE)}")


@pytest.mark.parametrize(
    "text", ["[a](", "<!-- ", "![", "<a b='", "`", ":a", "{{", "|a", "a&", "..\n ", "1\n=\n", "<a "]
)
def test_what_is_not_closed_is_no_trouble(text: str) -> None:
    """The excerpt is a beginning of the text all the same, in no time."""
    for long in (text * 9 + words(40), text * 3000):
        assert long.startswith(excerpt(long, 5))
        definitions(excerpt(long, 5), long)


@pytest.mark.parametrize(
    ("extension", "head", "text"),
    [
        ("md", "Title: a\nTags: b\n    c\n\tSummary: d\n\n", "Text: a\n\nb: c\n"),
        ("md", "---\ntitle: a\n---\n", "Text: a\n"),
        ("md", "---\ntitle: a\n...\n", "Text: a\n"),
        ("md", "---\ntitle: a\n\n", "Text\n---\nb\n"),
        ("markdown", "---- \n title: a\n", "Text\n\nb\n"),
        ("md", "Title: a\n", "Text that follows\nwithout a blank line\n"),
        ("md", "Title: a", ""),
        ("md", "\n", "Text\n"),
        ("md", "", "Text\n"),
        ("md", "", ""),
        ("rst", "A title\n#######\n\n:date: 2024-01-01\n:tags: a,\n    b\n\n", "Text\n\n:c: d\n"),
        ("rst", "###\n T\n###\n\nSub\n***\n\n.. a comment\n   of two lines\n\n:date: 2024-01-01\n\n", "- a\n"),
        ("rst", ":title: a\n:summary: b\n\n   c\n\n", "Text\n"),
        ("rst", ":title: a\n:date: b", ""),
        ("rst", "", "A title\n#######\n\nText of a source without fields.\n\n:a: field\n"),
        ("html", "<html><head><title>a</title>", "</head><body>Text.</body></html>"),
        ("htm", "", "<body>Text.</body>"),
    ],
)
def test_body(extension: str, head: str, text: str) -> None:
    """What comes behind the metadata, by the rules of each format."""
    assert body(head + text, extension) == text


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("Title: a\nSummary: b\n    c\nTags: summary: d\n", "Summary: b\n    c\n"),
        ("Summary: a\nTags: b\nSummary: c\n", "Summary: a\nSummary: c\n"),
        ("---\ntitle: a\nsummary: b\n---\n", "summary: b\n"),
        (":title: a\n:summary: b\n\n   c\n\n:tags: d\n", ":summary: b\n\n   c\n\n"),
        (
            "<meta name='tags' content='a'>\n<meta name=\"Summary\" content='a > b' />",
            "<meta name=\"Summary\" content='a > b' />",
        ),
        ("<meta content='a > b' name=summary><meta name='a' content='summary'>", "<meta content='a > b' name=summary>"),
        ("Title: a\nTags: b\n", ""),
        ("", ""),
    ],
)
def test_summary(head: str, found: str) -> None:
    """The summary of its own that a source has in its metadata, all of it."""
    assert summary(head) == found


@pytest.mark.parametrize(
    ("part", "rest", "found"),
    [
        ("The [link] is\n", "[other]: b\n[Link]: a\n", "[Link]: a"),
        ("[a][the\nlink].\n", "x\n\n[The link]:\n  b\n  'title'\n[c]: d", "[The link]:\n  b\n  'title'"),
        ("More HTML.\n", "*[CSS]: Sheets\n*[HTML]: Language", "*[HTML]: Language"),
        ("A [link", " of words][that]\n\n[that]: b\n", "][that]\n[\n[that]: b"),
        ("A note[^1].\n", "[^2]: b\n    c\n\n[^1]: a", "[^2]:\n[^1]:"),
        ("See link_.\n", ".. _other: a\n.. _Link: b\n   /c\n", ".. _Link: b\n   /c"),
        ("See `the link`_.\n", ".. _The Link: a_\n.. _b: /b\n.. _a: /a", ".. _The Link: a_\n.. _a: /a"),
        ("See it_.\n", "Or `it </a>`_, `that </b>`_.\n", "`it </a>`_"),
        ("|A| it.\n", ".. |b| replace:: c\n.. |a| image:: d\n   :alt: e\n\nf\n", ".. |a| image:: d\n   :alt: e"),
        ("A [#]_.\n", ".. [1] a\n.. [#] b\n.. [#c] d\n", ".. [1]\n.. [#]\n.. [#c]"),
        ("See it__.\n", "A\n\n__ /a\n.. __: /b\n", "__ /a\n.. __: /b"),
        ("A\n\n.. [1] A note\n", "See [1]_ or [2]_.", "[1]_\n[2]_"),
        (".. contents::\n\n", "A\n===\n\na\n\nB\n---\n\nb\n", "A\n===\nB\n---"),
        ("[TOC]\n", "# A\n\na\n\n## B", "# A\n## B"),
        ("A\n", "B\n\n.. sectnum::\n   :depth: 1\n\nC\n", ".. sectnum::\n   :depth: 1"),
        ("A\n", "B [c](d)\n\n[e]: f\n.. _g: h\n", ""),
        ("A\n", "", ""),
    ],
)
def test_definitions(part: str, rest: str, found: str) -> None:
    """Where the links of a part lead, how its notes are numbered: what a whole part may take from the rest."""
    assert definitions(part, rest) == found


@pytest.mark.parametrize(
    ("part", "rest", "found"),
    [
        ("A [link", " of words](/a) and *more* of it.\n\nB [c](d)\n", ["](/a)", " *", "* ", ""]),
        ("A **word", " or\ntwo** of snake_case_ and `code`\n  - it\n", ["** ", "_ ", " `", "`\n", "  ", ""]),
        ("A [link", " a_](/b) [c] [d][e]", ["_", "](/b)", " [", "] [d]", "[", "]", ""]),
        ("A `link", " of words\n<https://example.org>`_.", ["<https://example.org>", "`_", ""]),
        ("A title", " of words\n============\n\n# A", ["============", "#"]),
        ("A word", " of more\n:   Defined.\n{: .a }\n", [": ", "\n{: .a }", ""]),
        ("A head", "er | b\n--- | ---\na | b", [" | ", "--- | ---", " | ", ""]),
        ("A word", " of more.\n\n\n    Code\n", ["    "]),
        ("A word", " of more.\n\n1. An item\n", ["1."]),
        ("- An item", " of it\n- another\n\n  of two\n- a third\n\nText\n", ["  ", "-", "after   "]),
        ("1. An item", " of it\n2. another\n\n10. a third\n\n11. more", ["1.", "1.", "after 1."]),
        ("```\ncode", " of it\n\n*more*\n```\ntext\n", [" of it\n\n*more*\n```"]),
        ("```\ncode", " of it\n\n*more*\n", ["*"]),
        ("Text\n\n    code", " of it\n\n    more\ntext\n", [" of it\n\n    more", "    "]),
        ("Text.\n", "*More*", []),
        ("<meta name='summary'>", "*More*", []),
        ("Text", "", []),
    ],
)
def test_outline(part: str, rest: str, found: list[str]) -> None:
    """Of the block that a part breaks off in, all but the words: the ends of links, what makes a title or a list."""
    assert list(outline(part, rest)) == found


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (
            "[a]({filename}b.md) [c]({static}/d_(e).png 'f') ![g]({attach}../h.png#i?j)",
            ["x/b.md", "d_(e).png", "h.png"],
        ),
        ("`a <|filename|/b.rst>`_ {filename}c%20d.md.", ["b.rst", "x/c d.md."]),
        ('<a href="{filename}/a b (c).md#d"> <a href=\'{static}e"f&amp;g.png\'>', ["a b (c).md", 'x/e"f&g.png']),
        ("[a](<{filename}/b c.md>)", ["b c.md"]),
        ("[a]: {filename}/../b.md\n", ["../b.md"]),
        ("{filename} {tag}a {index} filename", []),
    ],
)
def test_references(text: str, paths: list[str]) -> None:
    """The files that a source links to, however it is written."""
    assert list(references(text, "x/y.md")) == paths


class Witness:
    """Real Pelican, which reads one source after another."""

    def __init__(self, folder: Path) -> None:
        """Take a folder to write to."""
        base = {"PATH": str(folder), "SITEURL": SITEURL, "TIMEZONE": "UTC", "PLUGINS": [], "CACHE_CONTENT": False}
        self._settings = read_settings(override=base)
        self._readers = Readers(self._settings)
        self._folder = folder

    def summary(self, source: str, extension: str, count: int) -> str:
        """Give the summary of so many words that Pelican makes of a source."""
        self._settings["SUMMARY_MAX_LENGTH"] = count
        name = f"a.{extension}"
        (self._folder / name).write_text(source, "utf-8")
        context: dict[str, Any] = {"generated_content": {}, "static_content": {}}
        with quiet_reading():
            return str(self._readers.read_file(str(self._folder), name, Article, context=context).summary)


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Witness:
    """Give the witness."""
    return Witness(tmp_path_factory.mktemp("sources"))


def shown(source: str, extension: str, count: int) -> tuple[str, ...]:
    """Give our word for what a page shows of a source of which it shows the summary."""
    text = body(source, extension)
    beginning = excerpt(text, count)
    own = summary(source[: len(source) - len(text)])
    return (own and own + definitions(own, text, whole=True), beginning, definitions(beginning, text[len(beginning) :]))


VOCABULARY = (
    "one two six HTML it's well-known snake_case a.b/c café 日本語 中文字abc 한국어 caf&eacute;s &mdash; don\\'t "
    "\\*star x_ 2024 — __ e.g. foo\\_bar < gamma_ alpha"
)
WORDS = st.lists(st.sampled_from(VOCABULARY.split()), min_size=1, max_size=12).map(" ".join)


def filled(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Fill each `@` of a template."""
    return st.tuples(*parts).map(
        lambda found: "".join(a + b for a, b in zip(template.split("@"), (*found, ""), strict=True))
    )


def one_of(templates: str, part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Take one of some templates, which stand one on a line, with `/` for the ends of their own lines."""
    found = [line.replace("¶", "\n") for line in templates.strip("\n").split("\n")]
    return st.one_of(*(filled(each, *[part] * each.count("@")) for each in found))


def texts(inline: str, blocks: str, lines: str) -> st.SearchStrategy[str]:
    """Give blocks of text."""
    line = st.lists(st.one_of(WORDS, one_of(inline, WORDS)), min_size=1, max_size=4).map(" ".join)
    return st.one_of(line, one_of(blocks, WORDS), one_of(lines, line))


MARKDOWN = texts(
    inline=r"""
*@*
_@_
**@**
`@`
``@``
[@](/1)
[@](http://example.org/a_(b) "@")
[@](<http://example.org/a b> '@')
[@][a]
[@][the link]
[a] [The¶link][]
![@](/1)
![@¶@](/2)
![@][a]
[![@](/1)](/2)
[^1]
[^note]
<https://example.org/@>
<span title="@">@</span>
<!-- @ -->
<br>
{: .a }
""",
    blocks=r"""
# @ #
@¶===
> @¶> @
```¶@¶¶@¶```
~~~ {.python}¶[a]: /1¶~~~
    import os¶    @
    :::python¶    @
@ | @¶--- | ---¶@ | @
___
<div class="@">¶@¶</div>
<!-- @¶¶@ -->
<img alt="@ @ @" src="/1">
<script>@</script>
[a]: /1
[a]: /2 "@"
[the link]: /1¶  '@ @'
*[HTML]: @
[^1]: @¶@¶¶    @
[^note]: @ @ @
""",
    lines=r"""
- @¶- @
- @¶¶- @
1. @¶2. @
- @¶¶    @¶¶- @
@¶:   @
@¶{: .lead }
## @ {#id}
""",
)

RESTRUCTURED = texts(
    inline=r"""
*@*
**@**
``@``
`@ </1>`__
alpha_
`The link`_
`the¶link`_
gamma_
|sub|
|img|
[1]_
[#n]_
[CIT]_
:emphasis:`@`
`@`
http://example.org/a?b=c&d
""",
    blocks=r"""
> @
A title¶=========
Another¶-------
.. code-block:: python¶¶   @¶¶   @
::¶¶  @
.. note:: @¶¶   @
.. raw:: html¶¶   <div title="@">@</div>
.. @¶   @ @
..¶   @¶¶   @
.. image:: /1¶   :alt: @ @
.. figure:: /1¶¶   @
.. contents::
.. sectnum::
.. class:: a
#. @¶#. @
:field: @¶:other: @
=== ===¶a   b¶=== ===
""",
    lines=r"""
- @
@¶   @
""",
)
#: What the sources in reStructuredText refer to: each in one of some forms.
CLOSING = st.tuples(
    st.sampled_from([".. _alpha: /1", ".. _alpha: /2", ".. _alpha: gamma_"]),
    st.sampled_from([".. _the link: /1", ".. _The Link:¶   /2", ".. _the link: alpha_"]),
    st.sampled_from(["Or `gamma </1>`_.", "Or `gamma¶</2>`_."]),
    st.sampled_from([".. |sub| replace:: one", ".. |sub| replace:: one¶   two"]),
    st.sampled_from([".. |img| image:: /1", ".. |img| image:: /1¶   :alt: one"]),
    st.sampled_from([".. [1] One", ".. [1] Two", ".. [#] Two¶.. [1] One"]),
    st.sampled_from([".. [#n] Note", ".. [#m] More¶.. [#n] Note"]),
    st.sampled_from([".. [CIT] Cited", ".. [CIT] Again"]),
).map(lambda found: [each.replace("¶", "\n") for each in found])

HTML = texts(
    inline='<b>@</b>\n<a href="/1" title="a > @">@</a>\n<!-- @ -->\n<img alt="@" src="/1">\n<br/>',
    blocks="<p>@</p>\n<script>if (a && b) { @ }</script>\n<div>@</div>\n<!-- @¶¶@ -->",
    lines="<p>@</p>\n<ul><li>@</li></ul>",
)


#: The texts of a source before and after an edit.
Edit = tuple[list[str], list[str]]


@st.composite
def edits(draw: st.DrawFn, block: st.SearchStrategy[str], signs: str) -> Edit:
    """Give the blocks of a text before and after one came, went, or became another, or some of its characters did."""
    before = draw(st.lists(block, min_size=1, max_size=8))
    at = draw(st.integers(0, len(before)))
    old, new = before[at : at + draw(st.integers(0, 1))], draw(st.lists(block, max_size=1))
    if old and signs and draw(st.booleans()) and not old[0].startswith(("<", "[", "*[", "..")):
        start = draw(st.integers(0, len(old[0])))
        end = start + draw(st.integers(0, 2))
        new = [old[0][:start] + draw(st.sampled_from(signs)) + old[0][end:]]
    return before, [*before[:at], *new, *before[at + len(old) :]]


@st.composite
def closed(draw: st.DrawFn, edit: st.SearchStrategy[Edit]) -> Edit:
    """Give an edit with what the texts refer to at their end, which may be what was edited."""
    before, after = draw(edit)
    closing = draw(CLOSING)
    if draw(st.booleans()):
        return [*before, *closing], [*after, *closing]
    return [*before, *closing], [*before, *draw(CLOSING)]


def check(witness: Witness, extension: str, head: str, edit: Edit, count: int) -> None:
    """Hold our word against Pelican's."""
    before, after = (f"{head}\n\n" + "\n\n".join(blocks) + "\n" for blocks in edit)
    try:
        summaries = {witness.summary(each, extension, count) for each in (before, after)}
    except Exception:  # noqa: BLE001 - docutils raises what it likes of a source that it cannot read
        summaries = set()
    assume(summaries)
    if len(summaries) > 1:
        assert shown(before, extension, count) != shown(after, extension, count)


@given(edits(MARKDOWN, "*_`[]()<>|:-=# \n\\!{}"), st.integers(1, 20))
def test_no_change_of_a_summary_in_markdown_is_missed(witness: Witness, edit: Edit, count: int) -> None:
    """Whenever Pelican's own summaries of two sources differ, so do our excerpts."""
    check(witness, "md", "Title: a", edit, count)


@given(closed(edits(RESTRUCTURED, "*_`|:-=. \n\\")), st.integers(1, 20))
def test_no_change_of_a_summary_in_restructuredtext_is_missed(witness: Witness, edit: Edit, count: int) -> None:
    """Nor there."""
    check(witness, "rst", "T\n###\n\n:date: 2024-01-01", edit, count)


@given(edits(HTML, ""), st.integers(1, 20))
def test_no_change_of_a_summary_in_html_is_missed(witness: Witness, edit: Edit, count: int) -> None:
    """Nor there."""
    check(
        witness,
        "html",
        "<html><head><title>a</title></head><body>",
        (edit[0] + ["</body>"], edit[1] + ["</body>"]),
        count,
    )
