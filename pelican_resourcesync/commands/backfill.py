"""`backfill`: the settings given with `-e`, and what was built and published, in one line."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication.publish import Publication
from pelican_resourcesync.site.backfill import Outcome
from pelican_resourcesync.terminal.words import counted


def parse_extra(texts: Sequence[str]) -> Mapping[str, Any]:
    """Read settings as Pelican's `-e` has them, `KEY=VALUE` with a value in JSON; the last of each key counts."""
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
                f"-e {key} has {value!r}, which is no JSON: give -e {key}='\"text\"' for a text, else 5, true or null"
            )
            raise SettingsError(message) from error
    return found


def as_text(done: Outcome) -> str:
    """Say how many commits were built, what is published of them, set by set, and where."""
    skipped = f"{len(done.skipped):,} skipped"
    if not done.publications:
        total = counted(done.built + done.known, "commit")
        return (
            f"Nothing new: {total} built before, {skipped}, and what was published of them for {done.where} lies in "
            f"{done.output}."
        )
    known = f" ({done.known:,} more before)" if done.known else ""
    sets = " and ".join(_set(name, each, alone=len(done.publications) == 1) for name, each in done.publications.items())
    return (
        f"{counted(done.built, 'commit')} built{known}, {skipped}; {sets} for {done.where} lie in {done.output}: "
        "publish that folder."
    )


def _set(name: str, publication: Publication, *, alone: bool) -> str:
    return (
        f"{'' if alone else f'{name}: '}{counted(publication.resources, 'resource')}, "
        f"{counted(publication.changes, 'change')} in {counted(publication.ranges, 'Change List')}"
    )
