"""Titles and other text of others, as one short line that is safe to show."""

import unicodedata

#: The media types of pages.
HTML = ("text/html", "application/xhtml+xml")
_MOST_CHARACTERS = 200
#: Characters that change the direction of the text after them.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_CHARACTERS = frozenset("\ufffe\uffff")


def clean(text: str) -> str:
    """Return a text as one line of limited length, without characters that XML cannot hold or that hide others."""
    return short(visible(text))


def visible(text: str) -> str:
    """Return a text as one line, without characters that XML cannot hold or that hide others; empty if none is seen."""
    if not text.isprintable():
        text = "".join(character for character in text if character.isspace() or _is_shown(character))
    return " ".join(text.split()) if any(character.isprintable() and character != " " for character in text) else ""


def short(text: str) -> str:
    """Return a text, shortened if it is long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cs"} and character not in _OVERRIDES | _NO_CHARACTERS
