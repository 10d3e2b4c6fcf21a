"""The `backfill` command: parsing of `-e` settings, and a one-line summary of what was built and published."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Publication
from pelican_resourcesync.site import BackfillSummary
from pelican_resourcesync.terminal import format_count


def parse_extra(texts: Sequence[str]) -> Mapping[str, Any]:
    """Parse settings in the form of Pelican's `-e`, `KEY=VALUE` with a JSON value. The last value of a key wins."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            message = f"-e is {text!r}: give it as KEY=VALUE, such as -e SITENAME='\"My site\"'"
            raise SettingsError(message)
        try:
            found[key] = json.loads(value)
        except ValueError as error:
            message = (
                f"-e {key} has {value!r}, which is not JSON: write -e {key}='\"text\"' for text, or 5, true or null"
            )
            raise SettingsError(message) from error
    return found


def as_text(done: BackfillSummary) -> str:
    """Return a summary: how many commits were built, what was published for each set, and where."""
    skipped = f"{len(done.skipped):,} skipped"
    if not done.publications:
        total = format_count(done.built + done.known, "commit")
        return (
            f"Nothing new: {total} built before, {skipped}. The publication for {done.where} is already in "
            f"{done.output}."
        )
    known = f" ({done.known:,} more before)" if done.known else ""
    sets = " and ".join(_set(name, each, alone=len(done.publications) == 1) for name, each in done.publications.items())
    return (
        f"{format_count(done.built, 'commit')} built{known}, {skipped}. Published for {done.where}: {sets}. "
        f"Upload the folder {done.output}."
    )


def _set(name: str, publication: Publication, *, alone: bool) -> str:
    return (
        f"{'' if alone else f'{name}: '}{format_count(publication.resources, 'resource')}, "
        f"{format_count(publication.changes, 'change')} in {format_count(publication.ranges, 'Change List')}"
    )
