"""Which items, files and metadata values are public: conditions on rows (rules 1, 2, 6, 7 and 8)."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from sqlalchemy import ColumnElement, FromClause, and_, func, or_, true

from repo_bridge.model import Field
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


#: Fields that DSpace hides by default: names and addresses of people who submitted, approved or withdrew an item, or
#: are described.
ALWAYS_HIDDEN = frozenset({"dc.description.provenance", "person.email", "person.email.*"})


def hidden(field: Field, more: AbstractSet[str] = frozenset()) -> bool:
    """Return whether the values of a field are hidden, always or because `more` names the field (rule 8).

    `schema.element.*` means all qualifiers of an element.
    """
    schema, element, qualifier = (part.strip().casefold() for part in field)
    names = {str(Field(schema, element, qualifier)), f"{schema}.{element}.*" if qualifier else ""}
    return not names.isdisjoint(name.strip().casefold() for name in ALWAYS_HIDDEN | more)


def unsecured(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that a value has no security level, or level 0, which means public (rule 8).

    From version 10 on, a value with another security level is hidden.
    """
    values = tables.metadatavalue
    return func.coalesce(values.c.security_level, 0) == 0 if "security_level" in values.c else true()
