"""The command `follow`: programs in any language that handle the changes of a Source."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import ExitStack
from io import StringIO
from pathlib import Path

import pytest

from pelican_resourcesync.cli import main
from tests.kit.live import status
from tests.kit.publications import Source
from tests.kit.sites import ROOT
from tests.kit.sources import FakeSource, digest, stamp

#: Notes what it is given, and copies the file; ends with 1 for what the file `refuse` names.
SCRIPT = """#!/bin/sh
grep -qs "$RESOURCESYNC_KIND" "{0}/refuse" && exit 1
printf '%s %s %s %s %s\\n' "$RESOURCESYNC_KIND" "$RESOURCESYNC_URI" "$RESOURCESYNC_TIME" "$RESOURCESYNC_LENGTH" \\
    "$RESOURCESYNC_PASSWORD" >> "{0}/handled"
cat >> "{0}/lines"
[ -z "$RESOURCESYNC_FILE" ] || cat "$RESOURCESYNC_FILE" >> "{0}/handled"
"""


PAGES = {"a.html": "one\n", "b.html": "two\n"}


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return the path of the script."""
    file = tmp_path / "handle it.sh"
    file.write_text(SCRIPT.format(tmp_path))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return f"'{file}'"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command; give its exit status and what it says."""
    code = main(["follow", *map(str, arguments), "--retries", "0"])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.promise("A follower loses nothing")
def test_exec(
    source: FakeSource, tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command handles each change; the cursor moves when it was handled."""
    monkeypatch.setenv("RESOURCESYNC_PASSWORD", "secret")
    cursor, handled = tmp_path / "cursor", tmp_path / "handled"
    arguments = [source.url, "--exec", script, "--cursor", cursor]
    assert run(capsys, *arguments) == (0, "Complete: 2 changes handled.\n", "")
    assert handled.read_text() == (
        f"created {source.url}a.html 2024-01-01T00:01:00Z 4 \none\n"
        f"created {source.url}b.html 2024-01-01T00:02:00Z 4 \ntwo\n"
    )
    line = json.loads((tmp_path / "lines").read_text().splitlines()[0])
    assert {key: line[key] for key in ("uri", "kind", "time", "length", "type", "links")} == {
        "uri": f"{source.url}a.html", "kind": "created", "time": "2024-01-01T00:01:00Z", "length": 4, "type": "",
        "links": [],
    }  # fmt: skip
    assert line["hash"].startswith("sha-256:")
    assert not Path(line["file"]).exists()
    handled.unlink()
    source.update({"a.html": "three\n", "b.html": None})
    (tmp_path / "refuse").write_text("deleted")
    code, _, err = run(capsys, *arguments)
    assert code == 3
    assert err.endswith(f"ended with status 1: {source.url}b.html will be sent again in the next run\n")
    assert handled.read_text() == f"updated {source.url}a.html 2024-01-01T00:03:00Z 6 \nthree\n"
    (tmp_path / "refuse").unlink()
    handled.unlink()
    assert run(capsys, *arguments)[0] == 0
    assert handled.read_text() == f"deleted {source.url}b.html 2024-01-01T00:04:00Z  \n"
    assert run(capsys, *arguments) == (0, "Complete: 0 changes handled.\n", "")


