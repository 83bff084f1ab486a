"""Read what comes out of the sandbox: one strict schema for each reply, against what was asked.

Whatever ran in there may have written the bytes. So each value is read where it must stand, as what it must be: exact
fields, lengths, shapes and dtypes, bounded texts, numbers in range. Where anything differs, or bytes are left over,
nothing of the reply is used. Only what fits becomes a `Trace`, and what a case hands over is taken from the case.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from qkv import hidden, observing
from qkv.answers import Unfit
from qkv.grading.sandboxed import wire
from qkv.observing import Case, OtherValue, Raised, Seeded, Step, Trace, Where

MAX_BASES = 64  # classes that an exception's type has above it
MAX_NAME = 1_000  # characters of a parameter's name
MAX_BITS = 256  # of a whole number
MAX_NAMED = 16  # arguments of a call, by name

T = TypeVar("T")


class ReplyError(Exception):
    """This is not a reply to what was asked."""


@dataclass(frozen=True)
class Observed:
    """What a session says of an answer.

    Attributes:
        kind: "unfit", when it cannot be tried; "stopped", when it took too long; "known", when this very reply was
            read before; "traced" otherwise
        why: it cannot be tried
        mark: of the reply, where it was traced or is known
        first, again: the traces of both runs, for each case
    """

    kind: Literal["unfit", "stopped", "known", "traced"]
    why: Unfit | None = None
    mark: bytes = b""
    first: Sequence[Trace] = ()
    again: Sequence[Trace] = ()


@dataclass(frozen=True)
class Check:
    """A cell has come to a check of this question, and waits until its answer is observed."""

    question: str


@dataclass(frozen=True)
class Call:
    """A call of an implementation that is hidden from answers: a session asks for it while an answer runs."""

    bench: hidden.Bench
    number: int
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def greeting(reply: Reply) -> None:
    """Read the reply to a greeting: it has nothing but its number."""
    reply.fields()


def cell(reply: Reply) -> str | Check:
    """Read what a cell raised, or nothing; or that it has come to a check."""
    if reply.field("kind") == "check":
        _, question = reply.fields("kind", "question")
        return Check(text(question))
    (error,) = reply.fields("error")
    return text(error, wire.MAX_ERROR)


def observed(reply: Reply, cases: Sequence[Case], gradients: bool, known: Container[bytes] = ()) -> Observed:
    """Read what an answer did in these cases. A reply whose mark is known was read before, about the same cases."""
    if reply.mark in known:
        reply.skip()
        return Observed("known", mark=reply.mark)
    kind = reply.field("kind")
    if kind in ("missing", "object", "borrowed"):
        _, seen = reply.fields("kind", "seen")
        read_seen = reply.plain(seen)
        must(kind != "missing" or read_seen is None, "nothing")
        must(kind != "borrowed" or isinstance(read_seen, str), "a name")
        return Observed("unfit", Unfit(kind, read_seen))
    must(kind == "callable", "a kind")
    if reply.field("stopped") is True:
        reply.fields("kind", "stopped")
        return Observed("stopped")
    _, first, again = reply.fields("kind", "first", "again")
    return Observed(
        "traced",
        mark=reply.mark,
        first=[_trace(reply, one, case, False) for one, case in same_length(items(first, "list"), cases)],
        again=[
            _trace(reply, one, observing.as_again(case), gradients)
            for one, case in same_length(items(again, "list"), cases)
        ],
    )


def call(reply: Reply, benches: Sequence[hidden.Bench]) -> Call:
    """Read what a session wants to call, of these."""
    _, of, number, method, args, kwargs = reply.fields("kind", "of", "object", "method", "args", "kwargs")
    bench = benches[whole(of, len(benches) - 1)]
    must(method == "" or method in bench.hidden.methods, "a method that is there")
    must(bench.calls <= 2 * bench.runs * hidden.MAX_CALLS, "an end")  # it is told to stop, and goes on
    most = hidden.MAX_NUMBERS
    named = [exactly(2, items(pair)) for pair in items(kwargs, "dict")]
    must(len(named) <= MAX_NAMED, "a few arguments")
    read_args, most = _numbers(reply, args, most)
    must(isinstance(read_args, tuple), "arguments")
    read_kwargs = {}
    for name, value in named:
        read_kwargs[text(name)], most = _numbers(reply, value, most)
    return Call(bench, whole(number, len(bench.objects) - 1), method, read_args, read_kwargs)


def _numbers(reply: Reply, tree: Any, most: int, depth: int = 0) -> tuple[Any, int]:
    """Read tensors and numbers, at most so many; say how many more there may be."""
    kind = tree[0] if isinstance(tree, list) and tree else None
    if kind == "tensor":
        read = reply.tensor(tree, lambda _, shape: math.prod(shape) <= most)
        return read, most - read.numel()
    if kind in ("list", "tuple"):
        must(depth < hidden.MAX_DEPTH, "plain data")
        members = []
        for member in items(tree, kind):
            read, most = _numbers(reply, member, most, depth + 1)
            members.append(read)
        return (members if kind == "list" else tuple(members)), most
    must(tree is None or type(tree) in (bool, int, float), "a number")
    must(type(tree) is not int or tree.bit_length() <= MAX_BITS, "a whole number of this size")
    must(most > 0, "few numbers")
    return tree, most - 1


# ── a reply ───────────────────────────────────────────────────────────────────────────────────────


class Reply:
    """A reply that is being read: its values as JSON has them, and the bytes of its tensors, each read once."""

    def __init__(self, frame: bytes | bytearray, number: int) -> None:
        self.frame = memoryview(frame)
        self.number = number
        self.at = 0
        self.skipped = False

    @cached_property
    def mark(self) -> bytes:
        """The same for two replies whose bytes are the same, their numbers aside. None has no bytes."""
        begins = wire.encode({"id": self.number})[12:-1] + b", "
        if self.frame[4 : 4 + len(begins)] != begins:
            return b""
        length = int.from_bytes(self.frame[:4], "big") - len(begins)
        seen = hashlib.sha256(length.to_bytes(8, "big", signed=True))
        seen.update(self.frame[4 + len(begins) :])
        return seen.digest()

    @cached_property
    def opened(self) -> tuple[list[Any], memoryview]:
        """Its fields, and the bytes of its tensors."""
        tree, blob = wire.opened(self.frame)
        pairs = [items(pair) for pair in items(tree, "dict")]
        must(all(len(pair) == 2 for pair in pairs), "a field and its value")
        return pairs, blob

    def field(self, name: str) -> Any:
        """A field that says how the others are to be read; None where it is not there."""
        return next((value for key, value in self.opened[0] if key == name), None)

    def fields(self, *names: str) -> list[Any]:
        """The values of exactly these fields, after the reply's number."""
        pairs, _ = self.opened
        must([key for key, _ in pairs] == ["id", *names], "these fields")
        (_, number), *others = pairs
        must(type(number) is int and number == self.number, "the number of what was asked")
        return [value for _, value in others]

    def skip(self) -> None:
        """Leave it unread: another of the same mark was read to its end."""
        self.skipped = True

    def end(self) -> None:
        must(self.skipped or self.at == len(self.opened[1]), "an end where its tensors end")

    def tensor(self, tree: Any, fits: Callable[[torch.dtype, tuple[int, ...]], bool]) -> Tensor:
        """Read a tensor whose dtype and shape fit."""
        members = items(tree, "tensor")
        must(len(members) > 0, "a dtype")
        name, *shape = members
        dtype = wire.DTYPES.get(name) if isinstance(name, str) else None
        must(len(shape) <= wire.MAX_AXES and all(type(size) is int and size >= 0 for size in shape), "a shape")
        if dtype is None or not fits(dtype, tuple(shape)):
            raise ReplyError("a tensor of this shape and dtype")
        size = math.prod(shape) * dtype.itemsize
        raw = self.opened[1][self.at : self.at + size]
        must(len(raw) == size, "the bytes of a tensor")
        self.at += size
        return wire.tensor_of(raw, dtype, shape)

    def plain(self, tree: Any, depth: int = 0) -> Any:
        """Read what `observing.record` makes: a number, a text, a tensor, another value, or a few of them."""
        if isinstance(tree, str):
            return text(tree)
        if tree is None or type(tree) in (bool, float):
            return tree
        if type(tree) is int:
            must(tree.bit_length() <= MAX_BITS, "a whole number of this size")
            return tree
        kind = tree[0] if isinstance(tree, list) and tree else None
        if kind == "tensor":
            return self.tensor(tree, _readable)
        if kind == "OtherValue":
            return self.other(tree)
        must(kind in ("list", "tuple") and depth < observing.MAX_DEPTH, "plain data")
        members = items(tree, kind)
        must(len(members) <= observing.MAX_ITEMS, "a few values")
        read = [self.plain(member, depth + 1) for member in members]
        return read if kind == "list" else tuple(read)

    def other(self, tree: Any) -> OtherValue:
        kind, about, tensor = exactly(3, items(tree, "OtherValue"))
        return OtherValue(text(kind), text(about), None if tensor is None else self.tensor(tensor, _readable))


