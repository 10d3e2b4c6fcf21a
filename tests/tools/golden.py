"""Publish, copy and check with everything on, at fixed times, so that two commits can be compared byte for byte.

`python -m tests.tools.golden OUT` writes each output, and what the commands print, into OUT. `diff --recursive OLD NEW`
shows how two of them differ. Only command lines and settings are used, so modules may move between the two commits.
"""

import argparse
import datetime as dt
import json
import multiprocessing
import os
import re
import shutil
import sqlite3
import sys
import time
import tomllib
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

SITEURL, BASE = "https://museum.example", "https://repository.example/sync"
KEY = "ed25519-private:mX9lQUxiqwOqamUzQnqxOkLUh9bskNZzk8XtL5G_3M4"
#: 1 January 2026, 12:00 UTC.
BEGIN = 1_767_268_800
REVISIONS = ("main~12", "main~8", "main~4", "main~2", "main")

#: What any site may have.
OPTIONS = """\
previous = "output"
dumps = {package_size = 50_000}
archives = {resourcedump = "all"}
versions = true
patches = true
timegate = "https://museum.example/timegate/"
mirrors = [{url = "https://mirror.example", pri = 1}]
hubs = ["https://hub.example/", {url = "https://fat.example/", fat = true}]
robots = true
sitemap = true
link_headers = ["_headers", ".htaccess"]
indexnow_key = "0123456789abcdef"
license = "https://creativecommons.org/licenses/by/4.0/"
contact = "mailto:keepers@museum.example"
"""
ALL: Mapping[str, Any] = tomllib.loads(OPTIONS)
SETS: Mapping[str, Any] = tomllib.loads("""\
sets.site = {}
sets.coins.categories = ["Coins"]
sets.images.types = ["image/*"]
sets.german.languages = ["de"]
sets.brass = {tags = ["brass"], dumps = false, archives = false}
""")
#: What a folder has instead of a sitemap of ours.
FOLDER = """\
sitemap = "correct"
folder = "public"
site_name = "A manual"
allow_deletions = true
clean_urls = true
sets = {site = {}, guide = {paths = ["guide/*"], types = ["text/html"]}}"""
#: What a repository may have.
BRIDGE = """\
signposting = true
metadata = ["oai_dc", "qdc", "mods", "dim", "xoai", "oai_openaire", "rioxx"]
sets-by = "collection"
set-dumps = true
versions = true
version-files = true
patches = true
previous = "output"
allow-deletions = true
mirrors = [{url = "https://mirror.example", pri = 1}]
hubs = ["https://hub.example/", {url = "https://fat.example/", fat = true}]
"""
#: Says who holds it, by a random number.
LEASE = "resourcesync/upload.json"
#: What only says how long something took.
_UNSTEADY = ((r"\b\d+(\.\d+)? (s|seconds)\b", "N seconds"), (r'"(seconds|begin|end)": ("[^"]*"|[\d.e-]+)', r'"\1": 0'))


def stop_the_clock() -> None:
    """Let `SOURCE_DATE_EPOCH` be the present in all modules that are imported from now on, and ids count from one."""
    real = dt.datetime

    class Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real)

    class Stopped(dt.datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return real.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), tz)

    os.environ.setdefault("SOURCE_DATE_EPOCH", str(BEGIN))
    numbers = iter(range(1, sys.maxsize))
    setattr(dt, "datetime", Stopped)  # noqa: B010 - a type for mypy
    time.time = lambda: float(os.environ["SOURCE_DATE_EPOCH"])
    setattr(uuid, "uuid4", lambda: uuid.UUID(int=next(numbers)))  # noqa: B010 - the same


