"""What must be known before reading: the numbers of fields, and that the group Anonymous exists."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select

from repo_bridge.discretion import View, everybody, hidden
from repo_bridge.errors import SchemaError
from repo_bridge.model import Field
from repo_bridge.schema import ANONYMOUS, Tables

#: The field with the names of bundles, files, collections and communities.
TITLE = Field("dc", "title")


def read_fields(connection: Connection, tables: Tables) -> dict[int, Field]:
    """Return the fields by number."""
    field, schema = tables.metadatafieldregistry, tables.metadataschemaregistry
    rows = connection.execute(
        select(field.c.metadata_field_id, schema.c.short_id, field.c.element, field.c.qualifier).join(
            schema, schema.c.metadata_schema_id == field.c.metadata_schema_id
        )
    )
    return {number: Field(prefix or "", element or "", qualifier or "") for number, prefix, element, qualifier in rows}


def find_titles(fields: Mapping[int, Field]) -> list[int]:
    """Return the numbers of the field that holds titles; `SchemaError` if there is none."""
    titles = [number for number, field in fields.items() if field == TITLE]
    if not titles:
        message = (
            f"the metadata registry has no field {TITLE}, which has the names of bundles: is this the whole database?"
        )
        raise SchemaError(message)
    return titles


def require_everybody(connection: Connection, tables: Tables) -> None:
    """Raise `SchemaError` if there is no group Anonymous: nothing could be public."""
    if connection.execute(everybody(tables)).first() is None:
        message = f"there is no group {ANONYMOUS}, which says what everybody may read: is this the whole database?"
        raise SchemaError(message)


def visible_fields(fields: Mapping[int, Field], view: View) -> dict[int, tuple[int, Field]]:
    """Return the public fields by number, each with its place in the order of field names (rule 8)."""
    places = {field: place for place, field in enumerate(_sorted(fields.values()))}
    return {number: (places[field], field) for number, field in fields.items() if not hidden(field, view.hidden)}


def _sorted(fields: Iterable[Field]) -> list[Field]:
    return sorted(set(fields))
