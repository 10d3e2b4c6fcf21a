"""The settings of the bridge: what is taken, from where, and how what cannot be is said."""

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.settings import OPTIONS, Archives, Dumps, Setting, in_file
from repo_bridge.records.resources import Interface
from repo_bridge.schema import VERSIONS
from repo_bridge.settings import FIELDS, FILE, ROWS, SCHEMAS, BridgeSettings, Query, has_password, read_settings

AT = datetime(2025, 6, 15, 12, tzinfo=UTC)
NEEDED = {"out": "public", "base-url": "https://example.org/r", "ui-url": "https://ui.example", "saf": "items"}
BASE = """
out = "public"
base-url = "https://example.org/r/"
ui-url = "https://ui.example"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty current folder, and a time that does not pass."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(AT.timestamp())))
    return tmp_path


def write(text: str, path: str = FILE) -> Path:
    """Write a settings file."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return file


def options(**more: str | bool) -> BridgeSettings:
    """Read options alone, beside those that are needed."""
    return read_settings({**NEEDED, **{key.replace("_", "-"): value for key, value in more.items()}})


def toml(text: str, before: str = f"{BASE}saf = 'items'\n") -> BridgeSettings:
    """Read a file alone, beside what is needed."""
    return read_settings({}, write(before + text))


def refused(text: str, before: str = f"{BASE}saf = 'items'\n", **more: str | bool) -> str:
    """Return the sentence with which a file, or an option, is refused."""
    with pytest.raises(SettingsError) as error:
        read_settings(more, write(before + text))
    message = str(error.value)
    assert "\n" not in message
    return message


def test_defaults(folder: Path) -> None:
    """They are those of `docs/bridge-settings.md`, for a file as for options; the time is that of the environment."""
    assert options() == toml("")
    assert (options().beside, options().at, options().out) == (folder, AT, Path("public"))


def test_versions_are_those_that_are_known() -> None:
    """The versions that may be named are those whose tables are described."""
    assert SCHEMAS == VERSIONS


@pytest.mark.parametrize(
    ("key", "option", "text", "field", "value"),
    [
        ("set", "coins", "'coins'", "set_name", "coins"),
        ("sets-by", "collection", "'collection'", "sets_by", "collection"),
        ("metadata", "mods, oai_dc,mods", "['mods', 'oai_dc', 'mods']", "metadata", ("mods", "oai_dc")),
        ("bundles", "ORIGINAL,TEXT", "['ORIGINAL', 'TEXT']", "bundles", ("ORIGINAL", "TEXT")),
        ("entities", "Publication,Person", "['Publication', 'Person']", "entities", ("Publication", "Person")),
        ("hidden", "dc.a,dc.b.*", "['dc.a', 'dc.b.*']", "hidden", frozenset({"dc.a", "dc.b.*"})),
        ("fingerprints", False, "false", "fingerprints", False),
        ("schema", "10", "10", "schema", 10),
        ("interface", "xmlui", "'xmlui'", "interface", Interface.XMLUI),
        ("timezone", "Europe/Berlin", "'Europe/Berlin'", "timezone", ZoneInfo("Europe/Berlin")),
        ("at", "2024-02-03T04:05:06.7891+01:00", "2024-02-03T04:05:06.7891+01:00", "at", "2024-02-03T03:05:06Z"),
        ("at", "2024-02-03T04:05:06Z", "'2024-02-03T04:05:06Z'", "at", "2024-02-03T04:05:06Z"),
        ("changes-by", "week", "'week'", "changes_by", "week"),
        ("on-withdrawal", "keep", "'keep'", "on_withdrawal", "keep"),
    ],
)
def test_right_values(key: str, option: str | bool, text: str, field: str, value: Any) -> None:
    """A value is taken as an option and from the file alike; all else keeps its default."""
    before = "".join(f"{name} = {each!r}\n" for name, each in NEEDED.items() if name != key)
    of_file, of_option = toml(f"{key} = {text}", before), options(**{key: option})
    assert of_file == of_option
    if field == "at":
        value = datetime.fromisoformat(value)
    assert getattr(of_file, field) == value
    assert type(getattr(of_file, field)) is type(value)


def test_tables() -> None:
    """Archives and stores may be tables; what is all is called so, because TOML has no None."""
    settings = toml("[archives]\nresourcelist = 3\nresourcedump = 'all'\n[assetstore]\n0 = 'store'\n7 = '/mnt/old'\n")
    assert settings.archives == Archives(resourcelist=3, resourcedump=None)
    assert settings.assetstore == {0: Path("store"), 7: Path("/mnt/old")}