@dataclass
class Scenario:
    """A folder to work in, and what is kept of it; each step is a day later."""

    work: Path
    out: Path
    step: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, program: str, folder: Path, *arguments: str, **environment: str) -> None:
        """Run a command in a folder, and keep what it prints and its exit status."""
        from repo_bridge.cli import main as bridge
        from tests.kit import sites

        self.step += 1
        at = f"{BEGIN + 86_400 * self.step}"
        environment = {"COLUMNS": "200", "SOURCE_DATE_EPOCH": at, **self.environment, **environment}
        with patch.object(sites, "_PROGRAMS", {**sites._PROGRAMS, "repo-bridge": bridge}):
            done = sites.run_program(program, folder, *arguments, **environment)
        self.write("printed", f"{program} {' '.join(arguments)}\nexit status {done.returncode}\n{done.stdout}")
        self.write("warnings", done.stderr)

    def pelican(self, site: Any, siteurl: str, options: Mapping[str, Any], **environment: str) -> None:
        """Build a site with these options of ours, and keep its output."""
        given = ("-e", f"SITEURL={json.dumps(siteurl)}", f"RESOURCESYNC={json.dumps(options)}")
        self.run("pelican", site.folder, "--log-handler", "plain", *given, **environment)
        self.keep(site.output)

    def own(self, folder: Path, *arguments: str, **environment: str) -> None:
        """Run the command `pelican-resourcesync`."""
        self.run("pelican-resourcesync", folder, *arguments, **environment)

    def say(self, output: Path) -> None:
        """Keep what commands say of an output: in JSON, and which files each step of an upload has."""
        options = "check --json,follow --json-lines,show,show --json,restore --list-times --json=resources"
        for line in [*options.split(","), *(f"upload --order {step}" for step in range(1, 8))]:
            command, *given = line.split()
            self.own(output.parent, command, output.name, *given)

    def copy(self, output: Path) -> None:
        """Bring copies of an output up to date, each of its own kind, and keep them with their state."""
        source = str(output.relative_to(self.work))
        site = "--publish https://copy.example"
        for way in ("lists --by lists", "dumps --by dumps", f"atomic --atomic {site}", f"copied {site}"):
            name, *options = way.split()
            given = ("--json=resources", "--max-deletions", "100", "--allow-host", "museum.example")
            self.own(self.work, "mirror", source, name, *options, *given)
            self.keep(self.work / name)

    def keep(self, folder: Path) -> None:
        """Keep a copy of a folder as it is now, and the state of a mirror as text."""
        copy = self.out / f"{self.step:03}-{folder.name}"
        shutil.copytree(folder, copy, symlinks=True)
        for file in copy.glob("**/.mirror/**/*.json"):
            file.write_text(self._steady(file.read_text("utf-8")), "utf-8")
        for file in copy.rglob("*.sqlite3"):
            with closing(sqlite3.connect(file)) as state:
                text = "\n".join(state.iterdump())
            file.unlink()
            self.write(f"{folder.name}-state", text)

    def write(self, name: str, text: str) -> None:
        """Keep a text."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / f"{self.step:03}-{name}.txt").write_text(self._steady(text), "utf-8")

    def _steady(self, text: str) -> str:
        """Return a text without what differs from run to run."""
        for pattern, steady in ((re.escape(str(self.work)), "WORK"), *_UNSTEADY):
            text = re.sub(pattern, steady, text)
        return text


def museum(scenario: Scenario) -> None:
    """Publish the sample site in several sets, signed; copy it again and again; and take a page down."""
    scenario.environment["RESOURCESYNC_SIGNING_KEY"] = KEY
    site = _sample_site(scenario, {**ALL, **SETS}, copied=True)
    scenario.say(site.output)
    scenario.own(site.folder, "restore", "output", "past", "--at", "2026-01-10", "--json")
    scenario.own(site.folder, "forget", f"{SITEURL}/coins/denarius.html", "--output", "output", "--json")
    scenario.keep(site.output)
    scenario.copy(site.output)
    scenario.pelican(site, SITEURL, {**ALL, **SETS})
    scenario.say(site.output)


def older(scenario: Scenario) -> None:
    """Publish the sample site in the edition of 2014, with limits to all that is kept."""
    limited = {"edition": 2014, "changes_by": "week", "keep": 2, "index_urls": "file", "html_links": False}
    limited |= {"archives": {"resourcelist": 1, "resourcedump": 1, "changedump": 1}, "versions": 2, "exclude": ["tag"]}
    site = _sample_site(scenario, {**ALL, **limited}, copied=False)
    scenario.say(site.output)


def _sample_site(scenario: Scenario, options: Mapping[str, Any], *, copied: bool) -> Any:
    """Publish the sample site at some of its commits, and return it."""
    from tests.kit.sites import import_sample_site

    site = import_sample_site(scenario.work / "site", until=REVISIONS[0])
    for revision in REVISIONS:
        site.git("checkout", "-q", revision)
        scenario.pelican(site, SITEURL, options)
        if copied and revision in REVISIONS[::2]:
            scenario.copy(site.output)
    return site


def withdrawing(scenario: Scenario, *options: str) -> None:
    """Publish a repository with everything over three nights, and then hide a field and take an item down."""
    from sample_site import repository

    folder = scenario.work / "repository"
    repository.make_repository(folder, BASE)
    settings = folder / "repo_bridge.toml"
    settings.write_text(settings.read_text("utf-8").replace('metadata = ["oai_dc", "mods"]\n', BRIDGE), "utf-8")
    output = scenario.work / "output"
    for day in repository.DAYS:
        _night(scenario, folder, day, *options)
        scenario.keep(output)
    scenario.copy(output)
    hiding = ("--at", "2025-06-17T18:00:00Z", "--hidden", "dc.date.issued", "--json", *options)
    scenario.run("repo-bridge", folder, "publish", "--dry-run", *hiding)
    scenario.run("repo-bridge", folder, "publish", *hiding)
    scenario.keep(output)
    scenario.copy(output)
    scenario.say(output)
    record = f"{BASE}/resourcesync/repository/records/oai_dc/123456789/1.xml"
    scenario.own(scenario.work, "forget", record, "--output", "output", "--json")
    scenario.keep(output)


def keeping(scenario: Scenario) -> None:
    """Publish the same repository, and keep the bytes of what is withdrawn."""
    withdrawing(scenario, "--on-withdrawal", "keep")


def _night(scenario: Scenario, folder: Path, day: str, *options: str) -> None:
    """Apply a day's changes to a repository, and publish it as of that evening."""
    from sample_site import repository
    from sample_site.dspace.edits import Edits

    repository.DAYS[day](folder, Edits(day, repository.VERSION))
    scenario.run("repo-bridge", folder, "publish", "--at", f"{day}T18:00:00Z", "--json", *options)


