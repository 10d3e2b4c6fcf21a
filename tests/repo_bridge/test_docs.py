"""The docs of the bridge say what the code does: every setting, argument, JSON key and example in them."""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import psycopg
import pytest
from ruamel.yaml import YAML
from sqlalchemy import make_url

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import parse_links
from pelican_resourcesync.publication import MOST_EXAMPLES, ExpectedSet, Publication
from pelican_resourcesync.publication.model.sanity_checks import require_few_deletions
from repo_bridge.access import ALWAYS_HIDDEN, AnonymousView
from repo_bridge.cli import parser
from repo_bridge.files import MOST_LEFT_OUT
from repo_bridge.model import Bitstream, Collection, Field, Item, MetadataValue, Reason, Version
from repo_bridge.publisher import BridgeResult, DryRun, HiddenItems, PublicCounts
from repo_bridge.reading.dump import ImportResult, import_dump
from repo_bridge.reading.query import QueryRow
from repo_bridge.reading.repository import open_repository
from repo_bridge.records import FORMATS, EntryBuilder, Sets
from repo_bridge.records.resources import Addresses, Interface, record_path
from repo_bridge.schema import VERSIONS, describe
from repo_bridge.settings import FIELDS, FILE, BridgeSettings, read_settings
from sample_site.dspace.repository import rows_of
from tests.kit.postgresql import Server
from tests.kit.repository.reading import VIEW, read, url_of
from tests.kit.repository.samples import AT, PUBLIC, every_case
from tests.kit.sites import ROOT
from tests.tools.first_page import steps

SETTINGS = (ROOT / "docs/bridge-settings.md").read_text("utf-8")
#: What administrators read, without the table of settings.
PAGE = "\n".join(
    (ROOT / f"docs/bridge{name}.md").read_text("utf-8")
    for name in ("", "-rights", "-records", "-operation", "-managers", "-databases")
)
BRIDGE = f"{PAGE}\n{SETTINGS}"
COMMANDS = (ROOT / "docs/commands.md").read_text("utf-8")
NEEDED = "out = 'o'\nbase-url = 'https://e.org'\nui-url = 'https://e.org'\nsaf = 'x'\n"


def rows(text: str, head: str) -> list[list[str]]:
    """Return the cells of the rows of the table with that head."""
    table = text.split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def settings_of(text: str) -> BridgeSettings:
    """Read a settings file."""
    Path(FILE).write_text(text, "utf-8")
    return read_settings({})


def test_every_setting_is_told_with_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of settings has every key once, and its default is the value that it has by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    in_docs = rows(SETTINGS, "key")
    assert sorted(cells[0].strip("`") for cells in in_docs) == sorted(FIELDS)
    alone = settings_of(NEEDED)
    for cells in in_docs:
        key, default = cells[0].strip("`"), cells[1].strip("`")
        if default:
            assert settings_of(f"{NEEDED}{key} = {default}") == alone
        elif key not in tomllib.loads(NEEDED):
            assert getattr(alone, FIELDS[key]) in (None, "", {}) or key == "at"


def test_every_word_of_choice_is_told() -> None:
    """What a setting may be is in its row."""
    in_docs = {cells[0].strip("`"): cells[2] for cells in rows(SETTINGS, "key")}
    for key, words in {
        "changes-by": ['"day"', '"week"', '"month"', '"year"'],
        "metadata": FORMATS,
        "interface": ['"jspui"', '"xmlui"'],
        "schema": ["5", "6", "7", "10"],
        "edition": ["2014", "2017"],
        "sets-by": ['"collection"', '"community"'],
        "previous": ['"live"', '"output"'],
    }.items():
        assert all(f"`{word}`" in in_docs[key] for word in words), key


