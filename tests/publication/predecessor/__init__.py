"""Tests of the search for what is gone on from."""
