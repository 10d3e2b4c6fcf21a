"""Many Sources: one command or a cluster copies them all, politely, and one bad Source stops nothing."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from asyncio import CancelledError
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from distributed import LocalCluster

from pelican_resourcesync.cli import main, parser
from pelican_resourcesync.commands import many, mirror
from pelican_resourcesync.commands.running import options_of
from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import SettingsError
from tests.destination.fleet import BROKEN, Fleet, fleet
from tests.kit.live import closed_port, late, status
from tests.kit.sources import FakeSource, fake_source, files_of

#: Options for hosts that do not answer, or too much, and Sources that request one resource after another.
IMPATIENT = {"retries": 0, "timeout": "1s", "max_size": "1MB", "max_document_size": "1MB", "jobs": 1}


def run(capsys: pytest.CaptureFixture[str], config: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Run `mirror --config`; return the exit status, the lines of JSON by the name of the Source, and the errors."""
    code = main(["mirror", "--config", str(config), "--json", *options])
    said = capsys.readouterr()
    found = [json.loads(line) for line in said.out.splitlines()]
    return code, {each["name"]: each for each in found}, said.err


def table(folder: Path, text: str, name: str = "sources.toml") -> Path:
    """Write a file for `--config`."""
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def listed(folder: Path, text: str, *options: str, task: Any = None) -> list[Namespace]:
    """Return the arguments of the Sources in a file."""
    line = ["mirror", "--config", str(table(folder, text)), *options]
    return many.read_sources(task, parser().parse_args(line))


# All of them


