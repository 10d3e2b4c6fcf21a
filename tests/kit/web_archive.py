"""Read WACZ files: by hand after the specification, and with pywb, which replays them for people."""

import gzip
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Shown:
    """What is shown of a URL."""

    status: int
    type: str
    body: bytes


class WebArchive:
    """A WACZ file, read by its index."""

    def __init__(self, file: Path) -> None:
        """Read all of it; what the package describes is there, and nothing else."""
        with zipfile.ZipFile(file) as archive:
            assert archive.testzip() is None
            self.members = {info.filename: archive.read(info) for info in archive.infolist()}
            stored = {info.filename for info in archive.infolist() if info.compress_type == zipfile.ZIP_STORED}
        assert stored == {"archive/data.warc.gz", "indexes/index.cdx.gz"}  # so that browsers read parts of them
        self.package = json.loads(self.members["datapackage.json"])
        header, *pages = (json.loads(line) for line in self.members["pages/pages.jsonl"].splitlines())
        assert header["format"] == "json-pages-1.0"
        self.pages = pages
        self.captures: dict[str, list[tuple[datetime, dict[str, Any]]]] = {}
        lines = gzip.decompress(self.members["indexes/index.cdx.gz"]).decode().splitlines()
        assert lines == sorted(lines)
        for line in lines:
            _, time, values = line.split(" ", 2)
            capture = json.loads(values)
            moment = datetime.strptime(f"{time}+0000", "%Y%m%d%H%M%S%z")
            self.captures.setdefault(capture["url"], []).append((moment, capture))

    def closest(self, url: str, time: datetime) -> Shown | None:
        """Return what is closest to a time, before it or after it, as programs that replay archives do."""
        found = self.captures.get(url)
        return self._read(min(found, key=lambda each: abs(each[0] - time))[1]) if found else None

    def _read(self, capture: dict[str, Any]) -> Shown:
        begin, length = int(capture["offset"]), int(capture["length"])
        record = gzip.decompress(self.members["archive/data.warc.gz"][begin : begin + length])
        head, _, rest = record.partition(b"\r\n\r\n")
        warc = _headers(head)
        assert warc["WARC-Target-URI"] == capture["url"]
        content = rest[: int(warc["Content-Length"])]
        assert rest[int(warc["Content-Length"]) :] == b"\r\n\r\n"
        http, _, body = content.partition(b"\r\n\r\n")
        if warc["WARC-Type"] == "revisit":
            time = datetime.fromisoformat(warc["WARC-Refers-To-Date"])
            first = dict(self.captures[warc["WARC-Refers-To-Target-URI"]])[time]
            assert first["mime"] != "warc/revisit"
            body = self._read(first).body
        return Shown(int(http.split()[1]), _headers(http)["Content-Type"], body)


def _headers(head: bytes) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])


def replayed(file: Path, asked: list[tuple[datetime, str]], folder: Path) -> list[Shown]:
    """Return what pywb shows of URLs at times, after `wacz validate` has accepted the file."""
    command = [sys.executable, "-m", "tests.kit.web_archive", str(file)]
    questions = json.dumps([[f"{time:%Y%m%d%H%M%S}", url] for time, url in asked])
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, input=questions, cwd=folder, env={"PYTHONPATH": str(root), "HOME": str(folder)},
        capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    return [Shown(status, type_, bytes.fromhex(body)) for status, type_, body in answers]


def _main(file: str) -> None:
    """Answer the questions on standard input; pywb replaces parts of Python, so this is a process of its own."""
    from pywb.apps.frontendapp import FrontEndApp
    from pywb.manager.manager import main as manage
    from wacz.main import main as run_wacz
    from werkzeug.test import Client

    assert run_wacz(["validate", "-f", file]) == 0
    manage(["init", "site"])
    manage(["add", "site", file, "--unpack-wacz"])
    client = Client(FrontEndApp())
    answers = []
    for time, url in json.load(sys.stdin):
        answer = client.get(f"/site/{time}id_/{url}")
        answers.append((answer.status_code, answer.headers["Content-Type"], answer.data.hex()))
    sys.stdout.write(f"\n{json.dumps(answers)}\n")


if __name__ == "__main__":
    _main(sys.argv[1])
