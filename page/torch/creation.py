"""Creation of tensors: from numbers, filled with one value, or as a range."""

from __future__ import annotations

import math
from typing import Any

from .dtypes import State, bool_, float32, float64, int64
from .dtypes import dtype as Kind
from .numbers import convert_numbers, is_number, to_array
from .shapes import product, sizes_of
from .tensors import Tensor, method, tensor_of


def flatten_nested(data: Any, shape: list[int], depth: int, out: list[Any]) -> None:
    """Append the numbers of nested lists to `out`, and the lengths of the lists to `shape`.

    Raises:
        ValueError: lists of the same depth differ in length.
        TypeError: a number follows a list at the same depth, or an element is a string.
        RuntimeError: an element is neither a number nor a string.
    """
    data = getattr(data, "_tensor", data)
    if isinstance(data, Tensor):
        data = data.tolist()
    if isinstance(data, (list, tuple, range)):
        if depth == len(shape):
            shape.append(len(data))
        elif shape[depth] != len(data):
            raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
        for x in data:
            flatten_nested(x, shape, depth + 1, out)
    elif is_number(data):
        if depth < len(shape):
            raise TypeError("not a sequence")
        out.append(data)
    else:
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def tensor(data: Any, dtype: Kind | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    data = getattr(data, "_tensor", data)  # an array of the page's numpy holds a tensor
    if isinstance(data, Tensor):
        return data.detach().clone().to(dtype or data.dtype).requires_grad_(requires_grad)
    shape: list[int] = []
    out: list[Any] = []
    flatten_nested(data, shape, 0, out)
    source = float32 if any(isinstance(v, float) for v in out) else int64
    if dtype is None:
        every_bool = bool(out) and all(isinstance(v, bool) for v in out)
        dtype = State.default_dtype if source is float32 or not out else bool_ if every_bool else int64
    t = tensor_of(convert_numbers(out, source, dtype), shape, dtype)
    return t.requires_grad_() if requires_grad else t


def as_tensor(data: Any, dtype: Kind | None = None, device: Any = None) -> Tensor:
    data = getattr(data, "_tensor", data)
    return data.to(dtype or data.dtype) if isinstance(data, Tensor) else tensor(data, dtype)


scalar_tensor = as_tensor


def full(size: Any, value: Any, dtype: Kind | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    if isinstance(value, Tensor):
        value = value.item()
    dtype = dtype or (bool_ if isinstance(value, bool) else int64 if isinstance(value, int) else State.default_dtype)
    shape = sizes_of([size]) if isinstance(size, (tuple, list)) else sizes_of((size,))
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {shape}")
    t = tensor_of(
        to_array(convert_numbers([value], float32 if isinstance(value, float) else int64, dtype), dtype)
        * product(shape),
        shape,
        dtype,
    )
    return t.requires_grad_() if requires_grad else t


def zeros(*size: Any, dtype: Kind | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return full(sizes_of(size), 0, dtype or State.default_dtype, requires_grad=requires_grad)


def ones(*size: Any, dtype: Kind | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return full(sizes_of(size), 1, dtype or State.default_dtype, requires_grad=requires_grad)


empty = zeros


def zeros_like(x: Tensor, dtype: Kind | None = None, **kw: Any) -> Tensor:
    return zeros(*x.shape, dtype=dtype or x.dtype)


def ones_like(x: Tensor, dtype: Kind | None = None, **kw: Any) -> Tensor:
    return ones(*x.shape, dtype=dtype or x.dtype)


def full_like(x: Tensor, value: Any, dtype: Kind | None = None, **kw: Any) -> Tensor:
    return full(x.shape, value, dtype or x.dtype)


empty_like = zeros_like


def eye(n: Any, m: Any = None, dtype: Kind | None = None, device: Any = None) -> Tensor:
    m = n if m is None else m
    return tensor_of([1 if i == j else 0 for i in range(n) for j in range(m)], (n, m), dtype or State.default_dtype)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Kind | None = None, device: Any = None) -> Tensor:
    if end is None:
        start, end = 0, start
    start, end, step = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    whole = all(isinstance(v, int) for v in (start, end, step))
    dtype = dtype or (int64 if whole else State.default_dtype)
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = max(0, math.ceil((end - start) / step))
    return tensor_of(
        convert_numbers([start + i * step for i in range(n)], int64 if whole else float32, dtype), (n,), dtype
    )


def linspace(start: Any, end: Any, steps: Any, dtype: Kind | None = None) -> Tensor:
    step = (end - start) / (steps - 1) if steps > 1 else 0
    half = steps / 2  # torch computes each half from its own end, which rounds differently
    numbers = [start + i * step if i < half else end - (steps - 1 - i) * step for i in range(steps)]
    return tensor_of(numbers, (steps,), dtype or State.default_dtype)


def logspace(start: Any, end: Any, steps: Any, base: Any = 10.0, dtype: Kind | None = None) -> Tensor:
    return tensor_of(
        [base**v for v in linspace(start, end, steps, dtype=float64)._numbers()], (steps,), dtype or State.default_dtype
    )


def from_numpy(a: Any) -> Tensor:
    found: Tensor = a._tensor
    return found


def hann_window(n: Any, periodic: Any = True, dtype: Kind | None = None) -> Tensor:
    return hamming_window(n, periodic, 0.5, 0.5, dtype)


def hamming_window(
    n: Any, periodic: Any = True, alpha: Any = 0.54, beta: Any = 0.46, dtype: Kind | None = None
) -> Tensor:
    turn = 2 * math.pi / (n if periodic else n - 1) if n > 1 else 0.0
    first = [1.0] if n == 1 else [alpha - beta * math.cos(turn * i) for i in range(n)]
    return tensor_of(first, (n,), dtype or State.default_dtype)


@method
def new_zeros(x: Tensor, *size: Any, dtype: Kind | None = None, device: Any = None) -> Tensor:
    return zeros(*size, dtype=dtype or x.dtype)


@method
def new_ones(x: Tensor, *size: Any, dtype: Kind | None = None, device: Any = None) -> Tensor:
    return ones(*size, dtype=dtype or x.dtype)


@method
def new_full(x: Tensor, size: Any, value: Any, dtype: Kind | None = None) -> Tensor:
    return full(size, value, dtype or x.dtype)


@method
def new_tensor(x: Tensor, data: Any, dtype: Kind | None = None) -> Tensor:
    return tensor(data, dtype=dtype or x.dtype)
