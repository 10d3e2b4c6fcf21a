"""Outlines: of the block of text that an excerpt breaks off in, what has a say in how its beginning is shown.

A line of dashes makes a title of what is above it, and the bracket that closes a link says where that leads. The words
are left out: they are shown behind.
"""

import re
from collections.abc import Iterable, Iterator

#: Of a link in Markdown: where it leads, with its title; and that, or its name, with the bracket before.
TARGET = r"\((?:[^()\n\\]|\\.|\n(?![ \t]*\n)|\([^()\n]*\))*+\)"
LINK = rf"\](?:{TARGET}|\ ?\[[^\[\]\n]*\])"

_FENCE = re.compile(r"\n[ \t]*(?:`{3}|~~~)[^\n]*")
_INDENTED = re.compile(r"[^\n]*(?:\n(?:[ \t]*(?=\n|\Z)|(?:[ ]{2}|\t)[^\n]*))*")
#: To a blank line.
_BLOCK = re.compile(r"[^\n]*(?:\n(?![ \t]*(?:\n|\Z))[^\n]*)*")
#: What in a block is more than its words.
_MARKUP = re.compile(
    rf"""
    {LINK} | <[^<>]*> | \s?\{{[^{{}}\n]*\}} | \\[^\w\s]
  | (?<=\n)(?: [^\w\n]+(?=\n|\Z) | \ {{0,3}}:[ \t] | [ \t]+ )
  | \s?(?: [*`|~^\[]+ | (?!{LINK})\] | (?<!\w)_+ | _+(?!\w) )+\s?
    """,
    re.VERBOSE,
)
#: What all of that has some of.
_ANY = re.compile(r"[\]\[<{\\*`|~^_]|\n[^\w*]")
_BLANK = re.compile(r"\n(?:[ \t]*\n)*")
#: How a line begins: its indentation, and what makes it an item of a list or something else that is no paragraph.
_BEGINNING = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<item>[-*+•]|\(?(?:\d+|#|[A-Za-z]|[ivxlcdm]+)[.)])(?=\s)|(?P<mark>[^\w\s]{1,2}))?"
)


def outline(part: str, rest: str) -> Iterator[str]:
    """Give what in the rest of a text has a say in how the block is shown that a part of it breaks off in.

    That is all of the block where it is code, or may be. A part that does not end with a word breaks off in none.
    """
    if not rest or part[-1:] in ("", "\n", ">"):
        return
    fence = _FENCE.search(rest) if len(_FENCE.findall(f"\n{part}")) % 2 else None
    if fence:
        yield rest[: fence.end()]
        return
    if part[part.rfind("\n") + 1 :].startswith(("  ", "\t")):
        yield rest[: _end(_INDENTED, rest)]
    end = _end(_BLOCK, rest)
    if _ANY.search(rest, 0, end):
        yield from (match[0] for match in _MARKUP.finditer(rest, 0, end))
    yield _beginning(rest, _end(_BLANK, rest, end))
    if _is_in_list(part):
        yield from sorted(set(_items(rest.split("\n")[1:])))


def _end(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    """Give where that ends which a pattern finds at a place, if it does."""
    found = pattern.match(text, start)
    return found.end() if found else start


def _beginning(text: str, start: int = 0) -> str:
    """Give how a line begins, whatever the number of an item."""
    found = _BEGINNING.match(text, start)
    return re.sub(r"\w+", "1", found[0]) if found else ""


def _is_in_list(part: str) -> bool:
    """Tell whether the last line of a part that is not indented is an item of a list."""
    line = next((line for line in reversed(part.split("\n")) if line[:1].strip()), "")
    found = _BEGINNING.match(line)
    return found is not None and found["item"] is not None


def _items(lines: Iterable[str]) -> Iterator[str]:
    """Give how the lines of a list begin, and which come after a blank one: what is loose is shown otherwise."""
    after = ""
    for line in lines:
        if not line.strip():
            after = "after "
            continue
        found = _BEGINNING.match(line)
        if after and not line[0].isspace() and not (found and found["item"]):
            return
        yield after + _beginning(line)
        after = ""
