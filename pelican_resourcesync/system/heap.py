"""The collection of garbage while a site is published."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave what exists already out of the collection of garbage, which takes a quarter of the time otherwise."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
