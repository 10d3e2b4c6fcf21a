"""Which items are live: conditions on the table `item`."""

from sqlalchemy import ColumnElement, and_

from repo_bridge.schema import Tables


def live(tables: Tables) -> ColumnElement[bool]:
    """Rule 1: archived and not withdrawn; rule 19: so never a superseded version, whatever its policies.

    What is in a workspace or a workflow, a template or a superseded version is not archived. A flag that is not set
    either way is no yes.
    """
    return and_(tables.item.c.in_archive.is_(True), tables.item.c.withdrawn.is_(False))


def discoverable(tables: Tables) -> ColumnElement[bool]:
    """Rule 2: a private item is left out."""
    return tables.item.c.discoverable.is_(True)
