"""What a session says is read by one strict schema: what does not fit is refused, and gives nobody a point."""

from __future__ import annotations

import copy
import json
import math
import random
import resource
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from qkv.grading import replies
from qkv.grading.replies import ReplyError
from qkv.grading.session import Grader, Settings, _Attempt, answer_call, benches_of
from qkv.questions import chapters, questions_of
from qkv.questions.engine.judging import Verdict
from qkv.sandboxed import wire
from qkv.sandboxed.hidden import MAX_CALLS
from qkv.sandboxed.running import trace

QUESTIONS = {question.id: question for chapter in chapters() for question in questions_of(chapter).values()}
CLASSES = [q.id for q in QUESTIONS.values() if any(step.act == "load" for step in q.fresh_cases(1)[0].script)]
OF_A_TRACE = ("results", "raised", "lacking", "absent", "at_the_end", "handed", "generators", "random_states",
              "gradients", "gradient_raised", "printed")  # fmt: skip


@cache
def cases_of(question: str) -> list:
    return QUESTIONS[question].fresh_cases(3)


def reply_of(question: str, answer: object) -> bytes:
    """What a session replies that tells the truth about this answer."""
    first, again = trace(answer, cases_of(question), QUESTIONS[question].gradients)
    return reply(kind="callable", first=first, again=again)


def reply(**fields: object) -> bytes:
    return wire.encode({"id": 7, **fields})[8:]


def forged(question: str, change) -> bytes:
    """A reply about the right answer, each of whose traces was changed before it was written."""
    asked, cases = QUESTIONS[question], cases_of(question)
    first, again = (
        [change(one, case) for one, case in zip(run, cases, strict=True)]
        for run in trace(asked.reference, cases, asked.gradients)
    )
    return reply(kind="callable", first=first, again=again)


@cache
def wrong_reply(question: str) -> bytes:
    asked = QUESTIONS[question]
    return reply_of(question, asked.twin(asked.misconceptions[0]))


def verdict(question: str, frame: bytes) -> Verdict:
    """What the grader makes of a reply, without a sandbox.

    Raises:
        ReplyError: it does not fit.
    """
    asked, cases = QUESTIONS[question], cases_of(question)
    observed = replies.read(frame, 7, lambda one: replies.observed(one, cases, asked.gradients))
    return _Attempt(Grader(Settings(seed=1)), [], [asked]).verdict_on(asked, cases, observed)


def changed(frame: bytes, change) -> bytes:
    """The same frame, after `change` was made to its values."""
    size = int.from_bytes(frame[:4], "big")
    tree = json.loads(frame[4 : 4 + size])
    tree = change(tree) or tree
    text = json.dumps(tree).encode()
    return len(text).to_bytes(4, "big") + text + frame[4 + size :]


def each_trace(tree: list) -> list[list]:
    return [one for key, runs in tree[1:] if key in ("first", "again") for one in runs[1:]]


# ── what is true is read as it is ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_reply_of_a_right_answer_passes_and_of_a_wrong_one_fails(question):
    assert verdict(question, reply_of(question, QUESTIONS[question].reference)).status == "passed"
    assert verdict(question, wrong_reply(question)).status != "passed"


class Empty(nn.Module):
    def __init__(self, *a, **k):
        super().__init__()


class Own(Empty):
    def forward(self, *a, **k):
        return a

    def __len__(self):
        return 3


ODD_ANSWERS = {
    "nothing": lambda *a, **k: None,
    "error": lambda *a, **k: 1 / 0,
    "lists": lambda *a, **k: [[[0.0] * 6] * 2] * 3,
    "odd things": lambda *a, **k: (torch.zeros(1).expand(10**9), {"a": 1}, 10**300, float("nan")),
    "writes": lambda *a, **k: a[0].append(1) if isinstance(a[0], list) else a[0].resize_(9),
    "empty class": Empty,
    "odd class": Own,
}
# In the gate each question gets one of them, and each of them goes to every seventh question.
ODD_PAIRS = [
    pytest.param(question, name, marks=() if i % len(ODD_ANSWERS) == j else pytest.mark.slow)
    for i, question in enumerate(QUESTIONS)
    for j, name in enumerate(ODD_ANSWERS)
]


@pytest.mark.parametrize(("question", "name"), ODD_PAIRS)
def test_whatever_an_honest_session_saw_can_be_read(question, name):
    seen = verdict(question, reply_of(question, ODD_ANSWERS[name]))
    assert seen.status in ("failed", "error", "not attempted", "passed")


@pytest.mark.parametrize("seen", [None, "list", 3, 2.5, torch.ones(2), [1, (2, "x")]], ids=repr)
def test_an_object_in_place_of_a_function_is_described(seen):
    assert "Was it called?" in verdict("3.1", reply(kind="object", seen=seen)).message


