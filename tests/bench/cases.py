"""The cases that are measured. The first variant of each is the least that its work can cost."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tests.bench.programs import write_bare
from tests.bench.runner import Case, Variant
from tests.bench.sites import edit, make_site
from tests.support.sites import Site

_PROGRAMS = (sys.executable, "-m", "tests.bench.programs")


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


def _case(name: str, title: str, prepare: Callable[..., Sequence[Variant]], **inputs: int) -> Case:
    return Case(name, title, partial(prepare, **inputs))


#: By name. `bridge` and `mirror` join when they can be run as whole processes.
CASES: Mapping[str, Case] = MappingProxyType(
    {
        case.name: case
        for case in (
            _case("writer", "Writing a Resource List of 50,000 entries", _writer, count=50_000),
            _case("writer-million", "Writing a Resource List of 1,000,000 entries", _writer, count=1_000_000),
            _case("reader", "Reading a Resource List of 50,000 entries", _reader, count=50_000),
            _case("build-20", "Building a site of 20 articles", _build, articles=20, commits=40),
            _case("build", "Building a site of 500 articles", _build, articles=500, commits=1_000),
            _case("build-2000", "Building a site of 2,000 articles", _build, articles=2_000, commits=10_000),
            _case("check", "Checking a site of 500 articles", _check, articles=500),
        )
    }
)
