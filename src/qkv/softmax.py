"""Softmax as the book derives it: it turns scores into weights, and logits into a next token.

Scores are before the softmax, weights after it. T is a temperature and nothing else.
A mask is boolean and True means "may attend".
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def softmax(z: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
    """Turn scores into weights: positive, of sum 1, in the same order.

    p_i = exp(z_i / T) / Σ_j exp(z_j / T), computed after the maximum has been subtracted
    from every z: that changes no weight, and exp never sees a number above 0.

    Shapes:
        z any shape; dim is the axis along which the weights sum to 1
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
    """Return the entropy of weights in nats: how evenly the total of 1 is spread.

    −Σ_i p_i ln p_i, where 0 ln 0 counts as 0. It is 0 when one weight is 1, and ln n when n
    weights are equal.

    Shapes:
        p any shape, of sum 1 along dim
    Returns:
        the shape of p without dim
    """
    return torch.special.entr(p).sum(dim=dim)


def softmax_jacobian(p: Tensor) -> Tensor:
    """Return the derivative of each weight with respect to each score.

    ∂p_i/∂z_j = p_i (δ_ij − p_j), that is diag(p) − p pᵀ, for p = softmax(z). At another
    temperature T, divide by T.

    Shapes:
        p (..., n)
    Returns:
        (..., n, n), weights down and scores across
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Turn scores into weights of sum 1 over the keys that each query may attend to.

    A score that the mask hides becomes −∞, whose exponential is exactly 0. If a query may see
    no key at all, its weights are all 0.

    Shapes:
        scores (..., n_q, n_k)   mask, bool, broadcasts to that shape
    Returns:
        weights (..., n_q, n_k)
    Raises:
        ValueError: the mask is not boolean, or does not broadcast to the scores.
    """
    mask = _mask_for(scores, mask)
    weights = softmax(scores.masked_fill(~mask, -math.inf))
    return weights.masked_fill(~mask, 0.0)  # a row that is all −∞ has given 0/0 = NaN


def _mask_for(scores: Tensor, mask: Tensor) -> Tensor:
    """Broadcast the mask to the shape of the scores, or raise the ValueError of masked_softmax."""
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a boolean mask, True = may attend; got {mask.dtype}")
    try:
        return mask.broadcast_to(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"expected a mask that broadcasts to the scores {tuple(scores.shape)}; got {tuple(mask.shape)}"
        ) from None


# ── softmax in one pass, and others ───────────────────────────────────────────────────────────────


def log_sum_exp(z: Tensor, dim: int = -1) -> Tensor:
    """Return the logarithm of the softmax's denominator without computing the denominator.

    ln Σ_i exp(z_i) = m + ln Σ_i exp(z_i − m), where m is the largest z. Then
    ln p_i = z_i − log_sum_exp(z).

    Shapes:
        z any shape
    Returns:
        the shape of z without dim
    """
    largest = z.amax(dim=dim, keepdim=True)
    return (z - largest).exp().sum(dim=dim).log() + largest.squeeze(dim)


def online_softmax(z: Tensor) -> Tensor:
    """Compute the softmax of scores that arrive one after another.

    Keep the largest score so far, m, and the total so far, l = Σ exp(z_i − m). When a new
    score raises m to m′, the old total is multiplied by exp(m − m′). One pass gives both
    [Milakov & Gimelshein, 2018]. FlashAttention updates the weighted sum of values too.

    Shapes:
        z (..., n), finite
    Returns:
        p (..., n), equal to softmax(z)
    """
    largest = torch.full_like(z[..., 0], -math.inf)
    total = torch.zeros_like(largest)
    for score in z.unbind(-1):
        new_largest = torch.maximum(largest, score)
        total = total * (largest - new_largest).exp() + (score - new_largest).exp()
        largest = new_largest
    return (z - largest.unsqueeze(-1)).exp() / total.unsqueeze(-1)


