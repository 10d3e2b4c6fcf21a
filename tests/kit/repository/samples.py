"""Repositories for tests: one with every case of the rules, and random ones."""

from collections.abc import Iterator
from datetime import date, timedelta

from hypothesis import strategies as st

from sample_site.dspace.cases import AT, PUBLIC, PUBLIC_COLLECTIONS, every_case
from sample_site.dspace.repository import FIELDS, Bundle, Container, File, Policy, Sample, Thing, Value

__all__ = ["AT", "PUBLIC", "PUBLIC_COLLECTIONS", "every_case", "samples"]

_days = st.sampled_from(range(-3, 4)).map(lambda days: (date(2025, 6, 15) + timedelta(days)).isoformat())
_groups = st.integers(0, 5)
_policies = st.lists(
    st.builds(
        Policy,
        group=st.none() | _groups | st.just(0),
        action=st.sampled_from([0, 0, 0, 0, 1, 9, 10, 11, 12]),
        start=st.none() | _days,
        end=st.none() | _days,
        person=st.none() | st.just(1),
    ),
    max_size=3,
)
_often = st.sampled_from([True, True, True, False, None])
_seldom = st.sampled_from([False, False, False, True, None])
_names = st.lists(st.sampled_from(["ORIGINAL", "ORIGINAL", "TEXT", "LICENSE", None]), min_size=1, max_size=2).map(tuple)
_values = st.lists(
    st.builds(
        Value,
        field=st.sampled_from(FIELDS),
        text=st.none() | st.text("ab\t\n\\é", max_size=4),
        language=st.sampled_from([None, "", "en", "en_US"]),
        place=st.integers(0, 3),
        security_level=st.sampled_from([None, None, 0, 2]),
    ),
    max_size=4,
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Return a random repository, about half of which is public."""
    numbers = iter(range(1, 1000))
    collections = [Container(number, f"C{number}", draw(_policies)) for number in (1, 2)]
    items = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        bundles = [_bundle(draw, numbers) for _ in range(draw(st.integers(0, 2)))]
        items.append(
            Thing(
                number,
                in_archive=draw(_often),
                withdrawn=draw(_seldom),
                discoverable=draw(_often),
                policies=draw(_policies),
                metadata=draw(_values),
                bundles=bundles,
                collections=tuple(draw(st.sets(st.sampled_from([1, 2])))),
            )
        )
    inside = draw(st.sets(st.tuples(_groups, _groups), max_size=5))
    groups = dict(enumerate(_GROUPS))
    history = draw(st.permutations([None, *range(1, len(items) + 1)]))
    histories = [history[:2], history[2:]] if draw(st.booleans()) else [history]
    return Sample(items=items, collections=collections, groups=groups, inside=inside, versions=histories)


_GROUPS = ("Anonymous", "Administrator", "Staff", "Campus", "anonymous", "Inner")


def _bundle(draw: st.DrawFn, numbers: Iterator[int]) -> Bundle:
    files = [
        File(next(numbers), f"{order}.pdf", draw(_policies), draw(_seldom), order=order)
        for order in range(draw(st.integers(0, 3)))
    ]
    return Bundle(next(numbers), draw(_names), files, draw(_policies))
