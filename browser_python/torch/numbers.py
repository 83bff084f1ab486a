"""Single numbers: storage as a dtype, and arithmetic that follows IEEE 754 where Python raises an error."""

from __future__ import annotations

import math
import operator
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from math import inf, nan
from typing import Any

from .dtypes import FLOATING, bfloat16, bool_, dtype, float16, int32, uint8

Numbers = Sequence[Any]  # the numbers of a tensor: ints or floats, by its dtype
DIVISION_BY_ZERO = "ZeroDivisionError"  # torch's whole message for an integer division by zero


def to_half(v: float) -> float:
    """Round to the nearest float16; a number that is too large becomes infinite."""
    try:
        return struct.unpack("e", struct.pack("e", v))[0]
    except OverflowError:
        return math.copysign(inf, v)


def to_halves(values: list[float]) -> Sequence[float]:
    """Return these numbers rounded to float16; those that are too large become infinite."""
    form = f"{len(values)}e"
    try:
        return struct.unpack(form, struct.pack(form, *values))
    except OverflowError:
        return [to_half(v) for v in values]


def to_bfloat16(v: float) -> float:
    """Round to the nearest bfloat16: the upper 16 bits of a float32, ties to even."""
    if v != v or v in (inf, -inf):
        return v
    n = struct.unpack("I", struct.pack("f", v))[0]
    n = (n + 0x7FFF + ((n >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", n))[0]


def to_array(values: Iterable[float], dt: dtype) -> array[Any]:
    """Return an `array` of these numbers in the storage of this dtype, rounded to it.

    In an integer dtype, floats lose their decimals, integers that are too large are wrapped around, and nan and
    infinities become those of −2⁶³.
    """
    if dt is float16:
        values = to_halves(list(values))
    elif dt is bfloat16:
        values = [to_bfloat16(v) for v in values]
    try:
        return array(dt.code, values)
    except (TypeError, OverflowError):
        if dt.kind == FLOATING:
            return array(dt.code, [float(v) for v in values])
        return array(
            dt.code, [wrap_around(int(v) if v == v and v not in (inf, -inf) else -(2**63), dt) for v in values]
        )


def wrap_around(v: int, dt: dtype) -> int:
    """Return an integer wrapped to the range of this dtype: only its lowest bits remain."""
    bits = dt.itemsize * 8
    v &= (1 << bits) - 1
    return v - (1 << bits) if dt is not uint8 and v >> (bits - 1) else v


def convert_numbers(values: Iterable[float], src: dtype, dst: dtype) -> Any:
    """Return numbers of the dtype `src` as values for the dtype `dst`, as torch converts them.

    For bool, 0 or 1; floats lose their decimals in integers, and become the lowest number where they do not fit. The
    values are not yet rounded to `dst`, and may be `values` itself.
    """
    if dst is bool_:
        return [1 if v else 0 for v in values]
    if src.kind == FLOATING and dst.kind < FLOATING:
        low = (
            -(2**31) if dst is int32 else -(2**63)
        )  # what a processor gives for a number that does not fit, and for nan
        return [int(v) if low <= v < -low else low for v in values]
    return values if src.code == dst.code or isinstance(values, list) else list(values)


class OtherInteger:
    """An integer or truth value that is no `int`, as those of NumPy are none; `item` makes one of it."""

    __slots__ = ()

    def item(self) -> int:
        raise NotImplementedError


INTEGERS = (int, OtherInteger)
NUMBERS = (int, float, OtherInteger)


def is_number(x: object) -> bool:
    return isinstance(x, NUMBERS)


def plain(x: Any) -> Any:
    """Return an integer of NumPy as one of Python, and anything else unchanged."""
    return x.item() if isinstance(x, OtherInteger) else x


def exp_of(x: float) -> float:
    """Return eˣ, or inf where it is too large."""
    try:
        return math.exp(x)
    except OverflowError:
        return inf


def log_of(x: float) -> float:
    return math.log(x) if x > 0 else -inf if x == 0 else nan


def sqrt_of(x: float) -> float:
    return math.sqrt(x) if x >= 0 else nan


def quotient(a: float, b: float) -> float:
    """Return a / b; for b = 0, an infinity of the right sign, or nan if a is 0 or nan."""
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or a != a else math.copysign(inf, a) * math.copysign(1, b)


def nan_where_undefined(f: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function that equals `f`, and is nan where `f` raises a ValueError or an OverflowError."""

    def g(x: float) -> float:
        try:
            return f(x)
        except (ValueError, OverflowError):
            return nan

    return g


def infinite_where_too_large(f: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function that equals `f`, and where `f` overflows, is infinite with the sign of f(±1)."""

    def g(x: float) -> float:
        try:
            return f(x)
        except OverflowError:
            return f(math.copysign(1, x)) * inf

    return g


def lgamma_of(x: float) -> float:
    return inf if x <= 0 and x % 1 == 0 else math.lgamma(x)


def times_log(a: float, b: float) -> float:
    return nan if b != b else 0.0 if a == 0 else a * log_of(b)


sin_of, cos_of = nan_where_undefined(math.sin), nan_where_undefined(math.cos)
# Python's built-in function for each of ours. It is faster, but raises an error where IEEE 754 defines a value.
BUILT_IN: dict[Any, Callable[..., Any]] = {
    exp_of: math.exp,
    log_of: math.log,
    sqrt_of: math.sqrt,
    sin_of: math.sin,
    cos_of: math.cos,
    quotient: operator.truediv,
}


def map_numbers(f: Callable[..., float], *numbers: Iterable[float]) -> list[Any]:
    """Apply a function to each number, or to each pair of two sequences, and return the results.

    Python's faster built-in function is tried first; if it raises an error, `f` itself is applied.
    """
    if f in BUILT_IN:
        try:
            return list(map(BUILT_IN[f], *numbers))
        except (ArithmeticError, ValueError):
            pass
    return list(map(f, *numbers))


def power(a: float, b: float) -> float:
    """Return aᵇ: nan instead of a complex number, and an infinity where it is too large or b is negative and a is 0."""
    try:
        r = a**b
        return r if not isinstance(r, complex) else nan
    except ArithmeticError:
        return -inf if math.copysign(1, a) < 0 and b % 2 == 1 else inf


def sigmoid_of(x: float) -> float:
    return 0.0 if x <= -700 else 1 / (1 + math.exp(-x))


def round_of(x: float) -> float:
    return x if x != x or x in (inf, -inf) else math.copysign(float(round(x)), x)


def keeping_infinities(f: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function that equals `f`, gives 0 the sign of its argument, and leaves nan and infinities unchanged."""
    return lambda x: x if x != x or x in (inf, -inf) else math.copysign(f(x), x)


def check_divisor(a: float, b: float) -> None:
    if b == 0 and isinstance(a, int) and isinstance(b, int):
        raise RuntimeError(DIVISION_BY_ZERO)


def floor_quotient(a: float, b: float) -> float:
    check_divisor(a, b)
    return quotient(a, b) if b == 0 else a // b


def trunc_quotient(a: float, b: float) -> float:
    """Return a / b without its decimals; for floats, an infinity or nan where a / b is one.

    Raises:
        RuntimeError: an integer is divided by 0.
    """
    check_divisor(a, b)
    if isinstance(a, int) and isinstance(b, int):
        return a // b if a * b >= 0 else -(-a // b)
    return keeping_infinities(math.trunc)(quotient(a, b))


def modulo(a: float, b: float) -> float:
    check_divisor(a, b)
    return nan if b == 0 else a % b


def remainder_of(a: float, b: float) -> float:
    """Return the remainder of a / b rounded toward 0, or nan if b is 0 or a is infinite.

    Integers divided by 0 raise a RuntimeError.
    """
    check_divisor(a, b)
    if isinstance(a, int) and isinstance(b, int):
        return a - b * int(trunc_quotient(a, b))
    return nan if b == 0 or a in (inf, -inf) else math.fmod(a, b)


def inverse_tanh(x: float) -> float:
    return math.atanh(x) if -1 < x < 1 else x * inf if x in (1, -1) else nan


def larger(a: float, b: float) -> float:
    return a if a != a or a > b else b


def smaller(a: float, b: float) -> float:
    return a if a != a or a < b else b


def class_name(value: Any) -> str:
    """Return the name of a value's class, as torch writes it: with the module for NumPy's."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
