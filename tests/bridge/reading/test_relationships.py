"""Virtual metadata: what items have from the items they are related to, as DSpace's `virtual-metadata.xml` says."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text

from repo_bridge.access import AnonymousView
from repo_bridge.reading.dump import import_dump
from repo_bridge.reading.repository import open_repository
from tests.bridge.support.press import Press, day
from tests.bridge.support.reading import VIEW, read, url_of
from tests.bridge.support.repository import ITEM, Policy, Sample, Thing, Value, key, rows_of
from tests.bridge.support.server import Server
from tests.bridge.support.tables import Rows, write_sqlite

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

AUTHORS = ["Dahl, O.-J.", "Dijkstra, Edsger", "Knuth, Donald, Ervin", "Hoare, C. A. R."]


def article(*changed: Thing, version: int = 7) -> Rows:
    """Return an article with four authors, two of them items, in an issue of a volume of a journal."""
    authors = [Value("dc.contributor.author", "Dijkstra, Edsger", "en", place=1)]
    authors.append(Value("dc.contributor.author", "Hoare, C. A. R.", place=3))
    things = [Thing(ARTICLE, metadata=authors), *(Thing(number) for number in range(KNUTH, DAHL + 1))]
    things[VOLUME - 1].metadata = [Value("dc.title", "Volume 11")]
    things[JOURNAL - 1].metadata = [Value("dc.title", "Communications")]
    for each in changed:
        things[each.number - 1] = each
    rows = rows_of(Sample(items=things), version)
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
    for number, (item, field, value, place) in enumerate(VALUES, 9000):
        row = {"metadata_value_id": number, "metadata_field_id": field, "text_value": value, "place": place}
        rows["metadatavalue"].append({**row, "dspace_object_id": key(version, ITEM, item)})
    for number, (leftward, rightward) in TYPES.items():
        row = {"id": number, "left_type": 1, "right_type": 1, "leftward_type": leftward, "rightward_type": rightward}
        rows.setdefault("relationship_type", []).append({**row, "copy_to_left": False, "copy_to_right": False})
    return relate(rows, RELATIONSHIPS, version)


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


def record(url: str, view: AnonymousView = VIEW) -> dict[str, list[str]]:
    """Return the metadata of the article, by field."""
    found: dict[str, list[str]] = {}
    (item,) = read(url, view)
    for value in item.metadata:
        found.setdefault(str(value.field), []).append(value.value)
    return found


def written(folder: Path, rows: Rows, version: int = 7) -> str:
    """Write the rows into a database; return its URL."""
    (folder / "r.db").unlink(missing_ok=True)
    return url_of(write_sqlite(rows, version, folder / "r.db"))


def change(url: str, statement: str) -> None:
    """Change the database."""
    with create_engine(url).begin() as connection:
        connection.execute(text(statement))


EXPECTED = {
    "creativeworkseries.issn": ["0001-0782"],
    "dc.contributor.author": AUTHORS,
    "dc.contributor.other": ["Association for Computing", "ACM"],
    "dspace.entity.type": ["Publication"],
    "journal.title": ["Communications"],
    "journalvolume.identifier.name": ["Volume 11"],
    "person.identifier.orcid": ["0000-0002"],
    "relation.isAuthorOfPublication": [key(7, ITEM, DAHL), key(7, ITEM, KNUTH)],
    "relation.isJournalOfPublication": [key(7, ITEM, JOURNAL)],
}


@pytest.mark.parametrize("version", [7, 10])
def test_article(tmp_path: Path, version: int) -> None:
    """An article has its authors in their order, and what its journal is, over three relationships."""
    url = written(tmp_path, article(version=version), version)
    assert record(url) == EXPECTED
    with open_repository(url, VIEW) as repository:
        (again,) = repository.items_of([key(version, ITEM, ARTICLE)])
        assert [again] == [*repository.items()]


def test_every_source(tmp_path: Path, server: Server) -> None:
    """A live database, a dump and a copy give the same items, and digests that notice the same."""
    url = server.database(article(), 7)
    live = make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    dump = server.dump(url, tmp_path / "dump", "--format=plain")
    import_dump(dump, tmp_path / "export.db")
    assert record(live) == EXPECTED
    assert read(live) == read(url_of(tmp_path / "export.db")) == read(written(tmp_path, article()))
    with open_repository(live, VIEW) as repository:
        assert repository.origin is None
        before = dict(repository.digests())
        assert dict(repository.digests_of([key(7, ITEM, ARTICLE)])) == {
            key(7, ITEM, ARTICLE): before[key(7, ITEM, ARTICLE)]
        }
    with psycopg.connect(server.dsn(url)) as connection:
        connection.execute("UPDATE metadatavalue SET text_value = 'Knut' WHERE text_value = 'Knuth'")
    with open_repository(live, VIEW) as repository:
        assert repository.origin is None
        changed = {each for each, digest in repository.digests() if digest != before[each]}
    assert changed == {key(7, ITEM, ARTICLE)}
    with psycopg.connect(server.dsn(url)) as connection:
        connection.execute("DELETE FROM relationship")
    with open_repository(live, VIEW) as repository:
        assert repository.origin is not None


CHANGES = (
    "UPDATE metadatavalue SET text_value = 'Knut' WHERE text_value = 'Knuth'",
    "UPDATE metadatavalue SET text_value = 'CACM' WHERE text_value = 'Communications'",
    "UPDATE relationship SET left_place = 4 WHERE id = 1",
    "UPDATE relationship SET rightward_value = 'Dahl' WHERE id = 2",
    "UPDATE relationship SET latest_version_status = 1 WHERE id = 1",
    "DELETE FROM relationship WHERE id = 6",
    "UPDATE relationship_type SET leftward_type = 'isEditorOfPublication' WHERE id = 1",
    "UPDATE relationship_type SET tilted = 2 WHERE id = 1",
    f"UPDATE item SET withdrawn = 1 WHERE uuid = '{key(7, ITEM, KNUTH)}'",
    f"UPDATE resourcepolicy SET start_date = '2020-01-01' WHERE dspace_object = '{key(7, ITEM, VOLUME)}'",
)


@pytest.mark.parametrize("statement", CHANGES)
def test_digests(tmp_path: Path, statement: str) -> None:
    """Whatever changes the record of an item changes its digest."""
    url = written(tmp_path, article())
    with open_repository(url, VIEW) as repository:
        before = repository.shared_digest(), dict(repository.digests())
    change(url, statement)
    assert record(url) != EXPECTED
    with open_repository(url, VIEW) as repository:
        after = repository.shared_digest(), dict(repository.digests())
    assert before[0] == after[0]
    assert before[1].keys() == after[1].keys()
    assert before[1] != after[1]


@pytest.mark.parametrize(
    "changed",
    [
        {"withdrawn": True},
        {"in_archive": False},
        {"discoverable": False},
        {"policies": []},
        {"policies": [Policy(start="2020-01-01")]},
        {"policies": [Policy(end="2099-01-01")]},
    ],
    ids=str,
)
def test_discretion(tmp_path: Path, changed: dict[str, object]) -> None:
    """Of a related item that not everybody may always read nothing is told, nor of what is behind it."""
    knuth, volume = Thing(KNUTH, **changed), Thing(VOLUME, **changed)  # type: ignore[arg-type]
    volume.metadata = [Value("dc.title", "Volume 11")]
    found = record(written(tmp_path, article(knuth, volume)))
    assert found == {
        "dc.contributor.author": ["Dahl, O.-J.", "Dijkstra, Edsger", "Hoare, C. A. R."],
        "dc.contributor.other": ["Association for Computing", "ACM"],
        "dspace.entity.type": ["Publication"],
        "relation.isAuthorOfPublication": [key(7, ITEM, DAHL)],
    }


def test_hidden_fields(tmp_path: Path) -> None:
    """Hidden fields give no values to other fields, and get none."""
    hidden = frozenset({"person.givenName", "journal.title", "organization.legalName"})
    found = record(written(tmp_path, article()), replace(VIEW, hidden=hidden))
    assert found["dc.contributor.author"] == ["Dahl, O.-J.", "Dijkstra, Edsger", "Knuth", "Hoare, C. A. R."]
    assert found.keys() == EXPECTED.keys() - {"journal.title", "dc.contributor.other"}
    rows = article(version=10)
    (name,) = (row for row in rows["metadatavalue"] if row["text_value"] == "Ervin")
    name["security_level"] = 1
    assert "Knuth, Donald" in record(written(tmp_path, rows, 10))["dc.contributor.author"]


def test_latest_versions(tmp_path: Path) -> None:
    """A relationship counts on the side whose other side is the latest version."""
    left, right = ((ARTICLE, KNUTH, 1, place, 0, None, None, status) for place, status in ((2, 1), (2, 2)))
    assert "dc.contributor.author" in record(written(tmp_path, relate(article(), [left])))
    assert AUTHORS[2] not in record(written(tmp_path, relate(article(), [left])))["dc.contributor.author"]
    assert AUTHORS[2] in record(written(tmp_path, relate(article(), [right])))["dc.contributor.author"]


def test_many_items(tmp_path: Path) -> None:
    """On the side that DSpace calls tilted, a relationship is not looked at; in a chain it is."""
    rows = article()
    for kind in rows["relationship_type"]:
        kind["tilted"] = 2
    assert "dc.contributor.other" not in record(written(tmp_path, rows))
    for kind in rows["relationship_type"]:
        kind["tilted"] = 1
    assert record(written(tmp_path, rows)) == EXPECTED


def test_later_rules(tmp_path: Path) -> None:
    """Editors have been among the rules since version 10; the item's own values follow those of the same place."""
    editor = (ARTICLE, KNUTH, 6, 0, 0, None, None, 0)
    assert "dc.contributor.editor" not in record(written(tmp_path, relate(article(), [editor])))
    found = record(written(tmp_path, relate(article(version=10), [editor], 10), 10))
    assert found["dc.contributor.editor"] == ["Knuth, Donald, Ervin"]
    same = (ARTICLE, KNUTH, 1, 1, 0, None, None, 0)
    found = record(written(tmp_path, relate(article(), [same])))
    assert found["dc.contributor.author"] == ["Knuth, Donald, Ervin", "Dijkstra, Edsger", "Hoare, C. A. R."]