def read(frame: bytes | bytearray, number: int, schema: Callable[[Reply], T]) -> T:
    """Read a reply to what had this number.

    Raises:
        ReplyError: it does not fit.
    """
    try:
        reply = Reply(frame, number)
        value = schema(reply)
        reply.end()
    except ReplyError:
        raise
    except Exception as error:  # whatever a reader stumbles over, the reply made it stumble
        raise ReplyError(f"it cannot be read: {error}") from error
    return value


def must(fits: bool, what: str) -> None:
    if not fits:
        raise ReplyError(f"it has not {what}")


def items(tree: Any, kind: str | None = None) -> list[Any]:
    """The members of a list, or of what is written as `[kind, …]`."""
    if not isinstance(tree, list):
        raise ReplyError("it has not a list")
    if kind is None:
        return tree
    must(tree[:1] == [kind], f"a {kind}")
    return tree[1:]


def exactly(count: int, members: list[Any]) -> list[Any]:
    must(len(members) == count, f"{count} values")
    return members


def same_length(members: list[Any], others: Sequence[T]) -> Iterator[tuple[Any, T]]:
    return zip(exactly(len(others), members), others, strict=True)


def text(tree: Any, limit: int = observing.MAX_TEXT) -> str:
    """A text that `observing.bounded` leaves as it is."""
    must(isinstance(tree, str) and len(tree) <= limit and observing.bounded(tree, limit) == tree, "a bounded text")
    return str(tree)


