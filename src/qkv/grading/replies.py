"""Validate the replies that come out of the sandbox: one strict schema for each kind of request.

Untrusted code may have written the bytes. So the schema fixes every value: its place, its type, exact fields, lengths,
shapes and dtypes, texts of limited length, and numbers in a range. If anything differs, or if bytes are left over, the
whole reply is refused: each function here raises a `ReplyError`, also where its docstring does not say so. Only a valid
reply becomes a `Trace`. Inputs are never taken from a reply: they come from the case.

A `tree` in this module is a value as JSON decodes it: numbers, texts, and lists such as `["tensor", "float32", 3]`.
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

from qkv.sandboxed import hidden, recording, running, wire
from qkv.sandboxed.answers import Unfit
from qkv.sandboxed.cases import Case, Seeded, Step, Where, originals
from qkv.sandboxed.recording import OtherValue, Raised
from qkv.sandboxed.running import Trace

MAX_BASES = 64  # base classes of an exception's type
MAX_NAME = 1_000  # characters of a parameter's name
MAX_BITS = 256  # of an integer
MAX_NAMED = 16  # keyword arguments of a call
STATE_SHAPE = tuple(torch.get_rng_state().shape)

T = TypeVar("T")


class ReplyError(Exception):
    """The bytes are not a valid reply to the request."""


@dataclass(frozen=True)
class ObserveReply:
    """A session's reply to "observe": what an answer did.

    Attributes:
        kind: "unfit" if the answer cannot be run; "stopped" if it took too long; "known" if an equal reply was read
            before; "traced" otherwise
        unfit: why the answer cannot be run
        fingerprint: of the reply, if the kind is "traced" or "known"
        first, again: the traces of both runs, one for each case
    """

    kind: Literal["unfit", "stopped", "known", "traced"]
    unfit: Unfit | None = None
    fingerprint: bytes = b""
    first: Sequence[Trace] = ()
    again: Sequence[Trace] = ()


@dataclass(frozen=True)
class CellReply:
    """A session's reply to "cell".

    Attributes:
        error: the error that the cell raised, "" if it raised none
        missing: the modules that it could not import
    """

    error: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """A session's message that a cell called `check`. The cell waits until the answer is observed."""

    question: str


@dataclass(frozen=True)
class Call:
    """A session's request, while an answer runs, to call an implementation that is hidden from answers.

    Attributes:
        bench: has the implementation and the objects that it made
        number: the index of the object to call
        method: the name of its method, or "" to call the object itself
        args, kwargs: the arguments
    """

    bench: hidden.Bench
    number: int
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def greeting(reply: Reply) -> None:
    """Read the reply to a greeting, which has no field but its number."""
    reply.fields()


def cell(reply: Reply) -> CellReply | Check:
    """Read how a cell ended, or the message that it called `check`.

    Raises:
        ReplyError: the reply is neither.
    """
    if reply.field("kind") == "check":
        _, question = reply.fields("kind", "question")
        return Check(text(question))
    error, missing = reply.fields("error", "missing")
    modules = items(missing, "list")
    require(len(modules) <= wire.MAX_MISSING, "a few modules")
    return CellReply(text(error, wire.MAX_ERROR), tuple(text(module, wire.MAX_MODULE) for module in modules))


def observed(reply: Reply, cases: Sequence[Case], gradients: bool, known: Container[bytes] = ()) -> ObserveReply:
    """Read what an answer did in these cases: it was traced, was stopped, or could not be run at all.

    A reply whose fingerprint is in `known` is not read again: an equal reply about the same cases was valid. With
    `gradients`, the second runs must have those of the cases that want them; without, a reply must have none.

    Raises:
        ReplyError: the reply is none of these, or does not fit the cases.
    """
    if reply.fingerprint in known:
        reply.skip()
        return ObserveReply("known", fingerprint=reply.fingerprint)
    kind = reply.field("kind")
    if kind in ("missing", "object", "borrowed"):
        _, seen = reply.fields("kind", "seen")
        read_seen = reply.plain(seen)
        require(kind != "missing" or read_seen is None, "no value for a missing answer")
        require(kind != "borrowed" or isinstance(read_seen, str), "the name of a borrowed function")
        return ObserveReply("unfit", Unfit(kind, read_seen))
    require(kind == "callable", "a known kind")
    if reply.field("stopped") is True:
        reply.fields("kind", "stopped")
        return ObserveReply("stopped")
    _, first, again = reply.fields("kind", "first", "again")
    return ObserveReply(
        "traced",
        fingerprint=reply.fingerprint,
        first=[_trace(reply, one, case, False) for one, case in same_length(items(first, "list"), cases)],
        again=[
            _trace(reply, one, running.for_second_run(case), gradients)
            for one, case in same_length(items(again, "list"), cases)
        ],
    )


