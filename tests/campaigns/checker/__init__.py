"""Mutated documents, and every combination of settings."""
