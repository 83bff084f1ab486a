"""Layers, activations and losses as functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from .. import reductions
from ..arithmetic import where, xlogy
from ..creation import arange, full, ones, zeros_like
from ..dtypes import FLOATING, TYPE_NAMES, bool_, int32, int64
from ..dtypes import dtype as Kind
from ..missing import missing_getattr, refuse, refuse_set
from ..shapes import ALL
from ..tensors import Tensor, type_name


def implicit_axis(x: Tensor, dim: int | None, name: str) -> int:
    """Return the axis, or the one that torch chooses, with its warning, if none is given."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if x.ndim in (0, 1, 3) else 1


def softmax(x: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Kind | None = None) -> Tensor:
    return reductions.softmax(x, implicit_axis(x, dim, "softmax"), dtype)


def log_softmax(x: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Kind | None = None) -> Tensor:
    return reductions.log_softmax(x, implicit_axis(x, dim, "log_softmax"), dtype)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    out = x @ (weight if weight.ndim == 1 else weight.mT)
    return out if bias is None else out + bias


def embedding(
    ids: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` with these ids.

    Shapes:
        ids (...) integers; weight (count, width); result (..., width)
    Raises:
        RuntimeError: the weight is not a matrix, or the ids are not integers.
        IndexError: an id is negative or too large.
    """
    refuse_set("embedding", max_norm=max_norm, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if ids.dtype not in (int32, int64):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{type_name(ids)} instead (while checking arguments for embedding)"
        )
    numbers = ids._numbers()
    if len(numbers) and not 0 <= min(numbers) <= max(numbers) < weight.shape[0]:
        raise IndexError("index out of range in self")
    if padding_idx is not None:
        padding_idx = padding_index(padding_idx, weight.shape[0])
        weight = where(arange(weight.shape[0]).eq(padding_idx)[:, None], weight.detach(), weight)
    return weight[ids]


def padding_index(padding_idx: int, count: int) -> int:
    """Return an index into a table of `count` rows, which may be given from the end, counted from the start."""
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


def one_hot(ids: Tensor, num_classes: int = -1) -> Tensor:
    """Return for each id a row of zeros with a 1 at the id.

    Shapes:
        ids (...) int64; result (..., num_classes)
    """
    if ids.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    v = list(ids._numbers())
    n = max(v) + 1 if num_classes == -1 else num_classes
    if v and min(v) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if v and max(v) >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (ids.unsqueeze(-1) == arange(n)).long()


def maybe_in_place(x: Tensor, y: Tensor, inplace: bool) -> Tensor:
    """Return the result `y` of an activation, or write it into the argument `x` and return that."""
    return x._write(y) if inplace else y


def relu(x: Tensor, inplace: bool = False) -> Tensor:
    return x.relu_() if inplace else x.relu()


def leaky_relu(x: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    y = x.clone() if inplace else x
    return maybe_in_place(x, where(y > 0, y, negative_slope * y), inplace)


def elu(x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    y = x.clone() if inplace else x
    return maybe_in_place(x, where(y > 0, y, alpha * y.clamp(max=0).expm1()), inplace)


def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


def tanh(x: Tensor) -> Tensor:
    return x.tanh()


def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """Return x·Φ(x), Φ the normal distribution function; with `approximate="tanh"` by its usual approximation."""
    check_floating("GeluKernelImpl", x)
    if approximate == "tanh":
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return 0.5 * x * (1 + (x / math.sqrt(2)).erf())


def silu(x: Tensor, inplace: bool = False) -> Tensor:
    check_floating("silu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, y * y.sigmoid(), inplace)


def check_floating(function: str, x: Tensor) -> None:
    if x.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"{function}\" not implemented for '{TYPE_NAMES[x.dtype]}'")


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set each number to 0 with the probability p, and divide the others by 1 − p."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    if x.dtype.kind < FLOATING:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {TYPE_NAMES[x.dtype]}")
    kept = zeros_like(x) if p == 1 else zeros_like(x).bernoulli_(1 - p) / (1 - p)
    return x.mul_(kept) if inplace else x * kept


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Subtract the mean of the last axes, divide by their standard deviation, and apply a weight and a bias.

    (x − mean) / √(variance + eps) · weight + bias

    Raises:
        RuntimeError: the last axes, or the weight or the bias, do not have the normalized shape.
    """
    shape, n = list(normalized_shape), len(normalized_shape)
    if not shape or list(x.shape[-n:]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*, {', '.join(map(str, shape))}], but got input "
            f"of size{list(x.shape)}"
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and list(given.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(given.shape)} and "
                f"normalized_shape = {shape}"
            )
    check_floating("LayerNormKernelImpl", x)
    dims = list(range(-n, 0))
    gap = x - x.mean(dims, True)
    out = gap / ((gap * gap).mean(dims, True) + eps).sqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    return x / x.norm(p, dim, True).clamp(min=eps)


def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    return (a * b).sum(dim) / (a.norm(2, dim).clamp(min=eps) * b.norm(2, dim).clamp(min=eps))


def reduced(losses: Tensor, reduction: str, total: Tensor | float | None = None) -> Tensor:
    """Return the mean, with respect to a total weight if one is given, or the sum of losses, or the losses themselves."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if reduction == "mean":
        return losses.mean() if total is None else losses.sum() / total
    return losses.sum() if reduction == "sum" else losses


def refuse_older(function: str, size_average: bool | None, reduce: bool | None) -> None:
    """Raise the error for the older arguments in place of `reduction`, whose False also has a meaning."""
    refuse_set(function, size_average=size_average is not None, reduce=reduce is not None)


def cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy with classes, or with probabilities of the classes. These are along axis 1, or 0."""
    refuse_older("cross_entropy", size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    d, logp = min(1, x.ndim - 1), reductions.log_softmax(x, min(1, x.ndim - 1))
    shape = [n if i == d else 1 for i, n in enumerate(x.shape)]
    weighted = logp if weight is None else logp * weight.reshape(shape)
    if target.dtype.kind == FLOATING and target.shape == x.shape:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[d]
        return reduced(-(weighted * target).sum(d), reduction, x.numel() // x.shape[d])
    losses = nll_loss(logp, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return losses
    counted = target.ne(ignore_index)
    total = counted.sum() if weight is None else (weight[target * counted] * counted).sum()
    smooth = reduced((-weighted.sum(d)).masked_fill(~counted, 0.0), reduction, total)
    return (1 - label_smoothing) * losses + label_smoothing / x.shape[d] * smooth


def nll_loss(
    logp: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood loss. Classes are along axis 1, or along axis 0 of a single example."""
    refuse_older("nll_loss", size_average, reduce)
    d = min(1, logp.ndim - 1)
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {TYPE_NAMES[target.dtype]}")
    if list(target.shape) != [n for i, n in enumerate(logp.shape) if i != d]:
        raise ValueError(
            f"Expected input batch_size ({logp.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 1})."
        )
    counted = target.ne(ignore_index)
    target = target * counted
    for number in target._numbers():
        if not 0 <= number < logp.shape[d]:
            raise IndexError(f"Target {number} is out of bounds.")
    factor = counted.to(logp.dtype) if weight is None else weight[target] * counted
    losses = -logp.gather(d, target.unsqueeze(d)).squeeze(d) * factor
    return reduced(losses.masked_fill(~counted, 0.0), reduction, factor.sum())


def mse_loss(
    x: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of (x − target)², or by `reduction` their sum, or all of them."""
    refuse_older("mse_loss", size_average, reduce)
    refuse_set("mse_loss", weight=weight)
    return reduced((x - target) ** 2, reduction)


def kl_div(
    x: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback–Leibler divergence, target·(log target − x): `x` holds logarithms of probabilities."""
    refuse_older("kl_div", size_average, reduce)
    losses = target.exp() * (target - x) if log_target else xlogy(target, target) - target * x
    if reduction == "batchmean":
        return losses.sum() / x.shape[0]
    return reduced(losses, reduction)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add numbers before and after the last axes: `pad` is (before, after) of the last axis, of the one before it, ….

    Negative ones remove numbers.
    """
    if mode != "constant":
        refuse(f"the mode `{mode}` of `pad`")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * x.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {x.ndim}"
        )
    shape, at = list(x.shape), [ALL] * x.ndim
    for i in range(len(pad) // 2):
        a, b = pad[2 * i], pad[2 * i + 1]
        d = x.ndim - 1 - i
        if x.shape[d] + a + b < 0:
            raise RuntimeError(
                f"The padding {a} and {b} of dimension {d} with size {x.shape[d]} results in a negative size"
            )
        if a < 0 or b < 0:
            x = x.narrow(d, max(0, -a), x.shape[d] - max(0, -a) - max(0, -b))
            a, b = max(0, a), max(0, b)
        shape[d] = x.shape[d] + a + b
        at[d] = slice(a, a + x.shape[d])
    out = full(shape, value if value is not None else 0, dtype=x.dtype)
    out[tuple(at)] = x
    return out


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Mix the values, each weighted by how well its key matches the query: softmax(q kᵀ / √d + mask) v.

    Shapes:
        q (..., n_q, d); k (..., n_k, d); v (..., n_k, d_v); attn_mask (..., n_q, n_k), True = may attend, or floats to add;
        result (..., n_q, d_v)
    Raises:
        RuntimeError: `is_causal` comes with a mask, or the mask is neither bool nor floating-point.
    """
    if enable_gqa:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        v = v.repeat_interleave(q.shape[-3] // v.shape[-3], -3)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        attn_mask = ones(q.shape[-2], k.shape[-2], dtype=bool_).tril()
    if attn_mask is not None:
        if attn_mask.dtype is not bool_ and not attn_mask.is_floating_point():
            raise RuntimeError(f"Expected attn_mask dtype to be bool or float, but got {attn_mask.dtype}")
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype is bool_ else scores + attn_mask
    weights = scores.softmax(-1)
    if attn_mask is not None:  # a row without any key has the weights 0, not nan
        weights = weights.masked_fill(scores.detach().eq(-math.inf).all(-1, True), 0.0)
    return dropout(weights, dropout_p) @ v


__getattr__ = missing_getattr("torch.nn.functional")
