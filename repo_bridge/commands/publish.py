"""`publish`: what was published of a repository, or would be."""

from collections.abc import Iterator

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.terminal import format_count, printable, summaries
from repo_bridge.outcome import Counts, Expected, Foresight, Outcome

#: At most this many of the files left out are listed in the text output.
_NAMED = 10


def outcome_text(outcome: Outcome, where: str) -> str:
    """Return a summary of what was published at the URL `where`: a line for each set, then what is public."""
    notes = [note for each in outcome.publications.values() for note in each.notes]
    lines = [
        *summaries(outcome.publications, where, outcome.seconds),
        *_counts(outcome),
        *dict.fromkeys([*outcome.notes, *notes]),
    ]
    return "\n".join(map(printable, lines))


def foresight_text(foresight: Foresight) -> str:
    """Return a summary of what would be published, set by set with examples, and of what would stop it."""
    lines = [line for name, each in foresight.sets.items() for line in _expected(name, each)]
    lines += [*_counts(foresight), *foresight.notes]
    if foresight.stopped:
        lines.append(f"This would stop: {foresight.stopped}")
    return "\n".join(map(printable, [*lines, "Nothing was written."]))


def _expected(name: str, expected: Expected) -> Iterator[str]:
    changes = ", ".join(f"{expected.changes[kind]:,} {kind}" for kind in ChangeKind if expected.changes.get(kind))
    news = "first publication" if expected.first else f"{changes or 'nothing changed'} since the last publication"
    yield f"{name}: {format_count(expected.resources, 'resource')}; {news}."
    examples = {"such as": expected.listed, **{str(kind): each for kind, each in expected.examples.items()}}
    for what, uris in examples.items():
        yield from (f"  {what}: {uri}" for uri in uris)


def _counts(counts: Counts) -> Iterator[str]:
    kinds = {"item": counts.items, "record": counts.records, "file": counts.files}
    public = ", ".join(format_count(number, noun) for noun, number in kinds.items() if number)
    yield f"Public: {public or 'nothing'}."
    if counts.left_out_count:
        yield f"Left out of dumps, because the bytes cannot be had: {format_count(counts.left_out_count, 'file')}."
        named = counts.left_out[:_NAMED]
        yield from (f"  {each}" for each in named)
        more = counts.left_out_count - len(named)
        if more > 0:
            yield f"  and {more:,} more"
