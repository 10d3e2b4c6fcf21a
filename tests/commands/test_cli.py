"""The command line: real sites, real processes, and the exits that scripts rely on."""

import argparse
import json
import logging
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from pelican_resourcesync import __version__
from pelican_resourcesync.cli import main, parser
from pelican_resourcesync.options import CheckOptions, MirrorOptions
from tests.commands.conftest import URL, output_of
from tests.kit.sites import ROOT, Site, our_process
from tests.kit.sources import files_of

DOCS = (ROOT / "docs/commands.md").read_text("utf-8")


# What the docs say


def verbs() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(action.choices)


@pytest.mark.promise("Documented")
def test_every_command_is_documented_with_its_arguments() -> None:
    """The sections are the commands, and the tables their arguments, in the same order."""
    sections = re.split(r"^## `([\w-]+)`$", DOCS, flags=re.MULTILINE)[1:]
    documented = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(documented) == list(verbs())
    common, shared = (_rows(DOCS.partition(f"## Options {which}")[2]) for which in ("of every command", "for reading"))
    for name, verb in verbs().items():
        refers = "(#options-for-reading-a-source)" in documented[name]
        first = "-n" not in verb._option_string_actions  # it changes nothing
        rows = common[first:] + _rows(documented[name]) + shared * refers
        assert rows == [_shown(each) for each in verb._actions if each.dest != "help"]
        assert first == (f"`{name}`" in DOCS.partition("change nothing, so they have no `--dry-run`")[0][-90:])
        examples = re.findall(
            rf"^    pelican-resourcesync ({name}.*)$", documented[name].partition("###")[0], re.MULTILINE
        )
        assert re.findall(r"^  pelican-resourcesync (.*)$", verb.format_help(), re.MULTILINE) == examples
        assert f"docs/commands.md#{name}\n" in verb.format_help()
        for line in examples:
            verb.parse_args(line.split()[1:])
    assert "--version" in DOCS


def _rows(section: str) -> list[str]:
    """Return the first column of the first table of arguments."""
    return re.findall(r"^\| `([^`]+)` \|", _table(section), re.MULTILINE)


def _table(section: str) -> str:
    return section.partition("| argument |")[2].partition("\n\n")[0]


def test_every_default_is_the_one_that_is_documented() -> None:
    """Of a number, a word or a time; a switch whose row has none is off, also in the library."""
    sections = re.split(r"^## `([\w-]+)`$", DOCS, flags=re.MULTILINE)[1:]
    compared, known = Counter[str](), verbs()
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        reads = "(#options-for-reading" in section
        shared = DOCS.partition("## Options for reading a Source")[2] * reads
        library = CheckOptions() if name == "check" else MirrorOptions() if reads else None
        for table in (section, shared):
            rows = re.findall(r"^\| `(?:-\w )?--([\w-]+)[^|]*` \| (?:`([\w.]+)`)?(.?)", _table(table), re.MULTILINE)
            for option, told, rest in rows:
                (action,) = [each for each in known[name]._actions if f"--{option}" in each.option_strings]
                default = action.default
                if default in (None, argparse.SUPPRESS):
                    default = getattr(library, action.dest, None)
                if told and not rest.strip() and default is not None:
                    value = cast("Callable[[str], object]", action.type or str)(told)
                    assert default == getattr(library, action.dest, default) == value, (name, option)
                    compared[name] += 1
                elif action.nargs == 0 and rest == "|":
                    assert default in (None, False, logging.WARNING), (name, option)
                    compared[name] += 1
    assert compared.keys() >= {"upload", "announce", "check", "mirror", "repair", "restore", "follow", "serve"}
    assert compared.total() == 100


def _shown(action: argparse.Action) -> str:
    names = [*action.option_strings, *([str(action.metavar)] if action.metavar else [])]
    return " ".join(names)


