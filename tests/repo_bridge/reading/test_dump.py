"""Dumps: rows as they were, and one sentence for what cannot be read."""

import gzip
import re
import sqlite3
import stat
import subprocess
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import SettingsError
from repo_bridge import BridgeError, DumpError
from repo_bridge.reading.dump import Dump, import_dump, parse_head, parse_row
from sample_site.dspace.repository import Sample, Thing, Value, rows_of
from sample_site.dspace.tables import TABLES, columns_of, tuples
from tests.kit.postgresql import Server
from tests.kit.repository.reading import read, url_of
from tests.kit.repository.samples import PUBLIC, every_case

#: The bytes between two places where a dump is damaged.
STRIDE = 97 if settings().max_examples > 1_000 else 997
_ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def field(value: object) -> str:
    """Write a value as PostgreSQL does."""
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    return "".join(_ESCAPES.get(each, each) for each in str(value))


def plain_dump(sample: Sample, version: int, schema: str = "public") -> str:
    """Write a repository as a plain dump, by hand."""
    rows = rows_of(sample, version)
    parts = ["--\n-- PostgreSQL database dump\n--\n\n\\restrict Ab1\n\nSET client_encoding = 'UTF8';\n"]
    for table in TABLES[version]:
        names = ", ".join(columns_of(version, table))
        lines = ["\t".join(map(field, row)) for row in tuples(rows, version, table)]
        parts.append("\n".join([f"COPY {schema}.{table} ({names}) FROM stdin;", *lines, "\\.\n\n"]))
    parts.append("--\n-- PostgreSQL database dump complete\n--\n\n\\unrestrict Ab1\n")
    return "".join(parts)


SMALL = plain_dump(Sample(items=[Thing(1, metadata=[Value("dc.title", "tab\t\\back\nslash é")])]), 7)


def importing(text: str | bytes, folder: Path) -> Path:
    """Import a dump; give the database."""
    (folder / "dump").write_bytes(text.encode() if isinstance(text, str) else text)
    import_dump(folder / "dump", folder / "export.db")
    return folder / "export.db"


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
def test_rows(values: list[str | None]) -> None:
    """A row that is written as PostgreSQL writes it is read as it was."""
    line = "\t".join(map(field, values)).encode()
    assert b"\n" not in line
    assert parse_row(line) == values


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (rb"a\101\x42\x4g", ["aAB\x04g"]),
        (rb"\7\08\400", ["\x07\x008\x00"]),
        (rb"\8\9", ["89"]),
        (rb"\q\"\.", ['q".']),
        (rb"\\N	\N	N", ["\\N", None, "N"]),
        (rb"", [""]),
        (rb"	", ["", ""]),
        (rb"\x", ["x"]),
    ],
)
def test_other_escapes(line: bytes, fields: list[str | None]) -> None:
    """Octal, hexadecimal and needless escapes are read too."""
    assert parse_row(line) == fields
    with pytest.raises(ValueError, match="in the middle of an escape"):
        parse_row(rb"a	b\\\ "[:-1])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"COPY public.item (uuid, in_archive) FROM stdin;\n", ("public", "item", ["uuid", "in_archive"])),
        (b"COPY item (uuid) FROM stdin;", ("", "item", ["uuid"])),
        (b'COPY "my ""own""".item ("we""ird", "a, b") FROM stdin;\n', ('my "own"', "item", ['we"ird', "a, b"])),
        (b"COPY public.item (uuid) TO stdout;\n", None),
        (b"COPY public.item FROM stdin;\n", None),
        (b"SELECT 1;\n", None),
    ],
)
def test_heads(line: bytes, expected: tuple[str, str, list[str]] | None) -> None:
    """What rows follow is reported by its head, names in quotes too."""
    copied = parse_head(line, iter(()))
    assert (copied and (copied.schema, copied.table, copied.columns)) == expected


def test_plain_by_hand(tmp_path: Path) -> None:
    """A plain dump that was written by hand is read as the repository that it is."""
    for version in (5, 6, 7, 10):
        assert len(read(url_of(importing(plain_dump(every_case(), version), tmp_path)))) == len(PUBLIC)


