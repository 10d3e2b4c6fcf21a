"""Results as text: what was published, what would be, and what was imported."""

import time
from collections.abc import Iterator
from pathlib import Path

from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import replace_file
from pelican_resourcesync.terminal import format_count, summaries
from repo_bridge.model import Reason
from repo_bridge.reading import ImportResult
from repo_bridge.result import Counts, DryRun, ExpectedSet, Result

#: At most this many of the files left out are listed in the text output.
_NAMED = 10


def result_text(outcome: Result, where: str) -> str:
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
    lines = [line for name, each in planned.sets.items() for line in _expected(name, each)]
    lines += [*_counts(planned), *_hidden(planned), *planned.notes]
    if planned.stopped:
        lines.append(f"A safety check would stop this publication: {planned.stopped}")
    return "\n".join(map(printable, [*lines, "Nothing was written."]))


def _expected(name: str, expected: ExpectedSet) -> Iterator[str]:
    changes = ", ".join(f"{expected.changes[kind]:,} {kind}" for kind in ChangeKind if expected.changes.get(kind))
    news = "first publication" if expected.first else f"{changes or 'nothing changed'} since the last publication"
    yield f"{name}: {format_count(expected.resources, 'resource')}; {news}."
    examples = {"listed, for example": expected.listed, **{str(kind): each for kind, each in expected.examples.items()}}
    for what, uris in examples.items():
        yield from (f"  {what}: {uri}" for uri in uris)


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


def _counts(counts: Counts) -> Iterator[str]:
    kinds = {"item": counts.items, "record": counts.records, "file": counts.files}
    public = ", ".join(format_count(number, noun) for noun, number in kinds.items() if number)
    yield f"Public: {public or 'nothing'}."
    if counts.left_out_count:
        yield f"Left out of dumps, because of missing bytes: {format_count(counts.left_out_count, 'file')}."
        named = counts.left_out[:_NAMED]
        yield from (f"  {each}" for each in named)
        more = counts.left_out_count - len(named)
        if more > 0:
            yield f"  and {more:,} more"


def write_metrics(outcome: Result, file: Path) -> None:
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
        "files_left_out": ("Files left out of dumps.", {"": outcome.left_out_count}),
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
