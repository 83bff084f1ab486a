"""Find the line of a program that mixes tokens, or examples, where nothing may mix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from qkv.xraying.running import Nudge, Place, run

# Tokens mix in these operations on purpose. Behind one of them, the rows of its result are followed instead.
MIXING = (
    *(
        "matmul",
        "__matmul__",
        "__rmatmul__",
        "mm",
        "bmm",
        "mv",
        "dot",
        "einsum",
        "baddbmm",
        "addmm",
        "addbmm",
        "linear",
    ),
    *("tensordot", "inner", "bilinear", "softmax", "log_softmax", "scaled_dot_product_attention"),
    *("multi_head_attention_forward", "_native_multi_head_attention", "_transformer_encoder_layer_fwd"),
)
SHOWN = 3  # tokens that a message names
Shapes = list[tuple[int, ...]]  # of the results of all operations
Slots = dict[int, int]  # an operation, or -1 - i for input i, and the axis of it whose slots are followed
Span = tuple[int, int]  # neighbouring axes: the first, and the one after the last


@dataclass(frozen=True)
class Step:
    """A result of one line: its shape, and which tokens reach each slot along the axis of tokens.

    Attributes:
        axis: the axis of tokens; None if no axis can be told to be it
        reached: for each slot along that axis, the tokens, or the rows of the last mixture, that reach it
    """

    place: Place
    shape: tuple[int, ...]
    axis: int | None
    reached: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Found:
    """What `xray` found.

    Attributes:
        line: the number, in its file or cell, of the first line that mixes tokens or examples; None if there is none
        source: the text of that line
        message: what happens there
        steps: what reaches the results of all lines that were followed
    """

    line: int | None
    source: str | None
    message: str
    steps: tuple[Step, ...] = field(default=(), repr=False)

    def _repr_html_(self) -> str:
        from qkv.xraying.picture import html_of

        return html_of(self)


@dataclass(frozen=True)
class Axis:
    """An axis that counts what is followed: tokens or examples.

    Attributes:
        size: how many there are
        more: how many there are in the longer input
        grown: the shape of each result for the longer input; None if the program takes no more
        alone: whether no other axis of the input has this size
        others: the shape of each result for inputs that are longer along another axis
    """

    size: int
    more: int
    grown: Shapes | None
    alone: bool
    others: Sequence[Shapes] = ()

    def places(self, i: int, shape: Sequence[int]) -> list[int]:
        """Return the axes of the result of operation `i` that count the same."""
        if self.grown is not None:
            return [a for a, n in enumerate(shape) if n == self.size and self.grown[i][a] == self.more]
        return [a for a, n in enumerate(shape) if n == self.size] if self.alone else []

    def spans(self, i: int, shape: Sequence[int]) -> list[Span]:
        """Return where a result counts the same: single axes, or else neighbours together, or an axis times something.

        Neighbours are the rows and columns of an image whose pixels are tokens; an axis times something is a batch
        into which heads or frames were folded.
        """
        single = [(axis, axis + 1) for axis in self.places(i, shape)]
        if single or self.grown is None:
            return single
        spans = {(a, b): math.prod(shape[a:b]) for a in range(len(shape)) for b in range(a + 1, len(shape) + 1)}
        grows = {(a, b): n for (a, b), n in spans.items() if n * self.more == math.prod(self.grown[i][a:b]) * self.size}
        together = [
            (a, b)
            for (a, b), n in grows.items()
            if n == self.size and all(math.prod(other[i][a:b]) == n for other in self.others)
        ]
        return together or [(a, b) for (a, b), n in grows.items() if b == a + 1 and n % self.size == 0]

    def is_in(self, i: int, shape: Sequence[int]) -> bool:
        """Check whether the result of operation `i` has an axis that counts the same, alone or times something."""
        return bool(self.places(i, shape)) or (self.grown is not None and tuple(shape) != self.grown[i])


@dataclass(eq=False)
class Source:
    """Something whose slots are followed: an input of the program, or the result of an operation that mixes.

    Attributes:
        at: the index of that operation; -1 - i for input i
        names: what its slots are called: ("tokens", ""), ("rows", " of the result of `matmul` in line 7")
        reach: for each operation, a bool tensor (*shape of its result, slots): which slots reach which numbers
        mixed: the operations whose results hold mixed slots on purpose, or because their inputs do
    """

    at: int
    names: tuple[str, str]
    reach: list[Tensor]
    mixed: set[int] = field(default_factory=set)

    def slots(self, i: int, span: Span) -> tuple[tuple[int, ...], ...]:
        """Return which slots of this source reach each slot along a span of axes of the result of operation `i`."""
        other = [axis for axis in range(self.reach[i].ndim - 1) if not span[0] <= axis < span[1]]
        by_slot = self.reach[i].any(other) if other else self.reach[i]
        return tuple(tuple(row.nonzero().flatten().tolist()) for row in by_slot.flatten(0, -2))

    def is_mixed(self, i: int, spans: Sequence[Span]) -> bool:
        """Check whether several slots of this source reach a number of a result, or a slot along each span."""
        if not spans or bool(self.reach[i].sum(-1).max() > 1):
            return bool(self.reach[i].sum(-1).max() > 1)
        return all(max(map(len, self.slots(i, span)), default=0) > 1 for span in spans)


Fault = tuple[int, Source, Axis]  # the operation that mixes, whose slots it mixes, and what these count


def xray(fn: Callable[..., Any], *inputs: Any, tokens: int = -2) -> Found:
    """Follow each token through a program, and find the first line that mixes tokens, or examples, by mistake.

    The program runs once as it is, and once more for each token and each example, with that one changed. This shows
    which of them reach each number of each result. In a matrix product, a softmax and `scaled_dot_product_attention`,
    tokens may mix; behind it, the rows of its result are followed in the same way. Anywhere else, a slot along the axis
    of tokens that is reached by several of them is the fault. In any operation, so is a slot along the axis of examples
    that is reached by several examples. An axis counts tokens if it grows when the input gets one token more.

    Arguments:
        fn      a function or an `nn.Module`; a module runs as a copy, in evaluation mode
        inputs  what it is called with; the first one is a tensor. Other tensors with as many axes are followed too
        tokens  the axis of the first input that counts tokens; axis 0, if it lies before that one, counts examples
    Raises:
        TypeError: the first input is not a tensor with such an axis.
    """
    first = inputs[0] if inputs else None
    if not isinstance(first, Tensor) or not -first.ndim <= tokens < first.ndim:
        raise TypeError(f"xray follows the tokens of a tensor: the first input needs an axis {tokens}.")
    program = Program(fn, inputs)
    axis = tokens % first.ndim
    alike = {id(value): i for i, value in reversed(list(enumerate(inputs))) if _is_like(value, first)}
    faults = [program.follow("tokens", axis, [i]) for i in sorted(alike.values())]
    if axis > 0:
        batched = [
            i for i, value in enumerate(inputs) if isinstance(value, Tensor) and value.shape[:1] == first.shape[:1]
        ]
        faults.append(program.follow("examples", 0, batched))
    return program.report(min((fault for fault in faults if fault), key=lambda fault: fault[0], default=None), axis > 0)


class Program:
    """A program with its inputs, its operations, and the sources that were followed."""

    def __init__(self, fn: Callable[..., Any], inputs: Sequence[Any]) -> None:
        self.fn, self.inputs = fn, inputs
        self.operations = run(fn, inputs)
        self.sources: list[Source] = []  # of tokens
        self.refuses_more = False
        # Each is asked for several times: what follows queries and what follows keys meet in the same scores.
        self.reach, self.longer = cache(self._reach), cache(self._longer)

    def follow(self, what: str, axis: int, of: Sequence[int]) -> Fault | None:
        """Follow the slots of these inputs along an axis, and return the first operation that mixes them by mistake."""
        shape = self.inputs[of[0]].shape
        counted = self.counted(axis, shape)
        sources = [self.source(dict.fromkeys((-1 - i for i in of), axis), shape[axis], (what, ""))]
        for i, operation in enumerate(self.operations):
            axes = counted.places(i, operation.result.shape)
            allowed = what == "tokens" and operation.name in MIXING
            # In a table whose last axis counts keys, what comes next may sum over keys, as a spelled-out softmax does.
            keys = allowed and operation.result.ndim - 1 in axes
            new = False
            for source in [source for source in sources if source.at < i]:
                # One number for all, such as the maximum that a softmax subtracts, may depend on everything.
                if operation.result.ndim == 0 or source.mixed.intersection(operation.inputs):
                    source.mixed.add(i)
                elif source.is_mixed(i, counted.spans(i, operation.result.shape)):
                    if not allowed and counted.is_in(i, operation.result.shape):
                        self.sources += sources if what == "tokens" else []
                        return i, source, counted
                    new |= allowed
                    source.mixed |= {i} if allowed else set()
                elif keys and bool(source.reach[i].any()):
                    source.mixed.add(i)
                    new |= len(axes) > 1
            if new:
                names = "rows", f" of the result of `{operation.name}` in line {operation.place.line}"
                rows = axes[:-1] if len(axes) > 1 and axes[-1] == operation.result.ndim - 1 else axes
                sources += [self.source({i: a}, counted.size, names) for a in rows]
        self.sources += sources if what == "tokens" else []
        return None

    def source(self, at: Slots, size: int, names: tuple[str, str]) -> Source:
        """Return the slots of an operation, or of inputs, as something to follow."""
        return Source(next(iter(at)), names, self.reach(frozenset(at.items()), size))

    def _reach(self, at: frozenset[tuple[int, int]], size: int) -> list[Tensor]:
        """Run the program once for each slot, with that slot changed, and note which numbers of each result change."""
        runs = [run(self.fn, self.inputs, {i: _nudge(axis, s) for i, axis in at}) for s in range(size)]
        reach = []
        for i, operation in enumerate(self.operations):
            others = [other[i].result if i < len(other) else None for other in runs]
            reach.append(torch.stack([_differs(operation.result, other) for other in others], dim=-1))
        return reach

    def counted(self, axis: int, shape: Sequence[int]) -> Axis:
        """Return an axis of the inputs as something to count, with what grows when the inputs get longer along it."""
        more, grown = self.longer(axis, shape[axis])
        others = [self.longer(a, n)[1] for a, n in enumerate(shape) if a != axis] if grown else []
        self.refuses_more |= grown is None  # then sizes alone have to tell its axes
        return Axis(shape[axis], more, grown, list(shape).count(shape[axis]) == 1, [s for s in others if s])

    def _longer(self, axis: int, size: int) -> tuple[int, Shapes | None]:
        """Run the program on inputs that are longer along an axis: their new size, and the shapes of all results.

        Longer is one slot more, or twice as many slots for a program that cuts them into windows.
        """
        for more in (size + 1, 2 * size):
            longer = {id(value): _with_more(value, self.inputs[0], axis, size, more) for value in self.inputs}
            try:
                operations = run(self.fn, [longer[id(value)] for value in self.inputs])
            except Exception:  # the program does not take this size
                continue
            if [operation.name for operation in operations] == [operation.name for operation in self.operations]:
                return more, [tuple(operation.result.shape) for operation in operations]
        return size, None

    def report(self, fault: Fault | None, has_examples: bool) -> Found:
        """Say which line mixes what, or that none does."""
        if fault is None:
            unknown = " It takes no longer input, so that axes of equal size were not told apart." * self.refuses_more
            text = f"No line mixes tokens{' or examples' * has_examples} by mistake.{unknown}"
            return Found(None, None, text, self.steps(len(self.operations)))
        i, source, counted = fault
        operation, shape = self.operations[i], tuple(self.operations[i].result.shape)
        first, end = next(iter(counted.spans(i, shape)), (0, 1))
        along = f"axis {first}" if end == first + 1 else f"axes {first} to {end - 1} together"
        slot, slots = next((slot, slots) for slot, slots in enumerate(source.slots(i, (first, end))) if len(slots) > 1)
        what, of = source.names
        named = f"{', '.join(map(str, slots[:SHOWN]))}{', …' * (len(slots) > SHOWN)}"
        message = (
            f"Line {operation.place.line}: `{operation.place.text}`. The result has shape {shape}. "
            f"Along {along}, slot {slot} holds numbers of {what} {named}{of}."
        )
        return Found(operation.place.line, operation.place.text, message, self.steps(i + 1))

    def steps(self, until: int) -> tuple[Step, ...]:
        """Return the last result of each line before the operation `until`, with what reaches its slots."""
        last = {operation.place: i for i, operation in enumerate(self.operations[:until])}
        return tuple(self.step(i) for i in last.values())

    def step(self, i: int) -> Step:
        """Return what reaches the result of one operation: slots of the latest source that it depends on."""
        operation = self.operations[i]
        for source in reversed(self.sources):
            if source.at < i and bool(source.reach[i].any()):
                axes = [a for a, n in enumerate(operation.result.shape) if n == source.reach[i].shape[-1]]
                if axes:
                    axis = min(axes, key=lambda a: max(map(len, source.slots(i, (a, a + 1)))))
                    return Step(operation.place, tuple(operation.result.shape), axis, source.slots(i, (axis, axis + 1)))
        return Step(operation.place, tuple(operation.result.shape), None, ())


def _is_like(value: Any, first: Tensor) -> bool:
    """Check whether an input is followed: a tensor of numbers with as many axes as the first."""
    return value is first or (isinstance(value, Tensor) and value.is_floating_point() and value.ndim == first.ndim)


def _nudge(axis: int, slot: int) -> Nudge:
    """Return a function that changes one slot of a tensor along an axis. Ids become other ids of the same tensor."""

    def nudge(value: Tensor) -> Tensor:
        changed = value.detach().clone()
        at = changed.select(axis, slot)
        if value.dtype == torch.bool:
            at.logical_not_()
        elif value.is_floating_point():
            at += 1 + torch.rand(at.shape, generator=torch.Generator().manual_seed(slot)).to(value.dtype)
        else:
            known = value.unique()
            at.copy_(known[(torch.searchsorted(known, at.contiguous()) + 1) % len(known)])
        return changed

    return nudge


def _differs(a: Tensor, b: Tensor | None) -> Tensor:
    """Compare two results number by number, up to rounding. All numbers differ if the shapes do."""
    if b is None or a.shape != b.shape:
        return torch.ones(a.shape, dtype=torch.bool)
    if not a.is_floating_point():
        return a != b
    return ~torch.isclose(a.double(), b.double(), rtol=1e-5, atol=1e-7, equal_nan=True)


def _with_more(value: Any, first: Tensor, axis: int, size: int, more: int) -> Any:
    """Return an input with its last slots repeated along `axis`. Of a mask, every axis of this size grows."""
    if not isinstance(value, Tensor):
        return value
    for a in [axis] if _is_like(value, first) else range(value.ndim):
        if value.shape[a] == size:
            value = torch.cat([value, value.narrow(a, 2 * size - more, more - size)], dim=a)
    return value
