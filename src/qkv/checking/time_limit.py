"""Interrupt code that runs for too long, in the same process."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

TOO_LONG = "Is there a loop that does not end, or a step that takes too long?"  # added to messages about a timeout


class TimeUp(KeyboardInterrupt):
    """The time limit was reached. It is a KeyboardInterrupt, so that `except Exception` does not catch it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the block after this many seconds.

    There is no limit outside the main thread, or on a system that has neither timers nor threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif hasattr(signal, "setitimer"):
        with _alarm(seconds):
            yield
    else:
        with _interrupting_thread(seconds):
            yield


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block with the system's timer (SIGALRM), and restore the timer and its handler afterwards."""

    def interrupt(*_: Any) -> None:
        raise TimeUp

    handler = signal.signal(signal.SIGALRM, interrupt)
    before, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, before)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)


@contextlib.contextmanager
def _interrupting_thread(seconds: float) -> Iterator[None]:
    """Interrupt the block from another thread, which raises KeyboardInterrupt in the main thread."""
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # Python in a browser has no threads
        timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if timer.ident is None or timer.is_alive():  # the learner pressed Ctrl-C
            raise
        raise TimeUp from None
    finally:
        timer.cancel()
