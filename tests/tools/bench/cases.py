"""The cases that are measured. The first variant of each is the least that its work can cost."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pelican_resourcesync.protocol import MOST_ENTRIES
from tests.kit.sites import Site
from tests.tools.bench import parts, publication
from tests.tools.bench.mirror import MIRRORS
from tests.tools.bench.runner import Case, Figure, Variant, run
from tests.tools.bench.sites import edit, make_site

_LOOP = "pelican in a loop"
_PROGRAMS = (sys.executable, "-m", "tests.tools.bench.programs")
_PUBLICATION = (sys.executable, "-m", "tests.tools.bench.publication")
_PARTS = (sys.executable, "-m", "tests.tools.bench.parts")
_ROWS = "making the rows"


def _writer(folder: Path, count: int) -> Sequence[Variant]:
    (folder / "resync").mkdir()
    return [
        Variant("bare formatted writes", (*_PROGRAMS, "write_bare", str(count), "bare.xml")),
        Variant("ours, from rows", (*_PROGRAMS, "write_rows", str(count), "rows.xml")),
        Variant("resync", (*_PROGRAMS, "write_resync", str(count), "resync/list.xml")),
        Variant("resync, times as text", (*_PROGRAMS, "write_resync", str(count), "resync/list.xml", "text")),
    ]


def _reader(folder: Path, count: int) -> Sequence[Variant]:
    run([*_PROGRAMS, "write_ours", str(count), "list.xml"], folder)
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
    return [Variant("documents", (*command, "--no-deep")), Variant("resources too", (*command, "--deep"))]


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
        Variant("check", (sys.executable, "-m", "pelican_resourcesync", "check", "--no-deep", "output")),
        *_program(*validate, *map(str, sorted(folder.glob(f"{files}-*")) or [folder / files])),
    ]


def _following(folder: Path, count: int, lists: int, dumps: bool = False) -> Sequence[Variant]:
    """Publish with 100 changes after a first publication; what the caller does to make the resources is shown too."""
    first, work, options = folder / "first", folder / "work", ["dumps"] if dumps else []
    if dumps:
        publication.write_files(first, count)
    run([*_PUBLICATION, "first", str(first), str(count), str(lists), *options], folder)

    def begin() -> None:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(first, work)
        if dumps:
            publication.write_files(work, min(count, publication.CHANGED), publication.CHANGED)

    return [
        Variant("making the resources", (*_PUBLICATION, "make", str(work), str(count), "100", *options)),
        Variant("next publication, with that", (*_PUBLICATION, "following", str(work), str(count), *options), begin),
    ]


def _parts(folder: Path, count: int) -> Sequence[Variant]:
    """Publish rows in files for the first time, and the next time: with few changes, known ones, and all changed."""
    output, first = folder / "output", folder / "first"
    parts.write_rows(folder, count)
    parts.publish(str(folder), "before", str(count))
    output.rename(first)

    def begin() -> None:
        shutil.rmtree(output, ignore_errors=True)

    def begin_again() -> None:
        begin()
        shutil.copytree(first, output)

    def variant(name: str, before: Callable[[], object], *arguments: str) -> Variant:
        return Variant(name, (*_PARTS, "publish", str(folder), arguments[0], str(count), *arguments[1:]), before)

    return [
        Variant(_ROWS, (*_PARTS, "make", str(folder), "next", str(count))),
        Variant("imports alone", (sys.executable, "-c", "import tests.tools.bench.parts")),
        variant("first", begin, "before"),
        variant("next", begin_again, "next"),
        variant("next, changes known", begin_again, "known"),
        variant("next, all changed", begin_again, "all"),
        variant("next, two processes", begin_again, "next", "2"),
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
        Variant(_LOOP, ("sh", "-e", "-c", loop), begin, site.folder),
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
_MADE, _FOLLOWING = "making the resources", "next publication, with that"


def _reading_and_writing(count: int, suffix: str = "", *, large: bool = False) -> Sequence[Case]:
    listed = f"a Resource List of {count:,} entries"
    writer = (
        Figure(f"Writing {listed} from rows, as publications do", "ours, from rows", _BARE_WRITES, 2.0),
        Figure(f"Writing {listed}, to the library resync", "ours, from rows", "resync", 0.2),
    )
    reader = (
        Figure(f"Reading {listed}, to lxml's bare `iterparse`", "ours", _BARE_READING, 3.0),
        Figure(f"Reading {listed}, to the library resync", "ours", "resync", 1 / 6),
    )
    checker = (Figure(f"`check` of {count:,} resources, to `iterparse` of {listed}", "check", _BARE_READING, 5.0),)
    return (
        Case(f"writer{suffix}", partial(_writer, count=count), writer, large),
        Case(f"reader{suffix}", partial(_reader, count=count), reader, large),
        Case(f"check{suffix}", partial(_check_list, count=count), checker, large),
    )


_BARE_WRITES, _BARE_READING = "bare formatted writes", "bare iterparse"


def _next(name: str, what: str, goal: float, lists: int = 10, *, dumps: bool = False) -> Case:
    count = 10_000
    sentence = f"Publishing 100 changes among 10,000 resources{what}, beyond making the resources, for each resource"
    figure = Figure(sentence, _FOLLOWING, _MADE, goal, each=count)
    return Case(name, partial(_following, count=count, lists=lists, dumps=dumps), (figure,))


def _rows(name: str, count: int, *, large: bool = False) -> Case:
    rows = f"{count:,} resources in 40 parts"
    figures = (
        Figure(f"First publication of {rows}, beyond making the rows, for each resource", "first", _ROWS, 6,
            each=count),
        Figure("Next publication of them, one in 1,000 changed", "next", _ROWS, 8, each=count),
        Figure("The same, the changes known and in 2 % of the parts", "next, changes known", "imports alone", 1,
            each=count),
        Figure("The same, every resource changed: 40 Change Lists", "next, all changed", _ROWS, 14, each=count),
        Figure("Next publication with two processes, to one, by the clock", "next, two processes", "next", 0.65,
            clock=True),
    )  # fmt: skip
    return Case(name, partial(_parts, count=count), figures, large)


def _site(name: str, articles: int, commits: int, goals: Sequence[float], *, large: bool = False) -> Case:
    site = f"a site of {articles:,} articles and {commits:,} commits, to Pelican alone"
    variants = ("first build", "next build, no change", "next build, one edit", "build that publishes nothing")
    figures = [
        Figure(f"{variant.capitalize()} of {site}", variant, "Pelican alone", goal)
        for variant, goal in zip(variants, goals, strict=True)
    ]
    return Case(name, partial(_build, articles=articles, commits=commits), figures, large=large)


_DIRECTORY = (
    Figure("Publishing a folder of 20,000 small files, to scanning, hashing and a line for each",
        "ours, a whole publication", "bare scan, hash and write", 1.15),
    Figure("The same, to the program resync-build", "ours, a whole publication", "resync-build", 0.7),
)  # fmt: skip
_DUMP = (
    Figure("Packing 10,000 small files into dumps, to `zipfile` alone", "ours, with a dump", "zipfile", 1.25,
        "ours, without a dump"),
)  # fmt: skip
_CHECK_SITE = (
    Figure("`check --deep` of a site of 500 articles, to `check` of its documents", "resources too", "documents", 5.0),
)
_BACKFILL = (
    Figure("`backfill` of 10 commits, to Pelican in a loop over work trees", "backfill, 1 job", _LOOP, 1.0),
    Figure("The same with two jobs", "backfill, 2 jobs", _LOOP, 1.0),
)

_ALL = (
    *_reading_and_writing(50_000),
    _site("build-20", 20, 40, (1.4, 1.4, 1.4, 1.1)),
    _site("build", 500, 1_000, (1.25, 1.12, 1.12, 1.02)),
    _rows("parts", 300_000),
    _next("next", "", 9.0),
    _next("next-history", ", after 1,000 Change Lists", 15.0, 1_000),
    _next("next-dumps", ", with dumps", 30.0, dumps=True),
    Case("directory", partial(_directory, files=20_000), _DIRECTORY),
    Case("dump", partial(_dump, files=10_000), _DUMP),
    Case("check-site", partial(_check, articles=500), _CHECK_SITE),
    Case("backfill", partial(_backfill, articles=8, commits=10), _BACKFILL),
    *MIRRORS,
    *_reading_and_writing(1_000_000, "-million", large=True),
    _rows("parts-2million", 2_000_000, large=True),
    _site("build-2000", 2_000, 2_500, (1.4, 1.2, 1.2, 1.02), large=True),
    _site("build-10000", 500, 10_000, (4.0, 1.4, 1.4, 1.02), large=True),
)

#: The sizes with which each case is only tried.
_TINY = {"count": 200, "articles": 2, "commits": 2, "files": 5, "lists": 2, "size": 32}


def tiny(case: Case) -> Case:
    """Return a case that does, once, what it takes to see that it runs."""
    prepare = cast("partial[Sequence[Variant]]", case.prepare)  # of its sizes
    sizes = {name: _TINY.get(name, value) for name, value in prepare.keywords.items()}
    return replace(case, prepare=partial(prepare.func, **sizes), large=True)


#: By name.
CASES: Mapping[str, Case] = MappingProxyType({case.name: case for case in _ALL})

#: Another benchmark, which needs a server and prints its own table.
PROGRAMS: Mapping[str, Sequence[str]] = MappingProxyType({"bridge": (sys.executable, "-m", "tests.tools.bench.bridge")})
