"""What this package needs of the operating system and of Python: its modules are imported one by one, to start fast."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["WORK_FOLDER", "frozen_heap"]

#: The work folder next to the settings file, which is never a source; temporary files in an output begin so, too.
WORK_FOLDER = ".resourcesync"


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave what exists already out of the collection of garbage, which takes a quarter of the time otherwise."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
