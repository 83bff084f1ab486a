"""Arrays and numbers as text, by the rules of `numpy/_core/arrayprint.py` (BSD-3-Clause)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import torch

PRECISION, THRESHOLD, EDGE, LINE_WIDTH = 8, 1000, 3, 75
PLAIN = (torch.float64, torch.int64, torch.bool)  # `repr` leaves these dtypes out
OPTIONS: dict[str, Any] = {"precision": PRECISION, "suppress": False}
LARGE = {torch.float64: 1e8, torch.float32: 1e6, torch.float16: 1e3}  # from here on, exponents are shown
SINGLE = {torch.float32: "f", torch.float16: "e"}  # the formats of `struct` for dtypes with fewer digits


def shortest(value: float, kind: torch.dtype) -> str:
    """Return the shortest digits, as in `repr`, that are read as this number of this dtype."""
    code = SINGLE.get(kind)
    if code is None or not math.isfinite(value):
        return repr(float(value))
    return next(
        text
        for text in (repr(float(f"{value:.{digits}g}")) for digits in range(1, 18))
        if struct.unpack(code, struct.pack(code, float(text)))[0] == value
    )


def shortest_single(value: float, kind: torch.dtype) -> str:
    """Return a single number as `str` shows it: with an exponent where an array of this dtype has one."""
    text = shortest(value, kind)
    if kind not in SINGLE or not math.isfinite(value) or value == 0 or 1e-4 <= abs(value) < LARGE[kind]:
        return text
    mantissa, _, power = f"{Decimal(text):e}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}{'.' * bool(fraction)}{fraction}e{int(power):+03d}"


def positional(text: str) -> str:
    """Return the digits of a number without an exponent, with a point."""
    if "e" not in text:
        return text
    digits, _, power = text.partition("e")
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    place = len(whole) + int(power)
    every = (whole + fraction).ljust(place, "0")
    if place <= 0:
        return f"{sign}0.{'0' * -place}{every}"
    return f"{sign}{every[:place]}.{every[place:]}"


def fixed(value: float, kind: torch.dtype) -> str:
    """Return a number with at most so many digits after the point as the options say, and without zeros at the end.

    The point stays: 1 is "1.".
    """
    text = positional(shortest(value, kind))
    if len(text.partition(".")[2]) > OPTIONS["precision"]:
        text = f"{value:.{OPTIONS['precision']}f}"
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.rstrip('0')}"


def float_formatter(values: Sequence[float], kind: torch.dtype) -> Callable[[float], str]:
    """Return a function that formats each of these numbers of an array of floats, all to one width.

    It knows the numbers in `values` alone.
    """
    finite = [v for v in values if math.isfinite(v)]
    if has_exponents([abs(v) for v in finite if v], kind):
        digits = max(decimals(v, kind) for v in finite)
        texts = [f"{v:#.{digits}e}" for v in finite]
    else:
        texts = [fixed(v, kind) for v in finite]
    left = max([0, *(text.index(".") for text in texts)])
    right = max([1, *(len(text) - text.index(".") for text in texts)])
    if len(finite) < len(values):  # "nan" and "inf" are as wide as a whole number
        left = max(left, 3 + (-math.inf in values) - right)
    known = {key_of(v): text for v, text in zip(finite, texts, strict=True)}

    def text_of(value: float) -> str:
        if not math.isfinite(value):
            return special(value).rjust(left + right)
        whole, _, rest = known[key_of(value)].partition(".")
        return f"{whole.rjust(left)}.{rest}".ljust(left + right)

    return text_of


def key_of(value: float) -> tuple[float, float]:
    """Return what tells 0 from -0."""
    return value, math.copysign(1, value)


def has_exponents(sizes: Sequence[float], kind: torch.dtype) -> bool:
    """Check whether an array with these absolute numbers other than 0 is shown with exponents."""
    if not sizes:
        return False
    low, high = min(sizes), max(sizes)
    return high >= LARGE[kind] or (not OPTIONS["suppress"] and (low < 1e-4 or high / low > 1000.0))


def special(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def decimals(value: float, kind: torch.dtype) -> int:
    """Return how many digits after the first one a number needs, at most as many as the options say."""
    mantissa = f"{Decimal(shortest(value, kind)):e}".partition("e")[0] if value else ""
    return min(len(mantissa.partition(".")[2].rstrip("0")), OPTIONS["precision"])


def formatter_of(values: Sequence[Any], kind: torch.dtype) -> Callable[[Any], str]:
    """Return the function that formats each number of an array, all to one width."""
    if kind.is_floating_point:
        return float_formatter(values, kind)
    width = 5 if kind is torch.bool else max(len(str(v)) for v in values)
    return lambda value: str(value).rjust(width)


def edges(n: int, summarized: bool) -> list[Any]:
    """Return the indices to show, with None for what is left out between them."""
    return [*range(EDGE), None, *range(n - EDGE, n)] if summarized and n > 2 * EDGE else list(range(n))


def numbers_in(t: torch.Tensor, summarized: bool) -> list[Any]:
    """Return the numbers that are shown, of a long array those near its ends."""
    if t.ndim == 0:
        return [t.item()]
    return [v for i in edges(t.shape[0], summarized) if i is not None for v in numbers_in(t[i], summarized)]


def text_of(t: torch.Tensor, separator: str, prefix: str = "", suffix: str = "") -> str:
    """Return the numbers of a tensor with axes, which is not empty, as text in nested brackets.

    `prefix` and `suffix` will stand around the text: their lengths count for line breaks and margins.
    """
    summarized = t.numel() > THRESHOLD
    form = formatter_of(numbers_in(t, summarized), t.dtype)

    def rows(part: torch.Tensor, margin: str, width: int) -> str:
        shown = edges(part.shape[0], summarized)
        if part.ndim > 1:
            inner = ["..." if i is None else rows(part[i], margin + " ", width - 1) for i in shown]
            return "[" + (separator.rstrip() + "\n" * (part.ndim - 1) + margin).join(inner) + "]"
        numbers = part.tolist()
        text, line = "", margin
        for i in shown:
            word = "..." if i is None else form(numbers[i])
            if len(line) + len(word) > width - 1 and len(line) > len(margin):
                text, line = text + line.rstrip() + "\n", margin
            line += word + separator
        return "[" + (text + line.removesuffix(separator))[len(margin) :] + "]"

    return rows(t, " " * (len(prefix) + 1), LINE_WIDTH - len(suffix))


def array_str(t: torch.Tensor) -> str:
    """Return an array as `str` shows it."""
    return text_of(t, " ") if t.numel() else "[]"


def array_repr(t: torch.Tensor) -> str:
    """Return an array as `repr` shows it: with commas, with its dtype unless that is the usual one.

    The shape is added if some numbers are left out, or if there are none and it has not one axis.
    """
    if not t.ndim:
        kind = "" if t.dtype in PLAIN else f", dtype={str(t.dtype).removeprefix('torch.')}"
        return f"array({formatter_of([t.item()], t.dtype)(t.item()).strip()}{kind})"
    text = "array(" + (text_of(t, ", ", "array(", ")") if t.numel() else "[]")
    more = []
    if t.numel() > THRESHOLD or (not t.numel() and t.ndim != 1):
        more.append(f"shape={tuple(t.shape)}")
    if t.dtype not in PLAIN or not t.numel():
        more.append(f"dtype={str(t.dtype).removeprefix('torch.')}")
    if not more:
        return f"{text})"
    text, about = f"{text},", f"{', '.join(more)})"
    last = len(text) - (text.rfind("\n") + 1)
    return text + (" " if last + len(about) + 1 <= LINE_WIDTH else "\n" + " " * len("array(")) + about