def test_a_cell_and_a_greeting_have_their_own_replies():
    ended = replies.read(reply(error="ValueError: x", missing=["seaborn"]), 7, replies.cell)
    assert ended == replies.CellReply("ValueError: x", ("seaborn",))
    assert replies.read(reply(kind="check", question="3.1"), 7, replies.cell) == replies.Check("3.1")
    replies.read(reply(), 7, replies.greeting)
    for schema, frame in (
        (replies.greeting, reply(error="")),
        (replies.cell, reply()),
        (replies.cell, reply(error="x" * (wire.MAX_ERROR + 1), missing=[])),
        (replies.cell, reply(error="\x1b[2J", missing=[])),
        (replies.cell, reply(error=["x"], missing=[])),
        (replies.cell, reply(error="", points=9, missing=[])),
        (replies.cell, reply(error="", missing=[]) + b"more"),
        (replies.cell, reply(error="")),
        (replies.cell, reply(error="", missing="seaborn")),
        (replies.cell, reply(error="", missing=["x" * (wire.MAX_MODULE + 1)])),
        (replies.cell, reply(error="", missing=["x"] * (wire.MAX_MISSING + 1))),
        (replies.cell, reply(error="", missing=[["x"]])),
        (replies.cell, reply(kind="check")),
        (replies.cell, reply(kind="check", question=["3.1"])),
        (replies.cell, reply(kind="check", question="3" * 301)),
        (replies.cell, reply(kind="check", question="3.1", points=3)),
        (replies.cell, reply(kind="callable", stopped=True)),
        (replies.cell, wire.encode({"error": "", "missing": [], "id": 7})[8:]),
        (replies.cell, wire.encode({"id": 8, "error": "", "missing": []})[8:]),
        (replies.cell, wire.encode({"id": True, "error": "", "missing": []})[8:]),
        (replies.cell, wire.encode([7, ""])[8:]),
    ):
        with pytest.raises(ReplyError):
            replies.read(frame, 7, schema)


# ── what is forged is refused ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("question", CLASSES)
def test_a_class_may_lack_biases_and_no_weight(question):
    """A class that is empty says that every weight is absent, so that the reference would compute with zeros."""

    def without_parameters(one, case):
        names = tuple(name for step in case.script if step.act == "load" for name in step.kwargs)

        def left(pairs):
            return pairs and tuple(pair for pair in pairs if pair[0][1] not in names)

        return replace(one, absent=names, handed=left(one.handed), gradients=left(one.gradients))

    with pytest.raises(ReplyError):
        verdict(question, forged(question, without_parameters))


@pytest.mark.parametrize(
    ("question", "field", "nothing"),
    [
        ("3.1", "results", ()),
        ("3.1", "handed", ()),
        ("3.1", "gradients", None),
        ("3.1", "gradients", ()),
        ("3.1", "random_states", ()),
        ("7.1", "at_the_end", ()),
        ("4.3", "generators", ()),
    ],
)
def test_nothing_that_is_asked_for_may_be_left_out(question, field, nothing):
    def without(one, case):
        return replace(one, **{field: nothing}) if getattr(one, field) else one

    with pytest.raises(ReplyError):
        verdict(question, forged(question, without))


@pytest.mark.parametrize("field", [f for f in OF_A_TRACE if f not in ("raised", "gradient_raised")])
def test_no_field_of_a_trace_may_be_missing_or_empty(field):
    for question in ("3.1", "5.2"):
        for value in (None, ["tuple"], ["list"], ["dict"], "", {}, [], True, -1, 10**30):
            frame = reply_of(question, QUESTIONS[question].reference)

            def empty(tree, value=value):
                for one in each_trace(tree):
                    one[1 + OF_A_TRACE.index(field)] = value

            try:
                seen = verdict(question, changed(frame, empty))
            except ReplyError:
                continue
            assert changed(frame, empty) == frame, (question, value, seen)


@pytest.mark.parametrize("field", OF_A_TRACE)
def test_a_trace_has_all_its_fields_once(field):
    def drop(tree):
        for one in each_trace(tree):
            del one[1 + OF_A_TRACE.index(field)]

    def double(tree):
        for one in each_trace(tree):
            one.append(one[1 + OF_A_TRACE.index(field)])

    for change in (drop, double):
        with pytest.raises(ReplyError):
            verdict("3.1", changed(reply_of("3.1", QUESTIONS["3.1"].reference), change))


def seen_as(value: object) -> bytes:
    """A reply about an object, a tensor of two numbers, that is written as something else."""
    frame = reply(kind="object", seen=torch.ones(2))
    return changed(frame, lambda tree: tree[3].__setitem__(1, value))


