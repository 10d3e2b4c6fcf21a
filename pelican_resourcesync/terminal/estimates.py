"""Estimates of the size of the dumps and archives of a set, as text."""

from collections.abc import Iterator, Mapping

from pelican_resourcesync.publication.costs import Cost, Volume, most_of_dump
from pelican_resourcesync.publication.model.options import Dumps
from pelican_resourcesync.terminal.words import in_bytes

#: Costs by the name of the set, then of the setting.
Costs = Mapping[str, Mapping[str, Cost]]

#: The text for a total without a limit.
_UNLIMITED = "and all stay"


def estimates(volume: Volume, costs: Mapping[str, Cost] | None) -> Iterator[str]:
    """Yield a text on the cost of each setting for a set of that volume; without settings, on that of a dump."""
    yield f"{in_bytes(volume.resources)} are all resources"
    if costs is None:
        yield f"at most {in_bytes(most_of_dump(volume, Dumps().package_size))} a Resource Dump of them"
    for setting, cost in (costs or {}).items():
        yield f"{setting} ({_asked(cost.asked)}): {_cost(setting, cost)}"


def _asked(asked: bool | int | None) -> str:  # noqa: FBT001 - the value of a setting
    if isinstance(asked, bool):
        return "on" if asked else "off"
    return "all" if asked is None else f"{asked:,}"


def _cost(setting: str, cost: Cost) -> str:
    """Return a text on the maximum or average size."""
    each = f"{'at most' if setting.endswith('resourcedump') else 'about'} {in_bytes(cost.each)}"
    if setting.startswith("archives."):
        return f"{each} for each closed range, {_UNLIMITED if cost.most is None else f'{in_bytes(cost.most)} in all'}"
    if cost.most is None:
        return f"{each} for each publication with a change, {_UNLIMITED}"
    return f"{each} for each publication with a change, {in_bytes(cost.most)} with the one before"