def joined(replies: Sequence[ObserveReply]) -> ObserveReply:
    """Join the replies about the cases of a question into one.

    If one has no traces, because the answer could not be run or was stopped, or because an equal reply is known, the
    first such reply is returned. The fingerprint is empty if one reply has none.
    """
    for reply in replies:
        if reply.kind != "traced":
            return reply
    parts = [reply.fingerprint for reply in replies]
    fingerprint = hashlib.sha256(b"".join(parts)).digest() if all(parts) else b""
    first, again = ([trace for reply in replies for trace in getattr(reply, run)] for run in ("first", "again"))
    return ObserveReply("traced", fingerprint=fingerprint, first=first, again=again)


def call(reply: Reply, benches: Sequence[hidden.Bench]) -> Call:
    """Read a session's request to call one of these hidden implementations.

    Raises:
        ReplyError: it names no such implementation, object or method, or has too many calls, arguments or numbers.
    """
    _, of, number, method, args, kwargs = reply.fields("kind", "of", "object", "method", "args", "kwargs")
    bench = benches[whole_number(of, len(benches) - 1)]
    require(method == "" or method in bench.hidden.methods, "a method that the implementation has")
    # After MAX_CALLS the bench raises an error in the answer; an answer that ignores the error is ended here.
    require(bench.calls <= 2 * bench.runs * hidden.MAX_CALLS, "no more calls")
    most = hidden.MAX_NUMBERS
    named = [exactly(2, items(pair)) for pair in items(kwargs, "dict")]
    require(len(named) <= MAX_NAMED, f"at most {MAX_NAMED} keyword arguments")
    read_args, most = _numbers(reply, args, most)
    require(isinstance(read_args, tuple), "a tuple of arguments")
    read_kwargs = {}
    for name, value in named:
        read_kwargs[text(name)], most = _numbers(reply, value, most)
    return Call(bench, whole_number(number, len(bench.objects) - 1), method, read_args, read_kwargs)


def _numbers(reply: Reply, tree: Any, most: int, depth: int = 0) -> tuple[Any, int]:
    """Read tensors, numbers and None, in lists and tuples, with at most `most` numbers in total. None counts as one.

    Returns:
        the value, and how many more numbers the call may have
    Raises:
        ReplyError: it is another value, or has too many numbers or levels.
    """
    kind = tree[0] if isinstance(tree, list) and tree else None
    if kind == "tensor":
        read = reply.tensor(tree, lambda _, shape: recording.size_of(shape) <= most)
        return read, most - recording.size_of(read.shape)
    if kind in ("list", "tuple"):
        require(depth < hidden.MAX_DEPTH, f"at most {hidden.MAX_DEPTH} levels of lists and tuples")
        members = []
        for member in items(tree, kind):
            read, most = _numbers(reply, member, most, depth + 1)
            members.append(read)
        return (members if kind == "list" else tuple(members)), most
    require(tree is None or type(tree) in (bool, int, float), "a number")
    require(type(tree) is not int or tree.bit_length() <= MAX_BITS, f"an integer of at most {MAX_BITS} bits")
    require(most > 0, f"at most {hidden.MAX_NUMBERS} numbers")
    return tree, most - 1


# ── a reply ───────────────────────────────────────────────────────────────────────────────────────


