"""What crosses to the worker and back: plain data, whole, bounded, and never code."""

from __future__ import annotations

import pickle
import re
import socket
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv import grading
from qkv.grading.session import benches_of
from qkv.questions import chapters, questions_of
from qkv.sandboxed import wire
from qkv.sandboxed.cases import Case, Provided, Seeded, call, load, make, method
from qkv.sandboxed.running import trace

EVERY = [question for chapter in chapters() for question in questions_of(chapter).values()]
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


def there_and_back(value, ask=None):
    return wire.decode(wire.encode(value)[8:], ask)


@settings(max_examples=50, deadline=None)
@given(PLAIN)
def test_plain_data_comes_back_as_it_was(value):
    assert there_and_back(value) == value


@pytest.mark.parametrize("dtype", wire.DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)], ids=str)
def test_tensors_come_back_to_the_bit(dtype, shape):
    tensor = (torch.randn(shape) * 3).to(dtype)
    back = there_and_back({"x": [tensor, tensor.mT if tensor.ndim > 1 else tensor]})["x"]
    assert back[0].dtype == dtype
    assert torch.equal(back[0], tensor)
    assert torch.equal(back[1], tensor.mT if tensor.ndim > 1 else tensor)


def test_nan_and_infinity_come_back():
    back = there_and_back([float("inf"), float("nan"), torch.tensor([float("nan"), -float("inf")])])
    assert back[0] == float("inf")
    assert back[1] != back[1]
    assert torch.equal(back[2].isnan(), torch.tensor([True, False]))


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)
def test_every_questions_cases_can_be_sent_and_give_the_same_traces(question):
    cases = question.fresh_cases(11)
    benches = benches_of(cases)
    sent = there_and_back(cases, lambda of, *asked: benches[of].ask(*asked))
    mine, theirs = (trace(question.reference, these, question.gradients)[0] for these in (cases, sent))
    for a, b in zip(mine, theirs, strict=True):
        assert wire.encode([a.results, a.generators, a.handed]) == wire.encode([b.results, b.generators, b.handed])


def test_what_a_case_names_twice_is_one_thing_on_the_other_side():
    seeded, held = Seeded(3), Provided(Counter, (torch.ones(1),))
    steps = (call(seeded, held), method("__len__", on=held), call(seeded))
    back = there_and_back(Case(steps))
    assert back.script[0].args[0] is back.script[2].args[0]
    assert back.script[0].args[1] is back.script[1].on


class Counter:
    def __init__(self, start):
        self.n = int(start)

    def __len__(self):
        return self.n


def frame(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\5abc",
        pickle.dumps({"a": 1}),
        frame(b"[1,"),
        frame(b"[" * 65536),
        frame(b"[" + b"0," * wire.MAX_PARTS + b"0]"),
        frame(b"1" * 5000),
        (2**31).to_bytes(4, "big"),
    ],
)
def test_what_is_no_frame_is_not_opened(data):
    with pytest.raises(wire.WireError):
        wire.parse_frame(data)


def test_a_truth_value_is_one():
    with pytest.raises(wire.WireError):
        wire.tensor_of(b"\7", torch.bool, (1,))


def test_code_is_made_in_the_sandbox_alone():
    """The grader opens frames; what makes objects of them is called by the worker, and by nothing of the course."""
    ours = Path(grading.__file__).parent.glob("*.py")
    assert [path.name for path in ours if re.search(r"wire\.(decode|receive)\(", path.read_text())] == []


def test_only_plain_things_are_sent():
    for thing in (object(), lambda: 0, torch.zeros(1, dtype=torch.complex64)):
        with pytest.raises(wire.WireError):
            wire.encode([thing])


def test_waiting_ends_in_time_and_when_the_other_side_is_gone():
    ours, theirs = socket.socketpair()
    with pytest.raises(TimeoutError):
        wire.receive_frame(ours, 0.05)
    theirs.sendall((2**40).to_bytes(8, "big"))
    with pytest.raises(wire.WireError, match="a frame of"):
        wire.receive_frame(ours, 1)
    with pytest.raises(TimeoutError):
        wire.send(ours, {"nobody reads": torch.zeros(10**6)}, 0.05)
    theirs.close()
    with pytest.raises(wire.EndedError):
        wire.receive_frame(ours, 1)
    with pytest.raises(wire.EndedError):
        wire.send(ours, {"big": torch.zeros(10**6)})
    ours.close()


def test_of_random_states_a_trace_sends_hashes_that_are_equal_where_they_are():
    def draws(x):
        return x + torch.rand(3)

    case = Case(call(torch.ones(3)))
    for answer, equal in ((lambda x: x, True), (draws, False)):
        message = wire.encode(trace(answer, [case])[0])
        before, after = wire.decode(message[8:])[0].random_states
        assert (before == after) == equal
        assert len(before) == len(after) == 64
        assert len(message) < 2_000


def test_a_case_of_a_class_can_be_sent():
    case = Case(
        (make(3), load({"w.weight": torch.ones(2, 2)}), call(torch.ones(2))), raises="ValueError", tolerance=0.1
    )
    back = there_and_back(case)
    assert (back.raises, back.tolerance, back.name) == ("ValueError", 0.1, "plain")
    assert torch.equal(back.script[1].kwargs["w.weight"], torch.ones(2, 2))


def test_a_value_that_was_encoded_before_arrives_as_it_would_have() -> None:
    value = [torch.arange(3.0), {"a": torch.ones(2, dtype=torch.bfloat16)}, "text", Seeded(5)]
    message = {"before": torch.zeros(2), "after": torch.ones(1, dtype=torch.bool)}
    assert wire.encode({"value": wire.preencode(value), **message}) == wire.encode({**message, "value": value})
