"""A mirror kept by the independent client `resync`."""

import logging
import os
import re
import runpy
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote

from pelican.log import LimitFilter

SCRIPT = Path(sys.executable).with_name("resync-sync")


@dataclass
class Mirror:
    """A copy of a Source, kept by the script `resync-sync`, which runs in this process."""

    folder: Path
    address: str

    def run(self, *options: str) -> str:
        """Run the client and return all that it prints; its exit status is always 0, so that means nothing."""
        printed = StringIO()
        arguments = [SCRIPT.name, *options, self.address, "copy"]
        with (
            chdir(self.folder),
            patch.object(sys, "argv", arguments),
            patch.dict(os.environ, no_proxy="127.0.0.1"),
            warnings.catch_warnings(action="ignore"),
            redirect_stdout(printed),
            redirect_stderr(printed),
        ):
            runpy.run_path(str(SCRIPT), run_name="__main__")
        LimitFilter._raised_messages.clear()  # Pelican lets no logger say the same twice
        for name in ("client", "resync"):
            logging.getLogger(name).handlers.clear()
        return printed.getvalue()

    def audit(self) -> str:
        """Return the one word of the audit, with its counts."""
        printed = self.run("--audit")
        found = re.search(r"Status: +(.*)", printed)
        assert found, printed
        return found[1]

    def files(self) -> dict[str, bytes]:
        """Return what was copied, by path: the client names files as the URIs do, percent-encoded."""
        copy = self.folder / "copy"
        files = (file for file in copy.rglob("*") if file.is_file())
        return {unquote(file.relative_to(copy).as_posix()): file.read_bytes() for file in files}

    def follow(self, uri: str) -> str:
        """Apply one Change List: the client reads no index."""
        return self.run("--incremental", "--delete", "--changelist-uri", uri)
