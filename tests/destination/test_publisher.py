"""Our own Sources in the moments that are hard to follow: moved, forgotten, begun anew, rolled back, in two sets."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import IncompleteError, Mirror, MirrorError, Result
from repo_bridge.publisher import publish
from tests.bridge.support.press import UI, Press
from tests.bridge.support.samples import every_case
from tests.destination.sources import FAST, files_of
from tests.support.live import files as served_files
from tests.support.live import hosts, live
from tests.support.reader import parse_file
from tests.support.servers import public_files, served
from tests.support.sites import Site, strip

TEXTS = ("one", "two", "three", "four", "five", "six")


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """Publish a site of six articles at an address on loopback."""
    strip(site)
    for number, text in enumerate(TEXTS, 1):
        site.article(f"{text}.md", text.capitalize())
        site.commit(f"2024-01-0{number}T12:00:00Z")
    with served(site.output) as address:
        site.configure(SITEURL=address)
        site.build()
        yield address


def edit(site: Site, month: int, name: str = "one.md") -> None:
    """Change an article, and publish that."""
    site.article(name, name.removesuffix(".md").capitalize(), f"The text of month {month}.")
    site.commit(f"2024-{month:02}-01T12:00:00Z")
    site.build()


def followed(address: str, copy: Path, site: Site, **options: object) -> Result:
    """Follow, and compare the copy with the output byte for byte."""
    mirror = Mirror(address, copy, replace(FAST, **options))  # type: ignore[arg-type]
    result = mirror.run()
    assert result.complete, result.missing
    assert files_of(copy) == public_files(site.output)
    assert mirror.audit() == []
    return result


def test_site_that_is_forgotten_in_part(
    site: Site, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the owner takes down goes from the copy too, and all else stays without being fetched again."""
    assert followed(address, tmp_path / "copy", site).fetched == 6
    monkeypatch.chdir(site.folder)
    assert main(["forget", f"{address}/two.html"]) == 0
    (site.output / "two.html").unlink()
    result = followed(address, tmp_path / "copy", site)
    assert (result.fetched, result.deleted) == (0, 1)
    site.remove("content/two.md")
    edit(site, 3)
    result = followed(address, tmp_path / "copy", site)
    assert (result.fetched, result.deleted) == (5, 0)  # every page links to the new Capability List


def test_site_that_begins_anew(site: Site, address: str, tmp_path: Path) -> None:
    """Change Lists that know nothing of the copy's past lead to the Resource List; only what differs is fetched."""
    followed(address, tmp_path / "copy", site)
    edit(site, 2)
    followed(address, tmp_path / "copy", site)
    site.remove("content/two.md")
    site.configure(RESOURCESYNC={"previous": "none"})
    edit(site, 3)
    result = followed(address, tmp_path / "copy", site)
    assert (result.fetched, result.deleted) == (5, 1)  # every page links to the new Capability List
    site.configure(RESOURCESYNC={})
    edit(site, 4, "three.md")
    result = followed(address, tmp_path / "copy", site)
    assert (result.fetched, result.deleted, result.plan.notes) == (1, 0, [])


def test_site_that_is_rolled_back(site: Site, address: str, tmp_path: Path) -> None:
    """An older publication may be a stale cache: nothing is done until the user says so; then it is followed."""
    copy, kept = tmp_path / "copy", tmp_path / "kept"
    edit(site, 2)
    shutil.copytree(site.output, kept)
    edit(site, 3, "three.md")
    followed(address, copy, site)
    before = files_of(copy)
    shutil.rmtree(site.output)
    shutil.copytree(kept, site.output)
    with pytest.raises(IncompleteError, match="older than the copy"):
        Mirror(address, copy, FAST).run()
    assert files_of(copy) == before
    assert followed(address, copy, site, accept_older=True).fetched == 1
    edit(site, 4, "four.md")
    followed(address, copy, site)


def test_site_that_moved(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --adopt the copy becomes one of the new address, and keeps the files that are the same there."""
    old, new = "http://old.test", "http://new.test"
    strip(site)
    for text in TEXTS:
        site.article(f"{text}.md", text.capitalize())
    site.write("content/extra/data.csv", "a,b")
    site.commit("2024-01-05T12:00:00Z")
    site.configure(SITEURL=old, STATIC_PATHS=["extra"])
    site.build()
    copy, before = tmp_path / "copy", tmp_path / "before"
    with live(lambda ask: None, proxy=True) as web:
        monkeypatch.setenv("http_proxy", web.url)
        shutil.copytree(site.output, before)
        web.manner = hosts({old: served_files(before), new: served_files(site.output)})
        assert followed(old, copy, site, proxies=True).fetched == 7
        site.configure(SITEURL=new, RESOURCESYNC={"moved_from": old})
        edit(site, 2)
        names = files_of(copy).keys()
        result = Mirror(old, copy, replace(FAST, proxies=True)).run()  # the old host has not changed
        assert (result.fetched, result.deleted, files_of(copy).keys()) == (0, 0, names)
        with pytest.raises(MirrorError, match="add --adopt if the Source has moved there"):
            Mirror(new, copy, replace(FAST, proxies=True)).run()
        result = followed(new, copy, site, proxies=True, adopt=True)
        assert (result.fetched, result.adopted) == (6, 1)
        edit(site, 3, "two.md")
        assert followed(new, copy, site, proxies=True).fetched == 1


def test_repository_beside_a_site(site: Site, address: str, tmp_path: Path) -> None:
    """Of both sets together, from the folder and by URL; files on a host that may not be asked are counted."""
    press = Press(tmp_path / "press")
    settings = press.settings(out=site.output, base_url=address, database=press.lay(every_case()))
    publish(settings, press.heard)
    home = site.output / "resourcesync/repository"
    listed = [each.uri for each in parse_file(home / "resourcelist.xml").entries]
    elsewhere = [uri for uri in listed if uri.startswith(UI)]
    records = {
        file.relative_to(site.output).as_posix().replace("~", "~~7e"): file.read_bytes()
        for file in (home / "records").rglob("*")
        if file.is_file()
    }
    assert elsewhere
    assert records
    expected = public_files(site.output) | records
    for where in (address, str(site.output)):
        copy = tmp_path / f"copy of {where == address}"
        result = Mirror(where, copy, FAST).run()
        assert (result.complete, result.left, result.plan.foreign) == (False, 0, len(elsewhere))
        assert files_of(copy) == expected
        only = Mirror(where, tmp_path / f"records of {where == address}", replace(FAST, sets=("repository",)))
        assert only.run().resources == len(records)
