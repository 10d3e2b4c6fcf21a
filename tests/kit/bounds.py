"""What one example may take: 100 MB of memory, and time in proportion to its size."""

import faulthandler
import gc
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import process_time

import pytest

MEMORY = 100_000_000
#: Guards against hanging, over ten times what the slowest example takes: seconds of the processor, and of the clock.
_HANGS, _STUCK = 100.0, 900.0
_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@contextmanager
def bounded(memory: int = MEMORY, hangs: float = _HANGS) -> Iterator[None]:
    """Fail the test where what is inside takes more memory than it may, or hangs.

    Hanging is measured in seconds of the processor, so that a busy machine is no hang, and without what Python collects
    of examples before; what hangs without using it, or where no handler is ever called, ends the whole run. Memory is
    what the kernel says that the process had more than before, at most; where there is no such kernel, what Python had.
    """
    faulthandler.dump_traceback_later(_STUCK, exit=True)
    late: list[str] = []
    before = signal.signal(signal.SIGPROF, partial(_late, late))
    gc.freeze()
    measure = _by_kernel if _REFERENCES.exists() else _by_python
    signal.setitimer(signal.ITIMER_PROF, hangs)
    try:
        with measure(memory):
            yield
        assert not late, "what the handler raised was lost"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.unfreeze()
        faulthandler.cancel_dump_traceback_later()


def require_linear(work: Callable[[int], object], size: int) -> None:
    """Fail the test where work of eight times the size takes more than 24 times as long; quadratic work takes 64 times.

    Each is done three times, and the shortest counts; the time of small work is that of its parts that do not grow.
    """
    small, large = (min(_seconds(work, each) for _ in range(3)) for each in (size, 8 * size))
    assert large < 24 * max(small, 0.002)


def _seconds(work: Callable[[int], object], size: int) -> float:
    begin = process_time()
    work(size)
    return process_time() - begin


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
