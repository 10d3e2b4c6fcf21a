"""The cases that are measured. The first variant of each is the least that its work can cost."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tests.bench import publication
from tests.bench.programs import write_bare
from tests.bench.runner import Case, Variant
from tests.bench.sites import edit, make_site
from tests.support.sites import Site

_PROGRAMS = (sys.executable, "-m", "tests.bench.programs")
_PUBLICATION = (sys.executable, "-m", "tests.bench.publication")


def _writer(_: Path, count: int) -> Sequence[Variant]:
    return [
        Variant(name, (*_PROGRAMS, f"write_{program}", str(count), f"{program}.xml"))
        for name, program in (("bare formatted writes", "bare"), ("ours", "ours"), ("resync", "resync"))
    ]


def _reader(folder: Path, count: int) -> Sequence[Variant]:
    write_bare(str(count), str(folder / "list.xml"))
    return [
        Variant(name, (*_PROGRAMS, f"read_{program}", "list.xml"))
        for name, program in (("bare iterparse", "bare"), ("ours", "ours"), ("resync", "resync"))
    ]


def _build(folder: Path, articles: int, commits: int) -> Sequence[Variant]:
    """Build a site without the plug-in, for the first time, without any change, and after one edit."""
    site = make_site(folder / "site", commits, articles)

    def anew() -> None:
        shutil.rmtree(site.output, ignore_errors=True)
        shutil.rmtree(site.folder / ".resourcesync", ignore_errors=True)

    command = (sys.executable, "-m", "pelican", "--quiet")
    plain = Variant("Pelican alone", (*command, "-e", "PLUGINS=[]"), anew, site.folder)
    return [
        plain,
        Variant("first build", command, anew, site.folder),
        Variant("next build, no change", command, folder=site.folder),
        Variant("next build, one edit", command, partial(edit, site), site.folder),
    ]


def _check(folder: Path, articles: int) -> Sequence[Variant]:
    site: Site = make_site(folder / "site", articles + 10, articles)
    site.build()
    command = (sys.executable, "-m", "pelican_resourcesync", "check", str(site.output))
    return [Variant("documents", command), Variant("resources too", (*command, "--deep"))]


def _following(folder: Path, count: int, lists: int, dumps: bool = False) -> Sequence[Variant]:
    """Publish with 100 changes after a first publication; what the caller does to make the resources is shown too."""
    first, work, options = folder / "first", folder / "work", ["dumps"] if dumps else []
    if dumps:
        publication.write_files(first, count)
    publication.first(str(first), str(count), str(lists), *options)

    def begin() -> None:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(first, work)
        if dumps:
            publication.write_files(work, min(count, publication.CHANGED), publication.CHANGED)

    return [
        Variant("making the resources", (*_PUBLICATION, "make", str(work), str(count), "100", *options)),
        Variant("next publication, with that", (*_PUBLICATION, "following", str(work), str(count), *options), begin),
    ]


def _directory(folder: Path, files: int) -> Sequence[Variant]:
    publication.write_files(folder, files)

    def begin() -> None:
        for name in ("resourcesync", ".well-known"):
            shutil.rmtree(folder / "output" / name, ignore_errors=True)

    output = folder / "output"
    resync = ("--write-resourcelist", "--hash", "md5", "--outfile", str(folder / "resync.xml"))
    return [
        Variant("bare scan, hash and write", (*_PUBLICATION, "bare_directory", str(folder))),
        Variant("ours, a whole publication", (*_PUBLICATION, "directory", str(folder)), begin),
        *_program("resync-build", *resync, f"{publication.SITEURL}={output}"),
    ]


def _dump(folder: Path, files: int) -> Sequence[Variant]:
    publication.write_files(folder, files)

    def begin() -> None:
        (folder / "zip.zip").unlink(missing_ok=True)
        for name in ("resourcesync", ".well-known"):
            shutil.rmtree(folder / "output" / name, ignore_errors=True)

    return [
        Variant("zipfile", (*_PUBLICATION, "bare_zip", str(folder))),
        Variant("ours, without a dump", (*_PUBLICATION, "first", str(folder), str(files)), begin),
        Variant("ours, with a dump", (*_PUBLICATION, "first", str(folder), str(files), "0", "dumps"), begin),
        *_program("zip", "-r", "-q", str(folder / "zip.zip"), "output", before=begin),
    ]


def _backfill(folder: Path, articles: int, commits: int) -> Sequence[Variant]:
    """Build every commit: in a loop over worktrees, and with one and two jobs of `backfill`."""
    site = make_site(folder / "site", commits, articles)
    loop = (
        "for commit in $(git rev-list main); do git worktree add -f --detach -q ../tree $commit; "
        f"(cd ../tree && mkdir -p content && {sys.executable} -m pelican --quiet -e 'PLUGINS=[]') && "
        "rm -rf ../tree; done"
    )

    def begin() -> None:
        for name in ("output", ".resourcesync"):
            shutil.rmtree(site.folder / name, ignore_errors=True)

    command = (sys.executable, "-m", "pelican_resourcesync", "backfill", "--settings", "pelicanconf.py", "--jobs")
    return [
        Variant("pelican in a loop", ("sh", "-e", "-c", loop), begin, site.folder),
        Variant("backfill, 1 job", (*command, "1"), begin, site.folder),
        Variant("backfill, 2 jobs", (*command, "2"), begin, site.folder),
    ]


def _program(name: str, *arguments: str, before: Callable[[], object] = lambda: None) -> Sequence[Variant]:
    """Return another program as a variant; nothing if it is not installed."""
    found = shutil.which(name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if found is None:
        print(f"{name} is not installed, and left out")
        return []
    return [Variant(name, (found, *arguments), before)]


def _case(
    name: str,
    title: str,
    prepare: Callable[..., Sequence[Variant]],
    *goals: tuple[str, str, float],
    each: int = 0,
    **inputs: int,
) -> Case:
    return Case(name, title, partial(prepare, **inputs), goals, each)


_WRITER = ("ours", "bare formatted writes", 2.5), ("ours", "resync", 1 / 12)
_READER = ("ours", "bare iterparse", 3.0), ("ours", "resync", 1 / 6)
_DIRECTORY = (
    ("ours, a whole publication", "bare scan, hash and write", 1.3),
    ("ours, a whole publication", "resync-build", 0.5),
)
_NEXT = "Publishing 100 changes among"

#: By name. The bridge and the mirror have benchmarks of their own, because they need servers.
CASES: Mapping[str, Case] = MappingProxyType(
    {
        case.name: case
        for case in (
            _case("writer", "Writing a Resource List of 50,000 entries", _writer, *_WRITER, count=50_000),
            _case("writer-million", "Writing one of 1,000,000 entries", _writer, *_WRITER, count=1_000_000),
            _case("reader", "Reading a Resource List of 50,000 entries", _reader, *_READER, count=50_000),
            _case("build-20", "Building a site of 20 articles", _build, articles=20, commits=40),
            _case("build", "Building a site of 500 articles", _build, articles=500, commits=1_000),
            _case("build-2000", "Building a site of 2,000 articles", _build, articles=2_000, commits=10_000),
            _case("next", f"{_NEXT} 10,000 resources", _following, each=10_000, count=10_000, lists=10),
            _case("next-100000", f"{_NEXT} 100,000 resources", _following, each=100_000, count=100_000, lists=10),
            _case("next-million", f"{_NEXT} 1,000,000", _following, each=1_000_000, count=1_000_000, lists=10),
            _case(
                "next-history",
                f"{_NEXT} 10,000 resources, after 1,000 Change Lists",
                _following,
                each=10_000,
                count=10_000,
                lists=1_000,
            ),
            _case(
                "next-dumps",
                f"{_NEXT} 10,000 resources, with dumps",
                _following,
                each=10_000,
                count=10_000,
                lists=10,
                dumps=True,
            ),
            _case("directory", "Publishing a folder of 20,000 small files", _directory, *_DIRECTORY, files=20_000),
            _case("dump", "Packing 10,000 small files", _dump, each=10_000, files=10_000),
            _case("backfill", "Building 10 commits of a site of 8 articles", _backfill, articles=8, commits=10),
            _case("check", "Checking a site of 500 articles", _check, articles=500),
        )
    }
)
