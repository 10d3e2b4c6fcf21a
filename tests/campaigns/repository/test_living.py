"""Ten days of a living repository, published daily: what harvesters see is what was written down by hand."""

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from hashlib import md5
from itertools import pairwise
from pathlib import Path

import pytest
from lxml import etree

from tests.kit.follower import Follower
from tests.kit.reader import XmlEntry, moment
from tests.kit.repository.garden import PREFIX
from tests.kit.repository.host import hosted
from tests.kit.repository.life import SET, WORD, Life, Past, RepositoryWalker, lived
from tests.kit.repository.living import FIRST, ZONE
from tests.kit.repository.press import files_in
from tests.kit.resync_client import Mirror

VERSIONS = (7, pytest.param(10, marks=pytest.mark.long))


@pytest.fixture(scope="module")
def pasts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Past]:
    """Live day by day, unpublished, in a version."""

    @cache
    def past(version: int) -> Past:
        folder = tmp_path_factory.mktemp("past")
        return Past(version, folder, lived(folder, version))

    return past


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_written_by_hand_is_what_the_rules_say(pasts: Callable[[int], Past], version: int) -> None:
    """The slow reading of the rules finds the same resources every evening, and the same changes between two."""
    evenings = pasts(version).evenings
    assert len(evenings) == 12
    assert evenings[0].public.keys() == evenings[0].stands.listed.keys()
    for before, after in pairwise(evenings):
        old, new = before.public, after.public
        kinds = dict.fromkeys(old.keys() - new.keys(), "deleted") | dict.fromkeys(new.keys() - old.keys(), "created")
        kinds |= {what: "updated" for what in old.keys() & new.keys() if old[what] != new[what]}
        assert {change.what: change.kind for change in after.stands.changes} == kinds, after.stands.day
        assert new.keys() == after.stands.listed.keys()


@pytest.mark.parametrize("version", VERSIONS)
def test_times_written_by_hand_are_of_the_day(pasts: Callable[[int], Past], version: int) -> None:
    """Each is after the publication before, and in the database, a midnight in Berlin, or that of the publication."""
    for before, after in pairwise(pasts(version).evenings):
        known = {datetime.fromisoformat(row["last_modified"]) for row in after.rows["item"]} | {after.stands.at}
        for what, _kind, time in after.stands.changes:
            assert before.stands.at < time <= after.stands.at, what
            assert time in known or f"{time.astimezone(ZONE):%H:%M:%S}" == "00:00:00", what


# Published


@pytest.fixture(scope="module", params=[7, pytest.param(10, marks=pytest.mark.long)])
def life(
    request: pytest.FixtureRequest, pasts: Callable[[int], Past], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Life]:
    """Publish every evening into one output."""
    with hosted() as host:
        life = Life(pasts(request.param), tmp_path_factory.mktemp("life"), host, [])
        for number in range(len(life.evenings)):
            life.publish(life.folder / "now", number)
            shutil.copytree(life.folder / "now", life.folder / str(number))
        yield life


def _fresh(life: Life, number: int) -> list[XmlEntry]:
    """Return the changes that an evening's publication adds to those of the evening before."""
    old, new = life.seen(number - 1).changes if number else [], life.seen(number).changes
    assert [(each.uri, each.md, each.lastmod) for each in new[: len(old)]] == [
        (each.uri, each.md, each.lastmod) for each in old
    ], "append-only"
    return new[len(old) :]


@pytest.mark.promise("As for a site")
def test_harvesters_see_what_was_written_by_hand(life: Life) -> None:
    """Every evening the resources listed, the changes new in the lists, and the time of each, are as written."""
    last = FIRST
    for number, evening in enumerate(life.evenings):
        found, stands = life.seen(number), evening.stands
        last = max([last, *(change.time for change in stands.changes)])
        assert last <= found.at() <= stands.at, stands.day
        assert {life.what(item.uri): item.time for item in found.resources} == stands.listed, stands.day
        changes = [(life.what(item.uri), item.md["change"], item.time) for item in _fresh(life, number)]
        assert sorted(changes, key=str) == [tuple(change) for change in stands.changes], stands.day


