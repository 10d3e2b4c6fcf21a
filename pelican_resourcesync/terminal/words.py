"""Formatting of numbers for people, and of untrusted text for a terminal."""

UNKNOWN = "not known"

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1000


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 change` and `2,000 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def in_bytes(number: int) -> str:
    """Return a number of bytes in a readable unit, such as `1.5 MB`."""
    size, unit = float(number), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else counted(number, "byte")


def plain(text: str) -> str:
    """Return text with control characters and line breaks replaced: much of it comes from untrusted sources."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
