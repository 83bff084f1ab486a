"""A small decoder with a KV cache, with which the book's last core chapter shows what a cache does.

The block is that of GPT-2 (layer norms, one hidden layer) with rotary positions and grouped
queries. The same code runs without a cache and with one: an empty cache and all tokens at
once, or a filled cache and the newest token only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from qkv.attention import grouped_query_attention, merge_heads, split_heads, window_mask
from qkv.cache import KVCache, SlidingKVCache
from qkv.positions import apply_rope
from qkv.transformer import pre_norm_block


@dataclass(frozen=True)
class DecoderShape:
    """The sizes of a decoder. With a window, a token sees only the window and the first `sinks` tokens."""

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_hidden: int
    window: int | None = None
    sinks: int = 0

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads


# ── the model ─────────────────────────────────────────────────────────────────────────────────────


class CachedAttention(nn.Module):
    """Attention of new tokens to all tokens so far, whose keys and values are in the cache.

    Shapes:
        x (B, n_new, d_model)
    Returns:
        (B, n_new, d_model); n_new positions are added to the cache
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        d_kv = shape.n_kv_heads * shape.d_head
        self.w_q = nn.Linear(shape.d_model, shape.d_model, bias=False)
        self.w_k = nn.Linear(shape.d_model, d_kv, bias=False)
        self.w_v = nn.Linear(shape.d_model, d_kv, bias=False)
        self.w_o = nn.Linear(shape.d_model, shape.d_model, bias=False)

    def forward(self, x: Tensor, cache: KVCache) -> Tensor:
        """Append the new tokens' keys and values to the cache, and attend to all that it holds.

        (B, n_new, d_model) in and out. Positions count on from those that the cache has had. A token sees itself and
        earlier ones, with a window only those in it and the sinks.
        """
        n_new = x.shape[-2]
        positions = torch.arange(cache.next_position, cache.next_position + n_new)
        q = split_heads(self.w_q(x), self.shape.n_heads)  # (B, H, n_new, d_head)
        k = split_heads(self.w_k(x), self.shape.n_kv_heads)  # (B, H_kv, n_new, d_head)
        v = split_heads(self.w_v(x), self.shape.n_kv_heads)
        k, v = cache.append(apply_rope(k, positions), v)  # (B, H_kv, n, d_head)
        heads = grouped_query_attention(apply_rope(q, positions), k, v, self._mask(n_new, k.shape[-2]))
        return self.w_o(merge_heads(heads))

    def _mask(self, n_new: int, n: int) -> Tensor | None:
        if self.shape.window is None:
            return None  # grouped_query_attention is causal without a mask
        return window_mask(n_new, self.shape.window, n, self.shape.sinks)


class DecoderBlock(nn.Module):
    """A pre-norm block: attention, then a feed-forward network; both results are added to the input.

    Shapes:
        x (B, n_new, d_model)
    Returns:
        (B, n_new, d_model)
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(shape.d_model)
        self.attention = CachedAttention(shape)
        self.norm_2 = nn.LayerNorm(shape.d_model)
        self.mlp = nn.Sequential(
            nn.Linear(shape.d_model, shape.d_hidden), nn.GELU(), nn.Linear(shape.d_hidden, shape.d_model)
        )

    def forward(self, x: Tensor, cache: KVCache) -> Tensor:
        return pre_norm_block(x, self.norm_1, lambda y: self.attention(y, cache), self.norm_2, self.mlp)


class Decoder(nn.Module):
    """A decoder that predicts the next token at every position from the tokens up to it.

    Shapes:
        ids (B, n_new)   caches, one for each layer; new ones if none are given
    Returns:
        logits (B, n_new, vocab_size); n_new positions are added to each cache
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model)
        self.blocks = nn.ModuleList(DecoderBlock(shape) for _ in range(shape.n_layers))
        self.norm = nn.LayerNorm(shape.d_model)
        self.unembedding = nn.Linear(shape.d_model, shape.vocab_size, bias=False)

    def new_caches(self) -> list[KVCache]:
        """Make an empty cache for each layer."""
        window, sinks = self.shape.window, self.shape.sinks
        return [KVCache() if window is None else SlidingKVCache(window, sinks) for _ in self.blocks]

    def forward(self, ids: Tensor, caches: Sequence[KVCache] | None = None) -> Tensor:
        """Return the logits of the token after each new one, (B, n_new, vocab_size), and fill the caches.

        Each cache gets the new tokens' keys and values. Without caches, the new tokens are all tokens.

        Raises:
            ValueError: there are more or fewer caches than blocks.
        """
        caches = self.new_caches() if caches is None else caches
        x = self.embedding(ids)  # (B, n_new, d_model)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)
        return self.unembedding(self.norm(x))


# ── using it ──────────────────────────────────────────────────────────────────────────────────────


@torch.no_grad()
def prefill(model: Decoder, ids: Tensor, caches: Sequence[KVCache], chunk: int) -> Tensor:
    """Fill the caches with a prompt, `chunk` tokens at a time.

    The logits are the same as from one call with the whole prompt, but the largest matrix of
    scores has `chunk` rows instead of n. The caches are the same too, except that those with a
    window then hold fewer positions.

    Shapes:
        ids (B, n), n ≥ 1
    Returns:
        logits of the last token, (B, vocab_size)
    Raises:
        ValueError: there are more or fewer caches than blocks.
    """
    for piece in ids.split(chunk, dim=-1):
        logits = model(piece, caches)
    return logits[:, -1]


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────


class MultiplyAdds(NamedTuple):
    """Numbers of multiply-adds: in projections, and in attention (scores and weighted sums of values)."""

    projections: int
    attention: int


def multiply_adds(shape: DecoderShape, n_new: int, n_held: int = 0) -> MultiplyAdds:
    """Count the multiply-adds of one call with n_new tokens, on caches that hold n_held tokens.

    The n-th token costs multiply_adds(shape, 1, n − 1) with a cache, and multiply_adds(shape, n)
    without one. With a window, a cache holds at most sinks + window − 1 tokens, whatever n_held is.
    Masked scores are counted too, because they are computed. Norms, rotations and the softmax are
    not counted, because they are not matrix products.
    """
    if shape.window is not None:
        n_held = min(n_held, shape.sinks + shape.window - 1)
    d_kv = shape.n_kv_heads * shape.d_head
    per_layer = shape.d_model * (2 * shape.d_model + 2 * d_kv + 2 * shape.d_hidden)
    per_token = shape.n_layers * per_layer + shape.d_model * shape.vocab_size
    per_score = 2 * shape.d_head  # d_head for the score, d_head for its weight times a value
    n_scores = shape.n_layers * shape.n_heads * n_new * (n_held + n_new)
    return MultiplyAdds(n_new * per_token, n_scores * per_score)
