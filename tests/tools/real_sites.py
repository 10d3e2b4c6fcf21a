"""Publish successive commits of a real site from clones of depth 1, and compare each publication with the bytes.

    python -m tests.tools.real_sites REPOSITORY OUT --paths docs --commits 10 -- mkdocs build -q -d public

Each commit is cloned with nothing before it and built by the command, which writes the folder `public`. Nothing is kept
but what is live: OUT, served on loopback under a public name. Prints what was found, and fails where anything differs.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.kit.folders import HOME, Folder
from tests.kit.live import files, hosts, live
from tests.kit.reader import parse_file

URL = "http://real.test"
LINK = (
    b'<link rel="resourcesync" type="application/xml" href="http://real.test/resourcesync/site/capabilitylist.xml" />\n'
)
_OURS = ("resourcesync/", ".well-known/resourcesync")


def main() -> int:
    """Run the campaign, and return the exit status."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--paths", nargs="+", default=["."])
    parser.add_argument("--commits", type=int, default=10)
    parser.add_argument("--sitemap", default="correct")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    subprocess.run(["git", "-C", options.repository, "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    log = ["log", "--first-parent", f"-{options.commits}", "--format=%H %cI", "HEAD", "--", *options.paths]
    lines = _git(options.repository, *log).splitlines()
    campaign = Campaign(options.out, options.sitemap)
    with live(hosts({URL: files(options.out)}), proxy=True) as host:
        os.environ["http_proxy"] = host.url
        for line in reversed(lines):
            commit, committed = line.split()
            with TemporaryDirectory() as folder:
                campaign.publish(Path(folder), options.repository, commit, committed, options.command)
    sys.stdout.write(f"{len(campaign.faults)} faults\n")
    return bool(campaign.faults)


class Campaign:
    """What was live, by path, the hash of the bytes; the dates that the truth has; and the faults found."""

    def __init__(self, out: Path, sitemap: str) -> None:
        """Begin with nothing live."""
        shutil.rmtree(out, ignore_errors=True)
        self._out, self._sitemap = out, sitemap
        self._before: dict[str, str] = {}
        self._dates: dict[str, datetime] = {}
        self.faults: list[str] = []
        self._seen = ""

    def publish(self, base: Path, repository: Path, commit: str, committed: str, command: list[str]) -> None:
        """Clone and build a commit, publish it, compare that with the truth, and let it be live."""
        _git(base, "init", "-q")
        _git(base, "fetch", "-q", "--depth=1", repository.resolve().as_uri(), commit)
        _git(base, "checkout", "-q", "FETCH_HEAD")
        subprocess.run(command, cwd=base, check=True, stdout=subprocess.DEVNULL)
        folder = Folder(base, URL)
        folder.configure(f'sitemap = "{self._sitemap}"', "live")
        built = _hashes(folder.public)
        begin = time.perf_counter()
        done = folder.run()
        seconds = time.perf_counter() - begin
        self._compare(folder, built, datetime.fromisoformat(committed))
        before = {path: (base / path).stat().st_mtime_ns for path in _files(base)}
        folder.run()
        if {path: (base / path).stat().st_mtime_ns for path in _files(base)} != before:
            self.faults.append(f"{commit}: a run without a change wrote something")
        shutil.rmtree(self._out, ignore_errors=True)
        shutil.copytree(folder.public, self._out)
        sys.stdout.write(f"{commit[:8]} {committed} {seconds:.2f} s: {done.stdout}{done.stderr}")

    def _compare(self, folder: Folder, built: dict[str, str], committed: datetime) -> None:
        first = not self._before
        changed = dict.fromkeys(built.keys() - self._before.keys(), "created")
        changed |= dict.fromkeys(self._before.keys() - built.keys(), "deleted")
        changed |= {path: "updated" for path in built.keys() & self._before.keys() if built[path] != self._before[path]}
        if first:
            changed.clear()
        self._before = built
        self._dates = {path: time for path, time in self._dates.items() if path in built}
        self._dates |= {path: committed for path, kind in changed.items() if kind != "deleted"}
        listed = folder.listed()
        by_path = {_path_of(path): each for path, each in listed.items()}
        self._expect("listed", by_path.keys(), built.keys())
        digests = {path: hashlib.sha256((folder.public / path).read_bytes()).hexdigest() for path in by_path}
        self._expect("bytes", {path: each.digest for path, each in by_path.items()}, digests)
        dates = {path: each.time for path, each in by_path.items() if each.lastmod}
        late = {path for path, date in dates.items() if path in changed and date != self._dates.get(path)}
        # A second commit of the same second, or one before the last publication, comes just after that.
        self._expect("dated", dates.keys(), self._dates.keys())
        self._expect("dates", {path for path in late if dates[path] < committed}, set())
        changes = folder.changes() if (folder.public / HOME / "changelist.xml").is_file() else []
        self._expect("changes", {_path_of(path): kind for time, kind, path in changes if time > self._seen}, changed)
        self._seen = max([self._seen, *(time for time, _, _ in changes)])
        self._sitemap_dates(folder, dates)

    def _sitemap_dates(self, folder: Folder, dates: dict[str, datetime]) -> None:
        file = folder.public / "sitemap.xml"
        entries = parse_file(file).entries if file.is_file() else []
        for each in entries:
            path = _path_of(each.uri.removeprefix(f"{URL}/"))
            if each.lastmod and dates.get(path) != datetime.fromisoformat(each.lastmod):
                self.faults.append(f"the sitemap dates {each.uri} {each.lastmod}")

    def _expect(self, what: str, found: Any, expected: Any) -> None:
        if found != expected:
            self.faults.append(what)
            one, other = (set(each.items() if isinstance(each, dict) else each) for each in (found, expected))
            sys.stdout.write(f"{what}: {sorted(one - other)[:9]}\n  expected {sorted(other - one)[:9]}\n")


def _path_of(uri: str) -> str:
    from urllib.parse import unquote

    path = unquote(uri)
    return f"{path}index.html" if not path or path.endswith("/") else path


def _files(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())


def _hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file that is a resource, by its path: dot files, sitemaps and the error page are none."""
    found = {}
    for path in _files(folder):
        hidden = any(name.startswith(".") for name in path.split("/"))
        if (
            not hidden
            and not fnmatchcase(path, "*sitemap*.xml*")
            and path not in ("404.html", "CNAME", "_redirects", "_headers")
        ):
            found[path] = hashlib.sha256((folder / path).read_bytes().replace(LINK, b"")).hexdigest()
    return found


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
