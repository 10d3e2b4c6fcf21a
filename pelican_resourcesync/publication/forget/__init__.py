"""Removing resources from everything that is published."""
