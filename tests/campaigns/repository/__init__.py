"""A repository that lives, and is published through kills and power failures."""
