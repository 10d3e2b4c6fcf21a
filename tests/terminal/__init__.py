"""Tests of what people at a terminal, and programs, are told."""
