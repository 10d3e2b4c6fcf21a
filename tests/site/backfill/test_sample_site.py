"""The sample site, built back by commit: what is told is exactly what the witness saw, and nothing else."""

import hashlib
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pytest

from pelican_resourcesync.publication import Layout
from tests.site.backfill.support import documents, run, worktrees
from tests.support.follower import Follower
from tests.support.servers import served
from tests.support.sites import Site, document, import_sample_site
from tests.truth.builds import Command, builders
from tests.truth.clone import Clone
from tests.truth.landings import Landings
from tests.truth.steps import walk
from tests.truth.told import read
from tests.truth.truth import Truth, Window, collect, open_window
from tests.truth.verdict import Case, judge

SITEURL = "https://museum.example"


def the_truth(site: Site, folder: Path) -> tuple[Clone, Window, Truth]:
    """Let the witness build every commit."""
    clone = Clone(site.folder, folder / "clone")
    window = open_window(clone, clone.commits("main"), None, [])
    truth = Truth(command=Command(siteurl=SITEURL))
    with builders(truth.command, folder / "jobs", jobs=2, python=sys.executable, timeout=60) as some:
        collect(truth, clone, window, some, keep=lambda: None, say=lambda _: None)
    return clone, window, truth


def hashes(output: Path) -> dict[tuple[str, datetime], str]:
    """Give the hash that each change has, by the path of its URI and its time."""
    found = {}
    for uri in document(output, "resourcesync/site/changelist.xml").uris():
        for entry in document(output, uri.removeprefix(f"{SITEURL}/")).entries:
            if entry.md["change"] != "deleted":
                found[unquote(entry.uri.removeprefix(f"{SITEURL}/")), entry.time] = entry.digest
    return found


@pytest.mark.long
def test_by_commit_equals_the_witness(tmp_path: Path) -> None:
    """Created, updated and deleted: all of it, nothing else, at the landing times, with the hashes of the bytes."""
    site = import_sample_site(tmp_path / "site")
    with (site.folder / "pelicanconf.py").open("a") as settings:  # today's: nobody is asked what is public
        settings.write('RESOURCESYNC = {"previous": "output"}\n')
    outcome = run(site, jobs=2)
    assert (outcome.built, outcome.skipped) == (29, {})
    assert worktrees(site) == []

    clone, window, truth = the_truth(site, tmp_path / "truth")
    landings = Landings(clone.commits("main"), datetime.now(UTC))
    steps = walk(truth, window).steps
    told = list(read(site.output, SITEURL))
    case = Case(steps=steps, told=told, siteurl=SITEURL, landings=landings, ever=truth.ever, exclude=["404.html"])
    verdict = judge(case)
    assert (verdict.misses, verdict.inventions, len(steps)) == ([], [], 29)
    assert verdict.truth == verdict.told == verdict.right
    assert sum(verdict.right.values()) == len(told) == outcome.publications["site"].changes
    assert {cell.kind for cell in verdict.right} == {"created", "updated", "deleted"}

    link = Layout(SITEURL).uri("resourcesync/site/capabilitylist.xml")
    line = f'<link rel="resourcesync" type="application/xml" href="{link}" />\n'.encode()
    listed = hashes(site.output)
    for step in steps:
        at = landings.time(step.commit.sha)
        for path in (path for path, kind in step.changes() if kind != "deleted" and path != "404.html"):
            digest = step.after[path].digest
            built = (site.folder / ".resourcesync" / "backfill" / "objects" / digest[:2] / digest[2:]).read_bytes()
            assert hashlib.sha256(built).hexdigest() == digest, "what Pelican wrote is kept as it was"
            page = built.replace(b"</head>", line + b"</head>", 1) if path.endswith(".html") else built
            assert hashlib.sha256(page).hexdigest() == listed[path, at], (path, at)

    with served(site.output) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == []
        assert follower.incremental() == follower.audit() == []

    before = documents(site.output)
    other = tmp_path / "other"
    again = run(site, output=other)
    assert again.known == 29, "nothing is built twice"
    assert documents(other) == before

    ranged = run(site, output=tmp_path / "ranged", by="range")
    ends = {landings.time(step.commit.sha) for step in steps}
    rows = list(read(tmp_path / "ranged", SITEURL))
    assert (ranged.built, ranged.known) == (0, len({(time.year, time.month) for time in ends}))
    months = {(row.time.year, row.time.month): {row.time} for row in rows}
    for row in rows:
        months[row.time.year, row.time.month].add(row.time)
    assert all(len(times) == 1 and times <= ends for times in months.values())
    assert all(max(end for end in ends if (end.year, end.month) == month) in times for month, times in months.items())
