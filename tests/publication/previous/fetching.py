"""Fetches a publication in a process of its own, and prints what that took: run by `test_fetch_packages`.

`python -m tests.publication.previous.fetching URL INTO [KNOWN]` prints, as JSON, how many documents were received, the
seconds, the seconds for fetching the same packages with `urllib` into files, where nothing was known, and the most
memory that the process has ever had, in MB (Linux: VmHWM, all of Python in it).
"""

import json
import re
import shutil
import sys
import time
import urllib.request
from pathlib import Path

from pelican_resourcesync.publication.model.layout import is_package
from pelican_resourcesync.publication.previous.fetch import Fetched, fetch_publication
from pelican_resourcesync.transport import Web


def main(url: str, into: Path, known: Path | None) -> None:
    """Fetch, and print what it took."""
    begin = time.perf_counter()
    found = fetch_publication(Web(url), into, known)
    seconds = time.perf_counter() - begin
    assert isinstance(found, Fetched)
    plain = 0.0 if known else plainly(url, into, [path for path in found.state.documents if is_package(path)])
    held = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text("ascii"))
    memory = int(held[1]) / 1000 if held else 0
    told = {"received": found.received, "seconds": seconds, "plain": plain, "memory": memory}
    sys.stdout.write(json.dumps(told))


def plainly(url: str, into: Path, paths: list[str]) -> float:
    """Fetch files one after another with what Python has, and look at nothing; give the seconds."""
    begin = time.perf_counter()
    for path in paths:
        with urllib.request.urlopen(f"{url}/{path}") as answer, (into.parent / "plain").open("wb") as file:
            shutil.copyfileobj(answer, file, 65_536)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
