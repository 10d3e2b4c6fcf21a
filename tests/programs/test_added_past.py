"""A site that was first published in a shallow clone: the first build that knows its past adds it.

What followers see of it is in `tests/publication/comparison/test_past.py`.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from pelican_resourcesync.delivery.announce import PublishedSite
from pelican_resourcesync.destination import Mirror
from tests.kit.live import live, static
from tests.kit.sites import Site, our_command, run, strip, warnings
from tests.kit.sources import FAST, files_of, following


def clone_of(site: Site, folder: Path, *options: str) -> Site:
    """Clone a site, as hosts do for each build."""
    clone = Site(folder, dict(site.settings))
    site.git("clone", "-q", *options, site.folder.as_uri(), str(folder))
    clone.git("config", "user.name", "A writer")
    clone.git("config", "user.email", "writer@example.org")
    return clone


def lists_of(public: Path) -> dict[str, bytes]:
    """Return the Change Lists of a publication."""
    return {file.name: file.read_bytes() for file in (public / "resourcesync" / "site").glob("changelist-2*.xml")}


@dataclass
class Host:
    """Where a site is public; each publication is built in a new clone, and continues what is public."""

    site: Site
    folder: Path
    address: str
    options: dict[str, object]
    count: int = 0

    @property
    def public(self) -> Path:
        """What is served."""
        return self.folder / "public"

    def publish(self, *depth: str) -> None:
        """Publish the head of the site from a clone of it."""
        self.count += 1
        clone = clone_of(self.site, self.folder / f"clone-{self.count}", *depth)
        previous = self.address if self.public.exists() else "output"
        clone.build(SITEURL=self.address, RESOURCESYNC={**self.options, "allow_deletions": True, "previous": previous})
        shutil.rmtree(self.public, ignore_errors=True)
        shutil.copytree(clone.output, self.public)


@pytest.fixture(scope="module")
def first_origin(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a site with a past of four commits, in which an article came and went."""
    site = strip(Site.create(tmp_path_factory.mktemp("origin") / "site"))
    site.article("a.md", "A")
    site.article("gone.md", "Gone")
    site.commit("2024-01-10T10:00:00Z")
    site.article("b.md", "B")
    site.remove("content/gone.md")
    site.commit("2024-02-10T10:00:00Z")
    site.article("a.md", "A", "Other words.", at="2024-02-20T10:00:00Z")
    site.article("c.md", "C", at="2024-03-10T10:00:00Z")
    return site


