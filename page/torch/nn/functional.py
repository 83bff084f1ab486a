"""Layers, activations and losses as functions."""

from __future__ import annotations

import math
from typing import Any

from .. import reductions
from ..arithmetic import where, xlogy
from ..creation import arange, full, full_like, ones
from ..dtypes import bool_, int64
from ..missing import missing_getattr
from ..randomness import bernoulli
from ..shapes import ALL
from ..tensors import Tensor


def softmax(x: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    return reductions.softmax(x, dim, dtype)


def log_softmax(x: Tensor, dim: Any = None) -> Tensor:
    return reductions.log_softmax(x, dim)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    out = x @ (weight if weight.ndim == 1 else weight.mT)
    return out if bias is None else out + bias


def embedding(ids: Tensor, weight: Tensor, padding_idx: Any = None) -> Tensor:
    if padding_idx is not None:
        weight = where((arange(weight.shape[0]) == padding_idx % weight.shape[0])[:, None], weight.detach(), weight)
    return weight[ids]


def one_hot(ids: Tensor, num_classes: Any = -1) -> Tensor:
    if ids.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    v = list(ids._numbers())
    n = max(v) + 1 if num_classes == -1 else num_classes
    if v and min(v) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if v and max(v) >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (ids.unsqueeze(-1) == arange(n)).long()


def relu(x: Tensor) -> Tensor:
    return x.relu()


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return where(x > 0, x, negative_slope * x)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return where(x > 0, x, alpha * x.clamp(max=0).expm1())


def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


def tanh(x: Tensor) -> Tensor:
    return x.tanh()


def gelu(x: Tensor, approximate: Any = "none") -> Tensor:
    return 0.5 * x * (1 + (x / math.sqrt(2)).erf())


def silu(x: Tensor) -> Tensor:
    return x * x.sigmoid()


def dropout(x: Tensor, p: Any = 0.5, training: bool = True) -> Tensor:
    if not training or p == 0:
        return x
    keep = bernoulli(full_like(x, 1 - p))
    return x * keep / (1 - p)


def layer_norm(
    x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: Any = 1e-05
) -> Tensor:
    dims = list(range(-len(shape), 0))
    gap = x - x.mean(dims, True)
    out = gap / ((gap * gap).mean(dims, True) + eps).sqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def normalize(x: Tensor, p: Any = 2.0, dim: Any = 1, eps: Any = 1e-12) -> Tensor:
    return x / x.norm(p, dim, True).clamp(min=eps)


def cosine_similarity(a: Any, b: Any, dim: Any = 1, eps: Any = 1e-08) -> Tensor:
    return (a * b).sum(dim) / (a.norm(2, dim).clamp(min=eps) * b.norm(2, dim).clamp(min=eps))


def cross_entropy(x: Tensor, y: Any, reduction: Any = "mean", ignore_index: int = -100) -> Tensor:
    return nll_loss(reductions.log_softmax(x, -1 if x.ndim == 1 else 1), y, reduction, ignore_index)


def nll_loss(logp: Tensor, y: Any, reduction: Any = "mean", ignore_index: int = -100) -> Tensor:
    """Return the negative log-likelihood loss. Classes are along axis 1, or along axis 0 of a single example."""
    shape, counted, flat = y.shape, y != ignore_index, logp.ndim == 1
    y = y * counted
    if logp.ndim > 2:
        logp = logp.movedim(1, -1).reshape(-1, logp.shape[1])
        y = y.reshape(-1)
    got = -(logp[y] if flat else logp[arange(len(y)), y]).reshape(shape)
    if not counted.all():
        got = got.masked_fill(~counted, 0.0)
        return got.sum() / counted.sum() if reduction == "mean" else got.sum() if reduction == "sum" else got
    return got.mean() if reduction == "mean" else got.sum() if reduction == "sum" else got


def mse_loss(a: Any, b: Any) -> Tensor:
    return ((a - b) ** 2).mean()


def kl_div(logq: Any, p: Any, reduction: Any = "mean", log_target: Any = False) -> Tensor:
    got = xlogy(p, p) - p * logq
    return got.sum() / logq.shape[0] if reduction == "batchmean" else got.sum() if reduction == "sum" else got.mean()


def pad(x: Tensor, widths: Any, mode: Any = "constant", value: Any = 0) -> Tensor:
    shape, at = list(x.shape), [ALL] * x.ndim
    for i in range(len(widths) // 2):
        a, b = widths[2 * i], widths[2 * i + 1]
        d = x.ndim - 1 - i
        if a < 0 or b < 0:
            x = x.narrow(d, max(0, -a), x.shape[d] - max(0, -a) - max(0, -b))
            a, b = max(0, a), max(0, b)
        shape[d] = x.shape[d] + a + b
        at[d] = slice(a, a + x.shape[d])
    out = full(shape, value if value is not None else 0, dtype=x.dtype)
    out[tuple(at)] = x
    return out


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: Any = 0.0,
    is_causal: Any = False,
    scale: Any = None,
    enable_gqa: Any = False,
) -> Tensor:
    if enable_gqa:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        v = v.repeat_interleave(q.shape[-3] // v.shape[-3], -3)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = ones(q.shape[-2], k.shape[-2], dtype=bool_).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype is bool_ else scores + attn_mask
    weights = scores.softmax(-1)
    if attn_mask is not None and attn_mask.dtype is bool_:
        weights = weights.masked_fill(~attn_mask.any(-1, True), 0.0)
    return weights @ v


__getattr__ = missing_getattr("torch.nn.functional")
