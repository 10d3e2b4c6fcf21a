"""A site that was first published in a shallow clone: the first build that knows its past adds it, for all followers.

The Change Lists must then be those of whole clones that published the same commits from the first one on.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.cli import main
from pelican_resourcesync.delivery.announce import PublishedSite
from pelican_resourcesync.destination import Following, Mirror
from pelican_resourcesync.protocol import parse_datetime, render_datetime
from tests.kit.examples import examples
from tests.kit.live import live, served, static
from tests.kit.reader import parse_file
from tests.kit.resync_client import Mirror as Client
from tests.kit.sites import Site, our_command, public_files, run, strip, warnings
from tests.kit.sources import FAST, files_of
from tests.programs.test_sample_site import Published
from tests.programs.test_ten_publications import lists_after

LIST = "resourcesync/site/resourcelist.xml"
MILLISECOND = timedelta(milliseconds=1)


class Edit(NamedTuple):
    """An edit of an article, which is removed if there is no text."""

    name: str
    text: str


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


def entries_of(change_list: bytes) -> bytes:
    """Return the entries of a Change List, as they are written."""
    return change_list[change_list.index(b"  <url>") :].removesuffix(b"</urlset>\n")


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

    def changes(self) -> list[tuple[str, str, str]]:
        """Return what is listed as changed."""
        published = Published(self.public, self.address)
        published.check()
        published.check_ranges()
        entries = [each for one in published.lists for each in one.entries]
        return [(str(each.lastmod), each.md["change"], each.uri.removeprefix(self.address)) for each in entries]


@dataclass
class Followers:
    """All who began with one publication: a mirror, a program without a copy, and the client `resync`."""

    host: Host
    folder: Path
    held: dict[str, bytes] = field(default_factory=dict)
    cursor: str = ""
    at: str = ""

    def go_on(self, *, in_step: bool = False) -> None:
        """Follow, with nothing twice; `in_step`: there is nothing new at all."""
        address, expected = self.host.address, public_files(self.host.public)
        result = Mirror(address, self.folder / "mirror", FAST).run()
        assert (result.complete, result.plan.notes) == (True, [])
        assert not in_step or (result.fetched, result.deleted) == (0, 0)
        assert files_of(self.folder / "mirror") == expected
        changes = Following(address, self.cursor, FAST)
        for change in changes:
            path = change.uri.removeprefix(f"{address}/")
            data = change.content.read() if change.content else None
            assert not in_step
            assert change.kind != "reset"
            assert data != self.held.pop(path, None), f"{change.kind} {path} comes twice"
            self.held |= {path: data} if data is not None else {}
        assert changes.notes == []
        assert self.held == expected
        self.cursor = changes.cursor
        client = Client(self.folder, address)
        if self.at and (self.host.public / "resourcesync/site/changelist.xml").exists():
            # The client remembers no time of a list without times, and takes what is at the time that it is given.
            since = ("--from", render_datetime(parse_datetime(self.at) + MILLISECOND))
            for uri in lists_after(self.host.public, self.at):
                client.run("--incremental", "--delete", *since, "--changelist-uri", uri)
        elif not self.at:
            client.run("--baseline")
        assert client.files() == expected
        self.at = parse_file(self.host.public / LIST).md["at"]


@dataclass
class Story:
    """A site that is published from shallow clones, those who follow it, and a `control` of whole clones."""

    folder: Path
    site: Site
    control: Host
    host: Host
    followers: list[Followers] = field(default_factory=list)
    time: datetime = datetime(2024, 1, 30, 10, tzinfo=UTC)

    def commit(self, edits: Sequence[Edit]) -> None:
        """Commit edits, thirty hours after the last ones."""
        self.time += timedelta(hours=30)
        for each in edits:
            if each.text:
                self.site.article(f"{each.name}.md", each.name.upper(), each.text)
            else:
                (self.site.folder / "content" / f"{each.name}.md").unlink(missing_ok=True)
        self.site.commit(self.time.isoformat())

    def publish(self, *depth: str) -> None:
        """Publish; all who follow go on, and others begin."""
        self.control.publish()
        self.host.publish(*depth)
        self.go_on()
        (self.folder / str(self.host.count)).mkdir()
        self.followers.append(Followers(self.host, self.folder / str(self.host.count)))
        self.followers[-1].go_on()

    def go_on(self, *, in_step: bool = False) -> None:
        """Let all who follow go on."""
        for each in self.followers:
            each.go_on(in_step=in_step)

    def add_past(self, edits: Sequence[Edit] | None) -> None:
        """Publish from a whole clone, with edits or without; the Change Lists of before stay, or grow at their end."""
        before = lists_of(self.host.public)
        if edits is None:
            self.host.publish()
            self.go_on(in_step=True)
        else:
            self.commit(edits)
            self.publish()
        now = lists_of(self.host.public)
        for name, data in before.items():
            assert now[name] == data or (b" until=" not in data and entries_of(now[name]).startswith(entries_of(data)))


@contextmanager
def told(options: dict[str, object]) -> Iterator[Story]:
    """Begin a story."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        site = strip(Site.create(folder / "site"))
        site.article("home.md", "Home")
        control, host = (
            Host(site, folder / name, stack.enter_context(served(folder / name / "public")), options)
            for name in ("whole", "shallow")
        )
        yield Story(folder, site, control, host)