def whole(tree: Any, most: int) -> int:
    must(type(tree) is int and 0 <= tree <= most, f"a whole number up to {most}")
    return int(tree)


# ── a trace ───────────────────────────────────────────────────────────────────────────────────────


def _trace(reply: Reply, tree: Any, case: Case, gradients: bool) -> Trace:
    """Read what one run left, against the case that was run."""
    (results, raised, lacking, absent, at_the_end, handed, generators, states, received, received_raised, printed,
     largest) = exactly(12, items(tree, "Trace"))  # fmt: skip
    read_results = _results(reply, results, case.script)
    read_raised = _raised(raised)
    done = len(read_results)
    must((done < len(case.script)) == (read_raised is not None), "a result or an error for each step")
    loaded = _loaded(case.script[:done])
    read_lacking = [text(why, 2 * observing.MAX_TEXT) for why in items(lacking, "tuple")]
    must(len(read_lacking) <= len(_asked_to_load(case.script)) + 1, "reasons for the weights that it has not")
    read_absent = _absent(absent, loaded, dict(zip(map(id, case.script), read_results, strict=False)))
    original = _handed_over(case, done, read_raised is not None)
    ended = _at_the_end(reply, at_the_end, case, done)
    read_handed = _handed(reply, handed, original, read_absent, bool(read_lacking) or read_raised is not None)
    read_generators = _generators(reply, generators, case.script[: done + (read_raised is not None)])
    read_states = tuple(reply.tensor(one, _is_state) for one in exactly(2, items(states, "tuple")))
    wanted = gradients and case.gradients and read_raised is None and not read_lacking
    read_received = _gradients(reply, received, original, read_absent) if wanted else None
    must(wanted or received is None, "no gradients")
    must(wanted or received_raised is None, "no error of gradients")
    must((largest is None) == (case.most is None), "a count where one was asked for")
    return Trace(
        results=read_results,
        raised=read_raised,
        lacking=tuple(read_lacking),
        absent=read_absent,
        at_the_end=ended,
        handed=read_handed,
        generators=read_generators,
        random_states=read_states,
        gradients=read_received,
        gradient_raised=_raised(received_raised),
        printed=text(printed),
        largest=None if largest is None else whole(largest, 2**62),
    )


