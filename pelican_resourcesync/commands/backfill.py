"""`backfill`: what was built and published, in one line."""

import os

from pelican_resourcesync.commands.words import counted
from pelican_resourcesync.site.backfill.backfill import Outcome


def default_jobs() -> int:
    """Give how many builds run at a time where the user does not say."""
    return min(4, os.cpu_count() or 1)


def as_text(done: Outcome) -> str:
    """Say how many commits were built, what is published of them, and where."""
    publication = done.publication
    known = f", {done.known:,} of them before" if done.known else ""
    return (
        f"{counted(done.built, 'commit')} built{known}, {len(done.skipped):,} skipped; "
        f"{counted(publication.resources, 'resource')}, {counted(publication.changes, 'change')} in "
        f"{counted(publication.ranges, 'Change List')} for {done.where} lie in {done.output}: publish that folder."
    )
