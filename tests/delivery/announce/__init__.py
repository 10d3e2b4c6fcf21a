"""Tests of what search engines are told."""