def tables(scenario: Scenario) -> None:
    """Publish tables: one whose list has parts, and one of several sets."""
    _publish_table(scenario, scenario.work / "one", 50_100)
    _publish_table(scenario, scenario.work / "several", 900, "--partition-by", "1", "--archives")
    scenario.say(scenario.work / "several" / "public")


def _publish_table(scenario: Scenario, folder: Path, rows: int, *options: str) -> None:
    """Publish a table over three nights; in each, some rows are new, some have changed, and some are gone."""
    folder.mkdir()
    for night in range(3):
        with (folder / "table.jsonl").open("w") as lines:
            for number in range(60 * night, rows + 90 * night):
                uri = f"https://repository.example/{number % 3}/{number:06}.html"
                digest = f"{number * 16 + (night if number % 1_000 == 607 else 0):064x}"
                lines.write(json.dumps({"uri": uri, "hash": digest, "length": number, "type": "text/html"}) + "\n")
        given = ("--table", "table.jsonl", "--base-url", BASE, "--out", "public", "--previous", "output", "--json")
        scenario.run("repo-bridge", folder, "publish", *given, "--at", f"2025-06-{night + 14}T18:00:00Z", *options)
    scenario.keep(folder / "public")
    scenario.own(folder, "upload", "public", "--order", "2")


def moving(scenario: Scenario) -> None:
    """Build the past of the sample site without the last commits, continue it, move it, and start over."""
    from tests.kit.sites import import_sample_site

    given = {"allow_deletions": True, **ALL}
    site = import_sample_site(scenario.work / "site", until=REVISIONS[2])
    extra = ("-e", f"SITEURL={json.dumps(SITEURL)}", f"RESOURCESYNC={json.dumps(given)}")
    scenario.own(site.folder, "backfill", "--settings", "pelicanconf.py", "--jobs", "1", *extra)
    scenario.keep(site.output)
    moved = "https://moved.example/site"
    site.git("checkout", "-q", REVISIONS[3])
    scenario.pelican(site, SITEURL, given)
    scenario.pelican(site, moved, {**given, "moved_from": SITEURL})
    scenario.copy(site.output)
    site.git("checkout", "-q", REVISIONS[4])
    scenario.pelican(site, moved, {**given, "changes_by": 1}, RESOURCESYNC_FIRST="1")
    scenario.copy(site.output)
    scenario.say(site.output)


