"""Tests of what is known of a site: its build, its sources and its history."""
