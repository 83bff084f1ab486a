"""Quantiles, histograms, covariances and correlations.

What the page's version lacks raises a NotImplementedError.
"""

from __future__ import annotations

import math

from .creation import as_tensor
from .dtypes import FLOATING, TYPE_NAMES, bool_, float32, float64
from .missing import refuse_set
from .numbers import to_array
from .shapes import axis_of
from .tensors import Tensor, method, tensor_of


@method
def quantile(
    x: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the quantiles q of the numbers along an axis, or of all numbers; nan where one of these is nan.

    Between two numbers, `interpolation` chooses: linear, lower, higher, midpoint or nearest.

    Shapes:
        q without axes, or (count); result (count, *shape of x without the axis), or without the first axis
    Raises:
        IndexError: there is no such axis.
        RuntimeError: x is empty; the dtype is neither float32 nor float64, or not that of q; a share is not in [0, 1];
            another interpolation.
    """
    if not x.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if x.dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            + interpolation
        )
    if isinstance(q, Tensor) and q.dtype is not x.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    shares = as_tensor(q, dtype=x.dtype)
    if not all(0 <= share <= 1 for share in shares._numbers()):
        raise RuntimeError(
            "quantile() q values must be in the range [0, 1]"
            if isinstance(q, Tensor)
            else f"quantile() q must be in the range [0, 1] but got {q:g}"
        )
    d = 0 if dim is None else axis_of(dim, x.ndim)
    y = (x.flatten() if dim is None else x.movedim(d, 0) if x.ndim else x.reshape(1)).sort(0)[0]
    ranks = (shares * (y.shape[0] - 1)).reshape(-1)
    below, above = (rank.long() for rank in (ranks.floor(), ranks.ceil()))
    if interpolation == "nearest":
        below = above = ranks.round().long()
    shape = [-1, *[1] * (y.ndim - 1)]
    gap = {"linear": ranks - ranks.floor(), "midpoint": (ranks.ceil() - ranks.floor()) * 0.5}.get(interpolation)
    low, high = y[below], y[above]
    out = low if interpolation in ("lower", "nearest") else high if gap is None else low.lerp(high, gap.reshape(shape))
    out = out.masked_fill(y.isnan().any(0, True), math.nan)
    if keepdim:
        out = out.reshape(-1, *[1] * x.ndim) if dim is None else out.unsqueeze(d + 1)
    return out if shares.ndim else out[0]


@method
def histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the numbers in bins of equal width from `min` to `max`, or between the extremes of x if both are equal.

    Return the counts in the dtype of x; numbers outside are not counted.

    Raises:
        NotImplementedError: the dtype is not floating-point.
        RuntimeError: `bins` is not positive, an end is not finite, or min > max.
    """
    if x.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{TYPE_NAMES[x.dtype]}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    numbers = x._numbers()
    if min == max and len(numbers):
        min, max = float(x.min()), float(x.max())
    if min == max:
        min, max = min - 1, max + 1
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError("torch.histc: the range of the numbers is not finite")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    counts = [0] * bins

    def rounded(v: float) -> float:
        return to_array([v], x.dtype)[0]

    low, high = rounded(min), rounded(max)
    for v in numbers:
        if low <= v <= high:
            place = int(rounded(rounded(rounded(v - low) * bins) / rounded(high - low)))
            counts[place if place < bins else bins - 1] += 1
    return tensor_of(counts, (bins,), x.dtype)


@method
def cov(x: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Return the covariances of the rows of a matrix, Σ products of deviations / (columns − correction).

    Of a vector, return its variance, without axes. More than two axes or bools raise a RuntimeError, and weights a
    NotImplementedError.
    """
    if x.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if x.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions"
        )
    refuse_set("cov", fweights=fweights, aweights=aweights)
    rows = (x if x.ndim == 2 else x.reshape(1, -1)).to(x.dtype if x.dtype.kind == FLOATING else float32)
    gap = rows - rows.mean(1, True)
    return ((gap @ gap.mT) / max(0, rows.shape[1] - correction)).squeeze()


@method
def corrcoef(x: Tensor) -> Tensor:
    """Return the correlation coefficients of the rows of a matrix; of a vector, 1, or nan if it is constant.

    More than two axes raise a RuntimeError.
    """
    if x.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions"
        )
    c = cov(x)
    if not c.ndim:
        return c / c
    deviations = c.diagonal().sqrt()
    return (c / deviations[:, None] / deviations[None]).clamp(-1, 1)
