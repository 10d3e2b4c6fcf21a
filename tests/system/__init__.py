"""Tests of the package system."""
