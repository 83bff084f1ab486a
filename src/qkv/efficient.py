"""Variants of attention that cost less than n², and the cost of each.

Each variant takes q (..., n, d_k), k (..., n, d_k), v (..., n, d_v); the function after it
returns its cost. Grouped-query attention is in qkv.attention (it saves memory in a cache, not
arithmetic), and caches with a window are in qkv.cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import attention, causal_mask, scaled_scores, softmax, window_mask


class Cost(NamedTuple):
    """The cost of one head: multiply-adds in matrix products, and the numbers in the largest tensor it forms."""

    multiply_adds: int
    largest: int


FeatureMap = Callable[[Tensor], Tensor]


def full_cost(n: int, d_k: int, d_v: int) -> Cost:
    """Return the cost of full attention: n² scores of d_k multiply-adds, and n² weights times d_v features."""
    return Cost(n * n * (d_k + d_v), max(n * n, n * d_v))


# ── patterns: masks in which each query sees a few keys ───────────────────────────────────────────


def dilated_mask(n: int, window: int, step: int, causal: bool = True) -> Tensor:
    """Let each token see `window` tokens at a distance of `step`, itself included [Beltagy et al., 2020].

    The others come before it. If it is not causal, it sees as many after it too.

    Returns:
        bool (n, n)
    """
    lag = torch.arange(n)[:, None] - torch.arange(n)
    return window_mask(n, (window - 1) * step + 1, causal=causal) & (lag % step == 0)


def strided_mask(n: int, stride: int) -> Tensor:
    """Let each token see the last `stride` tokens, and every stride-th token before it [Child et al., 2019].

    Returns:
        bool (n, n), causal
    """
    return window_mask(n, stride) | dilated_mask(n, n, stride)


def global_mask(n: int, n_global: int) -> Tensor:
    """Let the first n_global tokens see all tokens, and be seen by all [Beltagy et al., 2020; Zaheer et al., 2020].

    Returns:
        bool (n, n)
    """
    is_global = torch.arange(n) < n_global
    return is_global[:, None] | is_global


def random_mask(n: int, n_seen: int, generator: torch.Generator | None = None) -> Tensor:
    """Let each token see n_seen different tokens, drawn at random [Zaheer et al., 2020].

    Itself and later ones may be among them. Where n_seen is n or more, it sees all.

    Returns:
        bool (n, n)
    """
    drawn = torch.rand(n, n, generator=generator).argsort(dim=-1)[:, :n_seen]
    return torch.zeros(n, n, dtype=torch.bool).scatter(-1, drawn, True)


def axial_mask(height: int, width: int, axis: int) -> Tensor:
    """Let each cell of a grid see its own row (axis 1) or its own column (axis 0).

    Returns:
        bool (n, n), n = height · width, cells row by row
    """
    cell = torch.arange(height * width)
    line = cell // width if axis == 1 else cell % width
    return line[:, None] == line


def seen_through(mask: Tensor, layers: int) -> Tensor:
    """Return, for each token, the tokens that can influence it after several layers, also through tokens between.

    Shapes:
        mask (n, n) bool
    Returns:
        bool (n, n), [i, j]: token j can influence token i; with one layer the mask itself
    """
    step = mask.float()
    seen = step
    for _ in range(layers - 1):
        seen = ((step @ seen) > 0).float()
    return seen > 0


# ── windows, dilated windows, rows and columns of a grid: without computing masked scores ─────────


class Piece(NamedTuple):
    """A block of queries, start … stop − 1, and the keys that some of them see, first … last − 1."""

    start: int
    stop: int
    first: int
    last: int


def window_pieces(n: int, window: int, causal: bool, block: int) -> Iterator[Piece]:
    """Yield blocks of queries start … stop − 1, with the keys first … last − 1 that their windows reach.

    If it is not causal, the windows reach forward too.
    """
    for start in range(0, n, block):
        stop = min(start + block, n)
        yield Piece(start, stop, max(0, start - window + 1), stop if causal else min(n, stop + window - 1))


def window_attention(
    q: Tensor, k: Tensor, v: Tensor, window: int, n_global: int = 0, causal: bool = True, block: int = 64
) -> Tensor:
    """Let each token attend to the tokens in its window and to the first n_global tokens.

    Equal to attention with window_mask(n, window, sinks=n_global, causal=causal), but without
    the scores of keys that no query of a block sees. If it is not causal, the first n_global
    queries see all tokens, as in the Longformer [Beltagy et al., 2020]. `block` queries are
    computed at a time, which does not change the result.

    Returns:
        out (..., n, d_v)
    """
    rows = []
    for start, stop, first, last in window_pieces(q.shape[-2], window, causal, block):
        near = torch.arange(first, last)
        keys = torch.cat([torch.arange(min(n_global, first)), near])
        lag = torch.arange(start, stop)[:, None] - keys  # (block, keys), query minus key
        seen = (lag.abs() < window) | (keys < n_global)
        seen = seen & (lag >= 0) if causal else seen
        rows.append(attention(q[..., start:stop, :], k[..., keys, :], v[..., keys, :], seen.to(q.device))[0])
    out = torch.cat(rows, dim=-2)
    if n_global and not causal:
        asked = attention(q[..., :n_global, :], k, v)[0]
        out = torch.cat([asked, out[..., n_global:, :]], dim=-2)
    return out


def window_cost(
    n: int, d_k: int, d_v: int, window: int, n_global: int = 0, causal: bool = True, block: int = 64
) -> Cost:
    """Return the cost of window_attention: about n · (window + n_global) pairs, and the masked pairs in its blocks."""
    pieces = list(window_pieces(n, window, causal, block))
    sizes = [(p.stop - p.start, p.last - p.first + min(n_global, p.first)) for p in pieces]
    pairs = sum(queries * keys for queries, keys in sizes) + (0 if causal else n_global * n)
    widest = max(max(queries * keys, keys * max(d_k, d_v)) for queries, keys in sizes)
    return Cost(pairs * (d_k + d_v), max(widest, n * d_v, 0 if causal else n_global * n))


def dilated_attention(q: Tensor, k: Tensor, v: Tensor, window: int, step: int, causal: bool = True) -> Tensor:
    """Let each token attend to every step-th token: a plain window in each of `step` shorter sequences.

    Equal to attention with dilated_mask.

    Returns:
        out (..., n, d_v)
    Raises:
        ValueError: n is not a multiple of step.
    """
    if q.shape[-2] % step:
        raise ValueError(f"expected n to be a multiple of the step; got {q.shape[-2]} and {step}")
    q, k, v = (x.unflatten(-2, (-1, step)).transpose(-3, -2) for x in (q, k, v))  # (..., step, n/step, d)
    return window_attention(q, k, v, window, causal=causal).transpose(-3, -2).flatten(-3, -2)


def dilated_cost(n: int, d_k: int, d_v: int, window: int, step: int, causal: bool = True) -> Cost:
    """Return the cost of dilated_attention: `step` sequences of n/step tokens."""
    one = window_cost(n // step, d_k, d_v, window, causal=causal)
    return Cost(step * one.multiply_adds, step * one.largest)


def axial_attention(q: Tensor, k: Tensor, v: Tensor, height: int, axis: int) -> Tensor:
    """Attend along the rows (axis 1) or the columns (axis 0) of a grid [Ho et al., 2019].

    Equal to attention with axial_mask. Two layers, one along each axis, connect any two cells. n has to be a multiple
    of the height.

    Returns:
        out (..., n, d_v), cells row by row
    """
    q, k, v = (x.unflatten(-2, (height, -1)) for x in (q, k, v))  # (..., height, width, d)
    if axis == 0:
        q, k, v = (x.transpose(-3, -2) for x in (q, k, v))
    out = attention(q, k, v)[0]
    return (out.transpose(-3, -2) if axis == 0 else out).flatten(-3, -2)


def axial_cost(height: int, width: int, d_k: int, d_v: int, axis: int) -> Cost:
    """Return the cost of axial_attention: each cell sees one row or column."""
    n, line = height * width, width if axis == 1 else height
    return Cost(n * line * (d_k + d_v), n * max(line, d_v))


# ── low rank ──────────────────────────────────────────────────────────────────────────────────────


def low_rank_attention(q: Tensor, k: Tensor, v: Tensor, shorten_k: Tensor, shorten_v: Tensor) -> Tensor:
    """Attend to r mixtures of the keys instead of n keys [Wang et al., 2020].

    softmax(q (E k)ᵀ / √d_k) (F v). E and F are learned for one length n. Each mixture includes
    later tokens too, so this attention is not causal.

    Shapes:
        q (..., n_q, d_k)   k (..., n, d_k)   v (..., n, d_v)   shorten_k, shorten_v (r, n): E and F
    Returns:
        out (..., n_q, d_v)
    """
    return attention(q, shorten_k @ k, shorten_v @ v)[0]


def low_rank_cost(n: int, d_k: int, d_v: int, rank: int) -> Cost:
    """Return the cost of low_rank_attention: r · n pairs for the mixtures, and r · n pairs for attention."""
    return Cost(2 * n * rank * (d_k + d_v), max(n * rank, n * d_v, rank * d_k))


# ── kernels: φ(q) · φ(k) in place of exp(q · k) ───────────────────────────────────────────────────


def elu_features(x: Tensor) -> Tensor:
    """Return positive features: elu(x) + 1 [Katharopoulos et al., 2020]."""
    return F.elu(x) + 1


def linear_attention(q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Tensor:
    """Compute attention with φ(q) · φ(k) instead of exp(q · k): one sum over keys serves all queries.

    φ(q_i) (Σ_j φ(k_j)ᵀ v_j) / (φ(q_i) · Σ_j φ(k_j)), [Katharopoulos et al., 2020, eq. 5]. It is
    linear in n because φ(k)ᵀ v comes first: (φ(q) φ(k)ᵀ) v would have n² weights. It is not causal.

    Shapes:
        q (..., n_q, d_k)   k (..., n, d_k)   v (..., n, d_v)   feature_map: (..., d_k) → (..., m), positive
    Returns:
        out (..., n_q, d_v)
    """
    asked, offered = feature_map(q), feature_map(k)  # (..., n, m)
    summary = offered.transpose(-2, -1) @ v  # (..., m, d_v)
    total = offered.sum(-2).unsqueeze(-1)  # (..., m, 1)
    return (asked @ summary) / (asked @ total)


def linear_cost(n: int, d_v: int, n_features: int) -> Cost:
    """Return the cost of linear_attention without its feature map."""
    return Cost(n * n_features * (2 * d_v + 1), max(n * n_features, n * d_v, n_features * d_v))


State = tuple[Tensor, Tensor]


def linear_attention_step(
    state: State | None, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap
) -> tuple[Tensor, State]:
    """Compute causal linear attention for one more token, as a recurrent network does.

    S ← S + φ(k)ᵀ v,  z ← z + φ(k),  out = φ(q) S / (φ(q) · z). The size of the state does not
    depend on the number of tokens.

    Shapes:
        q, k (..., d_k)   v (..., d_v), of one token
        state: S (..., m, d_v) and z (..., m); None before the first token
    Returns:
        out (..., d_v), and the new state; the old one does not change
    """
    asked, offered = feature_map(q), feature_map(k)  # (..., m)
    summary, total = offered.unsqueeze(-1) * v.unsqueeze(-2), offered
    if state is not None:
        summary, total = state[0] + summary, state[1] + total
    out = (asked.unsqueeze(-2) @ summary).squeeze(-2)
    return out / (asked * total).sum(-1, keepdim=True), (summary, total)


def delta_rule_step(
    state: Tensor | None, q: Tensor, k: Tensor, v: Tensor, rate: float | Tensor = 1.0, decay: float | Tensor = 1.0
) -> tuple[Tensor, Tensor]:
    """Read a state of fixed size that corrects what it holds for a key: the gated delta rule, for one more token.

    S ← a S + b k (v − (a S)ᵀ k)ᵀ,  out = Sᵀ q, with a = decay and b = rate [Yang et al., 2024]. With a = 1 it is the
    delta rule [Schlag et al., 2021]; without the subtraction, it is linear attention without a division. For keys of
    length 1 and a rate of 1, the state returns exactly v when it is asked for k right afterwards.

    Shapes:
        q, k (..., d_k)   v (..., d_v), of one token   rate, decay: in 0 … 1, broadcast to (..., 1, 1)
        state (..., d_k, d_v); None before the first token
    Returns:
        out (..., d_v), and the new state; the old one does not change
    """
    state = torch.zeros_like(k.unsqueeze(-1) * v.unsqueeze(-2)) if state is None else decay * state
    held = k.unsqueeze(-2) @ state  # (..., 1, d_v): what the state returns for this key
    state = state + rate * k.unsqueeze(-1) * (v.unsqueeze(-2) - held)
    return (q.unsqueeze(-2) @ state).squeeze(-2), state


def causal_linear_attention(q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap, block: int = 64) -> Tensor:
    """Compute causal linear attention in blocks: masked products in a block, a state for earlier tokens.

    Equal to linear_attention_step token by token, but in n/block steps [Hua et al., 2022].

    Returns:
        out (..., n, d_v)
    """
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)  # the column of ones sums φ(k), for the denominator
    summary, rows = None, []
    for q_block, k_block, v_block in zip(*(x.split(block, dim=-2) for x in (q, k, v)), strict=True):
        asked, offered = feature_map(q_block), feature_map(k_block)  # (..., block, m)
        inside = asked @ offered.transpose(-2, -1)
        out = inside.masked_fill(~causal_mask(inside.shape[-1]).to(q.device), 0.0) @ v_block
        rows.append(out if summary is None else out + asked @ summary)
        added = offered.transpose(-2, -1) @ v_block  # (..., m, d_v + 1)
        summary = added if summary is None else summary + added
    out = torch.cat(rows, dim=-2)
    return out[..., :-1] / out[..., -1:]


def orthogonal_directions(m: int, d: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw m normally distributed directions, orthogonal in groups of d.

    They cover the space more evenly than independent ones, so an estimate with them has a lower
    variance [Choromanski et al., 2021].

    Returns:
        (m, d) float64
    """
    lengths = torch.randn(m, d, generator=generator, dtype=torch.float64).norm(dim=-1, keepdim=True)
    drawn = torch.randn(math.ceil(m / d), d, d, generator=generator, dtype=torch.float64)
    bases, triangles = torch.linalg.qr(drawn)
    signs = triangles.diagonal(dim1=-2, dim2=-1).sign()  # without the signs, some directions are likelier than others
    return (bases * signs.unsqueeze(-2)).flatten(0, 1)[:m] * lengths


