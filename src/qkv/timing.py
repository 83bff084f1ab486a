"""Stop what runs for too long, in the process that it runs in."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

TOO_LONG = "Is there a loop that does not end, or a step that takes too long?"  # asked about what was stopped


class TimeUp(KeyboardInterrupt):
    """It has had its time. Whatever catches errors lets it through, as it lets through the key that interrupts."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after this time, with `TimeUp`.

    Outside the main thread, and where a system has neither timers nor threads, there is no limit.
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
    """Let the system's timer interrupt, and give it back as it was."""

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
    """Let a thread press the key that interrupts."""
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # in a web page there are no threads
        timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if timer.ident is None or timer.is_alive():  # it was the learner
            raise
        raise TimeUp from None
    finally:
        timer.cancel()
