"""Excerpts: how a source begins, which is what a summary in a listing is made of, and what it refers to.

The text is not rendered, which takes a hundred times longer: the excerpt of a source is the part of its text from which
the first words of its page come. It is never less than that; it may be more. Markdown and reStructuredText are told
apart by their metadata alone: of either, what may be no words of the page is not counted.
"""

import html
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from urllib.parse import unquote

from pelican_resourcesync.site.definitions import definitions
from pelican_resourcesync.site.heads import end_of_html_head
from pelican_resourcesync.site.outline import LINK, TARGET

__all__ = ["CJK", "KINDS", "body", "definitions", "excerpt", "references", "summary"]

#: Characters of which each is a word, as Pelican counts words.
CJK = (
    "\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002f800-\U0002fa1f"
    "\u3040-\u30ff\u1100-\u11ff\uac00-\ud7ff\u3130-\u318f"
)
#: No more than Pelican counts as one word.
_WORD = rf"[{CJK}] | _*+[^\W_][\w'-]*+(?:(?:&\#?\w+;|\\[\s\S])[\w'-]*+)*+"
#: Directives of reStructuredText that show what is in them.
_BOXES = (
    "code|code-block|sourcecode|parsed-literal|epigraph|highlights|pull-quote|compound|container|topic|admonition"
    "|attention|caution|danger|error|hint|important|note|tip|warning"
)
#: What stands below a title: three of one sign or more.
_ADORNMENTS = "|".join(f"{re.escape(sign)}{{3,}}+" for sign in "-=`:.'\"~^_*+#")
#: What may make no word where it stands, at the beginning of a line: the number of an item, fields, fences, footnotes,
#: definitions of links and abbreviations, directives, comments, and titles with the line below them.
_LINES = rf"""
    [ \t]*+ (?:
        \(?(?:\d+|\#|[A-Za-z]|[ivxlcdmIVXLCDM]+)[.)](?=[ \t])
      | :[^:\n]+:(?=[ \t\n])[^\n]*+
      | (?:`{{3}}|~~~|:::|\#!|!!!|\?\?\?|__[ \t])[^\n]*+
      | \[\^[^\]\n]+\]:[^\n]*+ (?:\n(?![ \t]*\n)[^\n]++ | \n(?:[ \t]*\n)*+(?:\ {{4}}|\ {{0,3}}\t)[^\n]*+)*+
      | \*?\[[^\]\n]+\]\ ?:[ \t]*+ \n?[^\n]++ (?:\n[ \t]*["'(][^\n]*+)?
      | \.\.[ \t]+(?:{_BOXES})::[^\n]*+
    )
  | [ \t]*\.\.(?=[ \t\n])[^\n]*+ (?:\n[ \t]*(?=\n) | \n[ \t]+[^\n]*+)*+
  | [^\n]++\n(?:{_ADORNMENTS})[ \t]*(?=\n|\Z)
"""
#: And anywhere: comments, tags, images, where links lead to, footnotes, entities, roles, substitutions, attributes.
_MARKUP = rf"""
    <(?: !--(?:.*?-->|.*+) | \?(?:.*?\?>|.*+)
      | /?[A-Za-z](?:[^<>"']|"[^"]{{0,2000}}+"|'[^']{{0,2000}}+')*+> | (?:[^<>\n]|\n(?![ \t]*\n))*+> )
  | !\[(?:[^\[\]\n\\]|\\.|\n(?![ \t]*\n)|\[[^\[\]\n]*\])*+\] (?:{TARGET} | \ ?\[[^\[\]\n]*\])?
  | {LINK}
  | \[\^[^\]\n]*\]
  | &\#?\w+;
  | :[\w.+-]+:`[^`]*`
  | \|[^|\s](?:[^|\n]*[^|\s])?\|
  | \{{[%{{][^\n]{{0,300}}?[%}}]\}} | \{{[:.\#\s][^{{}}\n]*\}}
"""
#: More words than were asked for: a word of the source may be none of the page all the same.
_MARGIN = 5

