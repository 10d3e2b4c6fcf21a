"""Real Pelican sites in real git repositories, made and built by the tests."""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

from pelican import Pelican
from pelican import main as pelican_main
from pelican.log import FatalLogger, LimitFilter, console
from pelican.settings import read_settings

from pelican_resourcesync.cli import main
from repo_bridge.cli import main as bridge
from tests.kit.reader import XmlDocument, parse_file

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = {
    "PATH": "content",
    "OUTPUT_PATH": "output",
    "SITEURL": "https://example.org",
    "SITENAME": "A site",
    "TIMEZONE": "UTC",
    "DEFAULT_LANG": "en",
    "LOCALE": ("C",),
    "PLUGINS": ["pelican_resourcesync"],
    "DELETE_OUTPUT_DIRECTORY": True,
    "FEED_ALL_ATOM": None,
    "CATEGORY_FEED_ATOM": None,
    "AUTHOR_FEED_ATOM": None,
    "AUTHOR_FEED_RSS": None,
    "TRANSLATION_FEED_ATOM": None,
}

#: No listings, and a theme of two templates.
BARE = {
    "DIRECT_TEMPLATES": [],
    "AUTHOR_SAVE_AS": "",
    "CATEGORY_SAVE_AS": "",
    "THEME": "theme",
    "THEME_STATIC_PATHS": [],
}

#: Nobody's site is asked what is public there.
NOT_LIVE = {"previous": "output"}

#: The sample site's pages that are no resources: excluded by default, and hidden for ever.
PRIVATE = ("404.html", "staff-notes.html")

Row = tuple[str, str, str]

#: Who commits to a new repository, after which git starts no more processes to see whether it should be tidied.
GIT_CONFIG = """[user]
\tname = A writer
\temail = writer@example.org
[maintenance]
\tauto = false
"""


@dataclass
class Site:
    """A Pelican site: its folder, which is or lies in a git repository, and what its settings file holds."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))

    @classmethod
    def create(cls, folder: Path, **settings: Any) -> "Site":
        """Make an empty site in a new repository, with its settings written and nothing committed."""
        site = cls(folder, {**SETTINGS, **settings})
        (folder / "content").mkdir(parents=True)
        site.git("init", "-q", "-b", "main", "--template=")
        with (folder / ".git/config").open("a") as config:
            config.write(GIT_CONFIG)
        site.write(".gitignore", "output/\n__pycache__/\n")
        site.configure()
        return site

    def copied(self, folder: Path) -> "Site":
        """Return a copy of the site with all that was committed and built, which leaves this one as it is."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Site(folder, deepcopy(self.settings))

    @property
    def output(self) -> Path:
        """The folder that Pelican writes to."""
        return self.folder / "output"

    def configure(self, **settings: Any) -> None:
        """Write the settings file, with these settings changed."""
        self.settings |= settings
        self.settings["RESOURCESYNC"] = _not_live(self.settings.get("RESOURCESYNC"))
        self.write("pelicanconf.py", "".join(f"{name} = {value!r}\n" for name, value in self.settings.items()))

    def write(self, path: str, text: str | bytes, *, at: str = "") -> Path:
        """Write a file of the site, and commit it if it is said `at` which time."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        if at:
            self.commit(at)
        return file

    def article(self, path: str, title: str = "A title", text: str = "Text.", *, at: str = "", **metadata: str) -> Path:
        """Write an article in Markdown, and commit it `at` a time; `path` is relative to the content."""
        metadata = {"Title": title, "Date": "2024-01-01", **metadata}
        head = "".join(f"{name}: {value}\n" for name, value in metadata.items())
        return self.write(f"content/{path}", f"{head}\n{text}\n", at=at)

    def remove(self, path: str, *, at: str = "") -> None:
        """Remove a file of the site, and commit that `at` a time."""
        (self.folder / path).unlink()
        if at:
            self.commit(at)

    def git(self, *arguments: str, **environment: str) -> str:
        """Run git in the site's folder and give what it prints."""
        process = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
        )
        return process.stdout.strip()

    def commit(self, time: str, message: str = "Change the site") -> None:
        """Commit all there is, with `time` (ISO 8601) as both dates."""
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message, GIT_AUTHOR_DATE=time, GIT_COMMITTER_DATE=time)

    @property
    def head(self) -> str:
        """The name of the commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def not_live(self, arguments: Sequence[str]) -> list[str]:
        """Options of `pelican` after others with which nobody's site is asked what is public there."""
        given = "RESOURCESYNC" in self.settings or any(text.startswith("RESOURCESYNC=") for text in arguments)
        return [] if given else ["-e", f"RESOURCESYNC={json.dumps(NOT_LIVE)}"]

    def build(self, *, first: bool = False, **overrides: Any) -> None:
        """Build the site in this process, as `pelican` does, with these settings overridden; `first` starts over."""
        with patch.dict(os.environ, {"RESOURCESYNC_FIRST": "1"} if first else {}):
            build(self.folder, **overrides)

    def command(
        self, *arguments: str, environment: Mapping[str, str] | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Build the site with the command `pelican`, in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "pelican", "--log-handler", "plain", *arguments, *self.not_live(arguments)],
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            check=check,
            capture_output=True,
            text=True,
        )

    def changes(self) -> list[Row]:
        """Return the changes of all Change Lists of the output: (time, kind, path of the URI), in the order listed."""
        return changes(self.output, self.settings["SITEURL"])

    def resources(self) -> dict[str, str | None]:
        """Return the `lastmod` of each entry of the Resource List by the path of its URI."""
        entries = document(self.output, "resourcesync/site/resourcelist.xml").entries
        return {each.uri.removeprefix(self.settings["SITEURL"]): each.lastmod for each in entries}


