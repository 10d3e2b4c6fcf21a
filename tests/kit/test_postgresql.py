"""The PostgreSQL of the tests: where one is installed and does not start, they fail instead of being skipped."""

import os
from pathlib import Path

import pytest

from tests.kit.postgresql import VARIABLE, own_home


def install(folder: Path, initdb: str) -> Path:
    """Write a stand-in for a server below a folder that only its owner may read; return the folder of its programs."""
    programs = folder / "server/bin"
    programs.mkdir(parents=True)
    (programs / "initdb").write_text(f"#!/bin/sh\n{initdb}\n")
    (programs / "initdb").chmod(0o755)
    folder.chmod(0o700)
    return programs


def test_programs_that_only_root_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, a server runs as nobody, from a copy of its programs if nobody may not read them."""
    programs = install(tmp_path, "id -u")
    monkeypatch.setenv(VARIABLE, str(programs))
    with own_home() as home:
        assert (home.programs / "initdb").read_text() == "#!/bin/sh\nid -u\n"
        assert (home.programs != programs) == (os.geteuid() == 0)
    assert not home.folder.exists()


def test_server_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error with what the program says, not a reason to skip tests."""
    monkeypatch.setenv(VARIABLE, str(install(tmp_path, "echo no room >&2; exit 1")))
    with pytest.raises(RuntimeError, match="PostgreSQL does not start: no room"), own_home():
        pass
