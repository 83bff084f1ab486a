"""Losses that compare two tensors number by number, and how losses are reduced.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

import math
import warnings

from ..arithmetic import binary_op, where, xlogy
from ..dtypes import FLOATING, TYPE_NAMES
from ..missing import refuse_set
from ..tensors import Tensor


def reduced(losses: Tensor, reduction: str, total: Tensor | float | None = None) -> Tensor:
    """Reduce losses by "mean", "sum" or "none", which returns them all; "mean" divides their sum by `total` if given.

    Another reduction raises a ValueError.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if reduction == "mean":
        return losses.mean() if total is None else losses.sum() / total
    return losses.sum() if reduction == "sum" else losses


def refuse_older(function: str, size_average: bool | None, reduce: bool | None) -> None:
    """Raise a NotImplementedError if one of the older arguments in place of `reduction` is set, also to False."""
    refuse_set(function, size_average=size_average is not None, reduce=reduce is not None)


def warn_of_sizes(x: Tensor, target: Tensor) -> None:
    """Give torch's warning if `target` has another shape than `x`, to which it would be broadcast."""
    if x.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({x.shape}). This will likely lead "
            "to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def check_floating(name: str, *xs: Tensor) -> None:
    """Raise torch's NotImplementedError, which has this name, if all of these tensors hold integers or bools."""
    if all(x.dtype.kind < FLOATING for x in xs):
        raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[xs[0].dtype]}'")


