"""Attention as the book derives it: scores, softmax, weights, mixed values.

Conventions, the same in every chapter:
    Rows are tokens. Queries are rows of a score matrix, keys are its columns.
    Scores are before the softmax, weights after it; each row of weights sums to 1.
    A mask is boolean and True means "may attend".
    In a shape, ... stands for any leading axes: none, a batch, a batch and heads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# ── scores ────────────────────────────────────────────────────────────────────────────────────────


def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare every query with every key, by dot product.

    score[i, j] = q_i · k_j, so the whole table is q kᵀ.

    Shapes:
        q (..., n_q, d_k)   k (..., n_k, d_k)
    Returns:
        scores (..., n_q, n_k), not yet divided by √d_k
    Raises:
        ValueError: q or k is not a table of rows, or their last axes differ.
    """
    if q.ndim < 2 or k.ndim < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "expected q (..., n_q, d_k) and k (..., n_k, d_k) with one d_k; "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
    return q @ k.transpose(-2, -1)


def scaled_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare every query with every key, on a scale that does not grow with d_k.

    q kᵀ / √d_k, the argument of the softmax in [Vaswani et al., 2017, eq. 1].

    Shapes:
        q (..., n_q, d_k)   k (..., n_k, d_k)
    Returns:
        scores (..., n_q, n_k), of variance 1 when the entries of q and k are
        independent with mean 0 and variance 1
    Raises:
        ValueError: q or k is not a table of rows, or their last axes differ.
    """
    return attention_scores(q, k) / math.sqrt(q.shape[-1])


def score_variance(d_k: int, var_q: float, var_k: float) -> float:
    """Say how widely one dot product spreads before it is scaled.

    Var(q · k) = d_k · Var(q) · Var(k): a sum of d_k independent products, for entries
    that are independent with mean 0 [Vaswani et al., 2017, footnote 4].
    """
    return d_k * var_q * var_k


# ── softmax ───────────────────────────────────────────────────────────────────────────────────────


def softmax(z: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
    """Turn scores into weights: positive, of sum 1, in the same order.

    p_i = exp(z_i / T) / Σ_j exp(z_j / T), computed after the maximum has been subtracted
    from every z: that changes no weight, and exp never sees a number above 0.

    Shapes:
        z any shape; dim is the axis that shares out a weight of 1
    Returns:
        p, shaped like z
    Raises:
        ValueError: the temperature is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"expected a temperature above 0; got {temperature}")
    shifted = z - z.amax(dim=dim, keepdim=True)
    powers = (shifted / temperature).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def entropy(p: Tensor, dim: int = -1) -> Tensor:
    """Measure how widely weights are shared out, in nats.

    −Σ_i p_i ln p_i, where 0 ln 0 counts as 0. It is 0 when one weight is 1, and ln n when n
    weights are equal.

    Shapes:
        p any shape, of sum 1 along dim
    Returns:
        the shape of p without dim
    """
    return torch.special.entr(p).sum(dim=dim)


def softmax_jacobian(p: Tensor) -> Tensor:
    """Say how each weight moves with each score.

    ∂p_i/∂z_j = p_i (δ_ij − p_j), that is diag(p) − p pᵀ, for p = softmax(z). At another
    temperature T, divide by T.

    Shapes:
        p (..., n)
    Returns:
        (..., n, n), weights down and scores across
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


# ── attention ─────────────────────────────────────────────────────────────────────────────────────


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Share a weight of 1 among the keys that each query may attend to.

    A score that may not be seen becomes −∞, whose exponential is exactly 0. A query that
    may see no key at all has nothing to share: its weights are all 0.

    Shapes:
        scores (..., n_q, n_k)   mask, bool, broadcasts to that shape
    Returns:
        weights (..., n_q, n_k)
    Raises:
        ValueError: the mask is not boolean, or does not broadcast to the scores.
    """
    mask = _mask_for(scores, mask)
    sees_nothing = ~mask.any(dim=-1, keepdim=True)
    # A row of −∞ alone would be 0/0. Leave such a row finite here, and empty it below.
    hidden = ~(mask | sees_nothing)
    weights = softmax(scores.masked_fill(hidden, -math.inf))
    return weights.masked_fill(~mask, 0.0)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Mix the values, each weighted by how well its key matches the query.

    softmax(q kᵀ / √d_k) v, [Vaswani et al., 2017, eq. 1].

    Shapes:
        q (..., n_q, d_k)   k (..., n_k, d_k)   v (..., n_k, d_v)
        mask, bool, broadcasts to (..., n_q, n_k), True = may attend
    Returns:
        out (..., n_q, d_v), weights (..., n_q, n_k), whose rows sum to 1; a query that may
        see no key gets zeros in both
    Raises:
        ValueError: the last axes of q and k differ, k and v have different numbers of rows,
            or the mask is not boolean or does not broadcast.
    """
    scores = scaled_scores(q, k)  # (..., n_q, n_k)
    if v.ndim < 2 or v.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"expected one value for each key: v (..., {k.shape[-2]}, d_v) for k {tuple(k.shape)}; "
            f"got v {tuple(v.shape)}"
        )
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)
    return weights @ v, weights


def _mask_for(scores: Tensor, mask: Tensor) -> Tensor:
    """Give the mask the scores' shape, or say why it cannot have it."""
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a boolean mask, True = may attend; got {mask.dtype}")
    try:
        return mask.broadcast_to(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"expected a mask that broadcasts to the scores {tuple(scores.shape)}; got {tuple(mask.shape)}"
        ) from None
