"""Tests of the values of a publication."""
