"""Which metadata everybody may see."""

from collections.abc import Set as AbstractSet

from sqlalchemy import ColumnElement, true

from repo_bridge.model import Field
from repo_bridge.schema import Tables

#: What DSpace hides by default: names and addresses of those who submitted, approved, withdrew, or are described.
ALWAYS_HIDDEN = frozenset({"dc.description.provenance", "person.email", "person.email.*"})


def hidden(field: Field, more: AbstractSet[str] = frozenset()) -> bool:
    """Rule 8: whether values of a field are hidden, always or by wish; `schema.element.*` means all its qualifiers."""
    schema, element, qualifier = (part.strip().casefold() for part in field)
    names = {str(Field(schema, element, qualifier)), f"{schema}.{element}.*" if qualifier else ""}
    return not names.isdisjoint(name.strip().casefold() for name in ALWAYS_HIDDEN | more)


def unsecured(tables: Tables) -> ColumnElement[bool]:
    """Rule 8: from version 10 on, a value with a security level, whatever it is, is hidden."""
    values = tables.metadatavalue
    return values.c.security_level.is_(None) if "security_level" in values.c else true()