def _results(reply: Reply, tree: Any, script: Sequence[Step]) -> tuple[Any, ...]:
    members = items(tree, "tuple")
    must(len(members) <= len(script), "at most one result for each step")
    return tuple(_result(reply, one, step) for one, step in zip(members, script, strict=False))


def _result(reply: Reply, tree: Any, step: Step) -> Any:
    """Read what came back from a step."""
    if step.act == "make":
        must(tree is None, "nothing from a step that makes an object")
        return None
    if step.act == "load":
        return _shapes(tree)
    if step.times > 1:
        if isinstance(tree, list) and tree[:1] == ["tensor"]:
            return reply.tensor(tree, lambda dtype, shape: (dtype, shape) == (torch.int64, (step.times,)))
        members = items(tree, "tuple")
        must(len(members) == min(step.times, observing.MAX_ITEMS), "a result for each call")
        return tuple(reply.plain(one) for one in members)
    return reply.plain(tree)


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """Read the names and shapes of the parameters that an object has."""
    pairs = [exactly(2, items(pair)) for pair in items(tree, "dict")]
    must(len(pairs) <= observing.MAX_PARAMETERS, "a few parameters")
    shapes = {text(name, MAX_NAME): tuple(whole(n, 2**40) for n in items(shape, "tuple")) for name, shape in pairs}
    must(len(shapes) == len(pairs) and all(len(shape) <= wire.MAX_AXES for shape in shapes.values()), "parameters")
    return shapes


def _raised(tree: Any) -> Raised | None:
    if tree is None:
        return None
    types, said, line = exactly(3, items(tree, "Raised"))
    names = tuple(text(name) for name in items(types, "tuple"))
    must(1 <= len(names) <= MAX_BASES, "the types of an error")
    return Raised(names, text(said), text(line))


def _asked_to_load(script: Sequence[Step]) -> list[str]:
    return [name for step in script if step.act == "load" for name in step.kwargs]


def _loaded(script: Sequence[Step]) -> list[Step]:
    return [step for step in script if step.act == "load"]


def _absent(tree: Any, loads: Sequence[Step], results: dict[int, Any]) -> tuple[str, ...]:
    """Read the biases that an object does not have. Its weights may not be absent: without them nothing is compared."""
    names = [text(name, MAX_NAME) for name in items(tree, "tuple")]
    may = [
        name
        for step in loads
        for name in step.kwargs
        if name.endswith(".bias")
        and name not in results[id(step)]
        and (name.removesuffix("bias") + "weight") in results[id(step)]
    ]
    must(len(set(names)) == len(names) and set(names) <= set(may), "biases alone that are absent")
    return tuple(names)


def _at_the_end(reply: Reply, tree: Any, case: Case, done: int) -> tuple[tuple[int, Any], ...]:
    """Read what steps had returned, looked at again after the last one."""
    script = case.script
    steps = [i for i in range(done) if _returns_an_object(script[i])] if len(script) > 1 else []
    pairs = [exactly(2, items(pair, "tuple")) for pair in items(tree, "tuple")]
    must([i for i, _ in pairs] == steps, "each result once more")
    return tuple((i, reply.plain(value)) for i, (_, value) in zip(steps, pairs, strict=True))


