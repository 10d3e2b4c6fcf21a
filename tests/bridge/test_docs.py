"""The docs of the bridge say what the code does: every setting, argument, JSON key and example in them."""

import argparse
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from pelican_resourcesync.publication import Publication
from repo_bridge.cli import parser
from repo_bridge.reading.dump import ImportResult
from repo_bridge.records import CROSSWALKS
from repo_bridge.result import MOST_EXAMPLES, MOST_LEFT_OUT, Counts, DryRun, ExpectedSet, Result
from repo_bridge.settings import FILE, KEYS, Settings, read_configuration
from tests.support.sites import ROOT

BRIDGE = (ROOT / "docs/bridge.md").read_text("utf-8")
COMMANDS = (ROOT / "docs/commands.md").read_text("utf-8")
NEEDED = "out = 'o'\nbase-url = 'https://e.org'\nui-url = 'https://e.org'\nsaf = 'x'\n"


def rows(text: str, head: str) -> list[list[str]]:
    """Give the cells of the rows of the table with that head."""
    table = text.split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def read(text: str) -> Settings:
    """Read a settings file."""
    Path(FILE).write_text(text, "utf-8")
    return read_configuration({}).settings


def test_every_setting_is_told_with_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of settings has every key, in order, and its default is the value that it has by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    section = BRIDGE.split("\n## Settings\n", 1)[1]
    told = rows(section, "key")
    assert [cells[0].strip("`") for cells in told] == [*KEYS]
    alone = read(NEEDED)
    for cells in told:
        key, default = cells[0].strip("`"), cells[1].strip("`")
        if default:
            assert read(f"{NEEDED}{key} = {default}") == alone
        elif key not in tomllib.loads(NEEDED):
            assert getattr(alone, KEYS[key].field) in (None, "", {}) or key == "at"


def test_every_word_of_choice_is_told() -> None:
    """What a setting may be is in its row."""
    told = {cells[0].strip("`"): cells[2] for cells in rows(BRIDGE.split("\n## Settings\n", 1)[1], "key")}
    for key, words in {
        "changes-by": ['"day"', '"week"', '"month"', '"year"'],
        "metadata": CROSSWALKS,
        "interface": ['"jspui"', '"xmlui"'],
        "schema": ["5", "6", "7", "10"],
        "edition": ["2014", "2017"],
        "sets-by": ['"collection"', '"community"'],
        "previous": ['"live"', '"output"', '"none"'],
    }.items():
        assert all(f"`{word}`" in told[key] for word in words), key


def test_examples_of_settings_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every settings file that the docs show is taken."""
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```toml\n(.*?)```", BRIDGE, re.DOTALL)
    examples += [file.read_text("utf-8") for file in (ROOT / "docs/examples").glob("*.toml")]
    assert len(examples) >= 2
    for example in examples:
        assert read(example).base_url


def test_every_command_is_told_with_its_arguments() -> None:
    """The sections are the commands, and the tables their arguments; those of settings are told elsewhere."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    sections = re.split(r"^## `repo-bridge ([\w-]+)`$", COMMANDS, flags=re.MULTILINE)[1:]
    documented = dict(zip(sections[::2], sections[1::2], strict=True))
    assert [*documented] == [*action.choices]
    for name, verb in action.choices.items():
        told = [cells[0].strip("`") for cells in rows(documented[name], "argument")]
        settings = KEYS if name == "publish" else {}
        assert told == [_shown(each) for each in verb._actions if each.dest not in {"help", *settings}]
        for line in re.findall(rf"^    repo-bridge {name}(.*)$", documented[name], re.MULTILINE):
            verb.parse_args(line.split())


def _shown(action: argparse.Action) -> str:
    return " ".join([*action.option_strings, *([str(action.metavar)] if action.metavar else [])])


def test_commands_that_are_shown_are_commands() -> None:
    """Every line of the docs of the bridge that begins with the program is one that it takes."""
    lines = re.findall(r"^ *(?:repo-bridge) ((?:publish|import|status).*)$", BRIDGE, re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        parser().parse_args(line.split())


def test_every_option_that_is_named_is_one() -> None:
    """An option in the prose of the bridge is one of the command, or of the other programs that it names."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    known = {name for verb in action.choices.values() for each in verb._actions for name in each.option_strings}
    named = set(re.findall(r"`(--[\w-]+)[` ]", BRIDGE))
    assert {"--dry-run", "--no-fingerprints", "--config"} <= named
    assert named - known <= {"--format", "--inserts"}


def test_every_key_of_the_json_is_told() -> None:
    """The tables are the fields of what is told as JSON, in the same order."""

    def told(head: str) -> list[str]:
        return [cells[0].strip("`") for cells in rows(section, head)]

    def names(of: type) -> list[str]:
        return [each.name for each in fields(of)]

    section = COMMANDS.split("## `repo-bridge publish`", 1)[1]
    assert told("JSON key") == names(Result)
    assert told("JSON key of a publication") == names(Publication)
    assert [*names(Counts), *told("JSON key of a dry run")] == names(DryRun)
    assert told("JSON key of an expected set") == names(ExpectedSet)
    assert told("JSON key of an import") == names(ImportResult)
    assert f"{MOST_LEFT_OUT} at most" in section
    assert section.count(f"{MOST_EXAMPLES} at most") == 2
