"""Tests of the Destination."""
