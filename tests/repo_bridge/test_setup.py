"""`repo-bridge init`: settings and units, from options and from DSpace's own configuration."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from repo_bridge.cli import main
from repo_bridge.settings import FILE, read_settings
from repo_bridge.setup import write_files

DSPACE = r"""
# what DSpace's own dspace.cfg looks like
dspace.dir = /dspace
dspace.ui.url = http://localhost:4000
dspace.server.url = http://localhost:8080/server
dspace.name = DSpace at My University
assetstore.dir = ${dspace.dir}/assetstore
db.url = jdbc:postgresql://localhost:5432/dspace
db.username = dspace
db.password = zqsecret
metadata.hide.dc.description.provenance = true
metadata.hide.person.email = true
metadata.hide.dc.rights = false
"""
LOCAL = r"""
repo.host: repository.example
dspace.dir = {folder}
dspace.ui.url = https://${{repo.host}}/
dspace.server.url = \
    ${{dspace.ui.url}}server
dspace.name = Repositório “A\B”
db.url = jdbc:postgresql://db.repository.example/dspace?ssl=true
metadata.hide.local.note = true
metadata.hide.dc.contributor.advisor = yes
metadata.hide.local.shown = off
metadata.hide.local.empty =
"""


@pytest.fixture
def dspace(tmp_path: Path) -> Path:
    """Return a folder with DSpace's configuration."""
    folder = tmp_path / "dspace"
    (folder / "config").mkdir(parents=True)
    (folder / "assetstore").mkdir()
    (folder / "config" / "dspace.cfg").write_text(DSPACE, "utf-8")
    (folder / "config" / "local.cfg").write_text(LOCAL.format(folder=folder), "utf-8")
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without a terminal."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    return home


