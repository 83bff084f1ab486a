"""Layers, activations and losses as functions.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

from .. import reductions
from ..arguments import check_arguments
from ..arithmetic import Number, unary_op, where
from ..creation import arange, empty_like, full, ones, tensor, zeros_like
from ..dtypes import C_NAMES, FLOATING, TYPE_NAMES, bool_, finfo, float32, int32, int64
from ..dtypes import dtype as Kind
from ..missing import missing_getattr, refuse, refuse_set
from ..numbers import NUMBERS, exp_of
from ..shapes import ALL, Axes, axis_of, whole
from ..tensors import Rule, Tensor, type_name
from ..views import broadcast_tensors
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    poisson_nll_loss,
    reduced,
    refuse_older,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from .windows import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    max_pool1d,
    max_pool2d,
    unfold,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "unfold",
]


def implicit_axis(x: Tensor, dim: int | None, name: str) -> int:
    """Return the axis `dim`. If it is None, warn, and return the one that torch chooses for this number of axes.

    That is axis 0 for none, one or three axes, and else axis 1.
    """
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
    """Return x Wᵀ + bias.

    Shapes:
        x (..., n_in); weight (n_out, n_in), or (n_in); bias (n_out); result (..., n_out), or (...)
    Raises:
        RuntimeError: the dtypes differ, or the sizes do not fit, or x has no axes.
    """
    for name, other in (("self", bias), ("mat1", x)):
        if bias is not None and other.dtype is not weight.dtype:  # type: ignore[union-attr]
            kinds = f"{TYPE_NAMES[other.dtype]} and {TYPE_NAMES[weight.dtype]}"  # type: ignore[union-attr]
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {kinds}")
    out = x @ (weight if weight.ndim == 1 else weight.mT)
    if bias is not None and bias.ndim == 1 and weight.ndim == 2 and len(bias) not in (1, len(weight)):
        shape = [max(1, out.numel() // len(weight)), len(weight)]
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[1]}) must match the existing size ({len(bias)}) at non-singleton "
            f"dimension 1.  Target sizes: {shape}.  Tensor sizes: [{len(bias)}]"
        )
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
    """Return the rows of `weight` with these ids. The row `padding_idx` gets no gradient.

    Shapes:
        ids (...) int32 or int64; weight (count, width); result (..., width)
    Raises:
        RuntimeError: the weight is not a matrix, or the ids have another dtype.
        IndexError: an id is negative or too large.
        AssertionError: `padding_idx` is not from −count to count − 1.
        NotImplementedError: `max_norm`, `scale_grad_by_freq` or `sparse` is set.
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
    """Return an index into a table of `count` rows, which may be given from the end, counted from the start.

    Raises:
        AssertionError: there is no such row.
    """
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


