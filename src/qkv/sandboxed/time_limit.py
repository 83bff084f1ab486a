"""The time limit of code that may never end: processor time, with the clock as a backstop.

Processor time does not depend on what else the machine does, so a busy machine costs no points. Code that waits uses
none, so the clock ends it after four times as long.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
import time
from _signal import signal as set_handler  # as `signal.signal`, but with integers for enums, whose making takes long
from collections.abc import Callable, Iterator
from typing import Any

CLOCK_FACTOR = 4  # the limit by the clock is this many times the limit of processor time
POLL_SECONDS = 0.05  # between two measurements, on a system without timers

# The system's timers of a process, by the signal that they send. Windows has neither.
TIMERS = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL} if hasattr(signal, "SIGPROF") else {}


class TimeUp(KeyboardInterrupt):
    """The time limit was reached. It is a KeyboardInterrupt, so that `except Exception` does not catch it."""

    def __init__(self, seconds: float, *, of_processor: bool = False) -> None:
        super().__init__(f"{seconds:g} s{' of processor time' if of_processor else ''}")
        self.seconds = seconds


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the block after this much processor time, or after `CLOCK_FACTOR` times that by the clock.

    There is no limit outside the main thread. In a block inside another one, only the inner limit counts, and the time
    of the outer one stands still. Two kinds of systems differ. Without timers (Windows), the outer limit counts too;
    the block gets a KeyboardInterrupt, which becomes `TimeUp` at its end. Python in a browser has neither timers nor
    threads, and cannot read its processor time: there, only the clock counts, which goes on in an inner block, and it
    interrupts a loop of code that is in no file, such as a notebook's cell.
    """
    if threading.current_thread() is not threading.main_thread():  # only there can a signal's handler be set
        yield
    elif hasattr(signal, "setitimer"):
        with _timers(seconds):
            yield
    elif sys.platform == "emscripten":
        with _watched_loops(seconds):
            yield
    else:
        with _interrupting_thread(seconds):
            yield


@contextlib.contextmanager
def timers_paused() -> Iterator[None]:
    """Stop the timers of the enclosing block, and let them go on afterwards. The system must have `setitimer`."""
    left = [(timer, signal.setitimer(timer, 0)[0]) for timer in TIMERS.values()]
    try:
        yield
    finally:
        for timer, seconds in left:
            signal.setitimer(timer, seconds)


@contextlib.contextmanager
def _timers(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the block by the system's timers, and restore the timers and their handlers afterwards."""

    def interrupt(number: int, _: Any) -> None:
        by_clock = number == signal.SIGALRM
        raise TimeUp(CLOCK_FACTOR * seconds) if by_clock else TimeUp(seconds, of_processor=True)

    with timers_paused():
        handlers = [(number, set_handler(number, interrupt)) for number in TIMERS]
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, CLOCK_FACTOR * seconds)
        try:
            yield
        finally:
            for timer in TIMERS.values():
                signal.setitimer(timer, 0)
            for number, handler in handlers:
                set_handler(number, handler or int(signal.SIG_DFL))


@contextlib.contextmanager
def _interrupting_thread(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` at the end of the block if another thread has interrupted it, where the system has no timers.

    That thread raises KeyboardInterrupt in the main thread. An interrupt from the keyboard is raised as it is.
    """
    ended, interrupted = threading.Event(), threading.Event()
    watch = threading.Thread(target=_watch, args=(seconds, ended, interrupted.set), daemon=True)
    watch.start()
    try:
        yield
    except KeyboardInterrupt:
        if not interrupted.is_set():  # the learner pressed Ctrl-C
            raise
        raise TimeUp(seconds) from None
    finally:
        ended.set()


@contextlib.contextmanager
def _watched_loops(seconds: float) -> Iterator[None]:
    """Read the clock whenever a loop in code without a file jumps back, and raise `TimeUp` there when the time is up.

    It is up after CLOCK_FACTOR times these seconds. Loops of modules are not watched after their first jump, so that
    they run at full speed.
    """
    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]  # from Python 3.12 on
    tool, jumps = monitoring.PROFILER_ID, monitoring.events.JUMP
    end = time.monotonic() + CLOCK_FACTOR * seconds

    def at_jump(code: Any, *_: int) -> Any:
        if not code.co_filename.startswith("<"):
            return monitoring.DISABLE
        if time.monotonic() > end:
            raise TimeUp(CLOCK_FACTOR * seconds)
        return None

    is_inside_another = monitoring.get_tool(tool) is not None
    if not is_inside_another:
        monitoring.use_tool_id(tool, __name__)
        monitoring.set_events(tool, jumps)
    before = monitoring.register_callback(tool, jumps, at_jump)
    try:
        yield
    finally:
        monitoring.register_callback(tool, jumps, before)
        if not is_inside_another:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)


def _watch(seconds: float, ended: threading.Event, on_time_up: Callable[[], None]) -> None:
    """Interrupt the main thread once the time is up, and call `on_time_up` right before.

    Return early if the block has ended.
    """
    processor, clock = time.process_time() + seconds, time.monotonic() + CLOCK_FACTOR * seconds
    while time.process_time() < processor and time.monotonic() < clock:
        if ended.wait(POLL_SECONDS):
            return
    on_time_up()
    _thread.interrupt_main()