def test_what_is_imported(tmp_path: Path) -> None:
    """Only tables and columns that are needed are imported, and their rows are counted."""
    (tmp_path / "dump").write_text(plain_dump(every_case(), 7), "utf-8")
    imported = import_dump(tmp_path / "dump", tmp_path / "export.db")
    assert imported.version == 7
    assert imported.rows["item"] == len(every_case().items)
    assert imported.rows["versionitem"] == 5
    assert "eperson" not in imported.rows
    with closing(sqlite3.connect(tmp_path / "export.db")) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(item)")}
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert "submitter_id" not in columns
    assert {"eperson", "bundle", "group2group"}.isdisjoint(tables)
    assert [each.name for each in tmp_path.iterdir() if "part" in each.name] == []


def test_statements_in_texts(tmp_path: Path) -> None:
    """What looks like rows in a comment, a string or a function is none."""
    fake = "COPY public.item (uuid) FROM stdin;\nx\n\\.\n"
    for text in (f"COMMENT ON TABLE a IS '\n{fake}it''s';\n", f"SELECT $b$ '\n{fake}$b$;\n", f'/* "\n{fake}*/\n'):
        assert len(read(url_of(importing(SMALL.replace("SET client", f"{text}SET client"), tmp_path)))) == 1
    assert len(read(url_of(importing(SMALL.replace("--\n\n", "-- it's $a$ \" /*\n\n", 1), tmp_path)))) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("dump complete", ""), "is cut short, because its last line is missing"),
        (lambda text: text[: text.index("COPY public.handle") + 150], "is cut short in the middle of a table"),
        (lambda text: "INSERT INTO public.item VALUES (1);\n" + text,
            "line 1, has INSERT statements: dump without --inserts"),
        (lambda text: text + plain_dump(Sample(), 7, "other"), r"has the table .* twice, in public and other"),
        (lambda text: text * 2, r"has the table .* twice, perhaps because it is of pg_dumpall: dump one"),
        (lambda text: text.replace("'UTF8'", "'KLINGON'"), "is in the unknown encoding 'KLINGON': dump with"),
        (lambda text: text.replace("'UTF8'", "'hex'"), "is in the unknown encoding 'hex'"),
        (lambda text: text.replace("\tt\tf\t2", "\tt\t2"), "a row of item with 7 columns, not 8"),
        (lambda text: text.replace("\tt\tf\t2", "\tt\tx\t2"),
            "a row of item that cannot be read: 'x' is neither t nor f"),
        (lambda text: text.replace("COPY public.item (", "COPY public.item2 ("), "not a DSpace database"),
        (lambda text: text.replace(", discoverable", ", renamed"), r"lacks the column item\.discoverable of DSpace"),
        (lambda text: re.sub("COPY public.handle .*?;", "COPY public.handle (x) FROM stdin;", text),
            "without DSpace's columns"),
        (lambda _text: "Dear reader,", "line 1, has neither rows nor the last line of a dump: it is not a dump"),
        (lambda text: re.sub(r"COPY (?s:.*?)\n\\\.\n", "", text), "has no rows: dump without --schema-only"),
        (lambda _text: "SQLite format 3\0...", "is an SQLite database already: pass it to --database"),
        (lambda _text: "PK\3\4...", "is a ZIP file: dump with --format=plain"),
        (lambda _text: "\0" * 600, "is not a dump"),
        (lambda _text: "item" + "\0" * 253 + "ustar", "is in tar format"),
    ],
)  # fmt: skip
def test_bad_plain(tmp_path: Path, change: "st.SearchStrategy[str]", message: str) -> None:
    """What is wrong with a dump is one sentence, and what was there stays."""
    (tmp_path / "export.db").write_bytes(b"what was there")
    with pytest.raises(BridgeError, match=message) as caught:
        importing(change(SMALL), tmp_path)  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    assert (tmp_path / "export.db").read_bytes() == b"what was there"
    assert {each.name for each in tmp_path.iterdir()} == {"dump", "export.db"}


def test_other_encodings(tmp_path: Path) -> None:
    """A dump in another encoding is read in it; one that is not in its own is an error."""
    latin = SMALL.replace("'UTF8'", "'LATIN1'").encode("latin-1")
    (item,) = read(url_of(importing(latin, tmp_path)))
    assert item.metadata[0].value == "tab\t\\back\nslash é"
    with pytest.raises(DumpError, match=r"a row of metadatavalue that cannot be read: 'utf-8' codec"):
        importing(latin.replace(b"'LATIN1'", b"'SQL_ASCII'"), tmp_path)


