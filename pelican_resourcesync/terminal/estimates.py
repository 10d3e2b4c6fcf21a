"""Estimates: what dumps and archives of a set cost, in words."""

from collections.abc import Iterator, Mapping

from pelican_resourcesync.publication.costs import Cost, Volume, most_of_dump
from pelican_resourcesync.publication.options import Dumps
from pelican_resourcesync.terminal.words import in_bytes

#: By the name of the set, and of the setting.
Costs = Mapping[str, Mapping[str, Cost]]

#: What is said of a sum that has none.
_UNLIMITED = "and all stay"


def estimates(volume: Volume, costs: Mapping[str, Cost] | None) -> Iterator[str]:
    """Say what settings cost a set of that volume, a text each; where they are not known, what a dump would."""
    yield f"{in_bytes(volume.resources)} are all resources"
    if costs is None:
        yield f"at most {in_bytes(most_of_dump(volume, Dumps().package_size))} a Resource Dump of them"
    for setting, cost in (costs or {}).items():
        yield f"{setting} ({_asked(cost.asked)}): {_cost(setting, cost)}"


def _asked(asked: bool | int | None) -> str:  # noqa: FBT001 - what a setting is
    if isinstance(asked, bool):
        return "on" if asked else "off"
    return "all" if asked is None else f"{asked:,}"


def _cost(setting: str, cost: Cost) -> str:
    """Say what is the most, and what is an average."""
    each = f"{'at most' if setting.endswith('resourcedump') else 'about'} {in_bytes(cost.each)}"
    if setting.startswith("archives."):
        return f"{each} for each closed range, {_UNLIMITED if cost.most is None else f'{in_bytes(cost.most)} in all'}"
    if cost.most is None:
        return f"{each} for each publication with a change, {_UNLIMITED}"
    return f"{each} for each publication with a change, {in_bytes(cost.most)} with the one before"
