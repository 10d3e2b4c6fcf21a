"""Tests of the kinds of documents."""