def test_every_command_is_told_with_its_arguments() -> None:
    """The sections are the commands, and the tables their arguments; those of settings are reported elsewhere."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    sections = re.split(r"^## `repo-bridge ([\w-]+)`$", COMMANDS, flags=re.MULTILINE)[1:]
    documented = dict(zip(sections[::2], sections[1::2], strict=True))
    assert [*documented] == [*action.choices]
    for name, verb in action.choices.items():
        common = [cells[0].strip("`") for cells in rows(COMMANDS.partition("## Options of every")[2], "argument")]
        in_docs = common[name == "completion" :] + [cells[0].strip("`") for cells in rows(documented[name], "argument")]
        settings = FIELDS if name == "publish" else {}
        assert in_docs == [_shown(each) for each in verb._actions if each.dest not in {"help", *settings}]
        examples = re.findall(rf"^    repo-bridge ({name}.*)$", documented[name], re.MULTILINE)
        assert re.findall(r"^  repo-bridge (.*)$", verb.format_help(), re.MULTILINE) == examples
        for line in examples:
            verb.parse_args(line.split()[1:])


def _shown(action: argparse.Action) -> str:
    return " ".join([*action.option_strings, *([str(action.metavar)] if action.metavar else [])])


def test_steps_of_the_first_page_are_commands() -> None:
    """`first_page` finds the commands of every step but that of the web server, and a shell reads them."""
    blocks = steps()
    assert [bool(each) for each in blocks] == [True, True, False, True, True, True, True, True]
    assert [each.strip() for each in blocks[5]] == [
        "venv/bin/repo-bridge publish --dry-run\n" + 8 * " " + "venv/bin/repo-bridge publish"
    ]
    for each in map("".join, blocks):
        subprocess.run(["sh", "-n"], input=each.encode(), check=True)


def test_every_option_that_is_named_is_one() -> None:
    """An option in the prose of the bridge is one of the command, or of the other programs that it names."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    known = {name for verb in action.choices.values() for each in verb._actions for name in each.option_strings}
    named = set(re.findall(r"`(--[\w-]+)[` ]", BRIDGE))
    assert {"--dry-run", "--no-dumps", "--config"} <= named
    assert named - known <= {"--allow-host", "--format", "--inserts", "--schema-only"}


def test_every_key_of_the_json_is_told() -> None:
    """The tables are the fields of what is reported as JSON, in the same order."""

    def in_docs(head: str) -> list[str]:
        return [cells[0].strip("`") for cells in rows(publish, head)]

    def names(of: type) -> list[str]:
        return [each.name for each in fields(of)]

    publish = COMMANDS.split("## `repo-bridge publish`", 1)[1]
    assert in_docs("JSON key") == names(BridgeResult)
    assert in_docs("JSON key of a publication") == names(Publication)
    assert [*names(PublicCounts), *in_docs("JSON key of a dry run")] == names(DryRun)
    assert in_docs("JSON key of an expected set") == names(ExpectedSet)
    assert in_docs("JSON key of an import") == names(ImportResult)
    assert f"{MOST_LEFT_OUT} at most" in publish
    assert in_docs("JSON key of hidden items") == names(HiddenItems)
    assert all(f"`{reason}`" in publish for reason in Reason)
    assert publish.count(f"{MOST_EXAMPLES} at most") == 4


# The page for administrators: tables, rules, links, columns and examples


def block(kind: str, number: int = 0) -> str:
    """Return a block of code of the page."""
    found: list[str] = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found[number]


def granted() -> list[str]:
    """Return the tables that the role of the page may read."""
    return re.split(r",\s*", re.findall(r"GRANT SELECT ON\s+(.*?)\s+TO", block("sql"), re.DOTALL)[0])


def section(heading: str) -> str:
    """Return what stands below a heading, up to the next of the same depth or less."""
    depth = heading.index(" ")
    text = PAGE.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^#{{1,{depth}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


def rules() -> dict[int, str]:
    """Return the numbered rules, each in one line."""
    text = section("# Public items of a repository")
    found = re.findall(r"^(\d+)\. (.*(?:\n   .*)*)", text, re.MULTILINE)
    return {int(number): re.sub(r"\s+", " ", rule) for number, rule in found}


def first_cells(text: str) -> list[str]:
    """Return what is code in the first cells of a table."""
    lines = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    return [name for line in lines for name in re.findall(r"`([^`]+)`", line)]


def test_role_may_read_what_is_read() -> None:
    """The tables of the role are those of the newest version, and that of its migrations; the older have no other."""
    *tables, last = granted()
    assert last == "schema_version"
    assert tables == [table.name for table in describe(VERSIONS[-1]).all]
    for version in VERSIONS:
        less = {"entity_type", "relationship", "relationship_type"} if version in {5, 6} else set()
        assert {table.name for table in describe(version).all} == {*tables} - less


