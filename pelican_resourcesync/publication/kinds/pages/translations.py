"""The words of the HTML pages in English, German, French and Japanese; English texts are the keys."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from importlib.resources import files

#: The languages besides English; each has a catalog in the folder `languages`.
TRANSLATED = ("de", "fr", "ja")

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_DATES = {"en": "{day} {month} {year}", "de": "{day}. {month} {year}", "fr": "{day} {month} {year}"}
#: What separates thousands, and decimals.
_MARKS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ","), "ja": (",", ".")}
_UNITS = {"fr": ("octets", "ko", "Mo", "Go", "To")}
_STEP = 1000


@dataclass(frozen=True, slots=True)
class Language:
    """One of the languages of the pages: how it writes texts, numbers, sizes and dates."""

    code: str = "en"
    catalog: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tag: str) -> "Language":
        """Return the language for a tag such as `de-AT`, or English if the pages are not translated into it."""
        code = tag.replace("_", "-").partition("-")[0].lower()
        if code not in TRANSLATED:
            return cls()
        catalog = files(__package__) / "languages" / f"{code}.json"
        return cls(code, json.loads(catalog.read_text("utf-8")))

    def text(self, english: str) -> str:
        """Return the translation of an English text."""
        return self.catalog.get(english, english)

    def number(self, number: float, digits: int = 0) -> str:
        """Return a number with so many decimals."""
        thousands, decimal = _MARKS[self.code]
        whole, _, rest = f"{number:,.{digits}f}".partition(".")
        return whole.replace(",", thousands) + (f"{decimal}{rest}" if rest else "")

    def size(self, number: int) -> str:
        """Return a number of bytes in a readable unit."""
        size, unit = float(number), 0
        units = _UNITS.get(self.code, ("bytes" if self.code == "en" else "Byte", "kB", "MB", "GB", "TB"))
        while size >= _STEP and unit < len(units) - 1:
            size, unit = size / _STEP, unit + 1
        return f"{self.number(size, 1 if unit else 0)}\u00a0{units[unit]}"

    def date(self, moment: datetime) -> str:
        """Return the day of a moment, in UTC."""
        day = moment.astimezone(UTC)
        if self.code == "ja":
            return f"{day.year}年{day.month}月{day.day}日"
        month = _MONTHS[self.code].split()[day.month - 1]
        number = "1er" if (self.code, day.day) == ("fr", 1) else day.day
        return _DATES[self.code].format(day=number, month=month, year=day.year)

    def period(self, begin: datetime, end: datetime) -> str:
        """Return an interval: a calendar month, a day, or the first and the last day."""
        start = begin.astimezone(UTC)
        if start.day == 1 and end == (start + timedelta(days=31)).replace(day=1) and start.time() == time():
            if self.code == "ja":
                return f"{start.year}年{start.month}月"
            return f"{_MONTHS[self.code].split()[start.month - 1]} {start.year}"
        first, last = self.date(begin), self.date(end)
        return first if first == last else f"{first} \N{EN DASH} {last}"
