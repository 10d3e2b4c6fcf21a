"""Tests of what of an HTML page is its content."""
