"""Nothing raw reaches a terminal or a log: the functions that see to it, and every place that writes."""

import ast
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync import cli, errors, plugin
from pelican_resourcesync.commands import show as show_command
from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.system.printable import get_logger, printable, printable_lines
from repo_bridge import cli as bridge
from tests.kit.documents import lay, text
from tests.kit.live import content, live, redirect

ROOT = Path(__file__).parents[2]
#: ESC, BEL, CSI of C1, line breaks of three kinds, bidi controls, half a character, and credentials in a URL.
HOSTILE = "\x1b[2J\x07\x9b2J\r\n\u2028\u202e\u2066\udc9b https://user:pass@example.org/?token=hidden"
SHOWN = r"\x1b[2J\x07\x9b2J\r\n\u2028\u202e\u2066\udc9b https://***@example.org/?token=***"
#: The calls that write to a terminal or a log, and the functions that make what they write safe.
WRITERS = {"sys.stdout.write", "sys.stderr.write", "print", "console.print", "self._display.console.print"}
#: The modules whose streams are terminals.
PROGRESS = {"terminal.py"}
#: JSON is for programs, and escapes what is not ASCII, and control characters.
SAFE = {"printable", "printable_lines", "json.dumps"}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (HOSTILE, SHOWN),
        ("Zürich, 東京: 1 item", "Zürich, 東京: 1 item"),
        ("https://me@example.org/", "https://***@example.org/"),
        ("https://example.org/@me and a@b.org", "https://example.org/@me and a@b.org"),
        ("postgresql://me:p%40ss@db/x", "postgresql://***@db/x"),
        ("postgresql://USER@HOST/x or postgresql://USER:p@db/x", "postgresql://USER@HOST/x or postgresql://***@db/x"),
        ("https://e.org/?a=1&X-Amz-Signature=abc&b=2", "https://e.org/?a=1&X-Amz-Signature=***&b=2"),
        ("'https://e.org/?sig=abc' and more", "'https://e.org/?sig=***' and more"),
        ("https://e.org/?author=Jane&page=2", "https://e.org/?author=Jane&page=2"),
    ],
)
def test_printable_by_hand(raw: str, shown: str) -> None:
    """Controls are escaped, credentials are masked, and everything else stays."""
    assert printable(raw) == shown


@given(st.text())
@example("\x85\u200b\x00\u061c")
def test_any_text_is_one_safe_line(raw: str) -> None:
    """Whatever is shown is printable; by lines, only the line breaks differ."""
    assert printable(raw).isprintable()
    assert printable_lines(raw).split("\n") == [printable(line) for line in raw.split("\n")]
    printable(raw).encode()  # no half of a character is left


def test_log_records_are_printable(caplog: pytest.LogCaptureFixture) -> None:
    """What a logger of this project is given, and what Pelican logs of our errors, is made safe."""
    get_logger("pelican_resourcesync.hostile").warning("bad: %s", HOSTILE)
    error = ResourceSyncError(HOSTILE)
    record = logging.LogRecord("pelican", logging.CRITICAL, "", 0, "%s", (error,), (ResourceSyncError, error, None))
    assert plugin._one_sentence(record)
    assert [caplog.messages, record.getMessage()] == [[f"bad: {SHOWN}"], f"ResourceSync: {SHOWN}"]


