"""Decide which changes go into one package of a Change Dump."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from pelican_resourcesync.publication.documents.documents import change_entries
from pelican_resourcesync.publication.dumps.portions import PackageLimits, Weight, divided, weight
from pelican_resourcesync.publication.model.change import Change
from pelican_resourcesync.publication.model.options import Options

_by_time = attrgetter("time")


class Splitting:
    """Divides changes by what one package can hold.

    Changes of the same time are never separated, because a package ends at a time.
    """

    def __init__(self, options: Options, limit: int) -> None:
        """Create it from the options and the number of changes that one document can hold."""
        self._asked = options.dumps.changedump
        self._limits = replace(package_limits(options), entries=limit)

    def of_one_time(self, changes: Sequence[Change]) -> Iterable[Sequence[Change]]:
        """Divide changes of the same time into parts that fit into a package; all but the first must come later."""
        return self._divide([each] for each in changes) if self._asked else (changes,)

    def into_packages(self, changes: Iterable[Change]) -> Iterable[Sequence[Change]]:
        """Divide changes, in chronological order, into packages."""
        return self._divide(list(group) for _, group in groupby(changes, key=_by_time))

    def _divide(self, groups: Iterable[list[Change]]) -> Iterator[list[Change]]:
        for portion in divided(groups, _weight, self._limits):
            yield [change for group in portion for change in group]


def package_limits(options: Options) -> PackageLimits:
    """Return the limits of a package: its manifest has the limits of any document (`X04`)."""
    limits = options.limits
    return PackageLimits(size=options.dumps.package_size, entries=limits.entries, manifest=limits.size)


def _weight(changes: Iterable[Change]) -> Weight:
    weights = [weight(entry) for entry in change_entries(changes)]
    return Weight(*map(sum, zip(*weights, strict=True)))
