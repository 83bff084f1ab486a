"""The time limit: processor time counts, the clock only ends what waits, and an outer limit stands still inside."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from qkv.sandboxed import time_limit
from qkv.sandboxed.time_limit import TimeUp, at_most

WAYS = ["the system's timers", "a thread"]  # the second for systems without timers, such as Windows


@pytest.fixture(params=WAYS)
def limit(request: pytest.FixtureRequest):
    """Return the context manager of one way to limit time."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in its background
    yield at_most if request.param == WAYS[0] else time_limit._interrupting_thread
    signal.signal(signal.SIGINT, before)


def busy(seconds: float) -> None:
    """Use this much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def wait(seconds: float) -> None:
    """Wait in short steps: where a thread interrupts, it interrupts between two of them."""
    for _ in range(round(seconds / 0.05)):
        time.sleep(0.05)


def nested() -> None:
    """Use an inner limit, and then more time than the outer one allows."""
    with at_most(5):
        busy(0.01)
    busy(5)


def test_a_loop_without_an_end_is_interrupted(limit):
    with pytest.raises(TimeUp), limit(0.05):
        busy(1e9)


def test_waiting_costs_no_processor_time_and_the_clock_ends_it_at_last(limit):
    with limit(0.2):
        time.sleep(0.4)  # a busy machine does this to an answer
    with pytest.raises(TimeUp), limit(0.05):
        wait(50)


def test_what_ends_in_time_is_not_interrupted_later(limit):
    with limit(0.2):
        busy(0.01)
    busy(0.4)


def test_the_time_of_an_outer_limit_stands_still_inside():
    with at_most(0.3):
        with at_most(5):
            busy(0.5)
        with pytest.raises(TimeUp), at_most(0.05):
            busy(5)
    with pytest.raises(TimeUp), at_most(0.1):
        nested()


def test_handlers_and_timers_are_as_before():
    before = {number: signal.getsignal(number) for number in time_limit.TIMERS}
    with pytest.raises(TimeUp), at_most(0.01):
        busy(1)
    assert {number: signal.getsignal(number) for number in time_limit.TIMERS} == before
    assert all(signal.getitimer(timer) == (0, 0) for timer in time_limit.TIMERS.values())


def test_the_keyboard_is_not_the_time_limit(limit):
    with pytest.raises(KeyboardInterrupt) as raised, limit(5):
        raise KeyboardInterrupt
    assert not isinstance(raised.value, TimeUp)


def test_outside_the_main_thread_there_is_no_limit():
    ended = []

    def run() -> None:
        with at_most(0.01):
            busy(0.1)
        ended.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended
