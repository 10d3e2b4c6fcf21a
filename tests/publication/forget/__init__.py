"""Tests of takedowns."""
