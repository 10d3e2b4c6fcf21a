"""Build the commits of a site, and keep its pages: each distinct page once, in a database."""

import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
import zlib
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

TABLES = """
create table if not exists page (id text primary key, body blob);
create table if not exists state (number integer, path text, page text, primary key (number, path)) without rowid;
create table if not exists build (number integer primary key, "commit" text, built integer, seconds real);
"""


def git(tree: Path, *arguments: str) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(tree), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="replace").stdout


def clone(work: Path, name: str, site: dict[str, Any]) -> Path:
    """Return the work tree of a site, cloned when it is not there."""
    tree = work / name / "tree"
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", "--no-checkout", site["origin"], str(tree)], check=True)
    return tree


def commits(tree: Path, site: dict[str, Any]) -> list[str]:
    """Return the commits of a site to build, oldest first."""
    merges = "--first-parent" if site.get("merges", True) else "--no-merges"
    log = ["log", merges, f"-{site['commits']}", "--format=%H", site.get("head", "origin/HEAD")]
    return git(tree, *log, "--", *site["paths"]).split()[::-1]


def build(work: Path, name: str, site: dict[str, Any]) -> None:
    """Build the commits of a site that are not built yet."""
    tree, out = clone(work, name, site), work / name / "out"
    with closing(open_pages(work, name)) as pages:
        done = {row[0] for row in pages.execute('select "commit" from build')}
        for number, commit in enumerate(commits(tree, site)):
            if commit not in done:
                begin = time.monotonic()
                built = _build(work, tree, out, commit, site)
                seconds = time.monotonic() - begin
                if built:
                    _keep(pages, number, out)
                pages.execute("replace into build values (?, ?, ?, ?)", (number, commit, built, seconds))
                pages.commit()
                sys.stdout.write(f"{name} {number} {commit[:8]} {'built' if built else 'failed'} {seconds:.1f} s\n")
                sys.stdout.flush()


def experiment(work: Path, name: str, site: dict[str, Any]) -> None:
    """Build the newest commit, and again after each change of its experiments: negative numbers in the database."""
    tree, out = clone(work, name, site), work / name / "out"
    commit = commits(tree, site)[-1]
    with closing(open_pages(work, name)) as pages:
        pages.execute("delete from build where number < 0")
        pages.execute("delete from state where number < 0")
        for number, (title, change) in enumerate({"base": "true", **site["experiments"]}.items(), start=1):
            changed = {**site, "build": f"{change} && {site['build']}"}
            built = _build(work, tree, out, commit, changed)
            if built:
                _keep(pages, -number, out)
            pages.execute("replace into build values (?, ?, ?, 0)", (-number, title, built))
            pages.commit()


def open_pages(work: Path, name: str) -> sqlite3.Connection:
    """Return the database of a site's pages."""
    pages = sqlite3.connect(work / name / "pages.sqlite")
    pages.executescript(TABLES)
    return pages


def _build(work: Path, tree: Path, out: Path, commit: str, site: dict[str, Any]) -> bool:
    git(tree, "update-ref", "--no-deref", "HEAD", commit)
    git(tree, "read-tree", commit)
    # A clone may lack large files, which no page needs.
    subprocess.run(["git", "-C", str(tree), "checkout-index", "-q", "-a", "-f"], check=False, stderr=subprocess.DEVNULL)
    git(tree, "clean", "-q", "-ffdx")
    shutil.rmtree(out, ignore_errors=True)
    time_of_commit = git(tree, "log", "-1", "--format=%ct").strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": time_of_commit, **site.get("environment", {})}
    command = site["build"].format(env=shlex.quote(str(work / "env")), out=shlex.quote(str(out)))
    with (out.parent / "log").open("ab") as log:
        folder = tree / site.get("folder", ".")
        done = subprocess.run(command, check=False, shell=True, cwd=folder, env=environment, stdout=log, stderr=log)
    return done.returncode == 0 and any(out.rglob("*.html"))


def _keep(pages: sqlite3.Connection, number: int, out: Path) -> None:
    for path in sorted(out.rglob("*.html")):
        body = path.read_bytes()
        page = sha256(body).hexdigest()[:32]
        if not pages.execute("select 1 from page where id = ?", (page,)).fetchone():
            pages.execute("insert into page values (?, ?)", (page, zlib.compress(body)))
        pages.execute("insert into state values (?, ?, ?)", (number, path.relative_to(out).as_posix(), page))