def test_first_journal(tmp_path: Path) -> None:
    """Of several volumes that an issue is in, the first counts."""
    rows = relate(article(), [*RELATIONSHIPS, (DAHL, ISSUE, 3, 0, 1, None, None, 0)])
    assert record(written(tmp_path, rows))["journalvolume.identifier.name"] == ["Volume 11"]


def test_published(press: Press) -> None:
    """An author who is called otherwise, or withdrawn, changes the record of the article, on that day alone."""
    rows = article()
    (name,) = (row for row in rows["metadatavalue"] if row["text_value"] == "Knuth")
    (author,) = (row for row in rows["item"] if row["uuid"] == key(7, ITEM, KNUTH))
    press.publish(rows, 0)
    press.publish(rows, 1)
    name["text_value"] = "Knut"
    press.publish(rows, 2)
    press.publish(rows, 3)
    author.update(withdrawn=True, in_archive=False)
    press.publish(rows, 4)
    changes = [(kind, when[:10]) for kind, _, when in press.changes()]
    assert changes == [("updated", f"{day(number):%Y-%m-%d}") for number in (2, 4)]
    (stored,) = [path for path in press.records.rglob("*") if path.is_file()]
    assert "Dijkstra" in stored.read_text("utf-8")
    assert "Knut" not in stored.read_text("utf-8")


def test_older_tables(tmp_path: Path) -> None:
    """A DSpace 7 without versions of related items has no column for them."""
    url = written(tmp_path, article())
    change(url, "ALTER TABLE relationship DROP COLUMN latest_version_status")
    change(url, "ALTER TABLE relationship_type DROP COLUMN tilted")
    assert record(url) == EXPECTED


def test_other_entities(tmp_path: Path) -> None:
    """An entity that is asked for has its own virtual metadata, from the other side."""
    (issue,) = read(written(tmp_path, article()), replace(VIEW, entities=("JournalIssue",)))
    assert {str(each.field): each.value for each in issue.metadata} == {
        "creativeworkseries.issn": "0001-0782",
        "dspace.entity.type": "JournalIssue",
        "journal.title": "Communications",
    }


def test_damaged_copy(tmp_path: Path) -> None:
    """A value that is no text is left out, as it is elsewhere."""
    url = written(tmp_path, article())
    change(url, "UPDATE metadatavalue SET text_value = X'00' WHERE text_value = 'Ervin'")
    assert record(url)["dc.contributor.author"][2] == "Knuth, Donald"
