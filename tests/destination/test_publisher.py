"""Our own Sources in the moments that are hard to follow: moved, forgotten, begun anew, rolled back, in two sets."""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.destination.paths import path_of
from pelican_resourcesync.errors import IncompleteError
from pelican_resourcesync.http import origin
from pelican_resourcesync.publication import kind_of
from pelican_resourcesync.settings import VersionOptions
from repo_bridge.publisher import publish
from sample_site.dspace.repository import Value
from sample_site.repository import DAYS, make_repository, publish_repository
from tests.kit.live import closed_port, served
from tests.kit.reader import parse_file
from tests.kit.repository.press import UI, Press
from tests.kit.repository.samples import AT, every_case
from tests.kit.sites import Site, public_files, strip
from tests.kit.sources import FAST, files_of, following
from tests.kit.web_archive import WebArchive
from tests.repo_bridge.test_files import archive, bytes_of, file, store, uri_of

#: The cursors of programs without a copy, and what they have, by the folder of the copy beside them.
FOLLOWED: dict[Path, tuple[str, dict[str, bytes]]] = {}
TEXTS = ("one", "two", "three", "four", "five", "six")


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """Publish a site of six articles at an address on loopback."""
    strip(site)
    for number, text in enumerate(TEXTS, 1):
        site.article(f"{text}.md", text.capitalize(), at=f"2024-01-0{number}T12:00:00Z")
    with served(site.output) as address:
        site.configure(SITEURL=address)
        site.build()
        yield address


def edit(site: Site, month: int, name: str = "one.md", *, first: bool = False) -> None:
    """Change an article, and publish that; `first` starts over."""
    site.article(name, name.removesuffix(".md").capitalize(), f"The text of month {month}.")
    site.commit(f"2024-{month:02}-01T12:00:00Z")
    site.build(first=first)


def followed(address: str, copy: Path, site: Site, **options: object) -> MirrorResult:
    """Follow, and compare the copy with the output byte for byte."""
    mirror = Mirror(address, copy, replace(FAST, **options))  # type: ignore[arg-type]
    result = mirror.run()
    assert result.complete, result.missing
    assert files_of(copy) == public_files(site.output)
    assert mirror.audit() == []
    assert without_copy(address, copy, **options) == files_of(copy)
    return result


def without_copy(address: str, copy: Path, **options: object) -> dict[str, bytes]:
    """Follow as a program without a copy does; give what it then has, by path."""
    known: dict[str, bytes]
    cursor, known = FOLLOWED.get(copy, ("", {}))
    changes = following(address, cursor, replace(FAST, **options))  # type: ignore[arg-type]
    for change in changes:
        if change.kind == "reset":
            known.clear()
        elif change.content:
            known[change.uri] = change.content.read()
        else:
            known.pop(change.uri, None)
    assert list(following(address, changes.cursor, replace(FAST, **options))) == []  # type: ignore[arg-type]
    FOLLOWED[copy] = changes.cursor, known
    return {path_of(uri, origin(address)): data for uri, data in known.items()}


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


@pytest.mark.promise("A mirror is exact")
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


def restored(where: str, folder: Path, states: dict[str, dict[str, bytes]], **options: object) -> None:
    """Restore times of the past, and the last one that is listed: each is what was published then, byte for byte."""
    chosen = replace(FAST, **options)  # type: ignore[arg-type]
    listed = {each.time.removesuffix(".000000Z"): each for each in Mirror(where, folder, chosen).times()}
    for time, state in states.items():
        moment = max(listed.items())[1] if time == "last" else listed[time]
        assert (moment.resources, moment.missing) == (len(state), 0)
        copy = folder / time.replace(":", "")
        result = Mirror(where, copy, replace(chosen, at=datetime.fromisoformat(moment.time))).run()
        assert result.complete, result.missing
        assert files_of(copy) == state


