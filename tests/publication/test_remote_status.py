"""The status of the publications at a URL is what is there, without the packages."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import Status, local_status, remote_status
from pelican_resourcesync.publication import status as status_module
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.live import Live, content, files, live, no_dot_folders, status
from tests.kit.publications import SITEURL, Source

DUMPS = Dumps(resourcedump=True, changedump=True)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a source that was published three times."""
    source = Source(tmp_path / "output")
    for time, data in (("2024-01-05T12:00", b"a"), ("2024-02-05T12:00", b"b"), ("2024-02-06T12:00", b"c")):
        source.publish({"a": data}, time, dumps=DUMPS, archives=Archives(resourcedump=None))
    return source


def looked(folder: Path) -> Status:
    """Look at publications that are there."""
    seen = local_status(folder)
    assert seen
    return seen


def visited(site: Live, into: Path, path: str = "") -> Status:
    """Look at publications that are live."""
    seen = remote_status(site.url + path, into)
    assert seen
    return seen


def test_a_url_is_told_as_the_folder_that_it_serves(source: Source, tmp_path: Path) -> None:
    """The same values, but for the well-known URI, which was asked."""
    with live(files(source.output)) as site:
        seen = visited(site, tmp_path / "into")
        assert not [path for path in site.asked() if path.endswith(".zip")]
    assert seen.well_known.uri == f"{site.url}/.well-known/resourcesync"
    assert seen.well_known.right is True
    there = looked(source.output)
    assert seen.sets == there.sets
    assert seen.sets[0].packages.number == 4
    assert (seen.capability_lists, seen.siteurl) == (there.capability_lists, there.siteurl)


def test_all_sets_that_are_named_are_told(source: Source, tmp_path: Path) -> None:
    """At any address of the site's copy, and also those started over; a set of another host is none of them."""
    Source(source.output, set_name="papers").publish({"p": b"p"}, "2024-03-01T12:00")
    letters = Source(source.output, set_name="letters")
    letters.publish({"l": b"l"}, "2024-03-01T12:00")
    before = letters.previous()
    assert before
    letters.publish({"l": b"l"}, "2024-03-02T12:00", None, restarted_from=before)
    file = source.output / "resourcesync/description.xml"
    with live(files(source.output)) as site:
        seen = visited(site, tmp_path / "one")
        assert [(each.name, each.restart_number) for each in seen.sets] == [("site", 1), ("letters", 2), ("papers", 1)]
        assert seen.capability_lists == looked(source.output).capability_lists
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


def test_names_of_sets_are_hostile(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no plain name of a folder is not asked for, and no more sets than there can be."""
    assert status_module._MOST == 1_000
    monkeypatch.setattr(status_module, "_MOST", 50)
    names = ["..", "a%2F..%2F..%2Fb", "c%5Cd", "%00", "e%0A", ".", "f?g", *map(str, range(100))]
    urls = "".join(f"<url><loc>{SITEURL}/resourcesync/{name}/capabilitylist.xml</loc></url>" for name in names)
    file = source.output / "resourcesync/description.xml"
    text = file.read_text()
    file.write_text(re.sub(r"<url>.*</url>", urls, text, flags=re.DOTALL))
    with live(files(source.output)) as site:
        assert [each.name for each in visited(site, tmp_path / "one").sets] == ["site"]
        asked = {path for path in site.asked() if path.endswith("/publication.json")}
    assert len(asked) == 51
    assert all(re.fullmatch(r"resourcesync/(\d+/)?publication\.json", path) for path in asked)


def test_a_host_may_drop_what_no_state_lists(source: Source, tmp_path: Path) -> None:
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
