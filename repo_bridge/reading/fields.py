"""What has to be known before anything is read: which numbers stand for which fields, and that there is everybody."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select

from repo_bridge.discretion import View, everybody, hidden
from repo_bridge.errors import SchemaError
from repo_bridge.model import Field
from repo_bridge.schema import ANONYMOUS, Tables

#: What bundles, files, collections and communities are called.
TITLE = Field("dc", "title")


def read_fields(connection: Connection, tables: Tables) -> dict[int, Field]:
    """Read the fields by their numbers."""
    field, schema = tables.metadatafieldregistry, tables.metadataschemaregistry
    rows = connection.execute(
        select(field.c.metadata_field_id, schema.c.short_id, field.c.element, field.c.qualifier).join(
            schema, schema.c.metadata_schema_id == field.c.metadata_schema_id
        )
    )
    return {number: Field(prefix or "", element or "", qualifier or "") for number, prefix, element, qualifier in rows}


def find_titles(fields: Mapping[int, Field]) -> list[int]:
    """Give the numbers of the field that has the names of things; `SchemaError` where there is none."""
    titles = [number for number, field in fields.items() if field == TITLE]
    if not titles:
        message = (
            f"the metadata registry has no field {TITLE}, which has the names of bundles: is this the whole database?"
        )
        raise SchemaError(message)
    return titles


def require_everybody(connection: Connection, tables: Tables) -> None:
    """Raise `SchemaError` where there is no group Anonymous: nothing could be public."""
    if connection.execute(everybody(tables)).first() is None:
        message = f"there is no group {ANONYMOUS}, which says what everybody may read: is this the whole database?"
        raise SchemaError(message)


def visible_fields(fields: Mapping[int, Field], view: View) -> dict[int, tuple[int, Field]]:
    """Give the fields that everybody may see, each with its place in the order of their names (rule 8)."""
    places = {field: place for place, field in enumerate(_sorted(fields.values()))}
    return {number: (places[field], field) for number, field in fields.items() if not hidden(field, view.hidden)}


def _sorted(fields: Iterable[Field]) -> list[Field]:
    return sorted(set(fields))