def test_hostile_uris(source: FakeSource, tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What a URI says is never a command, nor the name of a file."""
    hostile = ["$(touch pwned)", "`touch pwned`", "a;touch pwned;", "../../pwned", "-rf", "a&&touch pwned|", "%0atouch"]
    hostile += ["'\"", "x" * 4_000]
    more = "".join(source.entry(each, {"change": "deleted"}, stamp(source.now)) for each in hostile)
    arguments = [source.url, "--exec", script, "--cursor", tmp_path / "cursor", "--max-deletions", "100"]
    assert run(capsys, *arguments)[0] == 0
    source.add("rs/changelist.xml", more)
    (tmp_path / "handled").unlink()
    assert run(capsys, *arguments)[0] == 0
    handled = (tmp_path / "handled").read_text().splitlines()
    assert [each.split()[1].removeprefix(source.url) for each in handled] == [
        each.replace(" ", "%20") for each in hostile
    ]
    assert not [*tmp_path.rglob("pwned"), *Path.cwd().glob("pwned")]


def test_values_that_are_too_long(
    source: FakeSource, tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are on standard input alone, whatever the system allows in the environment."""
    source.edit("rs/resourcelist.xml", "<rs:md hash=", f'<rs:md type="text/{"x" * 200_000}" hash=', 1)
    assert run(capsys, source.url, "--exec", script, "--cursor", tmp_path / "cursor")[0] == 0
    line = json.loads((tmp_path / "lines").read_text().splitlines()[0])
    assert (line["uri"], len(line["type"])) == (f"{source.url}a.html", 200_005)
    assert len((tmp_path / "handled").read_text().splitlines()) == 4


def test_reset_and_notes(source: FakeSource, tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A note says why everything comes again, and a reset comes first."""
    arguments = [source.url, "--exec", script, "--cursor", tmp_path / "cursor"]
    assert run(capsys, *arguments)[0] == 0
    (tmp_path / "handled").unlink()
    source.put("c.html", "three\n")
    source.begin = source.now
    source.changes.clear()
    source.publish()
    source.site.manners["c.html"] = status(403)
    code, _, err = run(capsys, *arguments)
    assert code == 3
    assert "note: rs: the Change Lists begin at" in err
    assert "1 of the resources cannot be fetched" in err
    kinds = [each.split()[0] for each in (tmp_path / "handled").read_text().splitlines()]
    assert kinds == ["reset", "created", "one", "created", "two"]
    source.site.manners.clear()
    assert run(capsys, *arguments) == (0, "Complete: 1 change handled.\n", "")


def test_json_lines(
    source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --ack, lines go to standard output, and answers come from standard input."""
    arguments = [source.url, "--json-lines", "--ack", "--cursor", tmp_path / "cursor"]
    monkeypatch.setattr(sys, "stdin", StringIO("ok\n"))
    code, out, err = run(capsys, *arguments)
    assert code == 3
    assert [json.loads(line)["uri"] for line in out.splitlines()] == [f"{source.url}a.html", f"{source.url}b.html"]
    assert (
        f"the program that reads the output ended before it answered 'ok': {source.url}b.html will be sent again" in err
    )
    monkeypatch.setattr(sys, "stdin", StringIO("no\n"))
    code, _, err = run(capsys, *arguments)
    assert (code, "the program that reads the output answered 'no' instead of 'ok'" in err) == (3, True)
    monkeypatch.setattr(sys, "stdin", StringIO("ok\n"))
    code, out, _ = run(capsys, *arguments)
    assert (code, [json.loads(line)["uri"] for line in out.splitlines()]) == (0, [f"{source.url}b.html"])


def test_plain_lines(source: FakeSource, capsys: pytest.CaptureFixture[str]) -> None:
    """Without answers, each line has the cursor to go on from, and nothing is fetched but lists."""
    code, out, err = run(capsys, source.url, "--json-lines")
    first, second = map(json.loads, out.splitlines())
    assert (code, err) == (0, "")
    assert {key: first[key] for key in first if key != "cursor"} == {
        "source": source.url, "uri": f"{source.url}a.html", "kind": "created", "time": "2024-01-01T00:01:00Z",
        "hash": digest(b"one\n"), "length": 4, "type": "", "links": [],
    }  # fmt: skip
    assert not [ask.path for ask in source.site.asks if ask.path.endswith(".html")]
    code, out, _ = run(capsys, source.url, "--json-lines", "--since", first["cursor"])
    assert (code, [json.loads(line)["uri"] for line in out.splitlines()]) == (0, [second["uri"]])
    source.update({"c.html": "three", "b.html": None})
    code, out, _ = run(capsys, source.url, "--json-lines", "--no-ack", "--since", second["cursor"])
    changes = [json.loads(line) for line in out.splitlines()]
    assert [(each["kind"], each["uri"], each["hash"]) for each in changes] == [
        ("created", f"{source.url}c.html", digest(b"three")), ("deleted", f"{source.url}b.html", ""),
    ]  # fmt: skip
    assert run(capsys, source.url, "--json-lines", "--since", changes[-1]["cursor"]) == (0, "", "")


def test_plain_lines_of_entries_that_cannot_be_read(source: FakeSource, capsys: pytest.CaptureFixture[str]) -> None:
    """They are said to be missing, as always, and come when they are right."""
    _, line = map(json.loads, run(capsys, source.url, "--json-lines")[1].splitlines())
    source.update({"a.html": "new", "b.html": "new"})
    right = source.published["rs/changelist.xml"]
    source.published["rs/changelist.xml"] = right.replace(b'change="updated"', b'change="moved"', 1)
    code, out, err = run(capsys, source.url, "--json-lines", "--since", line["cursor"])
    [line] = map(json.loads, out.splitlines())
    assert (code, line["uri"]) == (3, f"{source.url}b.html")
    assert "1 of the resources cannot be fetched" in err
    source.published["rs/changelist.xml"] = right
    code, out, _ = run(capsys, source.url, "--json-lines", "--since", line["cursor"])
    assert (code, [json.loads(each)["uri"] for each in out.splitlines()]) == (0, [f"{source.url}a.html"])


def test_texts_of_content_that_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line has what a page says, and there is none where only what is around that changed."""

    def page(text: str, around: str) -> bytes:
        head = f'<title>{text} - Site</title><link rel="canonical" href="/a.html">'
        return f'<html lang="en"><head>{head}</head><nav>{around}</nav><main><h1>{text}</h1></main></html>'.encode()

    site, cursor = Source(tmp_path), list[str]()
    for day, text in enumerate(["one", "one", "two"], start=1):
        site.publish({"a.html": page(text, str(day)), "b.txt": str(day).encode()}, f"2026-01-0{day}T10:00")
        code, out, _ = run(capsys, tmp_path, "--json-lines", "--text", "--content-changes", *cursor)
        found = {each["uri"][-1]: each for each in map(json.loads, out.splitlines())}
        pages = [found["l"]] if "l" in found else []
        assert (code, "text" in found["t"]) == (0, False)
        assert [(each["title"], each["text"], each["language"]) for each in pages] == [
            (text, f"# {text}", "en") for _ in range(day != 2)
        ]
        assert all(each["canonical"] == "https://example.org/a.html" for each in pages)
        assert all(each["content_hash"].startswith("1-") for each in pages)
        cursor = ["--since", json.loads(out.splitlines()[-1])["cursor"]]


@pytest.mark.parametrize("change_lists", [True, False])
def test_contents_beside_the_cursor(
    source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, change_lists: bool
) -> None:
    """What only moved around is left out, whether the Source has Change Lists that do not say so, or none."""
    source.change_lists = change_lists
    arguments = [source.url, "--exec", "true", "--cursor", tmp_path / "cursor", "--content-changes"]
    for text, handled in (("one", "2 changes"), ("one", "0 changes"), ("two", "1 change")):
        source.update({"a.html": f"<nav>{source.now}</nav><main>A", "b.html": f"<nav>{source.now}</nav><main>{text}"})
        assert run(capsys, *arguments) == (0, f"Complete: {handled} handled.\n", "")
    assert (tmp_path / "cursor.contents").exists()


def test_text_of_what_is_too_large_for_a_page(
    source: FakeSource, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Source that calls anything a page fills no memory with it."""
    monkeypatch.setattr("pelican_resourcesync.destination.following._LARGEST_PAGE", 100)
    source.update({"a.html": "<p>small", "b.html": f"<p>{'large' * 100}"})
    code, out, _ = run(capsys, source.url, "--json-lines", "--text")
    assert (code, [json.loads(line).get("text") for line in out.splitlines()]) == (0, ["small", None])


def test_many_deletions(source: FakeSource, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a large part of a Source goes at once, nothing is passed on before the user says that this is right."""
    source.update({f"p{number}.html": "1" for number in range(10)})
    cursor = json.loads(run(capsys, source.url, "--json-lines")[1].splitlines()[-1])["cursor"]
    source.update({f"p{number}.html": None for number in range(5)})
    arguments = [source.url, "--json-lines", "--since", cursor]
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (3, "")
    assert "5 of 12 resources were deleted: nothing was passed on" in err
    assert "--max-deletions 42 (in Python: max_deletions=42)" in err
    code, out, _ = run(capsys, *arguments, "--max-deletions", "42")
    assert (code, [json.loads(line)["kind"] for line in out.splitlines()]) == (0, ["deleted"] * 5)


def test_head(source: FakeSource, tmp_path: Path) -> None:
    """A reader of plain lines that has read enough ends it without a word, as it ends any program."""
    for number in range(2_000):
        source.put(f"{number}.html", "x")
    source.publish()
    follow = f"{sys.executable} -m pelican_resourcesync follow {source.url} --json-lines"
    command = ["bash", "-c", f"set -o pipefail; {follow} --every 1h | head -n 1; echo ${{PIPESTATUS[0]}}"]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    line, exit_status = done.stdout.splitlines()
    assert (json.loads(line)["kind"], exit_status, done.stderr) == ("created", "141", "")


def test_lines_of_a_source_that_lives_on(source: FakeSource, tmp_path: Path) -> None:
    """With --every, it goes on after the last line; what fails meanwhile is one line with the time and the Source."""
    command = [sys.executable, "-m", "pelican_resourcesync", "follow", source.url, "--json-lines", "--every", "0.2"]
    with subprocess.Popen(
        [*command, "--retries", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process, ExitStack() as stack:  # fmt: skip
        stack.callback(process.kill)
        assert process.stdout
        assert process.stderr
        assert [json.loads(process.stdout.readline())["uri"][-6:] for _ in range(2)] == ["a.html", "b.html"]
        source.site.manner = status(503)
        assert re.fullmatch(
            rf"20..-..-..T..:..:..Z {source.url} {source.url}\S*: .* 503 .*\n", process.stderr.readline()
        )
        source.update({"c.html": "three"})
        source.site.manner = source.answer
        assert json.loads(process.stdout.readline())["uri"] == f"{source.url}c.html"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, 3)


def test_reader_that_is_gone(source: FakeSource, tmp_path: Path) -> None:
    """Where nobody reads the lines that are to be answered, it stops with a message."""
    command = [sys.executable, "-m", "pelican_resourcesync", "follow", source.url, "--json-lines"]
    command += ["--ack", "--cursor", "cursor"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        said = process.stderr.read()
    assert (process.returncode, "will be sent again in the next run" in said, "Traceback" in said) == (3, True, False)


def test_output_that_cannot_be_written(
    source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that cannot be started, and lines that cannot be written, are failures like others."""
    (tmp_path / "program").write_bytes(b"\0")
    (tmp_path / "program").chmod(0o755)
    code, _, err = run(capsys, source.url, "--exec", tmp_path / "program", "--cursor", tmp_path / "cursor")
    assert (code, "cannot be run: Exec format error" in err) == (3, True)
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = run(capsys, source.url, "--json-lines", "--ack", "--cursor", tmp_path / "cursor")
    assert (code, f"{source.url}a.html will be sent again" in err) == (3, True)
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = run(capsys, source.url, "--json-lines")
    assert (code, err) == (3, "pelican-resourcesync: the lines cannot be written: No space left on device\n")


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that do not go together, commands that do not exist, and files that are no cursor."""
    (tmp_path / "cursor").write_text("no cursor")
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "empty").touch()
    lines, handled = ["https://example.org/", "--json-lines"], ["https://example.org/", "--cursor", tmp_path / "cursor"]
    for arguments, message in (
        ([*handled, "--exec", "there-is-no-such-program x"], "cannot be found: check its name and path"),
        ([*handled, "--exec", ""], "cannot be found: check its name and path"),
        ([*lines, "--ack", "--cursor", tmp_path / "cursor"], "the cursor is not valid: use one from an earlier run"),
        ([*lines, "--ack", "--cursor", tmp_path / "bytes"], "cannot be read"),
        ([*lines, "--ack", "--cursor", tmp_path / "none/cursor"], "cannot be written"),
        (
            [*lines, "--ack", "--cursor", tmp_path / "empty"],
            "is empty: restore it, or remove it to begin with all resources",
        ),
        ([*lines, "--ack"], "use --cursor FILE together with --exec or --ack"),
        (["https://example.org/", "--exec", "cat"], "use --cursor FILE together with --exec or --ack"),
        (
            [*lines, "--cursor", "x"],
            "which report the changes that were handled. To continue after a line, pass its cursor",
        ),
        ([*lines, "--since", ""], "the cursor after --since is empty"),
        ([*lines, "--since", "x"], "the cursor is not valid: use one from an earlier run"),
    ):
        code, _, err = run(capsys, *arguments)
        assert (code, message in err) == (2, True), err
    for wrong in (handled, [*handled, "--json-lines", "--exec", "cat"], [*lines, "--since", "x", "--cursor", "y"]):
        with pytest.raises(SystemExit) as caught:
            run(capsys, *wrong)
        assert caught.value.code == 2
        assert "see pelican-resourcesync follow --help" in capsys.readouterr().err


def test_a_disk_that_is_full(
    source: FakeSource, tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and the next run goes on."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "content")

    arguments = [source.url, "--exec", script, "--cursor", tmp_path / "cursor"]
    with monkeypatch.context() as patch:
        patch.setattr("pelican_resourcesync.commands.follow.shutil.copyfileobj", full)
        code, _, err = run(capsys, *arguments)
    assert (
        code,
        "content cannot be written: No space left on device: free disk space, and run it again" in err,
    ) == (3, True)
    (tmp_path / "cursor.new").symlink_to("/dev/full")
    code, _, err = run(capsys, *arguments)
    assert (code, err.count("\n"), f"{tmp_path}/cursor cannot be written: No space left" in err) == (3, 1, True)
    (tmp_path / "cursor.new").unlink()
    assert run(capsys, *arguments)[0] == 0
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    code, _, err = run(capsys, *arguments)
    assert (code, err.count("\n"), "cannot be" in err) == (3, 1, True)


@pytest.mark.promise("A follower loses nothing")
def test_kept_running_and_killed(source: FakeSource, tmp_path: Path, script: str) -> None:
    """With --every it looks again; killed, what was not saved comes again; a second run is refused meanwhile."""
    handled = tmp_path / "handled"
    command = [
        sys.executable, "-m", "pelican_resourcesync", "follow", source.url, "--exec", script, "--cursor",
        str(tmp_path / "cursor"),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def wait(text: str) -> None:
        deadline = time.monotonic() + 60
        while not (handled.exists() and handled.read_text().endswith(text)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert handled.read_text().endswith(text)

    with subprocess.Popen([*command, "--every", "0.2"], env=environment, stderr=subprocess.DEVNULL) as running:
        wait("two\n")
        source.update({"c.html": "three\n"})
        wait("three\n")
        running.send_signal(signal.SIGTERM)
        running.wait(60)
    assert handled.read_text().count("created") == 3
    source.site.manners["d.html"] = lambda ask: ask.wait(60)
    source.update({"d.html": "four\n"})
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 60
        while not any(ask.path == "d.html" for ask in source.site.asks) and time.monotonic() < deadline:
            time.sleep(0.02)
        second = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
        running.kill()
    assert (second.returncode, "another run uses" in second.stderr) == (3, True)
    source.site.manners.clear()
    subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
    created = {line for line in handled.read_text().splitlines() if line.startswith("created")}
    assert len(created) == 4  # one may be there twice: SIGTERM may come before its cursor was saved
