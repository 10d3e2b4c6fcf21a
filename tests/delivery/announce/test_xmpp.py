"""The examples of XMPP: a change reaches a follower through Prosody, from `announce --json-lines` on (EA05)."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO
from xml.etree import ElementTree as ET

import pytest

from tests.delivery.announce.conftest import Site
from tests.destination.test_examples import example
from tests.kit.live import closed_port, static
from tests.kit.pushed import wait
from tests.kit.reader import parse
from tests.kit.sites import ROOT
from tests.publishers.folder.conftest import page

PROSODY = shutil.which("prosody")
CONFIGURATION = """
run_as_root = true
pidfile = "{folder}/pid"
data_path = "{folder}/data"
log = {{ info = "{folder}/log" }}
modules_enabled = {{ "roster", "saslauth", "disco", "presence" }}
modules_disabled = {{ "s2s" }}
c2s_interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_require_encryption = false
authentication = "internal_plain"
VirtualHost "localhost"
Component "pubsub.localhost" "pubsub"
  admins = {{ "source@localhost" }}
"""


@contextmanager
def prosody(folder: Path) -> Iterator[str]:
    """Run Prosody with the accounts `source` and `reader`; yield where it listens."""
    (folder / "data").mkdir(parents=True)
    port, file = closed_port(), folder / "prosody.cfg.lua"
    file.write_text(CONFIGURATION.format(folder=folder, port=port))
    for name in ("source", "reader"):
        command = ["prosodyctl", "--config", str(file), "register", name, "localhost", "s3cret"]
        subprocess.run(command, check=True, capture_output=True)
    with subprocess.Popen(
        ["prosody", "-F", "--config", str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as server:
        try:
            log = folder / "log"
            wait(lambda: log.exists() and "Activated service 'c2s' on" in log.read_text())
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()


def command(name: str, account: str, *arguments: str) -> list[str]:
    """Return the command that runs an example."""
    file = str(ROOT / f"docs/examples/xmpp_{name}.py")
    return [sys.executable, file, f"{account}@localhost", "pubsub.localhost", "changes", *arguments]


@pytest.mark.skipif(not PROSODY, reason="Prosody is not installed: apt-get install prosody")
def test_from_announce_to_follow(site: Site) -> None:
    """What was released is handled, once, without waiting for the next look at the Source."""
    lines: Queue[dict[str, str]] = Queue()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XMPP_PASSWORD": "s3cret"}
    site.host.manner = static(site.www)
    with ExitStack() as stack:
        server = stack.enter_context(prosody(site.base / "prosody"))

        def read(stream: IO[bytes]) -> None:
            for line in stream:
                lines.put(json.loads(line))

        def publish(announced: str) -> None:
            done = subprocess.run(
                command("source", "source", "--server", server),
                input=announced,
                env=environment,
                check=False,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr

        publish("")  # makes the node
        cursor = str(site.base / "cursor")
        follower = stack.enter_context(
            subprocess.Popen(
                command("destination", "reader", site.url, cursor, "--server", server),
                stdout=subprocess.PIPE,
                env=environment,
            )
        )
        stack.callback(follower.terminate)
        assert follower.stdout
        Thread(target=read, args=(follower.stdout,), daemon=True).start()
        assert [lines.get(timeout=60)["kind"] for _ in range(4)] == ["created"] * 4
        site.release({"b.html": page("BB"), "c.html": page("C")})
        publish(site.announce("--json-lines"))
        assert [lines.get(timeout=60) for _ in range(2)] == [
            {"kind": "updated", "uri": f"{site.url}/b.html"},
            {"kind": "created", "uri": f"{site.url}/c.html"},
        ]
        site.release({"b.html": page("BBB")})
        publish(site.announce("--json-lines"))
        assert lines.get(timeout=60) == {"kind": "updated", "uri": f"{site.url}/b.html"}
    assert lines.empty()


def test_payload(site: Site) -> None:
    """Notifications of at most 100 changes, with the entries of the Change List."""
    site.release({f"p{number}.html": page(str(number)) for number in range(150)}, "b.html")
    lines = map(json.loads, site.announce("--json-lines", "--dry-run").splitlines())
    documents = [ET.tostring(each) for each in example("xmpp_source").notifications(lines)]
    first, second = map(parse, documents)
    *_, last = sorted(site.public.glob("resourcesync/site/changelist-2*.xml"))
    expected = parse(last.read_bytes())
    assert [(each.uri, each.md) for each in (*first.entries, *second.entries)] == [
        (each.uri, each.md) for each in expected.entries
    ]
    assert (len(first.entries), len(second.entries)) == (100, 51)
    time = "2026-02-02T10:00:00Z"
    assert first.md == second.md == {"capability": "change-notification", "from": time, "until": time}
