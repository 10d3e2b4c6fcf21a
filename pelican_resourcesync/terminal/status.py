"""The status of a publication in a folder or at a URL, as blocks of text: with several sets, one block each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication import (
    Cost,
    Dumps,
    FileTotals,
    SetStatus,
    Status,
    Volume,
    WellKnownStatus,
    local_status,
    most_of_dump,
    remote_status,
)
from pelican_resourcesync.terminal.text import UNKNOWN, Block, format_bytes, format_count, labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """What was found at a `target`: its `publication`, or the `problem` that it is missing or damaged."""

    target: str
    publication: Status | None = None
    problem: str | None = None


def look_at(target: str, *, needed: bool = True) -> TargetStatus:
    """Inspect a folder or a URL. A folder that is not `needed`, such as an output not yet built, may be missing.

    Raises `SettingsError` for a target that is neither, and `TransportError` where a URL cannot be read.
    """
    try:
        publication = _publication(target, needed=needed)
    except PublicationError as error:
        return TargetStatus(target=target, problem=str(error))
    if publication is None:
        return TargetStatus(target=target, problem=f"there is no publication at {target}")
    return TargetStatus(target=target, publication=publication)


def _publication(where: str, *, needed: bool) -> Status | None:
    if "://" in where:
        with TemporaryDirectory(prefix="resourcesync-") as folder:
            return remote_status(where, Path(folder, "publication"))
    if needed and not Path(where).is_dir():
        message = f"{where} is neither a folder nor a URL: give an output folder, or the http(s) URL of a site"
        raise SettingsError(message)
    return local_status(Path(where))


#: Costs by the name of the set, then of the setting.
Costs = Mapping[str, Mapping[str, Cost]]

#: The text for a total without a limit.
_UNLIMITED = "and all are kept"


def estimates(volume: Volume, costs: Mapping[str, Cost] | None) -> Iterator[str]:
    """Yield a text on the cost of each setting for a set of that volume; without settings, on that of a dump."""
    yield f"all resources have {format_bytes(volume.resources)}"
    if costs is None:
        yield f"at most {format_bytes(most_of_dump(volume, Dumps().package_size))} a Resource Dump of them"
    for setting, cost in (costs or {}).items():
        yield f"{setting} ({_asked(cost.asked)}): {_cost(setting, cost)}"


def _asked(asked: bool | int | None) -> str:  # noqa: FBT001 - the value of a setting
    if isinstance(asked, bool):
        return "on" if asked else "off"
    return "all" if asked is None else f"{asked:,}"


def _cost(setting: str, cost: Cost) -> str:
    """Return a text on the maximum or average size."""
    each = f"{'at most' if setting.endswith('resourcedump') else 'about'} {format_bytes(cost.each)}"
    if setting.startswith("archives."):
        return (
            f"{each} for each closed range, {_UNLIMITED if cost.most is None else f'{format_bytes(cost.most)} in all'}"
        )
    if cost.most is None:
        return f"{each} for each publication with a change, {_UNLIMITED}"
    return f"{each} for each publication with a change, {format_bytes(cost.most)} with the one before"


def status_blocks(found: TargetStatus, costs: Costs) -> list[Block]:
    """Return at least one block; `costs` are those of the settings, empty where the settings are not known."""
    if found.publication is None:
        return [[("publication", str(found.problem))]]
    return [*_blocks(found.publication, costs)]


def _blocks(status: Status, costs: Costs) -> Iterator[Block]:
    lists = labelled("sets", [UNKNOWN] if status.capability_lists is None else status.capability_lists)
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
    restarts = f", restarted {format_count(status.start - 1, 'time')}" if status.start > 1 else ""
    yield "generation", f"{status.generation}{restarts}"
    landed = f", landed {render_datetime(status.landed)}" if status.landed else ""
    yield "commit", f"{status.commit or UNKNOWN}{landed}"
    yield "at", render_datetime(status.at) + (", which is in the future: see `previous` 'none'" if status.ahead else "")


def _lists(status: SetStatus) -> Iterator[tuple[str, str]]:
    yield "resources", f"{status.resources:,}"
    yield "changes", f"{status.changes:,} in {format_count(len(status.ranges), 'Change List')}"
    for each in status.ranges:
        until = render_datetime(each.until) if each.until else "open"
        yield "", f"{render_datetime(each.start)} to {until}: {each.changes:,}"
    if status.archived:
        yield "archived", ", ".join(f"{number:,} {kind}" for kind, number in status.archived.items())


def _sizes(sizes: Mapping[str, FileTotals], total: int) -> Block:
    texts = [f"{each.size:,} {kind}{f' ({each.number:,})' * (each.number > 1)}" for kind, each in sizes.items()]
    return labelled("bytes", [f"{total:,} in all", *texts])


def _estimates(status: SetStatus, costs: Costs) -> Block:
    return labelled("estimates", [*estimates(status.volume, costs.get(status.name))])


def _well_known(well_known: WellKnownStatus) -> str:
    is_right = {True: "is the Source Description", False: "is not the Source Description", None: UNKNOWN}
    outside = "" if well_known.in_site else ", outside the site, because SITEURL has a path"
    return f"{well_known.uri}: {is_right[well_known.right]}{outside}"
