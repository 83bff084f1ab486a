"""7.6: a test that catches a stale cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Draw, Question
from qkv.questions.shared import implementations
from qkv.questions.shared.catching import catches_stale_cache
from qkv.words import mark, t

VOCAB, MAX_TOKENS, WIDTH = 5, 32, 8
Rows = tuple[Tensor, Tensor]  # keys and values, a row for each token


@dataclass(frozen=True)
class Weights:
    """The weights of a causal model with a few layers and without feed-forward networks.

    Attributes:
        table, positions: embeddings of ids (VOCAB, WIDTH) and of positions (MAX_TOKENS, WIDTH), which are added
        layers: for each layer the matrices w_q, w_k, w_v and w_o, (4, WIDTH, WIDTH)
        head: the output head, (WIDTH, VOCAB)
        late: the number of tokens after which a mistake begins that shows late
    """

    table: Tensor
    positions: Tensor
    layers: tuple[Tensor, ...]
    head: Tensor
    late: int


def draw_weights(seed: int, layers: int) -> Weights:
    """Draw the weights of a hidden decoder with so many layers: the same ones for the same seed."""
    draw = Draw(seed)
    return Weights(
        draw.normal(VOCAB, WIDTH),
        draw.normal(MAX_TOKENS, WIDTH),
        tuple(draw.normal(4, WIDTH, WIDTH, scale=0.8 * WIDTH**-0.5) for _ in range(layers)),
        draw.normal(WIDTH, VOCAB),
        draw.whole(9, 18),
    )


def parse_ids(ids: Any) -> list[int]:
    """Return the ids of a text, a tensor (n,) or a list, as a list.

    Raises:
        ValueError: they are no ids, or too many.
    """
    fits = ids.ndim == 1 if isinstance(ids, Tensor) else isinstance(ids, (list, tuple))
    if not fits or not 1 <= len(ids) <= MAX_TOKENS or isinstance(ids[0], list):
        raise ValueError(t("ids are a tensor (n,) or a list of 1 to {most} whole numbers", most=MAX_TOKENS))
    return [parse_id(id) for id in (ids.tolist() if isinstance(ids, Tensor) else ids)]


def parse_id(id: Any) -> int:
    """Return an id as an int.

    Raises:
        ValueError: it is no id of the vocabulary.
    """
    found = id.item() if isinstance(id, Tensor) and id.numel() == 1 else id
    if type(found) is not int or not 0 <= found < VOCAB:
        raise ValueError(t("an id is a whole number from 0 to {most}", most=VOCAB - 1))
    return found


class Decoder:
    """A right decoder, which caches the keys and values of each layer. Each mistake replaces one method."""

    layers = 1

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.ids: list[int] = []
        self.rows: list[Rows] = [(torch.zeros(0, WIDTH), torch.zeros(0, WIDTH)) for _ in weights.layers]

    def full(self, ids: Any) -> Tensor:
        """Return the logits (n, VOCAB) of all tokens, computed at once. The cache is neither used nor changed.

        Raises:
            ValueError: they are no ids, or too many.
        """
        w, found = self.weights, parse_ids(ids)
        n = len(found)
        x = w.table[found] + w.positions[:n]
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        for w_q, w_k, w_v, w_o in w.layers:
            scores = (x @ w_q) @ (x @ w_k).mT / WIDTH**0.5
            x = x + scores.masked_fill(later, -torch.inf).softmax(-1) @ (x @ w_v) @ w_o
        return x @ w.head

    def step(self, id: Any) -> Tensor:
        """Return the logits (VOCAB,) of one more token, computed with the cache, which then holds it.

        Raises:
            ValueError: it is no id, or the cache is full.
        """
        found = parse_id(id)
        if len(self.ids) == MAX_TOKENS:
            raise ValueError(
                t(
                    "this decoder has taken {most} steps, and a text has at most {most} tokens: make one for each text",
                    most=MAX_TOKENS,
                )
            )
        self.ids.append(found)
        return self.logits(found)

    def logits(self, id: int) -> Tensor:
        """Return the logits (VOCAB,) of the token after this one, whose keys and values are added to the cache."""
        w = self.weights
        x = w.table[id] + w.positions[self.position()]
        for i, (w_q, w_k, w_v, w_o) in enumerate(w.layers):
            keys, values = self.update_cache(i, self.key_input(x) @ w_k, x @ w_v)
            x = x + (keys @ (x @ w_q) / WIDTH**0.5).softmax(-1) @ values @ w_o
        return x @ w.head

    def position(self) -> int:
        return len(self.ids) - 1

    def key_input(self, x: Tensor) -> Tensor:
        """Return the vector from which the key is computed."""
        return x

    def update_cache(self, i: int, k: Tensor, v: Tensor) -> Rows:
        """Add k and v, (d,), to the cache of layer i, and return the rows that the token attends to, (n, d) each."""
        self.rows[i] = tuple(torch.cat([old, new[None]]) for old, new in zip(self.rows[i], (k, v), strict=True))  # type: ignore[assignment]
        return self.rows[i]


def changed(**methods: Callable[..., Any]) -> type[Decoder]:
    """Return a subclass of Decoder with these methods in place of its own."""
    return type("Decoder", (Decoder,), methods)


# ── right implementations ─────────────────────────────────────────────────────────────────────────


class ReservedMemory(Decoder):
    """A decoder that allocates memory for MAX_TOKENS tokens at the start."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self.rows = [(torch.zeros(MAX_TOKENS, WIDTH), torch.zeros(MAX_TOKENS, WIDTH)) for _ in weights.layers]

    def update_cache(self, i: int, k: Tensor, v: Tensor) -> Rows:
        """Write the newest token's key and value of layer i into reserved memory.

        Return all keys and values of this layer so far, (n, d) each.
        """
        n = len(self.ids)
        for rows, row in zip(self.rows[i], (k, v), strict=True):
            rows[n - 1] = row
        return self.rows[i][0][:n], self.rows[i][1][:n]


