"""Tests of bytes from elsewhere."""
