"""Which metadata is public."""

from collections.abc import Set as AbstractSet

from sqlalchemy import ColumnElement, true

from repo_bridge.model import Field
from repo_bridge.schema import Tables

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
    """Return the condition that a value has no security level (rule 8).

    From version 10 on, a value with any security level is hidden.
    """
    values = tables.metadatavalue
    return values.c.security_level.is_(None) if "security_level" in values.c else true()
