"""Follow a Source from a program, without a copy."""

from pelican_resourcesync.destination.following.following import Change, Following, follow

__all__ = ["Change", "Following", "follow"]