def mse_loss(
    x: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of (x − target)², or by `reduction` their sum, or all of them.

    A target of another shape is broadcast, with a warning. For other errors, see `reduced` and `refuse_older`.

    Raises:
        NotImplementedError: neither is floating-point, or a weight is set.
    """
    refuse_older("mse_loss", size_average, reduce)
    refuse_set("mse_loss", weight=weight)
    warn_of_sizes(x, target)
    check_floating("mse_cpu", x, target)
    return reduced((x - target) ** 2, reduction)


def l1_loss(
    x: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of |x − target|, or by `reduction` their sum, or all of them.

    A weight raises a NotImplementedError. A target of another shape is broadcast, with a warning. For other errors, see
    `reduced` and `refuse_older`.
    """
    refuse_older("l1_loss", size_average, reduce)
    refuse_set("l1_loss", weight=weight)
    warn_of_sizes(x, target)
    return reduced((x - target).abs(), reduction)


def smooth_l1_loss(
    x: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return the mean of d² / (2·beta) where d = |x − target| is below `beta`, and of d − beta / 2 elsewhere.

    By `reduction`, return their sum or all of them instead. A negative `beta` raises a RuntimeError, and integers a
    NotImplementedError. A target of another shape is broadcast, with a warning. For other errors, see `reduced` and
    `refuse_older`.
    """
    refuse_older("smooth_l1_loss", size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    warn_of_sizes(x, target)
    check_floating("smooth_l1_cpu", x, target)
    gap = (x - target).abs()
    return reduced(where(gap < beta, gap * gap * (0.5 / (beta or 1.0)), gap - 0.5 * beta), reduction)


def huber_loss(
    x: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return the mean of d² / 2 where d = |x − target| is at most `delta`, and of delta·(d − delta / 2) elsewhere.

    By `reduction`, return their sum or all of them instead. A `delta` of 0 or less raises a RuntimeError, and integers
    or a weight a NotImplementedError. A target of another shape is broadcast, with a warning. For other errors, see
    `reduced`.
    """
    refuse_set("huber_loss", weight=weight)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    warn_of_sizes(x, target)
    check_floating("huber_cpu", x, target)
    gap = (x - target).abs()
    return reduced(where(gap <= delta, 0.5 * gap * gap, delta * (gap - 0.5 * delta)).to(x.dtype), reduction)


def binary_cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of −target·log x − (1 − target)·log(1 − x), with logarithms of at least −100.

    Each term is multiplied by `weight` if it is given. By `reduction`, return their sum or all of them instead. For
    other errors, see `reduced` and `refuse_older`.

    Raises:
        ValueError: the shapes differ.
        RuntimeError: a number of `x` or `target` is not in [0, 1], or the dtypes differ.
    """
    refuse_older("binary_cross_entropy", size_average, reduce)
    if x.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({x.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if x.dtype is not target.dtype:
        raise RuntimeError(f"Found dtype {TYPE_NAMES[target.dtype]} but expected {TYPE_NAMES[x.dtype]}")
    if not all(0 <= v <= 1 for v in x._numbers()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if not all(0 <= v <= 1 for v in target._numbers()):
        raise RuntimeError("all elements of target should be between 0 and 1")
    losses = binary_op("bce", x, target, entropy_of, (slope_of_entropy, lambda g, a: g * ((1 - a).log() - a.log())))
    return reduced(losses if weight is None else losses * weight, reduction)


def entropy_of(x: float, t: float) -> float:
    """Return the cross entropy of a probability x of one of two classes, with respect to the share t of this class."""
    log, rest = (math.log(v) if v > 0 else -100.0 for v in (x, 1 - x))
    return (t - 1) * max(rest, -100.0) - t * max(log, -100.0)


def slope_of_entropy(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return g * (a - b) / ((1 - a) * a).clamp(min=1e-12)


def binary_cross_entropy_with_logits(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of the binary cross entropy of sigmoid(x), computed without overflow.

    Each term is multiplied by `weight` if it is given, and that of the target 1 by `pos_weight`. By `reduction`, return
    their sum or all of them instead. For other errors, see `reduced` and `refuse_older`.

    Raises:
        ValueError: the shapes differ.
        NotImplementedError, RuntimeError: `x`, or `target`, is not floating-point.
    """
    refuse_older("binary_cross_entropy_with_logits", size_average, reduce)
    if x.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({x.shape})")
    check_floating("log_sigmoid_cpu", x)
    if target.dtype.kind < FLOATING:
        raise RuntimeError(
            f"result type {TYPE_NAMES[x.dtype]} can't be cast to the desired output type {TYPE_NAMES[target.dtype]}"
        )
    log_share = (-x.abs()).exp().log1p() + (-x).clamp(min=0)  # −log sigmoid(x)
    losses = (1 - target) * x + (log_share if pos_weight is None else ((pos_weight - 1) * target + 1) * log_share)
    return reduced(losses if weight is None else losses * weight, reduction)


def kl_div(
    x: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the mean of target·(log target − x), where `x` holds logarithms of probabilities.

    With `log_target`, so does `target`. By `reduction`, return their sum or all of them instead; "batchmean", the sum
    divided by the size of the first axis, is the Kullback–Leibler divergence. Integers in `x` raise a RuntimeError. For
    other errors, see `reduced` and `refuse_older`.
    """
    refuse_older("kl_div", size_average, reduce)
    if x.dtype.kind < FLOATING:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    losses = target.exp() * (target - x) if log_target else xlogy(target, target) - target * x
    if reduction == "batchmean":
        return losses.sum() / (x.shape[0] if x.ndim else 1)
    return reduced(losses, reduction)


def soft_margin_loss(
    x: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Return the mean of log(1 + exp(−target·x)), or by `reduction` their sum, or all of them.

    For other errors, see `reduced` and `refuse_older`.
    """
    refuse_older("soft_margin_loss", size_average, reduce)
    return reduced((-target * x).exp().log1p(), reduction)


def poisson_nll_loss(
    x: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of exp x − target·x, or without `log_input`, of x − target·log(x + eps).

    By `reduction`, return their sum or all of them instead. `full` raises a NotImplementedError. For other errors, see
    `reduced` and `refuse_older`.
    """
    refuse_older("poisson_nll_loss", size_average, reduce)
    refuse_set("poisson_nll_loss", full=full)
    return reduced(x.exp() - target * x if log_input else x - target * (x + eps).log(), reduction)


def gaussian_nll_loss(
    x: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Return the mean of (log var + (x − target)² / var) / 2, with variances of at least `eps`.

    `var` is a number, or has the shape of x; its last axis may be of size 1 or missing. With `full`, log(2π) / 2 is
    added to each. By `reduction`, return their sum or all of them instead. For other errors, see `reduced`.

    Raises:
        ValueError: `var` has another shape, or a negative number.
    """
    spread = var if isinstance(var, Tensor) else x * 0 + var
    if spread.shape != x.shape:
        if spread.shape == x.shape[:-1]:
            spread = spread.unsqueeze(-1)
        elif spread.shape != (*x.shape[:-1], 1):
            raise ValueError("var is of incorrect size")
    if bool(spread.lt(0).any()):
        raise ValueError("var has negative entry/entries")
    spread = where(spread.lt(eps), eps, spread)
    losses = 0.5 * (spread.log() + (x - target) ** 2 / spread)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of max(0, margin − target·(input1 − input2)), or by `reduction` their sum or all.

    Three that differ in the number of axes raise a RuntimeError. For other errors, see `reduced` and `refuse_older`.
    """
    refuse_older("margin_ranking_loss", size_average, reduce)
    if len({input1.ndim, input2.ndim, target.ndim}) > 1:
        sizes = f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: {sizes}")
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def hinge_embedding_loss(
    x: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of x where the target is 1, and of max(0, margin − x) where it is −1.

    By `reduction`, return their sum or all of them instead. Where the target is another number, both are added. For
    other errors, see `reduced` and `refuse_older`.
    """
    refuse_older("hinge_embedding_loss", size_average, reduce)
    return reduced(where(target.eq(1), 0.0, (margin - x).clamp(min=0)) + where(target.eq(-1), 0.0, x), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of 1 − cos where the target is 1, and of max(0, cos − margin) where it is −1.

    cos is that of the angle between `input1` and `input2` along the last axis. By `reduction`, return their sum or all
    of them instead. Other targets count as 0; a target with several axes raises a RuntimeError. For other errors, see
    `reduced` and `refuse_older`.
    """
    refuse_older("cosine_embedding_loss", size_average, reduce)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    small = 1e-12  # as torch, which adds it to the squares
    squares = ((input1 * input1).sum(-1) + small) * ((input2 * input2).sum(-1) + small)
    cos = (input1 * input2).sum(-1) / squares.sqrt()
    losses = where(target.eq(1), 1 - cos, 0.0) + where(target.eq(-1), (cos - margin).clamp(min=0), 0.0)
    return reduced(losses, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of max(0, margin + |anchor − positive| − |anchor − negative|).

    The distances are norms of order `p` along the last axis; `eps` is added to each difference. By `reduction`, return
    their sum or all of them instead. For other errors, see `reduced` and `refuse_older`.

    Raises:
        RuntimeError: the three differ in the number of axes.
        NotImplementedError: `swap` is set.
    """
    refuse_older("triplet_margin_loss", size_average, reduce)
    refuse_set("triplet_margin_loss", swap=swap)
    if len({anchor.ndim, positive.ndim, negative.ndim}) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = ((anchor - other + eps).norm(p, -1) for other in (positive, negative))
    return reduced((margin + near - far).clamp(min=0), reduction)