def run(site: Site, *arguments: str, **environment: str) -> tuple[int, str]:
    """Build with the command `pelican`, and return its exit status and all that it prints, unwrapped.

    It runs in this process, unless the site has plug-ins of its own, which would stay connected.
    """
    arguments = ("--log-handler", "rich", *arguments)
    environment = {"COLUMNS": "2000", "NO_COLOR": "1", **environment}
    if "PLUGIN_PATHS" in site.settings or "PYTHONPATH" in environment:
        done = site.command(*arguments, environment=environment, check=False)
    else:
        done = run_program("pelican", site.folder, *arguments, *site.not_live(arguments), **environment)
    return done.returncode, done.stdout + done.stderr


def run_program(name: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `pelican` or one of our programs in a folder, in this process."""
    printed, errors, status = StringIO(), StringIO(), 0
    root = logging.root
    level, handlers, root.handlers = root.level, root.handlers, []  # else Pelican would add none
    try:
        with (
            chdir(folder),
            patch.dict(os.environ, environment),
            patch.object(console, "_width", int(environment.get("COLUMNS", 80))),  # rich has read it already
            patch.object(sys, "argv", [name, *arguments]),
            patch.object(sys, "path", [*sys.path]),
            redirect_stdout(printed),
            redirect_stderr(errors),
        ):
            status = _PROGRAMS[name](arguments) or 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        root.handlers = handlers
        root.setLevel(level)
        logging.getLogger("pelican").setLevel(logging.NOTSET)
        FatalLogger.fatal_lvl = logging.CRITICAL + 1
        FatalLogger.warnings_fatal = FatalLogger.errors_fatal = False  # those of Pelican 4.11
        LimitFilter._raised_messages.clear()  # else no later build would print the same warning
    return subprocess.CompletedProcess(arguments, status, printed.getvalue(), errors.getvalue())


_PROGRAMS: Mapping[str, Callable[[Sequence[str]], int | None]] = {
    "pelican": pelican_main,
    "pelican-resourcesync": main,
    "repo-bridge": bridge,
}


def warnings(printed: str) -> list[str]:
    """Return the warnings among what was printed."""
    return [" ".join(line.split()) for line in printed.splitlines() if "WARNING" in line or ": warning: " in line]


def strip(site: Site) -> Site:
    """Let a site publish its articles and pages alone."""
    for name in ("article", "page"):
        page = f"<html><head><title>{{{{ {name}.title }}}}</title></head><body>{{{{ {name}.content }}}}</body></html>"
        site.write(f"theme/templates/{name}.html", page)
    site.configure(**BARE)
    return site


def with_stork(site: Site) -> dict[str, str]:
    """Return the environment in which pelican-search finds a stand-in for its program Stork, which copies its input."""
    site.write("bin/stork", '#!/bin/sh\n[ "$1 $2 $4" = "build --input --output" ] && cat "$3" >"$5"\n').chmod(0o755)
    return {"PATH": os.pathsep.join([str(site.folder / "bin"), os.environ["PATH"]])}


def our_command(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the command `pelican-resourcesync` in a folder, in this process."""
    done = run_program("pelican-resourcesync", folder, *arguments)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def our_process(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the command `pelican-resourcesync` in a folder, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pelican_resourcesync", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=check,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def build(folder: Path, **overrides: Any) -> None:
    """Build the site in `folder` in this process, from that folder as the current one."""
    with chdir(folder):
        settings = read_settings("pelicanconf.py", override=overrides)
        settings["RESOURCESYNC"] = _not_live(settings.get("RESOURCESYNC"))
        try:
            Pelican(settings).run()
        finally:
            LimitFilter._raised_messages.clear()  # else no later build would print the same warning


def _not_live(raw: Any) -> Any:
    """Let a build carry forward what its output holds, where a test does not say otherwise."""
    return {**NOT_LIVE, **(raw or {})} if raw is None or isinstance(raw, dict) else raw


def import_sample_site(folder: Path, until: str = "main") -> Site:
    """Make the sample site's repository from its stream, checked out at the revision `until`."""
    folder.mkdir(parents=True)
    site = Site(folder, {"SITEURL": "https://museum.example"})
    site.git("init", "-q", "-b", "main")
    with (ROOT / "sample_site" / "history.fi").open("rb") as stream:
        subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, stdin=stream, check=True)
    site.git("checkout", "-q", until)
    return site


def document(output: Path, path: str) -> XmlDocument:
    """Read a document of the output."""
    return parse_file(output / path)


def changes(output: Path, siteurl: str) -> list[Row]:
    """Return the changes of all Change Lists, found through the Change List Index, in the order listed."""
    index = document(output, "resourcesync/site/changelist.xml")
    lists = [document(output, uri.removeprefix(f"{siteurl}/")) for uri in index.uris()]
    entries = [entry for each in lists for entry in each.entries]
    return [(str(each.lastmod), each.md["change"], each.uri.removeprefix(siteurl)) for each in entries]


def expected_changes(path: Path) -> list[Row]:
    """Read a list of changes written by hand: a line `TIME KIND PATH` each, `#` before a comment."""
    lines = path.read_text("utf-8").splitlines()
    rows = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#")]
    return [(time, kind, path) for time, kind, path in rows]


def public_files(output: Path, *private: str) -> dict[str, bytes]:
    """Return the files of an output by path, without ResourceSync's documents, dot files and what is named private."""
    found = {}
    for file in output.rglob("*"):
        path = file.relative_to(output).as_posix()
        if file.is_file() and not path.startswith((".", "resourcesync/")) and path not in private:
            found[path] = file.read_bytes()
    return found


def file_of(uri: str, siteurl: str) -> str:
    """Return the path of the file that a static host answers with for a URI of the site."""
    path = unquote(uri.removeprefix(f"{siteurl}/"))
    return f"{path}index.html" if not path or path.endswith("/") else path
