"""Paths from outside, before anything is written to them."""

_RESERVED = frozenset('\\:*?"<>|')


def is_plain(path: str) -> bool:
    """Whether a relative path is of plain names on every system: no root, drive, way up, or unprintable character."""
    return all(name.strip(". ") and name.isprintable() and not _RESERVED.intersection(name) for name in path.split("/"))
