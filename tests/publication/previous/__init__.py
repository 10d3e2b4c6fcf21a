"""Tests of finding, fetching and reading the previous publication."""
