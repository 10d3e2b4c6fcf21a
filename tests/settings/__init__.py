"""Tests of the setting `RESOURCESYNC`."""