class Reply:
    """A reply that is being read: the values in its JSON text, and the bytes of its tensors, in order."""

    def __init__(self, frame: bytes | bytearray, number: int) -> None:
        self.frame = memoryview(frame)
        self.number = number
        self.position = 0
        self.skipped = False

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of the reply's bytes without its number, or b"" if the reply does not begin with its number.

        Two replies with equal fingerprints differ at most in their numbers.
        """
        begins = wire.encode({"id": self.number})[12:-1] + b", "
        if self.frame[4 : 4 + len(begins)] != begins:
            return b""
        length = int.from_bytes(self.frame[:4], "big") - len(begins)
        seen = hashlib.sha256(length.to_bytes(8, "big", signed=True))
        seen.update(self.frame[4 + len(begins) :])
        return seen.digest()

    @cached_property
    def content(self) -> tuple[list[Any], memoryview]:
        """The reply's fields as [name, value] pairs, and the bytes of its tensors.

        A ReplyError means that it has no such form.
        """
        tree, blob = wire.parse_frame(self.frame)
        pairs = [items(pair) for pair in items(tree, "dict")]
        require(all(len(pair) == 2 for pair in pairs), "a name and a value for each field")
        return pairs, blob

    def field(self, name: str) -> Any:
        """Return the value of one field, or None if it is missing. It decides how the other fields are read."""
        return next((value for key, value in self.content[0] if key == name), None)

    def fields(self, *names: str) -> list[Any]:
        """Return the values of these fields. The reply must have its number first, then exactly these fields.

        Raises:
            ReplyError: it has other fields, or the number of another request.
        """
        pairs, _ = self.content
        require([key for key, _ in pairs] == ["id", *names], f"the fields id, {', '.join(names)}")
        (_, number), *others = pairs
        require(type(number) is int and number == self.number, "the number of the request")
        return [value for _, value in others]

    def skip(self) -> None:
        """Leave the tensors unread, because a reply with the same fingerprint was read to its end."""
        self.skipped = True

    def end(self) -> None:
        """Refuse the reply if bytes are left over after its last tensor."""
        require(self.skipped or self.position == len(self.content[1]), "no bytes after the last tensor")

    def tensor(self, tree: Any, fits: Callable[[torch.dtype, tuple[int, ...]], bool]) -> Tensor:
        """Read the next tensor, whose dtype and shape `fits` accepts. In `tree` they are `["tensor", dtype, *sizes]`.

        Raises:
            ReplyError: it has another dtype or shape, or too few bytes.
        """
        members = items(tree, "tensor")
        require(len(members) > 0, "a dtype")
        name, *shape = members
        dtype = wire.DTYPES.get(name) if isinstance(name, str) else None
        require(len(shape) <= wire.MAX_AXES and all(type(size) is int and size >= 0 for size in shape), "a shape")
        if dtype is None or not fits(dtype, tuple(shape)):
            raise ReplyError("a tensor has another shape or dtype than expected")
        size = math.prod(shape) * dtype.itemsize
        raw = self.content[1][self.position : self.position + size]
        require(len(raw) == size, "all bytes of a tensor")
        self.position += size
        return wire.tensor_of(raw, dtype, shape)

    def plain(self, tree: Any, depth: int = 0) -> Any:
        """Read a value that `recording.record` can return.

        That is None, a bool, a number, a text, a tensor, an `OtherValue`, or a list or tuple of such values. `depth` is
        the number of lists and tuples around it.

        Raises:
            ReplyError: it is another value, or is too large or too deep.
        """
        if isinstance(tree, str):
            return text(tree)
        if tree is None or type(tree) in (bool, float):
            return tree
        if type(tree) is int:
            require(tree.bit_length() <= MAX_BITS, f"an integer of at most {MAX_BITS} bits")
            return tree
        kind = tree[0] if isinstance(tree, list) and tree else None
        if kind == "tensor":
            return self.tensor(tree, _is_readable)
        if kind == "OtherValue":
            return self.other_value(tree)
        require(kind in ("list", "tuple") and depth < recording.MAX_DEPTH, "a number, text, tensor, list or tuple")
        members = items(tree, kind)
        require(len(members) <= recording.MAX_ITEMS, f"at most {recording.MAX_ITEMS} members")
        read = [self.plain(member, depth + 1) for member in members]
        return read if kind == "list" else tuple(read)

    def other_value(self, tree: Any) -> OtherValue:
        kind, about, tensor = exactly(3, items(tree, "OtherValue"))
        return OtherValue(text(kind), text(about), None if tensor is None else self.tensor(tensor, _is_readable))


def read(frame: bytes | bytearray, number: int, schema: Callable[[Reply], T]) -> T:
    """Read the reply to the request with this number, as `schema` reads it, from its bytes, to its end.

    Raises:
        ReplyError: the reply does not fit the schema.
    """
    try:
        reply = Reply(frame, number)
        value = schema(reply)
        reply.end()
    except ReplyError:
        raise
    except Exception as error:  # any other error while reading is the fault of the reply
        raise ReplyError(f"the reply cannot be read: {error}") from error
    return value


def require(fits: bool, what: str) -> None:
    """Raise ReplyError if the reply does not have `what`."""
    if not fits:
        raise ReplyError(f"the reply should have {what}")


def items(tree: Any, kind: str | None = None) -> list[Any]:
    """Return the members of a list, or, with a kind, the members after it in `[kind, …]`.

    Raises:
        ReplyError: it is no list, or one of another kind.
    """
    if not isinstance(tree, list):
        raise ReplyError("the reply should have a list")
    if kind is None:
        return tree
    require(tree[:1] == [kind], f"a {kind}")
    return tree[1:]


def exactly(count: int, members: list[Any]) -> list[Any]:
    """Return the members, which must be `count`."""
    require(len(members) == count, f"{count} values")
    return members


def same_length(members: list[Any], others: Sequence[T]) -> Iterator[tuple[Any, T]]:
    """Pair the members with the others, which must be as many."""
    return zip(exactly(len(others), members), others, strict=True)


def text(tree: Any, limit: int = recording.MAX_TEXT) -> str:
    """Return a text that `recording.bounded` would not change: short and printable.

    Raises:
        ReplyError: it is no such text.
    """
    bounded = isinstance(tree, str) and len(tree) <= limit and recording.bounded(tree, limit) == tree
    require(bounded, f"a printable text of at most {limit} characters")
    return str(tree)


def whole_number(tree: Any, most: int) -> int:
    """Read an integer from 0 to `most`."""
    require(type(tree) is int and 0 <= tree <= most, f"an integer from 0 to {most}")
    return int(tree)


# ── a trace ───────────────────────────────────────────────────────────────────────────────────────


def _trace(reply: Reply, tree: Any, case: Case, gradients: bool) -> Trace:
    """Return the trace of one run in this case. `gradients` says whether gradients were asked for.

    Raises:
        ReplyError: it does not fit the case, for example with too few results, or with gradients that nobody asked for.
    """
    (results, raised, lacking, absent, at_the_end, handed, generators, states, received, received_raised, printed,
     largest) = exactly(12, items(tree, "Trace"))  # fmt: skip
    read_results = _results(reply, results, case.script)
    read_raised = _raised(raised)
    done = len(read_results)
    require((done < len(case.script)) == (read_raised is not None), "a result for each step, or an error")
    loaded = _loaded(case.script[:done])
    read_lacking = [text(why, 2 * recording.MAX_TEXT) for why in items(lacking, "tuple")]
    require(len(read_lacking) <= len(_asked_to_load(case.script)) + 1, "at most one reason for each missing weight")
    read_absent = _absent(absent, loaded, dict(zip(map(id, case.script), read_results, strict=False)))
    original = _handed_over(case, done, read_raised is not None)
    ended = _at_the_end(reply, at_the_end, case, done)
    read_handed = _handed(reply, handed, original, read_absent, bool(read_lacking) or read_raised is not None)
    read_generators = _generators(reply, generators, case.script[: done + (read_raised is not None)])
    read_states = tuple(map(text, exactly(2, items(states, "tuple"))))
    wanted = gradients and case.gradients and read_raised is None and not read_lacking
    read_received = _gradients(reply, received, original, read_absent) if wanted else None
    require(wanted or received is None, "no gradients")
    require(wanted or received_raised is None, "no error from gradients")
    require((largest is None) == (case.max_elements is None), "a count of numbers only if the case limits it")
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
        largest=None if largest is None else whole_number(largest, 2**62),
    )


def _results(reply: Reply, tree: Any, script: Sequence[Step]) -> tuple[Any, ...]:
    members = items(tree, "tuple")
    require(len(members) <= len(script), "at most one result for each step")
    return tuple(_result(reply, one, step) for one, step in zip(members, script, strict=False))


def _result(reply: Reply, tree: Any, step: Step) -> Any:
    """Return the result of a step: None for a step that makes an object, shapes of parameters for `load`, else a value.

    A step with several calls has one tensor of their integers, or a tuple with the first `recording.MAX_ITEMS` results.

    Raises:
        ReplyError: a step of this kind cannot have such a result.
    """
    if step.act == "make":
        require(tree is None, "no result from a step that makes an object")
        return None
    if step.act == "load":
        return _shapes(tree)
    if step.times > 1:
        if isinstance(tree, list) and tree[:1] == ["tensor"]:
            return reply.tensor(tree, lambda dtype, shape: (dtype, shape) == (torch.int64, (step.times,)))
        members = items(tree, "tuple")
        require(len(members) == min(step.times, recording.MAX_ITEMS), "a result for each call")
        return tuple(reply.plain(one) for one in members)
    return reply.plain(tree)


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters that an object has, by their names.

    Raises:
        ReplyError: they are no shapes, or too many.
    """
    pairs = [exactly(2, items(pair)) for pair in items(tree, "dict")]
    require(len(pairs) <= running.MAX_PARAMETERS, f"at most {running.MAX_PARAMETERS} parameters")
    shapes = {
        text(name, MAX_NAME): tuple(whole_number(n, 2**40) for n in items(shape, "tuple")) for name, shape in pairs
    }
    fit = len(shapes) == len(pairs) and all(len(shape) <= wire.MAX_AXES for shape in shapes.values())
    require(fit, f"parameters with different names and at most {wire.MAX_AXES} axes")
    return shapes


