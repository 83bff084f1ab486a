"""Layers with parameters, dropout, and attention.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..creation import empty, full, ones, zeros
from ..dtypes import Device, State, bool_, int64
from ..dtypes import dtype as Kind
from ..missing import refuse, refuse_set
from ..modes import no_grad
from ..numbers import INTEGERS
from ..shapes import Size
from ..tensors import Tensor
from . import functional, init
from .module import Module
from .parameter import Parameter
from .windows import Sizes, each


class Linear(Module):
    """The layer x Wᵀ + b, with W (out_features, in_features) and b (out_features), or without `bias`, no b.

    Both begin with the random numbers of `reset_parameters`.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Device = None, dtype: Kind | None = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew: uniform between ±1 / √in_features."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
        with no_grad():
            self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.uniform_(-bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class LazyLinear(Linear):
    """A linear layer that takes its number of inputs from the first one; then its class is `Linear`."""

    def __init__(self, out_features: int, bias: bool = True, device: Device = None, dtype: Kind | None = None) -> None:
        Module.__init__(self)
        self.in_features, self.out_features = 0, out_features
        self._parameters = {"weight": Unmade(), "bias": Unmade() if bias else None}
        self.made_as: dict[str, Any] = {"device": device, "dtype": dtype}

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew, if they are there."""
        if not isinstance(self.weight, Unmade):
            super().reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Make the weight and the bias for this first input, become a `Linear` layer, and return its result."""
        kind: dict[str, Any] = self.__dict__.pop("made_as")
        self.in_features = input.shape[-1]
        self.weight = Parameter(empty(self.out_features, self.in_features, **kind))
        self.bias = None if self.bias is None else Parameter(empty(self.out_features, **kind))
        self.__class__ = Linear  # type: ignore[assignment]
        self.reset_parameters()
        return Linear.forward(self, input)


class Unmade:
    """A parameter of a lazy layer, before its size is known: reading any attribute raises a NotImplementedError."""

    def __repr__(self) -> str:
        return "<UninitializedParameter>"

    def __getattr__(self, name: str) -> Any:
        refuse("a parameter of a lazy layer before its first input")


class Embedding(Module):
    """A table with one row for each id, (num_embeddings, embedding_dim): ids (...) become (..., embedding_dim).

    The rows begin as normal numbers with mean 0 and variance 1, or as `_weight`; if that has another shape, an
    AssertionError is raised. The row `padding_idx` begins as zeros and gets no gradient; with `_freeze`, no row does.
    Errors are those of `functional.embedding`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        refuse_set("Embedding", max_norm=max_norm, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
        self.num_embeddings, self.embedding_dim, self.norm_type = num_embeddings, embedding_dim, norm_type
        self.max_norm, self.scale_grad_by_freq, self.sparse = max_norm, scale_grad_by_freq, sparse
        self.padding_idx = None if padding_idx is None else functional.padding_index(padding_idx, num_embeddings)
        if _weight is not None and list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        made = empty(num_embeddings, embedding_dim, dtype=dtype, device=device) if _weight is None else _weight
        self.weight = Parameter(made, requires_grad=not _freeze)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew, from the standard normal distribution; the row of `padding_idx` is zeros."""
        with no_grad():
            self.weight.normal_()
            if self.padding_idx is not None:
                self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """Return an embedding with this table (count, width), whose storage it shares.

        With `freeze`, training leaves it unchanged.

        Raises:
            AssertionError: the table is not a matrix, or `padding_idx` is none of its rows.
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        return cls(rows, width, padding_idx, _weight=embeddings, _freeze=freeze)

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class AnyDropout(Module):
    """A layer that sets some of the numbers to 0, in training.

    Raises:
        ValueError: p is not from 0 to 1.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(AnyDropout):
    """In training, set each number to 0 with the probability p, and divide the others by 1 − p."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout(input, self.p, self.training, self.inplace)


class ChannelDropout(AnyDropout):
    """In training, set whole channels to 0 with the probability p, and divide the others by 1 − p."""

    axes = 1

    def forward(self, input: Tensor) -> Tensor:
        """Return the input (batch, channels, ...) with whole channels dropped, in training.

        Raises:
            NotImplementedError: the input has another number of axes.
        """
        if input.ndim != self.axes + 2:
            refuse(f"`Dropout{self.axes}d` of a tensor with {input.ndim} axes")
        if not self.training or not self.p:
            return input
        return input * functional.dropout(ones(*input.shape[:2], *[1] * self.axes, dtype=input.dtype), self.p)


class Dropout1d(ChannelDropout):
    """Dropout of whole channels of (batch, channels, length)."""


class Dropout2d(ChannelDropout):
    """Dropout of whole channels of (batch, channels, height, width)."""

    axes = 2


class Normalization(Module):
    """A layer that normalizes, with a weight that starts with ones, and mostly with a bias that starts with zeros."""

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros, where they are there."""
        with no_grad():
            for name, start in (("weight", 1.0), ("bias", 0.0)):
                if (p := self._parameters.get(name)) is not None:
                    p.fill_(start)


class LayerNorm(Normalization):
    """Layer normalization of the last axes, with a trained weight and bias (Ba et al., 2016).

    Without `elementwise_affine` it has neither, and without `bias` only the weight.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, INTEGERS) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.register_parameter(
            "weight", Parameter(ones(self.normalized_shape, **kind)) if elementwise_affine else None
        )
        self.register_parameter(
            "bias", Parameter(zeros(self.normalized_shape, **kind)) if elementwise_affine and bias else None
        )

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Normalization):
    """Division by the root of the mean square of the last axes, with a trained weight (Zhang and Sennrich, 2019).

    Without `elementwise_affine` it has none.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, INTEGERS) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter(
            "weight", Parameter(ones(self.normalized_shape, dtype=dtype, device=device)) if elementwise_affine else None
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Normalization):
    """Normalization of groups of channels, with a trained weight and bias (Wu and He, 2018).

    Without `affine` it has neither. Channels that do not divide into the groups raise a ValueError.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-05,
        affine: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.register_parameter("weight", Parameter(ones(num_channels, **kind)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_channels, **kind)) if affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        settings = f"eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, {settings}"


class BatchNorm(Normalization):
    """Normalization of each channel over the batch, with a trained weight and bias (Ioffe and Szegedy, 2015).

    Without `affine` it has neither. With `track_running_stats`, it keeps a running mean and variance of its batches,
    each moved by `momentum` toward that of the last one.
    """

    _version = 2
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.track_running_stats = track_running_stats
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.register_parameter("weight", Parameter(ones(num_features, **kind)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features, **kind)) if affine and bias else None)
        self.register_buffer("running_mean", zeros(num_features, **kind) if track_running_stats else None)
        self.register_buffer("running_var", ones(num_features, **kind) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=int64) if track_running_stats else None)

    axes: tuple[int, ...] = (2, 3)  # how many an input may have

    def reset_running_stats(self) -> None:
        """Set the running means to zeros, the variances to ones, and the number of batches to 0."""
        for name, start in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            if self._buffers[name] is not None:
                self._buffers[name].fill_(start)

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input (batch, channels, ...), normalized. In training, the running means and variances change.

        Raises:
            ValueError: the input has another number of axes, or in training one value for each channel.
        """
        if input.ndim not in self.axes:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in self.axes)} input (got {input.ndim}D input)")
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
        now = self.training or not self.track_running_stats
        means = (self.running_mean, self.running_var)
        return functional.batch_norm(input, *means, self.weight, self.bias, now, self.momentum, self.eps)

    def extra_repr(self) -> str:
        """Return the settings as torch prints them."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """Normalization of each channel over the batch and, if there is one, the last axis."""


class BatchNorm2d(BatchNorm):
    """Normalization of each channel over the batch and two axes."""

    axes = (4,)


class PReLU(Module):
    """x where it is positive, and x times a trained weight elsewhere: one for all, or for each channel.

    It starts as `init`.
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Device = None, dtype: Kind | None = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        with no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Convolution(Module):
    """A convolution with trained filters; `axes` is the number of axes of a window. See `windows.convolution`.

    A ValueError is raised if `groups` does not divide both numbers of channels, for another text as `padding`, and for
    "same" with a stride. Another `padding_mode` than "zeros" is a NotImplementedError.
    """

    axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            refuse(f"a `padding_mode` of `{type(self).__name__}`")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and max(each(stride, self.axes)) > 1:
            raise ValueError("padding='same' is not supported for strided convolutions")
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{'in' if in_channels % groups else 'out'}_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = tuple(each(kernel_size, self.axes)), tuple(each(stride, self.axes))
        self.padding = padding if isinstance(padding, str) else tuple(each(padding, self.axes))
        self.dilation = tuple(each(dilation, self.axes))
        self.padding_mode, self.transposed, self.output_padding = padding_mode, False, (0,) * self.axes
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.weight = Parameter(empty(out_channels, in_channels // groups, *self.kernel_size, **kind))
        self.register_parameter("bias", Parameter(empty(out_channels, **kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew: uniform between ±1 / √(the numbers of a filter)."""
        bound = 1 / math.sqrt(self.weight[0].numel())
        with no_grad():
            self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.uniform_(-bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.stride, self.padding, self.dilation, self.groups)
        return getattr(functional, f"conv{self.axes}d")(input, self.weight, self.bias, *settings)

    def extra_repr(self) -> str:
        """Return the settings, but for usual ones, as torch prints them."""
        usual = {"padding": (0,) * self.axes, "dilation": (1,) * self.axes, "groups": 1}
        other = [f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        sizes = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{sizes}{''.join(other)}{', bias=False' if self.bias is None else ''}"


class Conv1d(Convolution):
    """A convolution along one axis, with trained filters (out_channels, in_channels / groups, kernel_size)."""


class Conv2d(Convolution):
    """A convolution along two axes, with trained filters (out_channels, in_channels / groups, *kernel_size)."""

    axes = 2


class Bilinear(Module):
    """The layer aᵀ W b + bias of two inputs, with a matrix W for each output; without `bias`, it is aᵀ W b."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.weight = Parameter(empty(out_features, in1_features, in2_features, **kind))
        self.register_parameter("bias", Parameter(empty(out_features, **kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew: uniform between ±1 / √in1_features."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        with no_grad():
            self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.uniform_(-bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The linear layer at the end of `MultiheadAttention`, by its name in PyTorch."""


class MultiheadAttention(Module):
    """Attention with several heads (Vaswani et al., 2017), with projections of queries, keys, values and the result.

    An AssertionError is raised if the heads do not divide `embed_dim`, and a ValueError if one of the two is not
    positive. `add_bias_kv`, `add_zero_attn` and other widths `kdim` and `vdim` are a NotImplementedError.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        refuse_set("MultiheadAttention", add_bias_kv=add_bias_kv, add_zero_attn=add_zero_attn)
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.batch_first, self.dropout = embed_dim, num_heads, batch_first, dropout
        self.kdim, self.vdim = (embed_dim if width is None else width for width in (kdim, vdim))
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.bias_k, self.bias_v, self.add_zero_attn = None, None, False
        self.head_dim = embed_dim // num_heads
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        apart = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, **kind))
            for name in apart:
                self.register_parameter(name, None)
        else:
            for name, width in apart.items():
                self.register_parameter(name, Parameter(empty(embed_dim, width, **kind)))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim, **kind)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **kind)
        for weight in [self.in_proj_weight] if self._qkv_same_embed_dim else [getattr(self, name) for name in apart]:
            init.xavier_uniform_(weight)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the result, and the weights, by default as their mean over the heads; None unless `need_weights`.

        A mask of floats is added to the scores. `is_causal` only states what `attn_mask` is, and masks nothing by
        itself.

        Shapes, with `batch_first` (else batch and tokens change places; both also without a batch):
            query (B, n_q, d); key, value (B, n_k, d); attn_mask (n_q, n_k) or (B·heads, n_q, n_k), True = must not
                attend;
            key_padding_mask (B, n_k), True = must not be attended to; result (B, n_q, d); weights (B, n_q, n_k), or
            (B, heads, n_q, n_k) without `average_attn_weights`
        Raises:
            AssertionError: a mask holds integers, or a number of axes or a size does not fit.
            RuntimeError: `is_causal` is set without `attn_mask`, or this has another size.
        """
        check_axes_of_attention(query, key, value, key_padding_mask, attn_mask)
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
        for name, mask in masks.items():
            if mask is not None and mask.dtype is not bool_ and not mask.is_floating_point():
                raise AssertionError(f"only bool and floating types of {name} are supported")
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                "`generate_square_subsequent_mask` to create this mask."
            )
        xs, single = [query, key, value], query.ndim == 2
        if single or not self.batch_first:
            xs = [x.unsqueeze(0) if single else x.transpose(0, 1) for x in xs]
        self.check_sizes(xs, key_padding_mask, attn_mask)
        scores, v = self.scores_and_values(xs)
        if attn_mask is not None:
            scores = masked(scores, attn_mask.view(scores.shape) if attn_mask.ndim == 3 else attn_mask)
        if key_padding_mask is not None:
            keys = key_padding_mask[None] if single else key_padding_mask
            scores = masked(scores, keys[:, None, None, :])
        weights = functional.dropout(scores.softmax(-1), self.dropout, self.training)
        mixed = weights @ v  # (B, heads, n, head_dim)
        rows = mixed.permute(2, 0, 1, 3).reshape(-1, self.embed_dim)  # as torch, with the tokens first
        out = self.out_proj(rows).view(mixed.shape[2], mixed.shape[0], -1)
        shown = weights.mean(1) if average_attn_weights else weights.view(weights.shape)  # as torch, a view
        if single:
            out, shown = out.squeeze(1), shown.squeeze(0)
        elif self.batch_first:
            out = out.transpose(0, 1)
            if not (self.training or State.grad_enabled):  # then torch has a faster way, which copies
                out = out.contiguous()
        return out, shown if need_weights else None

    def check_sizes(self, xs: list[Tensor], padding: Tensor | None, mask: Tensor | None) -> None:
        """Raise torch's error for a wrong size, also for a mask that could be broadcast.

        It is an AssertionError, or for `attn_mask` a RuntimeError. In `xs`, queries, keys and values, the batch is
        first.
        """
        (batch, n, width), (_, keys, _) = xs[0].shape, xs[1].shape
        if width != self.embed_dim:
            raise AssertionError(f"was expecting embedding dimension of {self.embed_dim}, but got {width}")
        if not self._qkv_same_embed_dim and xs[1].shape[:2] != xs[2].shape[:2]:
            keys_first, values_first = (Size(x.transpose(0, 1).shape[:2]) for x in xs[1:])
            raise AssertionError(f"key's sequence and batch dims {keys_first} do not match value's {values_first}")
        for name, x in (("key", xs[1]), ("value", xs[2])):
            weight = getattr(self, f"{name[0]}_proj_weight")
            if weight is not None and weight.shape[1] != x.shape[-1]:
                raise AssertionError(
                    f"expecting {name} weights shape of {(self.embed_dim, x.shape[-1])}, but got {weight.shape}"
                )
        if self._qkv_same_embed_dim and xs[1].shape != xs[2].shape:
            keys_first, values_first = (x.transpose(0, 1).shape for x in xs[1:])
            raise AssertionError(f"key shape {keys_first} does not match value shape {values_first}")
        if xs[1].shape[0] != batch:
            shape = [keys, batch * self.num_heads, self.head_dim]
            raise RuntimeError(f"shape '{shape}' is invalid for input of size {len(xs[1]) * keys * self.embed_dim}")
        if mask is not None:
            wanted = (n, keys) if mask.ndim == 2 else (batch * self.num_heads, n, keys)
            if mask.shape != wanted:
                raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}.")
        if padding is not None:
            for axis, (size, given) in enumerate(zip((batch, keys), (1, *padding.shape)[-2:], strict=True)):
                if size != given:
                    raise AssertionError(f"Expected key_padded_mask.shape[{axis}] to be {size}, but got {given}")

    def scores_and_values(self, xs: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the scaled scores and the values of each head from queries, keys and values with the batch first.

        Shapes:
            scores (B, heads, n_q, n_k); values (B, heads, n_k, head_dim)
        """
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        apart: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        weights = self.in_proj_weight.chunk(3) if self._qkv_same_embed_dim else apart
        q, k, v = [
            functional.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, w, b in zip(xs, weights, biases, strict=True)
        ]
        return q @ k.mT / math.sqrt(q.shape[-1]), v


def check_axes_of_attention(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
) -> None:
    """Raise torch's AssertionError for a wrong number of axes."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    start = f"For {'un' if query.ndim == 2 else ''}batched ({query.ndim}-D) `query`, expected"
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(
            f"{start} `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if padding is not None and padding.ndim != query.ndim - 1:
        raise AssertionError(
            f"{start} `key_padding_mask` to be `None` or {query.ndim - 1}-D but found {padding.ndim}-D tensor instead"
        )
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead")


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Return scores with -inf where a mask is True, or with a floating-point mask added."""
    return scores.masked_fill(mask, -math.inf) if mask.dtype is bool_ else scores + mask
