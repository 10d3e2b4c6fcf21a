"""A request: all that a process of its own must know to build one commit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How to build one commit.

    Pelican is run in `folder`, with the settings file `settings`, to build into `output`. `siteurl` and `plugin`, the
    value of `RESOURCESYNC` as far as it matters, are today's. `starts` counts for each set how often it was begun anew.
    The bytes go into the folder `objects`, and what came of it into the file `answer`.
    """

    folder: str
    settings: str
    output: str
    siteurl: str
    plugin: Mapping[str, Any]
    starts: Mapping[str, int]
    objects: str
    answer: str

    def save(self, file: Path) -> None:
        """Write it to a file."""
        file.write_text(json.dumps(asdict(self)), "ascii")

    @classmethod
    def load(cls, file: Path) -> "Request":
        """Read it from a file."""
        return cls(**json.loads(file.read_text("ascii")))


#: What the process runs: the modules of today, from where this process has them, whatever the commit holds.
_BOOT = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from pelican_resourcesync.site.backfill.collector import main; main(sys.argv[1])"
)


def command(python: str, request: Path, imports: Sequence[str]) -> list[str]:
    """Give the command that builds what the file `request` asks for, with modules from the folders `imports`.

    No compiled modules are written: all files of a work tree have one date, by which Python would not tell those of one
    commit from those of another.
    """
    return [python, "-P", "-B", "-c", _BOOT, str(request), *imports]
