"""A small site with a past, and a backfill of it in this process."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pelican_resourcesync.publishers.pelican.backfill import BackfillSummary, run_backfill
from tests.kit.reader import parse_file
from tests.kit.sites import Row, Site, strip

TIMES = [f"2024-0{month}-15T10:00:00Z" for month in range(1, 10)]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def run(site: Site, stream: io.StringIO | None = None, **options: Any) -> BackfillSummary:
    """Backfill a site by its settings file, from the folder that lies in."""
    here = Path.cwd()
    os.chdir(site.folder)
    try:
        with patch.object(sys, "path", list(sys.path)):
            return run_backfill(Path("pelicanconf.py"), stream or io.StringIO(), **{"jobs": 1, **options})
    finally:
        os.chdir(here)


def with_past(folder: Path, **settings: Any) -> Site:
    """Make a site of four commits, a month each: the third, with an article, does not build."""
    site = strip(Site.create(folder, **settings))
    site.write(".gitignore", "output/\nother/\n__pycache__/\n")
    site.article("first.md", "First")
    site.commit(TIMES[0])
    site.article("first.md", "First", "Other text.")
    site.article("second.md", "Second")
    site.commit(TIMES[1])
    (site.folder / "pelicanconf.py").write_text("raise ValueError('a slip')\n")
    site.article("third.md", "Third", at=TIMES[2])
    site.configure()
    site.remove("content/second.md")
    site.commit(TIMES[3])
    return site


def documents(output: Path) -> dict[str, bytes]:
    """Return all that is published, by path."""
    return {
        file.relative_to(output).as_posix(): file.read_bytes() for file in sorted(output.rglob("*")) if file.is_file()
    }


def worktrees(site: Site) -> list[str]:
    """Return the work trees that git knows beside the site's own."""
    return site.git("worktree", "list", "--porcelain").split("\n\n")[1:]


def changes_now(site: Site) -> list[Row]:
    """Return the changes of all Change Lists, wherever the documents lie since they last started over."""
    state = json.loads((site.output / "resourcesync" / "publication.json").read_text())
    folder = "resourcesync/site" if state["restart_number"] == 1 else f"resourcesync/site/{state['restart_number']}"
    found = []
    for file in sorted((site.output / folder).glob("changelist-2*.xml")):
        siteurl = site.settings["SITEURL"]
        entries = parse_file(file).entries
        found += [(str(each.lastmod), each.md["change"], each.uri.removeprefix(siteurl)) for each in entries]
    return sorted(found)
