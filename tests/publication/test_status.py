"""Status: what it says of the publications in a folder is what lies there, and at a URL the same, without packages."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication import Amount, ChangeHistory, SetStatus, Status, local_status, remote_status
from pelican_resourcesync.publication import status as status_module
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.live import Live, content, files, live, no_dot_folders, status
from tests.kit.publications import SITEURL, UPDATED, Source, change, tree, utc

HISTORY = (
    change("2024-01-05T12:00", "a"),
    change("2024-02-05T12:00", "b"),
    change("2024-02-06T12:00", "a", UPDATED),
)
DUMPS = Dumps(resourcedump=True, changedump=True)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a source that was published with a history."""
    source = Source(tmp_path / "output")
    built = utc("2024-03-01T12:00")
    history = ChangeHistory(built=built, changes=HISTORY, commit="c1", landed=HISTORY[-1].time)
    source.publish({"a": b"a", "b": b"b"}, history)
    return source


@pytest.fixture
def packed(tmp_path: Path) -> Source:
    """Return a source that was published three times, with dumps of which one is archived."""
    source = Source(tmp_path / "output")
    for time, data in (("2024-01-05T12:00", b"a"), ("2024-02-05T12:00", b"b"), ("2024-02-06T12:00", b"c")):
        source.publish({"a": data}, time, dumps=DUMPS, archives=Archives(resourcedump=1))
    return source


def looked(folder: Path) -> Status:
    """Look at a publication that is there."""
    seen = local_status(folder)
    assert seen
    return seen


def alone(status: Status) -> SetStatus:
    """Return the one set that there is."""
    [found] = status.sets
    return found


def test_a_folder_is_told_as_it_is(source: Source) -> None:
    """State, sets, resources and ranges; nothing is written."""
    before = tree(source.output)
    status = looked(source.output)
    seen, state = alone(status), source.state()
    assert (status.siteurl, status.capability_lists) == (SITEURL, (f"{SITEURL}/resourcesync/site/capabilitylist.xml",))
    assert (seen.name, seen.siteurl, seen.generation, seen.restart_number) == ("site", SITEURL, state["generation"], 1)
    overview = seen.overview
    assert (seen.commit, seen.landed, overview.at) == ("c1", HISTORY[-1].time, source.at())
    assert (overview.total.number, overview.changes) == (2, 3)
    assert overview.archives[Capability.CHANGELIST_ARCHIVE].number == 1
    assert [(f"{SITEURL}/{each.path}", each.changes) for each in overview.ranges] == [
        (item.uri, len(each.entries)) for item, each in source.change_lists()
    ]
    assert [(each.start, each.until) for each in overview.ranges] == [
        (utc("2024-01-01"), utc("2024-02-01")),
        (utc("2024-02-01"), None),
    ]
    assert tree(source.output) == before


def test_packages_are_counted(packed: Source) -> None:
    """Those of the Resource Dump, of the archived one, and of the Change Dumps; superseded ones are not listed."""
    names = (
        "resourcedump-20240206T120000Z-00001",
        "resourcedump-20240105T120000Z-00001",  # archived with the range that ended in January
        "changedump-20240205T120000Z",
        "changedump-20240206T120000Z",
    )
    sizes = [len(packed.documents()[f"resourcesync/site/{name}.zip"]) for name in names]
    seen = alone(looked(packed.output))
    assert seen.packages == Amount(number=4, size=sum(sizes))
    assert (seen.overview.dump, seen.overview.change_dump) == (Amount(1, sizes[0]), Amount(2, sum(sizes[2:])))
    assert {each.removesuffix("-archive"): found.number for each, found in seen.overview.archives.items()} == {
        "resourcedump": 1,
        "changelist": 1,
    }


def test_sets_are_told_each(source: Source) -> None:
    """Each with what is its own, the site's first, then by name."""
    papers = Source(source.output, set_name="papers")
    papers.publish({"p": b"12345"}, "2024-03-01T12:00")
    Source(source.output, set_name="letters").publish({"l": b"1"}, "2024-03-02T12:00")
    seen = looked(source.output)
    assert [each.name for each in seen.sets] == ["site", "letters", "papers"]
    assert [each.overview.total for each in seen.sets] == [Amount(2, 2), Amount(1, 1), Amount(1, 5)]
    assert [each.commit for each in seen.sets] == ["c1", None, None]
    assert seen.capability_lists == tuple(
        f"{SITEURL}/resourcesync/{name}/capabilitylist.xml" for name in ("letters", "papers", "site")
    )
    (source.output / "resourcesync/publication.json").unlink()
    assert [each.name for each in looked(source.output).sets] == ["letters", "papers"]
    source.write("resourcesync/papers/resourcelist.xml", b"another")
    with pytest.raises(PublicationError, match=r"damaged \(resourcesync/papers/resourcelist\.xml"):
        local_status(source.output)