#: Of Markdown: to a blank line, or one that is fenced off, as Python-Markdown knows it.
_META = re.compile(
    r"""
    (?: ---[^\n]*(?:\n|\Z) )?
    (?: (?!---)\ {0,3}[A-Za-z0-9_-]+:[^\n]*(?:\n|\Z) (?: (?:\ {4}|\ {0,3}\t)[^\n]*\S[^\n]*(?:\n|\Z) )* )*
    (?: (?:[^\S\n]*|(?:---|\.\.\.)[^\n]*)(?:\n|\Z) )?
    """,
    re.VERBOSE,
)
#: Of reStructuredText: a title and comments, and then fields.
_DOCINFO = re.compile(
    r"""
    (?: [ \t]*\n
      | (?: [!-/:-@[-`{-~]+[ \t]*\n )? (?!:|\.\.[ \t\n])[^\n]*\S[^\n]*\n [!-/:-@[-`{-~]+[ \t]*\n
      | \.\.(?:[ \t][^\n]*)?\n (?: [ \t]+[^\n]*\n | [ \t]*\n )*
    )*+
    (?: :(?![: ])(?:[^:\\\n]|\\.|:(?![ `\n]))+:(?:[ \t][^\n]*)?(?:\n|\Z) (?: [ \t]+\S[^\n]*(?:\n|\Z) | [ \t]*\n )*+ )+
    """,
    re.VERBOSE,
)
_QUOTED = r"""[^>"']|"[^"]*"|'[^']*'"""
#: To the next field, or to the end of the tag.
_SUMMARY = re.compile(
    r"^[ \t]*:?summary:.*?(?=^:?[\w-]+:|^[-.]{3}[ \t]*$|\Z)"
    rf"|<meta\b(?:{_QUOTED})*?\bname\s*=\s*[\"']?summary\b[\"']?(?:{_QUOTED})*+>",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
#: How a link to another source begins.
KINDS = ("filename", "attach", "static")
_REFERENCE = re.compile(rf"[{{|](?:{'|'.join(KINDS)})[|}}]")
#: How a path ends, by what it begins behind.
_PATHS = {'"': re.compile(r'[^"#?\n]+'), "'": re.compile(r"[^'#?\n]+"), "<": re.compile(r"[^<>#?\n]+")}
_PATH = re.compile(r"""(?:[^\s"'<>()#?]|\([^\s()]*\))+""")


def excerpt(text: str, words: int | None) -> str:
    """Give the beginning of a text from which its page's first words come: the whole text where `words` is `None`."""
    if words is None:
        return text
    found = _beginning(words + _MARGIN).match(text) if words else None
    return found[0] if found else text[: len(text) * bool(words)]


@cache
def _beginning(words: int) -> re.Pattern[str]:
    """Make the pattern of a text's first words and all before them: it is atomic, and never tries a word again."""
    between = rf"(?: ^(?:{_LINES}) | [ ,.;]++ | (?=[<!\[\]&:|{{]) (?:{_MARKUP}) | [\W_] )*+"
    return re.compile(rf"(?>{between}(?:{_WORD})){{{words}}}+", re.DOTALL | re.MULTILINE | re.VERBOSE)


def body(text: str, extension: str) -> str:
    """Give a source (of a format that is known by its file name's extension) without the metadata at its head."""
    if extension in ("html", "htm"):
        return text[end_of_html_head(text) :]
    found = (_DOCINFO if extension == "rst" else _META).match(text)
    return text[found.end() :] if found else text


def summary(head: str) -> str:
    """Give the text of the summary in the metadata at the head of a source, as it is written there."""
    return "".join(found[0] for found in _SUMMARY.finditer(head))


def references(text: str, source: str) -> Iterator[str]:
    """Give the paths (relative to Pelican's `PATH`) of the files that `source` links to, as `{filename}…` does."""
    if not any(kind in text for kind in KINDS):  # which most texts do not; to look for none takes longest
        return
    for match in _REFERENCE.finditer(text):
        found = _PATHS.get(text[match.start() - 1 : match.start()], _PATH).match(text, match.end())
        if found:
            path = unquote(html.unescape(found[0]))
            path = path.lstrip("/") if path.startswith("/") else posixpath.join(posixpath.dirname(source), path)
            yield posixpath.normpath(path)
