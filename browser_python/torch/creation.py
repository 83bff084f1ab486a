"""Creation of tensors: from numbers, filled with one value, or as a range.

Errors are those of torch, with its messages, also where a docstring does not list them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import reduce
from typing import Any

from .dtypes import (
    C_NAMES,
    FLOATING,
    INTEGER,
    Device,
    State,
    as_dtype,
    bool_,
    check_device,
    finfo,
    float32,
    iinfo,
    int8,
    int16,
    int64,
    promoted_dtype,
    uint8,
)
from .dtypes import dtype as Kind
from .missing import refuse
from .numbers import convert_numbers, is_number, plain, power, to_array
from .shapes import check_flag, check_sizes, product, sizes_of, whole
from .tensors import Tensor, laid_out, method, tensor_of

FILL_NAMES = {
    **C_NAMES,
    uint8: "uint8_t",
    int8: "int8_t",
    int16: "int16_t",
    int64: "int64_t",
}  # in errors of `check_fits`


def tensor_in(data: Any) -> Any:
    """Return the tensor that an array of the page's numpy holds, and other data unchanged.

    Raises:
        ValueError: in NumPy, the array has a negative stride.
    """
    if getattr(data, "_reversed", False):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    return getattr(data, "_tensor", data)


def as_list(data: Any) -> Any:
    """Return an array of the page's numpy, which holds a tensor, as nested lists, and other data unchanged."""
    return data._tensor.tolist() if hasattr(data, "_tensor") else data


def nested_shape(data: Any) -> list[int]:
    """Return the lengths of nested lists, by the first element of each."""
    shape, data = [], as_list(data)
    while isinstance(data, (list, tuple, range)):
        shape.append(len(data))
        if not data:
            break
        data = as_list(data[0])
    return shape


TRUTH: set[type] = {bool}  # types of truth values; the page's numpy adds its own
PLAIN = frozenset([int, float, bool])  # types of numbers that are appended as they are


def flatten_nested(data: Any, shape: list[int], depth: int, out: list[Any]) -> None:
    """Append the numbers of nested lists of this shape to `out`. A number may be a 0-d tensor.

    Raises:
        ValueError: the lists have another shape, the first element is a string, or one is a tensor of several numbers.
        TypeError: a number is in the place of a list, a list in the place of a number, or a later element is a string.
        RuntimeError: an element is neither a number nor a string.
        NotImplementedError: a number is complex.
    """
    data = data if is_number(data) else as_list(data)
    if not isinstance(data, (list, tuple, range)):
        if isinstance(data, str):
            if out:
                raise TypeError("new(): invalid data type 'str'")
            raise ValueError("too many dimensions 'str'")
        if data is None:
            raise RuntimeError("Could not infer dtype of NoneType")
        if depth < len(shape):
            raise TypeError("not a sequence")
        if isinstance(data, complex):
            refuse("a complex number")
        if isinstance(data, Tensor):
            data._only()  # raises an error unless it is a single number
        elif not is_number(data):
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        out.append(data)
    elif depth == len(shape):
        raise TypeError(f"must be real number, not {type(data).__name__}")
    elif len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    elif depth == len(shape) - 1 and PLAIN.issuperset(map(type, data)):
        out.extend(data)
    else:
        for x in data:
            flatten_nested(x, shape, depth + 1, out)


def inferred_dtype(numbers: list[Any]) -> Kind:
    """Return the dtype that torch infers from numbers and 0-d tensors."""
    kinds = set(map(type, numbers))
    if any(issubclass(kind, Tensor) for kind in kinds):
        return reduce(promoted_dtype, [v.dtype if isinstance(v, Tensor) else inferred_dtype([v]) for v in numbers])
    if of_numpy := [kind for kind in kinds if hasattr(kind, "kind")]:  # numbers of the page's numpy have their dtypes
        others = [v for v in numbers if not hasattr(v, "kind")]
        return reduce(
            promoted_dtype, [*(kind.kind for kind in of_numpy), *([inferred_dtype(others)] if others else [])]
        )
    if not kinds or any(issubclass(kind, float) for kind in kinds):
        return State.default_dtype
    return bool_ if kinds <= TRUTH else int64


