"""The words in which two states of a page differ, for people."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from operator import eq

from pelican_resourcesync.content.page import Page

_MOST_PAIRS = 40_000  # of blocks or words that are compared; more are shown as replaced
_AROUND = 4  # words
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def changed_words(before: Page, now: Page, longest: int = 600) -> tuple[tuple[str, str], ...]:
    """Return how the title and the text of a page changed, in at most so many characters.

    These are words from before, with a `-`, words of now, with a `+`, and with a space, some that are around them.
    """
    found: list[tuple[str, str]] = []
    left = longest
    for sign, text in _changed(_lines(before), _lines(now)):
        found.append((sign, text if len(text) <= left else f"{text[:left]}{_ELLIPSIS}"))
        left -= len(text)
        if left <= 0:
            break
    return tuple(found)


def _lines(page: Page) -> Sequence[str]:
    return page.blocks if page.title in page.blocks else (page.title, *page.blocks)


def _changed(before: Sequence[str], now: Sequence[str]) -> Iterator[tuple[str, str]]:
    for old, new, is_same in _compared(before, now):
        if not is_same:
            words = [*_compared(" ".join(old).split(), " ".join(new).split())]
            for number, (gone, come, stays) in enumerate(words):
                if stays:
                    yield " ", _shortened(come, is_first=number == 0, is_last=number == len(words) - 1)
                    continue
                yield from ((sign, " ".join(part)) for sign, part in (("-", gone), ("+", come)) if part)


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    """Yield the parts of two sequences side by side, and whether they are the same."""
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    was, now = (part[first : len(part) - last] for part in (old, new))
    if first:
        yield old[:first], new[:first], True
    if len(was) * len(now) > _MOST_PAIRS:
        yield was, now, False
    else:
        for kind, begin, end, from_, to in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            yield was[begin:end], now[from_:to], kind == "equal"
    if last:
        yield old[-last:], new[-last:], True


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many parts at the beginning are the same."""
    return sum(takewhile(bool, map(eq, old, new)))


def _shortened(words: Sequence[str], *, is_first: bool, is_last: bool) -> str:
    """Return words that stay, without those that are far from what differs."""
    before = [] if is_first else words[:_AROUND]
    after = [] if is_last else words[-_AROUND:]
    if len(words) <= len(before) + len(after):
        return " ".join(words)
    return " ".join([*before, _ELLIPSIS, *after])
