"""The command line: real sites, real processes, and the exits that scripts rely on."""

import argparse
import json
import re
from collections.abc import Mapping

import pytest

from pelican_resourcesync import __version__
from pelican_resourcesync.cli import main, parser
from tests.commands.support import URL, told
from tests.support.sites import ROOT, Site, our_command

DOCS = (ROOT / "docs/commands.md").read_text("utf-8")


# What the docs say


def verbs() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(action.choices)


def test_every_command_is_documented_with_its_arguments() -> None:
    """The sections are the commands, and the tables their arguments, in the same order."""
    sections = re.split(r"^## `([\w-]+)`$", DOCS, flags=re.MULTILINE)[1:]
    documented = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(documented) == list(verbs())
    for name, verb in verbs().items():
        table = documented[name].partition("| argument |")[2].partition("\n\n")[0]
        rows = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
        assert rows == [_shown(each) for each in verb._actions if each.dest != "help"]
        for line in re.findall(rf"^    pelican-resourcesync {name}(.*)$", documented[name], re.MULTILINE):
            verb.parse_args(line.split())
    assert "--version" in DOCS


def _shown(action: argparse.Action) -> str:
    names = [*action.option_strings, *([str(action.metavar)] if action.metavar else [])]
    return " ".join(names)


def test_every_exit_is_documented() -> None:
    """The table of exits is the one in the code."""
    from pelican_resourcesync import cli

    exits = re.findall(r"^\| `(\d)` \|", DOCS, re.MULTILINE)
    assert exits == [str(each) for each in (cli.DONE, cli.PROBLEMS, cli.UNUSABLE, cli.INCOMPLETE)]
    assert f"`{cli.SETTINGS}`" in DOCS


def test_documented_keys_are_those_of_the_json(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables of `show --json` and of `forget --json` name every key, in the order in which they come."""
    found = json.loads(told(capsys, "show", "--estimates", "--json"))
    done = json.loads(told(capsys, "forget", f"{URL}/one-title.html", "--json"))
    [one] = found["publication"]["sets"]
    tables = [
        ("key", found),
        ("key of `publication`", found["publication"]),
        ("key of a set", one),
        ("key of `overview`", one["overview"]),
        ("key of an estimate", found["estimates"]["site"]["dumps.changedump"]),
        ("key", done),
        ("key of a set", done["forgotten"]["site"]),
    ]
    documented = re.findall(r"^\| (key[^|]*) \|[^\n]*\n\|[-|]+\n(.*?)\n\n", DOCS, re.MULTILINE | re.DOTALL)
    assert [(head, re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)) for head, rows in documented] == [
        (head, list(keys)) for head, keys in tables
    ]


# The process


def test_exits_of_the_process(published: Site) -> None:
    """0 done, 1 problems found, 2 wrong usage or unusable input; one sentence and no traceback."""
    version = our_command(published.folder, "--version", check=False)
    assert (version.returncode, version.stdout) == (0, f"pelican-resourcesync {__version__}\n")
    done = our_command(published.folder, "show", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Next build" in done.stdout
    (published.output / "resourcesync/site/resourcelist.xml").write_bytes(b"another")
    damaged = our_command(published.folder, "show", "output", "--json", check=False)
    assert (damaged.returncode, damaged.stderr) == (1, "")
    assert "is damaged" in json.loads(damaged.stdout)["problem"]
    unusable = our_command(
        published.folder, "forget", "https://example.org/one.html", "--settings", "none.py", check=False
    )
    assert (unusable.returncode, unusable.stdout) == (2, "")
    assert re.fullmatch(r"pelican-resourcesync: there is no settings file none\.py: .*\n", unusable.stderr)


@pytest.mark.parametrize("arguments", [[], ["unheard-of"], ["show", "--unheard-of"], ["forget"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, with the usage, and exits with 2."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: pelican-resourcesync" in capsys.readouterr().err


def test_help_of_backfill_says_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Code of the past, with the user's permissions."""
    with pytest.raises(SystemExit):
        main(["backfill", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Backfill runs code of the past: the settings files, plug-ins and themes of all commits that it builds" in said
    )
    assert "run it in a container" in said


def test_progress_is_for_terminals(
    published: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And never on standard output, which a pipe may take."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["show", "output", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["problem"] is None
    assert "pelican-resourcesync: reading output" in err
