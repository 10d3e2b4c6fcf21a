"""`backfill`: what was built and published, in one line."""

import os

from pelican_resourcesync.publication.publish import Publication
from pelican_resourcesync.site.backfill.backfill import Outcome
from pelican_resourcesync.terminal.words import counted


def default_jobs() -> int:
    """Give how many builds run at a time where the user does not say."""
    return min(4, os.cpu_count() or 1)


def as_text(done: Outcome) -> str:
    """Say how many commits were built, what is published of them, set by set, and where."""
    known = f", {done.known:,} of them before" if done.known else ""
    sets = " and ".join(_set(name, each, alone=len(done.publications) == 1) for name, each in done.publications.items())
    return (
        f"{counted(done.built, 'commit')} built{known}, {len(done.skipped):,} skipped; {sets} for {done.where} lie in "
        f"{done.output}: publish that folder."
    )


def _set(name: str, publication: Publication, *, alone: bool) -> str:
    return (
        f"{'' if alone else f'{name}: '}{counted(publication.resources, 'resource')}, "
        f"{counted(publication.changes, 'change')} in {counted(publication.ranges, 'Change List')}"
    )
