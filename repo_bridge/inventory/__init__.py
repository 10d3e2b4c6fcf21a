"""The inventory: the public resources of a repository, stored on disk, and the cache kept for the next run."""
