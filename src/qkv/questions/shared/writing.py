"""The writer of the capstone as functions of its weights, and the weights and caches that its cases bring.

The names of the weights are those of `qkv.models.Writer`, so the same functions run with its trained weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import attention, causal_mask, merge_heads, split_heads
from qkv.questions.engine import Draw, Provided
from qkv.transformer import layer_norm, next_token_loss, pre_norm_block

Weights = dict[str, Tensor]
Block = Callable[..., tuple[Tensor, Tensor]]  # (x, w, n_heads, cache) -> the new x and the weights of attention

# ── the writer ────────────────────────────────────────────────────────────────────────────────────


def part(w: Weights, name: str) -> Weights:
    """Return the weights below a name: part(w, "stack.blocks.0") has "norm_1.weight" and so on."""
    return {key.removeprefix(f"{name}."): value for key, value in w.items() if key.startswith(f"{name}.")}


def block(x: Tensor, w: Weights, n_heads: int, cache: Any = None) -> tuple[Tensor, Tensor]:
    """Run a causal pre-norm block on the newest tokens, whose keys and values are added to the cache, if there is one.

    `w` has the block's weights by their names. Without a cache, x is all tokens.

    Shapes:
        x (B, n, d_model)
    Returns:
        out (B, n, d_model), weights (B, H, n, n_k)
    """
    found: list[Tensor] = []

    def norm(name: str) -> Callable[[Tensor], Tensor]:
        return lambda y: layer_norm(y, w[f"{name}.weight"], w[f"{name}.bias"])

    def linear(y: Tensor, name: str) -> Tensor:
        return F.linear(y, w[f"{name}.weight"], w[f"{name}.bias"])

    def attend(y: Tensor) -> Tensor:
        q, k, v = (split_heads(linear(y, f"attention.w_{name}"), n_heads) for name in "qkv")
        k, v = (k, v) if cache is None else cache.append(k, v)
        heads, weights = attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2]))
        found.append(weights)
        return linear(merge_heads(heads), "attention.w_o")

    def feed_forward(y: Tensor) -> Tensor:
        return linear(F.gelu(linear(y, "feed_forward.w_1")), "feed_forward.w_2")

    return pre_norm_block(x, norm("norm_1"), attend, norm("norm_2"), feed_forward), found[0]


def writer(ids: Tensor, w: Weights, n_heads: int, caches: Any = None, block: Block = block) -> tuple[Tensor, Tensor]:
    """Run the whole writer: embeddings and positions, the blocks, the last norm, the unembedding.

    `ids` are the newest tokens. Their keys and values are added to the caches, one for each layer, if there are any.
    `w` has the weights by their names, and `block` runs a layer.

    Shapes:
        ids (B, n)
    Returns:
        logits (B, n, vocab), weights (L, B, H, n, n_k)
    """
    start = len(caches[0]) if caches else 0
    n_layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
    x = w["embedding.tokens.weight"][ids] + w["embedding.positions.table"][start : start + ids.shape[-1]]
    found = []
    for layer in range(n_layers):
        x, weights = block(x, part(w, f"stack.blocks.{layer}"), n_heads, caches[layer] if caches else None)
        found.append(weights)
    x = layer_norm(x, w["stack.norm.weight"], w["stack.norm.bias"])
    return x @ w["unembedding.weight"].mT, torch.stack(found)


def write(ids: list[int], w: Weights, n_heads: int, n_new: int, caches: Any = None) -> Tensor:
    """Continue a text by its likeliest words.

    `caches` has one empty `KVCache` (or a class like it) for each layer. Then each token runs once, and they are filled
    with all tokens but the last new one. Without caches, the whole text runs for each new token.

    Returns:
        the new ids, (n_new,)
    """
    text = list(ids)
    unseen = text
    for _ in range(n_new):
        logits, _ = writer(torch.tensor([unseen]), w, n_heads, caches)
        text = [*text, int(logits[0, -1].argmax())]
        unseen = text[-1:] if caches else text
    return torch.tensor(text[len(ids) :])


def without_head(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
    """Return the logits (B, n, vocab) of the writer if one head adds nothing to the residual stream.

    `ids` are (B, n); `layer` and `head` count from 0. The weights do not change.
    """
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    d_head = w[name].shape[1] // n_heads
    w_o = w[name].clone()
    w_o[:, head * d_head : (head + 1) * d_head] = 0
    return writer(ids, {**w, name: w_o}, n_heads)[0]


def heads_needed(ids: Tensor, w: Weights, n_heads: int) -> Tensor:
    """Return by how much the mean loss of the next word rises, in nats, when each head alone is lost.

    Shapes:
        ids (B, n), n ≥ 2
    Returns:
        (L, H)
    """
    before = next_token_loss(writer(ids, w, n_heads)[0], ids)
    n_layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
    rows = [
        [next_token_loss(without_head(ids, w, n_heads, layer, head), ids) - before for head in range(n_heads)]
        for layer in range(n_layers)
    ]
    return torch.tensor(rows)


# ── what the cases bring ──────────────────────────────────────────────────────────────────────────


class HeldCache:
    """A cache that is passed to an answer, for all heads of one layer."""

    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.keys.append(k)
        self.values.append(v)
        return torch.cat(self.keys, dim=-2), torch.cat(self.values, dim=-2)

    def __len__(self) -> int:
        return sum(k.shape[-2] for k in self.keys)

    def __repr__(self) -> str:
        """Return the same text in each process: a list of caches is recorded with it."""
        return f"HeldCache(tokens={len(self)})"


def make_weights(names: str, *tensors: Tensor) -> dict[str, Tensor]:
    """Return the tensors by their names. A worker runs this source alone."""
    return dict(zip(names.split(), tensors, strict=True))


def provided(w: Weights) -> Provided:
    """Return a placeholder for a dictionary of weights."""
    return Provided(make_weights, (" ".join(w), *w.values()))


def draw_block(draw: Draw, d: int, d_hidden: int, dtype: torch.dtype = torch.float32) -> Weights:
    """Return random weights of one block with d features, by their names: norms, attention, feed-forward network."""

    def layer(name: str, d_in: int, d_out: int) -> Weights:
        scale = 1.5 * d_in**-0.5
        return {
            f"{name}.weight": draw.normal(d_out, d_in, dtype=dtype, scale=scale),
            f"{name}.bias": draw.normal(d_out, dtype=dtype, scale=0.5),
        }

    return {
        **draw_norm(draw, "norm_1", d, dtype),
        **{key: value for name in "qkvo" for key, value in layer(f"attention.w_{name}", d, d).items()},
        **draw_norm(draw, "norm_2", d, dtype),
        **layer("feed_forward.w_1", d, d_hidden),
        **layer("feed_forward.w_2", d_hidden, d),
    }


def draw_norm(draw: Draw, name: str, d: int, dtype: torch.dtype) -> Weights:
    return {f"{name}.weight": 1 + 0.5 * draw.normal(d, dtype=dtype), f"{name}.bias": 0.5 * draw.normal(d, dtype=dtype)}


def draw_writer(draw: Draw, sizes: dict[str, int], dtype: torch.dtype = torch.float32) -> Weights:
    """Return random weights of a writer, by their names; `sizes` has L, H, d_head, d_hidden, vocab and n_max."""
    d = sizes["H"] * sizes["d_head"]
    blocks = {
        f"stack.blocks.{layer}.{name}": value
        for layer in range(sizes["L"])
        for name, value in draw_block(draw, d, sizes["d_hidden"], dtype).items()
    }
    return {
        "embedding.tokens.weight": draw.normal(sizes["vocab"], d, dtype=dtype),
        "embedding.positions.table": draw.normal(sizes["n_max"], d, dtype=dtype),
        **blocks,
        **draw_norm(draw, "stack.norm", d, dtype),
        "unembedding.weight": draw.normal(sizes["vocab"], d, dtype=dtype, scale=d**-0.5),
    }
