"""What uploads are tested with everywhere."""

from tests.delivery.upload.conftest import folder

__all__ = ["folder"]
