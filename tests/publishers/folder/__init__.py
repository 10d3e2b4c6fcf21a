"""Tests of folders that any program built."""