def _raised(tree: Any) -> Raised | None:
    """Return the exception that an answer raised: the names of its types, its text and its line.

    None if it raised none.

    Raises:
        ReplyError: it is no such description.
    """
    if tree is None:
        return None
    types, message, line = exactly(3, items(tree, "Raised"))
    names = tuple(text(name) for name in items(types, "tuple"))
    require(1 <= len(names) <= MAX_BASES, f"1 to {MAX_BASES} types of an error")
    return Raised(names, text(message), text(line))


def _asked_to_load(script: Sequence[Step]) -> list[str]:
    return [name for step in script if step.act == "load" for name in step.kwargs]


def _loaded(script: Sequence[Step]) -> list[Step]:
    return [step for step in script if step.act == "load"]


def _absent(tree: Any, loads: Sequence[Step], results: dict[int, Any]) -> tuple[str, ...]:
    """Return the names of the biases that an object does not have.

    `results` has the shapes of the parameters of each "load" step, by the step's `id`.

    Raises:
        ReplyError: one is no such bias, or its weight is absent too: weights are compared.
    """
    names = [text(name, MAX_NAME) for name in items(tree, "tuple")]
    may = [
        name
        for step in loads
        for name in step.kwargs
        if name.endswith(".bias")
        and name not in results[id(step)]
        and (name.removesuffix("bias") + "weight") in results[id(step)]
    ]
    require(len(set(names)) == len(names) and set(names) <= set(may), "biases as the only absent parameters")
    return tuple(names)


