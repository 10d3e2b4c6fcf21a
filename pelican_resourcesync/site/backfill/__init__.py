"""Backfill: the site's past, built commit by commit with today's tools, and published with the bytes that it had."""