def folder(scenario: Scenario) -> None:
    """Publish a folder that another generator builds, with redirects, a sitemap and a `robots.txt` of its own."""
    public, always = scenario.work / "public", OPTIONS.replace("sitemap = true", FOLDER)
    for number, base in enumerate((SITEURL, SITEURL, SITEURL, BASE, BASE)):
        moved = f'moved_from = "{SITEURL}"\n' if number == 3 else ""
        (scenario.work / "resourcesync.toml").write_text(f'base_url = "{base}"\n{moved}{always}', "utf-8")
        _generate(public, base, number)
        scenario.own(scenario.work, "publish", "--dry-run", "--json")
        scenario.own(scenario.work, "publish", "--json")
        scenario.keep(public)
        scenario.copy(public)
    scenario.say(public)
    scenario.own(scenario.work, "forget", f"{BASE}/guide/5", "--output", "public", "--json")
    scenario.keep(public)


def _generate(public: Path, base: str, number: int) -> None:
    """Write what a generator writes: pages of which one changes, one is new and one is gone each time."""
    names = [f"guide/{page}.html" for page in range(number, number + 9)] + ["index.html", "about/index.html"]
    files = {name: f"<html><head><title>{name}</title></head><body>{name}</body></html>" for name in names}
    files["index.html"] = files["index.html"].replace("</body>", f"{number}</body>")
    files["old.html"] = f'<html><head><meta http-equiv="refresh" content="0; url={base}/about/"></head></html>'
    files |= {"_redirects": "/old /about/ 301\n", "_headers": "/*\n  X-Own: 1\n", "data/Ä b.csv": f"a,b\n{number},2\n"}
    files |= {"robots.txt": "User-agent: *\nDisallow: /drafts/\n", "404.html": "<html></html>"}
    urls = "".join(f"<url><loc>{base}/{name}</loc><lastmod>2025-12-0{number + 1}</lastmod></url>" for name in names)
    files["sitemap.xml"] = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    (public / f"guide/{number - 1}.html").unlink(missing_ok=True)
    for name, text in files.items():
        (public / name).parent.mkdir(parents=True, exist_ok=True)
        (public / name).write_text(text, "utf-8")


def bucket(scenario: Scenario) -> None:
    """Upload a site, twice, and a table with parts; keep what is in the bucket, with the headers of each file."""
    import pytest

    from tests.kit.bucket import bucket_server
    from tests.kit.sites import import_sample_site

    site = import_sample_site(scenario.work / "site", until=REVISIONS[0])
    with pytest.MonkeyPatch.context() as patches, bucket_server(patches) as server:
        for revision in REVISIONS[:2]:
            site.git("checkout", "-q", revision)
            scenario.pelican(site, SITEURL, ALL)
            scenario.own(site.folder, "upload", "output", "s3://bucket/site", "--grace", "0")
            headers = {name: dict(known) for name, (_, known, _) in server.snapshot().items() if LEASE not in name}
            scenario.write("headers", json.dumps(headers, indent=1, sort_keys=True))
        _publish_table(scenario, scenario.work / "table", 50_100, "--bucket", "s3://bucket/site")
        digests = {name: _digest(data) for name, data in server.contents().items() if name != LEASE}
        scenario.write("bucket", json.dumps(digests, indent=1, sort_keys=True))


SCENARIOS = (museum, tables, bucket, moving, older, withdrawing, keeping, folder)


def _run(scenario: Callable[[Scenario], None], out: Path) -> None:
    """Run a scenario in this process."""
    stop_the_clock()
    with TemporaryDirectory() as work:
        scenario(Scenario(Path(work).resolve(), out / scenario.__name__))


def write(out: Path, only: Sequence[str]) -> None:
    """Run scenarios beside each other, and write their results and the digests of these."""
    out.mkdir(parents=True)
    with multiprocessing.get_context("spawn").Pool(maxtasksperchild=1) as pool:
        runs = [(scenario, out) for scenario in SCENARIOS if not only or scenario.__name__ in only]
        pool.starmap(_run, runs, chunksize=1)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.golden", description=__doc__)
    parser.add_argument("out", type=Path, help="where to write; must not exist")
    parser.add_argument("--only", action="append", default=[], metavar="SCENARIO", help="only this; may be repeated")
    arguments = parser.parse_args()
    write(arguments.out, arguments.only)


if __name__ == "__main__":
    main()
