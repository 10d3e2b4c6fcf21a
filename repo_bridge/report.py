"""What came of publishing a repository, of a dry run or an import: the results, as text, and figures for Prometheus."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pelican_resourcesync.publication import ExpectedSet, Publication, replace_file
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.terminal import expectations, format_count, summaries
from repo_bridge.model import Reason
from repo_bridge.reading import ImportResult

#: At most this many of the files left out are listed in the text output.
_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCounts:
    """What is public: `items`, their `records` in all formats and their `files`; resources of others count as `files`.

    `left_out` has a sentence for each file without a version and in no dump because its bytes are not available, at
    most `files.MOST_LEFT_OUT` of all `left_out_count`. `notes` are information for the user.
    """

    items: int
    records: int
    files: int
    left_out: tuple[str, ...] = ()
    left_out_count: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeResult(PublicCounts):
    """What was published, by name of the set, in how many `seconds`; `warnings` are for the user to act on."""

    publications: Mapping[str, Publication]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenItems:
    """How many items are not public for the same reason, with handles of at most `MOST_EXAMPLES` of them."""

    items: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(PublicCounts):
    """What would be published, by name of the set; `stopped` is the message that would stop it, or empty.

    `hidden` are the items that are not public, by reason, and `hidden_files` the number of files of public items that
    are not.
    """

    sets: Mapping[str, ExpectedSet]
    stopped: str = ""
    hidden: Mapping[Reason, HiddenItems] = field(default_factory=dict)
    hidden_files: int = 0


def result_text(outcome: BridgeResult, where: str) -> str:
    """Return a summary of what was published at the URL `where`: a line for each set, then what is public."""
    notes = [note for each in outcome.publications.values() for note in each.notes]
    lines = [
        *summaries(outcome.publications, where, outcome.seconds),
        *_counts(outcome),
        *dict.fromkeys([*outcome.notes, *notes]),
    ]
    return "\n".join(map(printable, lines))


def dry_run_text(planned: DryRun) -> str:
    """Return a summary of what would be published, set by set with examples, and of what would stop it."""
    lines = [*expectations(planned.sets), *_counts(planned), *_hidden(planned), *planned.notes]
    if planned.stopped:
        lines.append(f"A safety check would stop this publication: {planned.stopped}")
    return "\n".join(map(printable, [*lines, "Nothing was written."]))


#: How people call the reasons, with the numbers of the rules in `docs/bridge.md`.
_REASONS = {
    Reason.WITHDRAWN: "withdrawn, rule 9",
    Reason.NOT_ARCHIVED: "not archived, like submissions and older versions, rules 1 and 19",
    Reason.PRIVATE: "private, rule 2",
    Reason.ENTITY: "of an entity type that is not published, rule 2",
    Reason.RESTRICTED: "not readable by everybody, rule 4",
    Reason.NOT_TODAY: "under an embargo or no longer readable, rule 5",
}


def _hidden(planned: DryRun) -> Iterator[str]:
    for reason, each in planned.hidden.items():
        examples = ", ".join(each.examples)
        yield f"Not public: {format_count(each.items, 'item')} ({_REASONS[reason]}), such as {examples}."
    if planned.hidden_files:
        yield f"Not public: {format_count(planned.hidden_files, 'file')} of public items (rules 4 to 6)."


def _counts(counts: PublicCounts) -> Iterator[str]:
    kinds = {"item": counts.items, "record": counts.records, "file": counts.files}
    public = ", ".join(format_count(number, noun) for noun, number in kinds.items() if number)
    yield f"Public: {public or 'nothing'}."
    if counts.left_out_count:
        files = format_count(counts.left_out_count, "file")
        yield f"Left out of dumps and versions, because of missing bytes: {files}."
        named = counts.left_out[:_NAMED]
        yield from (f"  {each}" for each in named)
        more = counts.left_out_count - len(named)
        if more > 0:
            yield f"  and {more:,} more"


def write_metrics(outcome: BridgeResult, file: Path) -> None:
    """Write the figures of a publication, and when it ended, to a file in Prometheus' text format.

    The file is replaced at once. Raises `PublicationError` if it cannot be written.
    """
    sets = outcome.publications.items()
    figures: dict[str, tuple[str, dict[str, float]]] = {
        "last_success_timestamp_seconds": ("When the last run that succeeded ended.", {"": int(time.time())}),
        "last_success_duration_seconds": ("How long it took.", {"": round(outcome.seconds, 3)}),
        "items": ("Public items.", {"": outcome.items}),
        "records": ("Records of public items.", {"": outcome.records}),
        "files": ("Public files.", {"": outcome.files}),
        "files_left_out": ("Files left out of dumps and versions.", {"": outcome.left_out_count}),
        "resources": ("Resources of a set.", {f'set="{name}"': each.resources for name, each in sets}),
        "changes": (
            "Changes that the last run published.",
            {f'set="{name}",kind="{kind}"': number for name, each in sets for kind, number in each.new.items()},
        ),
    }
    lines = []
    for name, (what, values) in figures.items():
        lines += [f"# HELP repo_bridge_{name} {what}", f"# TYPE repo_bridge_{name} gauge"]
        lines += [f"repo_bridge_{name}{{{labels}}} {value}" for labels, value in values.items()]
    replace_file(file, ("\n".join(lines) + "\n").replace("{} ", " ").encode())


def import_text(result: ImportResult, export: Path) -> str:
    """Return a text with the DSpace version of the dump and the number of rows of each table."""
    lines = [f"{export}: a repository of DSpace {result.version}"]
    lines += [f"  {table}: {format_count(number, 'row')}" for table, number in result.rows.items()]
    return "\n".join(lines)
