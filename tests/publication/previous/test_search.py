"""The predecessor: which of two copies counts, and the message where that is not known (real builds: test_live)."""

import json
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import (
    DESCRIPTION,
    STATE,
    Layout,
    Output,
    PlainOutput,
    Predecessor,
    PredecessorSearch,
    is_published,
    predecessor_messages,
)
from pelican_resourcesync.publishers.pelican.saved_documents import SavedDocuments
from tests.publication.support import Source
from tests.support.live import PAGE, Ask, closed_port, content, files, hosts, live, status
from tests.support.museum import ARCHIVE, MUSEUM, digest, is_now

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
        search = PredecessorSearch(Layout(MUSEUM), PlainOutput(base / "output"), base, previous=previous)
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
    line = "the live publication is 101 generations past the one last seen live: it counts as its successor"
    assert (found.line, generation) == (line, 102)
    assert digest(base / LIVE_FOLDER / STATE) == digest(base.parent / "public" / STATE)


def test_what_is_kept_is_far_ahead(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way about nobody can tell either, and what was seen would be lost: that stops the build."""
    pretend(keep(base), generation=300, predecessor=OTHER, ancestors=[OTHER] * 99)
    with pytest.raises(PublicationError, match="remove that folder to continue the live one"):
        find(base, monkeypatch)


def test_same_one(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is live is what was seen: nothing to say, and nothing to save again."""
    kept = (keep(base) / STATE).stat().st_ino
    assert find(base, monkeypatch)[0].line == ""
    assert (base / LIVE_FOLDER / STATE).stat().st_ino == kept


def test_nothing_is_live(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was last seen live is continued; without it, this is the first publication, if no document names it."""
    (base.parent / "public" / STATE).unlink()
    why = f"there is no publication at {MUSEUM}/{STATE}"
    named = "although the Source Description names resourcesync/site: upload the last output again"
    with pytest.raises(PublicationError, match=f"^{why}, {named}"):
        find(base, monkeypatch)
    (base.parent / "public" / DESCRIPTION).unlink()
    found, generation = find(base, monkeypatch)
    assumed = "this is the first publication, assuming that nothing was public here before"
    assert (found.line, generation) == (f"{why}: {assumed}", None)
    Source(base / LIVE_FOLDER, siteurl=MUSEUM).publish({"a.html": b"a"}, "2024-01-05T12:00")
    found, generation = find(base, monkeypatch)
    assert (found.line, generation) == (f"{why}: the copy last seen live is continued", 1)


@pytest.mark.promise("Continued")
def test_no_host_answers(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The publication in the output is continued; in CI, where the output may be an old one, nothing is."""
    layout = Layout("http://nowhere.invalid")
    Source(base / "output", siteurl=layout.siteurl).publish({"a.html": b"a"}, "2024-01-05T12:00")
    monkeypatch.delenv("CI", raising=False)
    with closing(PredecessorSearch(layout, PlainOutput(base / "output"), base, previous="live")) as search:
        found = search.find()
        assert found.line.endswith(": not live now, so the publication in the output is continued")
        assert found.previous
        assert found.previous.state.generation == 1
        monkeypatch.setenv("CI", "true")
        with pytest.raises(PublicationError):
            search.find()
        monkeypatch.delenv("CI")
        shutil.rmtree(base / "output")
        assert ": this is the first publication, assuming" in search.find().line
        Source(base / LIVE_FOLDER, siteurl=layout.siteurl).publish({"a.html": b"a"}, "2024-01-05T12:00")
        with pytest.raises(PublicationError):  # which may be older than what is live
            search.find()


def test_nothing_is_left_of_the_search(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was fetched goes with the search; what it found in memory stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(base.parent / "tmp"))
    (base.parent / "tmp").mkdir()
    found, generation = find(base, monkeypatch)
    assert generation == 1
    assert found.previous
    assert not found.previous.folder.exists()
    assert not any((base.parent / "tmp").iterdir())


def test_publication_of_this_machine_in_a_folder(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of localhost was nobody's, also where it is named: the first publication, in a line."""
    pretend(base.parent / "public", siteurl="http://localhost:8000")
    found, generation = find(base, monkeypatch, previous="../public")
    assert generation is None
    assert found.line.startswith("there is no publication of a public site in ")


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


def test_folder_that_is_named_must_be_there(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence is right for whoever has a setting of that name, in whatever file."""
    sentence = (
        f"`previous` is 'elsewhere', but there is no folder {base / 'elsewhere'}: correct it, or publish once "
        "with RESOURCESYNC_FIRST=1 in the environment, which starts over at new addresses"
    )
    with pytest.raises(PublicationError) as caught:
        find(base, monkeypatch, previous="elsewhere")
    assert str(caught.value) == sentence


def test_publication_that_is_named_must_be_there(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one at a URL is continued; where there is none, the message says what to do."""
    assert find(base, monkeypatch, previous=MUSEUM)[1] == 1
    (base.parent / "public" / STATE).unlink()
    with pytest.raises(PublicationError, match=f"^there is no publication at {MUSEUM}/{STATE}: correct the setting"):
        find(base, monkeypatch, previous=MUSEUM)


def test_where_the_site_was_before_is_looked_at(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It moved here, and nothing is public here yet."""
    Source(base.parent / "moved", siteurl=ARCHIVE).publish({"a.html": b"a"}, "2024-01-05T12:00")
    with live(hosts({MUSEUM: files(base), ARCHIVE: files(base.parent / "moved")}), proxy=True) as host:
        monkeypatch.setenv("http_proxy", host.url)
        monkeypatch.delenv("no_proxy", raising=False)
        search = PredecessorSearch(
            Layout(MUSEUM), PlainOutput(base / "output"), base, previous="live", moved_from=ARCHIVE
        )
        with closing(search):
            previous = search.find().previous
    assert previous
    assert previous.state.siteurl == ARCHIVE


def test_former_address_that_does_not_answer(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy last seen live is continued; without one it is not known what to continue."""
    monkeypatch.setenv("no_proxy", "nowhere.invalid")
    with live(hosts({MUSEUM: status(404)}), proxy=True) as host:
        monkeypatch.setenv("http_proxy", host.url)
        search = PredecessorSearch(
            Layout(MUSEUM), PlainOutput(base / "output"), base, previous="live", moved_from="http://nowhere.invalid"
        )
        with closing(search):
            with pytest.raises(PublicationError, match="nowhere"):
                search.find()
            Source(base / LIVE_FOLDER, siteurl=MUSEUM).publish({"a.html": b"a"}, "2024-01-05T12:00")
            assert search.find().line.endswith(": the copy last seen live is continued")


def test_starting_over(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The live publication is not continued, but known, so that no public address is used again."""
    found, generation = find(base, monkeypatch, previous="none")
    assert generation is None
    assert found.restarted_from
    assert found.restarted_from.digest == digest(base.parent / "public" / STATE)
    layout = found.layout(Layout(MUSEUM))
    assert is_now(layout.restart_number)
    assert (
        found.line
        == f"the publication starts over in {layout.folder}/: do not set RESOURCESYNC_FIRST again when it is public"
    )


def test_starting_over_where_every_path_has_a_page(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page instead of a state is none, and a state counts whatever its media type."""
    data = (base.parent / "public" / STATE).read_bytes()
    for state, generation in ((PAGE, 0), (data, 1)):
        with live(hosts({MUSEUM: content(state, Content_Type="text/html")}), proxy=True) as host:
            monkeypatch.setenv("http_proxy", host.url)
            monkeypatch.delenv("no_proxy", raising=False)
            search = PredecessorSearch(Layout(MUSEUM), PlainOutput(base / "output"), base, previous="none")
            with closing(search):
                found = search.find().restarted_from
            assert found
            assert found.state.generation == generation
            assert is_now(found.state.restart_number + 1)


@pytest.mark.parametrize("previous", ["none", "live"])
def test_this_machine_is_not_asked(base: Path, previous: str) -> None:
    """Whatever answers at an address of this machine is not what was published there: only the output is looked at."""
    with live(files(base.parent / "public")) as host:
        search = PredecessorSearch(Layout(host.url), PlainOutput(base / "output"), base, previous=previous)
        with closing(search):
            search.find()
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


def test_documents_are_there_or_are_not(tmp_path: Path) -> None:
    """What else lies in an output is none; as soon as there are any, they are found."""
    output = PlainOutput(tmp_path / "output")
    assert output.folder is None
    (tmp_path / "output").mkdir()
    (tmp_path / "output/index.html").write_text("a page")
    assert output.folder is None
    (tmp_path / "output/resourcesync").write_text("no folder")
    assert output.folder is None
    (tmp_path / "output/resourcesync").unlink()
    (tmp_path / "output/resourcesync").mkdir()
    assert output.folder == tmp_path / "output"


def test_what_pelican_cleans_looks_the_same(tmp_path: Path) -> None:
    """Of an output that is not to be cleaned the plug-in says what this says."""
    (tmp_path / "output/resourcesync").mkdir(parents=True)
    outputs: list[Output] = [SavedDocuments(tmp_path / "output"), PlainOutput(tmp_path / "output")]
    assert [each.folder for each in outputs] == [tmp_path / "output"] * 2
    assert [each.path for each in outputs] == [tmp_path / "output"] * 2


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
