"""Which items are live: conditions on the table `item`."""

from sqlalchemy import ColumnElement, and_

from repo_bridge.schema import Tables


def live(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that an item is archived and not withdrawn (rule 1).

    So a superseded version is never live, whatever its policies (rule 19). Items in a workspace or workflow, templates
    and superseded versions are not archived. An item is not live if either flag is `NULL`.
    """
    return and_(tables.item.c.in_archive.is_(True), tables.item.c.withdrawn.is_(False))


def discoverable(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that an item is discoverable, that is, not private (rule 2)."""
    return tables.item.c.discoverable.is_(True)
