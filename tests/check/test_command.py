"""The verb `check`: options, reports and exit statuses."""

import json
from pathlib import Path

import pytest

from pelican_resourcesync.check import CheckError, Request, check
from pelican_resourcesync.cli import main
from tests.check.documents import BASE, lay, text


def test_conforming(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Source without a fault: status 0 and one line."""
    assert main(["check", "--strict", str(lay(tmp_path))]) == 0
    assert capsys.readouterr() == (f"{tmp_path}: conforming: 0 errors, 0 warnings in 21 documents\n", "")


def test_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings alone are conforming, and count where asked."""
    folder = str(lay(tmp_path, {".well-known/resourcesync": None}))
    assert main(["check", folder]) == 0
    assert main(["check", "--strict", folder]) == 1
    assert main(["check", "--strict", "--ignore", "DI01", folder]) == 0
    assert "warning DI01: /.well-known/resourcesync serves" in capsys.readouterr().out


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors: status 1; text names rule, sentence, document, line; so does JSON."""
    broken = text("resources-1.xml").replace('length="5"', 'length="five"')
    folder = str(lay(tmp_path, {"resources-1.xml": broken}))
    assert main(["check", folder]) == 1
    shown = capsys.readouterr().out
    assert "error X09: length is a number of bytes, type a media type [core §7] (2 times)\n" in shown
    assert f"  {BASE}resources-1.xml, line 7, entry '{BASE}a.txt': length 'five' is not a number of bytes\n" in shown
    assert main(["check", "--json", folder]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {name: report[name] for name in ("target", "conforming", "documents")} == {
        "target": folder,
        "conforming": False,
        "documents": 21,
    }
    assert report["findings"][0] == {
        "rule": "X09",
        "level": "error",
        "document": f"{BASE}resources-1.xml",
        "line": 7,
        "entry": f"{BASE}a.txt",
        "message": "length 'five' is not a number of bytes",
    }
    assert report["counts"] == [{"rule": "X09", "level": "error", "count": 2}]


def test_single_document(tmp_path: Path) -> None:
    """A document alone is judged alone, and nothing is asked for."""
    file = lay(tmp_path) / "changes-1.xml"
    assert main(["check", str(file), "--edition", "2017"]) == 0
    assert main(["check", str(file), "--edition", "2014"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "cannot be read: No such file or directory"),
        ([], "say what to check"),
        (["--ignore", "X99", "."], "there is no rule 'X99' to ignore"),
        (["--ignore", "X16", "."], "this takes two visits"),
        (["a\0b"], "cannot be read"),
        (["http://"], "is not an http(s) address"),
        (["http://127.0.0.1:1/x"], "nothing was checked"),
    ],
)
def test_what_cannot_be_checked(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No target, or wrong options: status 2 and one sentence."""
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """The list of rules, and of those that cannot be seen."""
    assert main(["check", "--rules"]) == 0
    listed = capsys.readouterr().out
    assert "CH03   MUST    Changes are in forward chronological order [core §12.1]\n" in listed
    assert "X16    -       Not seen from outside" in listed


def test_progress_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits at a terminal sees what is read; the report stays as it is."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["check", str(lay(tmp_path))]) == 0
    shown = capsys.readouterr()
    assert f"\r{BASE}.well-known/resourcesync" in shown.err
    assert shown.out.count("\n") == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"jobs": 0}, "are at least 1"),
        ({"max_documents": 0}, "are at least 1"),
        ({"edition": 2013}, "there is no edition 2013"),
    ],
)
def test_requests_that_cannot_be(wrong: dict[str, int], message: str) -> None:
    """What the command line does not let through is refused to others too."""
    with pytest.raises(CheckError, match=message):
        check(Request(target=".", **wrong))  # type: ignore[arg-type]  # numbers all


@pytest.mark.parametrize("option", ["--jobs", "--max-documents", "--edition"])
def test_wrong_usage(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is status 2."""
    with pytest.raises(SystemExit, match="2"):
        main(["check", option, "0", "."])
    assert option in capsys.readouterr().err
