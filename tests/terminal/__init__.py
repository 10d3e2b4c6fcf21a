"""Tests of the output for terminals and for programs."""
