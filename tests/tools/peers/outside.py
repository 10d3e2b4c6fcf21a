"""Tries of programs that no other test uses, in an environment of their own: `make peers` alone runs them."""

import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import which
from threading import Thread
from urllib.request import ProxyHandler, build_opener

import pytest

from pelican_resourcesync.delivery.serve import FolderServer
from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.system.dcz import apply_patch, make_patch
from tests.kit.live import closed_port
from tests.kit.publications import Source
from tests.kit.reader import parse
from tests.kit.sources import FAST, files_of
from tests.publication.kinds.test_versions import ONE, TWO, three
from tests.tools.peers.page import PROGRAMS

_get = build_opener(ProxyHandler({})).open
Seen = Callable[[str, object], None]


def program(name: str) -> str:
    """Return the path of a program; skip the test without it."""
    if not (PROGRAMS / name).exists():
        pytest.skip(f"{name} is not in {PROGRAMS.parent.name}")
    return str(PROGRAMS / name)


# --- The reference Source

_CHANGES = 320
#: JSON is YAML. The name is shown on the front page.
_SIMULATION = {
    "source": {
        "name": "simulator",
        "number_of_resources": 100,
        "change_delay": 0.03,
        "average_payload": 1_000,
        "event_types": ["create", "update", "delete"],
        "max_events": _CHANGES,
        "stats_interval": 100,
    },
    "resource_list_builder": {"class": "DynamicResourceListBuilder", "uri_path": "resourcelist.xml"},
    "changememory": {"class": "DynamicChangeList", "uri_path": "changelist.xml", "max_changes": 1_000},
}
#: It takes samples of the keys of dictionaries, which Python does not allow since 3.11.
_RUN = """
import random, runpy, sys
sample = random.sample
random.sample = lambda population, number: sample([*population], number)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@contextmanager
def simulator(folder: Path, *options: str) -> Iterator[str]:
    """Run the simulator; yield its URL."""
    port = closed_port()
    url = f"http://127.0.0.1:{port}"
    for name, content in (("config.yaml", _SIMULATION), ("log.yaml", {"version": 1})):
        (folder / name).write_text(json.dumps(content))
    command = [program("python"), "-c", _RUN, program("resync-simulator"), "-c", "config.yaml", "-l", "log.yaml"]
    command += ["-p", str(port), "-b", url, *options]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            yield url
        finally:
            process.kill()


@pytest.mark.parametrize("options", [["--spec-version", "1.0"], [], ["--no-lastmod"]])
def test_simulator(options: list[str], tmp_path: Path, record_property: Seen) -> None:
    """It is copied while it changes; when it has come to rest, the copy is what it lists."""
    copy, runs, changes = tmp_path / "copy", list[bool](), 0
    with simulator(tmp_path, *options) as url:
        end = time.monotonic() + 120
        while changes < _CHANGES and time.monotonic() < end:
            time.sleep(0.3)
            try:
                runs.append(Mirror(url, copy, replace(FAST, max_deletions=100)).run().complete)
                changes = len(parse(_get(f"{url}/changelist.xml").read()).entries)
            except (TransportError, OSError):  # it starts, or has not changed yet, and then its Change List fails
                continue
        last = Mirror(url, copy, replace(FAST, max_deletions=100)).run()
        assert last.complete, (last.missing, last.plan.notes)
        listed = [entry.uri for entry in parse(_get(f"{url}/resourcelist.xml").read()).entries]
        expected = {uri.removeprefix(f"{url}/"): _get(uri).read() for uri in listed}
    assert changes == _CHANGES
    assert len(runs) > 5
    assert {path.removesuffix("~f"): data for path, data in files_of(copy).items()} == expected
    how = " ".join(options).replace("--", "") or "spec-version 1.1"
    record_property("seen", f"{how}: {changes} changes in {len(runs)} runs (correct copy)")


# --- Mementos

_ASK = """
import json, sys
from datetime import datetime
from memento_client import MementoClient
timegate, questions = json.load(sys.stdin)
client = MementoClient(timegate_uri=timegate, check_native_timegate=False)
found = [client.get_memento_info(uri, datetime.fromisoformat(time)) for uri, time in questions]
answers = [[each["original_uri"], each["mementos"]["closest"]] for each in found]
print(json.dumps([[uri, closest["uri"][0], str(closest["datetime"])] for uri, closest in answers]))
"""


def test_memento_client(tmp_path: Path, record_property: Seen) -> None:
    """It finds the state of each resource at each time, and the first one for a time before that."""
    output = tmp_path / "output"
    output.mkdir()
    with FolderServer(("127.0.0.1", 0), output) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        three(Source(output, siteurl=url))
        asked = {
            ("a.html", "2024-02-01"): (f"{ONE}.html", "2024-03-01 12:00:00"),
            ("a.html", "2024-03-02"): (f"{ONE}.html", "2024-03-01 12:00:00"),
            ("a.html", "2024-03-03"): (f"{TWO}.html", "2024-03-02 12:00:00"),
            ("b.txt", "2024-03-03"): (f"{TWO}.txt", "2024-03-01 12:00:00"),
        }
        questions = [f"{url}/timegate/", [(f"{url}/{path}", time) for path, time in asked]]
        done = subprocess.run(
            [program("python"), "-c", _ASK],
            input=json.dumps(questions), capture_output=True, encoding="utf-8", check=True, env={"no_proxy": "*"},
        )  # fmt: skip
        server.shutdown()
    home = f"{url}/resourcesync/site/versions"
    assert json.loads(done.stdout) == [
        [f"{url}/{path}", f"{home}/{name}", time] for (path, _), (name, time) in asked.items()
    ]
    record_property("seen", f"{len(asked)} times, all correct")


# --- Patches


def test_zstd(tmp_path: Path, record_property: Seen) -> None:
    """It applies our patches, whose header is a frame that it skips; without the header, its patches are ours."""
    if not which("zstd"):
        pytest.skip("zstd is not installed")
    old = random.Random(1).randbytes(1 << 20)
    new = old[:300_000] + b"in between" + old[300_500:]
    (tmp_path / "old").write_bytes(old)
    (tmp_path / "new").write_bytes(new)
    (tmp_path / "ours.dcz").write_bytes(make_patch(old, new))
    for words in (["-d", "--patch-from=old", "ours.dcz", "-o", "made"], ["--patch-from=old", "new", "-o", "theirs"]):
        subprocess.run(["zstd", "-q", "-f", *words], cwd=tmp_path, check=True)
    assert (tmp_path / "made").read_bytes() == new
    theirs = (tmp_path / "theirs").read_bytes()
    header = bytes.fromhex("5e2a4d1820000000") + sha256(old).digest()
    assert apply_patch(header + theirs, old, len(new)) == new
    ours = (tmp_path / "ours.dcz").stat().st_size
    record_property("seen", f"a patch of 1 MB: {ours} bytes of ours, {len(theirs)} of its own, each applied by both")
