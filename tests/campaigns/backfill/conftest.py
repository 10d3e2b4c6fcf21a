"""What backfills are tested with everywhere."""

from tests.publishers.pelican.backfill.conftest import temporary

__all__ = ["temporary"]
