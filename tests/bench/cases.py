"""The cases that are measured. The first variant of each is the least that its work can cost."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from pelican_resourcesync.protocol import MOST_ENTRIES
from tests.bench import publication
from tests.bench.runner import Case, Goal, Variant
from tests.bench.sites import edit, make_site
from tests.support.sites import Site

_PROGRAMS = (sys.executable, "-m", "tests.bench.programs")
_PUBLICATION = (sys.executable, "-m", "tests.bench.publication")


def _writer(folder: Path, count: int) -> Sequence[Variant]:
    (folder / "resync").mkdir()
    return [
        Variant("bare formatted writes", (*_PROGRAMS, "write_bare", str(count), "bare.xml")),
        Variant("ours, entries made too", (*_PROGRAMS, "write_ours", str(count), "ours.xml")),
        Variant("ours, from rows", (*_PROGRAMS, "write_rows", str(count), "rows.xml")),
        Variant("resync", (*_PROGRAMS, "write_resync", str(count), "resync/list.xml")),
        Variant("resync, times as text", (*_PROGRAMS, "write_resync", str(count), "resync/list.xml", "text")),
    ]


def _reader(folder: Path, count: int) -> Sequence[Variant]:
    subprocess.run([*_PROGRAMS, "write_ours", str(count), "list.xml"], cwd=folder, check=True)
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
        Variant("build that publishes nothing", (*command, "-e", 'RESOURCESYNC={"enabled": false}'), anew, site.folder),
    ]


def _check(folder: Path, articles: int) -> Sequence[Variant]:
    site: Site = make_site(folder / "site", articles + 10, articles)
    site.build()
    command = (sys.executable, "-m", "pelican_resourcesync", "check", str(site.output))
    return [Variant("documents", command), Variant("resources too", (*command, "--deep"))]


def _check_list(folder: Path, count: int) -> Sequence[Variant]:
    """Check a Source of so many resources, beside reading its Resource List and validating it."""
    publication.first(str(folder), str(count))
    (folder / "sitemap.xsd").write_text(_SCHEMA, "utf-8")
    files = "output/resourcesync/site/resourcelist.xml"
    if count > MOST_ENTRIES:
        files = "output/resourcesync/site/resourcelist"
    validate = ("xmllint", "--stream", "--noout", "--schema", "sitemap.xsd")
    return [
        Variant("bare iterparse", (*_PROGRAMS, "read_bare", files)),
        Variant("iterparse with a schema", (*_PROGRAMS, "read_bare", files, "sitemap.xsd")),
        Variant("check", (sys.executable, "-m", "pelican_resourcesync", "check", "output")),
        *_program(*validate, *map(str, sorted(folder.glob(f"{files}-*")) or [folder / files])),
    ]


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


_WRITER = (
    Goal("ours, entries made too", "bare formatted writes", 2.5),
    Goal("ours, from rows", "bare formatted writes", 2.0),
    Goal("ours, entries made too", "resync", 1 / 12),
    Goal("ours, entries made too", "resync, times as text", 1 / 12),
)
_READER = Goal("ours", "bare iterparse", 3.0), Goal("ours", "resync", 1 / 6)
_CHECK = (Goal("check", "bare iterparse", 2.5),)
_DIRECTORY = (
    Goal("ours, a whole publication", "bare scan, hash and write", 1.3),
    Goal("ours, a whole publication", "resync-build", 0.5),
)
_BUILD = (
    Goal("first build", "Pelican alone", 1.15, 0.25),
    Goal("next build, no change", "Pelican alone", 1.05, 0.25),
    Goal("build that publishes nothing", "Pelican alone", 1.0, 0.1),
)
_DUMP = (Goal("ours, with a dump", "zipfile", 1 / 0.8, less="ours, without a dump"),)
_MADE, _FOLLOWING = "making the resources", "next publication, with that"
_SCHEMA = """\
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" elementFormDefault="qualified">
<xs:element name="urlset"><xs:complexType><xs:sequence>
<xs:any namespace="##other" processContents="skip" minOccurs="0" maxOccurs="unbounded"/>
<xs:element name="url" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:sequence>
<xs:element name="loc"><xs:simpleType><xs:restriction base="xs:anyURI"><xs:minLength value="12"/>
<xs:maxLength value="2048"/></xs:restriction></xs:simpleType></xs:element>
<xs:element name="lastmod" type="xs:dateTime" minOccurs="0"/>
<xs:any namespace="##other" processContents="skip" minOccurs="0" maxOccurs="unbounded"/>
</xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>
"""
_NEXT = "Publishing 100 changes among"


def _next(name: str, title: str, count: int, lists: int, *, large: bool = False, dumps: bool = False) -> Case:
    goals = [] if dumps else [Goal(_FOLLOWING, _MADE, 1.0, 15e-6 * count)]
    prepare = partial(_following, count=count, lists=lists, dumps=dumps)
    return Case(name, f"{_NEXT} {title}", prepare, goals, count, large)


def _site(name: str, articles: int, commits: int, *, large: bool = False) -> Case:
    title = f"Building a site of {articles:,} articles and {commits:,} commits"
    return Case(name, title, partial(_build, articles=articles, commits=commits), _BUILD, large=large)


_EVERY = (
    Case("writer", "Writing a Resource List of 50,000 entries", partial(_writer, count=50_000), _WRITER, 50_000),
    Case("reader", "Reading a Resource List of 50,000 entries", partial(_reader, count=50_000), _READER, 50_000),
    Case("check", "Checking a Source of 50,000 resources", partial(_check_list, count=50_000), _CHECK, 50_000),
    _site("build-20", 20, 40),
    _site("build", 500, 1_000),
    _next("next", "10,000 resources", 10_000, 10),
    _next("next-history", "10,000 resources, after 1,000 Change Lists", 10_000, 1_000),
    _next("next-dumps", "10,000 resources, with dumps", 10_000, 10, dumps=True),
    Case("directory", "Publishing a folder of 20,000 small files", partial(_directory, files=20_000), _DIRECTORY),
    Case("dump", "Packing 10,000 small files", partial(_dump, files=10_000), _DUMP, 10_000),
    Case("check-site", "Checking a site of 500 articles", partial(_check, articles=500)),
    Case("backfill", "Building 10 commits of a site of 8 articles", partial(_backfill, articles=8, commits=10)),
    _next("next-100000", "100,000 resources", 100_000, 10, large=True),
    _next("next-million", "1,000,000 resources", 1_000_000, 10, large=True),
    Case(
        "writer-million",
        "Writing a Resource List of 1,000,000 entries",
        partial(_writer, count=1_000_000),
        _WRITER,
        1_000_000,
        large=True,
    ),
    Case(
        "reader-million",
        "Reading a Resource List of 1,000,000 entries",
        partial(_reader, count=1_000_000),
        _READER,
        1_000_000,
        large=True,
    ),
    Case(
        "check-million",
        "Checking a Source of 1,000,000 resources",
        partial(_check_list, count=1_000_000),
        _CHECK,
        1_000_000,
        large=True,
    ),
    _site("build-10-commits", 500, 10, large=True),
    _site("build-10000-commits", 500, 10_000, large=True),
    _site("build-2000", 2_000, 2_500, large=True),
    _site("build-2000-history", 2_000, 10_000, large=True),
    _site("build-10000", 10_000, 10_500, large=True),
)

#: By name.
CASES: Mapping[str, Case] = MappingProxyType({case.name: case for case in _EVERY})

#: Other benchmarks, which need servers and print their own tables.
PROGRAMS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "bridge": (sys.executable, "-m", "tests.bridge.benchmark"),
        "mirror": (sys.executable, "-m", "tests.destination.benchmark"),
    }
)
