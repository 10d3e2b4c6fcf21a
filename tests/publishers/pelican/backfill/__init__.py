"""Backfill: the past built again and published, on real sites and beside the witness."""
