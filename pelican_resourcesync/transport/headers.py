"""The headers of a response."""

import re
from collections.abc import Iterable, Sequence

_FIELD = re.compile(r"^([^\s:]++):[ \t]*+([^\n]*+)", re.MULTILINE)
_FOLDED = re.compile(r"[ \t\r]*+\n[ \t]++")


class Headers:
    """The headers of a response by name, in upper or lower case; they are read when one is asked for.

    The parser of e-mail, which the standard library uses, takes most of the time of a small response.
    """

    __slots__ = ("_found", "_lines", "_text")

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        """Take the lines as they came, without the status line; those that are no headers are left out."""
        self._lines = lines
        self._text: str | None = None
        self._found = ""  # the text in lower case, to find names in

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a header."""
        text, begin = self._read(), self._found.find(f"\n{name.lower()}:")
        if begin < 0:
            return default
        begin += len(name) + 2
        return text[begin : text.find("\n", begin)].lstrip(" \t").rstrip()

    def get_all(self, name: str) -> Sequence[str]:
        """Return all values of a header."""
        return [value.rstrip() for other, value in _FIELD.findall(self._read()) if other.lower() == name.lower()]

    def __contains__(self, name: str) -> bool:
        self._read()
        return f"\n{name.lower()}:" in self._found

    @property
    def media_type(self) -> str:
        """The media type without its parameters, in lower case; empty if there is none, or none that can be read."""
        text = self.get("Content-Type").partition(";")[0].strip().lower()
        return text if text.count("/") == 1 else ""

    def _read(self) -> str:
        """Return the lines as one text, which begins and ends with a line feed."""
        if self._text is None:
            text = f"\n{b''.join(self._lines).decode('latin-1')}\n"
            self._text = _FOLDED.sub(" ", text) if "\n " in text or "\n\t" in text else text
            self._found = self._text.lower()
        return self._text
