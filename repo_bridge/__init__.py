"""A repository database becomes a ResourceSync Source, with the same publication as a Pelican site's.

The place of the bridge: it publishes through ``pelican_resourcesync.publication`` and knows neither Pelican nor git.
"""
