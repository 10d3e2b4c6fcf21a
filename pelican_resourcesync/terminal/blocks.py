"""Blocks: a report for people in lines that have names, with an empty line between two blocks."""

from collections.abc import Iterable, Sequence

from pelican_resourcesync.terminal.words import plain

#: Lines of text, each with a name, or none where it goes on.
Block = list[tuple[str, str]]


def as_text(blocks: Iterable[Block]) -> str:
    """Give blocks as text, in which nothing is a command to a terminal."""
    return "\n\n".join("\n".join(_line(*row) for row in each) for each in blocks)


def listed(name: str, texts: Sequence[str]) -> Block:
    """Give lines of which the first has a name, which goes for all."""
    return [("" if number else name, text) for number, text in enumerate(texts)]


def _line(name: str, text: str) -> str:
    return f"{name + ':' if name else '':<14} {plain(text)}"