def archived(address: str, file: Path, states: dict[str, dict[str, bytes]]) -> WebArchive:
    """Write all versions to a WACZ file: at each time, it shows what was published then, byte for byte."""
    missing = Mirror(address, file, FAST).archive().missing
    assert {uri.partition("#")[2][:7] for uri, _ in missing} == {"2024-01"}  # when there were no dumps
    archive = WebArchive(file)
    for text, state in states.items():
        time = datetime.fromisoformat(f"{text}Z")
        there = [url for url, found in archive.captures.items() if found[0][0] <= time]
        shown = {path_of(url, origin(address)): archive.closest(url, time) for url in there}
        assert {path: each.body for path, each in shown.items() if each and each.status == 200} == state
    return archive


@pytest.mark.promise("The past is restored exactly")
@pytest.mark.promise("A web archive shows the past")
@pytest.mark.parametrize("bytes_of", [{"dumps": True, "archives": True}, {"versions": True}])
def test_past_of_a_site(
    site: Site, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_of: dict[str, object]
) -> None:
    """What was published since there are dumps and archives, or versions, is restored exactly, unless forgotten."""
    site.configure(RESOURCESYNC={**bytes_of, "html_links": False})
    states: dict[str, dict[str, bytes]] = {}
    for month, name in ((2, "one.md"), (3, "three.md"), (5, "one.md"), (6, "new.md")):
        if month == 5:
            site.remove("content/five.md")
            (site.output / "five.html").unlink()
        edit(site, month, name)
        states[f"2024-{month:02}-01T12:00:00"] = public_files(site.output)
    restored(address, tmp_path / "before", states)
    assert f"{address}/two.html" in archived(address, tmp_path / "before.wacz", states).captures
    monkeypatch.chdir(site.folder)
    assert main(["forget", f"{address}/two.html"]) == 0
    (site.output / "two.html").unlink()
    site.remove("content/two.md")
    edit(site, 8)
    for state in states.values():
        state.pop("two.html")
    restored(address, tmp_path / "after", states | {"last": public_files(site.output)})
    assert f"{address}/two.html" not in archived(address, tmp_path / "after.wacz", states).captures


@pytest.mark.promise("The past is restored exactly")
def test_past_of_a_site_that_moved(site: Site, tmp_path: Path) -> None:
    """What was published before a move has the old addresses: it is restored where their host is allowed."""
    old, new = "https://old.test", "https://new.test"
    strip(site)
    site.article("one.md", "One")
    site.article("two.md", "Two")
    site.commit("2024-01-05T12:00:00Z")
    site.configure(SITEURL=old, RESOURCESYNC={"dumps": True, "archives": True})
    site.build()
    edit(site, 2)
    before = {f"~origin/https+old.test+443/{path}": data for path, data in public_files(site.output).items()}
    site.configure(SITEURL=new, RESOURCESYNC={"dumps": True, "archives": True, "moved_from": old})
    edit(site, 3)
    states = {"2024-03-01T12:00:00": public_files(site.output)}
    edit(site, 4, "two.md")
    states["2024-04-01T12:00:00"] = public_files(site.output)
    restored(str(site.output), tmp_path / "after", states)
    then = replace(FAST, at=datetime.fromisoformat("2024-02-01T12:00:00Z"))
    result = Mirror(str(site.output), tmp_path / "none", then).run()
    assert (result.complete, result.plan.foreign, result.plan.hosts) == (False, 2, ["old.test"])
    assert result.plan.unread[0].endswith(" resources are on hosts that are requested: add --allow-host old.test")
    restored(str(site.output), tmp_path / "before", {"2024-02-01T12:00:00": before}, allow_host=("old.test",))


