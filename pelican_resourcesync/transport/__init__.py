"""Bytes from a folder, hashed as they pass."""
