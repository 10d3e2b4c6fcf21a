"""Publishes a repository's database as a ResourceSync Source, with the same documents as for a Pelican site.

The bridge publishes through ``pelican_resourcesync.publication`` and does not depend on Pelican or git.
"""