def test_options_beat_the_file() -> None:
    """An option takes the place of what the file has, a switch too."""
    write(f"{BASE}saf = 'items'\nkeep = 3\ndumps = true\nset = 'a'\n")
    settings = read_settings({"keep": "5", "dumps": False})
    assert (settings.keep, settings.dumps, settings.set_name) == (5, Dumps(), "a")


def test_paths_are_relative_to_the_file(folder: Path) -> None:
    """Paths in the file are relative to its folder, those of options to the current one."""
    text = f"{BASE}database = 'dump.sql.gz'\nassetstore = 'store'\nprevious = 'old'\n"
    settings = read_settings({}, write(text, "conf/my.toml"))
    assert settings.out == Path("conf/public")
    assert settings.database == str(Path("conf/dump.sql.gz"))
    assert settings.assetstore == {0: Path("conf/store")}
    assert settings.previous == str(folder / "conf/old")
    assert settings.beside == folder / "conf"
    given = {"out": "here", "database": "x.sql", "assetstore": "/store", "previous": "there"}
    settings = read_settings(given, Path("conf/my.toml"))
    assert (settings.out, settings.database, settings.assetstore) == (Path("here"), "x.sql", {0: Path("/store")})
    assert (settings.previous, settings.beside) == (str(folder / "there"), folder / "conf")


@pytest.mark.parametrize(
    ("written", "placed"),
    [
        ("sqlite:///export.db", "sqlite:///conf/export.db"),
        ("sqlite+pysqlite:///export.db", "sqlite+pysqlite:///conf/export.db"),
        ("sqlite:////srv/export.db", "sqlite:////srv/export.db"),
        ("sqlite://", "sqlite://"),
        ("postgresql+psycopg://me@db.example/dspace", "postgresql+psycopg://me@db.example/dspace"),
        ("postgresql:///dspace", "postgresql:///dspace"),
        ("/srv/dump.sql", "/srv/dump.sql"),
    ],
)
def test_databases(written: str, placed: str) -> None:
    """A URL stays as it is, but that a file in it is relative to the settings file."""
    assert read_settings({}, write(f"{BASE}database = '{written}'\n", "conf/x.toml")).database == placed


def test_the_file_is_looked_for_in_the_current_folder(folder: Path) -> None:
    """Without a name, the file is the one in the current folder, and there need be none."""
    assert options().beside == folder
    write(f"{BASE}saf = 'x'\nkeep = 9\n")
    assert read_settings({}).keep == 9
    write(f"{BASE}saf = 'x'\nkeep = 8\n", "other/mine.toml")
    assert read_settings({}, Path("other/mine.toml")).keep == 8