@pytest.fixture(scope="module")
def first_shallow(first_origin: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a clone of its last commit alone, from which it was first published."""
    clone = clone_of(first_origin, tmp_path_factory.mktemp("shallow") / "clone", "--depth", "1")
    status, said = run(clone)
    assert status == 0
    (warning,) = warnings(said)
    assert "no changes from before this publication are listed" in warning
    return clone


@pytest.fixture
def origin(first_origin: Site, tmp_path: Path) -> Site:
    """Return a copy of that site."""
    return first_origin.copied(tmp_path / "site")


@pytest.fixture
def shallow(first_shallow: Site, origin: Site, tmp_path: Path) -> Site:
    """Return a copy of that clone, as if it was one of the copied site."""
    clone = first_shallow.copied(tmp_path / "clone")
    clone.git("remote", "set-url", "origin", origin.folder.as_uri())
    return clone


PAST = [
    ("2024-01-10T10:00:00Z", "created", "/a.html"),
    ("2024-01-10T10:00:00Z", "created", "/gone.html"),
    ("2024-02-10T10:00:00Z", "created", "/b.html"),
    ("2024-02-10T10:00:00Z", "deleted", "/gone.html"),
    ("2024-02-20T10:00:00Z", "updated", "/a.html"),
    ("2024-03-10T09:59:59Z", "created", "/c.html"),
]
NEW = ("2024-04-01T10:00:00Z", "updated", "/b.html")
ADDED = "added 6 changes from 2024-01-10 to 2024-03-10, before the first publication."


def edit(site: Site, number: int = 1) -> None:
    """Commit the change that is `NEW`, or another of a later month."""
    site.article("b.md", "B", f"Words of edit {number}.", at=f"2024-0{3 + number}-01T10:00:00Z")


def said_of_past(said: str) -> list[str]:
    """Return the lines that say something of the time before the first publication."""
    lines = (" ".join(line.split()).partition("ResourceSync: ")[2] for line in said.splitlines())
    return [line for line in lines if "first publication" in line and "since the last" not in line]


def first_of(site: Site) -> object:
    """Return what `publication.json` says of the first publication."""
    return json.loads((site.output / "resourcesync/publication.json").read_bytes()).get("first")


def test_the_first_build_with_the_whole_history_adds_it(shallow: Site) -> None:
    """Builds of shallow clones go on without a word; the past is added once, and said in one line."""
    commit = shallow.git("rev-parse", "HEAD")
    assert first_of(shallow) == {"commit": commit, "past": False}
    edit(shallow)
    status, said = run(shallow)
    assert (status, warnings(said), said_of_past(said), shallow.changes()) == (0, [], [], [NEW])
    shallow.git("fetch", "-q", "--unshallow")
    status, said = run(shallow)
    assert (status, warnings(said), said_of_past(said)) == (0, [], [ADDED])
    assert shallow.changes() == [*PAST, NEW]
    assert shallow.resources() == {
        "/a.html": "2024-02-20T10:00:00Z",
        "/b.html": "2024-04-01T10:00:00Z",
        "/c.html": "2024-03-10T09:59:59Z",
    }
    assert first_of(shallow) == {"commit": commit, "past": True}
    assert PublishedSite(str(shallow.output)).changed() == {}  # for search engines
    documents = files_of(shallow.output / "resourcesync")
    status, said = run(shallow)
    assert (said_of_past(said), files_of(shallow.output / "resourcesync")) == ([], documents)


def test_what_was_renamed_or_removed_since(shallow: Site) -> None:
    """What the first publication listed has its past, also if its source is elsewhere now, or is no more."""
    shallow.git("mv", "content/a.md", "content/moved.md")
    shallow.article("moved.md", "A", "Other words.", Slug="a", save_as="a.html", URL="a.html")
    shallow.remove("content/c.md")
    shallow.article("d.md", "D")
    shallow.commit("2024-04-01T10:00:00Z")
    shallow.git("fetch", "-q", "--unshallow")
    status, said = run(shallow, "-e", 'RESOURCESYNC={"allow_deletions": true, "previous": "output"}')
    assert (status, said_of_past(said)) == (0, [ADDED])
    new = [("2024-04-01T10:00:00Z", "created", "/d.html"), ("2024-04-01T10:00:00Z", "deleted", "/c.html")]
    assert sorted(shallow.changes()) == sorted([*PAST, *new])


def test_a_commit_that_vanished(shallow: Site, origin: Site) -> None:
    """After a rewritten history one line says that there is no past, and the setting `history` silences it."""
    origin.git("commit", "-q", "--amend", "-m", "Rewritten", GIT_COMMITTER_DATE="2024-03-10T10:00:00Z")
    shallow.git("fetch", "-q", "--unshallow")
    shallow.git("fetch", "-q", "--force", "origin", "main")
    shallow.git("reset", "-q", "--hard", "FETCH_HEAD")
    edit(shallow)
    status, said = run(shallow)
    (line,) = said_of_past(said)
    assert (status, warnings(said)) == (0, [])
    assert "is not in the history of this branch, so changes from before it cannot be listed" in line
    assert shallow.changes() == [NEW]
    shallow.configure(RESOURCESYNC={"history": "none"})
    status, said = run(shallow)
    assert said_of_past(said) == []


def test_what_was_forgotten_does_not_come_back(shallow: Site) -> None:
    """After a takedown no past is added: it would name the resource again."""
    our_command(shallow.folder, "forget", "https://example.org/b.html")
    shallow.remove("content/b.md", at="2024-04-01T10:00:00Z")
    shallow.git("fetch", "-q", "--unshallow")
    status, said = run(shallow)
    assert (status, said_of_past(said)) == (0, [])
    documents = files_of(shallow.output / "resourcesync")
    assert [path for path, data in documents.items() if b"b.html" in data] == []
    assert first_of(shallow) is None


def test_who_follows_asks_for_none_of_it(origin: Site, tmp_path: Path) -> None:
    """A mirror and a program without a copy that are in step know by the index that it is nothing for them."""
    with live(static(tmp_path / "host/public")) as web:
        host = Host(origin, tmp_path / "host", web.url, {})
        cursor, asked, came = None, set(), []
        for number, depth in enumerate((("--depth", "1"), ("--depth", "1"), (), ("--depth", "1"))):
            if number in (1, 3):
                edit(origin, number)
            host.publish(*depth)
            web.asked()  # by the build, for what is public
            assert Mirror(web.url, tmp_path / "copy", FAST).run().complete
            changes = following(web.url, cursor, FAST)
            came.append(len([*changes]))
            cursor = changes.cursor
            asked |= {path.rpartition("/")[2] for path in web.asked()}
        assert came == [3, 1, 0, 1]
        lists = {
            "changelist-20240101T000000Z.xml",
            "changelist-20240201T000000Z.xml",
            "changelist-20240301T000000Z.xml",
            "changelist-20240310T100000Z.xml",
            "changelist-20240401T000000Z.xml",
            "changelist-20240601T000000Z.xml",
        }
        assert lists_of(host.public).keys() == lists
        assert {each for each in asked if "changelist-2" in each} == {*sorted(lists)[3:]}


def test_sets_have_their_own_past(origin: Site, tmp_path: Path) -> None:
    """Each set gets the past of what it first listed, and of removed sources that belong to it."""
    sets = {"most": {"paths": ["?.html"]}, "gone": {"paths": ["g*.html", "c.html"]}}
    option = ("-e", f"RESOURCESYNC={json.dumps({'sets': sets, 'previous': 'output'})}")
    clone = clone_of(origin, tmp_path / "clone", "--depth", "1")
    run(clone, *option)
    clone.git("fetch", "-q", "--unshallow")
    _status, said = run(clone, *option)
    assert said_of_past(said) == [
        "most: added 4 changes from 2024-01-10 to 2024-03-10, before the first publication.",
        "gone: added 3 changes from 2024-01-10 to 2024-03-10, before the first publication.",
    ]
