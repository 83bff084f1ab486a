"""The encoder and the decoder of a transformer as layers (Vaswani et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ..creation import full
from ..dtypes import Device
from ..dtypes import dtype as Kind
from ..tensors import Tensor
from . import functional, init
from .containers import ModuleList
from .layers import Dropout, LayerNorm, Linear, MultiheadAttention
from .module import Module


def activation_of(given: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return the function "relu" or "gelu" by its name, or a function as it is; RuntimeError for another name."""
    if isinstance(given, str) and given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return getattr(functional, given) if isinstance(given, str) else given


class Layer(Module):
    """One or two attentions and a feed-forward network, each with a residual connection and a normalization.

    With `norm_first`, the normalization comes before each part, else after each sum. `attentions` has their names.
    Errors are those of `activation_of` and of the attentions.
    """

    attentions: tuple[str, ...] = ("self_attn",)
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

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
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **kind))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm_first = norm_first
        parts = range(1, len(self.attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **kind))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = activation_of(activation)


class TransformerEncoderLayer(Layer):
    """Self-attention and a feed-forward network, each with a residual connection and a normalization."""

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's result, of the shape of `src`. Masks and errors are those of `MultiheadAttention`."""

        def attended(x: Tensor) -> Tensor:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0])

        def fed(x: Tensor) -> Tensor:
            return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + fed(self.norm2(x))
        x = self.norm1(src + attended(src))
        return self.norm2(x + fed(x))


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
        """Return the result of the last layer, of the shape of `src`. The masks are those of `MultiheadAttention`.

        So are the errors.
        """
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoderLayer(Layer):
    """Self-attention, attention to a memory, and a feed-forward network, each with a residual and a normalization."""

    attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's result, of the shape of `tgt`. Masks and errors are those of `MultiheadAttention`."""

        def attended(x: Tensor) -> Tensor:
            given = (tgt_key_padding_mask, False, tgt_mask)
            return self.dropout1(self.self_attn(x, x, x, *given, is_causal=tgt_is_causal)[0])

        def remembered(x: Tensor) -> Tensor:
            given = (memory_key_padding_mask, False, memory_mask)
            return self.dropout2(self.multihead_attn(x, memory, memory, *given, is_causal=memory_is_causal)[0])

        def fed(x: Tensor) -> Tensor:
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = tgt + attended(self.norm1(tgt))
            x = x + remembered(self.norm2(x))
            return x + fed(self.norm3(x))
        x = self.norm1(tgt + attended(tgt))
        x = self.norm2(x + remembered(x))
        return self.norm3(x + fed(x))


class TransformerDecoder(Module):
    """Several copies of a decoder's layer, one after the other, and a normalization at the end if one is given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the result of the last layer, of the shape of `tgt`. The masks are those of `MultiheadAttention`.

        So are the errors.
        """
        padding = (tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, *padding, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder (Vaswani et al., 2017); `custom_encoder` and `custom_decoder` replace them.

    All matrices begin with Xavier's uniform numbers.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-05,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, **kind)

        def encoder() -> Module:
            return TransformerEncoder(TransformerEncoderLayer(*sizes, **kind), num_encoder_layers, norm())

        def decoder() -> Module:
            return TransformerDecoder(TransformerDecoderLayer(*sizes, **kind), num_decoder_layers, norm())

        self.encoder = encoder() if custom_encoder is None else custom_encoder
        self.decoder = decoder() if custom_decoder is None else custom_decoder
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's result for `tgt`, of its shape; it attends to the encoder's result for `src`.

        The masks and other errors are those of `MultiheadAttention`.

        Raises:
            RuntimeError: the batches differ in size, or a last axis is not `d_model`.
        """
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        padding = (tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, *padding, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Device = None, dtype: Kind | None = None) -> Tensor:
        """Return the mask (sz, sz) with which a token attends to no later one: −inf above the diagonal, 0 elsewhere."""
        return full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)