def _returns_an_object(step: Step) -> bool:
    return step.act == "call" and step.times == 1 and step.method != "__len__"


def _handed_over(case: Case, done: int, raised: bool) -> list[tuple[Where, Any]]:
    """What the steps that were begun hand over, in order; a step that loads and raised has handed over nothing."""
    return list(observing.originals(case, done + (raised and case.script[done].act != "load")))


def _handed(
    reply: Reply, tree: Any, original: list[tuple[Where, Any]], absent: tuple[str, ...], some: bool
) -> tuple[tuple[Where, Any], ...]:
    """Read what was handed over, as it is afterwards: all of it, or some where not all weights were taken."""
    pairs = [exactly(2, items(pair, "tuple")) for pair in items(tree, "tuple")]
    expected = iter([(where, value) for where, value in original if where[1] not in absent])
    found = []
    for where, now in pairs:
        for at, value in expected:
            if where == ["tuple", *at]:
                found.append((at, _now(reply, now, value)))
                break
            must(some and isinstance(at[1], str), "what was handed over")
        else:
            raise ReplyError("it has more than was handed over")
    must(all(some and isinstance(at[1], str) for at, _ in expected), "all that was handed over")
    return tuple(found)


def _now(reply: Reply, tree: Any, original: Any) -> Any:
    if not isinstance(original, list):
        return reply.plain(tree)
    members = items(tree, "list")
    must(len(members) <= len(original) + 1, "a list that was handed over")
    return [reply.plain(member) for member in members]


def _generators(reply: Reply, tree: Any, begun: Sequence[Step]) -> tuple[tuple[int, Tensor], ...]:
    """Read each generator's seed and state."""
    values = [value for step in begun for value in (*step.args, *step.kwargs.values())]
    count = len({id(value) for value in values if isinstance(value, Seeded)})
    pairs = [exactly(2, items(pair, "tuple")) for pair in exactly(count, items(tree, "tuple"))]
    return tuple((whole(seed, 2**64 - 1), reply.tensor(state, _is_state)) for seed, state in pairs)


def _gradients(
    reply: Reply, tree: Any, original: list[tuple[Where, Any]], absent: tuple[str, ...]
) -> tuple[tuple[Where, Tensor | None], ...]:
    """Read the gradient of each floating-point input and parameter: none, or one of its shape."""
    parts: dict[Where, list[Tensor]] = {}
    for where, value in original:
        if isinstance(value, Tensor) and value.is_floating_point() and where[0] >= 0 and where[1] not in absent:
            parts.setdefault(where, []).append(value)
    pairs = [exactly(2, items(pair, "tuple")) for pair in items(tree, "tuple")]
    must([where for where, _ in pairs] == [["tuple", *where] for where in parts], "a gradient for each input")
    return tuple(
        (where, None if one is None else reply.tensor(one, _shaped_as(these)))
        for (where, these), (_, one) in zip(parts.items(), pairs, strict=True)
    )


# ── dtypes and shapes ─────────────────────────────────────────────────────────────────────────────


def _readable(dtype: torch.dtype, shape: tuple[int, ...]) -> bool:
    return math.prod(shape) <= observing.MAX_NUMBERS


def _is_state(dtype: torch.dtype, shape: tuple[int, ...]) -> bool:
    """Say whether it can be the state of torch's generator of random numbers."""
    return dtype == torch.uint8 and shape == tuple(torch.get_rng_state().shape)


def _shaped_as(values: Sequence[Tensor]) -> Callable[[torch.dtype, tuple[int, ...]], bool]:
    """The shape of one tensor, or of several, end to end."""
    wanted = tuple(values[0].shape) if len(values) == 1 else (sum(value.numel() for value in values),)
    return lambda dtype, shape: dtype.is_floating_point and shape == wanted
