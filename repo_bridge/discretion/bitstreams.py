"""Which files of an item are published: conditions on the titles of bundles, and on bitstreams."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, FromClause, or_

from repo_bridge.schema import Tables


def stored(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that a bitstream is not deleted (rule 6).

    The row of a deleted bitstream stays until DSpace's cleanup (rule 11).
    """
    return tables.bitstream.c.deleted.is_(False)


def wanted(title: FromClause, bundles: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition that a bundle's title (a row of `metadatavalue`) is one of `bundles` (rule 7)."""
    return title.c.text_value.in_([*bundles])


def unwanted(title: FromClause, bundles: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition that a bundle's title is not one of `bundles` (rule 7).

    A bundle with such a title is left out, even if it has another title too.
    """
    return or_(title.c.text_value.is_(None), title.c.text_value.not_in([*bundles]))
