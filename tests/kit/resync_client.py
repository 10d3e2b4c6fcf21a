"""The independent client library `resync`: which of its classes reads which kind of document."""

import logging
import os
import re
import runpy
import sys
import warnings
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import pytest
from pelican.log import LimitFilter
from resync import (
    CapabilityList,
    ChangeDump,
    ChangeDumpArchive,
    ChangeList,
    ChangeListArchive,
    ResourceDump,
    ResourceDumpArchive,
    ResourceDumpManifest,
    ResourceList,
    ResourceListArchive,
    SourceDescription,
)
from resync.change_dump_manifest import ChangeDumpManifest

#: By capability; an index is for its sitemap parser.
READERS: Mapping[str, Any] = MappingProxyType(
    {
        "description": SourceDescription,
        "capabilitylist": CapabilityList,
        "resourcelist": ResourceList,
        "resourcedump": ResourceDump,
        "resourcedump-manifest": ResourceDumpManifest,
        "changelist": ChangeList,
        "changedump": ChangeDump,
        "changedump-manifest": ChangeDumpManifest,
        "resourcelist-archive": ResourceListArchive,
        "resourcedump-archive": ResourceDumpArchive,
        "changelist-archive": ChangeListArchive,
        "changedump-archive": ChangeDumpArchive,
    }
)

#: For tests that use it: it calls what Python 3.12 advises against.
uses_client = pytest.mark.filterwarnings("ignore:datetime.datetime.utc:DeprecationWarning")


# --- A mirror kept by the independent client `resync` --------------------------


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
