"""Takedown: publish again without some resources."""

from pelican_resourcesync.publication.forget.forget import TakedownResult, forget_uris

__all__ = ["TakedownResult", "forget_uris"]
