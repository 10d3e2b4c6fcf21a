"""Let SIGTERM end a command as Ctrl+C does, so that temporary files are removed and what is complete is recorded."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import current_thread, main_thread


@contextmanager
def stopping() -> Iterator[list[int]]:
    """Raise `KeyboardInterrupt` for both signals; yield a list of those received.

    Signals that are ignored stay ignored. Outside the main thread, no signals are handled.
    """
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        raise KeyboardInterrupt

    with ExitStack() as stack:
        for each in (signal.SIGTERM, signal.SIGINT) if current_thread() is main_thread() else ():
            before = signal.getsignal(each)
            if before in (signal.SIG_DFL, signal.default_int_handler):
                stack.callback(signal.signal, each, before)
                signal.signal(each, stop)
        yield came
