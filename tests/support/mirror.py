"""A mirror kept by the independent client `resync`."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote


@dataclass
class Mirror:
    """A copy of a Source, kept by `resync-sync` in a process of its own."""

    folder: Path
    address: str

    def run(self, *options: str) -> str:
        """Run the client and give all that it says; its exit status is always 0, so that says nothing."""
        process = subprocess.run(
            [sys.executable, str(Path(sys.executable).with_name("resync-sync")), *options, self.address, "copy"],
            cwd=self.folder,
            env={**os.environ, "no_proxy": "127.0.0.1"},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in process.stderr, process.stderr
        return process.stdout + process.stderr

    def audit(self) -> str:
        """Return the one word of the audit, with its counts."""
        found = re.search(r"Status: +(.*)", self.run("--audit"))
        assert found
        return found[1]

    def files(self) -> dict[str, bytes]:
        """Return what was copied, by path: the client names files as the URIs do, percent-encoded."""
        copy = self.folder / "copy"
        files = (file for file in copy.rglob("*") if file.is_file())
        return {unquote(file.relative_to(copy).as_posix()): file.read_bytes() for file in files}

    def follow(self, uri: str) -> str:
        """Apply one Change List: the client reads no index."""
        return self.run("--incremental", "--delete", "--changelist-uri", uri)
