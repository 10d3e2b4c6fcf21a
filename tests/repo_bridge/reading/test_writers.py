"""Row versions, whoever writes the rows and however: what has changed is found at the first look that can see it."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from repo_bridge import inventory
from repo_bridge.reading.repository import DSpaceRepository
from tests.kit.postgresql import Home, NoServerError, Server, own_home, started
from tests.repo_bridge.reading.test_changes import Filled, Life

#: What changes the title of a public item, and that of another.
_TITLE = "text_value LIKE 'No files%'"
EDIT = f"UPDATE metadatavalue SET text_value = text_value || '!' WHERE {_TITLE}"
OTHER = "UPDATE metadatavalue SET text_value = text_value || '!' WHERE text_value LIKE 'A penny%'"

LOOK = "look"

#: What two writers do, 1 and 2, and when there is a look; the last one must find the change.
WRITERS: dict[str, Sequence[str]] = {
    "began before the last look": ["1 BEGIN", f"1 {EDIT}", f"2 {OTHER}", LOOK, "1 COMMIT"],
    "began before two looks": ["1 BEGIN", f"1 {EDIT}", f"2 {OTHER}", LOOK, f"2 {OTHER}", LOOK, "1 COMMIT"],
    "wrote after the last look": ["1 BEGIN", "1 SELECT txid_current()", f"2 {OTHER}", LOOK, f"1 {EDIT}", "1 COMMIT"],
    "in a savepoint": ["1 BEGIN", f"1 {OTHER}", "1 SAVEPOINT a", f"1 {EDIT}", LOOK, "1 RELEASE a", "1 COMMIT"],
    "in a savepoint at last": [
        *("1 BEGIN", f"1 {OTHER}", "1 SAVEPOINT a", f"1 {EDIT}", "1 ROLLBACK TO a", LOOK, f"1 {EDIT}", "1 COMMIT")
    ],
    "prepared": ["1 BEGIN", f"1 {EDIT}", "1 PREPARE TRANSACTION 'p'", f"2 {OTHER}", LOOK, "2 COMMIT PREPARED 'p'"],
    "on conflict": [
        (
            "1 INSERT INTO metadatavalue (metadata_value_id, metadata_field_id, dspace_object_id) "
            f"SELECT metadata_value_id, metadata_field_id, dspace_object_id FROM metadatavalue WHERE {_TITLE} "
            "ON CONFLICT (metadata_value_id) DO UPDATE SET text_value = metadatavalue.text_value || '!'"
        )
    ],
    "frozen": [f"1 {EDIT}", "2 VACUUM FREEZE metadatavalue", "2 VACUUM FULL metadatavalue"],
    "locked meanwhile": [
        *("1 BEGIN", f"1 SELECT 1 FROM metadatavalue WHERE {_TITLE} FOR UPDATE", LOOK, f"1 {EDIT}", "1 COMMIT")
    ],
    "as a replica": ["1 SET session_replication_role = replica", f"1 {EDIT}"],
}


class Look:
    """Looks at a repository again and again, with the inventory of the last look, and each time as if for the first."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.last = life.fill(life.folder / "kept.db")

    def __call__(self) -> Filled:
        """Look, an hour later."""
        self.life.at += timedelta(hours=1)
        self.last = self.life.fill(self.life.folder / "kept.db")
        return self.last

    def whole(self) -> Filled:
        """Look; what is found must be what is there."""
        self()
        self.check()
        return self.last

    def check(self) -> None:
        """Compare what the last look found with what is there."""
        fresh = self.life.folder / "fresh.db"
        assert self.last.entries == self.life.fill(fresh).entries
        fresh.unlink()


@pytest.fixture(autouse=True)
def few_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few items of the small repository not count as many, which are read with everything else."""
    monkeypatch.setattr(inventory, "_MANY", 1)


@pytest.fixture(scope="module")
def look(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Look]:
    """Yield the looks at a repository with every case."""
    life = Life(server, tmp_path_factory.mktemp("life"), 1)
    yield Look(life)
    server.drop(life.url)


@pytest.mark.promise("Nothing missed")
@pytest.mark.parametrize("name", WRITERS)
def test_every_writer(server: Server, look: Look, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes, what was written leads to the change; not all sums are compared."""
    before = look.last
    with ExitStack() as stack, monkeypatch.context() as patch:
        patch.setattr(DSpaceRepository, "sums", None)
        dsn, given = server.dsn(look.life.url), "-c lock_timeout=60s"
        connect = [psycopg.connect(dsn, autocommit=True, options=given) for _ in range(2)]
        writers = {str(number): stack.enter_context(each) for number, each in enumerate(connect, 1)}
        for step in WRITERS[name]:
            if step == LOOK:
                before = look()
            else:
                writers[step[0]].execute(step[2:].encode())
        assert look().entries != before.entries
    assert look.last.changed is not None
    look.check()