@pytest.mark.promise("One bad Source stops nothing")
@pytest.mark.parametrize(
    ("sources", "hosts"), [(24, 8), pytest.param(1000, 100, marks=pytest.mark.long)], ids=["few", "thousand"]
)
def test_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], sources: int, hosts: int) -> None:
    """All that are not broken are complete, and no host is asked more often than it may be, whoever asks."""
    with fleet(sources, hosts, broken=max(len(BROKEN), sources // 10)) as found:
        config = found.config(tmp_path, **IMPATIENT, rate=50)
        for _ in range(1 + (sources > 100)):
            code, outcomes, err = run(capsys, config)
            assert (code, {name: each["status"] for name, each in outcomes.items()}) == (2, found.expected())
            found.require_equal(tmp_path)
        require_polite(found, rate=50)
    failed = [name for name, each in outcomes.items() if "error" in each]
    assert sorted(re.findall("^pelican-resourcesync: (s[0-9]+): ", err, re.MULTILINE)) == sorted(failed)


def require_polite(found: Fleet, rate: float) -> None:
    """Raise `AssertionError` if a host was sent two requests at once, or more in a second than it may be."""
    assert [each.most for each in found.hosts] == [1] * len(found.hosts)
    assert max(each.rate for each in found.hosts) <= rate * 1.02


def test_pace_of_robots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A host that asks for pauses gets them from one Source to the next, too."""
    with fleet(3, 1, robots=b"User-agent: *\nCrawl-delay: 0.1\n") as found:
        assert run(capsys, found.config(tmp_path))[0] == 0
        found.require_equal(tmp_path)
        require_polite(found, rate=10)
        assert len(found.hosts[0].times) >= 3 * 6


@pytest.mark.promise("One bad Source stops nothing")
@pytest.mark.parametrize(
    ("sources", "hosts"), [(16, 8), pytest.param(1000, 100, marks=pytest.mark.long)], ids=["few", "thousand"]
)
def test_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str], sources: int, hosts: int) -> None:
    """Two workers do the same, also if one of them is killed on the way."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=4, dashboard_address=":0") as cluster,
        fleet(sources, hosts, broken=sources // 10) as found,
    ):
        for host in found.hosts:
            host.slowness = 0.05
        victim, _ = workers = [each.process.pid for each in cluster.workers.values()]
        config = found.config(tmp_path, **IMPATIENT, rate=50)

        def kill_in_the_middle() -> None:
            while sum(len(host.times) for host in found.hosts) < sources:  # each Source is asked several times
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)

        killer = Thread(target=kill_in_the_middle, daemon=True)
        killer.start()
        code, outcomes, _ = run(capsys, config, "--cluster", cluster.scheduler_address)
        killer.join(timeout=30)
        assert not killer.is_alive()
        assert not Path(f"/proc/{victim}").exists()
        (survivor,) = [each for each in workers if each != victim]
        assert Path(f"/proc/{survivor}").exists()  # the command ends no process that it did not start
        again = [name for name, each in outcomes.items() if each["status"] != found.expected()[name]]
        found.require_equal(tmp_path)
    assert (code, again) == (2, [])


# What can go wrong


def ended(folder: Path, task: Callable[..., Any], **options: object) -> dict[str, Any]:
    """Do a task in a process, and return the outcome without what always differs."""
    (source,) = listed(folder, '[sources.a]\nsource = "https://example.org/"\nfolder = "a"', task=task)
    vars(source).update(options)
    outcome = many._do_alone(source)
    return {name: outcome[name] for name in ("name", "status", "complete", "error")}


def killed(*_: object) -> None:
    """End as the system ends a process that takes too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def wrong(*_: object) -> None:
    """Raise what nobody expects."""
    raise ZeroDivisionError


def pausing(mirror: Mirror, _: Namespace) -> tuple[int, list[str], dict[str, Any], dict[str, Any]]:
    """Do nothing but what the host asks for: to wait."""
    assert mirror._options.pace
    mirror._options.pace.pause(1.2)
    return 0, ["done"], {}, {}


def cancelled(*_: object) -> None:
    """End as the tasks of a cluster do that is gone."""
    raise CancelledError


def full(*_: object) -> None:
    """Find no room for temporary files."""
    raise OSError(28, "No space left on device", "/tmp")


def endless(*_: object) -> None:
    """Hang."""
    time.sleep(600)


@pytest.mark.promise("One bad Source stops nothing")
def test_processes_that_do_not_end_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed, hangs or raises anything is one failed Source."""
    monkeypatch.setattr(many, "_GRACE", 0.5)
    said = "unexpected error, please report it (ZeroDivisionError: )"
    kind = {"name": "a", "status": 2, "complete": False}
    assert ended(tmp_path, killed) == kind | {"error": "its process ended unexpectedly (exit status -9)"}
    assert ended(tmp_path, wrong, max_run=1e9) == kind | {"error": said}
    said = "its process was killed, because it did not end within 0.5 seconds (max_run)"
    assert ended(tmp_path, endless, max_run=0.5) == kind | {"error": said}
    monkeypatch.setattr(many, "_do_alone", cancelled)
    (outcome,) = many._do_all(
        [listed(tmp_path, '[sources.a]\nsource = "x"\nfolder = "a"')], [0.0], Namespace(jobs=1, cluster="")
    )
    assert outcome["error"] == "its worker failed (CancelledError: )"


@pytest.mark.promise("One bad Source stops nothing")
def test_pause_of_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it lasts, Sources of other hosts are at work; it holds in the next round, too."""
    monkeypatch.setattr(many, "_do_alone", many.do)
    text = "".join(
        f'[sources.{name}]\nsource = "https://{name[0]}.example/"\nfolder = "{name}"\n' for name in ("a1", "a2", "b1")
    )
    queues, ready = many.divide(listed(tmp_path, text, task=pausing)), [0.0, 0.0]
    begin = time.monotonic()
    names = [each["name"] for each in many._do_all(queues, ready, Namespace(jobs=1, cluster=""))]
    assert names == ["a1", "b1", "a2"]
    assert time.monotonic() - begin > 1
    assert [each["name"] for each in many._do_all(queues[:1], ready[:1], Namespace(jobs=1, cluster=""))] == ["a1", "a2"]
    assert time.monotonic() - begin > 3.6


def test_in_one_process(tmp_path: Path) -> None:
    """What a process does, and says of what fails."""
    with fake_source({"a.html": "1"}) as source:
        (one,) = listed(
            tmp_path, f'[sources.a]\nsource = "{source.url}"\nfolder = "a"\nrate = 20\nretries = 0', task=mirror._update
        )
        outcome = many.do(one)
        assert (outcome["status"], outcome["fetched"], outcome["lines"][-1][:9]) == (0, 1, "Complete:")
        one.task = pausing
        outcome = many.do(one)
        assert (outcome["lines"], round(outcome["pause"], 1)) == (
            ["done"],
            1.2,
        )
        full_disk = "/tmp cannot be read or written: No space left on device: free disk space, and run it again"
        kind = {"status": 3, "complete": False, "error": full_disk}
        one.task, one.max_run = mirror._update, 1e-9
        outcome = many.do(one)
        assert (outcome["status"], outcome["error"][:36]) == (3, "the run takes longer than 1e-09 seco")
        one.task, one.max_run = wrong, 3600
        assert many.do(one)["error"] == "unexpected error, please report it (ZeroDivisionError: )"
        one.task = full
        assert (outcome := many.do(one)) | kind == outcome
    one.task = mirror._update
    outcome = many.do(one)  # nobody answers any more
    assert (outcome["status"], outcome["complete"]) == (3, False)
    one.folder = tmp_path / "b"
    assert many.do(one)["status"] == 2
    receiver, sender = multiprocessing.Pipe(duplex=False)
    receiver.close()
    many._send(one, sender)  # nobody waits for it any more


def test_stopped(tmp_path: Path) -> None:
    """A signal stops all processes, and the next run goes on."""
    with fleet(6, 3) as found:
        for host in found.hosts:
            host.slowness = 60
        config = found.config(tmp_path)
        command = [str(Path(sys.executable).with_name("pelican-resourcesync")), "mirror", "--config", str(config)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True) as running:
            deadline = time.monotonic() + 30
            while not all(each.times for each in found.hosts) and time.monotonic() < deadline:
                time.sleep(0.05)
            running.terminate()
            _, err = running.communicate(timeout=20)
        assert (running.returncode, err) == (3, "pelican-resourcesync: stopped; the next run continues from here\n")
        for host in found.hosts:
            host.slowness = 0
        assert main(["mirror", "--config", str(config), "--quiet"]) == 0
        found.require_equal(tmp_path)


def test_no_scheduler(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be done without one."""
    monkeypatch.setattr("pelican_resourcesync.system.cluster._PATIENCE", 0.3)
    config = table(tmp_path, '[sources.a]\nsource = "a"\nfolder = "b"')
    code, outcomes, err = run(capsys, config, "--cluster", f"tcp://127.0.0.1:{closed_port()}")
    assert (code, outcomes) == (2, {})
    assert "no Dask scheduler with a worker answers at tcp://127.0.0.1" in err


# The table


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options are those of the command; a Source overrides defaults, and these the command line."""
    monkeypatch.setenv("RESOURCESYNC_USER", "me:secret")
    monkeypatch.setenv("RESOURCESYNC_PASSWORD", "word")
    text = """
        [defaults]
        rate = 5
        only = ["*.pdf", "*.html"]
        max_size = "2MB"
        [sources.museum]
        source = "https://museum.example/"
        folder = "copies/museum"
        rate = "2MB"
        atomic = true
        keep = 3
        user = "you"
        [sources."the archive"]
        source = "output"
        folder = "/srv/archive"
        only = "*.xml"
        atomic = false
        jobs = 2
    """
    line = "--timeout 5s --rate 1 --jobs 3 --only *.md --max-run 9 --atomic"
    museum, archive = listed(tmp_path, text, *line.split())
    assert (museum.source, museum.folder) == ("https://museum.example/", tmp_path / "copies/museum")
    assert (museum.rate, museum.only, museum.max_size, museum.timeout) == ("2MB", ["*.pdf", "*.html"], 2_000_000, 5)
    assert (museum.atomic, museum.keep, museum.max_run) == (True, 3, 9)
    assert "jobs" not in museum  # of the command line, they are of Sources
    assert (archive.name, archive.source, archive.folder) == (
        "the archive", str(tmp_path / "output"), Path("/srv/archive"),
    )  # fmt: skip
    assert (archive.rate, archive.only, archive.jobs, archive.atomic) == ("5", ["*.xml"], 2, False)
    assert (museum.user, archive.user) == ("you:word", "")  # others must not get the login of the environment
    assert options_of(archive)["user"] == ""
    text = text.replace("/srv/archive", "s3://archive/copy")
    assert [(each.max_run, each.folder) for each in listed(tmp_path, text)] == [
        (3600, tmp_path / "copies/museum"), (3600, "s3://archive/copy"),
    ]  # fmt: skip


SOURCE = '[sources.a]\nsource = "https://a.example/"\nfolder = "a"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lists no Sources: add a table such as [sources.museum] with a source and a folder"),
        ("[sources]", "lists no Sources: add a table such as [sources.museum]"),
        ("sources = 1", "sources in {} must be a table with"),
        ("[sources]\na = 1", "sources.a in {} must be a table with any of the keys "),
        ('[sources.a]\nsource = "x"', "sources.a in {} must have a source and a folder: add what is missing"),
        ("[source.a]", "{} has no setting 'source': did you mean 'sources'?"),
        (f"{SOURCE}rat = 1", "sources.a in {} has no setting 'rat': did you mean 'rate'?"),
        (f"{SOURCE}source = 5", "is not valid TOML"),
        ("[sources.a]\nsource = 5", "sources.a.source in {} must be a URL or a folder, not 5"),
        (
            f"{SOURCE}rate = true",
            "sources.a.rate in {} must be a value for --rate N (at most N requests (5)",
        ),
        (f"{SOURCE}rate = [1, 2]", "sources.a.rate in {} must be a value for"),
        (f"{SOURCE}keep = -1", "sources.a.keep in {} must be a value for --keep N"),
        (f'{SOURCE}atomic = "yes"', "sources.a.atomic in {} must be true or false (build the next"),
        (f"{SOURCE}only = [1, [2]]", "sources.a.only in {} must be a value for --only PATTERN"),
        (f'{SOURCE}max_size = "big"', "sources.a.max_size in {} must be a value for --max-size SIZE"),
        (
            f'{SOURCE}by = "luck"',
            "sources.a.by in {} must be a value for --by ROUTE (lists, dumps",
        ),
        (f'{SOURCE}max_deletions = "all"', "(stop if more than N % would be deleted (20))"),
        ('[defaults]\nmax_run = "long"', "defaults.max_run in {} must be a value for --max-run TIME"),
        ("defaults = 1", "defaults in {} must be a table with any of the keys "),
        (
            f'{SOURCE}[sources.b]\nsource = "b"\nfolder = "./a"',
            "sources.b in {} and sources.a have folders that overlap",
        ),
        (
            f'{SOURCE}[sources.b]\nsource = "b"\nfolder = "a/c"',
            "sources.b in {} and sources.a have folders that overlap",
        ),
    ],
)
def test_wrong_table(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A message names the file, the table and the key, and says what to do."""
    file = table(tmp_path, text)
    assert main(["mirror", "--config", str(file)]) == 2
    assert message.format(file) in capsys.readouterr().err
    with pytest.raises(SettingsError, match=re.escape(message.format(file))):
        listed(tmp_path, text)


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Either one Source or many."""
    config = ["--config", str(table(tmp_path, SOURCE))]
    for line in (["a", "b"], ["--json=resources"], ["--listen", ":0", "--callback", "https://a.example"]):
        assert main(["mirror", *line, *config]) == 2
        assert "leave out SOURCE, FOLDER, --listen and --json=resources" in capsys.readouterr().err
    file = tmp_path / "none/metrics"
    assert main(["mirror", *config, "--metrics", str(file)]) == 2
    assert f"--metrics {file} cannot be written: create its folder" in capsys.readouterr().err
    for line in ([], ["a"]):
        with pytest.raises(SystemExit):
            main(["mirror", *line])
        assert "the following arguments are required: " in capsys.readouterr().err
    assert main(["mirror", "a", "b", "--metrics", "c"]) == 2
    assert "--cluster and --metrics can only be used with --config FILE" in capsys.readouterr().err
    assert main(["audit", "--config", str(tmp_path / "none.toml")]) == 2
    assert "none.toml cannot be read: No such file or directory" in capsys.readouterr().err


def test_queues(tmp_path: Path) -> None:
    """Sources that request the same host are in one queue, also by way of a third, and the longest queue is first."""
    hosts = {"a": "x.example", "b": "y.example", "c": "X.example:8080", "d": "z.example", "e": "w.example"}
    text = "".join(f'[sources.{name}]\nsource = "https://{host}/"\nfolder = "{name}"\n' for name, host in hosts.items())
    text = text.replace('"d"\n', '"d"\nallow_host = ["y.example", "cdn.example"]\n')
    text = text.replace('"e"\n', '"e"\nallow_host = ["CDN.example"]\n')
    text += '[sources.f]\nsource = "output"\nfolder = "f"\n'
    queues = [[each.name for each in queue] for queue in many.divide(listed(tmp_path, text))]
    assert queues == [["b", "d", "e"], ["a", "c"], ["f"]]


# What is said


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[FakeSource, Path]]:
    """Yield a Source, and a file that has it twice, and one that is not there."""
    with fake_source({"a.html": "1"}) as source:
        text = f'[sources.one]\nsource = "{source.url}"\nfolder = "one"\n'
        text += text.replace("one", "two") + "only = 'b.html'\n"
        text += '[sources."th\\"ree"]\nsource = "nowhere"\nfolder = "three"\n'
        yield source, table(tmp_path, text)


def test_lines(three: tuple[FakeSource, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each Source, and a table at the end; errors go to standard error."""
    source, config = three
    assert main(["mirror", "--config", str(config)]) == 2
    out, err = capsys.readouterr()
    assert re.sub(r"in [0-9.]+ s", "in 0 s", out) == (
        f"one: Complete: {config.parent}/one has 1 resource; 1 fetched (1 byte), 0 deleted in 0 s.\n"
        f"two: Complete: {config.parent}/two has 0 resources; 0 fetched (0 bytes), 0 deleted in 0 s.\n"
        "3 Sources\n"
        "  complete  2\n"
        '  failed    1  th"ree\n'
    )
    why = f"{config.parent}/nowhere is neither an http(s) URL nor a folder: enter one, such as https://example.org/"
    assert err == f'pelican-resourcesync: th"ree: {why}\n'
    source.site.manners["a.html"] = late(0, source.answer)
    assert main(["mirror", "--config", str(config), "--quiet"]) == 2
    assert capsys.readouterr().out == ""
    assert main(["mirror", "--config", str(config), "--dry-run", "--metrics", str(config.parent / "metrics")]) == 2
    planned = "To fetch: 0 resources (0 bytes); to delete: 0.\n"
    assert capsys.readouterr().out == f"one: {planned}two: {planned}"
    assert not (config.parent / "metrics").exists()
    assert main(["mirror", "--config", str(config), "--dry-run", "--verbose"]) == 2
    assert f" requests.\none: {planned}" in capsys.readouterr().out
    (config.parent / "one/a.html").unlink()
    assert main(["audit", "--config", str(config)]) == 2
    out = capsys.readouterr().out
    assert "one: The copy differs from the Source in 1 resource" in out
    assert "  complete   1\n  different  1  one\n  failed     1" in out
    source.site.manners["a.html"] = status(403)
    assert main(["repair", "--config", str(config)]) == 2
    assert f"one: Missing: {source.url}a.html ({source.url}a.html: the server answered 403" in capsys.readouterr().out
    source.site.manners.clear()
    assert main(["repair", "--config", str(config)]) == 2
    assert (config.parent / "one/a.html").read_text() == "1"


def test_metrics(three: tuple[FakeSource, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prometheus can read the file: each metric once, with one sample for each Source that has it."""
    file = tmp_path / "mirror.prom"
    code, outcomes, _ = run(capsys, three[1], "--metrics", str(file))
    assert code == 2
    text = file.read_text("utf-8")
    samples = dict(
        re.findall(r'^pelican_resourcesync_mirror_(\w+\{name="(?:[^"\\]|\\.)*"\}) ([0-9.]+)$', text, re.MULTILINE)
    )
    assert len(samples) + text.count("# TYPE pelican_resourcesync_mirror_") == text.count("\n")
    assert (samples['status{name="one"}'], samples['complete{name="one"}'], samples['size{name="one"}']) == (
        "0",
        "1",
        "1",
    )
    assert (samples[r'status{name="th\"ree"}'], samples[r'complete{name="th\"ree"}']) == ("2", "0")
    assert r'size{name="th\"ree"}' not in samples
    assert abs(float(samples['end{name="one"}']) - time.time()) < 60
    assert file.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in tmp_path.glob("*mirror*")] == ["mirror.prom"]
    assert outcomes["one"].keys() >= {"name", "source", "folder", "begin", "end", "status", "seconds", "complete"}


def test_kept_running(three: tuple[FakeSource, Path], tmp_path: Path) -> None:
    """With `--every` all Sources are looked at again, and lines have the time."""
    source, config = three
    command = [str(Path(sys.executable).with_name("pelican-resourcesync")), "mirror", "--config", str(config)]
    with subprocess.Popen([*command, "--every", "0.2s"], stdout=subprocess.PIPE, encoding="utf-8") as running:
        assert running.stdout
        line = running.stdout.readline()
        source.update({"new.html": "new"})
        deadline = time.monotonic() + 30
        while not (tmp_path / "one/new.html").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        running.terminate()
        running.communicate(timeout=30)
    assert re.match(rf"20..-..-..T..:..:..Z {re.escape(str(config))} (one|two): Complete: ", line)
    assert files_of(tmp_path / "one") == source.resources


def test_credentials(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The login of the environment is sent to nobody; that of a Source to its host."""
    monkeypatch.setenv("RESOURCESYNC_USER", "me:secret")
    with fake_source({"a.html": "1"}) as one, fake_source({"a.html": "1"}) as two:
        text = "".join(
            f'[sources.{name}]\nsource = "{source.url}"\nfolder = "{name}"\n'
            for name, source in (("a", one), ("b", two))
        )
        assert run(capsys, table(tmp_path, f'{text}user = "you:word"\n'))[0] == 0
        assert {ask.headers["Authorization"] for ask in one.site.asks} == {None}
        assert {ask.headers["Authorization"] for ask in two.site.asks} == {f"Basic {b64encode(b'you:word').decode()}"}
