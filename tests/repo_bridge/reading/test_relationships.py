"""Virtual metadata: what items have from the items they are related to, as DSpace's `virtual-metadata.xml` says."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from repo_bridge.access import AnonymousView
from repo_bridge.reading.dump import import_dump
from repo_bridge.reading.repository import open_repository
from sample_site.dspace.repository import ITEM, STAFF, Policy, Thing, Value, key
from tests.kit.postgresql import Server
from tests.kit.repository.entities import ARTICLE, DAHL, ISSUE, JOURNAL, KNUTH, RELATIONSHIPS, VOLUME, article, relate
from tests.kit.repository.press import Press, day
from tests.kit.repository.reading import VIEW, read, url_of, written
from tests.kit.repository.samples import AT

AUTHORS = ["Dahl, O.-J.", "Dijkstra, Edsger", "Knuth, Donald, Ervin", "Hoare, C. A. R."]


def record(url: str, view: AnonymousView = VIEW) -> dict[str, list[str]]:
    """Return the metadata of the article, by field."""
    found: dict[str, list[str]] = {}
    (item,) = read(url, view)
    for value in item.metadata:
        found.setdefault(str(value.field), []).append(value.value)
    return found


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


def test_every_source(tmp_path: Path, server: Server) -> None:
    """A live database, a dump and a copy give the same items."""
    url = server.database(article(), 7)
    live = make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    dump = server.dump(url, tmp_path / "dump", "--format=plain")
    import_dump(dump, tmp_path / "export.db")
    assert record(live) == EXPECTED
    with open_repository(live, VIEW) as repository:
        assert [*repository.items_of([key(7, ITEM, ARTICLE)])] == [*repository.items()]
    assert read(live) == read(url_of(tmp_path / "export.db")) == read(written(tmp_path, article()))


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
    f"UPDATE resourcepolicy SET start_date = '2099-01-01' WHERE dspace_object = '{key(7, ITEM, VOLUME)}'",
)


@pytest.mark.parametrize("statement", CHANGES)
def test_changes(tmp_path: Path, statement: str) -> None:
    """Each of these changes the record of the article, and those to types of relationships what all items share."""
    url = written(tmp_path, article())
    with open_repository(url, VIEW) as repository:
        before = repository.shared_digest()
    change(url, statement)
    assert record(url) != EXPECTED
    with open_repository(url, VIEW) as repository:
        assert (before != repository.shared_digest()) == ("relationship_type" in statement)


@pytest.mark.parametrize(
    "changed",
    [
        {"withdrawn": True},
        {"in_archive": False},
        {"discoverable": False},
        {"policies": []},
        {"policies": [Policy(start="2099-01-01")]},
        {"policies": [Policy(end="2020-01-01")]},
        {"policies": [Policy(start="2020-01-01", end="2021-01-01"), Policy(group=STAFF)]},
    ],
    ids=str,
)
def test_discretion(tmp_path: Path, changed: dict[str, object]) -> None:
    """Of a related item that not everybody may read today nothing is reported, nor of what is behind it."""
    knuth, volume = Thing(KNUTH, **changed), Thing(VOLUME, **changed)  # type: ignore[arg-type]
    volume.metadata = [Value("dc.title", "Volume 11")]
    found = record(written(tmp_path, article(knuth, volume)))
    assert found == {
        "dc.contributor.author": ["Dahl, O.-J.", "Dijkstra, Edsger", "Hoare, C. A. R."],
        "dc.contributor.other": ["Association for Computing", "ACM"],
        "dspace.entity.type": ["Publication"],
        "relation.isAuthorOfPublication": [key(7, ITEM, DAHL)],
    }


def test_dates(server: Server) -> None:
    """A related item with a policy that is valid today gives values; it leads to the items that have them."""
    knuth = Thing(KNUTH, policies=[Policy(start="2025-06-10", end="2099-01-01"), Policy(end="2020-01-01")])
    url = server.database(article(knuth), 7)
    assert record(url) == EXPECTED
    assert AUTHORS[2] not in record(url, replace(VIEW, at=AT - timedelta(days=6)))["dc.contributor.author"]
    with open_repository(url, VIEW) as repository:
        assert repository.dated_items(AT) == set()
        assert repository.dated_items(AT - timedelta(days=6)) == {key(7, ITEM, each) for each in (ARTICLE, KNUTH)}


def test_dependents(server: Server) -> None:
    """An item leads to those that have values from it, or over it; the article has no fields for what leads from it."""
    url = server.database(article(), 7)
    with open_repository(url, VIEW) as repository:
        for item, expected in {
            ARTICLE: [],
            KNUTH: [ARTICLE],
            ISSUE: [ARTICLE],
            VOLUME: [ARTICLE, ISSUE],
            JOURNAL: [ARTICLE, ISSUE, VOLUME],
        }.items():
            assert repository.dependents([key(7, ITEM, item)]) == {key(7, ITEM, number) for number in expected}
        assert repository.dependents([]) == set()


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