def random_features(directions: Tensor) -> FeatureMap:
    """Return a map to positive features whose products estimate exp(q · k / √d) [Choromanski et al., 2021].

    φ(x) = exp(w · x′ − |x′|²/2) / √m for each of m directions w, where x′ = x / d^(1/4). The
    expectation of φ(q) · φ(k) is exp(q · k / √d). The error falls as 1/√m for short vectors;
    long vectors need many more features.

    Shapes:
        directions (m, d)
    Returns:
        a map (..., d) → (..., m)
    """
    m, d = directions.shape

    def features(x: Tensor) -> Tensor:
        x = x / d**0.25
        along = x @ directions.to(x).transpose(-2, -1)  # (..., m)
        return (along - x.square().sum(-1, keepdim=True) / 2).exp() / math.sqrt(m)

    return features


def random_features_cost(n: int, d_k: int, d_v: int, n_features: int) -> Cost:
    """Return the cost of linear_attention with random_features of queries and keys."""
    kernel = linear_cost(n, d_v, n_features)
    return Cost(kernel.multiply_adds + 2 * n * d_k * n_features, max(kernel.largest, n * d_k))


# ── hashing ───────────────────────────────────────────────────────────────────────────────────────


def hash_buckets(x: Tensor, rotations: Tensor) -> Tensor:
    """Return for each vector the number of the direction with the largest dot product.

    The arg max of (x R, −x R). Vectors at a small angle often share a bucket [Kitaev et al., 2020].

    Shapes:
        x (n, d)   rotations R (d, n_buckets / 2)
    Returns:
        (n,) int64, 0 … n_buckets − 1
    """
    along = x @ rotations
    return torch.cat([along, -along], dim=-1).argmax(dim=-1)


