"""A digest of an item's metadata, made by the database: what has not changed need not be read.

It is a sum over the values, so that no database has to sort them, and no two databases have to agree on it: it is
compared with what the same one gave before.
"""

from hashlib import md5

from sqlalchemy import BigInteger, ColumnElement, Function, Text, cast, func, literal
from sqlalchemy.dialects.postgresql import BIT

#: What SQLite calls the aggregate function that is given to it.
FUNCTION = "repo_bridge_digest"

_DIGITS, _BITS = 15, 60


class Digest:
    """An aggregate function for SQLite: the sum of the texts' digests."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._sum = 0

    def step(self, text: str) -> None:
        """Take in a text."""
        self._sum += int(md5(text.encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)

    def finalize(self) -> str:
        """Give the sum."""
        return str(self._sum)


def digest_of(*columns: ColumnElement[object], dialect: str) -> ColumnElement[str]:
    """Give the expression for the digest of a group of rows."""
    text: ColumnElement[str] = literal("")
    for column in columns:
        text = text + func.coalesce(cast(column, Text), "") + "\x1f"
    if dialect == "sqlite":
        return Function(FUNCTION, text, type_=Text())
    bits = cast(literal("x") + func.substr(func.md5(text), 1, _DIGITS), BIT(_BITS))
    return cast(func.sum(cast(bits, BigInteger)), Text)
