"""Opening databases: read-only, at one moment, and one sentence for what goes wrong."""

import gc
import logging
import socket
import sqlite3
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from sqlalchemy import make_url, text

from repo_bridge import DatabaseError
from repo_bridge.reading import database
from repo_bridge.reading.database import open_database
from repo_bridge.reading.repository import DSpaceRepository, open_repository
from sample_site.dspace.repository import Sample, Thing, rows_of
from sample_site.dspace.tables import write_sqlite
from tests.kit.postgresql import END_CONNECTIONS, Server
from tests.kit.repository.reading import VIEW, read, url_of

SECRET = "s3cr3t/ä@:"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a repository of two items in SQLite, under an odd name."""
    return write_sqlite(rows_of(Sample(items=[Thing(1), Thing(2)]), 7), 7, tmp_path / "a copy?#%20.db")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("repository.db", r"the database is not a valid URL: write postgresql://USER@HOST/DATABASE or sqlite:///FILE"),
        ("", r"the database is not a valid URL"),
        ("postgresql://user@host:port/x", r"the database is not a valid URL"),
        ("mysql://root:s3cr3t@127.0.0.1:1/dspace", r"the database 127\.0\.0\.1:1/dspace cannot be read: Can't connect"),
        ("oracle://root:s3cr3t@localhost/dspace", r"oracle databases cannot be read"),
        ("sqlite://", r"there is no database in memory"),
        ("sqlite:////nowhere/export.db", r"there is no database /nowhere/export\.db"),
    ],
)
def test_no_database(url: str, message: str) -> None:
    """What is no URL, of another database, or of a file that is not there, is said in one sentence."""
    with pytest.raises(DatabaseError, match=rf"\A{message}") as caught, open_database(url):
        pass
    assert "s3cr3t" not in str(caught.value)


def test_no_server(tmp_path: Path) -> None:
    """A server that does not answer is said, without the password."""
    for url in (
        f"postgresql://dspace:s3cr3t@/dspace?host={tmp_path}",
        f"postgresql+psycopg2://dspace@/dspace?host={tmp_path}&password=s3cr3t",
    ):
        with pytest.raises(DatabaseError, match=r"cannot be read: connection") as caught, open_database(url):
            pass
        assert "s3cr3t" not in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_no_sqlite(tmp_path: Path) -> None:
    """A file that is no database, or one that is cut short, is said to be so."""
    file = tmp_path / "x.db"
    file.write_bytes(b"-- PostgreSQL database dump" * 100)
    with pytest.raises(DatabaseError, match="cannot be read: file is not a database"):
        read(url_of(file))


def test_cut_short_sqlite(copy: Path) -> None:
    """A database that is cut short is an error, unless nothing was cut that is read; never fewer items."""
    data = copy.read_bytes()
    whole = read(url_of(copy))
    errors = 0
    for length in range(512, len(data), 4096):
        copy.write_bytes(data[:length])
        try:
            assert read(url_of(copy)) == whole
        except DatabaseError:
            errors += 1
    assert errors > len(data) / 4096 / 2


def test_any_name(copy: Path) -> None:
    """A file of any name is opened, and not another."""
    for url in (
        url_of(copy),
        url_of(copy).replace("%", "%25").replace("?", "%3F"),
        url_of(copy).replace("sqlite", "sqlite+x"),
    ):
        assert len(read(url)) == 2


@pytest.mark.promise("Untouched")
def test_nothing_is_written(copy: Path, server: Server) -> None:
    """Nothing can be written, in SQLite or in PostgreSQL."""
    url = server.database(rows_of(Sample(items=[Thing(1), Thing(2)]), 7), 7)
    for each in (url_of(copy), url):
        for statement in ("DELETE FROM item", "CREATE TABLE x (y integer)", "UPDATE item SET withdrawn = true"):
            with pytest.raises(DatabaseError, match="read"), open_database(each) as connection:
                connection.execute(text(statement))
        assert len(read(each)) == 2


@pytest.mark.parametrize("table", ["resourcepolicy", "versionitem"])
def test_missing_grant(server: Server, table: str) -> None:
    """A role that may not read a table is told which, and what to do; without that of the schema's version it reads."""
    url = server.database(rows_of(Sample(items=[Thing(1)], versions=[(1,)]), 10), 10)
    with server.reader(url, "PASSWORD 'secret'", "REVOKE SELECT ON schema_version FROM {role}") as reader:
        for address, expected in ((url, (10, True)), (reader, (7, False))):
            with open_repository(address, VIEW) as repository:
                assert (repository.version, repository.version_is_certain) == expected
        server.execute(url, f"REVOKE SELECT ON {table} FROM {make_url(reader).username}")
        with pytest.raises(DatabaseError, match=rf"denied for table {table}: as DSpace's own role, run GRANT SELECT"):
            read(reader)