_edits = st.builds(Edit, st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "One.", "Two."]))
_commits = st.lists(_edits, max_size=3)
_ways = st.fixed_dictionaries(
    {"changes_by": st.sampled_from(["day", "month", 2]), "dumps": st.booleans(), "archives": st.booleans()}
)


@pytest.mark.promise("Append-only")
@pytest.mark.promise("Never back-dated")
@examples(4, 400)
@given(
    before=st.lists(_commits, max_size=3),
    shallow=st.lists(_commits, min_size=1, max_size=4),
    added=_commits | st.none(),
    after=st.lists(_commits, max_size=2),
    options=_ways,
)
def test_every_follower_stays_in_step(
    before: list[list[Edit]],
    shallow: list[list[Edit]],
    added: list[Edit] | None,
    after: list[list[Edit]],
    options: dict[str, object],
) -> None:
    """Nobody misses a change or gets one twice when the past is added, whenever they began; then all adds up."""
    with told(options) as story:
        for edits in before:
            story.commit(edits)
        first = story.time + timedelta(hours=30)
        last = first - timedelta(seconds=1)
        for edits in shallow:
            story.commit(edits)
            story.publish("--depth", "1")
        story.add_past(added)
        for edits in after:
            story.commit(edits)
            story.publish("--depth", "1")
        expected = [
            (at if parse_datetime(at) > first else render_datetime(min(parse_datetime(at), last)), *rest)
            for at, *rest in story.control.changes()
        ]
        assert sorted(story.host.changes()) == sorted(expected)
        assert main(["check", "--deep", story.host.address]) == 0
        documents = files_of(story.host.public / "resourcesync")
        story.host.publish()
        assert files_of(story.host.public / "resourcesync") == documents


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
    assert PublishedSite(str(shallow.output)).changed()[0] == {}  # for search engines
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


def test_a_clock_that_was_wrong(origin: Site, tmp_path: Path) -> None:
    """Where commits are dated after the first publication, all of them come before it, in their order."""
    origin.git("checkout", "-q", "HEAD~1")
    origin.article("c.md", "C")
    origin.commit("2024-02-15T10:00:00Z")  # after one that is dated five days later
    clone = clone_of(origin, tmp_path / "clone", "--depth", "1")
    clone.build()
    clone.git("fetch", "-q", "--unshallow")
    clone.build()
    assert clone.changes() == [
        *PAST[:4],
        ("2024-02-15T09:59:58Z", "updated", "/a.html"),
        ("2024-02-15T09:59:59Z", "created", "/c.html"),
    ]


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


def test_history_none_needs_no_depth(origin: Site, tmp_path: Path) -> None:
    """A first publication that lists no past on purpose is the same in every clone."""
    origin.configure(RESOURCESYNC={"history": "none"})
    origin.commit("2024-03-11T10:00:00Z")
    published = []
    for depth in ((), ("--depth", "1")):
        clone = clone_of(origin, tmp_path / f"clone{depth[1:]}", *depth)
        status, said = run(clone, SOURCE_DATE_EPOCH="1717243200")
        assert (status, warnings(said)) == (0, [])
        published.append(files_of(clone.output))
    assert published[0] == published[1]


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


def test_only_as_many_lists_as_are_kept(shallow: Site) -> None:
    """The setting `keep` holds for added lists, too; where lists were dropped since, there would be a gap."""
    edit(shallow)
    shallow.build()
    shallow.git("fetch", "-q", "--unshallow")
    _status, said = run(shallow, "-e", 'RESOURCESYNC={"keep": 1, "previous": "output"}')
    assert said_of_past(said) == ["added 1 change from 2024-03-10 to 2024-03-10, before the first publication."]
    assert shallow.changes() == [PAST[-1], NEW]


def test_no_past_behind_a_gap(shallow: Site) -> None:
    """Where Change Lists were dropped after the first publication, the past before it stays unknown."""
    for month in (4, 5, 6):
        shallow.article("b.md", "B", f"Month {month}.", at=f"2024-0{month}-01T10:00:00Z")
        shallow.build(RESOURCESYNC={"keep": 1})
    assert first_of(shallow) is None
    shallow.git("fetch", "-q", "--unshallow")
    status, said = run(shallow)
    assert (status, said_of_past(said)) == (0, [])
    assert [time for time, _, _ in shallow.changes()] == ["2024-05-01T10:00:00Z", "2024-06-01T10:00:00Z"]


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
            changes = Following(web.url, cursor, FAST)
            came.append(len([*changes]))
            cursor = changes.cursor
            asked |= {path.rpartition("/")[2] for path in web.asked()}
        assert came == [3, 1, 0, 1]
        lists = {
            "changelist-20240101T000000Z.xml",
            "changelist-20240201T000000Z.xml",
            "changelist-20240301T000000Z.xml",
            "changelist-20240310T100000Z.xml",
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