def test_a_source_description_that_cannot_be_read(source: Source) -> None:
    """It names none that are known."""
    source.write("resourcesync/description.xml", b"<html>")
    assert looked(source.output).capability_lists is None
    (source.output / "resourcesync/description.xml").unlink()
    seen = looked(source.output)
    assert (seen.capability_lists, seen.well_known.right) == (None, None)


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


def test_a_state_that_cannot_be_read_is_one_sentence(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs this may have fewer rights than whoever published."""

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PublicationError, match="Permission denied"):
        local_status(source.output)


def test_a_time_to_come_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a wrong clock has published is seen from outside."""
    source = Source(tmp_path / "output")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({"a": b"a"}, "2024-03-01T12:00")
    assert not looked(source.output).sets[0].ahead
    source.publish({"a": b"b"}, "2999-03-01T12:00")
    status = looked(source.output)
    assert status.sets[0].ahead


# --- at a URL --------------------------------------------------------------------


def visited(site: Live, into: Path, path: str = "") -> Status:
    """Look at publications that are live."""
    seen = remote_status(site.url + path, into)
    assert seen
    return seen


def test_a_url_is_told_as_the_folder_that_it_serves(packed: Source, tmp_path: Path) -> None:
    """The same values, but for the well-known URI, which was asked."""
    with live(files(packed.output)) as site:
        seen = visited(site, tmp_path / "into")
        assert not [path for path in site.asked() if path.endswith(".zip")]
    assert seen.well_known.uri == f"{site.url}/.well-known/resourcesync"
    assert seen.well_known.right is True
    there = looked(packed.output)
    assert seen.sets == there.sets
    assert seen.sets[0].packages.number == 4
    assert (seen.capability_lists, seen.siteurl) == (there.capability_lists, there.siteurl)


def test_all_sets_that_are_named_are_told(packed: Source, tmp_path: Path) -> None:
    """At any address of the site's copy, and also those started over; a set of another host is none of them."""
    Source(packed.output, set_name="papers").publish({"p": b"p"}, "2024-03-01T12:00")
    letters = Source(packed.output, set_name="letters")
    letters.publish({"l": b"l"}, "2024-03-01T12:00")
    before = letters.previous()
    assert before
    letters.publish({"l": b"l"}, "2024-03-02T12:00", None, restarted_from=before)
    file = packed.output / "resourcesync/description.xml"
    with live(files(packed.output)) as site:
        seen = visited(site, tmp_path / "one")
        assert [(each.name, each.restart_number) for each in seen.sets] == [("site", 1), ("letters", 2), ("papers", 1)]
        assert seen.capability_lists == looked(packed.output).capability_lists
        assert seen.capability_lists
        assert f"{SITEURL}/resourcesync/letters/2/capabilitylist.xml" in seen.capability_lists
        file.write_bytes(
            file.read_bytes().replace(f"{SITEURL}/resourcesync/papers".encode(), b"http://x/resourcesync/papers")
        )
        assert [each.name for each in visited(site, tmp_path / "two").sets] == ["site", "letters"]
        site.asked()
        site.manners["resourcesync/publication.json"] = status(404)
        assert [each.name for each in visited(site, tmp_path / "three").sets] == ["letters"]
        site.manners["resourcesync/letters/2/resourcelist.xml"] = content(b"another")
        with pytest.raises(PublicationError, match="damaged"):
            remote_status(site.url, tmp_path / "four")


def test_names_of_sets_are_hostile(packed: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no plain name of a folder is not asked for, and no more sets than there can be."""
    assert status_module._MOST == 1_000
    monkeypatch.setattr(status_module, "_MOST", 50)
    names = ["..", "a%2F..%2F..%2Fb", "c%5Cd", "%00", "e%0A", ".", "f?g", *map(str, range(100))]
    urls = "".join(f"<url><loc>{SITEURL}/resourcesync/{name}/capabilitylist.xml</loc></url>" for name in names)
    file = packed.output / "resourcesync/description.xml"
    text = file.read_text()
    file.write_text(re.sub(r"<url>.*</url>", urls, text, flags=re.DOTALL))
    with live(files(packed.output)) as site:
        assert [each.name for each in visited(site, tmp_path / "one").sets] == ["site"]
        asked = {path for path in site.asked() if path.endswith("/publication.json")}
    assert len(asked) == 51
    assert all(re.fullmatch(r"resourcesync/(\d+/)?publication\.json", path) for path in asked)


def test_a_host_may_drop_what_no_state_lists(packed: Source, tmp_path: Path) -> None:
    """Dot-folders, or all that sets share: what cannot be had is not known."""
    with live(no_dot_folders(files(packed.output))) as site:
        assert visited(site, tmp_path / "one").well_known.right is False
        site.manners[".well-known/resourcesync"] = content(b"another")
        assert visited(site, tmp_path / "two").well_known.right is False
        site.manners[".well-known/resourcesync"] = status(500)
        assert visited(site, tmp_path / "three").well_known.right is None
        site.manners["resourcesync/description.xml"] = status(404)
        site.manners[".well-known/resourcesync"] = content(b"another")
        seen = visited(site, tmp_path / "four")
        assert (seen.capability_lists, seen.well_known.right) == (None, None)


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
