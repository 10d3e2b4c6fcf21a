"""The headers of a response."""

import re
from collections.abc import Iterable, Sequence

_FIELD = re.compile(r"^([^\s:]++):[ \t]*+([^\n]*+)", re.MULTILINE)
_FOLDED = re.compile(r"[ \t\r]*+\n[ \t]++")


class Headers:
    """The headers of a response by name, in upper or lower case; they are parsed when the first is asked for.

    The parser of e-mail, which the standard library uses, takes most of the time of a small response.
    """

    __slots__ = ("_lines", "_values")

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        """Take the lines as they came, without the status line; those that are no headers are left out."""
        self._lines = lines
        self._values: dict[str, list[str]] | None = None

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a header."""
        found = self._parsed().get(name.lower())
        return found[0] if found else default

    def get_all(self, name: str) -> Sequence[str]:
        """Return all values of a header."""
        return self._parsed().get(name.lower(), ())

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parsed()

    @property
    def media_type(self) -> str:
        """The media type without its parameters, in lower case; empty if there is none, or none that can be read."""
        text = self.get("Content-Type").partition(";")[0].strip().lower()
        return text if text.count("/") == 1 else ""

    def _parsed(self) -> dict[str, list[str]]:
        if self._values is not None:
            return self._values
        text = b"".join(self._lines).decode("latin-1")
        if "\n " in text or "\n\t" in text:
            text = _FOLDED.sub(" ", text)
        values: dict[str, list[str]] = {}
        for name, value in _FIELD.findall(text):
            values.setdefault(name.lower(), []).append(value.rstrip())
        self._values = values
        return values
