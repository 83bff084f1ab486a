"""What an answer has of a hidden implementation: it can call it, within limits, and nothing else."""

from __future__ import annotations

import gc

import pytest
import torch

from qkv.grading.session import strip_case
from qkv.questions import chapters, questions_of
from qkv.sandboxed import wire
from qkv.sandboxed.cases import Case, call
from qkv.sandboxed.hidden import MAX_CALLS, MAX_MADE, MAX_NUMBERS, Hidden, behind
from qkv.sandboxed.observations import observe

OF_IMPLEMENTATIONS = [q for chapter in chapters() for q in questions_of(chapter).values() if q.of_implementations]


class Counter:
    """Counts up from a number."""

    def __init__(self, start):
        self.n = start

    def up(self, by=1):
        self.n = self.n + by
        return self.n


def doubled(x, y=0):
    return 2 * x + y


def keep(x):
    return x.add_(1)


DOUBLED = Hidden(lambda: doubled)
COUNTERS = Hidden(lambda start: lambda: Counter(start), (torch.tensor(5.0),), ("up",))


def test_it_can_be_called_by_position_and_by_name():
    handle = DOUBLED.handle()
    assert handle(3) == 6
    assert handle(y=torch.ones(2), x=torch.zeros(2)).tolist() == [1, 1]


def test_what_it_makes_has_the_methods_that_are_named_and_a_state():
    make = COUNTERS.handle()
    one, other = make(), make()
    assert [one.up().item(), one.up(by=2).item(), other.up().item()] == [6, 8, 6]
    for has, name in ((one, "n"), (one, "__dict__x"), (make, "up"), (DOUBLED.handle(), "__name__")):
        with pytest.raises(AttributeError):
            getattr(has, name)
    with pytest.raises(TypeError):
        one()


def test_nothing_is_shared_with_it_and_no_gradient_flows():
    x = torch.ones(2, requires_grad=True)
    out = Hidden(lambda: keep).handle()(x)
    assert (x.tolist(), out.tolist(), out.requires_grad) == ([1, 1], [2, 2], False)


def test_its_errors_are_its_callers():
    with pytest.raises(RuntimeError, match="size of tensor"):
        DOUBLED.handle()(torch.ones(2), torch.ones(3))


def test_calls_numbers_and_objects_are_limited():
    handle, make = DOUBLED.handle(), COUNTERS.handle()
    with pytest.raises(ValueError, match="100,000 numbers"):
        handle(torch.ones(MAX_NUMBERS), 1)
    for _ in range(MAX_CALLS):
        handle(1)
    with pytest.raises(RuntimeError, match="200 calls"):
        handle(1)
    for _ in range(MAX_MADE):
        make()
    with pytest.raises(RuntimeError, match="64 objects"):
        make()


@pytest.mark.parametrize("value", ["text", {1: 2}, open, torch.ones(2).numpy(), torch.ones(1) * 1j, [[[[1]]]]])
def test_tensors_and_numbers_alone_are_handed_over(value):
    with pytest.raises(TypeError):
        DOUBLED.handle()(value)


def test_each_run_has_a_handle_of_its_own_and_each_place_in_a_case_the_same():
    handles = []
    observe(lambda a, b: handles.append((a, b)), [Case(call(DOUBLED, DOUBLED))])
    assert [a is b for a, b in handles] == [True, True]
    assert handles[0][0] is not handles[1][0]
    assert behind(handles[0][0]) is DOUBLED


@pytest.mark.parametrize("question", OF_IMPLEMENTATIONS, ids=lambda question: question.id)
def test_what_goes_to_a_sandbox_says_nothing_of_what_is_hidden(question):
    """Two draws of other implementations, as many of them, are sent in the same bytes."""
    cases = [question.fresh_cases(seed) for seed in range(12)]
    sent = {len(some): wire.encode([strip_case(case) for case in some]) for some in cases}
    assert all(wire.encode([strip_case(case) for case in some]) == sent[len(some)] for some in cases)
    assert not any(case.name.encode() in sent[len(some)] for some in cases for case in some)


@pytest.mark.parametrize("question", OF_IMPLEMENTATIONS, ids=lambda question: question.id)
def test_every_implementation_can_be_collected_when_a_check_is_over(question):
    observe(question.reference, question.fresh_cases(1))
    gc.collect()
    assert not [thing for thing in gc.get_objects() if type(thing).__name__ == "Bench"]
