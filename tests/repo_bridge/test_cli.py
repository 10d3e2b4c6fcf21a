"""The command line of the bridge: real processes, and the exits that scripts rely on."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from pelican_resourcesync import __version__
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import ExpectedSet, Publication
from pelican_resourcesync.terminal import Progress
from repo_bridge.cli import main
from repo_bridge.model import Reason
from repo_bridge.publisher import BridgeResult, DryRun, HiddenItems
from repo_bridge.settings import BridgeSettings
from tests.kit.repository.samples import every_case
from tests.kit.sites import ROOT
from tests.repo_bridge.reading.test_dump import plain_dump

CREATED, UPDATED, DELETED = ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED
NEEDED = ("--out", "public", "--base-url", "https://example.org", "--ui-url", "https://ui.example", "--saf", "items")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "repo_bridge", *arguments]
    return subprocess.run(command, check=False, capture_output=True, encoding="utf-8")


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, exits: int = 0) -> str:
    """Run the command in this process and give what it says on standard output, or on standard error for an exit 2."""
    assert main(arguments) == exits
    out, err = capsys.readouterr()
    assert bool(err) == (exits == 2), err
    assert bool(out) == (exits != 2), out
    if err:
        assert re.fullmatch(r"repo-bridge: [^\n]+\n", err)
    return err or out


# The process


def test_usage() -> None:
    """A process tells its version with 0, and what is wrong with 2, in one sentence and without a traceback."""
    version = run("--version")
    assert (version.returncode, version.stdout) == (0, f"repo-bridge {__version__}\n")
    done = run("publish", "--database", "postgresql://me:hunter2@db.example/dspace")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "set password in repo_bridge.toml, or PGPASSWORD in the environment" in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("publish", "the repository to publish is missing: pass --database, --saf or --table"),
        ("publish --config wrong.toml", "wrong.toml has no setting 'ot': did you mean 'out'?"),
        ("publish --config none.toml", "none.toml cannot be read: No such file or directory"),
        ("publish --config wrong.toml --database postgresql://me:hunter2@h/d", "wrong.toml has no setting 'ot'"),
    ],
)
def test_wrong_arguments_and_settings(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    """What is wrong with an option or the file is one sentence, which repeats no password."""
    (folder / "wrong.toml").write_text("ot = 'x'", "utf-8")
    said = output_of(capsys, *arguments.split(), exits=2)
    assert said.startswith(f"repo-bridge: {message}")
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("publish --out", "publish: argument --out: expected one argument"),
        (
            "imports",
            (
                "argument COMMAND: 'imports' is not a valid choice (did you mean 'import'?); choose from publish, "
                "init, import, completion"
            ),
        ),
        ("import a.sql", "import: the following arguments are required: EXPORT"),
        ("publish --bas-url x", "publish: there is no option --bas-url (did you mean '--base-url'?)"),
        (
            "publish --datbase=postgresql://me:hunter2@h/d",
            "publish: there is no option --datbase (did you mean '--database'?)",
        ),
        ("publish here", "publish: unexpected argument 'here'"),
        ("publish --no-keep", "publish: there is no option --no-keep (did you mean '--keep'?)"),
        ("import --dryrun x y", "import: there is no option --dryrun (did you mean '--dry-run'?)"),
        *(
            (f"{verb} --js", f"{verb.split()[0]}: there is no option --js (did you mean '--json'?)")
            for verb in ("publish", "init", "import x y")
        ),
    ],
)
def test_arguments_that_do_not_parse(capsys: pytest.CaptureFixture[str], arguments: str, message: str) -> None:
    """What is wrong is one line, with where to read more, and ends with 2."""
    with pytest.raises(SystemExit) as exited:
        main(arguments.split())
    assert exited.value.code == 2
    command = "" if message.startswith("argument COMMAND") else f" {arguments.split(maxsplit=1)[0]}"
    colon = "" if command else ":"
    assert capsys.readouterr().err == f"repo-bridge{colon} {message} (see repo-bridge{command} --help)\n"


PLACE = ["publish", "--out", "o", "--base-url", "https://e.org"]


@pytest.mark.parametrize(
    ("name", "message", "arguments"),
    [
        ("sqlalchemy", "repo-bridge needs an extra: pip install 'pelican-resourcesync[bridge]'", ["import", "a", "b"]),
        (
            "psycopg",
            "PostgreSQL needs an extra: pip install 'pelican-resourcesync[bridge]'",
            [*PLACE, "--database", "postgresql:///d", "--ui-url", "https://e.org"],
        ),
        ("duckdb", "tables need an extra: pip install 'pelican-resourcesync[table]'", [*PLACE, "--table", "a.csv"]),
    ],
)
def test_without_packages(tmp_path: Path, name: str, message: str, arguments: list[str]) -> None:
    """The command needs no package of the bridge to begin with; where it needs one that is missing it says so."""
    program = (
        f"import sys; import repo_bridge.cli; assert {name!r} not in sys.modules; sys.modules[{name!r}] = None; "
        f"raise SystemExit(repo_bridge.cli.main({arguments}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, encoding="utf-8", cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr == f"repo-bridge: {message}\n"


def test_another_module_that_is_missing_is_our_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of ours that is not there is no matter of pip."""
    monkeypatch.setitem(sys.modules, "repo_bridge.reading", None)
    with pytest.raises(ModuleNotFoundError, match=r"repo_bridge\.reading"):
        main(["import", "a.sql", "b.db"])