def one_hot(ids: Tensor, num_classes: int = -1) -> Tensor:
    """Return for each id a row of zeros with a 1 at the id; with −1 classes, there is one more than the largest id.

    Shapes:
        ids (...) int64; result (..., num_classes) int64
    Raises:
        RuntimeError: an id is negative or too large, the ids are not int64, or there are neither ids nor classes.
    """
    if ids.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    v = list(ids._numbers())
    if not v and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
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
    check_floating("leaky_relu_cpu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, where(y > 0, y, negative_slope * y), inplace)


def elu(x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    check_floating("elu_cpu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, where(y > 0, y, alpha * y.clamp(max=0).expm1()), inplace)


def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


def tanh(x: Tensor) -> Tensor:
    return x.tanh()


def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """Return x·Φ(x), Φ the normal distribution function; with `approximate="tanh"` by its usual approximation.

    Raises:
        NotImplementedError: a number is +∞, or x is not floating-point.
        RuntimeError: `approximate` is not "none" or "tanh".
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    check_floating("GeluKernelImpl", x)
    if math.inf in x._numbers():
        refuse("`gelu` of an infinite number")  # torch's own results depend on the length of the tensor
    if approximate == "tanh":
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())
    return 0.5 * x * (1 + (x / math.sqrt(2)).erf())


def silu(x: Tensor, inplace: bool = False) -> Tensor:
    check_floating("silu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, y * y.sigmoid(), inplace)


def activation(name: str, x: Tensor, f: Number, rule: Rule) -> Tensor:
    """Apply a function to each number of a floating-point tensor, with a rule for its gradient.

    For another dtype, it raises a NotImplementedError with this name.
    """
    check_floating(f"{name}_cpu", x)
    return unary_op(name, x, f, rule, x.dtype)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return log(1 + exp(beta·x)) / beta, and x where beta·x is above the threshold."""

    def rule(g: Tensor, x: Tensor) -> Tensor:
        return where(x * beta > threshold, g, g * (x * beta).sigmoid())

    return activation("softplus", x, lambda v: v if v * beta > threshold else math.log1p(exp_of(v * beta)) / beta, rule)


def logsigmoid(x: Tensor) -> Tensor:
    return activation(
        "log_sigmoid", x, lambda v: min(0.0, v) - math.log1p(math.exp(-abs(v))), lambda g, x: g * (-x).sigmoid()
    )


def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x within two limits. The gradient is 0 at the limits and beyond. With `inplace`, x is changed.

    Raises:
        ValueError: the lower limit is above the upper one.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    y = x.clone() if inplace else x
    rule: Rule = lambda g, x: g * ((x > min_val) & (x < max_val))  # noqa: E731
    return maybe_in_place(x, unary_op("clamp", y, lambda v: min(max(v, min_val), max_val), rule, x.dtype), inplace)


def relu6(x: Tensor, inplace: bool = False) -> Tensor:
    return hardtanh(x, 0.0, 6.0, inplace)


def selu(x: Tensor, inplace: bool = False) -> Tensor:
    check_floating("elu_cpu", x)
    y, alpha, scale = x.clone() if inplace else x, 1.6732632423543772, 1.0507009873554805
    return maybe_in_place(x, scale * where(y > 0, y, alpha * y.clamp(max=0).expm1()), inplace)


def mish(x: Tensor, inplace: bool = False) -> Tensor:
    check_floating("mish_cpu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, y * softplus(y).tanh(), inplace)


def softsign(x: Tensor) -> Tensor:
    return x / (x.abs() + 1)


def hardsigmoid(x: Tensor, inplace: bool = False) -> Tensor:
    check_floating("hardsigmoid_cpu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, hardtanh(y + 3, 0.0, 6.0) / 6, inplace)


def hardswish(x: Tensor, inplace: bool = False) -> Tensor:
    check_floating("hardswish_cpu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, y * hardtanh(y + 3, 0.0, 6.0) / 6, inplace)


def celu(x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    check_floating("elu_cpu", x)
    y = x.clone() if inplace else x
    return maybe_in_place(x, where(y > 0, y, alpha * (y.clamp(max=0) / alpha).expm1()), inplace)


def threshold(x: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    y = x.clone() if inplace else x
    return maybe_in_place(x, where(y > threshold, y, float(value)).to(x.dtype), inplace)


def tanhshrink(x: Tensor) -> Tensor:
    return x - x.tanh()


def softshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x − lambd above lambd, x + lambd below −lambd, and 0 between.

    Raises:
        NotImplementedError: x is not floating-point.
        RuntimeError: lambd is negative.
    """
    check_floating("softshrink_check", x)
    if lambd < 0:
        limits = f"[0, {finfo(x.dtype).max:g}] for input dtype {TYPE_NAMES[x.dtype]}"
        raise RuntimeError(f"lambda must be in range {limits}, but found {lambd:g}")
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0.0 * x))


def hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    check_floating("hardshrink_cpu", x)
    return where((x < -lambd) | (x > lambd), x, 0.0 * x)


def pairwise_distance(a: Tensor, b: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return (a - b + eps).norm(p, -1, keepdim)


def bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return aᵀ W b for the matrix W of each output, and add a bias.

    Shapes:
        a (..., n_a); b (..., n_b); weight (n_out, n_a, n_b); bias (n_out); result (..., n_out)
    Raises:
        RuntimeError: the sizes do not fit.
    """
    out = ((a.unsqueeze(-2).unsqueeze(-2) @ weight).squeeze(-2) * b.unsqueeze(-2)).sum(-1)
    return out if bias is None else out + bias


def softmin(x: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Kind | None = None) -> Tensor:
    return reductions.softmax(-x, implicit_axis(x, dim, "softmin"), dtype)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """Return x where it is positive, and x times a weight elsewhere: one for all, or one for each channel (axis 1).

    Raises:
        RuntimeError: there is another number of weights, or they have another dtype.
    """
    if x.dtype is not weight.dtype:
        kinds = f"{TYPE_NAMES[x.dtype]} and {TYPE_NAMES[weight.dtype]}"
        raise RuntimeError(f"prelu: Type promoting not supported. Got {kinds}")
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
            f"channel size = {channels}."
        )
    return where(x > 0, x, x * (weight.reshape(-1, *[1] * (x.ndim - 2)) if weight.numel() > 1 else weight))


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along an axis, times the sigmoid of the second half.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: the axis has an odd size, or x has no axes.
        NotImplementedError: x is not floating-point.
    """
    d = axis_of(dim, x.ndim)
    if not x.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if x.shape[d] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {x.shape[d]}")
    check_floating("glu_cpu", x)
    half = x.shape[d] // 2
    return x.narrow(d, 0, half) * x.narrow(d, half, half).sigmoid()


def check_floating(function: str, x: Tensor) -> None:
    if x.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"{function}\" not implemented for '{TYPE_NAMES[x.dtype]}'")


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set each number to 0 with the probability p, and divide the others by 1 − p.

    Return a new tensor, or with `inplace` x itself, changed. Outside of training, and for p = 0, return x as it is.

    Raises:
        ValueError: p is not from 0 to 1.
        RuntimeError: in training with p above 0, x is not floating-point.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    if x.dtype.kind < FLOATING:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {TYPE_NAMES[x.dtype]}")
    kept = zeros_like(x) if p == 1 else zeros_like(x).bernoulli_(1 - p) / (1 - p)
    return x.mul_(kept) if inplace else x * kept


def check_mixed(x: Tensor, *parameters: Tensor | None) -> None:
    """Raise a RuntimeError if a parameter has another dtype; only numbers of two bytes may have one of float32."""
    kinds = {p.dtype for p in parameters if p is not None} - {x.dtype}
    if kinds and not (x.dtype.itemsize == 2 and kinds == {float32}):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Subtract the mean of the last axes, divide by their standard deviation, and apply a weight and a bias.

    (x − mean) / √(variance + eps) · weight + bias, with the population variance: divided by n, not by n − 1.

    Shapes:
        x (..., *normalized_shape); weight, bias (*normalized_shape); result as x
    Raises:
        RuntimeError: the last axes, or the weight or the bias, do not have the normalized shape, or the dtypes differ.
        NotImplementedError: x is not floating-point.
    """
    shape, n = [whole(size, "normalized_shape") for size in normalized_shape], len(normalized_shape)
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
    check_mixed(x, weight, bias)
    check_floating("LayerNormKernelImpl", x)
    dims = list(range(-n, 0))
    gap = x - x.mean(dims, True)
    out = gap / ((gap * gap).mean(dims, True) + eps).sqrt()
    out = out if weight is None else out * weight
    return (out if bias is None else out + bias).to(x.dtype)


def rms_norm(
    x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square of the last axes, and apply a weight: x / √(mean(x²) + eps) · weight.

    Without `eps`, it is the distance from 1 to the next number of x's dtype.

    Shapes:
        x (..., *normalized_shape); weight (*normalized_shape); result as x
    Raises:
        RuntimeError: the last axes or the weight do not have the normalized shape.
        NotImplementedError: x is not floating-point.
    """
    shape = list(normalized_shape)
    if list(x.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*{', '.join(map(str, shape))}], but got input "
            f"of size{list(x.shape)}"
        )
    if weight is not None and list(weight.shape) != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and "
            f"normalized_shape = {shape}"
        )
    check_floating("rms_norm", x)
    scale = ((x * x).mean(list(range(-len(shape), 0)), True) + (finfo(x.dtype).eps if eps is None else eps)).sqrt()
    return x * (1 / scale) if weight is None else x * (1 / scale) * weight


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalize groups of channels (axis 1) of each example, and apply a weight and a bias for each channel.

    All numbers of a group are normalized together, as by `layer_norm`.

    Shapes:
        x (batch, channels, ...); weight, bias (channels); result as x
    Raises:
        RuntimeError: `num_groups` does not divide the channels, the weight or the bias has not one number for each, or
            the dtypes differ.
        NotImplementedError: x is not floating-point.
    """
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(x.shape)} and num_groups={num_groups}"
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and given.numel() != x.shape[1]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(given.shape)} and input of shape {list(x.shape)}"
            )
    check_mixed(x, weight, bias)
    groups = x.reshape(x.shape[0], num_groups, -1)
    out = layer_norm(groups, groups.shape[-1:], eps=eps).reshape(x.shape)
    shape = [-1, *[1] * (x.ndim - 2)]
    out = out if weight is None else out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalize each channel (axis 1) over the batch, or with running means and variances outside of training.

    In training, the running means and variances, if given, are changed in place: they move by the share `momentum` to
    those of the batch. Then a weight and a bias for each channel are applied.

    Shapes:
        x (batch, channels, ...); all others (channels); result as x
    Raises:
        ValueError: in training, there is one value for each channel, or only one of the two running tensors.
        RuntimeError: there are no running means or variances outside of training, or not one for each channel.
        NotImplementedError: x is not floating-point.
    """
    check_floating("batch_norm", x)
    check_mixed(x, weight, bias)
    shape, others = [1, -1, *[1] * (x.ndim - 2)], [0, *range(2, x.ndim)]
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if running_mean is not None and running_mean.numel() != x.shape[1]:
        raise RuntimeError(f"running_mean should contain {x.shape[1]} elements not {running_mean.numel()}")
    if training:
        n = x.numel() // x.shape[1]
        if n == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
        mean, var = x.mean(others), x.var(others, correction=0)
        for running, now in ((running_mean, mean), (running_var, var * n / (n - 1))):
            if running is not None:
                running.copy_(running * (1 - momentum) + now.detach() * momentum)
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    else:
        mean, var = running_mean, running_var
    out = (x - mean.reshape(shape)) / (var.reshape(shape) + eps).sqrt()
    out = out if weight is None else out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def normalize(x: Tensor, p: float | None = 2.0, dim: Axes = 1, eps: float = 1e-12) -> Tensor:
    return x / x.norm(2.0 if p is None else p, dim, True).clamp(min=eps)


def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    a, b = broadcast_tensors(a, b)
    return (a * b).sum(dim) / (a.norm(2, dim).clamp(min=eps) * b.norm(2, dim).clamp(min=eps))


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
    """Return the cross entropy with classes, or with probabilities of the classes. These are along axis 1, or 0.

    Examples of the class `ignore_index` do not count. `label_smoothing` is the share of the target that is spread over
    all classes. `reduction` is "mean", weighted if there are weights of classes, "sum" or "none". For other errors, see
    `reduced` and `refuse_older`.

    Shapes:
        x (classes) or (B, classes, ...); target () or (B, ...) int64, or the shape of x; weight (classes);
        result (), or for "none" the shape of the losses, () or (B, ...)
    Raises:
        IndexError: a target is no class.
        ValueError, RuntimeError: `reduction` or `label_smoothing` is none of these, or the targets have another shape
            or dtype.
    """
    refuse_older("cross_entropy", size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    d, logp = min(1, x.ndim - 1), reductions.log_softmax(x, min(1, x.ndim - 1))
    shape = [n if i == d else 1 for i, n in enumerate(x.shape)]
    weighted = logp if weight is None or weight.numel() != x.shape[d] else logp * weight.reshape(shape)
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
    """Return the negative log-likelihood loss. Classes are along axis 1, or along axis 0 of a single example.

    Examples of the class `ignore_index` do not count. `reduction` and the shapes are as for `cross_entropy`. For other
    errors, see `reduced` and `refuse_older`.

    Raises:
        IndexError: a target is no class.
        ValueError, RuntimeError: the targets have another shape, or are not int64; the weights do not fit.
        NotImplementedError: `logp` is not floating-point.
    """
    refuse_older("nll_loss", size_average, reduce)
    check_floating("nll_loss_out_frame", logp)
    if weight is not None and weight.dtype is not logp.dtype:
        raise RuntimeError(f"expected scalar type {TYPE_NAMES[logp.dtype]} but found {TYPE_NAMES[weight.dtype]}")
    d, ignore_index = min(1, logp.ndim - 1), whole(ignore_index, "ignore_index")
    if logp.ndim <= 2 and target.ndim > 1 and target.shape[0] == logp.shape[0]:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dtype is not int64:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {TYPE_NAMES[target.dtype]}")
    wanted = [n for i, n in enumerate(logp.shape) if i != d]
    if logp.ndim == 4 and target.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        )
    if logp.ndim > 2 and target.ndim and target.shape[0] == logp.shape[0] and list(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    if weight is not None and weight.numel() != logp.shape[d]:
        raise RuntimeError(
            f"weight tensor should be defined either for all {logp.shape[d]} classes or no classes but got weight tensor "
            f"of shape: {list(weight.shape)}"
        )
    if list(target.shape) != wanted:
        raise ValueError(
            f"Expected input batch_size ({logp.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 0})."
        )
    counted = target.ne(ignore_index)
    target = target * counted
    for number in target._numbers():
        if not 0 <= number < logp.shape[d]:
            raise IndexError(f"Target {number} is out of bounds.")
    factor = counted.to(logp.dtype) if weight is None else weight[target] * counted
    losses = -logp.gather(d, target.unsqueeze(d)).squeeze(d) * factor
    return reduced(losses.masked_fill(~counted, 0.0), reduction, factor.sum())


# By mode, the place from which a place before or after an axis of n numbers takes its number.
_TAKEN_FROM: dict[str, Callable[[int, int], int]] = {
    "reflect": lambda i, n: n - 1 - abs(n - 1 - abs(i)),
    "replicate": lambda i, n: min(max(i, 0), n - 1),
    "circular": lambda i, n: i % n,
}


def _padded_from_itself(x: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    """Add numbers of the last axis before and after it: mirrored at its ends, the first and last one, or round again.

    Raises:
        NotImplementedError: there is no such mode, the counts are not two from 0 to n − 1, or x has not 2 or 3 axes.
    """
    n = x.shape[-1] if x.ndim in (2, 3) else 0
    if mode not in _TAKEN_FROM or len(pad) != 2 or not 0 <= min(pad) <= max(pad) < n:
        refuse(f"the mode `{mode}` of `pad`, as it is asked for here,")
    return x[..., [_TAKEN_FROM[mode](i, n) for i in range(-pad[0], n + pad[1])]]


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add numbers before and after the last axes: `pad` is (before, after) of the last axis, of the one before it, ….

    They are 0, or `value`; in another mode, they are numbers of the last axis. Negative counts remove numbers.

    Raises:
        RuntimeError: the counts do not fit the axes.
        NotImplementedError: there is no such mode, or torch takes these counts otherwise in this mode.
    """
    if mode != "constant":
        return _padded_from_itself(x, pad, mode)
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


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Repeat the numbers of the axes after the second so that these get other sizes: each place takes the nearest one.

    The sizes are given, or a whole factor for each.

    Shapes:
        x (batch, channels, *sizes); result (batch, channels, *new sizes)
    Raises:
        NotImplementedError: the mode is not "nearest", the factor is not whole, or x has other than 3 to 5 axes.
        ValueError: neither size nor factor is given, or both, or `align_corners` is.
    """
    refuse_set("interpolate", recompute_scale_factor=recompute_scale_factor, antialias=antialias)
    if mode != "nearest":
        refuse(f"the mode `{mode}` of `interpolate`")
    if align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    axes = range(2, x.ndim)
    if not 3 <= x.ndim <= 5:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {x.ndim}D) for the modes: nearest | linear | "
            "bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got nearest)"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError(f"{'either' if size is None else 'only one of'} size or scale_factor should be defined")
    given = scale_factor if size is None else size
    each = [given] * len(axes) if isinstance(given, NUMBERS) else list(given or ())
    for d, wanted in zip(axes, each, strict=True):
        n = x.shape[d]
        if size is None and wanted % 1:
            refuse("a `scale_factor` of `interpolate` that is not an integer")
        new = int(n * wanted if size is None else wanted)
        x = x.index_select(d, tensor([i * n // new for i in range(new)]))
    return x


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

    `scale` replaces 1 / √d. With `enable_gqa`, each head of k and v serves several of q. A token that may attend to
    nothing gets zeros. `is_causal` hides each key after the query's own position. `dropout_p` drops weights, also
    outside of training.

    Shapes:
        q (..., n_q, d); k (..., n_k, d); v (..., n_k, d_v); attn_mask (..., n_q, n_k), True = may attend, or floats to
            add;
        result (..., n_q, d_v)
    Raises:
        RuntimeError: one has fewer than 2 axes, the dtypes differ, the heads of k or v do not divide those of q,
            `is_causal` comes with a mask and dropout, or with a mask and other than 4 axes, or the mask is neither bool
            nor float32 nor of the dtype of q.
    """
    if min(x.ndim for x in (q, k, v)) < 2:
        sizes = "query.dim: {} key.dim: {} and value.dim: {}".format(*(x.ndim for x in (q, k, v)))
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got {sizes} instead."
        )
    if len({x.dtype for x in (q, k, v)}) > 1:
        names = [C_NAMES[x.dtype] for x in (q, k, v)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and "
            "value.dtype: {} instead.".format(*names)
        )
    if enable_gqa:
        if any(q.shape[-3] % x.shape[-3] for x in (k, v)):
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        v = v.repeat_interleave(q.shape[-3] // v.shape[-3], -3)
    scores = q @ k.mT * (1 / math.sqrt(max(1, q.shape[-1])) if scale is None else scale)
    if is_causal:
        if attn_mask is not None and (
            dropout_p or {q.ndim, k.ndim, v.ndim} != {4}
        ):  # only torch's fast kernel takes both
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        future = ones(q.shape[-2], k.shape[-2], dtype=bool_).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype not in (bool_, float32, q.dtype):
            given = f"attn_mask.dtype: {C_NAMES[attn_mask.dtype]} and  query.dtype: {C_NAMES[q.dtype]}"
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got {given} instead."
            )
        if attn_mask.dtype is bool_:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        else:
            scores = scores + attn_mask.to(q.dtype)
    weights = scores.softmax(-1)
    if is_causal or attn_mask is not None:  # a row without any key has the weights 0, not nan
        weights = weights.masked_fill(scores.detach().eq(-math.inf).all(-1, True), 0.0)
    return dropout(weights, dropout_p) @ v


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return the softmax of logits with random Gumbel noise, over `tau` (Jang et al., 2017).

    With `hard`, the result is 1 at the largest and 0 elsewhere, and its gradient is that of the softmax.
    """
    noise = -empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    one = zeros_like(logits).scatter_(dim, soft.detach().argmax(dim, keepdim=True), 1.0)
    return one - soft.detach() + soft


OF_TORCH = {"x": "input", "ids": "input", "logp": "input", "q": "query", "k": "key", "v": "value"}
OF_TWO = {"cosine_similarity": "x", "pairwise_distance": "x", "bilinear": "input"}  # torch's names of both, but numbers
for _name, _function in [*globals().items()]:
    if type(_function) is type(linear) and _function.__module__ in (__name__, mse_loss.__module__, conv1d.__module__):
        _both = OF_TWO.get(_name, "")
        _named = {"a": f"{_both}1", "b": f"{_both}2"} if _both else OF_TORCH
        globals()[_name] = check_arguments(_name, _function, _named)
__getattr__ = missing_getattr("torch.nn.functional")
logsigmoid.__name__ = "log_sigmoid"  # as torch names it
