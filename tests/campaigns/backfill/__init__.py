"""Backfills that are killed, or end with a power failure."""
