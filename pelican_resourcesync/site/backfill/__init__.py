"""Backfill: past commits of the site, built one by one with today's tools, and published with their real bytes."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.site.backfill.history import built_history
    from pelican_resourcesync.site.backfill.run import BackfillOptions, BackfillSummary, run_backfill
else:
    __getattr__ = names_from(
        __name__,
        {
            "history": "built_history",
            "run": "BackfillOptions BackfillSummary run_backfill",
        },
    )

__all__ = ["BackfillOptions", "BackfillSummary", "built_history", "run_backfill"]
