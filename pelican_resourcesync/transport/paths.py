"""Check untrusted paths before anything is written to them."""

_RESERVED = frozenset('\\:*?"<>|')


def is_plain(path: str) -> bool:
    """Return whether a relative path is safe on every system: no root, drive, `..` or unprintable character."""
    return all(name.strip(". ") and name.isprintable() and not _RESERVED.intersection(name) for name in path.split("/"))
