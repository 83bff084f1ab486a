"""Loops over many numbers by the course's kernels (`kernels/`), which work on the interpreter's memory.

The page's worker sets KERNELS (`runtime/kernels.js`). Without it, as in any other Python, every loop runs in Python.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product as choices
from math import prod
from typing import Any, NamedTuple

from .dtypes import dtype, float32, float64
from .shapes import Size, broadcast, layout_order, offsets_of, strides_of

BIG = 12  # numbers; a shorter loop takes less time in Python than the call of a kernel
KERNELS: dict[tuple[str, dtype], Callable[..., Any]] = {}  # by the operation's name here, and the dtype
NAMES = {  # the names of operations here, of which the kernels have others
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "larger",
    "min": "smaller",
    "neg": "negative",
    "abs": "absolute",
    "sqrt": "root",
    "amax": "largest",
    "amin": "smallest",
    "matmul": "products",
    "pow": "power",
    "eq": "equal",
    "ne": "unequal",
    "lt": "less",
    "le": "lessOrEqual",
}
SCALARS = {kind: array(kind.code, [0.0]) for kind in (float32, float64)}  # an operand that is a number, for a kernel


def set_kernels(of_float32: dict[str, Callable[..., Any]], of_float64: dict[str, Callable[..., Any]]) -> None:
    """Use these kernels, by name, from now on."""
    ours = {name: own for own, name in NAMES.items()}
    for kind, table in ((float32, of_float32), (float64, of_float64)):
        KERNELS.update({(ours.get(name, name), kind): kernel for name, kernel in table.items()})


def address_of(numbers: array[Any]) -> int:
    """Return the memory address of an array's numbers. Keep the array alive, at this length, while a kernel runs."""
    return numbers.buffer_info()[0]


def scalar(value: Any, kind: dtype) -> int:
    """Return the address of a number, until the next call."""
    SCALARS[kind][0] = value
    return SCALARS[kind].buffer_info()[0]


class Plan(NamedTuple):
    """How a kernel of rows and columns walks over operands of any strides, which broadcast together.

    The result has `n` numbers side by side, and this shape and these strides. For each call, `starts` has the positions
    of the first number of the result and of each operand. `steps` has the row step and column step of each operand.
    """

    n: int
    shape: Size
    strides: tuple[int, ...]
    starts: list[tuple[int, ...]]
    steps: tuple[int, ...]
    rows: int
    columns: int


@lru_cache(maxsize=2000)
def plan_of(*given: tuple[int, ...]) -> Plan:
    """Return the plan for operands, given by the shape and the strides of each, one after the other."""
    shapes, strides = given[::2], given[1::2]
    shape = broadcast(shapes)
    wide = [
        [0] * (len(shape) - len(sizes)) + [0 if n == 1 else s for n, s in zip(sizes, steps, strict=True)]
        for sizes, steps in zip(shapes, strides, strict=True)
    ]
    in_order = all(is_row_major(sizes, steps) for sizes, steps in zip(shapes, strides, strict=True))
    order = list(range(len(shape))) if in_order else layout_order(shape, wide)
    sizes = [shape[i] for i in order]
    out = strides_of(tuple(sizes))
    axes = merged(
        [(n, out[at], *(steps[i] for steps in wide)) for at, (i, n) in enumerate(zip(order, sizes, strict=True))]
    )
    axes = [(1, 0, *(0 for _ in wide))] * (2 - len(axes)) + axes
    *outer, (rows, _, *row_steps), (columns, _, *column_steps) = axes
    places = choices(*(range(axis[0]) for axis in outer))
    starts = [
        tuple(sum(i * axis[which] for i, axis in zip(place, outer, strict=True)) for which in range(1, 2 + len(wide)))
        for place in places
    ]
    steps = tuple(step for pair in zip(row_steps, column_steps, strict=True) for step in pair)
    return Plan(prod(shape), shape, tuple(out[order.index(i)] for i in range(len(order))), starts, steps, rows, columns)


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Check whether the numbers of a tensor with these strides lie side by side, in order."""
    p = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and s != p:
            return False
        p *= n
    return True


def merged(axes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Merge axes, given by their size and the steps of each operand along them, that can be walked as one."""
    found: list[tuple[int, ...]] = []
    for size, *steps in axes:
        if size == 1:
            continue
        if found and all(outer == step * size for outer, step in zip(found[-1][1:], steps, strict=True)):
            found[-1] = (found[-1][0] * size, *steps)
        else:
            found.append((size, *steps))
    return found


def run(
    kernel: Callable[..., Any], out_kind: dtype, plan: Plan, addresses: Sequence[int], sizes: Sequence[int]
) -> array[Any]:
    """Run a kernel of rows and columns, and return the numbers of the result.

    The operands have these addresses, and numbers of these sizes in bytes.
    """
    out = array(out_kind.code, bytes(plan.n * out_kind.itemsize))
    to, columns, steps = out.buffer_info()[0], plan.columns, plan.steps
    if len(plan.starts) == 1 and len(addresses) == 2:  # the frequent case, without loops
        kernel(to, columns, addresses[0], steps[0], steps[1], addresses[1], steps[2], steps[3], plan.rows, columns)
        return out
    for start, *others in plan.starts:
        args: list[int] = []
        for i, (address, at, size) in enumerate(zip(addresses, others, sizes, strict=True)):
            args += (address + at * size, steps[2 * i], steps[2 * i + 1])
        kernel(to + start * out_kind.itemsize, columns, *args, plan.rows, columns)
    return out


@lru_cache(maxsize=2000)
def four_axes(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[list[int], int, tuple[int, ...]]:
    """Return how the kernels `copy` and `spread` walk over a tensor: where each call starts, how many numbers it
    handles, and its four sizes and four steps."""
    axes = merged(list(zip(shape, strides, strict=True)))
    axes = [(1, 0)] * (4 - len(axes)) + axes
    starts = offsets_of([n for n, _ in axes[:-4]], [s for _, s in axes[:-4]])
    sizes, steps = zip(*axes[-4:], strict=True)
    return starts, prod(sizes), (*sizes, *steps)