def test_of_dspace(dspace: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What DSpace says is taken over, but for its own role and password; the settings can be read again."""
    assert main(["init", "--dspace", str(dspace), "--base-url", "https://s.example", "--timezone", "Asia/Tokyo"]) == 0
    settings = tomllib.loads((home / FILE).read_text("utf-8"))
    assert settings == {
        "out": "public",
        "base-url": "https://s.example",
        "database": "postgresql://resourcesync@db.repository.example/dspace",
        "assetstore": str(dspace / "assetstore"),
        "ui-url": "https://repository.example",
        "server-url": "https://repository.example/server",
        "name": "Repositório “A\\B”",
        "hidden": ["dc.contributor.advisor", "local.empty", "local.note"],
        "timezone": "Asia/Tokyo",
    }
    read = read_settings({})
    assert read.warnings == ()
    assert read.hidden == {"dc.contributor.advisor", "local.empty", "local.note"}
    assert "zqsecret" not in (home / FILE).read_text("utf-8") + capsys.readouterr().out
    if sys.platform != "win32":
        assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600
    service = (home / "repo-bridge.service").read_text("utf-8")
    assert f'\nWorkingDirectory={home}\nExecStart="{sys.executable}" -m repo_bridge publish\n' in service
    assert "\nOnCalendar=*-*-* 03:15\n" in (home / "repo-bridge.timer").read_text("utf-8")


def test_what_dspace_reads(
    dspace: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment decides before local.cfg, this before dspace.cfg, and in a file what comes first."""
    config = dspace / "config"
    (config / "modules").mkdir()
    (config / "modules" / "a.cfg").write_text("metadata.hide.local.module = true\nmetadata.hide.local.shown = true\n")
    (config / "more.cfg").write_text(
        "metadata.hide.local.included = true\nmetadata.hide.local.note = false\n"
        "include = more.cfg, ../config/local.cfg\ndspace.ui.url = http://127.0.0.1:4000/\n"
    )
    (config / "dspace.cfg").write_text("module_dir = modules\ninclude = ${module_dir}/a.cfg\n" + DSPACE)
    local = LOCAL.format(folder=dspace).replace("dspace.ui.url = https://${repo.host}/\n", "include = more.cfg\n")
    (config / "local.cfg").write_text(
        f"includeoptional = nowhere.cfg\nmetadata.hide.local.twice = true\n{local}metadata.hide.local.twice = false\n",
        "utf-8",
    )
    monkeypatch.setenv("metadata__P__hide__P__local__P__by__D__environment", "true")
    monkeypatch.setenv("metadata__P__hide__P__dc__P__contributor__P__advisor", "false")
    monkeypatch.setenv("db__P__url", "jdbc:postgresql://dspacedb:5432/dspace")
    assert main(["init", "--dspace", str(dspace), "--base-url", "https://s.example"]) == 0
    settings = tomllib.loads((home / FILE).read_text("utf-8"))
    assert settings["hidden"] == [
        f"local.{name}" for name in ("by-environment", "empty", "included", "module", "twice")
    ]
    assert settings["database"] == "postgresql://resourcesync@dspacedb:5432/dspace"
    assert settings["ui-url"] == "http://127.0.0.1:4000"
    assert "timezone" not in settings
    files = ", ".join(str(config / name) for name in ("local.cfg", "more.cfg", "dspace.cfg", "modules/a.cfg"))
    said = capsys.readouterr().out
    assert f"\nRead: {files}, 3 environment variables. DSpace also reads environment variables (such as" in said
    assert (
        "\nui-url is http://127.0.0.1:4000, which only this machine can open: set the URL that visitors use.\n" in said
    )
    assert "server-url is" in said
    assert "\ntimezone is not set, so embargoes end up to half a day late: set it to that of DSpace's" in said


def test_file_that_is_not_there(dspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that has to be included, and is not there, may hide fields: nothing is written without it."""
    with (dspace / "config" / "local.cfg").open("a") as file:
        file.write("include = secret.cfg\n")
    assert main(["init", "--dspace", str(dspace), "--base-url", "https://s.example"]) == 2
    config = dspace / "config"
    assert f"{config}/local.cfg includes {config}/secret.cfg, which does not exist" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="units are for Linux")
def test_unit_has_the_user_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment may name another user, as after `su`; in a container, the user may have no name."""
    import pwd

    monkeypatch.setenv("LOGNAME", "somebody-else")
    write_files(tmp_path, {})
    assert f"\nUser={pwd.getpwuid(os.geteuid()).pw_name}\n" in (tmp_path / "repo-bridge.service").read_text("utf-8")
    nameless = tmp_path / "nameless"
    nameless.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 987654)
    write_files(nameless, {})
    assert "\nUser=987654\n" in (nameless / "repo-bridge.service").read_text("utf-8")


def test_units_of_odd_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a unit, `%` begins a specifier, and a space ends a word."""
    folder = tmp_path / "100%n sure"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", '/opt/my "python"/3%')
    write_files(folder, {})
    service = (folder / "repo-bridge.service").read_text("utf-8")
    assert f"\nWorkingDirectory={tmp_path}/100%%n sure\n" in service
    assert '\nExecStart="/opt/my \\"python\\"/3%%" -m repo_bridge publish\n' in service
    assert f'\nReadWritePaths="{tmp_path}/100%%n sure"\n' in service


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize(("out", "writable"), [("public", ["{}"]), ("/srv/o p", ["{}", "/srv/o p"])])
def test_units_are_valid(tmp_path: Path, out: str, writable: list[str]) -> None:
    """For systemd; and the service can write into its folders alone, which do not lie within each other."""
    folder = tmp_path / "100%n sure"
    folder.mkdir()
    write_files(folder, {"out": out})
    units = [folder / "repo-bridge.service", folder / "repo-bridge.timer"]
    command = ["systemd-analyze", "verify", *map(str, units)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    text = units[0].read_text("utf-8")
    named = re.findall(r'"([^"]*)"', re.findall("ReadWritePaths=(.*)", text)[0])
    assert [path.replace("%%", "%") for path in named] == [path.format(folder) for path in writable]
    units[0].write_text(text.replace("Type=oneshot", "Type=once"), "utf-8")
    assert "once" in subprocess.run(command, check=False, capture_output=True, encoding="utf-8").stderr


def test_what_is_asked(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal it asks for what is missing; otherwise that is an error."""
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        answers = {"database": "dspace.dump", "hidden (": "dc.rights.holder, local.*.note", "timezone": "Asia/Tokyo"}
        return answers.get(question[:8], "https://e.org/x ")

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    assert main(["init", "--ui-url", "https://e.org"]) == 0
    assert asked == [
        "base-url (the URL at which that folder is served): ",
        "database (postgresql://…, sqlite:///FILE, or a dump): ",
        "hidden (fields of each metadata.hide.… in local.cfg, with commas; may be empty): ",
        "timezone (the time zone of the machine that DSpace runs on, such as Europe/Berlin; may be empty): ",
    ]
    settings = tomllib.loads((home / FILE).read_text("utf-8"))
    assert settings["base-url"] == "https://e.org/x"
    assert settings["hidden"] == ["dc.description.provenance", "person.email", "dc.rights.holder", "local.*.note"]
    assert settings["timezone"] == "Asia/Tokyo"
    assert f"Check the settings in {FILE}.\n" in capsys.readouterr().out  # a dump needs no password


@pytest.mark.parametrize("answers", range(4))
def test_the_end_of_the_input_stops(home: Path, answers: int) -> None:
    """Ctrl-D at any question stops as Ctrl-C does: one line, and nothing is written."""
    command = [sys.executable, "-m", "repo_bridge", "init", "--ui-url", "https://e.org"]
    main_end, end = os.openpty()
    with subprocess.Popen(
        command, stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        os.close(end)
        os.write(main_end, b"https://e.org/x\n" * min(answers, 1) + b"dspace.dump\n" * (answers > 1))
        os.write(main_end, b"\n" * (answers > 2) + b"\x04")
        out, err = process.communicate(timeout=60)
    os.close(main_end)
    assert (process.returncode, err) == (130, "repo-bridge: stopped: the previous publication is kept\n"), out
    assert [*home.iterdir()] == []


NEEDED = ["init", "--base-url", "https://s.example", "--ui-url", "https://e.org"]


def test_without_dspace(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said what cannot be known: hidden fields, the time zone, and where files are."""
    assert main([*NEEDED, "--database", "postgresql://nobody@127.0.0.1:1/x"]) == 0
    settings = tomllib.loads((home / FILE).read_text("utf-8"))
    assert settings["hidden"] == ["dc.description.provenance", "person.email"]
    said = capsys.readouterr().out
    assert f"in {FILE}, and add the password for the database if it needs one.\n" in said
    assert "add those of every metadata.hide.… in its local.cfg, or they will be published" in said
    assert "timezone is not set" in said
    assert "Read:" not in said


def test_files_in_s3(dspace: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If new files are in S3, the folder of the first store is not taken for that of all files."""
    (dspace / "config" / "modules").mkdir()
    (dspace / "config" / "modules" / "assetstore.cfg").write_text("assetstore.index.primary = 1\n")
    (dspace / "config" / "dspace.cfg").write_text(f"{DSPACE}include = modules/assetstore.cfg\n", "utf-8")
    assert main(["init", "--dspace", str(dspace), "--base-url", "https://s.example"]) == 0
    assert "assetstore" not in tomllib.loads((home / FILE).read_text("utf-8"))
    assert "set it to the folder of files that are not in S3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "base-url (the URL at which that folder is served) is missing: pass --base-url"),
        (["--dspace", "nowhere"], "nowhere has no config/dspace.cfg: pass the folder in which DSpace is installed"),
        (["--base-url", "x", "--ui-url", "https://e.org", "--database", "d"], "--base-url must be an absolute"),
        (
            ["--database", "postgresql://a:b@c/d", "--base-url", "https://e.org", "--ui-url", "https://e.org"],
            "password",
        ),
    ],
)
def test_what_is_refused(home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """What is missing or wrong is one sentence, and nothing is written."""
    assert main(["init", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [*home.iterdir()] == []


def test_nothing_is_replaced(home: Path, dspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where one of the files is there, none is written; a folder that cannot be written is said."""
    (home / "repo-bridge.timer").write_text("mine")
    arguments = ["init", "--dspace", str(dspace), "--base-url", "https://s.example"]
    assert main(arguments) == 2
    assert "repo-bridge.timer already exists" in capsys.readouterr().err
    assert [file.name for file in home.iterdir()] == ["repo-bridge.timer"]


def test_what_cannot_be_read_or_written(
    home: Path, dspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A configuration that cannot be read, and a file that cannot be written, are one sentence."""
    (home / "odd" / "config" / "local.cfg").mkdir(parents=True)
    assert main(["init", "--dspace", "odd", "--base-url", "https://s.example"]) == 2
    assert "cannot be read" in capsys.readouterr().err

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device", FILE)

    monkeypatch.setattr("repo_bridge.setup.os.open", fail)
    assert main(["init", "--dspace", str(dspace), "--base-url", "https://s.example"]) == 2
    said = f"{FILE} cannot be written: No space left on device: free disk space\n"
    assert capsys.readouterr().err == f"repo-bridge: {said}"
