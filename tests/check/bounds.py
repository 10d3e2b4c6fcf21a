"""What one example may take: a second of the processor, and 100 MB of memory."""

import faulthandler
import gc
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

SECONDS, MEMORY, HANGS = 1.0, 100_000_000, 60.0
_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@contextmanager
def bounded(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Fail the test where what is inside takes longer, or more, than it may.

    Time is that of the processor, so that a busy machine is no hang, and without what Python collects of examples
    before; what hangs without using it, or where no handler is ever called, ends the whole run after a minute. Memory
    is what the kernel says that the process had more than before, at most; where there is no such kernel, what Python
    had.
    """
    faulthandler.dump_traceback_later(HANGS, exit=True)
    late: list[str] = []
    before = signal.signal(signal.SIGPROF, partial(_late, late))
    gc.freeze()
    measure = _by_kernel if _REFERENCES.exists() else _by_python
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with measure(memory):
            yield
        assert not late, "what the handler raised was lost"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.unfreeze()
        faulthandler.cancel_dump_traceback_later()


def _late(late: list[str], *_: object) -> None:
    late.append("late")
    # No `Exception`, so that nothing that is tested can take it for its own.
    pytest.fail("it takes longer than it may")


@contextmanager
def _by_kernel(memory: int) -> Iterator[None]:
    _REFERENCES.write_text("5", "ascii")  # the peak begins anew
    before = _peak()
    yield
    assert _peak() - before <= memory


def _peak() -> int:
    line = next(line for line in _STATUS.read_text("ascii").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@contextmanager
def _by_python(memory: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= memory
    finally:
        tracemalloc.stop()
