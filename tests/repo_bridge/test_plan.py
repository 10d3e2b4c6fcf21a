"""The plan: which sets there are, what each has, and what becomes of those that are none any more."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.settings import Dumps
from sample_site.dspace.repository import Container, Policy, Sample, Value
from tests.kit.reader import parse_file
from tests.kit.repository.press import BASE, SET, UI, Press, book, shelf

DUMPS = Dumps(resourcedump=True, changedump=True)
ONE, TWO = f"{SET}-123456789_col1", f"{SET}-123456789_col2"
RECORDS = f"{SET}-metadata"
PEOPLE = f"{BASE}/resourcesync/index.html"


def library() -> Sample:
    """Return a repository with two collections in one community, and an item that is in both."""
    sample = shelf(*range(1, 10))
    sample.communities = [Container(1, "Museum")]
    sample.collections = [Container(1, "Coins", parents=(1,)), Container(2, "Maps", parents=(1,))]
    for item in sample.items:
        item.owner = 1 + item.number % 2
        item.collections = (item.owner,)
    sample.items[0].collections = (1, 2)
    return sample


def records_in(press: Press, name: str) -> set[int]:
    """Return the numbers of the items whose records a set lists."""
    return {int(uri.rpartition("/")[2].removesuffix(".xml")) for uri in press.listed(name) if "/records/" in uri}


def described(press: Press) -> dict[str, str]:
    """Return the sets that the Source Description names, each with the page about it that its Capability List names."""
    source = parse_file(press.public / "resourcesync/description.xml")
    names = [item.uri.split("/")[-2] for item in source.entries]
    return {name: press.document("capabilitylist.xml", name).links.get("describedby", "") for name in names}


def test_sets_by_collection(press: Press) -> None:
    """Each collection is a set, described by its page; an item in two is in both; the whole has everything."""
    outcome = press.publish(library(), sets_by="collection")
    assert {*outcome.publications} == {SET, ONE, TWO}
    assert (records_in(press, ONE), records_in(press, TWO)) == ({1, 2, 4, 6, 8}, {1, 3, 5, 7, 9})
    assert len(press.listed()) == 18
    assert len(press.listed(TWO)) == 10
    pages = described(press)
    assert (pages[ONE], pages[TWO]) == (f"{UI}/handle/123456789/col1", f"{UI}/handle/123456789/col2")
    assert pages[SET] == PEOPLE
    assert press.findings() == {}


def test_people_see_each_change_once(press: Press, capsys: pytest.CaptureFixture[str]) -> None:
    """What is withdrawn is counted, not named, on the page, in the feed and by `show`; once, though in three sets."""
    sample = library()
    options: dict[str, Any] = {"sets_by": "collection", "allow_deletions": True}
    sample.items[1].withdrawn = True
    press.publish(sample, **options)
    sample.items[0].withdrawn, sample.items[1].withdrawn = True, False
    press.publish(sample, 1, **options)
    folder = press.public / "resourcesync"
    page = (folder / "index.html").read_text("utf-8")
    withdrawn = "2 removed; what is withdrawn is not named"  # a record and a file
    titles = re.findall(r'"tag created">.*?<bdi>(.*?)</bdi>', page, re.DOTALL)
    assert (page.count(withdrawn), titles.count("Title 2"), len(titles)) == (1, 1, 2)
    assert (folder / TWO / "index.html").read_text("utf-8").count(withdrawn) == 1
    assert "removed: 2; what is withdrawn is not named" in (folder / SET / "changes.atom").read_text("utf-8")
    assert main(["show", str(press.public)]) == 0
    assert "deleted  2; what is withdrawn is not named" in " ".join(capsys.readouterr().out.split(" "))
    assert "Title 1" not in page


def test_dumps_of_sets(press: Press, tmp_path: Path) -> None:
    """With `set-dumps`, each collection has its packages, if the bytes of files are there; otherwise the whole does."""
    sample = library()
    for item in sample.items:
        item.bundles = []
    more: dict[str, Any] = {"sets_by": "collection", "dumps": Dumps(resourcedump=True)}
    for number, (stores, wanted, expected) in enumerate(
        (({0: tmp_path}, False, {SET}), ({0: tmp_path}, True, {SET, ONE, TWO}), ({}, True, {RECORDS}))
    ):
        outcome = press.publish(sample, number, assetstore=stores, set_dumps=wanted, **more)
        folder = press.public / "resourcesync"
        lists = {name: (folder / name / "capabilitylist.xml").read_bytes() for name in outcome.publications}
        assert {name for name, content in lists.items() if b"resourcedump" in content} == expected
        assert press.findings() == {}


def test_own_format_and_authority(press: Press, tmp_path: Path) -> None:
    """A user's stylesheet sees the authority of a value; when it changes, all records are made again."""
    sample = library()
    sample.items[0].metadata.append(Value("dc.contributor.author", "Reeve", authority="0000-0002-1825-0097"))
    file = tmp_path / "own.py"
    for number, tag in enumerate("ab"):
        authorities = "''.join(each.authority for each in values)"
        file.write_text(f"def record(values): return '<{tag}>' + {authorities} + '</{tag}>'")
        press.publish(sample, number, metadata=("own", "dim"), crosswalks={"own": file})
        records = sorted((press.public / f"resourcesync/{SET}/records/own").rglob("*.xml"))
        assert len(records) == 9
        texts = [each.read_text() for each in records]
        assert texts.count(f"<{tag}>0000-0002-1825-0097</{tag}>") == 1
        assert texts.count(f"<{tag}></{tag}>") == 8
    assert press.findings() == {}