@pytest.mark.long
def test_past_of_the_demo_repository(tmp_path: Path) -> None:
    """Each day of the demo's repository is restored with the bytes of its files, whose host does not exist."""
    repository, output = tmp_path / "repository", tmp_path / "output"
    port = closed_port()
    make_repository(repository, f"http://localhost:{port}")
    days: dict[str, dict[str, str]] = {}
    for day in DAYS:
        publish_repository(repository, day)
        entries = parse_file(output / "resourcesync/repository/resourcelist.xml").entries
        days[day] = {each.uri: each.md.get("hash", "").partition(" ")[0] for each in entries}
    own = ("http", "localhost", port)
    listed = {each.time[:19]: each.missing for each in Mirror(str(output), tmp_path, FAST).times()}
    assert [listed[max(time for time in listed if time < f"{day}T18:00:01")] for day in list(days)[1:]] == [0, 0]
    for day, expected in days.items():
        options = replace(
            FAST, at=datetime.fromisoformat(f"{day}T18:00:00Z"), allow_host=("repository.museum.example",)
        )
        result = Mirror(str(output), tmp_path / day, options).run()
        missing = {uri for uri, _ in result.missing}
        assert len(missing) == listed[max(time for time in listed if time < f"{day}T18:00:01")]
        found = files_of(tmp_path / day)
        assert found.keys() == {path_of(uri, own) for uri in expected.keys() - missing}
        for uri in expected.keys() - missing:
            algorithm, _, digest = expected[uri].partition(":")
            data = found[path_of(uri, own)]
            assert not digest or hashlib.new(algorithm.replace("-", ""), data).hexdigest() == digest


def test_past_of_a_repository(tmp_path: Path) -> None:
    """First states, which no list has the hash of, are restored from versions, by URL and from a folder: of files, too.

    A file without a version is named as missing.
    """
    press = Press(tmp_path / "press")
    stores = store(tmp_path / "store", 1)
    states: list[dict[str, bytes]] = []
    with served(press.public) as address:
        for number in range(3):
            store(stores[0], 2, edition=number)
            sample = archive(file(1), file(2, number), file(3))
            sample.items[0].metadata[0] = Value("dc.title", f"Title {number}")
            more = {"versions": VersionOptions(), "version_files": True, "assetstore": stores}
            press.publish(sample, number, base_url=address, **more)
            records = {path.rpartition("/")[2]: data for path, data in files_of(press.records).items()}
            states.append(records | {uri_of(1): bytes_of(1), uri_of(2): bytes_of(2, number)})
        for where in (address, str(press.public)):
            assert [each.missing for each in Mirror(where, tmp_path, FAST).times()] == [0, 0, 0]
            for number, state in enumerate(states):
                copy = tmp_path / f"{where == address} {number}"
                options = replace(FAST, at=AT + timedelta(days=number), allow_host=("repo.example",))
                result = Mirror(where, copy, options).run()
                assert [uri.endswith(uri_of(3)) for uri, _ in result.missing] == [True]
                found = {path.removesuffix("~f"): data for path, data in files_of(copy).items()}
                assert {name: data for path, data in found.items() for name in state if path.endswith(name)} == state
                assert len(found) == len(state)


def test_repository_beside_a_site(site: Site, address: str, tmp_path: Path) -> None:
    """Of both sets together, from the folder and by URL; files on a host that is not requested are counted."""
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
        assert (result.complete, result.left, result.plan.foreign) == (True, 0, len(elsewhere))
        assert files_of(copy) == expected
        only = Mirror(where, tmp_path / f"records of {where == address}", replace(FAST, set=("repository",)))
        assert only.run().resources == len(records)


def test_upload_that_is_not_done(site: Site, tmp_path: Path) -> None:
    """A list that has ended, below an index that does not say so, has only a part of the next publication."""
    copy, public, old = tmp_path / "copy", tmp_path / "public", tmp_path / "old"
    strip(site)
    with served(public) as address:
        site.configure(SITEURL=address, RESOURCESYNC={"previous": "output", "changes_by": "day"})
        for text, time in (("one", "01T12"), ("two", "01T13"), ("one", "02T12"), ("one", "02T18"), ("two", "03T12")):
            if time in ("02T12", "02T18"):
                site.build()
            site.article(f"{text}.md", text.capitalize(), f"The text of {time}.", at=f"2024-01-{time}:00:00Z")
        shutil.copytree(site.output, old)
        shutil.copytree(old, public)
        assert Mirror(address, copy, FAST).run().complete
        site.build()
        for step in range(1, 8):  # the pages, and then one document after the other, as they are uploaded
            for path in (each for each in files_of(site.output) if kind_of(each).step == step):
                (public / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(site.output / path, public / path)
                result = Mirror(address, copy, FAST).run()
                assert not result.complete or files_of(copy) in (public_files(old), public_files(site.output)), path
        assert result.complete
        assert files_of(copy) == public_files(site.output)
