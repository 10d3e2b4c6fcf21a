"""Status: what it says of a publication is what lies there, in a folder or at a URL."""

from dataclasses import asdict
from pathlib import Path

import pytest

from pelican_resourcesync.errors import NoHostError, PublicationError, TransportError
from pelican_resourcesync.publication.publish import Told
from pelican_resourcesync.publication.status import Status, look, visit
from tests.live import Live, closed_port, content, files, live, no_dot_folders, page, redirect, status
from tests.publication.support import SITEURL, UPDATED, Source, change, tree, utc

HISTORY = (
    change("2024-01-05T12:00", "a"),
    change("2024-02-05T12:00", "b"),
    change("2024-02-06T12:00", "a", UPDATED),
)


def told() -> Told:
    """Tell a history of two months."""
    return Told(built=utc("2024-03-01T12:00"), changes=HISTORY, commit="c1", landed=HISTORY[-1].time)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Give a source that was published with a history."""
    source = Source(tmp_path / "output")
    source.publish({"a": b"a", "b": b"b"}, told())
    return source


def looked(folder: Path) -> Status:
    """Look at a publication that is there."""
    seen = look(folder)
    assert seen
    return seen


def visited(site: Live, into: Path, path: str = "") -> Status:
    """Look at a publication that is live."""
    seen = visit(site.url + path, into)
    assert seen
    return seen


def test_a_folder_is_told_as_it_is(source: Source) -> None:
    """State, sets, resources, ranges and sizes; nothing is written."""
    before = tree(source.output)
    seen = looked(source.output)
    state = source.state()
    assert (seen.siteurl, seen.generation, seen.start) == (SITEURL, state["generation"], 1)
    assert (seen.commit, seen.landed, seen.at) == ("c1", HISTORY[-1].time, source.at())
    assert seen.sets == (f"{SITEURL}/resourcesync/site/capabilitylist.xml",)
    assert (seen.resources, seen.changes) == (2, 3)
    assert [(each.uri, each.changes) for each in seen.ranges] == [
        (item.loc, len(each.items)) for item, each in source.change_lists()
    ]
    assert [(each.start, each.until) for each in seen.ranges] == [
        (utc("2024-01-01"), utc("2024-02-01")),
        (utc("2024-02-01"), None),
    ]
    assert tree(source.output) == before


def test_sizes_are_of_all_documents(source: Source) -> None:
    """Each file but the copy of the Source Description is of one kind."""
    seen = looked(source.output)
    documents = source.documents()
    assert seen.total_size == sum(map(len, documents.values())) - len(documents[".well-known/resourcesync"])
    assert seen.sizes["resourcelist"] == len(documents["resourcesync/site/resourcelist.xml"])
    assert seen.sizes["changelist"] == sum(
        len(data) for path, data in documents.items() if "/changelist" in path and "archive" not in path
    )
    kinds = {"capabilitylist", "changelist", "changelist-archive", "description", "page for people"}
    assert seen.sizes.keys() == {*kinds, "publication.json", "resourcelist"}
    source.publish({"a": b"a", "b": b"b"}, told(), keep=1)
    source.publish({"a": b"new", "b": b"b"}, "2024-03-05T12:00", keep=1)
    superseded = source.state()["superseded"]
    assert looked(source.output).sizes["superseded"] == sum(len(source.documents()[path]) for path in superseded)


def test_neighbours_are_sets_too(source: Source) -> None:
    """The Source Description names them; one that cannot be read names none that are known."""
    Source(source.output, set_name="papers").publish({"p": b"p"}, "2024-03-01T12:00")
    assert looked(source.output).sets == (
        f"{SITEURL}/resourcesync/papers/capabilitylist.xml",
        f"{SITEURL}/resourcesync/site/capabilitylist.xml",
    )
    source.write("resourcesync/description.xml", b"<html>")
    assert looked(source.output).sets is None
    (source.output / "resourcesync/description.xml").unlink()
    seen = looked(source.output)
    assert (seen.sets, seen.well_known.right) == (None, None)


def test_the_well_known_copy_is_compared(source: Source) -> None:
    """It is to be there, with the bytes of the Source Description."""
    assert looked(source.output).well_known.right is True
    file = source.write(".well-known/resourcesync", b"another")
    assert looked(source.output).well_known.right is False
    file.unlink()
    assert looked(source.output).well_known.right is False


def test_a_site_in_a_path_has_no_say_over_its_host(tmp_path: Path) -> None:
    """What the folder holds is not what the host answers."""
    source = Source(tmp_path / "output", siteurl=f"{SITEURL}/project")
    source.publish({"a": b"a"}, "2024-03-01T12:00")
    well_known = looked(source.output).well_known
    assert asdict(well_known) == {"uri": f"{SITEURL}/.well-known/resourcesync", "in_site": False, "right": None}


def test_there_may_be_none_or_a_damaged_one(source: Source, tmp_path: Path) -> None:
    """None is none; what is no longer what it was is one sentence."""
    assert look(tmp_path / "elsewhere") is None
    source.write("resourcesync/site/resourcelist.xml", b"another")
    with pytest.raises(PublicationError, match="is damaged"):
        look(source.output)
    source.write("resourcesync/publication.json", b"{}")
    with pytest.raises(PublicationError, match="is damaged"):
        look(source.output)


def test_a_state_that_cannot_be_read_is_one_sentence(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs this may have fewer rights than whoever published."""

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PublicationError, match="Permission denied"):
        look(source.output)


