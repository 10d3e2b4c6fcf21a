"""The command, from its arguments to its report; and that it knows nothing of what it judges."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sites import ROOT
from tests.truth.__main__ import main, parse
from tests.truth.backfills import overrides
from tests.truth.builds import Command
from tests.truth.conftest import Known
from tests.truth.support import EXPECTED

MODULES = sorted(Path(__file__).parent.glob("*.py"))


def test_the_command_builds_and_judges(known: Known, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what the plug-in tells of the small site: all that was created and deleted, and no update is missing."""
    truth, report = tmp_path / "truth.json", tmp_path / "report.json"
    known.truth.save(truth)
    assert (
        main([str(known.folder), "--truth", str(truth), "--json", str(report), "--whole-site", "pelicanconf.py"]) == 0
    )
    output = capsys.readouterr()
    assert output.err == ""
    assert "Do not build: 1; 1 folded into the next commit that does, 0 left out" in output.out
    found = json.loads(report.read_text())
    assert found["misses"] == []
    assert {fault["cell"]["kind"] for fault in found["inventions"]} <= {"updated"}
    assert sum(row["truth"] for row in found["tables"]["all"] if row["sort"] == "all") == len(EXPECTED)


def test_the_command_goes_on_where_it_was_stopped(
    known: Known, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the file knows is not built again; a later end asks for what is new alone."""
    truth = tmp_path / "truth.json"
    common = [str(known.folder), "--phase", "truth", "--truth", str(truth), "--from", known.commits[2]]
    main([*common, "--to", known.commits[3]])
    lines = capsys.readouterr().err.splitlines()
    assert [line[:3] for line in lines[:3]] == ["1/3", "2/3", "3/3"]
    assert [line[11:22] for line in lines[3:]] == ["built again"] * 2
    main([*common, "--to", known.commits[4], "--jobs", "1"])
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith((f"1/1 {known.commits[4][:10]}", known.commits[4][:10])) for line in lines] == [True, True]
    assert len(json.loads(truth.read_text())["builds"]) == 4


def test_what_is_not_built_yet_can_be_judged_in_part(
    known: Known, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left out, and the report says so."""
    main([str(known.folder), "--phase", "judge"])
    assert "9: not built yet" in capsys.readouterr().out


def test_a_revision_beside_the_line_is_refused(known: Known) -> None:
    """There is no range from it."""
    with pytest.raises(SystemExit, match="on no first-parent line"):
        main([str(known.folder), "--from", known.commits[4], "--to", known.commits[3]])


def test_a_commit_that_does_not_build_cannot_be_judged(known: Known) -> None:
    """The reason is said."""
    with pytest.raises(SystemExit, match="does not build with the plug-in: ValueError: a slip"):
        main([str(known.folder), "--to", known.commits[5], "--phase", "judge"])


def test_an_output_without_change_lists_cannot_be_judged(known: Known) -> None:
    """What the plug-in said instead is passed on."""
    with pytest.raises(SystemExit, match="has no Change Lists; the build says: "):
        main([str(known.folder), "--phase", "judge", "--", "-e", 'RESOURCESYNC={"enabled": false}'])


def test_a_backfill_that_fails_is_told(known: Known) -> None:
    """With what it said."""
    with pytest.raises(SystemExit, match=r"(?s)the backfill failed with exit status 2: .*ValueError: a slip"):
        main([str(known.folder), "--to", known.commits[5], "--phase", "judge", "--judge", "backfill"])


def test_arguments_of_pelican_are_settings_of_a_backfill() -> None:
    """Where there is one that says the same."""
    more = ["-t", "simple", "-e", "A=1", 'B="two=three"', "-e", "C=null"]
    assert dict(overrides(Command(content="text", more=more))) == {
        "PATH": '"text"',
        "THEME": '"simple"',
        "A": "1",
        "B": '"two=three"',
        "C": "null",
    }
    with pytest.raises(SystemExit, match="no backfill has the arguments --fatal errors"):
        dict(overrides(Command(more=["--fatal", "errors"])))


def test_what_follows_two_dashes_is_for_pelican() -> None:
    """Options of pelican and ours do not mix."""
    options = parse(["site", "--only", "content", "theme", "--", "-t", "simple", "-e", "PLUGINS=[]"])
    assert options.only == ["content", "theme"]
    assert options.more == ["-t", "simple", "-e", "PLUGINS=[]"]


def test_the_witness_imports_nothing_of_what_it_judges() -> None:
    """By its sources, and when it runs."""
    for module in MODULES:
        for name in _imports(module):
            assert not name.startswith(("pelican_resourcesync", "repo_bridge")), (module, name)
    loaded = "import sys, tests.truth.__main__; print(*sys.modules, sep='\\n')"
    process = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, check=True, capture_output=True, text=True)
    assert not [name for name in process.stdout.split() if name.startswith(("pelican_resourcesync", "repo_bridge"))]


def test_the_driver_needs_pelican_alone() -> None:
    """It runs where nothing of ours is."""
    roots = {name.partition(".")[0] for name in _imports(Path(__file__).with_name("driver.py"))}
    assert roots <= {*sys.stdlib_module_names, "pelican"}


def _imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
