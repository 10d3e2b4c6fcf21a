"""Who else writes into the output: other sets, which stay, and other builds, which wait their turn."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import dedent

import pytest

from pelican_resourcesync.cli import main as check
from repo_bridge.cli import main
from tests.kit.museum import Tree, tree
from tests.kit.reader import XmlEntry, parse
from tests.kit.repository.living import DAYS, FIRST, begin, live
from tests.kit.sites import Site, run, strip

OTHER = "resourcesync/other"
SITEMAP = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">'
    '<rs:md capability="{}"/>{}</urlset>'
)
CAPABILITY_LIST = SITEMAP.format("capabilitylist", "")
DESCRIPTION = SITEMAP.format(
    "description",
    f'<url><loc>https://example.org/{OTHER}/capabilitylist.xml</loc><rs:md capability="capabilitylist"/></url>',
)

#: Another publisher, as a plug-in that runs before ours is done.
PLUGIN = f"""
    from pathlib import Path
    from pelican import signals

    def publish(pelican):
        folder = Path(pelican.output_path, {OTHER!r})
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "capabilitylist.xml").write_text({CAPABILITY_LIST!r})

    def register():
        signals.finalized.connect(publish)
"""

#: Says that the build is under way, and waits until it may go on.
WAITER = """
    import time
    from pathlib import Path
    from pelican import signals

    def wait(generators):
        Path("begun").touch()
        while not Path("go on").exists():
            time.sleep(0.02)

    def register():
        signals.all_generators_finalized.connect(wait)
"""


@pytest.fixture
def bare(site: Site) -> Site:
    """Return a site of one article, and plug-ins to choose from."""
    strip(site)
    site.write("plugins/other.py", dedent(PLUGIN))
    site.write("plugins/waiter.py", dedent(WAITER))
    site.article("a.md", "A")
    site.commit("2024-01-01T10:00:00Z")
    return site


def sets(site: Site) -> list[str]:
    """Return the sets that the Source Description names."""
    copies = [
        (site.output / path).read_bytes() for path in ("resourcesync/description.xml", ".well-known/resourcesync")
    ]
    assert copies[0] == copies[1]
    return [entry.uri.removeprefix("https://example.org/resourcesync/") for entry in parse(copies[0]).entries]


BOTH = ["other/capabilitylist.xml", "site/capabilitylist.xml"]


def alone(site: Site) -> None:
    """Publish a set without a description."""
    site.write(f"output/{OTHER}/capabilitylist.xml", CAPABILITY_LIST)


def described(site: Site) -> None:
    """Publish a set with a description that knows no other set."""
    alone(site)
    site.write("output/resourcesync/description.xml", DESCRIPTION)
    site.write("output/.well-known/resourcesync", DESCRIPTION)


@pytest.mark.promise("Side by side")
@pytest.mark.parametrize(("other", "among"), [(alone, "content"), (described, ".")], ids=["alone", "among the sources"])
def test_set_of_another_stays(bare: Site, other: Callable[[Site], None], among: str) -> None:
    """Whether it came before ours or after, and though the output is cleaned: with its bytes and its name."""
    bare.configure(PATH=among, ARTICLE_PATHS=["content"] if among == "." else [""], PAGE_PATHS=[])
    other(bare)
    bare.write(f"output/{OTHER}/part/b.html", "<p>A file of theirs</p>")
    before = tree(bare.output / OTHER)
    for _ in range(2):
        bare.build(DELETE_OUTPUT_DIRECTORY=True)
        assert sets(bare) == BOTH
        assert tree(bare.output / OTHER) == before
        other(bare)  # again after ours: its description, too, may name itself alone
        before = tree(bare.output / OTHER)
    bare.build(DELETE_OUTPUT_DIRECTORY=True)
    assert sets(bare) == BOTH


@pytest.mark.promise("Side by side")
@pytest.mark.parametrize("among", ["content", "."], ids=["beside the sources", "among the sources"])
def test_set_of_another_plugin(bare: Site, among: str) -> None:
    """One that writes its documents while Pelican builds: theirs are the new ones, ours are carried forward."""
    bare.configure(
        PATH=among,
        ARTICLE_PATHS=["content"] if among == "." else [""],
        PAGE_PATHS=[],
        PLUGIN_PATHS=["plugins"],
        PLUGINS=["other", "pelican_resourcesync"],
    )
    bare.commit("2024-01-02T10:00:00Z")
    bare.write(f"output/{OTHER}/capabilitylist.xml", "old")
    bare.command()  # in a process of its own: plug-ins stay connected
    before = bare.changes()
    assert sets(bare) == BOTH
    bare.article("a.md", "A", "Other words.", at="2024-02-01T10:00:00Z")
    bare.command()
    assert sets(bare) == BOTH
    assert (bare.output / OTHER / "capabilitylist.xml").read_text() == CAPABILITY_LIST
    assert bare.changes() == [*before, ("2024-02-01T10:00:00Z", "updated", "/a.html")]


# --- other builds ------------------------------------------------------------


def wait_for(file: Path) -> None:
    """Wait until a file is there."""
    for _ in range(600):
        if file.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{file} did not come")


@pytest.mark.promise("Side by side")
def test_two_builds_at_once(bare: Site) -> None:
    """The second says who is building, and stops; what the first publishes is whole; then the second may."""
    bare.build()
    bare.article("b.md", "B", at="2024-02-01T10:00:00Z")
    command = [sys.executable, "-m", "pelican", "-e", 'PLUGINS=["waiter", "pelican_resourcesync"]']
    command.append('PLUGIN_PATHS=["plugins"]')
    with subprocess.Popen(command, cwd=bare.folder, stdout=subprocess.PIPE, encoding="utf-8") as first:
        wait_for(bare.folder / "begun")
        before = tree(bare.output)
        try:
            for arguments in ((), ("--extra-settings", 'SITEURL=""')):  # a draft would clean away what the first has
                status, said = run(bare, *arguments)
                *others, sentence = (line for line in said.splitlines() if line.strip())
                assert status == 1
                assert [each for each in others if "SITEURL is empty" not in each] == []
                assert (
                    f"process {first.pid} is publishing into {bare.output}: try again when it has finished" in sentence
                )
            assert tree(bare.output) == before
        finally:
            (bare.folder / "go on").touch()
        said, _ = first.communicate(timeout=60)
    assert first.returncode == 0
    assert "1 created (/b.html) since the last publication" in said
    assert run(bare)[0] == 0
    assert len(bare.changes()) == 2


# --- A repository published next to a site -------------------------------------


SITEURL = "https://example.org"
RECORDS = f"{SITEURL}/resourcesync/repository/records/"
THEIRS = "resourcesync/repository"

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


BOTH_SETS = ["repository/capabilitylist.xml", "site/capabilitylist.xml"]


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
        assert {*BOTH_SETS} <= {*pair.sets()}
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
    assert pair.sets() == BOTH_SETS
    assert pair.changes("site").count(("updated", f"{SITEURL}/the-first.html")) == 3
    expected = [change for day in DAYS[:3] for change in day.expected(7)]
    assert {each.kind for each in expected} == {"created", "updated", "deleted"}
    records = sorted((each.kind, each.what) for each in expected if isinstance(each.what, str))
    prefix = f"{RECORDS}oai_dc/123456789/"
    found = [(kind, uri) for kind, uri in pair.changes("repository") if uri.startswith(RECORDS)]
    assert sorted(found) == [(kind, f"{prefix}{what}.xml") for kind, what in records]
    assert len(pair.changes("repository")) == len(expected)
    assert check(["check", "--deep", "--strict", str(pair.site.output)]) == 0
