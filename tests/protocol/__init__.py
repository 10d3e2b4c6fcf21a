"""Tests of documents, out and in."""
