"""The status of a publication as text for people: one block, or with several sets one block each."""

from collections.abc import Iterator, Mapping

from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication.sizes import Amount
from pelican_resourcesync.publication.status.status import SetStatus, Status, WellKnown
from pelican_resourcesync.terminal.blocks import Block, listed
from pelican_resourcesync.terminal.estimates import Costs, estimates
from pelican_resourcesync.terminal.target import Found
from pelican_resourcesync.terminal.words import UNKNOWN, counted


def blocks_of(found: Found, costs: Costs) -> list[Block]:
    """Return at least one block; `costs` are those of the settings, empty where the settings are not known."""
    if found.publication is None:
        return [[("publication", str(found.problem))]]
    return [*_blocks(found.publication, costs)]


def _blocks(status: Status, costs: Costs) -> Iterator[Block]:
    lists = listed("sets", [UNKNOWN] if status.capability_lists is None else status.capability_lists)
    common = [*_sizes(status.sizes, status.total_size), ("well-known", _well_known(status.well_known))]
    if len(status.sets) == 1:
        [alone] = status.sets
        yield [("site", status.siteurl), *_version(alone), *lists, *_lists(alone), *common, *_estimates(alone, costs)]
        return
    for each in status.sets:
        site = [("site", each.siteurl)] if each.siteurl != status.siteurl else []
        sizes = _sizes(each.sizes, each.total_size)
        yield [("set", each.name), *site, *_version(each), *_lists(each), *sizes, *_estimates(each, costs)]
    yield [("site", status.siteurl), *lists, *common]


def _version(status: SetStatus) -> Iterator[tuple[str, str]]:
    anew = f", begun anew {counted(status.start - 1, 'time')}" if status.start > 1 else ""
    yield "generation", f"{status.generation}{anew}"
    landed = f", landed {render_datetime(status.landed)}" if status.landed else ""
    yield "commit", f"{status.commit or UNKNOWN}{landed}"
    yield "at", render_datetime(status.at)


def _lists(status: SetStatus) -> Iterator[tuple[str, str]]:
    yield "resources", f"{status.resources:,}"
    yield "changes", f"{status.changes:,} in {counted(len(status.ranges), 'Change List')}"
    for each in status.ranges:
        until = render_datetime(each.until) if each.until else "open"
        yield "", f"{render_datetime(each.start)} to {until}: {each.changes:,}"
    if status.archived:
        yield "archived", ", ".join(f"{number:,} {kind}" for kind, number in status.archived.items())


def _sizes(sizes: Mapping[str, Amount], total: int) -> Block:
    texts = [f"{each.size:,} {kind}{f' ({each.number:,})' * (each.number > 1)}" for kind, each in sizes.items()]
    return listed("bytes", [f"{total:,} in all", *texts])


def _estimates(status: SetStatus, costs: Costs) -> Block:
    return listed("estimates", [*estimates(status.volume, costs.get(status.name))])


def _well_known(well_known: WellKnown) -> str:
    is_right = {True: "is the Source Description", False: "is not the Source Description", None: UNKNOWN}
    outside = "" if well_known.in_site else ", and the site has no say over it: its address has a path"
    return f"{well_known.uri}: {is_right[well_known.right]}{outside}"