@pytest.mark.parametrize(
    "error", [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
)
@pytest.mark.parametrize("command", [cli, bridge])
def test_any_error_ends_in_one_safe_line(
    error: type[Exception], command: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an error says, the command line writes one line of it, for each error there is."""

    def fail(_: object) -> int:
        failure = error.__new__(error)  # some take more than a message
        Exception.__init__(failure, HOSTILE)
        raise failure

    monkeypatch.setattr(show_command, "show", fail)
    monkeypatch.setattr(bridge, "_init", fail)
    arguments = ["init"] if command is bridge else ["show"]
    assert command.main(arguments) == (3 if error is errors.IncompleteError else 2)  # type: ignore[attr-defined]
    said = capsys.readouterr().err.partition(": ")[2]
    assert (said.startswith(SHOWN), said.count("\n"), printable(said[:-1])) == (True, 1, said[:-1])


def calls(file: Path) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in a module that write, each with its name."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def is_safe(written: ast.expr, file: Path) -> bool:
    """Whether an expression is a constant, the name of the program, a number, or the result of a safe function."""
    if isinstance(written, ast.JoinedStr):
        return all(is_safe(part.value, file) for part in written.values if isinstance(part, ast.FormattedValue))
    if isinstance(written, ast.Subscript | ast.BinOp):
        return all(is_safe(part, file) for part in ast.iter_child_nodes(written) if isinstance(part, ast.expr))
    if isinstance(written, ast.Call):
        return ast.unparse(written.func) in SAFE
    return isinstance(written, ast.Constant | ast.Slice) or (isinstance(written, ast.Name) and written.id.isupper())


#: What is written is made safe by the caller; the script of a shell has nothing from outside.
BY_CALLER = {("terminal.py", "line"), ("terminal.py", "drawn"), ("system/command_line.py", "script")}


def test_every_place_that_writes_makes_its_text_safe() -> None:
    """No call in the product writes to a terminal but through `printable`, and every logger is one of `get_logger`."""
    found = 0
    for package in ("pelican_resourcesync", "repo_bridge"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if file.name == "printable.py":
                continue
            name = file.relative_to(ROOT / package).as_posix()
            for call, function in calls(file):
                written = ast.unparse(call.args[0]) if call.args else ""
                if function in WRITERS or (name in PROGRESS and function == "self._stream.write"):
                    found += 1
                    known = {(name, variable) for variable in (written, written.removesuffix("\\n'").strip("f'{}"))}
                    assert is_safe(call.args[0], file) or known & BY_CALLER, f"{name}:{call.lineno} {written}"
                others = ("'pelican'", "_library")  # what these log is made safe by a filter, or not shown at all
                assert function != "logging.getLogger" or written in others, f"{name}:{call.lineno}"
    assert found > 10


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Answer with a redirect, a media type and a document of a stranger."""
    moved = redirect("http://user:pass@example.org/\x1b[2J\x9b")
    document = content(b"<html\x1b\x9b>", Content_Type="text/\x9b2Jhtml\x07")
    with live(lambda ask: (moved if ask.path.endswith("moved") else document)(ask)) as site:
        yield site.url


def is_safe_output(shown: str) -> bool:
    """Whether all lines are printable and nothing secret is in them."""
    return all(line.isprintable() for line in shown.split("\n")) and not {"pass@", "hidden"} & set(shown.split())


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_hostile_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str], json: list[str]) -> None:
    """Whatever a stranger's document says in any place, `check` shows it safely."""
    bad = "&#x9b;&#x202e;&#x2028; https://user:pass@example.org/?token=hidden"
    listed = text("resources-1.xml")
    for old, new in (
        ("b.txt", f"b.txt{bad}"),
        ('rel="index"', f'rel="index{bad}" x{"y"}="{bad}"'),
        ('hash="', f'hash="{bad}'),
        ('type="', f'type="{bad}'),
        ('at="', f'at="{bad}'),
        ('capability="', f'capability="{bad}'),
        ("2024-02-02", f"{bad}2024-02-02"),
    ):
        folder = lay(tmp_path / str(len(old)), {"resources-1.xml": listed.replace(old, new)})
        assert cli.main(["check", str(folder), "--deep", *json]) == 1
        shown = capsys.readouterr()
        assert is_safe_output(shown.out + shown.err)
        assert "pass@" not in shown.out
        assert "=hidden" not in shown.out


@pytest.mark.parametrize("command", [["check"], ["show"]])
@pytest.mark.parametrize("target", ["", "moved", "?token=hidden&a=\x1b", "\x9b\u202e"])
def test_hostile_hosts(command: list[str], target: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a host answers, and however its URL is written, nothing raw is shown."""
    cli.main([*command, f"{address}/{target}"])
    shown = capsys.readouterr()
    assert is_safe_output(shown.out + shown.err)
    assert "=hidden" not in shown.out + shown.err


@pytest.mark.parametrize("command", [["check"], ["show"], ["forget", "urn:x", "--output"], ["show", "--settings"]])
def test_hostile_paths(command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Paths of any name are shown safely, missing or not, and so they are by the bridge."""
    folder = tmp_path / "\x1b[2J\x9b\n\u202e"
    for path in (folder, folder.parent / "missing\x1b\r"):
        folder.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO())
            cli.main([*command, str(path)])
        bridge.main(["publish", "--config", str(path)])
        bridge.main(["import", str(path), str(path / "export.db")])
        shown = capsys.readouterr()
        assert is_safe_output(shown.out + shown.err)
