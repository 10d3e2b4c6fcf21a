"""Names of files and folders that are valid on every system, and how to compare them (`RD06`)."""

import unicodedata
from functools import lru_cache
from hashlib import sha256

#: The longest name of one file or folder, in bytes of UTF-8.
LONGEST_NAME = 100

_LONGEST_EXTENSION = 16  # bytes, with the dot
_UNFIT = '<>:"/\\|?*'
_ASCII = str.maketrans(dict.fromkeys([*map(chr, range(0x20)), "\x7f", *_UNFIT], "_"))
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Invisible letters and marks; all other invisible characters belong to the categories above.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)
_PORTS = [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
_DEVICES = frozenset({"con", "prn", "aux", "nul", "clock$", "conin$", "conout$", *_PORTS})


def size(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def likeness(text: str) -> str:
    """Return a key that is equal for all names that some system treats as the same: in NFKC, ignoring case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def safe(text: str) -> str:
    """Return a text as the name of one file or folder that is valid on any system; invalid characters become `_`.

    The name is in NFC, is not `.` or `..` or a device of Windows, does not begin with a space or end with a space or a
    dot, and has only visible characters. It may still be too long: see `fit`.
    """
    name = text.translate(_ASCII) if text.isascii() else "".join(map(_shown, unicodedata.normalize("NFC", text)))
    name = _underscored(name)
    stem, dot, rest = name.partition(".")
    return f"{stem}_{dot}{rest}" if likeness(stem.rstrip(" ")) in _DEVICES else name


def split(name: str) -> tuple[str, str]:
    """Divide a name into stem and extension, with the dot; a long ending or a whole name is not an extension."""
    dot = name.rfind(".")
    extension = name[dot:] if dot > 0 else ""
    if not 1 < size(extension) <= _LONGEST_EXTENSION or " " in extension:
        return name, ""
    return name[:dot], extension


def fit(parts: tuple[str, str], number: int, longest: int, origin: str) -> str:
    """Join stem and extension into a name of at most `longest` bytes (at least 32).

    `number` distinguishes names that would be equal, and is shown from 2 on. A stem that is too long is truncated and
    gets a piece of the SHA-256 of `origin`, so that names with the same beginning still differ.
    """
    stem, extension = parts
    end = f"~{number}{extension}" if number > 1 else extension
    if size(stem) + size(end) <= longest:
        return stem + end
    end = f"~{piece(origin)}{end}"
    return stem.encode()[: longest - size(end)].decode(errors="ignore") + end


def piece(text: str) -> str:
    """Return the eight hexadecimal digits that stand for a text that is too long."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def _underscored(name: str) -> str:
    """Replace spaces and dots where a name must not begin or end with them; return `_` for an empty name."""
    trimmed = name.lstrip(" ")
    name = "_" * (len(name) - len(trimmed)) + trimmed
    end = len(name)
    while end and not unicodedata.normalize("NFKC", name[end - 1]).strip(". "):
        end -= 1
    return name[:end] + "_" * (len(name) - end) or "_"


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    """Return the character if it is valid and visible in a name, else `_`."""
    unfit = (
        character in _UNFIT
        or character in _INVISIBLE
        or (character != " " and unicodedata.category(character) in _UNSHOWN)
        or any(each in "/\\" for each in unicodedata.normalize("NFKC", character))
    )
    return "_" if unfit else character
