"""The encoder of a transformer as layers (Vaswani et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ..creation import full
from ..dtypes import Device
from ..dtypes import dtype as Kind
from ..missing import refuse
from ..tensors import Tensor
from . import functional
from .containers import ModuleList
from .layers import Dropout, LayerNorm, Linear, MultiheadAttention
from .module import Module


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each with a residual connection and a normalization."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu,
        layer_norm_eps: float = 1e-05,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **kind)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        self.activation = getattr(functional, activation) if isinstance(activation, str) else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's result, of the shape of `src`. The masks are those of `MultiheadAttention`."""

        def attended(x: Tensor) -> Tensor:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0])

        def fed(x: Tensor) -> Tensor:
            return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + fed(self.norm2(x))
        x = self.norm1(src + attended(src))
        return self.norm2(x + fed(x))


class Transformer(Module):
    """Only the mask, which tutorials take from this class."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("`nn.Transformer`")

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Device = None, dtype: Kind | None = None) -> Tensor:
        """Return the mask (sz, sz) with which a token attends to no later one: −inf above the diagonal, 0 elsewhere."""
        return full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)


class TransformerEncoder(Module):
    """Several copies of a layer, one after the other, and a normalization at the end if one is given."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,  # only a faster way to the same result
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return the result of the last layer, of the shape of `src`. The masks are those of `MultiheadAttention`."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)
