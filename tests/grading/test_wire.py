"""What crosses to the worker and back: plain data, whole, bounded, and never code."""

from __future__ import annotations

import json
import pickle
import socket

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.grading.sandboxed import wire
from qkv.observing import Case, OtherValue, Provided, Raised, Seeded, Trace, call, load, make, method, trace
from qkv.questions import chapters, questions_of

EVERY = [question for chapter in chapters() for question in questions_of(chapter).values()]
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


def there_and_back(value):
    return wire.decode(wire.encode(value)[8:])


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
def test_every_questions_cases_can_be_sent_and_give_the_same_traces(question, monkeypatch):
    monkeypatch.setattr(wire, "made_from", wire.make_from_source)
    cases = question.fresh_cases(11)
    sent = there_and_back(cases)
    mine, theirs = (trace(question.reference, these, question.gradients)[0] for these in (cases, sent))
    for a, b in zip(mine, theirs, strict=True):
        assert wire.encode([a.results, a.generators, a.handed]) == wire.encode([b.results, b.generators, b.handed])


def test_what_a_case_names_twice_is_one_thing_on_the_other_side(monkeypatch):
    monkeypatch.setattr(wire, "made_from", wire.make_from_source)
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


def test_the_grader_takes_no_code():
    frame = wire.encode(Case(call(Provided(Counter, (torch.ones(1),)))))[8:]
    with pytest.raises(wire.WireError, match="code"):
        wire.decode(frame)


def frame(tree: object, blob: bytes = b"") -> bytes:
    text = json.dumps(tree).encode()
    return len(text).to_bytes(4, "big") + text + blob


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\5abc",
        pickle.dumps({"a": 1}),
        frame({"a": 1}),
        frame(["object", 1]),
        frame(["__import__", "os"]),
        frame(["Seeded", "x"]),
        frame(["same", 4]),
        frame(["tensor", "float32", 10]),
        frame(["tensor", "float32", -1], b"1234"),
        frame(["tensor", "float32", True], b"1234"),
        frame(["tensor", "object", 1], b"12345678"),
        frame(["tensor", "float32", *[2**30] * 5]),
        frame(["tensor", "bool", 1], b"\7"),
        frame(["dict", ["a"]]),
        frame(["Case"]),
        frame(["Trace", *range(40)]),
        frame(["list", *[0] * (wire.MAX_PARTS + 1)]),
        b"\0\1\0\0" + b"[" * 65536,
        frame([]),
    ],
)  # fmt: skip
def test_what_is_no_frame_is_refused(data):
    with pytest.raises(wire.WireError):
        wire.decode(data)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 255))
def test_damage_is_refused_or_gives_plain_data(noise, at, byte):
    one = Trace(results=(torch.ones(2, 2), OtherValue("thing", "text"), 3), raised=Raised(("ValueError",), "x"))
    data = bytearray(wire.encode({"id": 1, "first": [one]})[8:])
    data[at % len(data)] = byte
    for damaged in (bytes(data), bytes(data[: at % len(data)]), noise):
        try:
            wire.decode(damaged)
        except wire.WireError:
            continue


def test_only_plain_things_are_sent():
    for thing in (object(), lambda: 0, torch.zeros(1, dtype=torch.complex64)):
        with pytest.raises(wire.WireError):
            wire.encode([thing])


def test_waiting_ends_in_time_and_when_the_other_side_is_gone():
    ours, theirs = socket.socketpair()
    with pytest.raises(TimeoutError):
        wire.receive(ours, 0.05)
    theirs.sendall((2**40).to_bytes(8, "big"))
    with pytest.raises(wire.WireError, match="a frame of"):
        wire.receive(ours, 1)
    theirs.close()
    with pytest.raises(wire.EndedError):
        wire.receive(ours, 1)
    with pytest.raises(wire.EndedError):
        wire.send(ours, {"big": torch.zeros(10**6)})
    ours.close()


def test_a_case_of_a_class_can_be_sent():
    case = Case(
        (make(3), load({"w.weight": torch.ones(2, 2)}), call(torch.ones(2))), raises="ValueError", tolerance=0.1
    )
    back = there_and_back(case)
    assert (back.raises, back.tolerance, back.name) == ("ValueError", 0.1, "plain")
    assert torch.equal(back.script[1].kwargs["w.weight"], torch.ones(2, 2))
