"""The predecessor: what is known of two copies, and what is fetched (what is continued from where: test_places)."""

import json
import shutil
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import (
    STATE,
    Layout,
    Predecessor,
    PredecessorSearch,
    is_published,
    predecessor_messages,
)
from pelican_resourcesync.publication.previous import search
from tests.kit.live import Ask, closed_port, files, hosts, live, status
from tests.kit.museum import MUSEUM, digest
from tests.kit.publications import Source

LIVE_FOLDER = Path(".resourcesync", "live")

OTHER = "0" * 64


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return a folder of a site, and beside it what is public there."""
    Source(tmp_path / "public", siteurl=MUSEUM).publish({"a.html": b"a"}, "2024-01-05T12:00")
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def find(base: Path, monkeypatch: pytest.MonkeyPatch, previous: str = "live") -> tuple[Predecessor, int | None]:
    """Find the predecessor, and give the generation that is carried forward."""
    with live(hosts({MUSEUM: files(base.parent / "public")}), proxy=True) as host:
        monkeypatch.setenv("http_proxy", host.url)
        monkeypatch.delenv("no_proxy", raising=False)
        search = PredecessorSearch(Layout(MUSEUM), base / "output", base, previous=previous)
        try:
            found = search.find()
        finally:
            search.close()
    return found, found.previous.state.generation if found.previous else None


def pretend(folder: Path, **values: object) -> None:
    """Let the publication in a folder say something else of itself."""
    state = json.loads((folder / STATE).read_bytes())
    (folder / STATE).write_text(json.dumps({**state, **values}))


def keep(base: Path) -> Path:
    """Keep what is public as what was last seen live."""
    shutil.copytree(base.parent / "public", base / LIVE_FOLDER)
    return base / LIVE_FOLDER


@pytest.mark.parametrize(("ahead", "counts"), [(101, True), (100, False), (1, False)])
def test_so_far_ahead_that_nobody_can_tell(
    base: Path, monkeypatch: pytest.MonkeyPatch, ahead: int, *, counts: bool
) -> None:
    """A state remembers a hundred before it: what is live counts as the successor of one from before that."""
    keep(base)
    pretend(base.parent / "public", generation=1 + ahead, predecessor=OTHER, ancestors=[OTHER] * 99)
    if not counts:
        with pytest.raises(PublicationError, match="do not descend from each other"):
            find(base, monkeypatch)
        return
    found, generation = find(base, monkeypatch)
    line = (
        "the live publication is 101 generations ahead of the saved copy, too many to compare them: it counts as its "
        "successor"
    )
    assert (found.line, generation) == (line, 102)
    assert digest(base / LIVE_FOLDER / STATE) == digest(base.parent / "public" / STATE)


def test_what_is_kept_is_far_ahead(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way about nobody can tell either, and what was seen would be lost: that stops the build."""
    pretend(keep(base), generation=300, predecessor=OTHER, ancestors=[OTHER] * 99)
    with pytest.raises(PublicationError, match="remove that folder to continue the live one"):
        find(base, monkeypatch)


def test_nothing_is_left_of_the_search(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was fetched goes with the search; what it found in memory stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(base.parent / "tmp"))
    (base.parent / "tmp").mkdir()
    found, generation = find(base, monkeypatch)
    assert generation == 1
    assert found.previous
    assert not found.previous.folder.exists()
    assert not any((base.parent / "tmp").iterdir())


@pytest.mark.parametrize("previous", ["output", "output/../output", "../site/output", "link"])
def test_output_that_nobody_cleans_is_read_where_it_lies(
    base: Path, monkeypatch: pytest.MonkeyPatch, previous: str
) -> None:
    """By the word or by any of its names; where it is empty, that is the first publication, of which nobody wonders."""
    (base / "output").mkdir()
    (base / "link").symlink_to("output")
    assert find(base, monkeypatch, previous=previous) == (Predecessor(), None)
    shutil.copytree(base.parent / "public", base / "output", dirs_exist_ok=True)
    found, generation = find(base, monkeypatch, previous=previous)
    assert (found.line, generation) == ("", 1)
    assert found.previous
    assert found.previous.folder == base / "output"