@pytest.mark.promise("As for a site")
def test_true(life: Life) -> None:
    """Promise 3: each record holds the titles of its item; hash and length of each file are those of the database."""
    for number, evening in enumerate(life.evenings):
        records, files = evening.records, evening.files
        for item in life.seen(number).resources:
            what = life.what(item.uri)
            if isinstance(what, int):
                assert (item.md["hash"].removeprefix("md5:"), int(item.md["length"])) == files[what]
                continue
            record = etree.parse(life.output(number) / item.uri.removeprefix(f"{life.host.address}/"))
            titles = [each.text for each in record.iter("{http://purl.org/dc/elements/1.1/}title")]
            assert titles == [text for field, text, _language in records[what] if field == "dc.title"]


@pytest.mark.promise("As for a site")
@pytest.mark.promise("Independent of the last inventory")
@pytest.mark.parametrize("kept", [True, False], ids=["beside", "alone"])
def test_reproducible(life: Life, tmp_path: Path, kept: bool) -> None:
    """Promise 5: published again upon the output of the evening before, with what is kept beside or not: same bytes."""
    for number in range(len(life.evenings)):
        again = tmp_path / str(number)
        if number:
            shutil.copytree(life.output(number - 1), again / "public")
            if kept:
                shutil.copytree(life.output(number - 1).with_name("beside"), again / "beside")
        life.publish(again, number)
        assert files_in(again / "public") == files_in(life.output(number)), number


@pytest.mark.promise("Exactly what is public")
def test_discreet(life: Life) -> None:
    """Promise 6: of the words that tell, every evening those that are public stand in the output, and no other."""
    for number, evening in enumerate(life.evenings):
        files = files_in(life.output(number))
        found = {word for path, data in files.items() for word in WORD.findall(path.encode() + b" " + data)}
        assert found == evening.words, number
    assert WORD.findall("".join(life.said).encode()) == []


def test_test_client_follows(life: Life) -> None:
    """By the index, from the first evening on: in step every evening, with the bytes that the repository serves."""
    life.turn_to(0)
    follower = Follower(life.host.address)
    assert follower.baseline() == []
    for number in range(1, len(life.evenings)):
        stands = life.turn_to(number)
        assert follower.incremental() == []
        # Of a quiet day the list of all resources tells, and no list of changes.
        assert [fault for fault in follower.audit() if "the copy is of" not in fault] == []
        assert {life.what(uri) for uri in follower.held} == stands.listed.keys()
        hashes = {life.what(uri): md5(data).hexdigest() for uri, data in follower.held.items()}
        for what, (checksum, _size) in life.evenings[number].files.items():
            assert hashes[what] == checksum


@pytest.mark.promise("As for a site")
def test_independent_client_follows(life: Life, tmp_path: Path) -> None:
    """`resync`: a baseline on the first evening, then list by list; by hashes it finds itself in sync."""
    life.turn_to(0)
    mirror = Mirror(tmp_path, life.host.address)
    mirror.run("--baseline")
    for number, evening in enumerate(life.evenings):
        life.turn_to(number)
        if evening.stands.changes:
            since = life.evenings[number - 1].stands.at
            index = life.seen(number).documents["changelist"]
            for pointer in index.entries:
                if pointer.interval[1] > since:
                    mirror.follow(pointer.uri)
        if number % 4 == 3:
            count = len(evening.stands.listed)
            said = mirror.run("--audit", "--hash", "md5", "--hash", "sha-256")
            assert f"IN SYNC (same={count}, to create=0, to update=0, to delete=0)" in said
            assert "NOT IN SYNC" not in said


def test_move_is_a_deletion_where_it_was(life: Life, tmp_path: Path) -> None:
    """In sets by collection, an item that moves to a hidden one is deleted in the old set, and updated in the whole."""
    monday = [str(evening.stands.at.date()) for evening in life.evenings].index("2025-03-31")
    for number in range(monday + 1):
        life.publish(tmp_path, number, "--sets-by", "collection")
    life.host.turn_to(tmp_path / "public", life.evenings[monday].stands)
    sets = RepositoryWalker(life.host.address, life.host.address).walk().sets
    moved = {
        name.removeprefix(SET): [
            (item.md["change"], item.time) for item in found.changes if item.uri.endswith(f"/{PREFIX}2.xml")
        ]
        for name, found in sets.items()
    }
    at = life.evenings[monday].stands.at  # its record links to another collection now
    assert moved == {"": [("updated", at)], "-123456789_col1": [], "-123456789_col2": [("deleted", at)]}
    indexes = [found.documents["changelist"].md["from"] for found in sets.values() if "changelist" in found.documents]
    assert [moment(begin) for begin in indexes] == [FIRST] * 3  # however quiet a set was at first
    assert b"zqdonors" not in b"".join(files_in(tmp_path / "public").values())