def _at_the_end(reply: Reply, tree: Any, case: Case, done: int) -> tuple[tuple[int, Any], ...]:
    """Return the results of the steps as they are after the last step, each with the step's index.

    Only results that are objects are there, and only if the case has several steps. The first `done` steps returned.

    Raises:
        ReplyError: there are others.
    """
    script = case.script
    steps = [i for i in range(done) if _returns_an_object(script[i])] if len(script) > 1 else []
    pairs = [exactly(2, items(pair, "tuple")) for pair in items(tree, "tuple")]
    require([i for i, _ in pairs] == steps, "the result of each step, read again at the end")
    return tuple((i, reply.plain(value)) for i, (_, value) in zip(steps, pairs, strict=True))


def _returns_an_object(step: Step) -> bool:
    return step.act == "call" and step.times == 1 and step.method != "__len__"


def _handed_over(case: Case, done: int, raised: bool) -> list[tuple[Where, Any]]:
    """Return the inputs of the steps that started, in order. A "load" step that raised has passed no inputs."""
    return list(originals(case, done + (raised and case.script[done].act != "load")))


def _handed(
    reply: Reply, tree: Any, original: list[tuple[Where, Any]], absent: tuple[str, ...], some: bool
) -> tuple[tuple[Where, Any], ...]:
    """Return the inputs as they are after the run, each with its place. `original` has them as they were sent.

    All inputs must be there, except absent biases. With `some`, loaded weights may be missing, because not all of them
    were loaded.

    Raises:
        ReplyError: one is missing, or there are others.
    """
    pairs = [exactly(2, items(pair, "tuple")) for pair in items(tree, "tuple")]
    expected = iter([(where, value) for where, value in original if where[1] not in absent])
    found = []
    for where, now in pairs:
        for at, value in expected:
            if where == ["tuple", *at]:
                found.append((at, _afterwards(reply, now, value)))
                break
            require(some and isinstance(at[1], str), "the inputs in their order")
        else:
            raise ReplyError("the reply has more values than there were inputs")
    require(all(some and isinstance(at[1], str) for at, _ in expected), "all inputs")
    return tuple(found)