def test_script_dumps_what_is_read() -> None:
    """The tables of the nightly script are the same, and a shell reads the script."""
    script = block("sh")
    assert re.findall(r"for table in (.*?)\ndo", script, re.DOTALL)[0].replace("\\\n", " ").split() == granted()
    for each in (script, block("sh", 1)):
        subprocess.run(["sh", "-n"], input=each.encode(), check=True)


def test_docker_compose(tmp_path: Path) -> None:
    """The service follows the schema, stands on what DSpace's own file names, and its command is one of ours."""
    (text,) = re.findall(r"```yaml\n(services:.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "compose.yaml"
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", "vendor.compose-spec"]
    for written, status in ((text, 0), (text.replace("cap_drop:", "cap_drops:"), 1)):
        file.write_text(written, "utf-8")
        assert subprocess.run([*command, str(file)], check=False, capture_output=True).returncode == status
    (service,) = YAML(typ="safe").load(text)["services"].values()
    assert service["networks"] == ["dspacenet"]
    assert [volume for volume in service["volumes"] if not volume.startswith("./")] == [
        "assetstore:/dspace/assetstore:ro"
    ]
    program, *arguments = service["command"].split()
    assert program == "repo-bridge"
    parser().parse_args(arguments)
    whole = tomllib.loads(
        re.sub(
            "^    ",
            "",
            re.findall(r"^    ```toml\n(.*?)^    ```", PAGE, re.MULTILINE | re.DOTALL)[0],
            flags=re.MULTILINE,
        )
    )
    made = tmp_path / FILE
    made.write_text("".join(f'{key} = "{value}"\n' for key, value in whole.items()), "utf-8")
    assert read_settings({}, made).assetstore == {0: Path("/dspace/assetstore")}


def dsn(url: str) -> str:
    """Return the URL as the driver reads it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


@pytest.fixture(params=[7, 10])
def reader(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL by which the role of the page opens a database with every case of the rules."""
    url = server.database(rows_of(every_case(), request.param), request.param)
    role = f"resourcesync_{os.getpid()}"
    with psycopg.connect(dsn(url), autocommit=True) as connection:
        connection.execute(block("sql").replace("resourcesync", role).encode())
        connection.execute(f"ALTER ROLE {role} PASSWORD 'secret'".encode())
    yield make_url(url).set(username=role, password="secret").render_as_string(hide_password=False)
    server.drop(url)
    with psycopg.connect(dsn(server.url), autocommit=True) as connection:
        connection.execute(f"DROP ROLE {role}".encode())


@pytest.mark.promise("Untouched")
def test_role_reads_and_dumps_all_that_is_public(reader: str, server: Server, tmp_path: Path) -> None:
    """With the grants of the page, all that is public is read, and dumped as the script does it; nothing is written."""
    items = read(reader)
    assert len(items) == len(PUBLIC)
    refused = pytest.raises(psycopg.errors.ReadOnlySqlTransaction)
    with psycopg.connect(dsn(reader)) as connection, refused:
        connection.execute("CREATE TABLE mine ()")
    tables = [f"--table={name}" for name in granted()]
    dump = server.dump(reader, tmp_path / "dspace.dump", "--format=custom", "--no-password", *tables)
    import_dump(dump, tmp_path / "export.db")
    assert read(url_of(tmp_path / "export.db")) == items


def test_role_knows_which_rows_were_written(reader: str) -> None:
    """With the same grants, and no others, row versions are compared too."""
    with open_repository(reader, VIEW) as repository:
        assert repository.origin
        sums = dict(repository.sums())
        assert repository.total == str(sum(map(int, sums.values()))) != "0"
        assert repository.written_since(0) == sums.keys()


def test_rules_have_their_numbers() -> None:
    """There are twenty rules; each is named in the code or its tests, and these name no other."""
    assert [*rules()] == [*range(1, 21)]
    files = [*(ROOT / "repo_bridge").rglob("*.py"), *(ROOT / "tests/repo_bridge").rglob("*.py")]
    code = " ".join(file.read_text("utf-8") for file in files)
    named = re.findall(r"[Rr]ules? (\d+)(?:(?:, (\d+))*(?:,? (and|to) (\d+))?)", code)
    numbers = {int(each) for found in named for each in found if each.isdigit()}
    assert numbers | {10} == {*range(1, 21)}  # nothing is left of what was expunged that code could be about


def test_every_rule_is_compared_with_dspace() -> None:
    """The table has a row for each rule, in order, which names a class of DSpace."""
    compared = rows(section("## Compared with DSpace"), "rule")
    assert [int(cells[0]) for cells in compared] == [*rules()]
    assert all(re.search(r"`[A-Z]\w+", cells[1]) and cells[2] for cells in compared)


def test_rules_name_what_is_hidden_and_what_is_not() -> None:
    """Rules 7 and 8 name the bundles and the fields that the code has."""
    (bundle,) = AnonymousView(at=AT).bundles
    assert f"only `{bundle}` is published" in rules()[7]
    assert all(f"`{name}`" in rules()[8] for name in ALWAYS_HIDDEN)


def test_addresses_are_those_of_the_rules() -> None:
    """Rules 17 and 18 and the table of records name addresses as they are made."""
    new = Addresses(version=7, ui="…", records="")
    made = {
        new.landing_page("UUID", "HANDLE"),
        new.bitstream("UUID", None, None, ""),
        replace(new, server="…").bitstream("UUID", None, None, ""),
    }
    assert {*re.findall(r"`(…[^`]+)`", rules()[17])} == made
    assert all(f"`{each.value}`" in rules()[18] for each in Interface)
    assert f"`records/{record_path('oai_dc', '', 'PREFIX/SUFFIX')}`" in section("# Records of a repository")
    assert f"metadata = {[*FORMATS]}".replace("'", '"') in section("# Records of a repository")


def test_links_are_those_of_the_table() -> None:
    """The links of records and files are those that the page tells."""
    file = Bitstream(
        id="f",
        name="f",
        bundle="ORIGINAL",
        sequence_id=1,
        length=1,
        md5=None,
        type=None,
        store_number=0,
        internal_id=None,
    )
    within = Collection(id="c", handle="1/2", name="C")
    license_ = MetadataValue(Field("dc", "rights"), "https://license.example/")
    item = Item(id="i", handle="1/1", last_modified=None, owner=within, bitstreams=(file,), metadata=(license_,))
    item = replace(item, predecessor=Version("h", "1/0"), successor=Version("j", "1/2"))
    addresses = Addresses(version=7, ui="https://d", records="https://s", server="https://r", signposting=True)
    builder = EntryBuilder(addresses=addresses, formats=[*FORMATS.values()], at=AT, sets=Sets("s"), record_files=None)
    rels = {link.rel for entry in builder.make(item).entries for link in parse_links(entry.links)}
    assert {*first_cells(section("# Records of a repository").split("| link |")[1].split("## ")[0])} == rels


def test_columns_are_those_of_a_statement() -> None:
    """The columns of a statement are reported, and no other."""
    assert first_cells(section("## Other repositories")) == [field.name for field in fields(QueryRow)]


def test_guard_stops_at_more_than_a_fifth() -> None:
    """Three of six may go, four of nineteen may not."""
    assert "more than a fifth" in section("## Safety checks")
    assert "three" in section("## Safety checks")
    require_few_deletions("abcdef", "abc")
    with pytest.raises(PublicationError):
        require_few_deletions("abcdefghijklmnopqrs", "abcdefghijklmno")


def test_examples_of_settings_are_accepted(tmp_path: Path) -> None:
    """The settings of the page are accepted, all together and each that is named by itself; so are the options."""
    whole = tomllib.loads(block("toml"))
    named = re.findall(r"`([a-z-]+ = [^`]+)`", PAGE)
    assert len(named) > 5
    for text in ["", *named]:
        key = text.partition(" ")[0]
        rest = {
            name: value
            for name, value in whole.items()
            if name != key
            and not (key in ("saf", "table") and name == "database")
            and (key != "table" or name in {"out", "base-url"})  # others say something of DSpace
        }
        lines = [text, *(f'{name} = "{value}"' for name, value in rest.items())]
        (tmp_path / "repo_bridge.toml").write_text("\n".join(lines), "utf-8")
        read_settings({}, tmp_path / "repo_bridge.toml")


def test_defaults_are_told() -> None:
    """What the page says of sets and of the time zone is so where nothing is set."""
    settings = read_settings({"out": "x", "base-url": "https://s.example", "ui-url": "https://d.example", "saf": "y"})
    assert f"The set is called `{settings.set_name}`" in section("## Several sets")
    assert settings.metadata == ("oai_dc",)
    assert VIEW.bundles == settings.bundles
