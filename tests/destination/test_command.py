"""The commands `mirror`, `audit` and `repair`: what they say, exit statuses, options, and how they stop."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from base64 import b64encode
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import pelican_resourcesync as library
from pelican_resourcesync.cli import main, parser
from pelican_resourcesync.commands.running import options_of, progress_text
from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.options import MirrorOptions
from tests.destination.linked import LinkedSource, link
from tests.kit.live import content, late, live, status
from tests.kit.screen import terminal
from tests.kit.sites import ROOT
from tests.kit.sources import FakeSource, entry, files_of, living

PAGES = {"index.htm": "home", "a.html": "one", "b/c.html": "two", "b/d.txt": "three", "e.bin": "four"}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run `mirror`, or the command that is named; give its exit status and what it says."""
    verb = [] if arguments[0] in ("audit", "repair") else ["mirror"]
    code = main([*verb, *map(str, arguments), "--retries", "0"])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_what_it_says(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what was done, and the exit status whether it is all."""
    folder = tmp_path / "copy"
    code, out, err = run(capsys, source.url, folder, "--dry-run")
    assert (code, err) == (0, "")
    assert out.endswith("To fetch: 5 resources (19 bytes); to delete: 0.\n")
    code, out, err = run(capsys, source.url, folder)
    assert (code, err) == (0, "")
    assert out.startswith(f"Complete: {folder} has 5 resources; 5 fetched (19 bytes), 0 deleted in ")
    assert out.count("\n") == 1
    assert run(capsys, "audit", source.url, folder)[:2] == (0, "The copy matches the Source.\n")
    (folder / "a.html").unlink()
    code, out, _ = run(capsys, "audit", source.url, folder)
    assert (code, out.splitlines()[0]) == (1, f"{source.url}a.html is missing or damaged in the copy")
    assert "The copy differs from the Source in 1 resource. Correct it with `pelican-resourcesync repair`" in out
    assert run(capsys, "repair", source.url, folder)[0] == 0
    (folder / "old.html").write_text("stale")
    code, out, _ = run(capsys, "audit", source.url, folder)
    unknown = "old.html is unknown to the mirror: remove it, unless it is yours\n"
    assert (code, out) == (1, f"{unknown}The copy matches the Source, but has 1 file of its own.\n")
    code, out, _ = run(capsys, "repair", source.url, folder)
    assert (code, out.startswith("Not deleted: old.html (the mirror has no record")) == (3, True)
    (folder / "old.html").unlink()
    for served in ("404.html", "index.html", "robots.txt", ".htaccess"):
        (folder / served).write_text("of the host")
    assert run(capsys, "repair", source.url, folder)[0] == run(capsys, "audit", source.url, folder)[0] == 0
    source.update({"a.html": "new"})
    source.site.manners["a.html"] = status(500)
    code, out, _ = run(capsys, source.url, folder)
    assert code == 3
    assert out.splitlines()[0] == (
        f"Missing: {source.url}a.html ({source.url}a.html: the server answered 500 Internal Server Error)"
    )
    assert "Incomplete: " in out


def test_json(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each report is one line of JSON, with the time and the Source; the options may stand anywhere."""
    folder = tmp_path / "copy"

    def report(*arguments: object) -> dict[str, Any]:
        code, out, err = run(capsys, *arguments)
        assert (code, out.count("\n"), err) == (0, 1, "")
        found = json.loads(out)
        assert (found.pop("source"), found.pop("folder")) == (source.url, str(folder))
        begin, end = (datetime.fromisoformat(found.pop(each)) for each in ("begin", "end"))
        assert before <= begin <= end <= datetime.now(UTC)
        assert isinstance(found, dict)
        return found

    before = datetime.now(UTC).replace(microsecond=0)
    counts = {"fetch": 5, "delete": 0, "size": 19, "unknown": 0, "foreign": 0}
    assert report(source.url, folder, "--dry-run", "--json")["plan"].items() >= counts.items()
    done = {
        "complete": True, "resources": 5, "fetched": 5, "size": 19, "deleted": 0, "adopted": 0, "left": 0,
        "not_deleted": 0, "foreign": 0, "notes": [], "unread": [],
        "sets": {"rs": {"at": "2024-01-01T00:05:00Z", "generation": None}},
    }  # fmt: skip
    assert report("--json", source.url, folder) == done
    source.update({"a.html": "new", "new.html": "new", "e.bin": None})
    uris = report("--json=resources", source.url, folder)["uris"]
    assert {kind: [uri.removeprefix(source.url) for uri in found] for kind, found in uris.items()} == {
        "created": ["new.html"], "updated": ["a.html"], "deleted": ["e.bin"], "missing": [], "not_deleted": [],
    }  # fmt: skip
    assert report("audit", source.url, folder, "--json") == {"differences": 0, "foreign": 0}
    (folder / "a.html").unlink()
    code, out, _ = run(capsys, "audit", source.url, folder, "--json=resources")
    assert (code, json.loads(out)["differences"]) == (1, 1)
    assert json.loads(out)["uris"]["differences"] == {f"{source.url}a.html": "is missing or damaged in the copy"}
    source.site.manner = status(503)
    code, out, err = run(capsys, source.url, folder, "--json", "--quiet")
    assert (code, json.loads(out)["complete"]) == (3, False)
    assert err == f"pelican-resourcesync: {json.loads(out)['error']}\n"


def test_documented_keys(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys in the documentation are those of the lines."""
    folder, found = tmp_path / "copy", list[str]()
    lines: list[list[object]] = [
        [tmp_path], [source.url, folder], [source.url, folder, "--dry-run"],
        [source.url, folder, "--publish", "https://copy.example"],
        ["audit", source.url, folder, "--json=resources"], ["restore", source.url, "--list-times"],
        ["restore", source.url, tmp_path / "past.wacz", "--all-times"],
    ]  # fmt: skip
    for arguments in lines:
        line = [*map(str, arguments), "--retries", "0"] + ["--json"] * ("--json=resources" not in arguments)
        main(line if line[0] in ("audit", "restore") else ["mirror", *line, *[str(folder)] * (len(arguments) == 1)])
        found += json.loads(capsys.readouterr().out)
    (tmp_path / "sources.toml").write_text(f'[sources.a]\nsource = "{source.url}"\nfolder = "copy"')
    main(["mirror", "--config", str(tmp_path / "sources.toml"), "--json"])
    found += json.loads(capsys.readouterr().out)
    table = (
        (ROOT / "docs/commands.md")
        .read_text("utf-8")
        .partition("| in the line | meaning |\n|---|---|\n")[2]
        .partition("\n\n")[0]
    )
    named = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(set(found))


def test_log(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With -v each resource is named, with -q nothing is said but errors; afterwards nothing is logged any more."""
    folder = tmp_path / "copy"
    assert run(capsys, source.url, folder, "-q") == (0, "", "")
    source.update({"a.html": "new", "new.html": "new", "e.bin": None})
    code, out, err = run(capsys, source.url, folder, "--verbose")
    assert (code, out.startswith("Complete: ")) == (0, True)
    assert sorted(err.splitlines()) == [
        f"pelican-resourcesync: created {source.url}new.html",
        f"pelican-resourcesync: deleted {source.url}e.bin",
        f"pelican-resourcesync: updated {source.url}a.html",
    ]
    source.site.manner = status(503)
    code, out, err = run(capsys, source.url, folder, "-q")
    assert (code, out) == (3, "")
    assert re.fullmatch(r"pelican-resourcesync: .* 503 .*\n", err)
    assert logging.getLogger("pelican_resourcesync").handlers == []


def test_log_of_a_program(source: FakeSource, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A program that copies or follows gets a record for each resource from the standard logging."""
    caplog.set_level(logging.INFO, "pelican_resourcesync")
    library.mirror(source.url, tmp_path / "copy", only=["*/a.html"])
    list(library.follow(source.url, only=["*/e.bin"]))
    assert caplog.messages == [f"created {source.url}a.html", f"created {source.url}e.bin"]
    names = [
        (record.name.partition(".")[0], record.__dict__["kind"], record.__dict__["uri"]) for record in caplog.records
    ]
    assert names[0] == ("pelican_resourcesync", "created", f"{source.url}a.html")


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Units that do not exist, and actions that exclude each other."""
    for wrong in (
        ["--rate", "fast"],
        ["--every", "10x"],
        ["--audit"],
        ["--jobs", "0"],
        ["--max-size", "0"],
        ["--user-agent", "caf\xe9"],
        ["--user-agent", ""],
    ):
        with pytest.raises(SystemExit) as caught:
            main(["mirror", "https://example.org/", "copy", *wrong])
        assert caught.value.code == 2
    assert "see pelican-resourcesync mirror --help" in capsys.readouterr().err
    assert main(["mirror", "https://example.org/", "copy", "--dry-run", "--every", "5"]) == 2
    assert "--dry-run cannot be combined with --every" in capsys.readouterr().err


def test_options() -> None:
    """Each option of the command line is one of the mirror."""
    line = """mirror https://example.org/ copy --set a --only *.pdf --type image/* --allow-host b.test --allow-private
        --adopt --accept-older --max-deletions 5 --jobs 2 --rate 2MB/s --proxy --retries 1 --timeout 5s --max-time 2h
        --max-wait 1m --max-size 1.5k --max-document-size 2M --max-documents 3 --max-resources 4 --user me:word
        --max-run 3h --header X:y --user-agent Museum/1.0 --prefer text/* --prefer a/b"""
    arguments = parser().parse_args(line.split())
    assert MirrorOptions(**options_of(arguments)) == MirrorOptions(
        set=("a",),
        only=("*.pdf",),
        type=("image/*",),
        allow_host=("b.test",),
        allow_private=True,
        adopt=True,
        accept_older=True,
        max_deletions=5,
        jobs=2,
        rate="2MB/s",
        proxy=True,
        user_agent="Museum/1.0",
        retries=1,
        timeout=5,
        max_time=7_200,
        max_run=10_800,
        max_wait=60,
        max_size=1_500,
        max_document_size=2_000_000,
        max_documents=3,
        max_resources=4,
        user="me:word",
        header=("X:y",),
        prefer=("text/*", "a/b"),
    )
    assert MirrorOptions(**options_of(parser().parse_args(["repair", "a", "b"]))) == MirrorOptions()


def test_options_of_a_program() -> None:
    """Rates and credentials mean what they mean on the command line, and what means nothing is refused."""
    assert MirrorOptions(rate=5).limits_of_rate == (5, 0)
    assert MirrorOptions(rate="2MB/s").limits_of_rate == (0, 2_000_000)
    assert MirrorOptions().limits_of_rate == (0, 0)
    expected = {"X": "y", "Authorization": f"Basic {b64encode(b'me:word').decode()}"}
    assert MirrorOptions(user="me:word", header=["X: y"]).credentials("https://example.org/") == expected
    with pytest.raises(SettingsError, match=r"'fast' is not a valid rate: write a number of requests"):
        _ = MirrorOptions(rate="fast").limits_of_rate
    with pytest.raises(SettingsError, match=r"only must be a list: write \['\*.pdf'\]"):
        MirrorOptions(only="*.pdf")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(SettingsError, match=r"prefer must be a list: write \['text/plain'\]"):
        MirrorOptions(prefer="text/plain")  # type: ignore[arg-type]  # on purpose


def test_credentials(
    source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an option, the environment or .netrc; what cannot be used is refused, and not repeated."""

    def sent(*arguments: str) -> str | None:
        source.site.asks.clear()
        assert run(capsys, source.url, tmp_path / "copy", *arguments)[0] == 0
        found = {ask.headers["Authorization"] for ask in source.site.asks}
        assert len(found) == 1
        return found.pop()

    def basic(word: str) -> str:
        return f"Basic {b64encode(word.encode()).decode()}"

    assert sent() is None
    assert sent("--user", "me:word:s") == basic("me:word:s")
    monkeypatch.setenv("RESOURCESYNC_PASSWORD", "secret")
    assert sent("--user", "me") == basic("me:secret")
    monkeypatch.setenv("RESOURCESYNC_USER", "you:word")
    assert sent() == basic("you:word")
    monkeypatch.delenv("RESOURCESYNC_USER")
    code, _, err = run(capsys, source.url, tmp_path / "copy", "--netrc")
    assert (code, "~/.netrc does not exist: create it, or log in with --user" in err) == (2, True)
    netrc = Path(os.environ["HOME"], ".netrc")
    netrc.write_text("machine 127.0.0.1 login me password word\n")
    netrc.chmod(0o600)
    assert sent("--netrc") == basic("me:word")
    netrc.write_text("machine elsewhere.test login me password word\n")
    assert sent("--netrc") is None
    code, _, err = run(capsys, source.url, tmp_path / "copy", "--header", "secret word: x")
    assert (code, "write 'Name: value'" in err) == (2, True)


def test_other_hosts(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Up to three that were not requested are named, as the option to paste; what is nowhere at all is only counted."""
    more = "".join(entry(f"http://{name}.test/") for name in "abcd").encode()
    source.published["rs/resourcelist.xml"] = source.resource_list().replace(b"</urlset>", more + b"</urlset>")
    code, out, _ = run(capsys, source.url, tmp_path / "copy")
    options = "--allow-host a.test --allow-host b.test --allow-host c.test"
    without = f", without 4 resources on hosts such as a.test, b.test, c.test ({options} includes them)"
    assert (code, out.startswith(f"Complete{without}: {tmp_path}/copy has 5 resources; ")) == (0, True)
    audited = f"The copy matches the Source{without}.\n"
    assert run(capsys, "audit", source.url, tmp_path / "copy")[:2] == (0, audited)
    source.published["rs/resourcelist.xml"] = source.resource_list().replace(
        b"</urlset>", entry("file:///etc/passwd").encode() + b"</urlset>"
    )
    _, out, _ = run(capsys, source.url, tmp_path / "other")
    assert out.startswith("Complete, without 1 resource on other hosts: ")


@pytest.mark.parametrize(("answer", "asked"), [("y\n", True), ("Yes\n", True), ("\n", False), ("", False)])
def test_mirror_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str, asked: bool
) -> None:
    """On a terminal the user is asked, once, unless a program reads the answer or nobody waits for it."""
    with living(LinkedSource, PAGES) as source, live(source.answer) as mirror:
        there = mirror.url.replace("127.0.0.1", "localhost")
        source.links["a.html"] = link("duplicate", f"{there}/a.html")
        source.publish()
        monkeypatch.setattr(sys, "stdin", StringIO(answer))
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        question = "The Source has copies of its files at localhost. Fetch files from that host, too? [y/N] "
        for number, options in enumerate((["--json"], ["--quiet"], ["--allow-host", "localhost"])):
            assert question not in run(capsys, source.url, tmp_path / str(number), "--allow-private", *options)[2]
        assert mirror.asked() == {"a.html": 1}
        code, _, err = run(capsys, source.url, tmp_path / "copy", "--allow-private")
        assert (code, err) == (0, question)
        assert mirror.asked() == ({"a.html": 1} if asked else {})


def test_progress(source: FakeSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, one sees how far it has come."""
    monkeypatch.setattr("pelican_resourcesync.terminal._PATIENCE", 0.0)
    monkeypatch.setattr("pelican_resourcesync.terminal._PAUSE", 0.0)
    monkeypatch.setattr("pelican_resourcesync.commands.running._PAUSE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with terminal() as there:
        monkeypatch.setattr(sys, "stderr", there.stream)
        assert main(["mirror", source.url, str(tmp_path / "copy"), "--jobs", "1"]) == 0
        seen = there.seen()
    assert "pelican-resourcesync: reading the lists of the Source" in seen
    assert "pelican-resourcesync: 5 of 5 resources, 19 bytes of 19 bytes, " in seen


@pytest.mark.parametrize(
    ("done", "line"),
    [
        ((50, 100, 1_000_000, 4_000_000, 10.0), "50 of 100 resources, 1.0 MB of 4.0 MB, 100.0 kB/s, 30.0 s left"),
        ((50, 100, 1_000_000, 0, 10.0), "50 of 100 resources, 1.0 MB, 100.0 kB/s, 10.0 s left"),
        ((1, 100, 0, 0, 0.5), "1 of 100 resources, 0 bytes of 0 bytes, 0 bytes/s"),
    ],
)
def test_progress_line(done: tuple[int, int, int, int, float], line: str) -> None:
    """The time left is that of the bytes, or of the resources where their lengths are not listed."""
    assert progress_text(*done) == line


def test_many_missing(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of many, the first are named."""
    for number in range(30):
        source.put(f"{number}.html", "x")
        source.site.manners[f"{number}.html"] = status(403)
    source.publish()
    code, out, _ = run(capsys, source.url, tmp_path / "copy")
    assert code == 3
    assert out.count("Missing: ") == 20
    assert "… and 10 more (all with --json=resources)" in out


def process(source: FakeSource, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start the command as a process."""
    command = [sys.executable, "-m", "pelican_resourcesync", "mirror", source.url, str(folder), *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_kept_running(source: FakeSource, tmp_path: Path) -> None:
    """With --every it looks again, also after a failure, and stops cleanly when it is lines to."""
    folder = tmp_path / "copy"
    with process(source, folder, "--every", "0.2", "--retries", "0") as running:
        assert running.stdout
        assert running.stderr
        when_and_where = rf"20..-..-..T..:..:..Z {source.url} "
        assert re.match(f"{when_and_where}Complete: ", running.stdout.readline())
        cut = content(b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>')
        for failing, said in ((status(503), " 503 "), (status(404), "no Source was found"), (cut, "not well-formed")):
            source.site.manner = failing
            lines = (running.stderr.readline() for _ in range(20))
            assert any(re.match(f"{when_and_where}.*{said}", line) for line in lines)
        source.update({"a.html": "new"})
        source.site.manner = source.answer
        deadline = time.monotonic() + 60
        while files_of(folder).get("a.html") != b"new" and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    assert files_of(folder) == source.resources
    assert running.returncode in (0, 3)  # 3 where it was just at work


def test_kept_running_in_vain(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What will not pass by itself ends it, and is said with the time and the Source, too."""
    source.site.manner = status(404)
    code, out, err = run(capsys, source.url, tmp_path / "copy", "--every", "1h")
    assert (code, out) == (2, "")
    assert re.fullmatch(rf"20..-..-..T..:..:..Z {source.url} no Source was found: .*\n", err)


def test_stopped(source: FakeSource, tmp_path: Path) -> None:
    """A run that is stopped says so, keeps what is complete, and the next one goes on."""
    folder = tmp_path / "copy"
    source.site.manners["e.bin"] = late(60, source.answer)
    with process(source, folder) as running:
        deadline = time.monotonic() + 60
        while not any(ask.path == "e.bin" for ask in source.site.asks) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (3, "pelican-resourcesync: stopped; the next run continues from here\n")
    assert files_of(folder).items() <= source.resources.items()
    source.site.manners.clear()
    assert main(["mirror", source.url, str(folder)]) == 0
    assert files_of(folder) == source.resources