# import


def test_import(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dump becomes a database, and the rows of each table are reported, for people and for programs."""
    (folder / "dspace.sql").write_text(plain_dump(every_case(), 7), "utf-8")
    text = output_of(capsys, "import", "dspace.sql", "export.db")
    with closing(sqlite3.connect("export.db")) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        counts = {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for name in names
            if "sqlite" not in name
        }
    first, *lines = text.splitlines()
    assert first == "export.db: a repository of DSpace 7"
    assert {line.split(":")[0].strip(): int(line.split()[1].replace(",", "")) for line in lines} == counts
    found = output_of(capsys, "import", "dspace.sql", "other.db", "--json", "--schema", "7")
    assert json.loads(found) == {"version": 7, "rows": counts}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.sql", "export.db"), "none.sql cannot be read: No such file or directory"),
        (("cut.sql", "export.db"), "cut.sql"),
        (("cut.sql", "cut.sql"), "cut.sql is the dump itself: choose another file for the database"),
        (("cut.sql", "none/export.db"), "export.db cannot be written"),
        (("cut.sql", "export.db", "--schema", "8"), "--schema must be 5, 6, 7 or 10, not '8'"),
    ],
)
def test_import_of_what_cannot_be(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    """What cannot be imported is one sentence, and leaves nothing and everything as it was."""
    cut = plain_dump(every_case(), 7)[:-500]
    (folder / "cut.sql").write_text(cut, "utf-8")
    assert message in output_of(capsys, "import", *arguments, exits=2)
    assert {each.name for each in folder.iterdir()} == {"cut.sql"}
    assert (folder / "cut.sql").read_text("utf-8") == cut


# publish


PUBLICATION = Publication(
    first=False,
    resources=1200,
    changes=13,
    ranges=1,
    new={CREATED: 12, UPDATED: 0, DELETED: 1},
    examples={CREATED: tuple(f"https://e.org/{name}" for name in "abcde"), DELETED: ("https://e.org/z",)},
    gone=1,
    packages=(2, 1500),
    notes=("a note of the set",),
)
OUTCOME = BridgeResult(
    publications={"repository": PUBLICATION},
    items=400,
    records=400,
    files=800,
    left_out=tuple(f"file {number} is missing" for number in range(100)),
    left_out_count=1101,
    warnings=("look at this",),
    notes=("a note", "a note of the set"),
    seconds=2.5,
)
FORESIGHT = DryRun(
    sets={
        "repository": ExpectedSet(
            first=False,
            resources=1200,
            changes={CREATED: 0, UPDATED: 1, DELETED: 1000},
            examples={UPDATED: ("https://e.org/1",), DELETED: ("https://e.org/2", "https://e.org/3")},
            listed=("https://e.org/1\x1b[2J",),
        ),
        "repository-metadata": ExpectedSet(first=True, resources=1, listed=("https://e.org/1",)),
    },
    items=400,
    records=400,
    files=0,
    notes=("a note",),
    hidden={Reason.PRIVATE: HiddenItems(items=1200, examples=("1/2", "1/3"))},
    hidden_files=7,
    stopped="1000 of 2200 resources would be listed as deleted",
)


def test_what_is_said_of_what_was_published() -> None:
    """A line a set, the counts, what is left out, the notes, each once."""
    first, public, left_out, *named, more, note, of_set = OUTCOME.text("https://e.org").splitlines()
    assert first == (
        "ResourceSync: 1,200 resources, 13 changes in 1 Change List, 2 packages of 1.5 kB at https://e.org in 2.50 "
        "seconds; 12 created (/a, /b and 10 more), 1 deleted (/z) since the last publication."
    )
    assert public == "Public: 400 items, 400 records, 800 files."
    assert left_out == "Left out of dumps and versions because their bytes are not available: 1,101 files."
    assert named == [f"  file {number} is missing" for number in range(10)]
    assert (more, note, of_set) == ("  and 1,091 more", "a note", "a note of the set")


def test_figures_for_prometheus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each figure has its help, its type and its values, by set and kind; the file is replaced as a whole."""
    monkeypatch.setattr("time.time", lambda: 1_750_000_000.9)
    file = tmp_path / "repo_bridge.prom"
    file.write_text("old")
    OUTCOME.write_metrics(file)
    lines = file.read_text("ascii").splitlines()
    assert lines[:6] == [
        "# HELP repo_bridge_last_success_timestamp_seconds When the last run that succeeded ended.",
        "# TYPE repo_bridge_last_success_timestamp_seconds gauge",
        "repo_bridge_last_success_timestamp_seconds 1750000000",
        "# HELP repo_bridge_last_success_duration_seconds How long that run took.",
        "# TYPE repo_bridge_last_success_duration_seconds gauge",
        "repo_bridge_last_success_duration_seconds 2.5",
    ]
    assert {line for line in lines[6:] if not line.startswith("#")} >= {
        "repo_bridge_items 400",
        "repo_bridge_files 800",
        "repo_bridge_files_left_out 1101",
        'repo_bridge_resources{set="repository"} 1200',
        'repo_bridge_changes{set="repository",kind="created"} 12',
        'repo_bridge_changes{set="repository",kind="updated"} 0',
    }
    with pytest.raises(PublicationError, match="cannot be written"):
        OUTCOME.write_metrics(tmp_path / "nowhere" / "file")


def test_what_is_said_of_what_would_be_published() -> None:
    """Each set with its changes and examples, nothing that a terminal takes for a command, and the guard's sentence."""
    assert FORESIGHT.text().splitlines() == [
        "repository: 1,200 resources; 1 updated, 1,000 deleted since the last publication.",
        "  listed, for example: https://e.org/1\\x1b[2J",
        "  updated: https://e.org/1",
        "  deleted: https://e.org/2",
        "  deleted: https://e.org/3",
        "repository-metadata: 1 resource; first publication.",
        "  listed, for example: https://e.org/1",
        "Public: 400 items, 400 records.",
        "Not public: 1,200 items (private, rule 2), such as 1/2, 1/3.",
        "Not public: 7 files of public items (rules 4 to 6).",
        "a note",
        "A safety check would stop this publication: 1000 of 2200 resources would be listed as deleted",
        "Nothing was written.",
    ]


def test_what_is_said_of_nothing() -> None:
    """Where nothing is public, or nothing changed, that is said."""
    nothing = DryRun(sets={"a": ExpectedSet(first=False, resources=0)}, items=0, records=0, files=0)
    assert nothing.text().splitlines() == [
        "a: 0 resources; nothing changed since the last publication.",
        "Public: nothing.",
        "Nothing was written.",
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[BridgeSettings]:
    """Put another in place of the publisher, who notes the settings; the command line is what is tested."""
    settings: list[BridgeSettings] = []

    def publish(given: BridgeSettings, progress: Progress) -> BridgeResult:
        settings.append(given)
        progress.say("reading the repository")
        progress.advance(400)
        if given.set_name == "broken":
            message = "it cannot be published"
            raise PublicationError(message)
        return OUTCOME

    def dry_run(given: BridgeSettings, progress: Progress) -> DryRun:
        progress.say("reading the repository")
        return DryRun(sets={}, items=1, records=1, files=1) if given.allow_deletions else FORESIGHT

    monkeypatch.setitem(sys.modules, "repo_bridge.publisher", SimpleNamespace(publish=publish, dry_run=dry_run))
    return settings


def test_nothing_is_said_twice() -> None:
    """A run in which nothing changed repeats what is public, not what the last run did."""
    last = json.loads(json.dumps(asdict(OUTCOME)))
    again = BridgeResult.repeated(last, ("a note of this run",))
    assert (again.items, again.records, again.left_out, again.notes) == (
        OUTCOME.items,
        OUTCOME.records,
        OUTCOME.left_out,
        ("a note of this run",),
    )
    for name, publication in again.publications.items():
        assert publication.resources == OUTCOME.publications[name].resources
        assert (publication.notes, publication.examples, sum(publication.new.values())) == ((), {}, 0)
    assert any(publication.notes for publication in OUTCOME.publications.values())


def test_figures_are_written_after_a_run(
    asked: list[BridgeSettings], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file that the settings name gets the figures of the run."""
    file = tmp_path / "repo_bridge.prom"
    assert main(["publish", *NEEDED, "--prometheus", str(file)]) == 3
    capsys.readouterr()
    assert asked[0].prometheus == file
    assert "\nrepo_bridge_items 400\n" in file.read_text("ascii")


def test_publish(asked: list[BridgeSettings], capsys: pytest.CaptureFixture[str]) -> None:
    """What was published goes to standard output, warnings to standard error; the exit is 3 if files are left out."""
    assert main(["publish", *NEEDED, "--dumps", "--no-fingerprints", "--keep", "3"]) == 3
    out, err = capsys.readouterr()
    assert out == f"{OUTCOME.text('https://example.org/resourcesync/')}\n"
    assert err == "repo-bridge: warning: look at this\n"
    (settings,) = asked
    assert (settings.dumps.resourcedump, settings.fingerprints, settings.keep) == (True, False, 3)
    assert main(["publish", *NEEDED, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["publications"]["repository"]["new"] == {"created": 12, "updated": 0, "deleted": 1}
    assert (found["items"], len(found["left_out"]), found["left_out_count"]) == (400, 100, 1101)


def test_publish_that_fails(asked: list[BridgeSettings], capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be published is one sentence, and the exit is 2."""
    assert output_of(capsys, "publish", *NEEDED, "--set", "broken", exits=2) == "repo-bridge: it cannot be published\n"


def test_dry_run(asked: list[BridgeSettings], capsys: pytest.CaptureFixture[str]) -> None:
    """It says what would be, and publishes nothing; where a guard would stop it, the exit is 1."""
    assert output_of(capsys, "publish", *NEEDED, "--dry-run", exits=1) == f"{FORESIGHT.text()}\n"
    found = json.loads(output_of(capsys, "publish", *NEEDED, "--dry-run", "--json", exits=1))
    assert found["stopped"] == FORESIGHT.stopped
    assert found["sets"]["repository"]["examples"]["updated"] == ["https://e.org/1"]
    output_of(capsys, "publish", *NEEDED, "--dry-run", "--allow-deletions")
    assert asked == []


# Being stopped

_SLOW = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from tempfile import TemporaryDirectory
import repo_bridge.cli

def publish(settings, progress):
    with TemporaryDirectory(dir="."):
        Path("begun").touch()
        {doing}

sys.modules["repo_bridge.publisher"] = SimpleNamespace(publish=publish)
raise SystemExit(repo_bridge.cli.main(sys.argv[1:]))
"""
_SLEEPS = "time.sleep(60)"
#: As where a database asks a function of ours, and its driver takes every error for the function's.
_SWALLOWS = """
        try:
            time.sleep(60)
        except BaseException:
            from pelican_resourcesync.errors import PublicationError
            raise PublicationError("a function failed") from None
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals there")
@pytest.mark.parametrize("doing", [_SLEEPS, _SWALLOWS], ids=["sleeps", "swallows"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_stopped(folder: Path, number: signal.Signals, status: int, doing: str) -> None:
    """A run that is stopped clears up, says one line, and has the exit that shells give for the signal."""
    command = [sys.executable, "-c", _SLOW.format(doing=doing.strip()), "publish", *NEEDED]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as process:
        while not (folder / "begun").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (status, "repo-bridge: stopped: the previous publication is kept\n")
    assert [each.name for each in folder.iterdir()] == ["begun"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals there")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_in_this_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals, status: int
) -> None:
    """A signal interrupts a run once: a second SIGTERM does not interrupt what clears up."""
    reached: list[str] = []

    def publish(*_: object) -> None:
        try:
            signal.raise_signal(number)
            reached.append("after the signal")
        finally:
            if number == signal.SIGTERM:
                signal.raise_signal(number)
            reached.append("the end")

    monkeypatch.setitem(sys.modules, "repo_bridge.publisher", SimpleNamespace(publish=publish))
    before = signal.signal(number, signal.default_int_handler)
    try:
        assert main(["publish", *NEEDED]) == status
    finally:
        signal.signal(number, before)
    assert reached == ["the end"]
    assert "stopped: the previous publication is kept" in capsys.readouterr().err


def test_signals_are_left_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever calls the command gets its signals back; in another thread there are none to have."""
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    output_of(capsys, "import", "none", "export.db", exits=2)
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before
    with ThreadPoolExecutor() as pool:
        assert pool.submit(main, ["import", "none", "export.db"]).result() == 2