def test_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is now, in whole seconds, or that of reproducible builds; what is set goes before both."""
    assert options(at="2020-01-01T00:00:00Z").at == datetime(2020, 1, 1, tzinfo=UTC)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(PublicationError, match="SOURCE_DATE_EPOCH is 'soon'"):
        options()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    before = datetime.now(UTC)
    at = options().at
    assert -1 < (at - before).total_seconds() < 60
    assert at.microsecond == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("changes-by = 'tag'", "changes-by in repo_bridge.toml must be 'day', 'week', 'month' or 'year', not 'tag'"),
        ("sets-by = 'colection'", "must be 'collection' or 'community', not 'colection' (did you mean 'collection'?)"),
        ("schema = 8", "must be 5, 6, 7 or 10, not 8"),
        ("schema = '7'", "must be 5, 6, 7 or 10, not '7'"),
        ("timezone = 'Europe/Belin'", "did you mean 'Europe/Berlin'?"),
        ("timezone = '../UTC'", "must be the name of a time zone, such as 'Europe/Berlin', not '../UTC'"),
        ("at = 2025-06-15T12:00:00", "such as 2025-06-15T12:00:00Z, not 2025-06-15T12:00:00"),
        ("at = 0001-01-01T00:00:00+14:00", "must be a time with its offset from UTC, such as"),
        ("at = 'now'", "must be a time with its offset from UTC, such as 2025-06-15T12:00:00Z, not 'now'"),
        ("metadata = []", "must be a non-empty list of 'oai_dc'"),
        ("metadata = ['marc']", "'qdc', 'mods', 'dim', 'xoai', 'oai_openaire' or 'rioxx', not ['marc']"),
        ('bundles = ["A\\u0000"]', "must be a list of names of bundles, such as ['ORIGINAL'], not"),
        ("hidden = ['author']", "such as ['dc.rights.holder', 'dc.note.*'], not ['author']"),
        ("assetstore = ''", "assetstore in repo_bridge.toml must be a path, not ''"),
        ("[assetstore]\none = 'x'", "assetstore in repo_bridge.toml has the store 'one', which is not the number"),
        ("[assetstore]\n00 = 'x'", "has the store '00'"),
        ("[assetstore]\n1 = 2", "assetstore.1 in repo_bridge.toml must be a path, not 2"),
        ("base_url = 'x'", "repo_bridge.toml has no setting 'base_url': did you mean 'base-url'? Valid names: out,"),
        ("query = 'SELECT 1'", "must be a table with any of the keys statement, metadata, not 'SELECT 1'"),
        ("[query]", "query in repo_bridge.toml has no statement: write one under [query]"),
        ("[query]\nstatement = ' '", "query.statement in repo_bridge.toml must be one SQL statement, not ' '"),
        ("[query]\nstatement = 'x'\nmetadata = 5", "query.metadata in repo_bridge.toml must be one SQL statement, no"),
        ("[query]\nsql = 'x'", "query in repo_bridge.toml has no setting 'sql': did you mean 'statement'?"),
        ("keep = \n", "repo_bridge.toml is not valid TOML: Invalid value (at line 6, column 8)"),
        ("name = " + "[" * 100_000, "repo_bridge.toml is not valid TOML"),
    ],
)  # fmt: skip
def test_wrong_values(text: str, message: str) -> None:
    """What is wrong is one sentence, which names file and key and says what it must be."""
    before = f"{BASE}database = 'x.db'\n" if "query" in text else f"{BASE}saf = 'items'\n"
    assert message in refused(text, before)


@pytest.mark.parametrize(
    ("source", "more", "message"),
    [
        ("query", 'assetstore = "store"', "assetstore in repo_bridge.toml has no effect on a query: leave it out"),
        ("query", "fingerprints = false", "fingerprints in repo_bridge.toml has no effect on a query"),
        ("query", 'sets-by = "collection"', "sets-by in repo_bridge.toml has no effect on a query"),
        (
            "query",
            "dumps = true",
            "dumps in repo_bridge.toml needs records, the only dumps of a [query]: write",
        ),
        ("table", "dumps = true", "dumps in repo_bridge.toml has no effect on a table"),
        ("table", 'metadata = ["mods"]', "metadata in repo_bridge.toml has no effect on a table"),
    ],
)
def test_what_has_no_effect(source: str, more: str, message: str) -> None:
    """A setting that a source does not support is refused, and never ignored."""
    given = {"query": "database = 'x.db'\nquery = {statement = 'SELECT 1'}", "table": "table = 'x.csv'"}
    assert message in refused(f"{given[source]}\n{more}\n", BASE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the repository to publish is missing: pass --database, --saf or --table"),
        ({"database": "x.sql"}, "out (the folder to publish into) is missing: pass --out, or set it in repo_bridge"),
        ({"database": "x.sql", "out": "o"}, "base-url (the URL at which that folder is served) is missing"),
        ({"database": "x.sql", "out": "o", "base-url": "https://e.org"}, "ui-url (the URL of the user interface"),
        ({"database": "x.sql", "saf": "y"}, "--database and --saf are both set: leave one out"),
        ({"saf": "x", "table": "y"}, "--saf and --table are both set: leave one out"),
        ({"jobs": "2", **NEEDED}, "--jobs needs a table, because only its parts can be read independently: leave it"),
        ({"cluster": "tcp://h:1", **NEEDED}, "--cluster needs a table"),
        ({"bad-rows": "-1", **NEEDED}, "--bad-rows must be a number of rows (0 or more), not '-1'"),
        ({"memory": "2", **NEEDED}, "--memory must be a number of megabytes or gigabytes, such as '2GB', not '2'"),
        ({"keep": "-1", **NEEDED}, "--keep must be 'all' or a number of closed Change Lists (1 or more), not '-1'"),
        ({"keep": "1.5", **NEEDED}, "--keep must be 'all' or a number of closed Change Lists (1 or more), not '1.5'"),
        ({"metadata": "a,,b", **NEEDED}, "--metadata must be a non-empty list of 'oai_dc'"),
    ],
)  # fmt: skip
def test_what_is_missing_or_too_much(given: dict[str, str], message: str) -> None:
    """What is needed and not there is named with the option and the file; of two sources one is too much."""
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}"):
        read_settings(given)


def test_sources() -> None:
    """A source that is an option takes the place of the file's, and not only of the one of its kind."""
    query = f"{BASE}database = 'sqlite:///e.db'\npassword = 'p'\n[query]\nstatement = 'SELECT 1 AS uri'\n"
    settings = toml("", query)
    assert (settings.query, settings.password, settings.saf) == (Query("SELECT 1 AS uri"), "p", None)
    settings = read_settings({"saf": "items"})
    assert (settings.query, settings.password, settings.database, settings.saf) == (None, None, "", Path("items"))
    settings = read_settings({"database": "postgresql://me@other/d"})
    assert (settings.query, settings.password, settings.saf) == (Query("SELECT 1 AS uri"), "p", None)
    write(f"{BASE}saf = 'items'\n")
    settings = read_settings({"database": "x.sql"})
    assert (settings.database, settings.saf) == ("x.sql", None)
    settings = read_settings({"table": "listing/*.csv", "jobs": "2"})
    found = (settings.table, settings.jobs, settings.database, settings.saf)
    assert found == (Path("listing/*.csv"), 2, "", None)
    assert "both set" in refused("saf = 'x'", f"{BASE}database = 'x.sql'\n")
    text = "out = 'o'\nbase-url = 'https://e.org'\ndatabase = 'x.db'\n[query]\nstatement = 'SELECT 1 AS uri'\n"
    assert toml("", text).ui_url == ""  # no DSpace, no address of its interface
    assert "query in repo_bridge.toml needs a database" in refused("[query]\nstatement = 'x'", BASE)


