"""Uploads that are disturbed at every step."""