def nested(depth: int) -> bytes:
    text = b'["dict",["id",7],["kind","object"],["seen",' + b'["list",' * depth + b"1" + b"]" * depth + b"]]"
    return len(text).to_bytes(4, "big") + text


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0\0\0\5abc",
        b"\xff\xff\xff\xff",
        nested(5),
        nested(100),
        nested(90_000),
        reply(kind="object", seen=[0] * 65),
        reply(kind="object", seen=["x"] * 150_000),
        reply(kind="object", seen=2**257),
        reply(kind="object", seen="x" * 301),
        reply(kind="object", seen={"a": torch.ones(2)}),
        reply(kind="object", seen=torch.zeros(2_000_001)),
        reply(kind="object", seen=1, earlier=0),
        reply(kind="missing", seen=1),
        reply(kind="borrowed", seen=1),
        reply(kind="check", question="3.1"),
        reply(kind="callable"),
        reply(kind="callable", stopped=1),
        reply(kind="callable", stopped=True, points=9.0),
        reply(kind="callable", first=torch.ones(2_000_000), again=torch.ones(2)),
        reply(kind="callable", first=[], again=[]),
        reply(kind=["passed"]),
        seen_as(["tensor", "float32", 3]),
        seen_as(["tensor", "float32", 1]),
        seen_as(["tensor", "object", 1]),
        seen_as(["tensor", [], 2]),
        seen_as(["tensor"]),
        seen_as(["tensor", "float32", True, 2]),
        seen_as(["tensor", "float32", *[2**62] * 9]),
        seen_as(["same", 0]),
        seen_as(["Provided", "x", "x=1", ["tuple"]]),
        reply(kind="object", seen=torch.ones(1, dtype=torch.bool))[:-1] + b"\7",
    ],
)  # fmt: skip
def test_what_is_no_reply_is_refused(frame):
    with pytest.raises(ReplyError):
        verdict("3.1", frame)


# ── thousands of changed replies ──────────────────────────────────────────────────────────────────

ODD_VALUES = [None, True, 0, -1, 1.5, 10**30, math.nan, math.inf, "", "x" * 400, "\x1b[0m", "passed", [], ["list"],
              ["tuple"], ["dict"], ["dict", ["a", 1]], ["tensor", "float32", 0], ["tensor", "float64", 2**40],
              ["OtherValue", "x", "", None], ["Raised", ["tuple", "ValueError"], "x", ""], ["same", 0], ["Seeded", 1],
              {"a": 1}, ["Trace"]]  # fmt: skip


def mutated(frame: bytes, draw: random.Random) -> bytes:
    """A reply with one to three places changed, in its values or its bytes."""
    for _ in range(draw.randint(1, 3)):
        frame = changed(frame, lambda tree: _somewhere_else(tree, draw)) if draw.random() < 0.8 else _bytes(frame, draw)
    return frame


def _somewhere_else(tree: list, draw: random.Random) -> list | None:
    parent = tree
    for _ in range(draw.randint(0, 7)):
        inner = [item for item in parent if isinstance(item, list) and item]
        if not inner:
            break
        parent = draw.choice(inner)
    at = draw.randrange(len(parent))
    how = draw.randrange(6)
    if how == 0:
        del parent[at]
    elif how == 1:
        parent.insert(at, copy.deepcopy(parent[draw.randrange(len(parent))]))
    elif how == 2:
        other = draw.randrange(len(parent))
        parent[at], parent[other] = parent[other], parent[at]
    elif how == 3:
        parent[at] = ["list", copy.deepcopy(parent[at])]
    elif how == 4 and type(parent[at]) in (int, float):
        parent[at] = draw.choice([parent[at] + 1, -parent[at], parent[at] * 1e9, not parent[at]])
    else:
        parent[at] = copy.deepcopy(draw.choice(ODD_VALUES))
    return tree


def _bytes(frame: bytes, draw: random.Random) -> bytes:
    size = int.from_bytes(frame[:4], "big")
    data = bytearray(frame)
    for _ in range(draw.randint(1, 4)):
        tensors = len(data) > 4 + size and draw.random() < 0.7
        at = draw.randrange(4 + size, len(data)) if tensors else draw.randrange(4, min(4 + size, len(data)))
        data[at] = draw.randrange(256)
    try:
        json.loads(bytes(data[4 : 4 + size]))
    except ValueError:
        return frame  # of this kind there are tests enough above
    return bytes(data)


def refused_or_without_a_point(question: str, seed: int) -> bool:
    """Say whether a changed reply was refused; one that was read may not raise, and may not pass."""
    try:
        frame = mutated(wrong_reply(question), random.Random(seed))
        seen = verdict(question, frame)
    except ReplyError:
        return True
    assert seen.status != "passed", (question, seed, seen)
    return False


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(QUESTIONS)), st.integers(0, 2**32))
def test_no_changed_reply_raises_or_gives_a_point(question, seed):
    refused_or_without_a_point(question, seed)


