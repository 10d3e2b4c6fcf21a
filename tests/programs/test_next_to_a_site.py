"""A repository published next to a site: each publisher keeps what the other wrote, whoever runs first."""

from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from pelican_resourcesync.cli import main as check
from repo_bridge.cli import main
from tests.kit.museum import Tree, tree
from tests.kit.reader import XmlEntry, parse
from tests.kit.repository.living import DAYS, FIRST, begin, live
from tests.kit.sites import Site, strip

SITEURL = "https://example.org"
RECORDS = f"{SITEURL}/resourcesync/repository/records/"
OURS, THEIRS = "resourcesync/site", "resourcesync/repository"

#: What both publish again each time: where a Destination begins, and the page for people.
SHARED = ("resourcesync/description.xml", "resourcesync/index.html", ".well-known/resourcesync")


class Pair:
    """A site, and a repository that is published into its output."""

    def __init__(self, site: Site) -> None:
        """Begin both; nothing is published yet."""
        self.site = strip(site)
        self.folder = site.folder.parent / "bridge"
        self.folder.mkdir()
        begin(self.folder / "dspace.db")
        self._days, self._at = iter(DAYS), FIRST
        self._months = iter(f"2024-{month:02}-01T10:00:00Z" for month in range(1, 13))

    def build(self, **settings: object) -> None:
        """Write an article, and build the site."""
        time = next(self._months)
        self.site.article(f"{time[:7]}.md", time)
        self.site.article("first.md", "The first", f"Mended on {time}")
        self.site.configure(**settings)
        self.site.commit(time)
        self.site.build()

    def bridge(self, *options: str) -> None:
        """Publish the repository; from the second time on another day is lived before."""
        arguments = ["--database", "dspace.db", "--out", str(self.site.output), "--base-url", SITEURL]
        arguments += ["--ui-url", "https://repository.example", "--previous", "output", "--timezone", "Europe/Berlin"]
        said = StringIO()
        with chdir(self.folder), redirect_stdout(said), redirect_stderr(said):
            done = main(["publish", *arguments, "--at", f"{self._at:%Y-%m-%dT%H:%M:%SZ}", *options])
        assert done == 0, said.getvalue()
        day = next(self._days)
        live(self.folder / "dspace.db", day.edits(7))
        self._at = day.at

    def listed(self, name: str) -> Sequence[XmlEntry]:
        """Return what the Resource List of a set has."""
        return parse((self.site.output / f"resourcesync/{name}/resourcelist.xml").read_bytes()).entries

    def changes(self, name: str) -> list[tuple[str, str]]:
        """Return the kind and the URI of all changes of a set."""
        index = parse((self.site.output / f"resourcesync/{name}/changelist.xml").read_bytes())
        files = [self.site.output / pointer.uri.removeprefix(f"{SITEURL}/") for pointer in index.entries]
        return [(each.md["change"], each.uri) for file in files for each in parse(file.read_bytes()).entries]

    def sets(self) -> list[str]:
        """Return the sets that the Source Description names, in both places."""
        copies = [parse((self.site.output / path).read_bytes()) for path in (SHARED[0], SHARED[2])]
        assert copies[0] == copies[1]
        return [each.uri.removeprefix(f"{SITEURL}/resourcesync/") for each in copies[0].entries]


BOTH = ["repository/capabilitylist.xml", "site/capabilitylist.xml"]


@pytest.fixture
def pair(site: Site) -> Pair:
    """Return a site of no page yet, and the living repository."""
    return Pair(site)


def without(found: Tree, *folders: str) -> Tree:
    """Leave out folders, and what both publish again."""
    return {
        path: file
        for path, file in found.items()
        if path not in SHARED and not any(path.startswith(f"{folder}/") for folder in folders)
    }


@pytest.mark.promise("Beside a site")
def test_repository_keeps_the_site(pair: Pair) -> None:
    """Every file of it and of its set, with its time; also where the repository has more sets, or loses one."""
    pair.build(RESOURCESYNC={"dumps": True, "archives": True})
    there = without(tree(pair.site.output), THEIRS)
    for options, more in {
        (): [],
        ("--sets-by", "collection"): ["repository-123456789_col1", "repository-123456789_col2"],
        ("--dumps",): ["repository-metadata"],
    }.items():
        pair.bridge(*options)
        others = [f"resourcesync/{name}" for name in more]
        assert {f"{name}/capabilitylist.xml" for name in more} <= {*pair.sets()}
        assert {*BOTH} <= {*pair.sets()}
        assert without(tree(pair.site.output), THEIRS, *others) == there


@pytest.mark.promise("Beside a site")
def test_both_go_on(pair: Pair) -> None:
    """In turn, each lists what changed since its own last publication, and keeps the other's; all is right."""
    for number in range(4):
        there = tree(pair.site.output / THEIRS) if number else {}
        pair.build(RESOURCESYNC={"dumps": True, "archives": True}, DELETE_OUTPUT_DIRECTORY=True)
        assert tree(pair.site.output / THEIRS) == there
        assert len(pair.listed("site")) == number + 2, "no record is a resource of the site"
        pair.bridge("--archives")
    assert pair.sets() == BOTH
    assert pair.changes("site").count(("updated", f"{SITEURL}/the-first.html")) == 3
    expected = [change for day in DAYS[:3] for change in day.expected(7)]
    assert {each.kind for each in expected} == {"created", "updated", "deleted"}
    records = sorted((each.kind, each.what) for each in expected if isinstance(each.what, str))
    prefix = f"{RECORDS}oai_dc/123456789/"
    found = [(kind, uri) for kind, uri in pair.changes("repository") if uri.startswith(RECORDS)]
    assert sorted(found) == [(kind, f"{prefix}{what}.xml") for kind, what in records]
    assert len(pair.changes("repository")) == len(expected)
    assert check(["check", "--deep", "--strict", str(pair.site.output)]) == 0
