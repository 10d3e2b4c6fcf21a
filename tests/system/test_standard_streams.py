"""Programs whose standard streams are closed, full, or read by somebody who ends: their work is done in any case."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

import pelican_resourcesync.cli
import repo_bridge.cli
from pelican_resourcesync.publishers.folder import publish
from tests.kit.screen import terminal
from tests.kit.sites import ROOT

BRIDGE = ["init", "--json", "--base-url", "http://x.test", "--database", "sqlite:///x.db", "--ui-url", "http://ui.test"]
#: Commands, each with what it leaves.
COMMANDS = {
    "key": "",
    "check public --json": "",
    "show public --json": "",
    "publish public --base-url http://x.test --json": "public/resourcesync/publication.json",
    "upload public --order 1": "",
    "mirror public copy --json": "copy/a.html",
    "mirror public copy -v": "copy/a.html",
    "follow public --json-lines": "",
    "check --rules": "",
}
Main = Callable[[list[str]], int]


@contextmanager
def unread() -> Iterator[TextIO]:
    """Yield a pipe whose reader has ended."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="ascii", closefd=False) as stream:
        yield stream
    os.close(writer)


@contextmanager
def full() -> Iterator[TextIO]:
    """Yield a file on a disk that is full."""
    handle = os.open("/dev/full", os.O_WRONLY)
    with os.fdopen(handle, "w", encoding="ascii", closefd=False) as stream:
        yield stream
    os.close(handle)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Publish a page, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public").mkdir()
    (tmp_path / "public/a.html").write_text("<html><head></head><body>a</body></html>")
    (tmp_path / "resourcesync.toml").write_text('previous = "output"\n')
    publish(tmp_path / "public", base_url="http://x.test")
    return tmp_path


def run(main: Main, arguments: list[str], monkeypatch: pytest.MonkeyPatch, **streams: TextIO | None) -> int:
    """Return the exit status of a program with other standard streams, which it leaves as they were."""
    with monkeypatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        status = main(arguments)
        assert {name: getattr(sys, name) for name in streams} == streams
    return status


@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_reads(folder: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """The exit status is 141 if nobody reads the output, 3 if it cannot be stored, and else that of the work."""
    main, arguments = pelican_resourcesync.cli.main, command.split()
    with unread() as output, unread() as errors, full() as stored:
        assert run(main, arguments, monkeypatch, stdout=output) == 141
        assert run(main, arguments, monkeypatch, stderr=errors) == 0
        assert run(main, arguments, monkeypatch, stdout=None, stderr=None, stdin=None) == 0
        assert run(main, arguments, monkeypatch, stdout=stored, stderr=errors) == 3
        assert run(main, ["show", "nothing"], monkeypatch, stdout=output, stderr=errors) == 2
    assert (folder / COMMANDS[command]).exists()


def test_nobody_reads_the_bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with `repo-bridge`; what it wrote is there."""
    monkeypatch.chdir(tmp_path)
    with unread() as output, unread() as errors:
        assert run(repo_bridge.cli.main, BRIDGE, monkeypatch, stdout=output, stderr=errors) == 141
        assert (tmp_path / "repo_bridge.toml").exists()
        with pytest.raises(SystemExit, match=r"^2$"):
            run(repo_bridge.cli.main, ["publish", "--nothing"], monkeypatch, stderr=errors)


def test_full_disk_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says that output is lost."""
    with full() as stored:
        assert run(pelican_resourcesync.cli.main, ["check", "--rules"], monkeypatch, stdout=stored) == 3
    said = "pelican-resourcesync: the output cannot be written: No space left on device\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}])
def test_few_characters(locale: dict[str, str]) -> None:
    """What an encoding lacks is escaped, in a pipe and on a terminal."""
    command = [sys.executable, "-m", "pelican_resourcesync", "help", "upload"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **locale}
    assert (
        "gs://\\u2026"
        in subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment).stdout
    )
    with terminal() as screen:
        subprocess.run(command, stdout=screen.stream, check=True, env=environment)
        assert "gs://\\u2026" in screen.seen()


@pytest.mark.parametrize("closed", ["| true", ">&-", "2>&-", ">&- 2>&- <&-"])
def test_whole_program(closed: str) -> None:
    """Nothing is said at the end of a process, either."""
    program = f"(sleep 0.2; exec {sys.executable} -m pelican_resourcesync key) {closed}"
    done = subprocess.run(
        ["bash", "-c", program],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