def test_what_was_saved_is_not_fetched_again(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search fetches each document once and saves it; the next asks for the state alone."""
    with live(hosts({MUSEUM: files(base.parent / "public")}), proxy=True) as host:
        monkeypatch.setenv("http_proxy", host.url)
        monkeypatch.delenv("no_proxy", raising=False)
        asked = []
        for _ in "12":
            with closing(PredecessorSearch(Layout(MUSEUM), base / "output", base, previous="live")) as it:
                it.find()
            asked.append(host.asked())
    documents = json.loads((base.parent / "public" / STATE).read_bytes())["documents"]
    assert asked == [dict.fromkeys([STATE, *documents], 1), {STATE: 1}]


class EarlierClock(datetime):
    """A clock of a minute ago."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "EarlierClock":
        """Return the time of a minute ago."""
        return super().now(tz) - timedelta(minutes=1)


def started_over(base: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Start over, and return the number in the new addresses."""
    found = find(base, monkeypatch, previous="none")[0]
    number = found.layout(Layout(MUSEUM)).restart_number
    assert f"starts over in resourcesync/site/{number}/: " in found.line
    return number


@pytest.mark.promise("Continued")
def test_started_over_again(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At other addresses each time, and never at those of before, by whatever clock they were named."""
    with monkeypatch.context() as earlier:
        earlier.setattr(search, "datetime", EarlierClock)
        started = started_over(base, monkeypatch)
    earliest = int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
    again = started_over(base, monkeypatch)  # what was started is not known here
    assert started < earliest <= again <= int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
    pretend(base.parent / "public", restart_number=29991231235959)
    assert started_over(base, monkeypatch) == 29991231235960


@pytest.mark.parametrize("previous", ["none", "live"])
def test_this_machine_is_not_asked(base: Path, previous: str) -> None:
    """Whatever answers at an address of this machine is not what was published there: only the output is looked at."""
    with live(files(base.parent / "public")) as host:
        Source(base / "output", siteurl=host.url).publish({"a.html": b"a"}, "2024-01-05T12:00")
        search = PredecessorSearch(Layout(host.url), base / "output", base, previous=previous)
        with closing(search):
            found = search.find()
        assert found.known
        assert found.known.generation == 1
        assert bool(found.previous) == (previous == "live")
        assert not host.asks


def test_messages_about_several_sets() -> None:
    """What is the same for all is said once; otherwise each set has its line, unless nobody may wonder."""
    same, other, none = Predecessor(line="nothing was public"), Predecessor(line="it starts over"), Predecessor()
    assert [*predecessor_messages({"site": same, "papers": same})] == ["nothing was public"]
    assert [*predecessor_messages({"site": same, "papers": none})] == ["site: nothing was public"]
    assert [*predecessor_messages({"site": same, "papers": none, "pictures": other})] == [
        "site: nothing was public",
        "pictures: it starts over",
    ]


@pytest.mark.parametrize(
    ("body", "media_type", "there"),
    [
        (b"{}", "application/json", True),
        (b" {}", "text/html", True),  # some hosts know one media type
        (b"<html>", "text/html", False),  # a page for any path
        (b"damaged", "application/json", True),
    ],
)
def test_whether_a_set_is_live(body: bytes, media_type: str, there: bool) -> None:
    """Whatever is at its address counts, unless it is the page that the host has for any path, or nothing."""

    def answer(ask: Ask) -> None:
        ask.send(200, body, Content_Type=media_type)

    with live(answer) as host:
        assert is_published(Layout(host.url)) == there
    with live(status(404)) as host:
        assert not is_published(Layout(host.url))
    assert not is_published(Layout(f"http://127.0.0.1:{closed_port()}"))