def sparsemax(z: Tensor, dim: int = -1) -> Tensor:
    """Turn scores into weights of sum 1, many of them exactly 0.

    p_i = max(z_i − τ, 0), with the τ that makes the sum 1. p is the point of the probability
    simplex that is nearest to z [Martins & Astudillo, 2016].

    Shapes:
        z any shape
    Returns:
        p, shaped like z
    """
    z = z.movedim(dim, -1)
    ordered = z.sort(dim=-1, descending=True).values
    rank = torch.arange(1, z.shape[-1] + 1, device=z.device)
    surplus = ordered.cumsum(-1) - 1  # by how much the sum of the largest `rank` scores exceeds 1
    n_kept = (rank * ordered > surplus).sum(-1, keepdim=True)
    threshold = surplus.gather(-1, n_kept - 1) / n_kept
    return (z - threshold).clamp(min=0).movedim(-1, dim)


# ── temperature at work ───────────────────────────────────────────────────────────────────────────


def find_temperature(z: Tensor, target: float) -> float:
    """Find the temperature at which the largest weight is `target`.

    The largest weight is 1 / Σ_j exp(−g_j / T), where g_j is how far z_j lies below the
    maximum. It falls as T rises, so bisection finds T. If all n − 1 gaps were g, T would be
    g / ln((n − 1) · target / (1 − target)). The smallest and the largest gap, put in for g,
    give the two ends of the interval.

    Shapes:
        z (n,) with one maximum, n at least 2
    Returns:
        T > 0
    Raises:
        ValueError: z is not of that shape or has several maxima, or target is not between 1/n and 1.
    """
    if z.ndim != 1 or len(z) < 2 or (z == z.max()).sum() > 1:
        raise ValueError(f"expected z (n,) with one maximum, n at least 2; got {z.tolist()}")
    if not 1 / len(z) < target < 1:
        raise ValueError(f"expected a target between 1/{len(z)} and 1; got {target}")
    gaps = z.max() - z.double().sort(descending=True).values[1:]  # (n − 1,), smallest first
    odds = math.log(len(gaps) * target / (1 - target))
    low, high = gaps[0].item() / odds, gaps[-1].item() / odds
    for _ in range(60):
        middle = (low + high) / 2
        largest_weight = 1 / (1 + (-gaps / middle).exp().sum())
        low, high = (middle, high) if largest_weight > target else (low, middle)
    return (low + high) / 2


def sample_token(logits: Tensor, temperature: float, generator: torch.Generator | None = None) -> int:
    """Draw the next token: id i with probability softmax(logits / T)_i.

    Temperature 0 is greedy: the largest logit, and the first of them where several are equal.

    Shapes:
        logits (vocab,)
    Returns:
        an id, 0 … vocab − 1; above temperature 0, a draw from `generator`, whose state changes
        (None: torch's global one)
    Raises:
        ValueError: the temperature is below 0.
    """
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.multinomial(softmax(logits, temperature), 1, generator=generator))


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Set all but the k largest logits to −∞ [Fan et al., 2018].

    Shapes:
        logits (..., vocab)   k at least 1
    Returns:
        logits (..., vocab), k of them unchanged; all of them if k is vocab or more
    """
    values, ids = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, -math.inf).scatter(-1, ids, values)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the fewest tokens whose probabilities sum to p or more [Holtzman et al., 2020].

    All other logits become −∞. The token with which the sum reaches p is kept, so at least one
    token is.

    Shapes:
        logits (..., vocab)
    Returns:
        logits (..., vocab), −∞ for the tokens that are not kept
    """
    values, ids = logits.sort(dim=-1, descending=True)
    weights = softmax(values)
    before = weights.cumsum(-1) - weights  # the total probability of the likelier tokens
    kept = values.masked_fill((before >= p) & (before > 0), -math.inf)
    return torch.full_like(logits, -math.inf).scatter(-1, ids, kept)
