"""Publishing a repository: what comes of it is what is public, and what goes wrong leaves the last publication."""

import gc
import hashlib
import logging
import os
import re
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from lxml import etree

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication import ExpectedSet
from repo_bridge import BridgeError, DatabaseError, InventoryError
from repo_bridge.inventory import Inventory
from repo_bridge.model import Reason
from repo_bridge.publisher import publish
from repo_bridge.settings import Query
from sample_site.dspace.repository import FORMATS, ITEM, Policy, Sample, Thing, Value, key, rows_of
from tests.kit.examples import examples
from tests.kit.postgresql import END_CONNECTIONS, Server
from tests.kit.reader import XmlEntry
from tests.kit.repository.days import WORD, Stand, lives
from tests.kit.repository.oracle import Oracle, Visible
from tests.kit.repository.press import BASE, SET, UI, Heard, Press, day, ending, files_in, shelf, steady
from tests.kit.repository.samples import every_case

_HANDLE = re.compile(r"123456789/[a-z]*[0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: The media types of files.
TYPES = {each.partition(";")[0] for each in FORMATS}


@pytest.fixture(autouse=True)
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let temporary files lie in a folder, in which none is left."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert [*folder.iterdir()] == []


@pytest.fixture
def press(tmp_path: Path) -> Iterator[Press]:
    """Yield a press; in the end nothing that is temporary is left, and the checker finds nothing."""
    press = Press(tmp_path / "press")
    yield press
    assert temporary(press) == []
    if press.public.exists():
        assert press.findings() == {}


def temporary(press: Press) -> list[Path]:
    """Return what lies about in the output and beside the settings."""
    beside = press.beside / ".resourcesync"
    found = [*press.public.glob(".resourcesync-*"), *press.public.glob("resourcesync/.*")]
    return found + [each for each in beside.glob("*") if each.name not in (".gitignore", "templates", press.kept.name)]


@pytest.mark.skipif(os.name != "posix", reason="there is no umask")
@pytest.mark.parametrize(("umask", "is_said"), [(0o077, True), (0o027, False), (0o022, False)])
def test_what_only_its_owner_can_read(press: Press, umask: int, *, is_said: bool) -> None:
    """A web server that is another user could read nothing: that is said, unless a group may."""
    before = os.umask(umask)
    try:
        notes = press.publish(shelf(1)).notes
    finally:
        os.umask(before)
    assert any(f"Only its owner can read {press.public}/resourcesync: unless" in note for note in notes) == is_said


# What is public, and nothing else


def test_version_that_is_not_said(press: Press) -> None:
    """Where security levels are there, and nothing says that it is DSpace 10, access ends a day earlier, and why."""
    press.version = 10
    item = Thing(1, policies=[Policy(end="2025-06-15")])
    rows = rows_of(Sample(items=[item]), 10)
    for history, schema, items, notes in (
        (rows["schema_version"], None, 1, 0),
        ([], None, 0, 1),
        ([], 10, 1, 0),
        (rows["schema_version"][:1], None, 0, 0),
    ):
        planned = press.dry_run({**rows, "schema_version": history}, schema=schema)
        assert planned.items == items
        assert sum("set schema, or let the role read schema_version" in note for note in planned.notes) == notes


def files_of(item: Visible, version: int) -> dict[str, int]:
    """Return the URIs of public files by the rules 17 and 18, with what tells their bytes."""
    if version == 5:
        return {f"{UI}/bitstream/{item.handle}/{key}/zqfile{key}q.pdf": key for _bundle, key in item.files}
    return {f"{UI}/bitstreams/{key}/download": key for _bundle, key in item.files}


def record_of(item: Visible) -> str:
    """Return the URI of a record."""
    return f"{BASE}/resourcesync/{SET}/records/oai_dc/{item.handle}.xml"


def require_public(press: Press, visible: dict[Any, Visible]) -> None:
    """Compare what is listed, its records and its files, with what is to be seen."""
    listed = press.listed()
    files = {uri: key for item in visible.values() for uri, key in files_of(item, press.version).items()}
    records = {record_of(item): item for item in visible.values()}
    assert listed.keys() == {*records, *files}
    written = {f"{BASE}/resourcesync/{SET}/records/{path}" for path in files_in(press.records)}
    assert written == records.keys()
    for uri, item in records.items():
        data = (press.public / uri.removeprefix(f"{BASE}/")).read_bytes()
        require_record(data, listed[uri], item)
    for uri in files:
        assert (listed[uri].md["length"], listed[uri].md["hash"][:4]) == ("1000", "md5:")


def require_record(data: bytes, entry: XmlEntry, item: Visible) -> None:
    """Compare a record with the values of an item, text by text, its public files, and what is said of it."""
    found = [(etree.QName(element).localname, element.text) for element in etree.fromstring(data)]
    assert {text for name, text in found if name == "format"} <= (TYPES if item.files else set())
    texts = [text for name, text in found if name != "format"]  # no value is one
    values = [value for name, value, _ in item.values if name.startswith("dc.") and value.strip()]
    assert sorted(map(str, texts)) == sorted(values)
    assert entry.md == {
        "hash": f"sha-256:{hashlib.sha256(data).hexdigest()}",
        "length": str(len(data)),
        "type": "application/xml",
    }
    assert {href for rel, href in entry.links if rel == "alternate"} == {f"{UI}/handle/{item.handle}"}


def names_of(visible: dict[Any, Visible], version: int) -> set[str]:
    """Return the handles, keys and words that may be named of what is to be seen."""
    names = {str(item.handle) for item in visible.values()}
    names |= {ending(uri).split("/")[1] for item in visible.values() for uri in files_of(item, version)}
    words = (value for item in visible.values() for name, value, _ in item.values if name.startswith("dc."))
    names |= {word for value in words for word in WORD.findall(value)}
    return names | {f"zqfile{key}q" for item in visible.values() for _, key in item.files if version == 5}


@pytest.mark.promise("Exactly what is public")
@examples(5, 2_000)
@given(lives(2))
def test_no_leak(life: list[Stand]) -> None:
    """Published is what the slow reading of the rules finds, exactly; what was never public is named in no byte."""
    with TemporaryDirectory() as folder:
        press = Press(Path(folder), life[0].version)
        ever: set[str] = set()
        for number, stand in enumerate(life):
            rows = stand.rows()
            visible = Oracle(rows, stand.version, day(number), ZoneInfo("UTC")).visible()
            outcome = press.publish(rows, number, allow_deletions=True)
            require_public(press, visible)
            assert (outcome.items, outcome.records) == (len(visible), len(visible))
            ever |= names_of(visible, stand.version)
            ever |= places_of(visible, stand)
            said = "\n".join(f"{path}\n{data.decode()}" for path, data in press.files().items())
            for pattern in (WORD, _HANDLE, _UUID):
                assert {*pattern.findall(said)} <= ever
            assert {*WORD.findall(f"{outcome}")} <= ever  # examples of what changed
            assert WORD.findall(f"{press.heard.said}") == []
            assert press.findings() == {}


def places_of(visible: dict[Any, Visible], stand: Stand) -> set[str]:
    """Return the handles of collections of what is to be seen."""
    keys = {place for item in visible.values() for place in item.collections}
    rows = stand.rows()["handle"]
    return {row["handle"] for row in rows if row["resource_type_id"] == 3 and row["resource_id"] in keys}


@pytest.mark.promise("Untouched")
def test_database_stays_as_it_is(press: Press) -> None:
    """Not a byte of the database is changed, nor a file left beside it."""
    press.publish(every_case())
    file = press.folder / "repository.db"
    before, beside = file.read_bytes(), {*press.folder.iterdir()}
    file.chmod(0o444)
    more = {"database": f"sqlite:///{file}", "allow_deletions": True}
    press.publish(None, 1, **more)
    press.dry_run(None, 2, **more)
    assert file.read_bytes() == before
    assert {*press.folder.iterdir()} == beside


def test_what_a_dry_run_counts(press: Press) -> None:
    """For each reason, the items that are not public are counted, with their handles; and the files of public ones."""
    found = press.dry_run(every_case())
    expected = {
        Reason.WITHDRAWN: ["4"],
        Reason.NOT_ARCHIVED: [key(7, ITEM, 3), "6", "7"],  # the first has no handle
        Reason.PRIVATE: ["5"],
        Reason.RESTRICTED: ["18", "19"],
        Reason.NOT_TODAY: ["10", "14", "15"],
    }
    assert {reason: each.items for reason, each in found.hidden.items()} == {
        reason: len(numbers) for reason, numbers in expected.items()
    }
    shown = {reason: {each.rpartition("/")[2] for each in hidden.examples} for reason, hidden in found.hidden.items()}
    assert shown == {reason: {*numbers} for reason, numbers in expected.items()}
    assert found.hidden_files == 7  # numbers 81, 123 to 126, 162 and 200


def test_stages(press: Press) -> None:
    """A terminal shows what is being done."""
    press.publish(shelf(1, 2))
    press.dry_run(shelf(1, 2))
    reading = ["opening the database", "reading the public items", "reading the previous publication"]
    assert press.heard.said == [*reading, "writing the documents", *reading]


# The guard


def test_guard(press: Press) -> None:
    """One of five may go; where more do, nothing is written, unless that is meant."""
    press.publish(shelf(*range(1, 11)))
    fewer = shelf(*range(1, 8))
    with press.refused(PublicationError, "6 of 20 resources would be listed as deleted, such as"):
        press.publish(fewer, 1)
    stopped = press.dry_run(fewer, 1)
    assert "6 of 20 resources" in stopped.stopped
    outcome = press.publish(fewer, 1, allow_deletions=True)
    assert outcome.publications[SET].new["deleted"] == 6  # type: ignore[index] # a StrEnum
    press.publish(shelf(*range(1, 7)), 2)


@pytest.mark.promise("No mass deletion by mistake")
@pytest.mark.parametrize(
    (
        "edited",
        "said",
        "stops",
    ),  # how many are withdrawn, embargoed, without their policies, without their file, expunged
    [
        ((3, 0, 0, 0, 0), "explained by item.withdrawn: 6", False),
        ((5, 0, 0, 0, 0), "explained by item.withdrawn: 10", False),
        ((6, 0, 0, 0, 0), "explained by item.withdrawn: 12", True),
        ((0, 4, 0, 0, 0), "explained by resourcepolicy.start_date or end_date: 8", False),
        ((0, 0, 0, 5, 0), "explained by bitstream.deleted: 5", False),
        ((3, 0, 0, 0, 2), "explained by item.withdrawn: 6, unexplained: 4", False),
        ((2, 0, 0, 0, 3), "explained by item.withdrawn: 4, unexplained: 6", True),
        ((1, 0, 3, 0, 0), "explained by item.withdrawn: 2, unexplained: 6", True),
        ((10, 0, 0, 0, 0), "explained by item.withdrawn: 20", True),
    ],
)
def test_guard_and_what_the_database_says(press: Press, edited: tuple[int, ...], said: str, stops: bool) -> None:
    """What it says is withdrawn, embargoed or deleted may go, up to half of the set; lost policies say nothing."""
    withdrawn, embargoed, lost, files, expunged = edited
    press.publish(shelf(*range(1, 11)))
    sample = shelf(*range(1, 11 - expunged))
    items = iter(sample.items)
    for item in islice(items, withdrawn):
        item.in_archive, item.withdrawn = False, True
    for item in islice(items, embargoed):
        item.policies = [Policy(start="2099-01-01")]
    for item in islice(items, lost):
        item.policies = []
    for item in islice(items, files):
        item.bundles[0].files[0].deleted = True
    rows = rows_of(sample, 7)
    deleted = {row["uuid"] for row in rows["bitstream"] if row["deleted"]}
    rows["bundle2bitstream"] = [row for row in rows["bundle2bitstream"] if row["bitstream_id"] not in deleted]
    foreseen = press.dry_run(rows, 1)
    assert f"Deletions {said}." in foreseen.text()
    if stops:
        assert f"are missing; {said})" in foreseen.stopped
        with pytest.raises(PublicationError, match="--allow-deletions") as error:
            press.publish(rows, 1)
        assert str(error.value) == foreseen.stopped
        assert press.publish(rows, 1, allow_deletions=True).warnings == ()
        return
    assert foreseen.stopped == ""
    outcome = press.publish(rows, 1)
    assert f"deletions {said}" in outcome.text("https://e.org")
    (warning,) = outcome.warnings
    assert warning.endswith(f" of 20 resources are listed as deleted: {said}")


def test_guard_of_what_only_changed(server: Server, tmp_path: Path) -> None:
    """A live database, of which only what may have changed is read, says the same."""
    press = Press(tmp_path / "press", server=server)
    press.publish(shelf(*range(1, 101)))
    sample = shelf(*range(1, 101))
    for item in sample.items[:22]:
        item.in_archive, item.withdrawn = False, True
    file = sample.items[22].bundles[0].files[0]
    file.deleted = True
    rows = rows_of(sample, 7)
    gone = next(row["uuid"] for row in rows["bitstream"] if row["deleted"])
    rows["bundle2bitstream"] = [row for row in rows["bundle2bitstream"] if row["bitstream_id"] != gone]
    (warning,) = press.publish(steady(rows), 1).warnings
    assert press.read_some
    assert warning == (
        "45 of 200 resources are listed as deleted: explained by bitstream.deleted: 1, explained by item.withdrawn: 44"
    )


def test_guard_of_a_query(tmp_path: Path) -> None:
    """A row that says that its resource is deleted explains that; one that is missing does not."""
    press, query = Press(tmp_path), Query("SELECT uri, deleted FROM row")
    rows = [(f"https://j.example/{number}", 0) for number in range(20)]
    press.publish_query(query, {"row (uri, deleted)": rows})
    deleted = [(uri, int(number < 9)) for number, (uri, _) in enumerate(rows)]
    (warning,) = press.publish_query(query, {"row (uri, deleted)": deleted}, 1).warnings
    assert warning == "9 of 20 resources are listed as deleted: explained by the column deleted: 9"
    with pytest.raises(PublicationError, match=r"\(4 of 11 files are missing\)$"):
        press.publish_query(query, {"row (uri, deleted)": rows[13:]}, 2)


# What goes wrong


@pytest.mark.promise("Stopped with one message")
def test_missing_table(press: Press) -> None:
    """Without a table nothing is published, and one sentence says which."""
    press.publish(shelf(*range(1, 11)))
    url = press.lay(shelf(*range(1, 12)))
    with closing(sqlite3.connect(press.folder / "repository.db")) as connection:
        connection.execute("DROP TABLE bundle2bitstream")
    with press.refused(DatabaseError, "bundle2bitstream"):
        press.publish(None, 1, database=url)


@pytest.mark.promise("Stopped with one message")
@pytest.mark.parametrize("table", ["metadatavalue", "item"])
def test_damaged_database(press: Press, table: str) -> None:
    """A database that turns out to be damaged while it is read leaves all as it was."""
    press.publish(shelf(*range(1, 300)))
    sample = shelf(*range(1, 300))
    sample.items[150].metadata = [Value("dc.title", "Another")]
    url = press.lay(sample)
    file = press.folder / "repository.db"
    with closing(sqlite3.connect(file)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        pages = _leaves(connection, table, size)
    with file.open("r+b") as stream:
        stream.seek((pages[len(pages) // 2] - 1) * size)
        stream.write(b"\xff" * size)
    with press.refused(DatabaseError, "malformed"):
        press.publish(None, 1, database=url)


def _leaves(connection: sqlite3.Connection, table: str, size: int) -> list[int]:
    """Return the leaf pages of a table of two levels, by what its root page says."""
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    file = connection.execute("PRAGMA database_list").fetchone()[2]
    data = Path(file).read_bytes()[(root - 1) * size : root * size]
    assert data[0] == 5, "an inner page of a table"
    count = int.from_bytes(data[3:5])
    cells = [int.from_bytes(data[12 + 2 * place : 14 + 2 * place]) for place in range(count)]
    return [int.from_bytes(data[cell : cell + 4]) for cell in cells]


class Killer(Heard):
    """Ends the connections of the bridge at one stage."""

    def __init__(self, url: str, stage: str) -> None:
        """Take where, and when."""
        super().__init__()
        self._url, self._stage = url, stage

    def say(self, what: str) -> None:
        """End them."""
        if what == self._stage:
            Server.execute(self._url, END_CONNECTIONS)


@pytest.mark.promise("Stopped with one message")
@pytest.mark.parametrize(
    "stage", ["comparing the repository with the last run", "reading the items that may have changed"]
)
def test_connection_drops(press: Press, server: Server, stage: str) -> None:
    """A connection that drops is one sentence, and the last publication stays."""
    url = server.database(rows_of(shelf(*range(1, 40)), 7), 7)
    press.publish(None, 0, database=url)
    server.execute(url, "UPDATE metadatavalue SET text_value = 'Another' WHERE text_value = 'Title 7'")
    with press.refused(DatabaseError, "cannot be read"):
        publish(press.settings(1, database=url), Killer(url, stage))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of the driver: it cannot close its cursors any more
        gc.collect()


@pytest.mark.promise("Stopped with one message")
def test_passwords_are_in_no_message(press: Press) -> None:
    """Whatever keeps a database from being opened, its password is not shown, wherever it was given."""
    for url, password in {
        "postgresql://me:hunter2@127.0.0.1:1/dspace": None,
        "postgresql://me@127.0.0.1:1/dspace": "hunter2",
        "postgresql://me@127.0.0.1:1/dspace?password=hunter2": None,
        "mysql://me:hunter2@127.0.0.1:1/dspace": None,
        "postgresql://me:hunter2@127.0.0.1:x/dspace": None,
    }.items():
        settings = press.settings(database=url, password=password)
        with pytest.raises(BridgeError) as caught:
            publish(settings, press.heard)
        assert "hunter2" not in f"{caught.value} {settings} {press.heard.said}"
        assert "hunter2" not in str(caught.value.__cause__)
    assert [*press.public.rglob("*.xml")] == []
    press.public.rmdir()


def test_no_room_beside(press: Press) -> None:
    """Where no folder can be made beside the settings, one sentence says so, at the first publication too."""
    press.beside.mkdir(parents=True)
    (press.beside / ".resourcesync").write_text("a file")
    with pytest.raises(
        PublicationError, match=r"no work directory can be created .*: move away the file or folder in its place$"
    ):
        press.publish(shelf(1))
    assert not press.public.exists() or [*press.public.iterdir()] == []
    (press.beside / ".resourcesync").unlink()
    if press.public.exists():
        press.public.rmdir()


def test_nothing_can_be_kept(
    press: Press, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Who has published has not failed: where the inventory cannot be kept, a warning says so; the next run goes on."""
    press.server = server
    press.settings()
    press.kept.parent.mkdir()
    press.kept.write_text("a file in its place")
    with caplog.at_level(logging.WARNING):
        press.publish(shelf(1, 2))
        assert "the next run will take longer, because" in caplog.text
        press.kept.unlink()
        caplog.clear()

        def fail(_: object) -> None:
            message = "the disk is full"
            raise InventoryError(message)

        with monkeypatch.context() as patch:
            patch.setattr(Inventory, "close", fail)
            assert press.publish(shelf(1, 2, 3), 1).items == 3
    assert "cannot be written: the disk is full" in caplog.text
    assert not press.kept.exists()
    press.publish(shelf(1, 2, 3, 4), 2)
    assert len(press.listed()) == 8


@pytest.mark.promise("Stopped with one message")
def test_the_file_that_fails_is_named(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails is said with the file that it fails at; where that is not known, with the output."""
    errors = [OSError(28, "No space left on device", "/mnt/x.db"), OSError(28, "No space left on device")]
    said = []
    for error in errors:
        monkeypatch.setattr("repo_bridge.publisher.recovered", Mock(side_effect=error))
        with pytest.raises(PublicationError) as caught:
            press.publish(shelf(1))
        said.append(str(caught.value))
    reason = f"{press.public} cannot be written: No space left on device"
    assert said == [f"{reason}: /mnt/x.db: free disk space", f"{reason}: free disk space"]


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="there is no file here that nobody can read")
def test_a_file_that_cannot_be_read(press: Press) -> None:
    """A dump that is there and cannot be read is one sentence."""
    with pytest.raises(DatabaseError, match=r"^/proc/self/mem cannot be read: Input/output error"):
        press.dry_run(None, database="/proc/self/mem")


# What it goes on from


# Looking first


def test_foresee(press: Press) -> None:
    """What would be published is reported with counts and examples; nothing is made or changed."""
    first = press.dry_run(shelf(*range(1, 11)))
    assert not press.public.exists()
    assert [*press.beside.iterdir()] == []
    (press.beside / ".resourcesync").write_text("a file")  # it needs no room, either: somebody else may look
    assert press.dry_run(shelf(1)).items == 1
    (press.beside / ".resourcesync").unlink()
    assert (first.items, first.records, first.files, first.stopped) == (10, 10, 10, "")
    assert (first.sets[SET].first, first.sets[SET].resources, first.sets[SET].changes) == (True, 20, {})
    assert len(first.sets[SET].listed) == 10
    press.publish(shelf(*range(1, 11)))
    before, kept = press.files(), files_in(press.kept)
    sample = shelf(*range(2, 11), 12, 13)
    sample.items[0].metadata = [Value("dc.title", "Another")]
    planned = press.dry_run(sample, 1)
    assert (press.files(), files_in(press.kept)) == (before, kept)
    press.publish(sample, 1)
    changes = press.changes()
    expected = planned.sets[SET]
    assert isinstance(expected, ExpectedSet)
    assert not expected.first
    assert expected.changes == {"created": 4, "updated": 1, "deleted": 2}
    for kind, uris in expected.examples.items():
        assert {ending(uri) for uri in uris} == {what for each, what, _ in changes if each == kind}


def test_a_time_to_come(press: Press) -> None:
    """What is under an embargo is not published early by a wrong time; what it would be, may be looked at."""
    ahead = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    with pytest.raises(SettingsError, match=r"in the future, .*--dry-run"):
        press.publish(shelf(1), at=ahead)
    assert not press.public.exists()
    assert press.dry_run(shelf(1), at=ahead).items == 1


def test_a_time_before_the_last_publication(press: Press) -> None:
    """What may no longer be read is not published again, by a clock that went back; a dry run says so."""
    sample = shelf(*range(1, 10))
    sample.items[0].policies = [Policy(end="2025-06-17")]
    for number in (1, 2):
        press.publish(sample, number)
    message = "at is 2025-06-16T12:00:00Z, earlier than the last publication, which shows the repository as of 2025"
    with press.refused(PublicationError, message):
        assert message in press.dry_run(sample, 1).stopped
        press.publish(sample, 1)