def test_copied_frozen(server: Server, look: Look) -> None:
    """Rows that `COPY FREEZE` writes say who wrote them."""
    before = look.last
    with psycopg.connect(server.dsn(look.life.url)) as writer:
        rows = writer.execute("SELECT collection_id, item_id FROM collection2item").fetchall()
        writer.execute("TRUNCATE collection2item")
        with writer.cursor().copy("COPY collection2item (collection_id, item_id) FROM STDIN (FREEZE)") as copy:
            for row in rows[1:]:
                copy.write_row(row)
    assert look.whole().entries != before.entries


#: What changes values of many rows and writes none.
COLUMNS = {
    "renamed": [
        "ALTER TABLE resourcepolicy RENAME COLUMN start_date TO started",
        "ALTER TABLE resourcepolicy RENAME COLUMN end_date TO start_date",
        "ALTER TABLE resourcepolicy RENAME COLUMN started TO end_date",
    ],
    "replaced": [
        "ALTER TABLE resourcepolicy DROP COLUMN start_date",
        "ALTER TABLE resourcepolicy ADD COLUMN start_date date DEFAULT '2099-01-01'",
    ],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_other_columns(server: Server, look: Look, name: str) -> None:
    """A column that gets another name, or is another one with a default, is found too, because everything is read."""
    before = look.last
    server.execute(look.life.url, *COLUMNS[name])
    assert look.whole().entries != before.entries
    assert look.last.changed is None


@pytest.fixture
def home() -> Iterator[Home]:
    """Yield the home of servers that the test starts."""
    try:
        with own_home() as home:
            yield home
    except NoServerError as error:
        pytest.skip(str(error))


def edit(url: str, text: str) -> None:
    """Change the title of a public item into a text."""
    Server.execute(url, f"UPDATE metadatavalue SET text_value = 'No files{text}' WHERE {_TITLE}")


def copied(home: Home, name: str) -> Path:
    """Return a copy of the cluster of a server that does not run."""
    copy = home.folder / name
    subprocess.run(["cp", "-a", home.data, copy], check=True)
    return copy


@pytest.mark.promise("Nothing missed")
def test_restored_files(home: Home, tmp_path: Path) -> None:
    """After the files of the server were restored, other rows have the numbers of transactions that were seen."""
    server = Server(f"postgresql://postgres@/postgres?host={home.folder}", home.programs)
    with started(home):
        life = Life(server, tmp_path, 1)
    backup = copied(home, "backup")
    with started(home):
        look = Look(life)
        edit(life.url, " before")
        before = look.whole()
    with started(home, backup):
        edit(life.url, " after")
        assert look.whole().entries != before.entries
        assert look.last.total == before.total  # the sum of all rows cannot tell
        edit(life.url, " later")
        assert look.whole().changed is not None


def test_standby(home: Home, tmp_path: Path) -> None:
    """A standby is read as its primary is, by row versions too, and so it is when it becomes the primary."""
    server = Server(f"postgresql://postgres@/postgres?host={home.folder}", home.programs)
    with started(home):
        life = Life(server, tmp_path, 1)
    backup = copied(home, "standby")
    (backup / "standby.signal").touch()
    followed = f"primary_conninfo = 'host={home.folder} user=postgres'\nhot_standby_feedback = on\n"
    with (backup / "postgresql.auto.conf").open("a") as configuration:
        configuration.write(followed)
    primary, life.url = life.url, f"{life.url}&port=5433"
    with started(home), started(home, backup, "-p 5433"):
        with psycopg.connect(server.dsn(primary)) as unfinished:
            unfinished.execute(OTHER.encode())
            look = Look(life)
            edit(primary, " on the primary")
            wait_for(life.url, primary)
            before = look.whole()
            assert before.changed is not None
        wait_for(life.url, primary)
        assert look.whole().entries != before.entries
        assert look.last.changed is not None
        assert server.execute(life.url, "SELECT pg_is_in_recovery(), pg_promote()") == [(True, True)]
        edit(life.url, " on the former standby")
        assert look.whole().entries != before.entries


def wait_for(standby: str, primary: str) -> None:
    """Wait until a standby has replayed what its primary has written."""
    with psycopg.connect(Server.dsn(primary)) as written, psycopg.connect(Server.dsn(standby), autocommit=True) as read:
        (place,) = written.execute("SELECT pg_current_wal_lsn()::text").fetchone() or ("",)
        for _ in range(600):
            (there,) = read.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [place]).fetchone() or (False,)
            if there:
                return
            time.sleep(0.1)
    pytest.fail("the standby does not follow its primary")
