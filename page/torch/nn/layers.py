"""Layers: linear, embedding, normalization, dropout, activations, loss, attention."""

from __future__ import annotations

import math
from typing import Any

from ..creation import empty, ones, zeros
from ..dtypes import bool_
from ..modes import no_grad
from ..randomness import randn
from ..reductions import softmax
from ..tensors import Tensor
from . import functional, init
from .module import Module
from .parameter import Parameter


class Linear(Module):
    def __init__(
        self, in_features: Any, out_features: Any, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        self.bias = Parameter(empty(out_features, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
        with no_grad():
            self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.uniform_(-bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    def __init__(self, num_embeddings: Any, embedding_dim: Any, padding_idx: Any = None, _weight: Any = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = Parameter(randn(num_embeddings, embedding_dim) if _weight is None else _weight)

    @classmethod
    def from_pretrained(cls, table: Any, freeze: Any = True) -> Any:
        made = cls(table.shape[0], table.shape[1], _weight=table)
        made.weight.requires_grad = not freeze
        return made

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Dropout(Module):
    def __init__(self, p: Any = 0.5, inplace: Any = False) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace=False"


class LayerNorm(Module):
    def __init__(self, shape: Any, eps: Any = 1e-05, elementwise_affine: Any = True, bias: bool = True) -> None:
        super().__init__()
        self.normalized_shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps = eps
        self.weight = Parameter(ones(*self.normalized_shape))
        self.bias = Parameter(zeros(*self.normalized_shape))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class Softmax(Module):
    def __init__(self, dim: Any = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return softmax(x, self.dim)


class ReLU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class GELU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(x)


class Identity(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class CrossEntropyLoss(Module):
    def forward(self, x: Tensor, y: Any) -> Tensor:
        return functional.cross_entropy(x, y)


class MultiheadAttention(Module):
    def __init__(
        self, embed_dim: Any, num_heads: Any, dropout: Any = 0.0, bias: bool = True, batch_first: Any = False
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
        self.in_proj_bias = Parameter(zeros(3 * embed_dim))
        self.out_proj = Linear(embed_dim, embed_dim)
        init.xavier_uniform_(self.in_proj_weight)
        init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: Any = True,
        attn_mask: Any = None,
        average_attn_weights: Any = True,
        is_causal: Any = False,
    ) -> tuple[Tensor, Tensor | None]:
        ws, bs = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        xs = [query, key, value] if self.batch_first else [x.transpose(0, 1) for x in (query, key, value)]
        q, k, v = [
            functional.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, w, b in zip(xs, ws, bs, strict=False)
        ]
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if attn_mask is not None:
            scores = scores.masked_fill(attn_mask, -math.inf) if attn_mask.dtype is bool_ else scores + attn_mask
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], -math.inf)
        weights = scores.softmax(-1)
        out = self.out_proj((weights @ v).transpose(1, 2).flatten(-2))
        out = out if self.batch_first else out.transpose(0, 1)
        shown = weights.mean(1) if average_attn_weights else weights
        return out, shown if need_weights else None
