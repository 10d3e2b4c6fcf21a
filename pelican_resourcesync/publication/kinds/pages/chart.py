"""The chart of a page: a bar for each Change List, at its time, as high as its number of changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from pelican_resourcesync.publication.model.state import ChangeListSummary

#: The size of the drawing, and the widest and the narrowest bar, in its units.
_WIDTH, _HEIGHT, _WIDEST, _NARROWEST = 900, 100, 60, 4
#: The most bars that are drawn: the latest.
_MOST = 200
#: A few bars that are more than so many times as high as all others are cut, because these could not be seen: at most
#: one in so many, or one.
_TOO_HIGH, _FEW = 4, 6
#: The least height of a part of a bar.
_LEAST = 1.5


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: where it leads, where it is in the drawing, and its `parts`: class, y, height and number of changes."""

    href: str
    summary: ChangeListSummary
    x: str
    width: str
    parts: Sequence[tuple[str, str, str, int]]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars, oldest first, the numbers on the axis from above, and the time from the first to the last."""

    bars: Sequence[Bar]
    scale: Sequence[int]
    begin: datetime
    end: datetime
    width: int = _WIDTH


def chart_of(lists: Sequence[ChangeListSummary], at: datetime, href: Callable[[datetime], str]) -> Chart | None:
    """Return the chart of Change Lists up to a time, `None` if there are none; `href` is the link for a start."""
    shown = lists[-_MOST:]
    if not shown:
        return None
    begin, end = shown[0].start, max(at, shown[-1].start)
    top = _scale(_highest(sorted((each.changes for each in shown), reverse=True)))
    unit = _WIDTH / max((end - begin) / timedelta(seconds=1), 1)
    starts = [*_places([(each.start - begin) / timedelta(seconds=1) * unit for each in shown])]
    bars = []
    for each, x, following in zip(shown, starts, [*starts[1:], float(_WIDTH)], strict=True):
        width = max(min(following - x - 1, _WIDEST), _NARROWEST - 1)
        bars.append(
            Bar(
                href=href(each.start),
                summary=each,
                x=decimal(x),
                width=decimal(width),
                parts=[*_parts(each, top)],
                is_cut=each.changes > top,
            )
        )
    return Chart(bars, sorted({top, top // 2, 0}, reverse=True), begin, end)


def _places(wanted: Sequence[float]) -> Iterator[float]:
    """Yield the places of bars: as wanted, but so that none covers another or is outside the drawing."""
    place = -float(_NARROWEST)
    for number, each in enumerate(wanted):
        last = _WIDTH - _NARROWEST * (len(wanted) - number)
        place = min(max(each, place + _NARROWEST), last)
        yield place


def _highest(heights: Sequence[int]) -> int:
    """Return the height of the highest bar that is not cut, of heights in descending order."""
    few = max(1, len(heights) // _FEW)
    steps = enumerate(pairwise(heights[: few + 1]), start=1)
    return heights[max((number for number, (high, low) in steps if high > _TOO_HIGH * low), default=0)]


def _scale(highest: int) -> int:
    """Return the next round number."""
    step: int = 10 ** (len(str(highest)) - 1)
    return next(each * step for each in (1, 2, 4, 6, 8, 10) if each * step >= highest)


def _parts(summary: ChangeListSummary, top: int) -> Iterator[tuple[str, str, str, int]]:
    unit, y = _HEIGHT / max(top, summary.changes), float(_HEIGHT)
    for kind, count in (("c", summary.created), ("u-kind", summary.updated), ("d", summary.deleted)):
        if count:
            height = max(count * unit, _LEAST)
            y = max(y - height, 0)
            yield kind, decimal(y), decimal(height), count


def decimal(number: float) -> str:
    """Return a number with at most three decimals."""
    return f"{number:.3f}".rstrip("0").rstrip(".")
