"""Entities: items that are related, such as an article with its authors, and the journal that it is in."""

from collections.abc import Sequence

from sample_site.dspace.repository import ITEM, Sample, Thing, Value, key, rows_of
from sample_site.dspace.tables import Rows

#: Fields that entities have, beyond those of other samples, by their numbers.
FIELDS = {
    900: "person.familyName",
    901: "person.givenName",
    902: "organization.legalName",
    903: "dspace.entity.type",
    904: "relation.isAuthorOfPublication",
    905: "journal.title",
    906: "creativeworkseries.issn",
    907: "relation.isJournalOfPublication",
    908: "journalvolume.identifier.name",
    909: "dc.contributor.other",
    910: "person.identifier.orcid",
    911: "dc.contributor.editor",
}
TYPES = {
    1: ("isAuthorOfPublication", "isPublicationOfAuthor"),
    2: ("isJournalIssueOfPublication", "isPublicationOfJournalIssue"),
    3: ("isIssueOfJournalVolume", "isJournalVolumeOfIssue"),
    4: ("isVolumeOfJournal", "isJournalOfVolume"),
    5: ("isOrgUnitOfPublication", "isPublicationOfOrgUnit"),
    6: ("isEditorOfPublication", "isPublicationOfEditor"),
}
ARTICLE, KNUTH, ACM, VOLUME, ISSUE, JOURNAL, DAHL = 1, 2, 3, 4, 5, 6, 7

#: Left and right item, type, places, names in the relationship (leftward, rightward) and status.
RELATIONSHIPS = (
    (ARTICLE, KNUTH, 1, 2, 0, None, None, 0),
    (ARTICLE, DAHL, 1, 0, 0, "not this", "Dahl, O.-J.", 0),
    (ARTICLE, ACM, 5, 0, 0, None, None, 0),
    (ARTICLE, ISSUE, 2, 0, 0, None, None, 0),
    (VOLUME, ISSUE, 3, 0, 0, None, None, 0),
    (JOURNAL, VOLUME, 4, 0, 0, None, None, 0),
)

VALUES = (
    (ARTICLE, 903, "Publication", 0),
    (KNUTH, 903, "Person", 0),
    (KNUTH, 900, "Knuth", 0),
    (KNUTH, 901, "Ervin", 1),
    (KNUTH, 901, "Donald", 0),
    (KNUTH, 910, "0000-0002", 0),
    (DAHL, 903, "Person", 0),
    (DAHL, 900, "Dahl", 0),
    (ACM, 903, "OrgUnit", 0),
    (ACM, 902, "ACM", 1),
    (ACM, 902, "Association for Computing", 0),
    (ACM, 902, " ", 2),
    (VOLUME, 903, "JournalVolume", 0),
    (ISSUE, 903, "JournalIssue", 0),
    (JOURNAL, 903, "Journal", 0),
    (JOURNAL, 906, "0001-0782", 0),
)


def article(*changed: Thing, version: int = 7) -> Rows:
    """Return an article with four authors, two of them items, in an issue of a volume of a journal."""
    things = article_things()
    for each in changed:
        things[each.number - 1] = each
    return entities(rows_of(Sample(items=things), version), version)


def article_things(first: int = 0) -> list[Thing]:
    """Return the items of the article, numbered from `first`."""
    authors = [Value("dc.contributor.author", "Dijkstra, Edsger", "en", place=1)]
    authors.append(Value("dc.contributor.author", "Hoare, C. A. R.", place=3))
    things = [Thing(first + number) for number in range(ARTICLE, DAHL + 1)]
    things[ARTICLE - 1].metadata = authors
    things[VOLUME - 1].metadata = [Value("dc.title", "Volume 11")]
    things[JOURNAL - 1].metadata = [Value("dc.title", "Communications")]
    return things


def entities(rows: Rows, version: int, firsts: Sequence[int] = (0,)) -> Rows:
    """Add the fields and types that entities have, and what relates the items of articles numbered from these."""
    register(rows)
    values = [(first + item, field, value, place) for first in firsts for item, field, value, place in VALUES]
    for number, (item, field, value, place) in enumerate(values, 9000):
        row = {"metadata_value_id": number, "metadata_field_id": field, "text_value": value, "place": place}
        rows["metadatavalue"].append({**row, "dspace_object_id": key(version, ITEM, item)})
    pairs = ((first + left, first + right, *rest) for first in firsts for left, right, *rest in RELATIONSHIPS)
    return relate(rows, [*pairs], version)


def register(rows: Rows) -> None:
    """Add the fields that entities have, and the types of their relationships."""
    names = [*dict.fromkeys(name.split(".")[0] for name in FIELDS.values())]
    known = {row["short_id"]: row["metadata_schema_id"] for row in rows["metadataschemaregistry"]}
    for number, name in enumerate(names, 90):
        if name not in known:
            known[name] = number
            row = {"metadata_schema_id": number, "namespace": name, "short_id": name}
            rows["metadataschemaregistry"].append(row)
    for number, name in FIELDS.items():
        schema, element, *qualifier = name.split(".")
        row = {"metadata_field_id": number, "metadata_schema_id": known[schema], "element": element}
        rows["metadatafieldregistry"].append({**row, "qualifier": qualifier[0] if qualifier else None})
    for number, (leftward, rightward) in TYPES.items():
        row = {"id": number, "left_type": 1, "right_type": 1, "leftward_type": leftward, "rightward_type": rightward}
        rows.setdefault("relationship_type", []).append({**row, "copy_to_left": False, "copy_to_right": False})


def relate(rows: Rows, relationships: Sequence[tuple[object, ...]], version: int = 7) -> Rows:
    """Let the repository have these relationships."""
    names = ("type_id", "left_place", "right_place", "leftward_value", "rightward_value", "latest_version_status")
    rows["relationship"] = [
        {"id": number, "left_id": key(version, ITEM, left), "right_id": key(version, ITEM, right)}
        | dict(zip(names, rest, strict=True))
        for number, (left, right, *rest) in enumerate(relationships, 1)
        if isinstance(left, int) and isinstance(right, int)
    ]
    return rows
