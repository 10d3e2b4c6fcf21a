"""Subjects: what pages may show of a content that was built, and how much of it one does."""

import html
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Any

from pelican_resourcesync.site.excerpt import CJK
from pelican_resourcesync.site.page import Page, key_of, squeezed, words_of
from pelican_resourcesync.site.text import UNSEEN

#: Metadata that no page shows.
_UNSEEN = UNSEEN - {"summary"}
#: What Pelican counts as a word.
_WORD = re.compile(rf"[{CJK}]|\w[\w'-]*")
#: So few first words of a content are on a page by chance.
_FEW = 5
#: A name of a content is longer.
_SHORT = 2
#: A value this long is on a page because the page shows it; a shorter one may be there, or not, by chance.
_TELLING = 12
#: A page that shows a longer value shows its beginning at least.
_BEGINNING = 40
#: The next few characters behind a summary may be those that stand on the page, such as dots.
_BY_CHANCE = 3
#: How far from the year of a date its day may stand on a page, in characters.
_NEAR = 40
_SHORT_DATES = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%y-%m-%d")


class Subject:
    """A content of Pelican's, as it may be seen."""

    def __init__(self, content: Any, uri: str, translations: Iterable[str] = ()) -> None:
        """Take the content, where it is published, and where its translations are."""
        self.content = content
        self.translations = frozenset(map(key_of, translations))
        self.uri = uri
        self.key = key_of(uri)

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """What its author wrote of it."""
        metadata = {"title": self.content.title, **self.content.metadata}
        return {name: value for name, value in metadata.items() if value and name not in _UNSEEN}

    @cached_property
    def title(self) -> str:
        """Its title, without blanks."""
        return squeezed(words_of(self.content.title))

    @cached_property
    def called(self) -> frozenset[str]:
        """What a link to it may be called: its title, or what else its author wrote of it."""
        texts = (value for value in self.metadata.values() if isinstance(value, str))
        return frozenset(squeezed(words_of(text)) for text in texts if len(text) > _SHORT)

    def stands_out(self, name: str) -> bool:
        """Tell whether it has metadata of this name, and what shows that is no page that shows its date alone."""
        value, date = self.metadata.get(name), getattr(self.content, "date", None)
        if isinstance(value, datetime) and isinstance(date, datetime):
            return value.date() != date.date()
        return value is not None

    def is_summed_up_on(self, page: Page) -> bool:
        """Tell whether a page shows the summary that its author wrote."""
        return "summary" in self.content.metadata and is_on(page, self.content.metadata["summary"])

    @property
    def is_short(self) -> bool:
        """Whether its text has so few words that these tell nothing."""
        return self._few == self._text

    @cached_property
    def count(self) -> int:
        """How many words its text has."""
        return len(_WORD.findall(self._spaced))

    def is_missing_on(self, page: Page) -> bool:
        """Tell whether a page has nothing of its text, though there is some."""
        return bool(self._text) and self._text not in page.text

    def words_on(self, page: Page) -> int | None:
        """Give how many of the first words of its text a page shows, `None` for all, as many more as there may be.

        Where the page shows Pelican's own summary, that is Pelican's own number. Else the theme may have counted
        characters, and another content may have more words in as many.
        """
        length = self._length_on(page)
        if length == len(self._text):
            return None
        if any(length <= len(name) and name.startswith(self._text[:length]) for name in self.called):
            return 0
        if 0 <= length - self._summed_up <= _BY_CHANCE:
            words: int | None = self.content.settings["SUMMARY_MAX_LENGTH"]
            return words
        return len(_WORD.findall(self._beginning(length))) * 5 // 4

    @cached_property
    def _spaced(self) -> str:
        with suppress(Exception):  # a plug-in's content may not be rendered a second time
            return words_of(self.content.content)
        return ""

    @cached_property
    def _text(self) -> str:
        return squeezed(self._spaced)

    @cached_property
    def _few(self) -> str:
        """The first words of its text, which are looked for on a page."""
        ends = [word.end() for word, _ in zip(_WORD.finditer(self._spaced), range(_FEW), strict=False)]
        return squeezed(self._spaced[: ends[-1]]) if len(ends) == _FEW else self._text

    @cached_property
    def _summed_up(self) -> int:
        """How many characters of its text Pelican's own summary has, without blanks; too many if it is none of it."""
        with suppress(Exception):  # a plug-in's content may have none
            suffix = squeezed(words_of(self.content.settings["SUMMARY_END_SUFFIX"]))
            summary = squeezed(words_of(self.content.summary)).removesuffix(suffix)
            if self._text.startswith(summary):
                return len(summary)
        return len(self._text) * 2

    def _length_on(self, page: Page) -> int:
        """Give how many of the first characters of its text stand on a page one after another."""
        at = page.text.find(self._few)
        longest = 0
        while at >= 0 and longest < len(self._text):
            longest = max(longest, _common(self._text, page.text, at))
            at = page.text.find(self._few, at + 1)
        return longest

    def _beginning(self, length: int) -> str:
        """Give the beginning of its text that has so many characters, blanks apart."""
        words = self._spaced.split(" ")
        for number, word in enumerate(words):
            if length <= len(word):
                return " ".join([*words[:number], word[:length]])
            length -= len(word)
        return self._spaced


def is_telling(value: Any) -> bool:
    """Tell whether a value is on no page by chance."""
    return not isinstance(value, str | int | float) or len(squeezed(words_of(value))) >= _TELLING


def is_on(page: Page, value: Any) -> bool:
    """Tell whether a page has a value of metadata on it."""
    if isinstance(value, list | tuple):
        return all(is_on(page, each) for each in value)
    if isinstance(value, datetime):
        return _is_date_on(page, value)
    text = str(value)
    return squeezed(words_of(value))[:_BEGINNING] in page.text or text in page.html or html.escape(text) in page.html


def _is_date_on(page: Page, date: datetime) -> bool:
    if any(date.strftime(form) in page.html for form in _SHORT_DATES):
        return True
    day = re.compile(rf"(?<!\d)0?{date.day}(?!\d)")
    years = (match.span() for match in re.finditer(str(date.year), page.html))
    return any(day.search(page.html, max(start - _NEAR, 0), end + _NEAR) for start, end in years)


def _common(text: str, other: str, at: int) -> int:
    """Give how many of the first characters of a text are those of another from a place on."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(text[:middle], at):
            low = middle
        else:
            high = middle - 1
    return low
