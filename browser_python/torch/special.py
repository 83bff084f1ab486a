"""Special functions of statistics and information theory."""

from __future__ import annotations

import math

from .arithmetic import check_tensors, where, xlogy
from .creation import zeros_like
from .dtypes import FLOATING, float32
from .gradients import record_step
from .missing import missing_getattr
from .shapes import common_shape
from .tensors import Tensor, result_type, tensor_of, without_gradient

__all__ = ["entr", "expit", "gammaincc", "xlogy"]


def entr(x: Tensor) -> Tensor:
    inside = where(x.eq(0), zeros_like(x), -x * x.masked_fill(x.eq(0), 1.0).log())
    return where(x < 0, -math.inf, inside)


def expit(x: Tensor) -> Tensor:
    return x.sigmoid()


def upper_gamma(a: float, x: float) -> float:
    """Return the regularized upper incomplete gamma function; nan if a or x is negative, or both are 0.

    By a series for x < a + 1, and by a continued fraction otherwise (Lentz, 1976).
    """
    if x < 0 or a < 0:
        return math.nan
    if a == 0:
        return 0.0 if x > 0 else math.nan
    if x == 0:
        return 1.0
    front = math.exp(-x + a * math.log(x) - math.lgamma(a))
    return 1 - front * lower_series(a, x) if x < a + 1 else front * upper_fraction(a, x)


def lower_series(a: float, x: float) -> float:
    """Return a factor of the lower incomplete gamma function: Σ xⁿ / (a·(a + 1)·…·(a + n))."""
    term = total = 1 / a
    n = a
    while term > total * 1e-16:
        n += 1
        term *= x / n
        total += term
    return total


def upper_fraction(a: float, x: float) -> float:
    """Return a factor of the upper incomplete gamma function: its continued fraction."""
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 1000):
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b or 1e-300)
        c = b + step / c or 1e-300
        h *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return h


def gammaincc(a: Tensor, x: Tensor) -> Tensor:
    """Return the regularized upper incomplete gamma function of each pair of numbers, with broadcasting.

    It has no gradient here. A TypeError is raised if one is no tensor.
    """
    check_tensors(a, x)
    shape, kind = common_shape(a.shape, x.shape), result_type(a, x)
    kind = kind if kind.kind == FLOATING else float32
    pairs = zip(a.expand(shape)._numbers(), x.expand(shape)._numbers(), strict=True)
    out = tensor_of([upper_gamma(u, v) for u, v in pairs], shape, kind)
    return record_step(out, [a, x], without_gradient("gammaincc"))


__getattr__ = missing_getattr("torch.special")