SECRET = "hunter2"


URLS = (
    f"postgresql://me:{SECRET}@db.example/d", f"postgresql+psycopg://me:{SECRET}/x@db.example/d",
    f"postgresql://:{SECRET}@db.example/d", f"postgresql://db.example/d?user=me&password={SECRET}",
    f"postgresql://db.example/d?p%61ssword={SECRET}", f"postgresql://db.example/d?sslpassword={SECRET}",
    f"postgresql://127.0.0.1:1/host=a password={SECRET}",
)  # fmt: skip
NEARLY_URLS = (
    f"postgresql:me:{SECRET}@h/d", f"postgresql:/me:{SECRET}@h/d", f"postgresql//me:{SECRET}@h/d",
    f"//me:{SECRET}@h/d", f"me:{SECRET}@h/d",
)  # fmt: skip


@pytest.mark.parametrize("url", [*URLS, *NEARLY_URLS])
def test_passwords_in_the_list_of_processes(url: str) -> None:
    """A URL with a password is taken from the file, and from the command line never."""
    assert has_password(url)
    with pytest.raises(
        SettingsError, match="--database contains a password, which other users of this machine can see"
    ) as error:
        read_settings({**NEEDED, "database": url})
    assert SECRET not in str(error.value)
    text = f"database = '{url}'\n"
    if url in URLS:
        settings = toml(text, BASE)
        assert settings.database == url
        assert SECRET not in repr(settings)
    else:
        said = refused(text, BASE)
        assert "is neither a URL nor a file" in said
        assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me@db.example:5432/d", "postgresql:///d?host=/run", "postgresql://me:@h/d",
        "postgresql://h/d?password=", "x.sql", "dumps/03:15@db.sql", "/srv/dumps/03:15@db.sql", "C:\\dumps\\a@b.sql",
        "sqlite:///a:b@c",
    ],
)  # fmt: skip
def test_no_passwords(url: str) -> None:
    """A user, a port, a file: none of them is a password."""
    assert not has_password(url)


@pytest.mark.parametrize(
    "text",
    [
        f"database = 'host=db.example password={SECRET}'",
        f"database = ['postgresql://me:{SECRET}@h/d']",
        f"password = ['{SECRET}']\nsaf = 'x'",
        f'password = "{SECRET}\\u0000"\nsaf = "x"',
        f"saf = 'x'\nserver-url = 'ht:/me:{SECRET}@e.org'",
        f"saf = 'x'\nmoved-from = 'postgresql://me:{SECRET}@e.org'",
    ],
)
def test_passwords_are_in_no_message(text: str) -> None:
    """Whatever is wrong, what may be a password is not repeated."""
    assert SECRET not in refused(text, BASE)


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes here")
@pytest.mark.parametrize("secret", [f"password = '{SECRET}'", f"database = 'postgresql://me:{SECRET}@h/d'"])
def test_passwords_that_others_may_read(secret: str) -> None:
    """A file with a password that others may read is worth a warning; one for its owner alone is not."""
    database = "" if secret.startswith("database") else "database = 'postgresql://me@h/d'\n"
    file = write(f"{BASE}{database}{secret}\n")
    assert read_settings({}, file).warnings == ()
    for mode in (0o604, 0o640, 0o644):
        file.chmod(mode)
        (warning,) = read_settings({}, file).warnings
        assert (
            warning
            == "repo_bridge.toml contains a password, and other users can read it: run chmod 600 repo_bridge.toml"
        )
    write(f"{BASE}database = 'postgresql://me@h/d'\n").chmod(0o644)
    assert read_settings({}, file).warnings == ()