def test_damaged_gzip(tmp_path: Path) -> None:
    """A compressed dump that is cut short, or damaged, is an error wherever that is, and leaves nothing."""
    packed = gzip.compress(SMALL.encode())
    for place in range(20, len(packed), 150):
        altered = packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :]
        for data, message in ((packed[:place], r"cut short or damaged|is cut short"), (altered, ".")):
            with pytest.raises(BridgeError, match=message):
                importing(data, tmp_path)
        assert not [*tmp_path.glob("export*")]


def test_no_file(tmp_path: Path) -> None:
    """A dump that is not there, and a place that cannot be written, are reported."""
    with pytest.raises(DumpError, match="cannot be read: No such file or directory"):
        import_dump(tmp_path / "dump", tmp_path / "export.db")
    (tmp_path / "dump").write_text(SMALL, "utf-8")
    with pytest.raises(DumpError, match="cannot be written"):
        import_dump(tmp_path / "dump", tmp_path / "no folder" / "export.db")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DumpError, match="folder cannot be written: Is a directory"):
        import_dump(tmp_path / "dump", tmp_path / "folder")


_BYTES = SMALL.encode()
_FLAG = _BYTES.index(b"\tt\t", _BYTES.index(b"COPY public.item (")) + 1
_FIELDS = st.sampled_from([found.span() for found in re.finditer(rb"[^\t\n]+", _BYTES)])
_PLACES = st.tuples(st.integers(0, len(_BYTES)), st.integers(0, 40)).map(lambda found: (found[0], sum(found)))
_PIECES = [b"", b"\t", b"\n", b"\\", b"\\.", b"\\N", b"'", b"$$", b"COPY ", b"\0", b"\xff", b"9" * 30, b";", b"("]
_changes = st.lists(st.tuples(_FIELDS | _PLACES, st.sampled_from(_PIECES)), min_size=1, max_size=3)


@given(_changes)
@example([((_FLAG, _FLAG + 1), b"\xff")])
@settings(max_examples=settings().max_examples // 2)
def test_any_plain(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[tuple[int, int], bytes]]) -> None:
    """Whatever is in a dump, it is imported and read, or is one declared error of one line, and leaves nothing."""
    data, folder = _BYTES, tmp_path_factory.getbasetemp()
    for (start, end), piece in sorted(changes, reverse=True):
        data = data[:start] + piece + data[end:]
    why = ""
    try:
        assert len([*read(url_of(importing(data, folder)))]) <= 1
    except BridgeError as error:
        why = str(error)
    assert "\n" not in why
    assert not (folder / "export.db.part").exists()


def dumped(server: Server, sample: Sample, file: Path, *options: str) -> Path:
    """Dump a repository in custom format, with `pg_dump`."""
    url = server.database(rows_of(sample, 7), 7)
    server.dump(url, file, "--format=custom", *options)
    return file


def test_any_custom(server: Server, tmp_path: Path) -> None:
    """A dump in custom format that is cut or altered anywhere is read, or is one declared error."""
    data = dumped(server, Sample(items=[Thing(1)]), tmp_path / "dump").read_bytes()
    errors = []
    for place in range(5, len(data), STRIDE):
        for damaged in (data[:place], data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]):
            try:
                importing(damaged, tmp_path)
            except BridgeError as error:
                errors.append(str(error))
    assert not any("\n" in error for error in errors)
    assert sum("cannot be read by pg_restore" in error for error in errors) > len(data) / STRIDE / 2


def test_custom_through_a_pipe(server: Server, tmp_path: Path) -> None:
    """A dump that came through a pipe knows no places, and is read all the same."""
    url = server.database(rows_of(every_case(), 7), 7)
    live = read(url)
    piped = server.piped(url, "--format=custom")
    assert read(url_of(importing(piped, tmp_path))) == live
    with pytest.raises(DumpError, match="is in custom format, compressed with gzip once more: dump with"):
        importing(gzip.compress(piped), tmp_path)


def test_custom_that_is_refused(server: Server, tmp_path: Path) -> None:
    """One with INSERT statements is, though `pg_restore` reads it; of one that is too new, it is said what to do."""
    dump = dumped(server, every_case(), tmp_path / "dump", "--inserts")
    with pytest.raises(DumpError, match=r"dump, line \d+, has INSERT statements: dump without --inserts"):
        import_dump(dump, tmp_path / "export.db")
    data = bytearray(dump.read_bytes())
    data[6] = 99
    message = r"unsupported version \(1\.99\) in file header: make the dump again, install the PostgreSQL client"
    with pytest.raises(DumpError, match=message):
        importing(bytes(data), tmp_path)