def hash_attention(q: Tensor, k: Tensor, v: Tensor, rotations: Tensor) -> Tensor:
    """Let each query attend only to the keys of its own bucket, where the large scores should be.

    Equal to attention with the mask "same bucket". The Reformer [Kitaev et al., 2020] also
    sorts by bucket, cuts pieces of one size, draws several hashes, and uses the queries,
    normalised to length 1, as keys; this function leaves all of that out.

    Shapes:
        q, k (n, d_k)   v (n, d_v)   rotations (d_k, n_buckets / 2)
    Returns:
        out (n, d_v), zeros for a query whose bucket holds no key
    """
    q_buckets, k_buckets = hash_buckets(q, rotations), hash_buckets(k, rotations)
    out = torch.zeros(len(q), v.shape[-1], dtype=v.dtype, device=v.device)
    for bucket in set(q_buckets.tolist()) & set(k_buckets.tolist()):
        asking, offered = q_buckets == bucket, k_buckets == bucket
        out = out.masked_scatter(asking[:, None], attention(q[asking], k[offered], v[offered])[0])
    return out


def hash_cost(q_buckets: Tensor, k_buckets: Tensor, d_k: int, d_v: int, n_buckets: int) -> Cost:
    """Return the cost of hash_attention with these buckets: n² / n_buckets pairs if all are equally full.

    `q_buckets` (n_q,) and `k_buckets` (n_k,) are those of hash_buckets.
    """
    n_q, n_k = (torch.bincount(buckets, minlength=n_buckets) for buckets in (q_buckets, k_buckets))
    to_hash = (len(q_buckets) + len(k_buckets)) * d_k * (n_buckets // 2)
    n = max(len(q_buckets), len(k_buckets))
    largest = max(int((n_q * n_k).max()), n * max(d_k, d_v, n_buckets))
    return Cost(to_hash + int((n_q * n_k).sum()) * (d_k + d_v), largest)


# ── exact, with less memory ───────────────────────────────────────────────────────────────────────


def blockwise_attention(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Compute full attention block by block of keys, with the one-pass softmax of chapter 4.

    When a block raises the largest score from m to m′, the sums so far are multiplied by
    exp(m − m′). This is FlashAttention's arithmetic [Dao et al., 2022]: it needs as many
    multiply-adds, but only n × block scores at a time, which fit into a chip's fast memory.

    Returns:
        out (..., n, d_v), equal to attention(q, k, v)
    """
    largest = torch.full_like(q[..., :1], -math.inf)  # (..., n, 1)
    total, mixed = torch.zeros_like(largest), torch.zeros_like(largest)
    for k_block, v_block in zip(k.split(block, dim=-2), v.split(block, dim=-2), strict=True):
        scores = scaled_scores(q, k_block)  # (..., n, block)
        new_largest = torch.maximum(largest, scores.amax(-1, keepdim=True))
        shrink, powers = (largest - new_largest).exp(), (scores - new_largest).exp()
        total = total * shrink + powers.sum(-1, keepdim=True)
        mixed = mixed * shrink + powers @ v_block  # (..., n, d_v)
        largest = new_largest
    return mixed / total


def blockwise_cost(n: int, d_k: int, d_v: int, block: int) -> Cost:
    """Return the cost of blockwise_attention: the multiply-adds of full attention, and n × block scores."""
    return Cost(full_cost(n, d_k, d_v).multiply_adds, n * max(min(block, n), d_v))


# ── latent keys ───────────────────────────────────────────────────────────────────────────────────


def latent_attention(q: Tensor, latents: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """Attend to keys and values that all heads compute from one short row per token [DeepSeek-AI, 2024].

    Head h has k = c W_K and v = c W_V, and a cache keeps only c, the latents. The keys need not
    be computed: q (c W_K)ᵀ = (q W_Kᵀ) cᵀ, so each query is projected to the latents once.

    Shapes:
        q (..., H, n, d_head)   latents c (..., n_k, d_c)   w_k, w_v (H, d_c, d_head)
    Returns:
        out (..., H, n, d_head), each query seeing all latents
    """
    latents = latents.unsqueeze(-3)  # (..., 1, n_k, d_c)
    asked = q @ w_k.transpose(-2, -1)  # (..., H, n, d_c)
    weights = softmax(asked @ latents.transpose(-2, -1) / math.sqrt(q.shape[-1]))
    return weights @ latents @ w_v