def test_files_that_cannot_be_read(folder: Path) -> None:
    """A file that is not there, is a folder, or is no text is one sentence."""
    Path("x.toml").write_bytes(b"name = '\xff'")
    for name, message in [("none.toml", "No such file"), (".", "Is a directory"), ("x.toml", "not UTF-8")]:
        with pytest.raises(SettingsError, match=message):
            read_settings({}, Path(name))


@pytest.mark.parametrize("out", [".", "..", "deep/..", "../link", "../link/conf"])
def test_output_that_would_make_the_settings_public(folder: Path, out: str) -> None:
    """The output neither is nor holds the folder of the settings, by whatever path; without a file, the current one."""
    (folder / "link").symlink_to(folder)
    message = "publish into a folder of its own, such as public"
    for text in (out, "public"):
        write(f"{BASE.replace('public', text)}saf = 'x'\n", "conf/my.toml")
        if text == "public":
            assert read_settings({}, Path("conf/my.toml")).out == Path("conf/public")
            continue
        with pytest.raises(SettingsError, match=message) as error:
            read_settings({}, Path("conf/my.toml"))
        assert f"out in conf/my.toml is '{Path('conf', out)}'" in str(error.value)
        assert str(folder / "conf") in str(error.value)
    with pytest.raises(SettingsError, match=f"^--out is .*{message}$"):
        read_settings({**NEEDED, "out": "."})


def sentence(of: Callable[[], object]) -> str:
    """Return the sentence with which something is refused, empty where it is not."""
    try:
        of()
    except SettingsError as error:
        return str(error)
    return ""


_scalars = (
    st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 5, 7, 10, 2014, 2017, 1 << 100])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["all", "live", "week", "https://e.org", "UTC", "mods", "collection", "\0", "a" * 70, "//x:y@z"])
    | st.datetimes(timezones=st.none() | st.timezones())
    | st.dates()
    | st.times()
)
_keys = st.sampled_from(["resourcelist", "resourcedump", "package_size", "statement", "0", "12"]) | st.text(max_size=3)
_values = st.recursive(
    _scalars, lambda some: st.lists(some, max_size=3) | st.dictionaries(_keys, some, max_size=3), max_leaves=5
)


@given(st.sampled_from(sorted(FIELDS)), _values)
def test_any_value(key: str, value: object) -> None:
    """Whatever TOML may hold, it is taken or refused in one sentence."""
    for words in (in_file(Path(FILE)), OPTIONS):
        said = sentence(partial(ROWS[key].check, Setting(key, words), value))
        assert not said or key in said.split(" is ")[0]
        assert said.isprintable()


@given(st.sampled_from(sorted(key for key, each in ROWS.items() if each.metavar)), st.text(max_size=12))
def test_any_option(key: str, text: str) -> None:
    """Whatever text an option is given, it is taken or refused in one sentence."""
    given = {name: each for name, each in NEEDED.items() if (key, name) != ("database", "saf")} | {key: text}
    assert sentence(lambda: read_settings(given)).isprintable()


_mutations = st.lists(
    st.tuples(
        st.integers(0, 120),
        st.integers(0, 9),
        st.sampled_from(["", "=", '"', "[", "]", "[[", "\n", ".", "\\", "\0", "é", "9" * 5000, "1979-05-27", "{", "#"]),
    ),
    min_size=1,
    max_size=3,
)  # fmt: skip


@given(_mutations)
def test_any_file(mutations: list[tuple[int, int, str]]) -> None:
    """Whatever is in the file, it is settings or one sentence."""
    text = f"{BASE}saf = 'x'\nkeep = 3\n[dumps]\npackage_size = 7\n"
    for start, length, piece in mutations:
        text = text[:start] + piece + text[start + length :]
    assert "\n" not in sentence(lambda: read_settings({}, write(text)))
