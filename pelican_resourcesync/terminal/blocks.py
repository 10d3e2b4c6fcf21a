"""Reports for people, as blocks of labelled lines with an empty line between two blocks."""

from collections.abc import Iterable, Sequence

from pelican_resourcesync.terminal.words import plain

#: Lines of text, each with its label; the label of a continuation line is empty.
Block = list[tuple[str, str]]


def as_text(blocks: Iterable[Block]) -> str:
    """Return the blocks as text, without control characters."""
    return "\n\n".join("\n".join(_line(*row) for row in each) for each in blocks)


def listed(name: str, texts: Sequence[str]) -> Block:
    """Return a line for each text, of which only the first is labelled."""
    return [("" if number else name, text) for number, text in enumerate(texts)]


def _line(name: str, text: str) -> str:
    return f"{name + ':' if name else '':<14} {plain(text)}"
