"""Fetches a publication in a process of its own, and prints what that took: run by `test_fetch_packages`.

`python -m tests.publication.previous.fetching URL INTO [KNOWN]` prints, as JSON, how many documents were received, and
the most memory that the process has ever had, in MB (Linux: VmHWM, all of Python in it).
"""

import json
import re
import sys
from pathlib import Path

from pelican_resourcesync.http import Web
from pelican_resourcesync.publication.previous.fetch import Fetched, fetch_publication


def main(url: str, into: Path, known: Path | None) -> None:
    """Fetch, and print what it took."""
    found = fetch_publication(Web(url), into, known)
    assert isinstance(found, Fetched)
    held = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text("ascii"))
    memory = int(held[1]) / 1000 if held else 0
    result = {"received": found.received, "memory": memory}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
