"""Fetch files over HTTP within limits, and measure, link or copy files on disk."""