def test_sets_by_community(press: Press) -> None:
    """A community is a set of all that is in its collections; one that not everybody may read is none."""
    sample = library()
    sample.communities += [Container(2, "zqsecret", [Policy(2)])]
    sample.collections[0].parents = (1, 2)
    press.publish(sample, sets_by="community")
    assert {*described(press)} == {SET, f"{SET}-123456789_com1"}
    assert described(press)[f"{SET}-123456789_com1"] == f"{UI}/handle/123456789/com1"
    assert len(press.listed(f"{SET}-123456789_com1")) == 18
    assert press.findings() == {}


@pytest.mark.parametrize("private", [False, True])
def test_collection_without_items_goes_on(press: Press, private: bool) -> None:
    """A set of which nothing is left, or whose collection is private now, goes on: empty, with the deletions."""
    press.publish(library(), sets_by="collection")
    sample = library()
    if private:
        sample.collections[1].policies = []
    for item in sample.items:
        item.owner, item.collections = (2, (2,)) if private and item.owner == 2 else (1, (1,))
    press.publish(sample, 1, sets_by="collection")
    assert press.listed(TWO) == {}
    assert [kind for kind, _, _ in press.changes(TWO)] == ["deleted"] * 10
    assert described(press)[TWO] == (PEOPLE if private else f"{UI}/handle/123456789/col2")
    assert "/col2" not in str([item.links for item in press.listed().values()]) or not private
    assert press.findings() == {}
    again = press.publish(library(), 2, sets_by="collection")
    assert not again.publications[TWO].first
    assert len(press.listed(TWO)) == 10
    assert press.findings() == {}


def test_collection_that_is_private_is_forgotten(press: Press) -> None:
    """For 30 days its set tells followers of the deletions; then it goes, and no document names it (rule 4)."""
    press.publish(library(), sets_by="collection")
    sample = library()
    sample.collections[1].policies = []
    for number in (1, 30):
        assert press.publish(sample, number, sets_by="collection").warnings == ()
        assert [kind for kind, _, _ in press.changes(TWO)] == ["deleted"] * 10
    (warning,) = press.publish(sample, 31, sets_by="collection").warnings
    assert f"the set '{TWO}' is no longer published" in warning
    assert {*described(press)} == {SET, ONE}
    sample.items[0].metadata[0].text = "Later"
    press.publish(sample, 32, sets_by="collection")
    texts = [file.read_bytes() for file in press.public.rglob("*") if file.is_file()]
    assert texts
    assert not any(b"col2" in text for text in texts)
    assert press.findings() == {}
    for empty in sample.items:  # an empty one that is public stays
        empty.owner, empty.collections = None, ()
    for number in (33, 99):
        press.publish(sample, number, sets_by="collection", allow_deletions=True)
    assert {*described(press)} == {SET, ONE}


