"""Other repositories: an SQL statement whose columns describe the resources, and another one for their metadata.

The first statement must return only what is public: no access rules are known for other databases.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import quote, urlsplit

from sqlalchemy import Connection

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import LONGEST_LOC, render_metadata, require_absolute
from pelican_resourcesync.publication import MD5, SHA_256
from repo_bridge import QueryError
from repo_bridge.model import ELEMENTS, Field, MetadataValue, parse_moment
from repo_bridge.reading.database import require_snapshot
from repo_bridge.reading.repository import media_type_of

_BATCH = 2000

#: Characters that people use in file names but that no URI may contain: spaces, a few signs, and all that is not ASCII.
_NEVER = re.compile(r"""[ "<>\\^`{|}]|[^\x00-\x7f]+""")

_PART = "[A-Za-z][A-Za-z0-9-]{0,63}"
_FIELD = re.compile(
    rf"(dc(?=\.(?:{'|'.join(ELEMENTS)})(?:\.|\Z))|(?!dc\.)[a-z][a-z0-9-]{{0,31}})\.({_PART})(?:\.({_PART}))?", re.ASCII
)
_Parse = Callable[[Any], object]
_YES, _NO = frozenset({"1", "t", "true", "y", "yes"}), frozenset({"", "0", "f", "false", "n", "no"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRow:
    """One row: a resource at `uri`, or a deleted one. Columns that the statement does not have are `None`.

    `lastmod` is in UTC, `length` in bytes, `md5` and `sha256` are hexadecimal, `set` is the name of the set it is in,
    and `set_title` what people call that. Resources with the same `item` have one record in common. `page`,
    `collection` and `license` are URIs.
    """

    uri: str
    lastmod: dt.datetime | None = None
    length: int | None = None
    md5: str | None = None
    sha256: str | None = None
    type: str | None = None
    deleted: bool = False
    set: str | None = None
    set_title: str | None = None
    item: str | None = None
    page: str | None = None
    collection: str | None = None
    license: str | None = None

    @property
    def owner(self) -> str:
        """The key of the item that the resource belongs to; without one, it is an item of its own."""
        return self.item or self.uri

    @property
    def representation(self) -> str:
        """The hash, length and type of the resource, as they are written into an entry."""
        hash_ = f"{SHA_256}:{self.sha256}" if self.sha256 else f"{MD5}:{self.md5}" if self.md5 else None
        return render_metadata(hash_, self.length, self.type)


def _read(
    connection: Connection, statement: str, name: str, parsers: Mapping[str, _Parse], *needed: str
) -> Iterator[dict[str, Any]]:
    """Yield the values of each row of a statement, which messages call `name`, without those that are NULL.

    It has the columns `needed`, and perhaps others that there are parsers for.
    """
    require_snapshot(connection, statement)
    plain = connection.execution_options(yield_per=_BATCH, no_parameters=True)
    with plain.exec_driver_sql(statement) as result:
        columns = [*result.keys()]
        unknown = [f"an unknown column {column!a}" for column in columns if column not in parsers]
        wanted = (*needed, "set") if "set_title" in columns else needed
        missing = [f"no column {column}" for column in wanted if column not in columns]
        if problems := [*unknown, *missing, *(["one column twice"] if len({*columns}) < len(columns) else [])]:
            known = f"its columns may be {', '.join(parsers)} (required: {', '.join(needed)})"
            message = f"the {name} has {problems[0]}: {known}"
            raise QueryError(message)
        for number, row in enumerate(result, 1):
            yield _parse(dict(zip(columns, row, strict=True)), parsers, needed[:2], f"row {number} of the {name}")


def _parse(row: Mapping[str, Any], parsers: Mapping[str, _Parse], filled: Sequence[str], which: str) -> dict[str, Any]:
    """Return the parsed values of a row; those in the columns `filled` may not be NULL."""
    values: dict[str, Any] = {}
    for name, value in row.items():
        if value is not None or name in filled:
            try:
                values[name] = parsers[name](value.decode() if isinstance(value, bytes) else value)
            except (ValueError, OverflowError, DocumentError):
                fields = f": write one of dc.{', dc.'.join(ELEMENTS)}"
                hint = f"{fields}, perhaps with a qualifier, as in dc.date.issued, or a field of another schema"
                known = next((str(row[key])[:200] for key in ("uri", "item") if row.get(key) and key != name), "")
                which += f", {known!a}," if known else ""
                shown = f"{which} has the invalid {name} {str(value)[:80]!a}{hint if name == 'field' else ''}"
                raise QueryError(shown) from None
    return values


def read_query(connection: Connection, statement: str, zone: dt.tzinfo) -> Iterator[QueryRow]:
    """Yield the rows of a statement as they arrive; times without an offset are in `zone`.

    Raises `QueryError` for an unknown or missing column, and for an invalid value, with the number of the row; and what
    `open_database` raises for a statement that the database rejects.
    """
    return (QueryRow(**values) for values in _read(connection, statement, "statement", _parsers(zone), "uri"))


def read_query_metadata(connection: Connection, statement: str) -> Iterator[tuple[str, tuple[MetadataValue, ...]]]:
    """Yield each item with its metadata, as the rows of a statement say; rows without a value are left out.

    The rows of an item are together. Raises what `read_query` raises.
    """
    parsers: dict[str, _Parse] = {"item": _text, "field": _field, "value": str, "language": str}
    found = _read(connection, statement, "metadata statement", parsers, "item", "field", "value")
    for item, rows in groupby(found, itemgetter("item")):
        filled = (row for row in rows if row.get("value", "").strip())
        yield item, tuple(MetadataValue(row["field"], row["value"], row.get("language", "")) for row in filled)


def _parsers(zone: dt.tzinfo) -> Mapping[str, _Parse]:
    return {
        "uri": _uri,
        "lastmod": partial(_time, zone),
        "length": lambda value: int(_matching("[0-9]{1,18}", str(value))),
        "md5": partial(_digest, 32),
        "sha256": partial(_digest, 64),
        "type": lambda value: _matching(".+", media_type_of(str(value)) or ""),
        "deleted": _flag,
        "set": str,
        "set_title": str,
        "item": _text,
        "page": _uri,
        "collection": _uri,
        "license": _uri,
    }


def _matching(pattern: str, text: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError
    return text


def _text(value: object) -> str:
    """Return a text that is not empty."""
    if value is None or not str(value).strip():
        raise ValueError
    return str(value)


def _field(value: object) -> Field:
    """Parse a field of Dublin Core, or of another schema, with or without a qualifier."""
    found = _FIELD.fullmatch(str(value))
    if found is None:
        raise ValueError
    return Field(found[1], found[2], found[3] or "")


def _uri(value: object) -> str:
    """Return a URI with characters percent-encoded that no URI may contain (`X10`); all others stay as written.

    It must be one that anyone can request: http or https, without a user.
    """
    uri = require_absolute(_NEVER.sub(lambda found: quote(found[0]), str(value)))
    parts = urlsplit(uri)
    if len(uri) >= LONGEST_LOC or parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ValueError
    return uri


def _time(zone: dt.tzinfo, value: object) -> dt.datetime:
    """Parse a time, a day (its first moment), or a text of either."""
    moment = parse_moment(str(value), zone) if isinstance(value, str | dt.date) else None
    if moment is None:
        raise ValueError
    return moment


def _digest(digits: int, value: object) -> str:
    return _matching(rf"[0-9a-f]{{{digits}}}", str(value).strip().lower())


def _flag(value: object) -> bool:
    text = str(value).strip().casefold()
    if text not in _YES | _NO:
        raise ValueError
    return text in _YES
