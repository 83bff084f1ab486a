"""Attention as the book derives it: projections, scores, weights, weighted sums; then many heads.

Conventions, the same in every chapter:
    Rows are tokens. Queries are rows of a score matrix, keys are its columns.
    Scores are before the softmax, weights after it; each row of weights sums to 1.
    A mask is boolean and True means "may attend".
    In a shape, ... stands for any leading axes: none, a batch, a batch and heads.
    Intermediate tensors pass through visit(place, tensor), which returns the tensor that the
    computation continues with: the same one, or a changed one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from qkv.softmax import entropy, masked_softmax, softmax, softmax_jacobian

__all__ = [
    "Cache",
    "MultiHeadAttention",
    "SingleHeadAttention",
    "Visit",
    "additive_scores",
    "attention",
    "attention_scores",
    "causal_mask",
    "entropy",
    "grouped_query_attention",
    "masked_softmax",
    "merge_heads",
    "padding_mask",
    "project_qkv",
    "scaled_scores",
    "score_variance",
    "softmax",
    "softmax_jacobian",
    "split_heads",
    "unchanged",
    "weighted_sum",
    "window_mask",
]

Visit = Callable[[str, Tensor], Tensor]


def unchanged(place: str, tensor: Tensor) -> Tensor:
    """Return the tensor as it is: the default for `visit`."""
    return tensor


# ── queries, keys and values ──────────────────────────────────────────────────────────────────────


def project_qkv(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Project each token to a query, a key and a value.

    q = x W_Q,  k = x W_K,  v = x W_V.

    Shapes:
        x (..., n, d_model)   w_q, w_k (d_model, d_k)   w_v (d_model, d_v)
    Returns:
        q (..., n, d_k), k (..., n, d_k), v (..., n, d_v)
    """
    return x @ w_q, x @ w_k, x @ w_v


# ── scores ────────────────────────────────────────────────────────────────────────────────────────


def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare every query with every key, by dot product.

    score[i, j] = q_i · k_j, so the matrix of scores is q kᵀ.

    Shapes:
        q (..., n_q, d_k)   k (..., n_k, d_k)
    Returns:
        scores (..., n_q, n_k), not yet divided by √d_k
    Raises:
        ValueError: q or k has fewer than two axes, or their last axes differ.
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
        ValueError: q or k has fewer than two axes, or their last axes differ.
    """
    return attention_scores(q, k) / math.sqrt(q.shape[-1])


def score_variance(d_k: int, var_q: float, var_k: float) -> float:
    """Return the variance of one dot product before it is scaled.

    Var(q · k) = d_k · Var(q) · Var(k): a sum of d_k independent products, for entries
    that are independent with mean 0 [Vaswani et al., 2017, footnote 4].
    """
    return d_k * var_q * var_k


def additive_scores(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    """Compare every query with every key, by a small network with one hidden layer.

    score[i, j] = v · tanh(q_i W_q + k_j W_k), [Bahdanau et al., 2015, section A.1.2].

    Shapes:
        q (..., n_q, d_k)   k (..., n_k, d_k)   w_q, w_k (d_k, d_a)   v (d_a,)
    Returns:
        scores (..., n_q, n_k)
    """
    asked = (q @ w_q).unsqueeze(-2)  # (..., n_q, 1, d_a)
    offered = (k @ w_k).unsqueeze(-3)  # (..., 1, n_k, d_a)
    return torch.tanh(asked + offered) @ v


# ── attention ─────────────────────────────────────────────────────────────────────────────────────


def weighted_sum(weights: Tensor, v: Tensor) -> Tensor:
    """Mix the values: out_i = Σ_j weights[i, j] v_j.

    Shapes:
        weights (..., n_q, n_k)   v (..., n_k, d_v)
    Returns:
        out (..., n_q, d_v)
    Raises:
        ValueError: the number of values is not the number of columns of weights, or v has fewer than two axes.
    """
    if v.ndim < 2 or weights.shape[-1] != v.shape[-2]:
        raise ValueError(f"expected one value for each key, v (..., {weights.shape[-1]}, d_v); got v {tuple(v.shape)}")
    return weights @ v


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, visit: Visit = unchanged
) -> tuple[Tensor, Tensor]:
    """Mix the values, each weighted by how well its key matches the query.

    softmax(q kᵀ / √d_k) v, [Vaswani et al., 2017, eq. 1].
    Places: scores, weights, heads (the output).

    Shapes:
        q (..., n_q, d_k)   k (..., n_k, d_k)   v (..., n_k, d_v)
        mask, bool, broadcasts to (..., n_q, n_k), True = may attend
    Returns:
        out (..., n_q, d_v), weights (..., n_q, n_k), whose rows sum to 1; a query that may
        see no key gets zeros in both
    Raises:
        ValueError: q, k or v has fewer than two axes, the last axes of q and k differ, k and v have
            different numbers of rows, or the mask is not boolean or does not broadcast.
    """
    scores = visit("scores", scaled_scores(q, k))  # (..., n_q, n_k)
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)
    weights = visit("weights", weights)
    return visit("heads", weighted_sum(weights, v)), weights


class SingleHeadAttention(nn.Module):
    """One head of self-attention, in which each token attends to all tokens of its sequence.

    attention(x W_Q, x W_K, x W_V), with three learned projections.

    Shapes:
        x (..., n, d_model)   mask, bool, broadcasts to (..., n, n)
    Returns:
        out (..., n, d_v), weights (..., n, n)
    """

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)


# ── masks: True = may attend ──────────────────────────────────────────────────────────────────────


def causal_mask(n_q: int, n_k: int | None = None) -> Tensor:
    """Let each token see itself and the tokens before it.

    The queries are the last n_q of n_k tokens, so the last query sees the last key: query i
    sees key j when j ≤ i + (n_k − n_q). Where n_q < n_k, `is_causal=True` in torch 2.x's
    scaled_dot_product_attention lines up the first query with the first key instead.

    Returns:
        bool (n_q, n_k); n_k is n_q where it is not given
    """
    n_k = n_q if n_k is None else n_k
    return torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)


def window_mask(n_q: int, window: int, n_k: int | None = None, sinks: int = 0, causal: bool = True) -> Tensor:
    """Let each token see itself, the window − 1 tokens before it, and the first `sinks` tokens.

    If it is not causal, each token sees the window − 1 tokens after it too. The first `sinks`
    tokens stay visible because models put weight that they do not need elsewhere on them
    [Xiao et al., 2024]. With sinks = 0 it is the plain sliding window [Beltagy et al., 2020].

    Returns:
        bool (n_q, n_k), aligned as causal_mask is
    """
    n_k = n_q if n_k is None else n_k
    allowed = causal_mask(n_q, n_k) if causal else torch.ones(n_q, n_k, dtype=torch.bool)
    lag = torch.arange(n_k - n_q, n_k)[:, None] - torch.arange(n_k)  # (n_q, n_k), query minus key
    first = torch.arange(n_k) < sinks
    return allowed & ((lag.abs() < window) | first)


def padding_mask(real: Tensor) -> Tensor:
    """Hide the padding of a batch from every head and every query.

    Shapes:
        real (B, n_k) bool, True = a token, False = padding
    Returns:
        bool (B, 1, 1, n_k), True = may attend, which broadcasts to (B, H, n_q, n_k)
    """
    return real[:, None, None, :]


# ── many heads ────────────────────────────────────────────────────────────────────────────────────


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Give each head its own slice of every token's features.

    Head h gets features h · d_head … (h + 1) · d_head − 1, where d_head = d_model / H.

    Shapes:
        x (..., n, d_model)
    Returns:
        (..., H, n, d_head)
    Raises:
        ValueError: d_model does not divide into n_heads equal slices.
    """
    if n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"expected d_model to be a multiple of n_heads; got {x.shape[-1]} and {n_heads}")
    heads = x.unflatten(-1, (n_heads, -1))  # (..., n, H, d_head)
    return heads.transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """Concatenate the features of all heads: the inverse of split_heads.

    Shapes:
        x (..., H, n, d_head)
    Returns:
        (..., n, H · d_head)
    """
    return x.transpose(-3, -2).flatten(-2)


