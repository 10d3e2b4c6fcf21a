"""Sets beside the whole: their names, and what is in them."""

import re
from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from repo_bridge.model import Collection, Community, Item
from repo_bridge.records.resources import RECORDS, Sets

#: What a state takes for the name of a set, and a file system for that of a folder, whatever its case.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")

_handles = st.from_regex(r"[a-z0-9]{1,4}(\.[a-z0-9]{1,3}){0,2}/[a-z0-9]{1,4}(\.[a-z0-9]{1,3}){0,2}", fullmatch=True)
_labels = st.one_of(
    _handles,
    _handles.map(str.upper),
    _handles.map(lambda handle: handle.replace(".", "-")),
    st.uuids().map(str),
    st.text("aB.-_/ é~", max_size=8),
    st.text(max_size=80),
    st.sampled_from([RECORDS, "", "metadata-", "a.b/c", "a-b/c", "a-b_c", "a.b_c", "a/b/c", "é" * 40, "a" * 300]),
)
_bases = st.sampled_from(["repository", "a", "a_b", "a-b", "x" * 59 + "1"])


def hashed(label: str) -> str:
    """Return the hash that is part of the names of other labels."""
    return sha256(label.encode()).hexdigest()[:12]


@given(_bases, _labels, _labels)
def test_no_two_labels_have_one_name(base: str, one: str, other: str) -> None:
    """Names are folders' names in lower case, begin with that of the whole, and differ where the labels do."""
    assume(one != other)
    names = [Sets(base).name(label) for label in (one, other)]
    assert names[0] != names[1]
    assert RECORDS not in [name.removeprefix(f"{base}-") for name in names]
    for name in names:
        assert _NAME.fullmatch(name)
        assert name != base


@given(_bases, _labels)
def test_name_that_another_one_is_made_of(base: str, label: str) -> None:
    """What a label is shortened to is the name of no other, not even of one that is made for it."""
    name = Sets(base).name(label)
    for made in (name.removeprefix(f"{base}-"), f"{label}-{hashed(label)}", f"x/{hashed(label)}"):
        assert made == label or Sets(base).name(made) != name


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("123456789/7", "repository-123456789_7"),
        ("10.5072/a.b", "repository-10-5072_a-b"),
        (str(UUID(int=7)), "repository-00000000-0000-0000-0000-000000000007"),
        ("articles", "repository-articles"),
    ],
)
def test_names(label: str, name: str) -> None:
    """Handles, uuids and words are to be seen in names."""
    assert Sets("repository").name(label) == name


def test_other_names() -> None:
    """Of other labels there is what may be seen of them, and a hash."""
    name = Sets("repository").name("Über uns / ABOUT")
    assert re.fullmatch(r"repository-ber-uns-about--[0-9a-f]{12}", name)
    assert Sets("repository").name("").startswith("repository--")


MUSEUM = Community(id="m", handle="1/m", name="Museum")
CABINET = Community(id="c", handle=None, name="Cabinet")
COINS = Collection(id="k1", handle="1/2.3", name="Coins", communities=("c", "m"))
MAPS = Collection(id="k2", handle=None, name="Maps", communities=("m",))
ITEM = Item(id="i", handle=None, last_modified=None, owner=MAPS, collections=(COINS, MAPS))


def test_sets_of_an_item() -> None:
    """An item is in the sets of all its collections, or of all communities around them; and in none where none are."""
    communities = {each.id: each for each in (MUSEUM, CABINET)}
    assert Sets("r", "collection").of_item(ITEM) == ("r-1_2-3", "r-k2")
    assert Sets("r", "community", communities).of_item(ITEM) == ("r-1_m", "r-c")
    assert Sets("r", "community", {"m": MUSEUM}).of_item(ITEM) == ("r-1_m",)
    assert Sets("r").of_item(ITEM) == ()
    assert Sets("r", "collection").of_item(Item(id="j", handle=None, last_modified=None)) == ()


def test_containers() -> None:
    """A set is shown as its collection or community, whatever items that has."""
    assert Sets("r", "collection").containers([COINS, MAPS]) == {"r-1_2-3": COINS, "r-k2": MAPS}
    by_community = Sets("r", "community", {"m": MUSEUM, "c": CABINET})
    assert by_community.containers([COINS])["r-c"] == CABINET
    assert Sets("r").containers([COINS]) == {}


def test_begun() -> None:
    """Sets that were begun go on; not that of the records alone, nor where all are made otherwise now."""
    before = {"r", "r-1_2", "r-metadata", "site", "rr-1", "r-x--0123456789ab"}
    begun = {"r-1_2", "r-x--0123456789ab"}
    assert Sets("r").begun(before, set()) == begun
    assert Sets("r").begun(before, {"r-1_2", "r-new"}) == begun
    assert Sets("r").begun(before, {"r-new"}) == set()
    assert Sets("r").records == "r-metadata"
