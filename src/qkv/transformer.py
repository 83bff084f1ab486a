"""A transformer around attention: norms, feed-forward networks, blocks, stacks, losses and generation.

Intermediate tensors pass through visit(place, tensor). These are the places of layer l,
counted from 0, with the input x (B, n, d_model):
    l.state                                       the input x
    l.attention.q .k .v .scores .weights .heads   inside attention, (B, H, …)
    l.attention.normed .out .sum                  the norm's result, attention's, and the sum with x
    l.cross.…                                     the same, for cross-attention to an encoder
    l.feed_forward.normed .hidden .out .sum       the same, for the feed-forward network
The places embedded and positions come before the first layer. L.state, normed and logits come
after the last of L layers. In an EncoderDecoder, each name begins with encoder. or decoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.attention import MultiHeadAttention, Visit, causal_mask, padding_mask, unchanged
from qkv.cache import KVCache
from qkv.positions import LearnedPositions
from qkv.softmax import keep_top_k, log_sum_exp, sample_token

# ── norms: over the features of one token ─────────────────────────────────────────────────────────


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Give each token's features mean 0 and variance 1, then a learned scale and shift.

    (x − mean) / √(variance + eps) · gain + bias, over the last axis only, with the population
    variance: divided by d, not by d − 1 [Ba et al., 2016].

    Shapes:
        x (..., d)   gain, bias (d,)
    Returns:
        (..., d)
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / (variance + eps).sqrt() * gain + bias


def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-5) -> Tensor:
    """Give each token's features a mean square of 1, then a learned scale.

    x / √(mean of x² + eps) · gain: no mean is subtracted [Zhang & Sennrich, 2019].

    Shapes:
        x (..., d)   gain (d,)
    Returns:
        (..., d)
    """
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * gain


class LayerNorm(nn.Module):
    """layer_norm with a learned gain and bias."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """rms_norm with a learned gain."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.eps)


# ── the block ─────────────────────────────────────────────────────────────────────────────────────


class FeedForward(nn.Module):
    """A feed-forward network, the same for each token: a wider layer, an activation, and back to d_model.

    activation(x W_1 + b_1) W_2 + b_2, [Vaswani et al., 2017, section 3.3].
    Place: hidden, (..., n, d_hidden).

    Shapes:
        x (..., n, d_model)
    Returns:
        (..., n, d_model)
    """

    def __init__(self, d_model: int, d_hidden: int, activation: Callable[[Tensor], Tensor] = F.gelu) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_hidden)
        self.w_2 = nn.Linear(d_hidden, d_model)
        self.activation = activation

    def forward(self, x: Tensor, visit: Visit = unchanged) -> Tensor:
        return self.w_2(visit("hidden", self.activation(self.w_1(x))))