def test_a_url_is_told_as_the_folder_that_it_serves(source: Source, tmp_path: Path) -> None:
    """The same values, but for the well-known URI, which was asked."""
    with live(files(source.output)) as site:
        seen = visited(site, tmp_path / "into")
    assert asdict(seen) == {
        **asdict(looked(source.output)),
        "well_known": {"uri": f"{site.url}/.well-known/resourcesync", "in_site": True, "right": True},
    }


def test_a_host_may_drop_what_no_state_vouches_for(source: Source, tmp_path: Path) -> None:
    """Dot-folders, or all that sets share: what cannot be had is not known."""
    with live(no_dot_folders(files(source.output))) as site:
        assert visited(site, tmp_path / "one").well_known.right is False
        site.manners[".well-known/resourcesync"] = content(b"another")
        assert visited(site, tmp_path / "two").well_known.right is False
        site.manners[".well-known/resourcesync"] = status(500)
        assert visited(site, tmp_path / "three").well_known.right is None
        site.manners["resourcesync/description.xml"] = status(404)
        site.manners[".well-known/resourcesync"] = content(b"another")
        seen = visited(site, tmp_path / "four")
        assert (seen.sets, seen.well_known.right) == (None, None)
        assert "description" not in seen.sizes


def test_the_host_of_a_site_in_a_path_is_asked(tmp_path: Path) -> None:
    """It may answer with the Source Description of a site in it, as its owner likes."""
    source = Source(tmp_path / "output", siteurl=f"{SITEURL}/project")
    source.publish({"a": b"a"}, "2024-03-01T12:00")
    (tmp_path / "www").mkdir()
    source.output.rename(tmp_path / "www" / "project")
    with live(files(tmp_path / "www")) as site:
        seen = visited(site, tmp_path / "one", "/project/").well_known
        assert asdict(seen) == {"uri": f"{site.url}/.well-known/resourcesync", "in_site": False, "right": False}
        description = (tmp_path / "www/project/resourcesync/description.xml").read_bytes()
        site.manners[".well-known/resourcesync"] = content(description)
        assert visited(site, tmp_path / "two", "/project").well_known.right is True


def test_a_url_without_a_publication(source: Source, tmp_path: Path) -> None:
    """Absent, damaged, or not to be known: three things."""
    with live(page) as site:
        assert visit(site.url, tmp_path / "into") is None
        site.manner = files(source.output)
        site.manners["resourcesync/site/resourcelist.xml"] = content(b"another")
        with pytest.raises(PublicationError, match="damaged"):
            visit(site.url, tmp_path / "into")
        site.manners["resourcesync/publication.json"] = content(b"{}", Content_Type="application/json")
        with pytest.raises(PublicationError, match="damaged"):
            visit(site.url, tmp_path / "into")
        site.manners["resourcesync/publication.json"] = redirect("https://other.example/")
        with pytest.raises(TransportError, match="redirected elsewhere"):
            visit(site.url, tmp_path / "into")
    with pytest.raises(TransportError):
        visit(f"http://127.0.0.1:{closed_port()}", tmp_path / "into")
    with pytest.raises(NoHostError, match="no host of that name"):
        visit("http://nobody.invalid", tmp_path / "into")
    with pytest.raises(TransportError, match="no address to read from"):
        visit("ftp://example.org", tmp_path / "into")
