"""The command, from its arguments to its report; and that it knows nothing of what it judges."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sites import ROOT
from tests.truth.__main__ import main
from tests.truth.conftest import Known

MODULES = sorted(Path(__file__).parent.glob("*.py"))


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
