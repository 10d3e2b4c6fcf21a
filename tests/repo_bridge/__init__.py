"""The bridge from a repository's database."""
