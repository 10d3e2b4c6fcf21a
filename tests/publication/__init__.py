"""Tests of one set of resources published over time."""