# ── calls of what is hidden from an answer ────────────────────────────────────────────────────────


def call_of(**changes: object) -> bytes:
    q, k, v = (torch.ones(n, 4) for n in (2, 3, 3))
    return reply(**{"kind": "call", "of": 0, "object": 0, "method": "", "args": (q, k), "kwargs": {"v": v}} | changes)


def read_call(frame: bytes) -> replies.Call:
    benches = benches_of(cases_of("3.5"))
    return replies.read(frame, 7, lambda one: replies.call(one, benches))


def test_a_call_is_read_as_it_was_sent():
    call = read_call(call_of())
    assert [x.shape for x in (*call.args, call.kwargs["v"])] == [(2, 4), (3, 4), (3, 4)]
    assert answer_call(call)["given"][0].shape == (2, 4)
    assert "is_floating_point" not in str(answer_call(read_call(call_of(kwargs={}))))


@pytest.mark.parametrize(
    "changes",
    [
        {"of": 99}, {"of": -1}, {"of": True}, {"of": "0"}, {"object": 1}, {"object": -1}, {"object": None},
        {"method": "__globals__"}, {"method": "full"}, {"method": None}, {"args": [1]}, {"args": 1}, {"kwargs": ()},
        {"args": ("x",)}, {"args": ({},)}, {"args": ((((((1,),),),),),)}, {"args": (2**300,)},
        {"args": (torch.zeros(100_001),)}, {"args": (torch.zeros(60_000), torch.zeros(60_000))},
        {"args": (0,) * 100_001}, {"kwargs": {str(i): 0 for i in range(17)}}, {"kwargs": {"\x1b": 0}},
        {"more": 1},
    ],
    ids=lambda changes: str(changes)[:50],
)  # fmt: skip
def test_what_is_no_call_is_refused(changes):
    with pytest.raises(ReplyError):
        read_call(call_of(**changes))


def test_who_is_told_to_stop_and_calls_on_is_ended():
    benches = benches_of(cases_of("3.5"))
    said = []

    def call_on():
        while True:
            said.append(answer_call(replies.read(call_of(), 7, lambda one: replies.call(one, benches))))

    with pytest.raises(ReplyError):
        call_on()
    assert "given" in said[2 * MAX_CALLS - 1]
    assert "200 calls" in said[2 * MAX_CALLS]["raised"].text
    assert len(said) < 5 * MAX_CALLS


@pytest.mark.parametrize("times", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_changed_call_raises(times):
    draw = random.Random(times)
    kinds = set()
    for _ in range(times):
        try:
            kinds |= answer_call(read_call(mutated(call_of(), draw))).keys()
        except ReplyError:
            kinds.add("refused")
    assert kinds == {"given", "raised", "refused"}


@pytest.mark.slow
def test_ten_thousand_changed_replies_raise_nothing_give_no_point_and_take_no_memory():
    for question in QUESTIONS:
        verdict(question, wrong_reply(question))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    draw = random.Random(14)
    refused = sum(refused_or_without_a_point(draw.choice(sorted(QUESTIONS)), i) for i in range(10_000))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{refused} of 10000 refused; {(after - before) // 1024} MB more")
    assert 5_000 < refused < 10_000
    assert after - before < 300 * 1024


# ── replies that were read before ─────────────────────────────────────────────────────────────────


def mark(frame: bytes, number: int = 7) -> bytes:
    return replies.Reply(frame, number).fingerprint


def test_a_reply_is_known_by_every_byte_but_its_number() -> None:
    """One bit elsewhere, in its values or in a tensor, makes another reply of it: that one is read."""
    frame = reply_of("3.1", QUESTIONS["3.1"].reference)
    start = len(b'\0\0\0\0["dict", ["id", 7')
    places = [*range(4), *random.Random(5).sample(range(start, len(frame)), 30)]
    others = [bytes(byte ^ (i == place) for i, byte in enumerate(frame)) for place in places]
    assert len({mark(frame), *map(mark, others)} - {b""}) >= len(places) - 4
    assert mark(frame) not in map(mark, others)
    assert mark(frame, 8) == b"", "it answers what was asked, or it is none that is known"
    again = wire.encode({"id": 1234, "kind": "callable"})[8:]
    assert mark(again, 1234) == mark(reply(kind="callable")) != b""


def test_what_is_known_is_not_read_again_and_anything_else_is() -> None:
    cases = cases_of("3.1")
    right, wrong = reply_of("3.1", QUESTIONS["3.1"].reference), wrong_reply("3.1")
    seen = [replies.read(one, 7, lambda r: replies.observed(r, cases, True, {mark(right)})) for one in (right, wrong)]
    assert [one.kind for one in seen] == ["known", "traced"]
    assert seen[0].fingerprint == mark(right)
    assert not seen[0].first
