"""Shapes, strides and axes: the positions of a tensor's numbers in its storage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any

ALL = slice(None)
Axes = int | Sequence[int] | None  # the axes that an operation reduces; None stands for all


class Size(tuple[int, ...]):
    """A tensor's shape."""

    __slots__ = ()

    def numel(self) -> int:
        return product(self)

    def __repr__(self) -> str:
        return "torch.Size([" + ", ".join([str(n) for n in self]) + "])"

    def __getitem__(self, i: Any) -> Any:
        got = tuple.__getitem__(self, i)
        return Size(got) if isinstance(i, slice) else got

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple(self) * times)

    __rmul__ = __mul__


product = prod  # of sizes: the number of elements of a shape


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor of this shape."""
    return strides_of(tuple(shape))


@lru_cache(maxsize=1000)
def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor; cached, since a check creates thousands of tensors of few shapes."""
    st, p = [0] * len(shape), 1
    for i in range(len(shape) - 1, -1, -1):
        st[i] = p
        p *= int(shape[i]) or 1  # not a number of another class: equal shapes share this
    return tuple(st)


def offsets_of(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> list[int]:
    """Return the positions of a tensor's numbers in its storage, in order."""
    offs = [offset]
    for n, s in zip(shape, strides, strict=False):
        steps: Iterable[int] = range(0, n * s, s) if s and n else [0] * n
        offs = [o + j for o in offs for j in steps]
    return offs


def common_shape(*shapes: Sequence[int]) -> Size:
    """Return the shape to which all these shapes broadcast.

    Raises:
        RuntimeError: two shapes cannot be broadcast together.
    """
    return broadcast(tuple(map(tuple, shapes)))


@lru_cache(maxsize=1000)
def broadcast(shapes: tuple[tuple[int, ...], ...]) -> Size:
    """Return the shape to which all these shapes broadcast; cached. If there is none, it raises a RuntimeError."""
    n = max([len(s) for s in shapes])
    out = [1] * n
    for s in map(tuple, shapes):
        for i in reversed(range(len(s))):  # from the last axis, so that an error names the same axis as torch's
            j = n - len(s) + i
            if s[i] != 1:
                if out[j] not in (1, s[i]):
                    raise RuntimeError(
                        f"The size of tensor a ({out[j]}) must match the size of tensor b ({s[i]}) at non-singleton dimension {j}"
                    )
                out[j] = s[i]
    return Size(out)


def layout_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """Return the axes, largest steps first, as torch lays out an elementwise result of tensors with these strides."""

    def follows(a: int, b: int) -> int:
        """Compare the steps of two axes: positive if `a` has larger steps than `b`, 0 if this is not known."""
        for steps in strides:
            p, q = steps[a], steps[b]
            if p and q and (p != q or shape[a] > shape[b]):
                return 1 if p >= q else -1
        return 0

    order = list(range(len(shape)))[::-1]  # begins with the axis of the smallest steps
    for i in range(1, len(order)):
        at = i
        for j in reversed(range(i)):
            found = follows(order[j], order[at])
            if found < 0:
                break
            if found > 0:
                order[j], order[at], at = order[at], order[j], j
    return order[::-1]


def axis_of(d: int, n: int) -> int:
    """Return the axis `d` of `n` axes as a non-negative index. A 0-d tensor accepts 0 and −1.

    Raises:
        TypeError: `d` is no integer.
        IndexError: there is no such axis.
    """
    if type(d) is not int and hasattr(d, "item"):
        d = d.item()
    if not isinstance(d, int) or isinstance(d, bool):
        raise TypeError(f"argument 'dim' must be int, not {type(d).__name__}")
    m = n or 1
    if not -m <= d < m:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-m}, {m - 1}], but got {d})")
    return d % m if m else 0


def axes_of(dim: Axes, n: int) -> list[int]:
    """Return the axes in `dim` as non-negative indices; all `n` axes if `dim` is None or empty.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: an axis is given twice.
    """
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(n))
    given: Any = dim if isinstance(dim, (tuple, list)) else [dim]
    dims = [axis_of(d, n) for d in given]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    return dims if n else []


INTEGERS = {int}


def whole(value: Any, name: str) -> int:
    """Return an argument that has to be an integer: a number of Python or NumPy, or a tensor of one integer.

    Anything else, also a bool, raises a TypeError with the name of the argument.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"argument '{name}' must be int, not {type(value).__name__}")
    return index(value)


def check_sizes(shape: Sequence[int]) -> None:
    """Raise torch's RuntimeError if the shape of a new tensor has a negative size."""
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")


def sizes_of(args: Sequence[Any], size: Sequence[int] | None = None) -> list[int]:
    """Return the sizes in `args`, which holds single integers, or one tuple or list of them; or those in `size`.

    A TypeError is raised if there are none, or if one is no integer.
    """
    args = args if size is None else (size,)
    if not args:
        raise SizesError('{name}() missing 1 required positional arguments: "{word}"')
    several = len(args) == 1 and isinstance(args[0], (tuple, list))
    if several:
        args = args[0]
    if set(map(type, args)) <= INTEGERS:  # a shortcut for the frequent case
        return list(args)
    out = []
    for i, a in enumerate(args):
        given = a.item() if hasattr(a, "item") and getattr(a, "ndim", 0) == 0 else a
        if not isinstance(given, int) or isinstance(given, bool):
            raise SizesError("{name}(): argument '{word}' " + wrong_size(i, type(a).__name__, several))
        out.append(given)
    return out


class SizesError(TypeError):
    """The error for sizes that are no integers: a TypeError, whose text has places for the function and the argument.

    `check_arguments` fills them; where it does not, a layer has asked for an empty tensor.
    """

    def __str__(self) -> str:
        return str(self.args[0]).format(name="empty", word="size")


SizesError.__name__ = SizesError.__qualname__ = "TypeError"
SizesError.__module__ = "builtins"


def wrong_size(i: int, kind: str, several: bool) -> str:
    """Return torch's words for the size number `i` of another kind than int, one of `several` or a single argument."""
    if i:
        return f'failed to unpack the object at pos {i + 1} with error "type must be tuple of ints,but got {kind}"'
    found = f"but found element of type {kind} at pos 0" if several else f"not {kind}"
    return f"(position 1) must be tuple of ints, {found}"


def infer_size(shape: list[int], n: int) -> list[int]:
    """Return the shape of a tensor of `n` numbers, with −1 replaced by the missing size.

    A RuntimeError is raised for two −1, for a size below −1, and for a shape that does not have `n` numbers.
    """
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for i, size in enumerate(shape):
        if size < -1:
            raise RuntimeError(f"invalid shape dimension {size} at index {i} of shape {shape}")
    known = product([s for s in shape if s != -1])
    if -1 in shape and known and n % known == 0:
        shape = [n // known if s == -1 else s for s in shape]
    if product(shape) != n or -1 in shape:
        raise RuntimeError(f"shape '[{', '.join([str(s) for s in shape])}]' is invalid for input of size {n}")
    return shape


def check_flag(name: str, value: object) -> None:
    """Raise torch's TypeError if the value of an argument is not a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"argument '{name}' must be bool, not {type(value).__name__}")
