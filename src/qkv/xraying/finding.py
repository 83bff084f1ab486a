"""Find the line of a program that mixes tokens, or examples, where nothing may mix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from qkv.words import sentences, t
from qkv.xraying.axes import Counted, Shape
from qkv.xraying.running import Operation, run

SHOWN = 3  # tokens that a message names


@dataclass(frozen=True)
class Found:
    """What `xray` found.

    Attributes:
        line: the number, in its file or cell, of the first line that mixes tokens or examples; None if there is none
        source: the text of that line
        message: what happens there
        operations: the operations up to that line, with the tokens that reach their results
    """

    line: int | None
    source: str | None
    message: str
    operations: tuple[Operation, ...] = field(default=(), repr=False)

    def _repr_html_(self) -> str:
        from qkv.xraying.picture import html_of

        return html_of(self)


def xray(fn: Callable[..., Any], *inputs: Any, tokens: int = -2) -> Found:
    """Follow each token through a program, and find the first line that mixes tokens, or examples, by mistake.

    The program runs once for tokens and once for examples. Every operation of torch is computed as it is, and once
    more for each token or example, with that one changed. This shows which of them reach each number of each result.
    In a matrix product, a softmax, a convolution or a running sum, tokens may mix; behind it, a row counts as the token
    of its query. Anywhere else, a slot along the axis of tokens that is reached by several of them is the fault, unless
    whole rows were put beside each other. In any operation, so is a slot along the axis of examples that is reached by
    several examples. An axis counts tokens if it grows when the input gets longer.

    Arguments:
        fn      a function or an `nn.Module`; a module runs as a copy, in evaluation mode
        inputs  what it is called with; the first one is a tensor. Other tensors with as many axes are followed too
        tokens  the axis of the first input that counts tokens; axis 0, if it lies before that one, counts examples
    Raises:
        TypeError: the first input is not a tensor with such an axis. What the program raises is raised too.
    """
    first = inputs[0] if inputs else None
    if not isinstance(first, Tensor) or not -first.ndim <= tokens < first.ndim:
        raise TypeError(t("xray follows the tokens of a tensor: the first input needs an axis {axis}.", axis=tokens))
    axis = tokens % first.ndim
    alike = [i for i, value in enumerate(inputs) if value is first or _is_like(value, first)]
    batched = [i for i, value in enumerate(inputs) if isinstance(value, Tensor) and value.shape[:1] == first.shape[:1]]
    having = {a: batched if a == 0 < axis else alike for a in range(first.ndim)}  # which inputs have an axis
    plain = [operation.name for operation in run(fn, inputs)]
    longer = {a: _longer_run(fn, inputs, plain, a, which) for a, which in having.items()}
    followed = []
    for what, a in [("tokens", axis), ("examples", 0)][: 2 if axis > 0 else 1]:
        counted = Counted(what, *longer[a], [shapes for b, (_, shapes) in longer.items() if b != a and shapes])
        slots = range(max(inputs[i].shape[a] for i in having[a]))
        copies = {i: [_changed(inputs[i], a, slot) for slot in slots] for i in having[a]}
        followed.append((counted, run(fn, inputs, counted, copies)))
    return _report(followed)


def _is_like(value: Any, first: Tensor) -> bool:
    """Check whether an input has the axes of the first: a tensor of numbers with as many axes."""
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim == first.ndim


def _changed(value: Tensor, axis: int, slot: int) -> Tensor:
    """Return a copy of a tensor with one slot changed along an axis; if it has no such slot, an equal copy.

    Numbers get other numbers, booleans are inverted, ids become other ids of the same tensor.
    """
    changed = value.detach().clone()
    if slot >= value.shape[axis]:
        return changed
    at = changed.select(axis, slot)
    if value.dtype == torch.bool:
        at.logical_not_()
    elif value.is_floating_point():
        at += 1 + torch.rand(at.shape, generator=torch.Generator().manual_seed(slot)).to(value.dtype)
    else:
        known = value.unique()
        at.copy_(known[(torch.searchsorted(known, at.contiguous()) + 1) % len(known)])
    return changed


def _longer_run(
    fn: Callable[..., Any], inputs: Sequence[Any], names: Sequence[str], axis: int, having: Sequence[int]
) -> tuple[frozenset[tuple[int, int]], list[Shape] | None]:
    """Run a program on inputs that are longer along an axis. Return (sizes before and after, shapes of all results).

    Longer is one slot more, or twice as many slots for a program that cuts them into windows. If the program takes
    neither, there are no shapes, and only sizes that the first input has at most once, each as (n, n).
    """
    sizes = {inputs[i].shape[axis] for i in having}
    for grow in (lambda n: n + 1, lambda n: 2 * n):
        longer = {
            id(value): _longer(value, axis if i in having else None, sizes, grow) for i, value in enumerate(inputs)
        }
        try:
            operations = run(fn, [longer[id(value)] for value in inputs])
        except Exception:  # the program does not take this size
            continue
        if [operation.name for operation in operations] == names:
            return frozenset((n, grow(n)) for n in sizes), [operation.shape for operation in operations]
    return frozenset((n, n) for n in sizes if list(inputs[0].shape).count(n) <= 1), None


def _longer(value: Any, axis: int | None, sizes: set[int], grow: Callable[[int], int]) -> Any:
    """Return an input with its last slots repeated along an axis, until there are grow(n) in place of n.

    With None for the axis, they are repeated along each axis whose size is one of `sizes`. What is no tensor stays.
    """
    if not isinstance(value, Tensor):
        return value
    for a in [axis] if axis is not None else range(value.ndim):
        n = value.shape[a]
        if axis is not None or n in sizes:
            value = torch.cat([value, value.narrow(a, 2 * n - grow(n), grow(n) - n)], dim=a)
    return value


def _fault(operations: Sequence[Operation]) -> int | None:
    """Return the index of the first operation whose mixed result is used, in a mixture or at the end; None if none is.

    A result that is whole again does not count: `view` may shift scores into other rows, where a mask then hides them.
    If several of these mix later, such as the two halves of rows that were cut wrong, the first one is the fault.
    """
    used = {i for operation in operations for i in operation.inputs}
    origins: list[int | None] = []  # for each operation, the first one that mixed what its result holds
    mixed: set[int] = set()  # the operations whose results are mixed, or made of mixed ones and not whole again
    found: list[int | None] = []
    for i, operation in enumerate(operations):
        inputs = [j for j in operation.inputs if j >= 0]
        if operation.may_mix:
            found += [origins[j] for j in inputs if j in mixed]
            origins.append(None)
            continue
        mixes = bool(operation.spans) and operation.is_mixed()
        origins.append(min((o for j in inputs if (o := origins[j]) is not None), default=i if mixes else None))
        if mixes or (not mixed.isdisjoint(inputs) and not operation.is_whole()):
            mixed.add(i)
            found += [origins[i]] * (i not in used)
    return min((i for i in found if i is not None), default=None)


def _report(followed: Sequence[tuple[Counted, list[Operation]]]) -> Found:
    """Return which line is the first to mix what, with a message, or that none does.

    `followed` has what was counted and the operations of a run, for tokens and then perhaps for examples.
    """
    faults = [(fault, i) for i, (_, operations) in enumerate(followed) if (fault := _fault(operations)) is not None]
    of_tokens = tuple(followed[0][1])
    if not faults:
        both = len(followed) > 1
        text = t("No line mixes tokens or examples by mistake.") if both else t("No line mixes tokens by mistake.")
        alike = t("It takes no longer input, so that axes of equal size were not told apart.")
        untold = any(counted.grown is None for counted, _ in followed)
        return Found(None, None, sentences(text, alike if untold else ""), of_tokens)
    at, i = min(faults)
    counted, operations = followed[i]
    operation = operations[at]
    first, end = operation.spans[0]
    slot, slots = next((slot, slots) for slot, slots in enumerate(operation.slots((first, end))) if len(slots) > 1)
    named = f"{', '.join(map(str, slots[:SHOWN]))}{', …' * (len(slots) > SHOWN)}"
    place = operation.place
    line = t("Line {n}: `{text}`. The result has shape {shape}.", n=place.line, text=place.text, shape=operation.shape)
    message = sentences(line, _mixture(counted.what, (first, end - 1), slot, named))
    return Found(place.line, place.text, message, of_tokens[: at + 1])


def _mixture(what: str, axes: tuple[int, int], slot: int, named: str) -> str:
    """Say which tokens or examples one slot holds, along an axis or along several from first to last."""
    first, last = axes
    values = {"axis": first, "slot": slot, "named": named}
    if first == last and what == "tokens":
        return t("Along axis {axis}, slot {slot} holds numbers of tokens {named}.", **values)
    if first == last:
        return t("Along axis {axis}, slot {slot} holds numbers of examples {named}.", **values)
    values["last"] = last
    if what == "tokens":
        return t("Along axes {axis} to {last} together, slot {slot} holds numbers of tokens {named}.", **values)
    return t("Along axes {axis} to {last} together, slot {slot} holds numbers of examples {named}.", **values)