class Cache(Protocol):
    """A store of the keys and values of earlier tokens, such as those in qkv.cache."""

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new tokens, and return those of all tokens."""


class MultiHeadAttention(nn.Module):
    """Multi-head attention: n_heads subspaces with one attention each, and a matrix that mixes the results.

    concat(head_1, …, head_H) W_O, [Vaswani et al., 2017, section 3.2.2].
    It is self-attention if only a query is given, and cross-attention with key and value.
    Places: q, k, v, scores, weights, heads, each (B, H, …).

    Shapes:
        query (B, n_q, d_model)   key, value (B, n_k, d_model)
        mask, bool, broadcasts to (B, H, n_q, n_k)
        cache, optional: the new keys and values are appended, and each query attends to all
        that the cache then holds
    Returns:
        out (B, n_q, d_model), weights (B, H, n_q, n_k)
    Raises:
        ValueError: d_model is not a multiple of n_heads.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"expected d_model to be a multiple of n_heads; got {d_model} and {n_heads}")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        cache: Cache | None = None,
        visit: Visit = unchanged,
    ) -> tuple[Tensor, Tensor]:
        """Attend from `query` to `key` (by default `query`: self-attention) and mix `value` (by default `key`).

        The mask is bool, broadcasts to (B, H, n_q, n_k), and is True where a query may attend. With a cache, the new
        keys and values are appended to it, and each query attends to all that it then holds. Return the output
        (B, n_q, d_model) and the weights (B, H, n_q, n_k). Errors are those of `attention` and of the cache.
        """
        key = query if key is None else key
        value = key if value is None else value
        q = visit("q", split_heads(self.w_q(query), self.n_heads))  # (B, H, n_q, d_head)
        k = visit("k", split_heads(self.w_k(key), self.n_heads))  # (B, H, n_k, d_head)
        v = visit("v", split_heads(self.w_v(value), self.n_heads))
        if cache is not None:
            k, v = cache.append(k, v)
        heads, weights = attention(q, k, v, mask, visit)
        return self.w_o(merge_heads(heads)), weights


def grouped_query_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute attention in which each group of query heads shares one key-and-value head.

    Query head h reads key head h // (H / H_kv). H_kv = H is multi-head attention, and
    H_kv = 1 is multi-query attention, [Ainslie et al., 2023].

    Shapes:
        q (B, H, n_q, d)   k, v (B, H_kv, n_k, d), H a multiple of H_kv; the queries are the
        last n_q of the n_k tokens
        mask, bool, broadcasts to (B, H, n_q, n_k); without it, attention is causal
    Returns:
        out (B, H, n_q, d)
    Raises:
        ValueError: H is not a multiple of H_kv; or see `attention`.
    """
    n_heads, n_kv_heads = q.shape[-3], k.shape[-3]
    if n_heads % n_kv_heads:
        raise ValueError(f"expected H to be a multiple of H_kv; got H = {n_heads} and H_kv = {n_kv_heads}")
    group = n_heads // n_kv_heads
    k = k.repeat_interleave(group, dim=-3)  # (B, H, n_k, d): kv head 0 for the first group, then 1, …
    v = v.repeat_interleave(group, dim=-3)
    if mask is None:
        mask = causal_mask(q.shape[-2], k.shape[-2])
    return attention(q, k, v, mask.to(q.device))[0]