def first_of(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def dtype_of_parts(data: Any) -> Kind:
    """Return the dtype to which numbers and arrays of the page's numpy in nested lists promote."""
    if not isinstance(data, (list, tuple)):
        found: Kind = data._tensor.dtype if hasattr(data, "_tensor") else inferred_dtype([data])
        return found
    return reduce(promoted_dtype, map(dtype_of_parts, data)) if data else State.default_dtype


def placed(t: Tensor, device: Device, requires_grad: bool) -> Tensor:
    """Return the new tensor `t`, set to record its gradient if that is wanted.

    Raises:
        AssertionError, NotImplementedError: the device is CUDA, or another one that is not the CPU.
        TypeError, RuntimeError: `requires_grad` is no bool, or the dtype is not floating-point.
    """
    check_device(device)
    if requires_grad is not None:
        check_flag("requires_grad", requires_grad)
    if requires_grad and t.dtype.kind < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_() if requires_grad else t


def tensor(data: Any, *, dtype: Kind | None = None, device: Device = None, requires_grad: bool = False) -> Tensor:
    """Return a new tensor of numbers in nested lists, or a copy of a tensor or of an array of the page's numpy.

    The dtype is inferred: float32 (the default dtype) if a number is a float or there is none, else int64, or bool.

    Raises:
        ValueError, TypeError, RuntimeError, NotImplementedError: see `flatten_nested`, `check_range` and `placed`.
    """
    data = tensor_in(data)
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        return placed(data.detach().clone().to(dtype or data.dtype), device, requires_grad)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    shape = nested_shape(data)
    numbers: list[Any] = []
    if 0 not in shape:
        flatten_nested(data, shape, 0, numbers)
    dtype = dtype or (dtype_of_parts(data) if hasattr(first_of(data), "_tensor") else inferred_dtype(numbers))
    kinds = set(map(type, numbers))
    if any(issubclass(kind, Tensor) for kind in kinds):
        numbers = [v.item() if isinstance(v, Tensor) else v for v in numbers]
        kinds = set(map(type, numbers))
    floats = any(issubclass(kind, float) for kind in kinds)
    if not floats and dtype.kind == INTEGER and numbers:
        check_range(min(numbers), max(numbers), dtype)
    if floats and dtype.kind == INTEGER:
        for number in numbers:
            check_fits(number, dtype, dtype.name)
    return placed(
        tensor_of(convert_numbers(numbers, float32 if floats else int64, dtype), shape, dtype), device, requires_grad
    )


def check_range(low: int, high: int, kind: Kind) -> None:
    """Raise torch's error if integers from `low` to `high` do not fit a dtype of integers.

    In uint8, numbers down to −255 fit and wrap around.

    Raises:
        RuntimeError: they do not fit; for int64, a ValueError.
    """
    size = 2 ** (8 * kind.itemsize)
    if kind is int64 and not -size <= 2 * low <= 2 * high < size:
        raise ValueError("Overflow when unpacking long long")
    if not (-size < low <= high < size if kind is uint8 else -size <= 2 * low <= 2 * high < size):
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")


def check_fits(value: float, kind: Kind, name: str = "") -> None:
    """Raise torch's error if a value does not fit a dtype. The message calls the dtype by `name`, or by its C++ type.

    Each value fits bool. In uint8, numbers down to −255 fit and wrap around.

    Raises:
        RuntimeError: the value is too large or too far below 0, or it is inf or NaN and the dtype has only integers.
    """
    if kind is bool_:
        return
    if kind.kind == FLOATING:
        fits = not math.isfinite(value) or abs(value) <= finfo.LARGEST[kind]
    else:
        limits = iinfo(kind)
        low = -limits.max - 1 if kind is uint8 else limits.min - 1
        fits = math.isfinite(value) and low < value < limits.max + 1
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {name or FILL_NAMES[kind]} without overflow")


def as_tensor(data: Any, *, dtype: Kind | None = None, device: Device = None) -> Tensor:
    check_device(device)
    data = tensor_in(data)
    return data.to(dtype or data.dtype) if isinstance(data, Tensor) else tensor(data, dtype=dtype)


def scalar_tensor(s: float, *, dtype: Kind | None = None, device: Device = None, requires_grad: bool = False) -> Tensor:
    return full((), s, dtype=dtype or State.default_dtype, device=device, requires_grad=requires_grad)


def full(
    size: Sequence[int],
    fill_value: Tensor | float,
    *,
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of this shape in which each number is `fill_value`.

    Without a dtype, the value's kind chooses it.

    Raises:
        TypeError: `size` is not a tuple or list, or the value requires a gradient.
        RuntimeError: a size is negative, or the value does not fit the dtype; see `check_fits`.
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    if isinstance(fill_value, Tensor) and fill_value.requires_grad:
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    value = float(value) if isinstance(value, float) or type(value) in TRUTH - {bool} else plain(value)
    dtype = as_dtype(dtype) or inferred_dtype([value])
    check_fits(value, dtype)
    shape = sizes_of([size])
    check_sizes(shape)
    one = to_array(convert_numbers([value], float32 if isinstance(value, float) else int64, dtype), dtype)
    return placed(tensor_of(one * product(shape), shape, dtype), device, requires_grad)


def zeros(
    *sizes: int | Sequence[int],
    size: Sequence[int] | None = None,
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of zeros, by default of the default dtype.

    Raises:
        TypeError: there is no size, or one is no integer.
        RuntimeError: a size is negative.
    """
    shape, kind = sizes_of(sizes, size), as_dtype(dtype) or State.default_dtype
    check_sizes(shape)
    out = tensor_of(array(kind.code, bytes(product(shape) * kind.stored)), shape, kind)
    return placed(out, device, requires_grad)


def ones(
    *sizes: int | Sequence[int], size: Sequence[int] | None = None, dtype: Kind | None = None, **more: Any
) -> Tensor:
    return full(sizes_of(sizes, size), 1, dtype=dtype or State.default_dtype, **more)


empty = zeros


def full_like(
    x: Tensor,
    fill_value: Tensor | float,
    *,
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor with the shape, dtype and memory layout of `x` in which each number is `fill_value`."""
    t = laid_out(lambda x: full(x.shape, fill_value, dtype=dtype or x.dtype), [x])
    return placed(t, device, requires_grad)


def zeros_like(x: Tensor, *, dtype: Kind | None = None, **more: Any) -> Tensor:
    return full_like(x, 0, dtype=dtype, **more)


def ones_like(x: Tensor, *, dtype: Kind | None = None, **more: Any) -> Tensor:
    return full_like(x, 1, dtype=dtype, **more)


empty_like = zeros_like


def eye(
    n: int, m: int | None = None, *, dtype: Kind | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Return the (n, m) matrix with ones on its diagonal and zeros elsewhere; m = n by default.

    Raises:
        RuntimeError: a size is negative.
    """
    n, m = whole(n, "n"), whole(n if m is None else m, "m")
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = as_dtype(dtype) or State.default_dtype
    one, zero = to_array([1], kind), to_array([0], kind)
    rows = (one + zero * m) * min(n, m) + zero * (n * m)  # the ones lie m + 1 numbers apart
    return placed(tensor_of(rows[: n * m], (n, m), kind), device, requires_grad)


def arange(
    start: Tensor | float | None = None,
    end: Tensor | float | None = None,
    step: Tensor | float = 1,
    *,
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return start, start + step, …, without `end`; `arange(end)` begins at 0.

    Its dtype is int64 if all three are ints, else the default dtype.

    Raises:
        RuntimeError: the step is 0, or leads away from the end; an end is not finite.
        TypeError: there is no end.
        NotImplementedError: the dtype is bool.
    """
    if start is None and end is None:
        raise TypeError("arange() received an invalid combination of arguments: the end is missing")
    if end is None and step != 1:
        raise TypeError("arange() received an invalid combination of arguments: a step without an end")
    if end is None:
        start, end = 0, start
    start = 0 if start is None else start
    start, end, step = [v.item() if isinstance(v, Tensor) else plain(v) for v in (start, end, step)]
    of_integers = all(isinstance(v, int) for v in (start, end, step))
    dtype = as_dtype(dtype) or (int64 if of_integers else State.default_dtype)
    if dtype is bool_:
        raise NotImplementedError("\"arange_cpu\" not implemented for 'Bool'")
    if not step:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = max(0, math.ceil((end - start) / step))
    numbers = convert_numbers([start + i * step for i in range(n)], int64 if of_integers else float32, dtype)
    return placed(tensor_of(numbers, (n,), dtype), device, requires_grad)


def fused(a: float, b: float, c: float) -> float:
    """Return a · b + c, rounded once, as processors compute it."""
    if not (math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    if hasattr(math, "fma"):
        return math.fma(a, b, c)
    from fractions import Fraction  # before Python 3.13, so not on the page

    return float(Fraction(a) * Fraction(b) + Fraction(c))


def points(start: float, end: float, steps: int, kind: Kind | None = None) -> list[float]:
    """Return `steps` numbers at equal distances, from `start` to `end` inclusive.

    With float32, the ends and the step are rounded first, as torch does.
    """
    if kind is float32:
        start, end = to_array([start, end], kind)
        [gap] = to_array([end - start], kind)
        [step] = to_array([gap / (steps - 1) if steps > 1 else 0.0], kind)
    else:
        step = (end - start) / (steps - 1) if steps > 1 else 0
    half = steps // 2 if steps > 1 else 1  # torch computes each half from its own end, which rounds differently
    return [fused(i, step, start) if i < half else fused(i + 1 - steps, step, end) for i in range(steps)]


def number_of_steps(steps: int) -> int:
    """Return the argument `steps`; raise a TypeError if it is no integer, or a RuntimeError if it is negative."""
    if whole(steps, "steps") < 0:
        raise RuntimeError("number of steps must be non-negative")
    return whole(steps, "steps")


def linspace(
    start: Tensor | float,
    end: Tensor | float,
    steps: int,
    *,
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` numbers at equal distances, from `start` to `end` inclusive; one step is `start`.

    Raises:
        RuntimeError: `steps` is negative.
    """
    steps = number_of_steps(steps)
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    kind = as_dtype(dtype) or State.default_dtype
    numbers = points(start, end, steps, kind)
    return placed(tensor_of(numbers, (steps,), kind), device, requires_grad)


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the powers of `base` whose exponents are `steps` numbers at equal distances, from `start` to `end`.

    Raises:
        RuntimeError: `steps` is negative.
    """
    steps = number_of_steps(steps)
    numbers = [power(base, v) for v in points(start, end, steps)]
    return placed(tensor_of(numbers, (steps,), as_dtype(dtype) or State.default_dtype), device, requires_grad)


def from_numpy(a: Any) -> Tensor:
    """Return the tensor that an array of the page's numpy wraps: both share their storage.

    Raises:
        TypeError: it is no such array.
        ValueError: in NumPy, it has a negative stride.
    """
    if not hasattr(a, "_tensor"):
        raise TypeError(f"expected np.ndarray (got {type(a).__name__})")
    found: Tensor = tensor_in(a)
    return found


def hann_window(n: int, periodic: bool = True, *, dtype: Kind | None = None) -> Tensor:
    return hamming_window(n, periodic, 0.5, 0.5, dtype=dtype)


def hamming_window(
    n: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Kind | None = None
) -> Tensor:
    """Return a window of n numbers, alpha − beta·cos(2πi/n); with n − 1 for n if it is not periodic.

    For n = 1 it is 1. A negative n raises a RuntimeError.
    """
    n = whole(n, "window_length")
    if n < 0:
        name = "hann" if alpha == 0.5 else "hamming"
        raise RuntimeError(f"{name}_window requires non-negative window_length, got window_length={n}")
    turn = 2 * math.pi / (n if periodic else n - 1) if n > 1 else 0.0
    first = [1.0] if n == 1 else [alpha - beta * math.cos(turn * i) for i in range(n)]
    return tensor_of(first, (n,), as_dtype(dtype) or State.default_dtype)


@method
def new_zeros(x: Tensor, *sizes: int | Sequence[int], dtype: Kind | None = None, **more: Any) -> Tensor:
    return zeros(*sizes, dtype=dtype or x.dtype, **more)


@method
def new_ones(x: Tensor, *sizes: int | Sequence[int], dtype: Kind | None = None, **more: Any) -> Tensor:
    return ones(*sizes, dtype=dtype or x.dtype, **more)


@method
def new_full(
    x: Tensor, size: Sequence[int], fill_value: Tensor | float, *, dtype: Kind | None = None, **more: Any
) -> Tensor:
    return full(size, fill_value, dtype=dtype or x.dtype, **more)


@method
def new_tensor(x: Tensor, data: Any, *, dtype: Kind | None = None, **more: Any) -> Tensor:
    return tensor(data, dtype=dtype or x.dtype, **more)