@dataclass(frozen=True)
class TransformerShape:
    """The sizes and options of a transformer.

    Attributes:
        vocab_size: the number of tokens that it knows
        d_model: the number of features, a multiple of n_heads; or making a block raises ValueError
        n_layers: the number of blocks
        n_heads: the number of heads in each attention
        d_hidden: the width of the feed-forward network; with 0, a block has none
        n_max: the number of positions that it has vectors for, so the length of the longest text
        norm_first: whether a norm comes before each part (pre-norm), or after each sum (post-norm)
        norm: makes a norm from the number of features
        activation: the activation of the feed-forward network
        dropout: the probability with which dropout sets a number to 0 in training
        tied: whether the embedding and the unembedding share one matrix
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    d_hidden: int
    n_max: int
    norm_first: bool = True
    norm: Callable[[int], nn.Module] = LayerNorm
    activation: Callable[[Tensor], Tensor] = F.gelu
    dropout: float = 0.0
    tied: bool = False


def pre_norm_block(
    x: Tensor,
    norm_1: Callable[[Tensor], Tensor],
    attend: Callable[[Tensor], Tensor],
    norm_2: Callable[[Tensor], Tensor],
    feed_forward: Callable[[Tensor], Tensor],
) -> Tensor:
    """Apply attention, then a feed-forward network, and add each result to its input.

    x + attend(norm_1(x)), then the same with the other two: the residual stream from the first
    layer to the last is changed by additions only [Xiong et al., 2020].

    Shapes:
        x (..., n, d_model); each callable keeps that shape
    Returns:
        (..., n, d_model)
    """
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_2(x))


class Block(nn.Module):
    """A block: self-attention, cross-attention if `cross`, feed-forward; each result is added to its input.

        x = x + attention(norm_1(x))
        x = x + feed_forward(norm_2(x))

    These two lines are a block without `cross` and dropout. A norm comes before each part as here
    (pre-norm, GPT-2), or after each sum (post-norm, Vaswani et al., 2017). Dropout acts on the
    result of each part.

    Shapes:
        x (B, n, d_model)   mask, bool, broadcasts to (B, H, n, n_k)
        memory (B, n_m, d_model), an encoder's output   memory_mask, bool, to (B, H, n, n_m)
    Returns:
        (B, n, d_model); n positions are added to a cache
    """

    def __init__(self, shape: TransformerShape, cross: bool = False) -> None:
        super().__init__()
        self.norm_first = shape.norm_first
        self.dropout = nn.Dropout(shape.dropout)
        self.norm_1 = shape.norm(shape.d_model)
        self.attention = MultiHeadAttention(shape.d_model, shape.n_heads)
        if cross:
            self.norm_cross = shape.norm(shape.d_model)
            self.cross = MultiHeadAttention(shape.d_model, shape.n_heads)
        if shape.d_hidden:
            self.norm_2 = shape.norm(shape.d_model)
            self.feed_forward = FeedForward(shape.d_model, shape.d_hidden, shape.activation)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
        visit: Visit = unchanged,
    ) -> Tensor:
        """Return x (B, n, d_model) after self-attention, cross-attention and the feed-forward network.

        Only a block made with `cross` has cross-attention, to `memory`. A network of width 0 is left out. A cache gets
        n new positions. The masks are bool, True = may attend.
        """

        def attend(y: Tensor, visit_part: Visit) -> Tensor:
            return self.attention(y, mask=mask, cache=cache, visit=visit_part)[0]

        def attend_to_memory(y: Tensor, visit_part: Visit) -> Tensor:
            return self.cross(y, memory, mask=memory_mask, visit=visit_part)[0]

        x = self._add(x, self.norm_1, attend, prefixed("attention", visit))
        if hasattr(self, "cross"):
            x = self._add(x, self.norm_cross, attend_to_memory, prefixed("cross", visit))
        if hasattr(self, "feed_forward"):
            x = self._add(x, self.norm_2, self.feed_forward, prefixed("feed_forward", visit))
        return x

    def _add(self, x: Tensor, norm: nn.Module, work: Callable[[Tensor, Visit], Tensor], visit: Visit) -> Tensor:
        """Return x + work(x), with the norm before `work` or after the sum, and dropout on the result of `work`."""
        if self.norm_first:
            out = visit("out", work(visit("normed", norm(x)), visit))
            return visit("sum", x + self.dropout(out))
        out = visit("out", work(x, visit))
        return visit("normed", norm(visit("sum", x + self.dropout(out))))


# ── stacks of blocks ──────────────────────────────────────────────────────────────────────────────


class Embedding(nn.Module):
    """An embedding that looks up a vector for each token and adds a vector for its position.

    Shapes:
        ids (B, n), the tokens at positions start … start + n − 1
    Returns:
        (B, n, d_model)
    Raises:
        ValueError: the ids reach past n_max.
    """

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocab_size, shape.d_model)
        self.positions = LearnedPositions(shape.n_max, shape.d_model)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, ids: Tensor, start: int = 0, visit: Visit = unchanged) -> Tensor:
        embedded = visit("embedded", self.tokens(ids))
        positions = visit("positions", self.positions.rows(start, start + ids.shape[-1]))
        return self.dropout(embedded + positions)


class Stack(nn.Module):
    """A sequence of blocks. In a pre-norm stack, a last norm follows.

    Shapes and arguments are those of Block, with one cache for each layer.
    """

    def __init__(self, shape: TransformerShape, cross: bool = False) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(shape, cross) for _ in range(shape.n_layers))
        self.norm = shape.norm(shape.d_model) if shape.norm_first else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        caches: Sequence[KVCache] | None = None,
        visit: Visit = unchanged,
    ) -> Tensor:
        """Return x (B, n, d_model) after all blocks, and in a pre-norm stack after the last norm.

        Each block gets the same masks (bool, True = may attend) and memory, and its own of the
        caches, which get n new positions.
        """
        for layer, block in enumerate(self.blocks):
            visit_layer = prefixed(f"{layer}", visit)
            cache = None if caches is None else caches[layer]
            x = block(visit_layer("state", x), mask, memory, memory_mask, cache, visit_layer)
        return visit("normed", self.norm(visit(f"{len(self.blocks)}.state", x)))


class Encoder(nn.Module):
    """An encoder, which reads in both directions: the vector of each token depends on all tokens.

    Shapes:
        ids (B, n)   real (B, n) bool, False = padding, which no token attends to
    Returns:
        states (B, n, d_model)
    Raises:
        ValueError: n is larger than n_max.
    """

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = Embedding(shape)
        self.stack = Stack(shape)

    def forward(self, ids: Tensor, real: Tensor | None = None, visit: Visit = unchanged) -> Tensor:
        mask = None if real is None else padding_mask(real)
        return self.stack(self.embedding(ids, visit=visit), mask, visit=visit)


class Decoder(nn.Module):
    """A decoder that predicts the next token at every position from the tokens up to it.

    With `cross`, every block also attends to a memory: the states of an encoder. Every call must
    then give one. Without a memory, cross-attention would see the later tokens of `ids`.

    Shapes:
        ids (B, n_new)   caches, one for each layer, which hold the earlier tokens
        memory (B, n_m, d_model)   memory_real (B, n_m) bool, False = padding
    Returns:
        logits (B, n_new, vocab_size); n_new positions are added to each cache
    Raises:
        ValueError: the ids, after those in the caches, reach past n_max.
    """

    def __init__(self, shape: TransformerShape, cross: bool = False) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = Embedding(shape)
        self.stack = Stack(shape, cross)
        self.unembedding = nn.Linear(shape.d_model, shape.vocab_size, bias=False)
        if shape.tied:
            self.unembedding.weight = self.embedding.tokens.weight

    def new_caches(self) -> list[KVCache]:
        """Make an empty cache for each layer."""
        return [KVCache() for _ in self.stack.blocks]

    def forward(
        self,
        ids: Tensor,
        caches: Sequence[KVCache] | None = None,
        memory: Tensor | None = None,
        memory_real: Tensor | None = None,
        visit: Visit = unchanged,
    ) -> Tensor:
        """Return the logits of the token after each new one, (B, n_new, vocab_size).

        The caches, if given, hold the tokens before `ids`, and get the new ones. A decoder made
        with `cross` needs a memory. With `memory_real`, padding of the memory is hidden.

        Raises:
            ValueError: the ids, after those in the caches, reach past n_max.
        """
        n_new, n_held = ids.shape[-1], len(caches[0]) if caches else 0
        mask = causal_mask(n_new, n_held + n_new).to(ids.device)
        memory_mask = None if memory_real is None else padding_mask(memory_real)
        x = self.embedding(ids, n_held, visit)
        return visit("logits", self.unembedding(self.stack(x, mask, memory, memory_mask, caches, visit)))


class EncoderDecoder(nn.Module):
    """An encoder for one text, and a decoder for another that attends to it [Vaswani et al., 2017].

    It is made from the shape of the encoder and that of the decoder, with the same d_model.

    Shapes:
        source (B, n_m), target (B, n) of integers   real (B, n_m) bool, False = padding of the source
    Returns:
        logits (B, n, vocab_size) of the decoder, for the token after each token of the target
    Raises:
        ValueError: a text is longer than n_max of its shape.
    """

    def __init__(self, source: TransformerShape, target: TransformerShape) -> None:
        super().__init__()
        self.encoder = Encoder(source)
        self.decoder = Decoder(target, cross=True)

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None, visit: Visit = unchanged) -> Tensor:
        memory = self.encoder(source, real, prefixed("encoder", visit))
        return self.decoder(target, None, memory, real, prefixed("decoder", visit))


# ── intermediate tensors: to read and to edit ─────────────────────────────────────────────────────

Edit = Callable[[Tensor], Tensor]


def prefixed(name: str, visit: Visit) -> Visit:
    """Return a visit that puts a name and a dot before every place, such as `1.` in layer 1."""
    return visit if visit is unchanged else lambda place, tensor: visit(f"{name}.{place}", tensor)


class Places(dict[str, Tensor]):
    """The tensors at all places of one run, by place. An edit changes the tensor that the run continues with.

    places = Places(); model(ids, visit=places); places["1.attention.weights"]
    """

    def __init__(self, edits: Mapping[str, Edit] | None = None) -> None:
        super().__init__()
        self.edits = dict(edits or {})

    def __call__(self, place: str, tensor: Tensor) -> Tensor:
        self[place] = self.edits[place](tensor) if place in self.edits else tensor
        return self[place]

    def layers(self, place: str) -> Tensor:
        """Stack the tensors at one place of all layers: layers("attention.weights") is (B, L, H, n, n_k).

        Layers without the place are left out; a RuntimeError is raised if no layer has it.
        """
        names = (f"{layer}.{place}" for layer in range(len(self)))
        return torch.stack([self[name] for name in names if name in self], dim=1)


def _divide(scores: Tensor, by: float) -> Tensor:
    return scores / by


def handles(
    shape: TransformerShape,
    temperature: float | Sequence[float] = 1.0,
    scaled: bool = True,
    positions: bool = True,
    heads: Tensor | None = None,
) -> dict[str, Edit]:
    """Return the edits that apply the handles of the course's widgets to a model.

    The scores are divided by the temperature; a sequence has one for each layer. If `scaled` is False,
    the division by √d_head is undone, as with a temperature of 1/√d_head. Without positions, zeros are
    added instead. `heads`, bool (L, H), True = on, switches heads off: their output before W_O becomes 0.

    Raises:
        ValueError: a temperature is not above 0, there is not one for each layer, or `heads` does not
            have the shape (L, H).
    """
    each = temperature if isinstance(temperature, Sequence) else [temperature] * shape.n_layers
    if len(each) != shape.n_layers:
        raise ValueError(f"expected {shape.n_layers} temperatures; got {len(each)}")
    if not all(of_layer > 0 for of_layer in each):
        raise ValueError(f"expected a temperature above 0; got {temperature}")
    if heads is not None and heads.shape != (shape.n_layers, shape.n_heads):
        raise ValueError(f"expected heads ({shape.n_layers}, {shape.n_heads}); got {tuple(heads.shape)}")
    undone = 1.0 if scaled else math.sqrt(shape.d_model // shape.n_heads)
    edits: dict[str, Edit] = {}
    for layer, of_layer in enumerate(each):
        edits[f"{layer}.attention.scores"] = partial(_divide, by=of_layer / undone)
        if heads is not None:
            edits[f"{layer}.attention.heads"] = partial(torch.mul, heads[layer, :, None, None])  # (H, 1, 1)
    if not positions:
        edits["positions"] = torch.zeros_like
    return edits


# ── losses and generation ─────────────────────────────────────────────────────────────────────────


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """Return the mean surprise of the next tokens, in nats.

    The mean of −ln p(token t + 1 | tokens ≤ t). The target of the logits at t is the token at
    t + 1; the last position has no target.

    Shapes:
        logits (B, n, vocab)   ids (B, n), n ≥ 2
    Returns:
        0-d
    """
    guesses, targets = logits[:, :-1], ids[:, 1:]
    return surprise(guesses, targets).mean()


def masked_token_loss(logits: Tensor, ids: Tensor, hidden: Tensor) -> Tensor:
    """Return the mean surprise of the hidden tokens for a model that reads in both directions.

    The mean of −ln p(token) over the hidden positions only [Devlin et al., 2019].

    Shapes:
        logits (B, n, vocab)   ids (B, n), the true ones   hidden (B, n) bool, at least one True
    Returns:
        0-d
    """
    return surprise(logits, ids)[hidden].mean()


def surprise(logits: Tensor, targets: Tensor) -> Tensor:
    """Return −ln softmax(logits)[target] for each target, in nats.

    Shapes:
        logits (..., vocab)   targets (...)
    Returns:
        (...)
    """
    return log_sum_exp(logits) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)


class Writer(Protocol):
    """A decoder for generate: it takes ids and caches, and returns logits."""

    def new_caches(self) -> list[KVCache]: ...

    def __call__(self, ids: Tensor, caches: Sequence[KVCache]) -> Tensor: ...


@torch.no_grad()
def generate(
    model: Writer,
    prompt: Sequence[int],
    n_new: int,
    caches: Sequence[KVCache] | None = None,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
    top_k: int | None = None,
) -> list[int]:
    """Continue a prompt by n_new tokens; each token runs through the model once.

    If the caches already hold the start of the prompt, only the other tokens are run. The caches
    are filled with all tokens but the last. At temperature 0, each token is the likeliest one. With
    top_k, only the k likeliest tokens can be drawn.

    Returns:
        the new ids
    Raises:
        ValueError: the caches hold the whole prompt, or it is empty, so there is no token to run;
            the texts reach past n_max; or the temperature is below 0.
    """
    caches = model.new_caches() if caches is None else caches
    ids = list(prompt)
    if caches[0].next_position >= len(ids):
        raise ValueError(f"expected a prompt longer than the {caches[0].next_position} tokens held; got {len(ids)}")
    for _ in range(n_new):
        unseen = ids[caches[0].next_position :]
        logits = model(torch.tensor([unseen]), caches)[0, -1]
        logits = logits if top_k is None else keep_top_k(logits, top_k)
        ids.append(sample_token(logits, temperature, generator))
    return ids[len(prompt) :]


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────


def transformer_parameters(vocab: int, d_model: int, layers: int, d_hidden: int, tied: bool = True) -> int:
    """Count the learned parameters of a transformer, without those of its positions.

    vocab · d for the embedding. A layer: 4 (d² + d) for W_Q, W_K, W_V, W_O and their biases,
    2 · 2d for two norms, 2 d d_hidden + d_hidden + d for the feed-forward network. Then 2d for
    the last norm, and vocab · d once more if the unembedding is not tied to the embedding.
    """
    attention = 4 * (d_model * d_model + d_model)
    norms = 2 * 2 * d_model
    feed_forward = 2 * d_model * d_hidden + d_hidden + d_model
    tables = vocab * d_model * (1 if tied else 2)
    return tables + layers * (attention + norms + feed_forward) + 2 * d_model