def test_set_of_another_name(press: Press) -> None:
    """The one of before goes with its records; that of another repository in the same folder stays."""
    press.publish(library(), set_name="museum", sets_by="collection")
    press.publish(library(), set_name="theirs", ui_url="https://theirs.example")
    assert {"museum", "museum-123456789_col1", "theirs"} <= {*described(press)}
    outcome = press.publish(library(), 1)
    assert {*described(press)} == {SET, "theirs"}
    assert len(outcome.warnings) == 3
    assert not (press.public / "resourcesync/museum").exists()
    assert press.publish(library(), 2).warnings == ()
    assert {*described(press)} == {SET, "theirs"}


def test_other_address(press: Press) -> None:
    """The message names the setting as it is written in `repo_bridge.toml`."""
    press.publish(library())
    other = {"base_url": "https://elsewhere.example", "previous": "output"}
    with pytest.raises(PublicationError, match=r"every URI would change: restore the address, or set moved-from to"):
        press.publish(library(), 1, **other)
    moved = press.publish(library(), 1, **other, moved_from=BASE)
    assert moved.publications[SET].notes == ("deletions explained by base-url: 9",)  # the records; files are DSpace's
    moved = press.publish(library(), 2, **other, ui_url="https://new.example", allow_deletions=True)
    assert moved.publications[SET].notes == ("deletions explained by ui-url or server-url: 9",)


def test_guard_is_of_the_whole(press: Press) -> None:
    """A whole set may go while little of the whole does, and not the other way round."""
    sample = library()
    sample.items.append(book(10, collections=(3,), owner=3))
    sample.collections.append(Container(3, "Small"))
    press.publish(sample, sets_by="collection")
    press.publish(library(), 1, sets_by="collection")
    assert press.listed(f"{SET}-123456789_col3") == {}
    with pytest.raises(
        PublicationError, match=r"publish once with --allow-deletions \(8 of 9 files and 8 of 9 records"
    ):
        press.publish(Sample(items=[book(1)]), 2, sets_by="collection")


def test_records_apart(press: Press) -> None:
    """Without an assetstore, dumps are of the records alone, which are a set of their own; nothing else has any."""
    press.publish(library(), dumps=DUMPS, sets_by="collection")
    assert {*described(press)} == {SET, RECORDS, ONE, TWO}
    assert records_in(press, RECORDS) == {*range(1, 10)}
    assert len(press.listed(RECORDS)) == 9
    sample = library()
    sample.items[0].metadata = sample.items[1].metadata
    press.publish(sample, 1, dumps=DUMPS, sets_by="collection")
    packages = [path for path in press.files() if path.endswith(".zip")]
    assert packages
    assert all(path.startswith(f"resourcesync/{RECORDS}/") for path in packages)
    assert press.document("resourcedump.xml", RECORDS).md["capability"] == "resourcedump"
    assert press.document("changedump.xml", RECORDS).entries
    assert {what for _, what, _ in press.changes(RECORDS)} == {"oai_dc/123456789/1.xml"}
    assert press.findings() == {}
    warned = press.publish(sample, 2, sets_by="collection").warnings
    assert [RECORDS in each for each in warned] == [True]
    assert press.findings() == {}


def test_a_previous_publication_lists_only_servers_of_the_settings(press: Press) -> None:
    """Files at another address are believed only where deletions are allowed, or a statement may list any."""
    other = "https://other.example"
    press.publish(shelf(1, 2), ui_url=other)
    assert any(uri.startswith(f"{other}/") for uri in press.listed())
    shutil.rmtree(press.beside)  # what was written here is not doubted
    with press.refused(PublicationError, rf"{other}/\S* is not below .*{BASE} or {UI} .*once with `allow-deletions`"):
        press.publish(shelf(1, 2), 1)
    press.publish(shelf(1, 2), 1, allow_deletions=True)
    assert not any(uri.startswith(f"{other}/") for uri in press.listed())
    shutil.rmtree(press.beside)
    press.publish(shelf(1, 2, 3), 2)  # its changes still name the other address
