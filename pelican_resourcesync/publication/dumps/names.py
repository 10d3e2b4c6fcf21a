"""Names of files and folders that every system can hold, and what two of them have in common (`RD06`)."""

import unicodedata
from functools import lru_cache
from hashlib import sha256

#: The longest name of one file or folder, in bytes of UTF-8.
LONGEST_NAME = 100

_LONGEST_EXTENSION = 16  # bytes, with the dot
_UNFIT = '<>:"/\\|?*'
_ASCII = str.maketrans(dict.fromkeys([*map(chr, range(0x20)), "\x7f", *_UNFIT], "_"))
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters and marks that show nothing; all others that show nothing are of the categories above.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)
_PORTS = [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
_DEVICES = frozenset({"con", "prn", "aux", "nul", "clock$", "conin$", "conout$", *_PORTS})


def size(text: str) -> int:
    """Give the length of a text as bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def likeness(text: str) -> str:
    """Give what is equal for all names that some system takes for the same: after NFKC, in whatever case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def safe(text: str) -> str:
    """Make a text the name of one file or folder, on any system; what cannot stand in one is `_`.

    The name is in NFC, is no way up, no device of Windows, does not begin with a space nor end with a space or a dot,
    and shows all of its characters. It may still be too long: see `fit`.
    """
    name = text.translate(_ASCII) if text.isascii() else "".join(map(_shown, unicodedata.normalize("NFC", text)))
    name = _underscored(name)
    stem, dot, rest = name.partition(".")
    return f"{stem}_{dot}{rest}" if likeness(stem.rstrip(" ")) in _DEVICES else name


def split(name: str) -> tuple[str, str]:
    """Divide a name into its stem and its extension, with the dot; a long end is no extension, nor is a whole name."""
    dot = name.rfind(".")
    extension = name[dot:] if dot > 0 else ""
    if not 1 < size(extension) <= _LONGEST_EXTENSION or " " in extension:
        return name, ""
    return name[:dot], extension


def fit(parts: tuple[str, str], number: int, longest: int, origin: str) -> str:
    """Join stem and extension to a name of at most `longest` bytes, which are 32 or more.

    `number` tells names apart that would be the same: from 2 on it is shown. A stem that is too long gives way to a
    piece of the SHA-256 of `origin`, so that two that begin alike still differ.
    """
    stem, extension = parts
    end = f"~{number}{extension}" if number > 1 else extension
    if size(stem) + size(end) <= longest:
        return stem + end
    end = f"~{piece(origin)}{end}"
    return stem.encode()[: longest - size(end)].decode(errors="ignore") + end


def piece(text: str) -> str:
    """Give the eight hexadecimal digits that stand for a text that is too long."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def _underscored(name: str) -> str:
    """Replace what may not begin or end a name, and give an empty one a character."""
    trimmed = name.lstrip(" ")
    name = "_" * (len(name) - len(trimmed)) + trimmed
    end = len(name)
    while end and not unicodedata.normalize("NFKC", name[end - 1]).strip(". "):
        end -= 1
    return name[:end] + "_" * (len(name) - end) or "_"


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    """Give a character that is fit for a name, or `_`."""
    unfit = (
        character in _UNFIT
        or character in _INVISIBLE
        or (character != " " and unicodedata.category(character) in _UNSHOWN)
        or any(each in "/\\" for each in unicodedata.normalize("NFKC", character))
    )
    return "_" if unfit else character