@pytest.mark.promise("Documented")
def test_every_exit_is_documented() -> None:
    """The table of exits is the one in the code, and in every help."""
    from pelican_resourcesync.commands import site
    from pelican_resourcesync.system import exits

    found = re.findall(r"^\| `(\d)` \|", DOCS, re.MULTILINE)
    assert found == [str(each) for each in (exits.DONE, exits.PROBLEMS, exits.UNUSABLE, exits.INCOMPLETE)]
    for help_ in (parser().format_help(), *(verb.format_help() for verb in verbs().values())):
        assert re.findall(r"^  (\d)  (.*)$", help_, re.MULTILINE) == [
            (str(status), meaning) for status, meaning in exits.STATUSES.items()
        ]
    assert f"`{site.SETTINGS}`" in DOCS


@pytest.mark.promise("Documented")
def test_documented_keys_are_those_of_the_json(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables of `--json` name every key, in the order in which they come."""
    (published.folder / "public").mkdir()
    (published.folder / "public/a.html").write_text("<html><head></head><body>a</body></html>")
    publish = ["publish", "public", "--base-url", "http://127.0.0.1", "--json"]
    planned, published_now = (json.loads(output_of(capsys, *publish, *more)) for more in (["--dry-run"], []))
    found = json.loads(output_of(capsys, "show", "--json"))
    done = json.loads(output_of(capsys, "forget", f"{URL}/one-title.html", "--json"))
    [one] = found["publication"]["sets"]
    tables = [
        ("key", published_now),
        ("key", planned),
        ("key", found),
        ("key of `publication`", found["publication"]),
        ("key of a set", one),
        ("key of `overview`", one["overview"]),
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
    version = our_process(published.folder, "--version", check=False)
    assert (version.returncode, version.stdout) == (0, f"pelican-resourcesync {__version__}\n")
    done = our_process(published.folder, "show", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{URL}\n  resources  ")
    (published.output / "resourcesync/site/resourcelist.xml").write_bytes(b"another")
    damaged = our_process(published.folder, "show", "output", "--json", check=False)
    assert (damaged.returncode, damaged.stderr) == (1, "")
    assert "is damaged" in json.loads(damaged.stdout)["problem"]
    unusable = our_process(
        published.folder, "forget", "https://example.org/one.html", "--settings", "none.py", check=False
    )
    assert (unusable.returncode, unusable.stdout) == (2, "")
    assert re.fullmatch(r"pelican-resourcesync: the settings file none\.py does not exist: .*\n", unusable.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", ": the following arguments are required: COMMAND"),
        (
            "publsh",
            ": argument COMMAND: 'publsh' is not a valid choice (did you mean 'publish'?); choose from publish, ",
        ),
        ("--unheard-of show", ": there is no option --unheard-of"),
        ("publish site --baseurl x", " publish: there is no option --baseurl (did you mean '--base-url'?)"),
        ("mirror output copy --at", " mirror: there is no option --at"),
        ("mirror output copy help", " mirror: unexpected argument 'help'"),
        (
            "mirror output copy --rate fast",
            " mirror: argument --rate: 'fast' is not a valid rate: write a number of requests (5) ",
        ),
        ("show output --settings x", " show: argument --settings: not allowed with argument TARGET"),
        ("show output -n", " show: there is no option -n, because this command changes nothing"),
        ("key --dry-run", " key: there is no option --dry-run, because this command changes nothing"),
        ("-q show output", ": there is no option -q before the COMMAND"),
        ("mirror output copy --jobs x", " mirror: argument --jobs: 'x' is not a valid N (the number of simult"),
        ("mirror output copy --max-deletions x", " mirror: argument --max-deletions: 'x' is not a valid N (stop if"),
        ("mirror output copy --key x", " mirror: argument --key: 'x' is not a valid KEY (the public key"),
        (
            "mirror output copy --max-size 5X",
            " mirror: argument --max-size: '5X' is not a positive number with or without a un",
        ),
        ("forget", " forget: the following arguments are required: URI"),
        ("follow output", " follow: add --json-lines or --exec"),
    ],
)
def test_wrong_usage(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is one line, which ends with where to read more, and exits with 2."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments.split())
    said, command = capsys.readouterr().err, message.partition(":")[0]
    assert (exit_.value.code, said.count("\n")) == (2, 1)
    assert said.startswith(f"pelican-resourcesync{message}")
    assert said.endswith(f" (see pelican-resourcesync{command} --help)\n")


def test_stopped(published: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is one line, and the status that shells know."""
    monkeypatch.setattr("pelican_resourcesync.commands.show.local_status", lambda _: signal.raise_signal(signal.SIGINT))
    assert main(["show", str(published.output)]) == 130
    assert capsys.readouterr().err == "pelican-resourcesync: stopped: run the command again\n"


@pytest.mark.parametrize("arguments", [["help"], ["help", "key"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`help COMMAND` is `COMMAND --help`."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 0
    usage = "usage: pelican-resourcesync key [-h]" if arguments[1:] else "usage: pelican-resourcesync [-h]"
    assert capsys.readouterr().out.startswith(usage)


#: Commands that print for people, with arguments.
LINES = (
    "publish public --base-url http://127.0.0.1",
    "show output",
    "forget https://example.org/one-title.html --output output",
    "backfill",
    "check output",
    "mirror output copy",
    "audit output copy",
    "repair output copy",
    "restore output --list-times",
    "follow output --exec true --cursor cursor",
)


@pytest.fixture
def copied(published: Site, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the folder of a site, with a copy of it and a folder to publish."""
    (published.folder / "public").mkdir()
    (published.folder / "public/a.html").write_text("<html><head></head><body>a</body></html>")
    assert main(["mirror", "output", "copy"]) == 0
    capsys.readouterr()
    return published.folder


def test_options_of_every_command(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run changes no file, and each command answers as JSON, with nothing but errors, or at length."""

    def files(folder: Path) -> dict[str, bytes]:
        return {path: body for path, body in files_of(folder).items() if not path.endswith((".lock", ".sqlite3"))}

    answers = {}
    for line in LINES:
        words = line.split()
        known = "-n" in verbs()[words[0]]._option_string_actions
        before = files(copied)
        for option in ("--json", "-q", "-v", ""):
            assert main([*words, *["-n"] * known, *filter(None, [option])]) == 0, (line, option)
            answers[line, option] = capsys.readouterr()
        assert files(copied) == before
        assert json.loads(answers[line, "--json"].out)
        assert answers[line, "-q"] == ("", "")
        assert answers[line, ""].out
        assert answers[line, ""].err == ""
    assert answers[LINES[2], ""].out.startswith("Would be forgotten: https://example.org/one-title.html\n")
    assert answers[LINES[3], ""].out == "2 commits to build and to publish for https://example.org/resourcesync/.\n"
    assert "read" in answers[LINES[4], "-v"].err
    assert "created https://example.org/one-title.html\n" in answers[LINES[9], ""].out
    for line in LINES:  # and it is done
        assert main([*line.split(), "-q"]) == 0
        assert capsys.readouterr() == ("", "")
    (copied / "public/a.html").write_text("<html><head></head><body>b</body></html>")
    assert main([*LINES[0].split(), "-v"]) == 0
    assert capsys.readouterr().err == "pelican-resourcesync: updated http://127.0.0.1/a.html\n"


def test_help_of_backfill_says_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Code of the past, with the user's permissions."""
    with pytest.raises(SystemExit):
        main(["backfill", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Backfill runs code from past commits with your permissions: the settings files, " in said
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


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], set()),
        (["check", "--rules"], {"lxml"}),
        (["mirror", "{folder}", "{folder}/copy"], {"lxml"}),
        (["show", "{folder}"], {"lxml", "pelican_resourcesync.publication"}),
    ],
)
def test_what_a_command_imports(tmp_path: Path, arguments: list[str], heavy: set[str]) -> None:
    """Commands that build nothing import neither Pelican nor git, and the help nothing that reads documents."""
    given = [each.format(folder=tmp_path) for each in arguments]
    code = f"import sys; from pelican_resourcesync.cli import main\ntry: main({given!r})\nfinally: print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, encoding="utf-8"
    )
    loaded = {*done.stdout.splitlines()[-1].split()}
    assert loaded & {"pelican", "blinker", "git", "lxml", "pelican_resourcesync.publication"} == heavy
