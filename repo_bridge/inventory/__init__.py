"""The inventory: what a repository has for everybody, as resources, on disk; and what is kept for the next time."""
