"""Answers to the questions of chapter 10."""

import torch
import torch.nn.functional as F

from tests.questions.corpus.label import right, wrong


@right("10.1", "tril and triu")
def window_tril(n, window, causal=True):
    mask = torch.ones(n, n).triu(-(window - 1)).tril(0 if causal else window - 1)
    return mask.bool()


@wrong("10.1", "Mistral reference, triu(-window)", "one-too-wide")
def window_mistral(n, window, causal=True):
    full = torch.ones(n, n)
    return full.tril(0 if causal else window).triu(-window).bool()


@wrong("10.1", "Longformer, half on each side", "window-split-between-both-sides")
def window_longformer(n, window, causal=True):
    i = torch.arange(n)
    near = (i[:, None] - i[None, :]).abs() <= window // 2
    return near & (i[:, None] >= i) if causal else near


@right("10.2", "fast-transformers, without eps")
def linear_einsum(q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    kv = torch.einsum("...nm,...nd->...md", k, v)
    z = 1 / torch.einsum("...nm,...m->...n", q, k.sum(-2))
    return torch.einsum("...nm,...md,...n->...nd", q, kv, z)


@wrong("10.2", "fast-transformers, eps 1e-6", "small-number-below-the-line")
def linear_eps(q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    z = 1 / ((q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True) + 1e-6)
    return q @ (k.mT @ v) * z


@wrong("10.2", "the table first", "scores-first")
def linear_quadratic(q, k, v, feature_map):
    a = feature_map(q) @ feature_map(k).mT
    return a / a.sum(-1, keepdim=True) @ v


@wrong("10.2", "cumsum, causal", "causal-though-not-asked")
def linear_causal(q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    kv = (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(-3)
    z = k.cumsum(-2)
    return (q.unsqueeze(-2) @ kv).squeeze(-2) / (q * z).sum(-1, keepdim=True)


@wrong("10.2", "no normaliser, TransNormer", "not-divided")
def linear_unnormalised(q, k, v, feature_map):
    return feature_map(q) @ (feature_map(k).mT @ v)


@right("10.3", "fast-transformers, recurrent")
def step_recurrent(state, q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    s, z = state if state is not None else (0, 0)
    s = s + k[..., :, None] * v[..., None, :]
    z = z + k
    return (q[..., None, :] @ s)[..., 0, :] / (q * z).sum(-1, keepdim=True), [s, z]


@wrong("10.3", "fast-transformers, in place", "state-written-into")
def step_in_place(state, q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    if state is None:
        state = [torch.zeros(*k.shape, v.shape[-1], dtype=v.dtype), torch.zeros_like(k)]
    state[0] += k[..., :, None] * v[..., None, :]
    state[1] += k
    return (q[..., None, :] @ state[0])[..., 0, :] / (q * state[1]).sum(-1, keepdim=True), state


@wrong("10.3", "keys kept in a list", "state-that-grows")
def step_list(state, q, k, v, feature_map):
    past = [*(state or []), (feature_map(k), v)]
    a = [(feature_map(q) * f).sum(-1, keepdim=True) for f, _ in past]
    return sum(w * u for w, (_, u) in zip(a, past, strict=True)) / sum(a), past


@wrong("10.3", "a running mean", "divided-by-the-number-of-tokens")
def step_mean(state, q, k, v, feature_map):
    s, n = state if state is not None else (0, 0)
    s, n = s + feature_map(k)[..., :, None] * v[..., None, :], n + 1
    return (feature_map(q)[..., None, :] @ s)[..., 0, :] / n, (s, n)


@right("10.4", "FlashAttention in pure PyTorch")
def block_flash(q, k, v, block):
    o = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    sums = torch.zeros(*q.shape[:-1], 1, dtype=q.dtype)
    maxs = torch.full_like(sums, -torch.finfo(q.dtype).max)
    for j in range(0, k.shape[-2], block):
        kj, vj = k[..., j : j + block, :], v[..., j : j + block, :]
        s = torch.einsum("...id,...jd->...ij", q, kj) * q.shape[-1] ** -0.5
        new = torch.maximum(maxs, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        factor = torch.exp(maxs - new)
        sums = sums * factor + p.sum(-1, keepdim=True)
        o = o * factor + p @ vj
        maxs = new
    return o / sums


@right("10.4", "merging by logsumexp, ring attention")
def block_logsumexp(q, k, v, block):
    out = lse = None
    for kj, vj in zip(k.split(block, -2), v.split(block, -2), strict=True):
        s = q @ kj.mT * q.shape[-1] ** -0.5
        block_lse = torch.logsumexp(s, -1, keepdim=True)
        block_out = (s - block_lse).exp() @ vj
        if out is None:
            out, lse = block_out, block_lse
        else:
            new = torch.logaddexp(lse, block_lse)
            out, lse = out * (lse - new).exp() + block_out * (block_lse - new).exp(), new
    return out


@wrong("10.4", "one query at a time", "block-not-used", "blocks-of-queries")
def block_by_query(q, k, v, block):
    rows = []
    for i in range(q.shape[-2]):
        s = q[..., i : i + 1, :] @ k.mT / q.shape[-1] ** 0.5
        rows.append(s.softmax(-1) @ v)
    return torch.cat(rows, -2)


@wrong("10.4", "softmax in each block, averaged", "softmax-in-each-block")
def block_softmax_each(q, k, v, block):
    parts = [
        (q @ kj.mT / q.shape[-1] ** 0.5).softmax(-1) @ vj
        for kj, vj in zip(k.split(block, -2), v.split(block, -2), strict=True)
    ]
    return sum(parts) / len(parts)


@wrong("10.4", "torch's fused attention", "all-scores-at-once", "tensor-too-large")
def block_sdpa(q, k, v, block):
    return F.scaled_dot_product_attention(q, k, v)
