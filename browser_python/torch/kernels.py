"""Loops over many numbers by the course's kernels (`kernels/`), which work on the interpreter's memory.

The page's worker sets KERNELS (`runtime/kernels.js`). Without it, as in any other Python, every loop runs in Python.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from .dtypes import dtype, float32, float64
from .shapes import Size, broadcast, layout_order, offsets_of, strides_of

BIG = 12  # numbers; a shorter loop takes less time in Python than the call of a kernel
ADDRESS = -1  # in the arguments of a kernel: the place of an address
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


Kernel = Callable[..., Any]


bind: Any = None  # see set_kernels


def set_kernels(
    of_float32: dict[str, Kernel], of_float64: dict[str, Kernel], binding: Callable[[Kernel, str], Kernel]
) -> None:
    """Use these kernels, by name, from now on.

    `binding(kernel, fixed)` returns a function of addresses only, because the arguments of a call from Python take longer
    than most loops. `fixed` is JSON: the kernel's arguments, with -1 for each address; and for each call a list of what
    is added to the addresses, in bytes.
    """
    global bind
    bind = binding
    ours = {name: own for own, name in NAMES.items()}
    for kind, table in ((float32, of_float32), (float64, of_float64)):
        KERNELS.update({(ours.get(name, name), kind): kernel for name, kernel in table.items()})


def bound(kernel: Kernel, args: list[int], starts: list[list[int]]) -> Kernel:
    """Return a function that calls a kernel with these arguments, in which ADDRESS stands for an address.

    The function takes the addresses; `starts` has for each call what is added to them, in bytes.
    """
    made: Kernel = bind(kernel, repr([args, starts]))  # lists of integers are JSON as Python shows them
    return made


def address_of(numbers: array[Any]) -> int:
    """Return the memory address of an array's numbers. Keep the array alive, at this length, while a kernel runs."""
    return numbers.buffer_info()[0]


def scalar(value: float, kind: dtype) -> int:
    """Return the address of a number, until the next call."""
    SCALARS[kind][0] = value
    return SCALARS[kind].buffer_info()[0]


class Loop(NamedTuple):
    """A loop over operands of any strides, which broadcast together, and its result: `n` numbers side by side.

    `run` takes the address of the result and those of the operands.
    """

    n: int
    shape: Size
    strides: tuple[int, ...]
    run: Kernel


@lru_cache(maxsize=4000)
def loop_of(name: str, kind: dtype, bytes_each: tuple[int, ...], *given: tuple[int, ...]) -> Loop:
    """Return the loop of the kernel `name` of rows and columns over operands, given by shape and strides of each.

    `bytes_each` are the bytes of a number of the result and of each operand. Shapes that do not broadcast raise a
    RuntimeError.
    """
    shapes, strides = [*map(tuple, given[::2])], given[1::2]
    shape = broadcast(tuple(shapes))
    wide = [
        [0] * (len(shape) - len(sizes)) + [0 if n == 1 else s for n, s in zip(sizes, steps, strict=True)]
        for sizes, steps in zip(shapes, strides, strict=True)
    ]
    in_order = all(is_row_major(sizes, steps) for sizes, steps in zip(shapes, strides, strict=True))
    order = list(range(len(shape))) if in_order else layout_order(shape, wide)
    out = strides_of(tuple(shape[i] for i in order))
    axes = merged([(shape[i], step, *(steps[i] for steps in wide)) for i, step in zip(order, out, strict=True)])
    axes = [(1,) + (0,) * (1 + len(wide))] * (2 - len(axes)) + axes
    *outer, (rows, _, *row_steps), (columns, _, *column_steps) = axes
    args = [ADDRESS, columns]
    for row_step, column_step in zip(row_steps, column_steps, strict=True):
        args += [ADDRESS, row_step, column_step]
    call = bound(KERNELS[name, kind], [*args, rows, columns], starts_of(outer, bytes_each))
    return Loop(prod(shape), shape, tuple(out[order.index(i)] for i in range(len(order))), call)


def starts_of(axes: Sequence[tuple[int, ...]], bytes_each: Sequence[int]) -> list[list[int]]:
    """Return where each operand starts, in bytes from its address, for each index of these axes.

    An axis is given by its size and the steps of each operand along it.
    """
    sizes = [axis[0] for axis in axes]
    offsets = [offsets_of(sizes, [axis[1 + i] for axis in axes]) for i in range(len(bytes_each))]
    return [[at * size for at, size in zip(start, bytes_each, strict=True)] for start in zip(*offsets, strict=True)]


@lru_cache(maxsize=2000)
def is_row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Check whether the numbers of a tensor with these strides lie side by side, in order."""
    p = 1
    for n, s in zip(reversed(tuple(shape)), reversed(strides), strict=True):
        if n != 1 and s != p:
            return False
        p *= n
    return True


def merged(axes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return axes, each (size, *steps of the operands), with neighbours that can be walked as one merged.

    Axes of size 1 are left out.
    """
    found: list[tuple[int, ...]] = []
    for size, *steps in axes:
        if size == 1:
            continue
        if found and all(outer == step * size for outer, step in zip(found[-1][1:], steps, strict=True)):
            found[-1] = (found[-1][0] * size, *steps)
        else:
            found.append((size, *steps))
    return found


@lru_cache(maxsize=2000)
def four_axes(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[list[int], int, tuple[int, ...]]:
    """Return how the kernels `copy` and `spread` walk over a tensor, by its last four axes.

    It is where each call starts, how many numbers it handles, and its four sizes and four steps.
    """
    axes = merged(list(zip(shape, strides, strict=True)))
    axes = [(1, 0)] * (4 - len(axes)) + axes
    starts = offsets_of([n for n, _ in axes[:-4]], [s for _, s in axes[:-4]])
    sizes, steps = zip(*axes[-4:], strict=True)
    return starts, prod(sizes), (*sizes, *steps)
