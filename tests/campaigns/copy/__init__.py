"""Copies that are killed, or end with a power failure."""
