"""Random repositories over days: what is in the tables each day, with words that tell of each text where it is from."""

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from sample_site.dspace.repository import (
    BUNDLE,
    ITEM,
    STAFF,
    Bundle,
    Container,
    File,
    Policy,
    Sample,
    Thing,
    Value,
    key,
    rows_of,
)
from sample_site.dspace.tables import Rows
from tests.kit.repository.press import day, steady
from tests.kit.repository.samples import samples

#: Words of the tests: a title, a value, a file or a container.
WORD = re.compile(r"zq[a-z]+[0-9]+q")

#: The numbers of items that are there every day, beside those at random; so few of them change on a day.
STEADY = range(100, 112)


@dataclass(repr=False)
class Stand:
    """A repository on a day. `shared` are pairs of a bundle and another item that it is in too; `done` tells edits."""

    sample: Sample
    version: int
    shared: set[tuple[int, int]] = field(default_factory=set)
    done: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{self.version}: {', '.join(self.done)}; {sorted(self.shared)}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # all of it is too much to print

    def rows(self) -> Rows:
        """Return the rows of the tables."""
        rows = rows_of(self.sample, self.version)
        numbers = {item.number for item in self.sample.items}
        bundles = {bundle.number for item in self.sample.items for bundle in item.bundles}
        for bundle, item in sorted(self.shared):
            if item in numbers and bundle in bundles:
                keys = {"bundle_id": key(self.version, BUNDLE, bundle), "item_id": key(self.version, ITEM, item)}
                rows["item2bundle"].append({**({"id": 10**6 + bundle} if self.version == 5 else {}), **keys})
        return steady(rows)


@st.composite
def lives(draw: st.DrawFn, days: int = 3) -> list[Stand]:
    """Return a repository as it is on some days."""
    version = draw(st.sampled_from((7, 10, 7, 5)))
    sample = draw(samples())
    sample.items += [_steady(number) for number in STEADY]
    _mark(sample)
    stands = [Stand(sample, version)]
    for number in range(1, days):
        stand = deepcopy(stands[-1])
        for _ in range(draw(st.integers(0, 3))):
            edit = draw(st.sampled_from(_EDITS))
            edit(draw, stand, number)
            stand.done.append(f"{number}{edit.__name__}")
        _mark(stand.sample)
        stands.append(stand)
    return stands


def _steady(number: int) -> Thing:
    return Thing(
        number,
        metadata=[Value("dc.title", "Steady")],
        bundles=[Bundle(number, files=[File(number, f"{number}.pdf")])],
        collections=(1 + number % 2,),
        owner=1 + number % 2,
    )


def _mark(sample: Sample) -> None:
    """Write a word into each text that has none yet; and let no two files of an item have one number."""
    for item in sample.items:
        for place, value in enumerate(item.metadata):
            if value.text is not None and not WORD.search(value.text):
                value.text = f"{value.text} zqvalue{item.number * 1000 + place}q"
        for file in (file for bundle in item.bundles for file in bundle.files):
            file.sequence = file.number
            file.name = f"zqfile{file.number}q.pdf"
    for each in sample.collections:
        each.name = f"zqplace{each.number}q"


# What is done on a day; `last_modified` says so, or not


def _touch(draw: st.DrawFn, item: Thing, number: int) -> None:
    if draw(st.booleans()):
        hours = draw(st.sampled_from([-30, -20, -1, 1]))
        item.last_modified = (day(number) + timedelta(hours=hours)).isoformat()


def _item(draw: st.DrawFn, stand: Stand) -> Thing:
    return draw(st.sampled_from(stand.sample.items))


def _flags(draw: st.DrawFn, stand: Stand, number: int) -> None:
    item = _item(draw, stand)
    item.in_archive, item.withdrawn, item.discoverable = draw(
        st.sampled_from([(True, False, True), (False, True, True), (True, False, False), (False, False, True)])
    )
    _touch(draw, item, number)


def _policies(draw: st.DrawFn) -> list[Policy]:
    some = [[Policy()], [], [Policy(STAFF)], [Policy(start="2025-06-17")], [Policy(end="2025-06-17")], [Policy(3)]]
    return deepcopy(draw(st.sampled_from(some)))


def _permit(draw: st.DrawFn, stand: Stand, number: int) -> None:
    item = _item(draw, stand)
    files = [file for bundle in item.bundles for file in bundle.files]
    targets: list[Thing | File | Container] = [item, *files, *stand.sample.collections]
    target = draw(st.sampled_from(targets))
    target.policies = _policies(draw)
    _touch(draw, item, number)


def _write(draw: st.DrawFn, stand: Stand, number: int) -> None:
    item = _item(draw, stand)
    name = draw(st.sampled_from(["dc.title", "dc.subject", "dc.description.provenance", "person.email"]))
    text = f"zqday{number * 1000 + item.number}q"
    item.metadata = [*item.metadata[:2], Value(name, text, security_level=draw(st.sampled_from([None, None, 1])))]
    _touch(draw, item, number)


def _expunge(draw: st.DrawFn, stand: Stand, number: int) -> None:
    item = _item(draw, stand)
    stand.sample.items.remove(item)
    stand.sample.versions = [
        [None if each == item.number else each for each in history] for history in stand.sample.versions
    ]
    if item.number in STEADY:
        stand.sample.items.append(_steady(item.number + 100 * number))


def _files(draw: st.DrawFn, stand: Stand, number: int) -> None:
    item = _item(draw, stand)
    less: bool = draw(st.booleans())
    if item.bundles and less:
        bundle = draw(st.sampled_from(item.bundles))
        bundle.files = bundle.files[1:]
    else:
        new = 5000 + 100 * number + item.number + 500 * len(item.bundles)
        item.bundles.append(Bundle(new, files=[File(new, order=3, policies=_policies(draw))]))
    _touch(draw, item, number)


def _share(draw: st.DrawFn, stand: Stand, number: int) -> None:
    """Put a bundle into another item too, or take it out of that again."""
    item, other = _item(draw, stand), _item(draw, stand)
    if item.bundles and item is not other:
        bundle = draw(st.sampled_from(item.bundles))
        stand.shared ^= {(bundle.number, other.number)}


def _move(draw: st.DrawFn, stand: Stand, number: int) -> None:
    """Take a bundle from one item to another."""
    item, other = _item(draw, stand), _item(draw, stand)
    if item.bundles:
        bundle = item.bundles.pop()
        stand.shared.discard((bundle.number, other.number))
        other.bundles.append(bundle)


def _gather(draw: st.DrawFn, stand: Stand, number: int) -> None:
    item = _item(draw, stand)
    item.collections = draw(st.sampled_from([(), (1,), (2,), (1, 2)]))
    item.owner = draw(st.sampled_from([None, *item.collections]))


def _version(draw: st.DrawFn, stand: Stand, number: int) -> None:
    """Let other items be versions of one."""
    del number
    numbers = [item.number for item in stand.sample.items[:6]]
    stand.sample.versions = [draw(st.permutations([None, *numbers]))[: draw(st.integers(2, 5))]]


_EDITS: list[Callable[[Any, Stand, int], None]] = [
    _flags,
    _flags,
    _permit,
    _permit,
    _write,
    _expunge,
    _files,
    _share,
    _share,
    _move,
    _gather,
    _version,
]
