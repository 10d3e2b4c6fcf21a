"""Backfill: past commits of the site, built one by one with today's tools, and published with their real bytes."""

from pelican_resourcesync.publishers.pelican.backfill.run import BackfillSummary, run_backfill

__all__ = ["BackfillSummary", "run_backfill"]