def test_folder(server: Server, tmp_path: Path) -> None:
    """For a dump in directory format, the message says how to make a file of it, and that file can be imported."""
    url = server.database(rows_of(every_case(), 7), 7)
    folder = server.dump(url, tmp_path / "a dump", "--format=directory")
    with pytest.raises(DumpError, match="is a folder, as pg_dump --format=directory writes it") as caught:
        import_dump(folder, tmp_path / "export.db")
    command = re.findall(r"with (pg_restore .*), or", str(caught.value))[0]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    import_dump(tmp_path / "dump.sql", tmp_path / "export.db")
    assert len(read(url_of(tmp_path / "export.db"))) == len(PUBLIC)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", r"pg_restore is not installed: install PostgreSQL's client"),
        ("#!/bin/sh\nexit 3\n", "cannot be read by pg_restore: exit status 3:"),
    ],
)
def test_no_pg_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, message: str) -> None:
    """Without `pg_restore`, it is said what to install; if that fails and says nothing, its exit status is shown."""
    if program:
        (tmp_path / "pg_restore").write_text(program)
        (tmp_path / "pg_restore").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DumpError, match=message):
        importing(b"PGDMP...", tmp_path)


def test_much_is_read_without_finding_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A script that goes on and on is given up, but not after its first table."""
    monkeypatch.setattr("repo_bridge.reading.dump._MOST_BEFORE_TABLES", 1_000)
    dump = tmp_path / "dump.sql.gz"
    dump.write_bytes(gzip.compress(b"--\n" * 1_000))
    with pytest.raises(DumpError, match="line 334, has no table in its first 1,000 bytes"):
        import_dump(dump, tmp_path / "export.db")
    dump.write_bytes(gzip.compress(SMALL.replace("\\.\n\n", "\\.\n" + "\n" * 1_000, 1).encode()))
    assert import_dump(dump, tmp_path / "export.db").rows["item"] == 1


def test_hidden_metadata_is_left_out(tmp_path: Path) -> None:
    """Provenance, fields that are hidden and the metadata of people are in no byte of the copy."""
    values = [
        Value("dc.title", "zqtitle"),
        Value("dc.description.provenance", "zqcurator"),
        Value("person.email", "zqemail"),
        Value("local.note", "zqnote"),
    ]
    text = plain_dump(Sample(items=[Thing(1, metadata=values)]), 7)
    text = text.replace("\thttp://example.org/local\tlocal\n", "\thttp://example.org/local\teperson\n")
    (tmp_path / "dump.sql").write_text(text, "utf-8")
    import_dump(tmp_path / "dump.sql", tmp_path / "export.db")
    assert set(re.findall(rb"zq[a-z]+", (tmp_path / "export.db").read_bytes())) == {b"zqtitle"}
    import_dump(tmp_path / "dump.sql", tmp_path / "export.db", hidden_fields={"dc.title"})
    assert b"zq" not in (tmp_path / "export.db").read_bytes()
    with pytest.raises(SettingsError, match=r"hidden has 'dc.titel', .* \(did you mean 'dc.title'"):
        import_dump(tmp_path / "dump.sql", tmp_path / "export.db", hidden_fields={"dc.titel"})


def test_progress_and_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of all tables are counted as they are read; the copy is for its owner alone."""
    monkeypatch.setattr("repo_bridge.reading.dump._STEP", 2)
    text = plain_dump(Sample(items=[Thing(1), Thing(2)]), 7)
    (tmp_path / "dump.sql").write_text(text, "utf-8")
    seen: list[int] = []
    import_dump(tmp_path / "dump.sql", tmp_path / "export.db", None, seen.append)
    rows = sum(len(each.splitlines()) for each in re.findall(r"FROM stdin;\n(.*?)\\\.", text, re.DOTALL))
    assert sum(seen) == rows
    assert max(seen) == 2
    assert stat.S_IMODE((tmp_path / "export.db").stat().st_mode) == 0o600


def test_rows_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row longer than any is not taken into memory."""
    monkeypatch.setattr("repo_bridge.reading.dump._LONGEST_ROW", 100)
    with pytest.raises(DumpError, match="is longer than 100 bytes"):
        [*Dump(BytesIO(b"x" * 101), "x.sql", {"item"}).tables()]
