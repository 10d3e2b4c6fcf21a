"""Definitions: what in the rest of a text has a say in how a part of it is shown, such as where its links lead."""

import re
from collections.abc import Iterator

from pelican_resourcesync.site.outline import outline

#: Of links, images, abbreviations and substitutions, with the lines that belong to them. Not of footnotes: their text
#: is shown elsewhere.
_DEFINITION = re.compile(
    r"""\n(?:
        \ {0,3}\*?\[(?P<label>(?!\^)[^\[\]\n]+)\]\ ?:[^\n]*(?:(?<=:)\n[^\n]+)?(?:\n[ \t]*["'(][^\n]*)?
      | [ \t]*\.\.[ \t]+(?: _(?!_:)(?P<target>`[^`]+`|(?:[^:\n\\]|\\.)+): | \|(?P<name>[^|\n]+)\| )
        [^\n]* (?:\n[ \t]+\S[^\n]*)*
    )""",
    re.VERBOSE,
)
#: A link of reStructuredText that others may repeat by its name.
_PHRASE = re.compile(r"`(?P<name>[^`<>]+)<[^`<>]+>`_")
_HEADING = r"\n#[^\n]*|\n[^\n]+\n([-=`:.'\"~^_*+#])\1{2,}[ \t]*(?=\n|\Z)"
#: What is numbered, or listed, through the whole of a text: how a part has it, and what in the rest has a say in it.
_COUNTED = [
    (there, re.compile(rest))
    for there, rest in (
        ("[^", r"\[\^[^\]\n]+\]:?"),
        ("]_", r"\n[ \t]*\.\.[ \t]+\[[^\]\n]*\]"),
        ("__", r"\n[ \t]*(?:__[ \t]|\.\.[ \t]+__:)[^\n]*(?:\n[ \t]+\S[^\n]*)*"),
        (".. [", r"\[[^\]\s]+\]_"),
        (".. contents::", _HEADING),
        ("[TOC]", _HEADING),
        ("", r"\n\.\. sect[^\n]*(?:\n[ \t]+\S[^\n]*)*"),
    )
]


def definitions(part: str, rest: str, *, whole: bool = False) -> str:
    """Give what in the rest of a text has a say in how a part of it is shown, which may be a `whole` of its own."""
    after = f"\n{rest}"
    unfinished = [] if whole else list(outline(part, rest))
    part = " ".join([part, *unfinished])
    return "\n".join(each.strip("\n") for each in (*unfinished, *_named(part, after), *_counted(part, after)))


def _named(part: str, after: str) -> Iterator[str]:
    """Give the definitions of what a part names, and of what these name again."""
    left = list(_defined(after))
    text = part
    while left and text:
        text = _folded(text)
        found = [each for each in left if each[0] in text]
        left = [each for each in left if each not in found]
        yield from (definition for _, definition in found)
        text = " ".join(definition for _, definition in found)


def _defined(after: str) -> Iterator[tuple[str, str]]:
    """Give each definition with its name. To look for what most texts lack costs more than to see that they do."""
    if "]:" in after or "] :" in after or "\n.. " in after:
        yield from ((_folded(match[match.lastgroup or 0]), match[0]) for match in _DEFINITION.finditer(after))
    if ">`_" in after:
        yield from ((_folded(match["name"]), match[0]) for match in _PHRASE.finditer(after))


def _folded(name: str) -> str:
    return " ".join(name.strip("`").casefold().split())


def _counted(part: str, after: str) -> Iterator[str]:
    for there, rest in _COUNTED:
        if there in part:
            yield from (match[0] for match in rest.finditer(after))
