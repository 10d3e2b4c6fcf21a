"""Which files of an item are wanted: conditions on the names of bundles, and on bitstreams."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, FromClause, or_

from repo_bridge.schema import Tables


def stored(tables: Tables) -> ColumnElement[bool]:
    """Rule 6: not deleted; rule 11: what is deleted waits for the clean-up."""
    return tables.bitstream.c.deleted.is_(False)


def wanted(title: FromClause, bundles: Iterable[str]) -> ColumnElement[bool]:
    """Rule 7: a title of a bundle (a row of `metadatavalue`) is one of those asked for."""
    return title.c.text_value.in_([*bundles])


def unwanted(title: FromClause, bundles: Iterable[str]) -> ColumnElement[bool]:
    """Rule 7: a title of a bundle is another; a bundle that has one is left out, whatever else it is called."""
    return or_(title.c.text_value.is_(None), title.c.text_value.not_in([*bundles]))