def _afterwards(reply: Reply, tree: Any, original: Any) -> Any:
    """Read an input as it is after the run; a list may have grown by one member (`running` cuts it there).

    Raises:
        ReplyError: it has grown more, or is no value that `Reply.plain` can read.
    """
    if not isinstance(original, list):
        return reply.plain(tree)
    members = items(tree, "list")
    require(len(members) <= len(original) + 1, "a list that is not much longer than the input")
    return [reply.plain(member) for member in members]


def _generators(reply: Reply, tree: Any, begun: Sequence[Step]) -> tuple[tuple[int, Tensor], ...]:
    """Return each generator's seed and state after the run. `begun` are the steps that were started.

    Raises:
        ReplyError: there are more or fewer than the case has, or other values.
    """
    values = [value for step in begun for value in (*step.args, *step.kwargs.values())]
    count = len({id(value) for value in values if isinstance(value, Seeded)})
    pairs = [exactly(2, items(pair, "tuple")) for pair in exactly(count, items(tree, "tuple"))]
    return tuple((whole_number(seed, 2**64 - 1), reply.tensor(state, _is_state)) for seed, state in pairs)


def _gradients(
    reply: Reply, tree: Any, original: list[tuple[Where, Any]], absent: tuple[str, ...]
) -> tuple[tuple[Where, Tensor | None], ...]:
    """Read the gradient of each floating-point input and parameter: None, or a tensor of the same shape.

    An input that is a list of tensors has one gradient: the flattened gradients of its members, concatenated.

    Raises:
        ReplyError: one is missing, or has another shape, or there are others.
    """
    parts: dict[Where, list[Tensor]] = {}
    for where, value in original:
        if isinstance(value, Tensor) and value.is_floating_point() and where[0] >= 0 and where[1] not in absent:
            parts.setdefault(where, []).append(value)
    pairs = [exactly(2, items(pair, "tuple")) for pair in items(tree, "tuple")]
    require([where for where, _ in pairs] == [["tuple", *where] for where in parts], "a gradient for each input")
    return tuple(
        (where, None if one is None else reply.tensor(one, _is_gradient_of(these)))
        for (where, these), (_, one) in zip(parts.items(), pairs, strict=True)
    )


# ── dtypes and shapes ─────────────────────────────────────────────────────────────────────────────


def _is_readable(dtype: torch.dtype, shape: tuple[int, ...]) -> bool:
    return recording.size_of(shape) <= recording.MAX_NUMBERS


def _is_state(dtype: torch.dtype, shape: tuple[int, ...]) -> bool:
    """Check whether a tensor of this dtype and shape can be the state of torch's random number generator."""
    return dtype == torch.uint8 and shape == STATE_SHAPE


def _is_gradient_of(values: Sequence[Tensor]) -> Callable[[torch.dtype, tuple[int, ...]], bool]:
    """Return a check for the gradient of one tensor, or for the concatenated gradients of a list of tensors."""
    wanted = tuple(values[0].shape) if len(values) == 1 else (sum(value.numel() for value in values),)
    return lambda dtype, shape: dtype.is_floating_point and shape == wanted
