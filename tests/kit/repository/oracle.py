"""What an anonymous visitor may see, read slowly from the rows of the tables by the rules for DSpace.

A second witness: it shares nothing with the package. For each rule it looks through all rows, and it believes nothing
but them. Dates are ISO text or `None`.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Any

from sample_site.dspace.tables import Rows

HIDDEN = ("dc.description.provenance", "person.email")

#: By the names of the relationships that lead to an item: which fields have its values, and from which fields these
#: are, with whether they are put into one; no fields mean its key. The names are of `support.entities`.
_NAMES = ("person.familyName", "person.givenName", "organization.legalName")
_CHAIN = ("isJournalIssueOfPublication", "isJournalVolumeOfIssue", "isJournalOfVolume")
_ISSN, _TITLE = (
    ("creativeworkseries.issn", ("creativeworkseries.issn",), False),
    ("journal.title", ("dc.title",), False),
)
RELATED: dict[tuple[str, ...], list[tuple[str, tuple[str, ...], bool]]] = {
    ("isAuthorOfPublication",): [
        ("dc.contributor.author", _NAMES, True),
        ("person.identifier.orcid", ("person.identifier.orcid",), False),
        ("relation.isAuthorOfPublication", (), False),
    ],
    ("isOrgUnitOfPublication",): [("dc.contributor.other", ("organization.legalName",), False)],
    ("isJournalOfVolume",): [_ISSN, _TITLE],
    _CHAIN[1:]: [_ISSN, _TITLE],
    _CHAIN[:2]: [("journalvolume.identifier.name", ("dc.title",), True)],
    _CHAIN: [_ISSN, _TITLE, ("relation.isJournalOfPublication", (), False)],
}
#: What came with version 10.
RELATED_LATER: dict[tuple[str, ...], list[tuple[str, tuple[str, ...], bool]]] = {
    ("isEditorOfPublication",): [
        ("dc.contributor.editor", _NAMES, True),
        ("person.identifier.orcid", ("person.identifier.orcid",), False),
    ]
}


@dataclass(frozen=True)
class Visible:
    """What of one item is public: its values as (field, text, language), its files as (bundle, key).

    `versions` are the keys of the versions before and after it, `None` where there is none.
    """

    key: Any
    handle: str | None
    values: tuple[tuple[str, str, str], ...]
    files: tuple[tuple[str, Any], ...]
    collections: tuple[Any, ...]
    versions: tuple[Any, Any] = (None, None)


@dataclass(frozen=True)
class Oracle:
    """Reads the rows of a repository of some version, at one time, in a time zone, for some bundles."""

    rows: Rows
    version: int
    at: datetime
    zone: tzinfo | None
    bundles: tuple[str, ...] = ("ORIGINAL",)

    def visible(self) -> dict[Any, Visible]:
        """Return the public items by their keys."""
        name = "item_id" if self.version == 5 else "uuid"
        public = [
            item[name]
            for item in self.rows.get("item", [])
            if _is_live(item) and self._may_read(2, item[name]) and self._is_publication(item[name])
        ]
        return {
            key: Visible(
                key=key,
                handle=self._handle(key),
                values=tuple(sorted([*self._values(key), *self._related(key)])),
                files=tuple(sorted(self._files(key))),
                collections=tuple(sorted(self._collections(key))),
                versions=self._versions(key, public),
            )
            for key in public
        }

    def _versions(self, key: Any, public: list[Any]) -> tuple[Any, Any]:
        """Return the nearest versions of an item among those that are public."""
        for own in self.rows.get("versionitem", []):
            if own["item_id"] == key:
                history = [each for each in self.rows["versionitem"] if each["item_id"] in public]
                history = [each for each in history if each["versionhistory_id"] == own["versionhistory_id"]]
                in_order = [each["item_id"] for each in sorted(history, key=lambda each: each["version_number"])]
                place = in_order.index(key)
                around = [None, *in_order, None]
                return around[place], around[place + 2]
        return None, None

    def hidden(self) -> set[Any]:
        """Return the keys of the items of which nothing may be shown, not even in those that are related to them."""
        return {item["uuid"] for item in self.rows["item"]} - {
            item["uuid"] for item in self.rows["item"] if _is_live(item) and self._may_read(2, item["uuid"], alone=True)
        }

    def _is_publication(self, key: Any) -> bool:
        """Rule 2: an item without a type, or a publication."""
        types = [
            value["text_value"]
            for value in self.rows.get("metadatavalue", [])
            if value.get("dspace_object_id") == key
            and self._name_of(value["metadata_field_id"]) == "dspace.entity.type"
        ]
        return all(text in {"Publication", "publication"} for text in types)

    def _related(self, key: Any) -> list[tuple[str, str, str]]:
        """Values from related items that everybody may read, over relationships to the latest versions of items."""
        if "relationship" not in self.rows:
            return []
        hidden, found = self.hidden(), []
        rules = RELATED | (RELATED_LATER if self.version >= 10 else {})
        for path, targets in rules.items():
            for first in self._steps(key, path[0], hidden):
                chains = [[first]]
                for name in path[1:]:
                    chains = [[*chain, step] for chain in chains for step in self._steps(chain[-1][2], name, hidden)]
                if chains:
                    chain = min(chains, key=lambda each: [step[:2] for step in each])
                    for target, fields, joined in targets:
                        variant = chain[0][3] if fields == _NAMES else None
                        texts = [variant] if variant else self._texts(chain[-1][2], fields)
                        texts = [", ".join(texts)] if joined and texts else texts
                        found += [(target, text, "") for text in texts if text.strip()]
        return found

    def _steps(self, key: Any, name: str, hidden: set[Any]) -> list[tuple[int, int, Any, str | None]]:
        """Return place, number, other item and name of the other item for each relationship that counts."""
        kinds = {kind["id"]: kind for kind in self.rows["relationship_type"]}
        found = []
        for each in self.rows["relationship"]:
            for own, other, outdated in (("left", "right", 1), ("right", "left", 2)):
                if (
                    each[f"{own}_id"] == key
                    and kinds[each["type_id"]][f"{own}ward_type"] == name
                    and each["latest_version_status"] != outdated
                    and each[f"{other}_id"] not in hidden
                ):
                    found.append((each[f"{own}_place"], each["id"], each[f"{other}_id"], each[f"{other}ward_value"]))
        return found

    def _texts(self, key: Any, fields: tuple[str, ...]) -> list[str]:
        if not fields:
            return [str(key)]
        values = [(value["place"], value["metadata_value_id"], value) for value in self._values_of(2, key)]
        return [
            value["text_value"]
            for field in fields
            for _, _, value in sorted(values, key=lambda each: each[:2])
            if self._name_of(value["metadata_field_id"]) == field
            and value.get("security_level") in {None, 0}
            and value["text_value"].strip()
        ]

    def _may_read(self, kind: int, key: Any, *, alone: bool = False) -> bool:
        """Rules 3 to 5: on the day that it is now, in the server's time zone or in every one.

        With `alone`, one policy has to say so for every zone.
        """
        zones = [self.zone] if self.zone else [timezone(timedelta(hours=hours)) for hours in range(-12, 15)]
        days = {self.at.astimezone(zone).date() for zone in zones}
        return self._may_read_on(kind, key, days) if alone else all(self._may_read_on(kind, key, {day}) for day in days)

    def _may_read_on(self, kind: int, key: Any, days: set[date]) -> bool:
        for policy in self.rows.get("resourcepolicy", []):
            if self.version == 5:
                about = (policy["resource_type_id"], policy["resource_id"]) == (kind, key)
            else:
                about = policy["dspace_object"] == key
            by_everybody = policy["action_id"] == 0 and policy["epersongroup_id"] in self._groups
            if (
                about
                and by_everybody
                and all(self._holds(policy["start_date"], policy["end_date"], day) for day in days)
            ):
                return True
        return False

    def _holds(self, start: str | None, end: str | None, day: date) -> bool:
        """Rule 5: until DSpace 8 the end is exclusive, in 10 it is inclusive."""
        ended = end is not None and (
            day > date.fromisoformat(end) if self.version >= 10 else day >= date.fromisoformat(end)
        )
        return (start is None or date.fromisoformat(start) <= day) and not ended

    @cached_property
    def _groups(self) -> list[Any]:
        """Anonymous, and every group that it is in by way of others."""
        if self.version == 5:
            found = [group["eperson_group_id"] for group in self.rows["epersongroup"] if group["eperson_group_id"] == 0]
        else:
            found = [group["uuid"] for group in self.rows["epersongroup"] if group["name"] == "Anonymous"]
        for _ in self.rows["epersongroup"]:
            for pair in self.rows.get("group2group", []):
                if pair["child_id"] in found and pair["parent_id"] not in found:
                    found.append(pair["parent_id"])
        return found

    def _handle(self, key: Any) -> str | None:
        for handle in self.rows.get("handle", []):
            if handle["resource_type_id"] == 2 and handle["resource_id"] == key:
                return str(handle["handle"])
        return None

    def _name_of(self, number: int) -> str:
        return self._names.get(number, "")

    @cached_property
    def _names(self) -> dict[int, str]:
        """The names of fields by number."""
        schemas = {row["metadata_schema_id"]: row["short_id"] for row in self.rows["metadataschemaregistry"]}
        return {
            row["metadata_field_id"]: ".".join(filter(None, [schemas[schema], row["element"], row["qualifier"]]))
            for row in self.rows["metadatafieldregistry"]
            if (schema := row["metadata_schema_id"]) in schemas
        }

    def _values_of(self, kind: int, key: Any) -> list[dict[str, Any]]:
        if self.version == 5:
            found = [
                value
                for value in self.rows.get("metadatavalue", [])
                if value["resource_id"] == key and value["resource_type_id"] == kind
            ]
        else:
            found = [value for value in self.rows.get("metadatavalue", []) if value["dspace_object_id"] == key]
        return [value for value in found if value["text_value"] is not None or kind == 1]

    def _values(self, key: Any) -> list[tuple[str, str, str]]:
        """Rule 8."""
        found = []
        for value in self._values_of(2, key):
            name = self._name_of(value["metadata_field_id"])
            if name not in HIDDEN and value.get("security_level") in {None, 0}:
                found.append((name, value["text_value"], value["text_lang"] or ""))
        return found

    def _files(self, item: Any) -> list[tuple[str, Any]]:
        """Rules 6 and 7."""
        name = "bitstream_id" if self.version == 5 else "uuid"
        found: dict[Any, str] = {}
        for holder in self.rows.get("item2bundle", []):
            for pair in self.rows.get("bundle2bitstream", []):
                if holder["item_id"] != item or holder["bundle_id"] != pair["bundle_id"]:
                    continue
                bundle = self._bundle_name(pair["bundle_id"])
                if bundle is None or not self._may_read(1, pair["bundle_id"]):
                    continue
                for file in self.rows.get("bitstream", []):
                    if (
                        file[name] == pair["bitstream_id"]
                        and file["deleted"] is False
                        and self._may_read(0, file[name])
                    ):
                        found[file[name]] = bundle
        return [(bundle, file) for file, bundle in found.items()]

    def _bundle_name(self, bundle: Any) -> str | None:
        """Rule 7: the name, if every name it has was asked for."""
        names = [value["text_value"] for value in self._values_of(1, bundle) if self._is_title(value)]
        return names[0] if names and all(name in self.bundles for name in names) else None

    def _is_title(self, value: dict[str, Any]) -> bool:
        return self._name_of(value["metadata_field_id"]) == "dc.title"

    def _collections(self, item: Any) -> set[Any]:
        return {
            pair["collection_id"]
            for pair in self.rows.get("collection2item", [])
            if pair["item_id"] == item and self._may_read(3, pair["collection_id"])
        }


def _is_live(item: dict[str, Any]) -> bool:
    """Rules 1 and 2."""
    return item["in_archive"] is True and item["withdrawn"] is False and item["discoverable"] is True
