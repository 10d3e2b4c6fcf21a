"""What uploads are tested with everywhere."""

from tests.delivery.upload.conftest import folder, server

__all__ = ["folder", "server"]