def test_one_moment(copy: Path, server: Server) -> None:
    """What others write while a repository is read is not seen."""
    url = server.database(rows_of(Sample(items=[Thing(1), Thing(2)]), 7), 7)
    with open_repository(url, VIEW) as repository, psycopg.connect(Server.dsn(url)) as other:
        other.execute("DELETE FROM item")
        other.execute("DELETE FROM handle")
        other.commit()
        assert [item.handle is None for item in repository.items()] == [False, False]
    assert read(url) == []
    connection = sqlite3.connect(copy, timeout=0)
    connection.execute("PRAGMA journal_mode = WAL")
    with open_repository(url_of(copy), VIEW) as repository:
        with connection:
            connection.execute("DELETE FROM item")
        assert len([*repository.items()]) == 2
    assert read(url_of(copy)) == []
    with open_database(url_of(copy)) as opened:
        with connection:
            connection.execute("DELETE FROM handle")
        assert opened.execute(text("SELECT count(*) FROM handle")).scalar_one() == 2
    connection.close()


@pytest.mark.parametrize("dead", [False, True])
def test_dropped_connection(
    server: Server, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, dead: bool
) -> None:
    """A connection that drops, even with its server, while items are read is one sentence, and no fewer items."""
    url = server.database(rows_of(Sample(items=[Thing(number) for number in range(1, 6000)]), 7), 7)
    relay = Relay(url) if dead else None
    monkeypatch.setattr(logging.root, "handlers", [])  # those of pytest hide what nobody handles
    with (
        pytest.raises(DatabaseError, match=r"\Athe database .* cannot be read: "),
        open_repository(relay.url if relay else url, VIEW) as repository,
    ):
        _read_and_kill(repository, relay.die if relay else partial(server.execute, url, END_CONNECTIONS))
    gc.collect()
    assert capfd.readouterr().err == ""


class Relay:
    """Passes connections on to a server, until it dies with all of them."""

    def __init__(self, url: str) -> None:
        """Listen on some port, for the server of a URL."""
        self._folder = Path(str(make_url(url).query["host"]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        port = self._listener.getsockname()[1]
        self.url = make_url(url).set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._folder / ".s.PGSQL.5432"))
                self._sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    Thread(target=self._copy, args=pair, daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def die(self) -> None:
        """End all connections, and accept no other."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _read_and_kill(repository: DSpaceRepository, kill: Callable[[], object]) -> None:
    """Read all items, and do this after the first."""
    for number, _item in enumerate(repository.items()):
        if number == 0:
            kill()


class Refusing:
    """A server that asks for a password in plain text, keeps what it is given, and refuses it."""

    def __init__(self) -> None:
        """Listen on some port."""
        self.given = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = Thread(target=self._answer)
        self._thread.start()

    def _answer(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            while connection.recv(4096)[4:8] in {b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"}:
                connection.sendall(b"N")  # neither TLS nor GSSAPI
            connection.sendall(b"R" + struct.pack("!II", 8, 3))
            self.given = connection.recv(4096)[5:].rstrip(b"\0")
            reason = b"SFATAL\0C28P01\0Mpassword " + self.given + b" is wrong\0\0"
            connection.sendall(b"E" + struct.pack("!I", len(reason) + 4) + reason)

    def close(self) -> None:
        """End, once it has answered."""
        self._thread.join(10)
        self._listener.close()


@pytest.mark.parametrize(("options", "environment"), [("", ""), ("?password=in-the-options", ""), ("", "of-the-shell")])
def test_password(options: str, environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password of the file is used if neither the URL nor `PGPASSWORD` has one; no message has it."""
    monkeypatch.setenv("PGPASSWORD", environment)
    refusing = Refusing()
    url = f"postgresql://dspace@127.0.0.1:{refusing.port}/dspace{options}"
    with pytest.raises(DatabaseError) as caught, open_database(url, password=None if options else SECRET):
        pass
    refusing.close()
    password = "in-the-options" if options else environment or SECRET
    assert refusing.given.decode() == password
    assert str(caught.value).startswith(f"the database 127.0.0.1:{refusing.port}/dspace cannot be read: ")
    assert password not in str(caught.value)
    assert "is wrong" in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://dspace:other@h/d", "postgresql://dspace@h/d?passfile=x"])
def test_password_of_the_url_is_first(url: str) -> None:
    """A password in the URL is before the one of the configuration."""
    address = database._address(url, "mine")
    assert address.password == ("other" if "other" in url else "mine")


def test_search_path(server: Server) -> None:
    """Tables in another schema are found by the option of the URL."""
    url = server.database(rows_of(Sample(items=[Thing(1)]), 7), 7)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    moves = (f"ALTER TABLE public.{name} SET SCHEMA dspace" for (name,) in server.execute(url, tables))
    server.execute(url, "CREATE SCHEMA dspace", *moves)
    with pytest.raises(DatabaseError, match="search_path"):
        read(url)
    searching = make_url(url).update_query_dict({"options": "-csearch_path=dspace"})
    assert len(read(searching.render_as_string(hide_password=False))) == 1


def test_errors_of_ours_pass(copy: Path) -> None:
    """What the reader itself raises is not taken for an error of the database."""
    with pytest.raises(ZeroDivisionError), open_database(url_of(copy)):
        raise ZeroDivisionError
