"""Completion in real shells: a person types, and presses Tab."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kit.sites import ROOT

pytest.importorskip("shtab", reason="the extra `completion` is not installed")

#: How each shell is started, and how it loads a script.
SHELLS = {
    "bash": ("bash --norc --noprofile -i", "source ./script"),
    "zsh": ("zsh -f -i", "fpath=($PWD $fpath); autoload -U compinit; compinit -D -u"),
    "fish": ("", ""),
}
#: What is typed, and what follows.
LINES = {
    "pelican-resourcesync pub": "publish ",
    "pelican-resourcesync publish --ba": "--base-url",
    "pelican-resourcesync mirror --by du": "dumps",
    "pelican-resourcesync check --edition 2014 --ig": "--ignore",
    "pelican-resourcesync publish --config setti": "settings.toml",
    "pelican-resourcesync publish out": "output",
    "repo-bridge im": "import",
    "repo-bridge publish --data": "--database",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion(shell: str, tmp_path: Path) -> None:
    """Commands, options, their values and files are completed, in both programs."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: apt-get install {shell}")
    (tmp_path / "output").mkdir()
    (tmp_path / "settings.toml").touch()
    for line, expected in LINES.items():
        program = line.split()[0]
        module = program.replace("-", "_")
        command = [sys.executable, "-m", module, "completion", shell]
        script = subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout
        for name in ("script", f"_{program}"):
            (tmp_path / name).write_bytes(script)
        assert expected in (complete_in_fish if shell == "fish" else complete)(shell, tmp_path, line, expected)


def complete_in_fish(_: str, folder: Path, line: str, __: str) -> str:
    """Return what fish offers."""
    command = ["fish", "--command", f"source ./script; complete --do-complete '{line}'"]
    environment = os.environ | {"HOME": str(folder)}
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", cwd=folder, env=environment)
    return f"{done.stdout.replace(chr(9), ' ')} "


def complete(shell: str, folder: Path, line: str, expected: str) -> str:
    """Type a line and press Tab on a terminal; return what it then shows, as soon as that is what is expected."""
    start, load = SHELLS[shell]
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "dumb", "HOME": str(folder), "PS1": "$ "}
    process = subprocess.Popen(
        start.split(), stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment, cwd=folder
    )
    os.close(slave)
    try:
        os.write(master, f"{load}; echo re''ady\n".encode())
        shown, typed, end = b"", False, time.monotonic() + 60
        while time.monotonic() < end and not (typed and expected.encode() in shown):
            if select.select([master], [], [], 0.2)[0]:
                shown += os.read(master, 65536)
            if not typed and b"ready" in shown:
                typed, shown = True, b""
                os.write(master, f"{line}\t".encode())
        return shown.decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(master)
