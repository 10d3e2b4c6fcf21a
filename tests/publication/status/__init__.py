"""Tests of the status of publications."""