def newest_first(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = decoder.rows[i]
    decoder.rows[i] = torch.cat([k[None], keys]), torch.cat([v[None], values])
    return decoder.rows[i]


def rounded_differently(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = Decoder.update_cache(decoder, i, k, v)
    return keys.double().float(), (values.double() * 3).float() / 3


RIGHT: dict[str, type[Decoder]] = {
    mark("a cache that grows"): Decoder,
    mark("room for all tokens from the start"): ReservedMemory,
    mark("no cache, all is computed again"): changed(logits=lambda decoder, id: decoder.full(decoder.ids)[-1]),
    mark("the newest token first"): changed(update_cache=newest_first),
    mark("rounds differently"): changed(update_cache=rounded_differently),
}

# ── wrong implementations ─────────────────────────────────────────────────────────────────────────


def without_itself(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    before = decoder.rows[i]
    after = Decoder.update_cache(decoder, i, k, v)
    return before if len(before[0]) else after


def without_first(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = Decoder.update_cache(decoder, i, k, v)
    return (keys[1:], values[1:]) if len(keys) > 1 else (keys, values)


class OneCacheForAllLayers(Decoder):
    layers = 2

    def update_cache(self, i: int, k: Tensor, v: Tensor) -> Rows:
        return super().update_cache(0, k, v)


class OneRowForEachID(Decoder):
    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self.known: list[dict[int, Rows]] = [{} for _ in weights.layers]

    def update_cache(self, i: int, k: Tensor, v: Tensor) -> Rows:
        self.known[i][self.ids[-1]] = k, v
        return tuple(torch.stack(rows) for rows in zip(*self.known[i].values(), strict=True))  # type: ignore[return-value]


def first_id_for_every_key(decoder: Decoder, x: Tensor) -> Tensor:
    table = decoder.weights.table
    return x - table[decoder.ids[-1]] + table[decoder.ids[0]]


def no_attention_at_first(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    """Cache the first token's row but do not attend to it, so that only the first logits are wrong."""
    keys, values = Decoder.update_cache(decoder, i, k, v)
    return (keys, values) if len(keys) > 1 else (keys, torch.zeros_like(values))


def latest_only(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = Decoder.update_cache(decoder, i, k, v)
    return keys[-decoder.weights.late :], values[-decoder.weights.late :]


def stopped_when_full(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    return Decoder.update_cache(decoder, i, k, v) if len(decoder.ids) <= decoder.weights.late else decoder.rows[i]


WRONG: dict[str, type[Decoder]] = {
    # The likeliest id is always right: only a test that compares logits finds it.
    mark("halves the logits of each step"): changed(logits=lambda decoder, id: Decoder.logits(decoder, id) / 2),
    mark("keeps the last token alone"): changed(update_cache=lambda decoder, i, k, v: (k[None], v[None])),
    mark("leaves the new token out"): changed(update_cache=without_itself),
    mark("drops the first token"): changed(update_cache=without_first),
    mark("starts at position 0 at every step"): changed(position=lambda decoder: 0),
    mark("counts positions from 1"): changed(position=lambda decoder: min(len(decoder.ids), MAX_TOKENS - 1)),
    mark("computes keys without positions"): changed(
        key_input=lambda decoder, x: x - decoder.weights.positions[decoder.position()]
    ),
    mark("takes the first id for every key"): changed(key_input=first_id_for_every_key),
    mark("has one cache for two layers"): OneCacheForAllLayers,
    mark("keeps one row for each id"): OneRowForEachID,
    mark("skips attention while the cache is empty"): changed(update_cache=no_attention_at_first),
    mark("keeps the latest tokens alone"): changed(update_cache=latest_only),
    mark("stops keeping when it is full"): changed(update_cache=stopped_when_full),
    mark("stops counting positions"): changed(position=lambda decoder: min(len(decoder.ids), decoder.weights.late) - 1),
}


def decoder_maker(kind: type[Decoder], wrong: bool) -> Callable[[int], Any]:
    """Return a function that draws weights from a seed, and returns a function that makes decoders with them.

    It does the same for right and wrong kinds.
    """

    def of_seed(seed: int) -> Callable[[], Decoder]:
        weights = draw_weights(seed, kind.layers)

        def make_decoder() -> Decoder:
            return kind(weights)

        make_decoder.__qualname__ = "make_decoder"
        return make_decoder

    return of_seed


IMPLEMENTATIONS = implementations.list_implementations(RIGHT, WRONG, decoder_maker)


QUESTION = Question(
    points=3,
    inputs=("make_decoder",),
    outputs=("verdict",),
    draw=lambda draw: implementations.draw_implementations(draw, IMPLEMENTATIONS, methods=("full", "step")),
    reference=catches_stale_cache,
    judged_by=implementations.perfect_test(IMPLEMENTATIONS),
    of_implementations=True,
    quotes={"which": implementations.implementation_name},
    misconceptions=implementations.mistakes_of_tests(IMPLEMENTATIONS),
)
