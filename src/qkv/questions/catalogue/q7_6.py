"""7.6: a test that catches a stale cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.catching import catches_stale_cache
from qkv.questions.engine import Draw, Question
from qkv.questions.shared import implementations

VOCAB, MOST, WIDTH = 5, 32, 8
Rows = tuple[Tensor, Tensor]  # keys and values, a row for each token


@dataclass(frozen=True)
class Weights:
    """A causal model of a few layers without feed-forward networks.

    Attributes:
        table, positions: rows (VOCAB, WIDTH) and (MOST, WIDTH), added at the bottom
        layers: the matrices of queries, keys, values and outputs of each, (4, WIDTH, WIDTH)
        head: (WIDTH, VOCAB)
        late: where mistakes that show late begin
    """

    table: Tensor
    positions: Tensor
    layers: tuple[Tensor, ...]
    head: Tensor
    late: int


def weights_of(seed: int, layers: int) -> Weights:
    draw = Draw(seed)
    return Weights(
        draw.normal(VOCAB, WIDTH),
        draw.normal(MOST, WIDTH),
        tuple(draw.normal(4, WIDTH, WIDTH, scale=0.8 * WIDTH**-0.5) for _ in range(layers)),
        draw.normal(WIDTH, VOCAB),
        draw.whole(9, 18),
    )


def read(ids: Any) -> list[int]:
    """The ids of a text, refused where they are none, or too many."""
    found = ids.tolist() if isinstance(ids, Tensor) else ids
    if not isinstance(found, (list, tuple)) or not 1 <= len(found) <= MOST or isinstance(found[0], list):
        raise ValueError(f"ids are a tensor (n,) or a list of 1 to {MOST} whole numbers")
    return [read_one(id) for id in found]


def read_one(id: Any) -> int:
    found = id.item() if isinstance(id, Tensor) and id.numel() == 1 else id
    if type(found) is not int or not 0 <= found < VOCAB:
        raise ValueError(f"an id is a whole number from 0 to {VOCAB - 1}")
    return found


class Decoder:
    """Right: it keeps the keys and values of each layer. Each mistake changes one method."""

    layers = 1

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.ids: list[int] = []
        self.rows: list[Rows] = [(torch.zeros(0, WIDTH), torch.zeros(0, WIDTH)) for _ in weights.layers]

    def full(self, ids: Any) -> Tensor:
        """Logits (n, VOCAB) of all tokens, computed at once."""
        w, found = self.weights, read(ids)
        n = len(found)
        x = w.table[found] + w.positions[:n]
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        for w_q, w_k, w_v, w_o in w.layers:
            scores = (x @ w_q) @ (x @ w_k).mT / WIDTH**0.5
            x = x + scores.masked_fill(later, -torch.inf).softmax(-1) @ (x @ w_v) @ w_o
        return x @ w.head

    def step(self, id: Any) -> Tensor:
        """Logits (VOCAB,) of one more token."""
        found = read_one(id)
        if len(self.ids) == MOST:
            raise ValueError(
                f"this decoder has taken {MOST} steps, and a text has at most {MOST} tokens: make one for each text"
            )
        self.ids.append(found)
        return self.logits(found)

    def logits(self, id: int) -> Tensor:
        w = self.weights
        x = w.table[id] + w.positions[self.position()]
        for i, (w_q, w_k, w_v, w_o) in enumerate(w.layers):
            keys, values = self.keep(i, self.keyed(x) @ w_k, x @ w_v)
            x = x + (keys @ (x @ w_q) / WIDTH**0.5).softmax(-1) @ values @ w_o
        return x @ w.head

    def position(self) -> int:
        return len(self.ids) - 1

    def keyed(self, x: Tensor) -> Tensor:
        """What keys are computed from."""
        return x

    def keep(self, i: int, k: Tensor, v: Tensor) -> Rows:
        """Add a row to what layer i keeps; give the rows that are attended to."""
        self.rows[i] = tuple(torch.cat([old, new[None]]) for old, new in zip(self.rows[i], (k, v), strict=True))  # type: ignore[assignment]
        return self.rows[i]


def changed(**methods: Callable[..., Any]) -> type[Decoder]:
    """Give a decoder with these methods in place of its own."""
    return type("Decoder", (Decoder,), methods)


# ── right ones ────────────────────────────────────────────────────────────────────────────────────


class Reserved(Decoder):
    """Room for all tokens from the start."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self.rows = [(torch.zeros(MOST, WIDTH), torch.zeros(MOST, WIDTH)) for _ in weights.layers]

    def keep(self, i: int, k: Tensor, v: Tensor) -> Rows:
        n = len(self.ids)
        for rows, row in zip(self.rows[i], (k, v), strict=True):
            rows[n - 1] = row
        return self.rows[i][0][:n], self.rows[i][1][:n]


def newest_first(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = decoder.rows[i]
    decoder.rows[i] = torch.cat([k[None], keys]), torch.cat([v[None], values])
    return decoder.rows[i]


def by_way_of_double(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = Decoder.keep(decoder, i, k, v)
    return keys.double().float(), (values.double() * 3).float() / 3


RIGHT: dict[str, type[Decoder]] = {
    "a cache that grows": Decoder,
    "room for all tokens from the start": Reserved,
    "no cache, all is computed again": changed(logits=lambda decoder, id: decoder.full(decoder.ids)[-1]),
    "the newest token first": changed(keep=newest_first),
    "rounds otherwise": changed(keep=by_way_of_double),
}

# ── wrong ones ────────────────────────────────────────────────────────────────────────────────────


def without_itself(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    before = decoder.rows[i]
    after = Decoder.keep(decoder, i, k, v)
    return before if len(before[0]) else after


def without_first(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = Decoder.keep(decoder, i, k, v)
    return (keys[1:], values[1:]) if len(keys) > 1 else (keys, values)


class OneCache(Decoder):
    layers = 2

    def keep(self, i: int, k: Tensor, v: Tensor) -> Rows:
        return super().keep(0, k, v)


class ByID(Decoder):
    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self.known: list[dict[int, Rows]] = [{} for _ in weights.layers]

    def keep(self, i: int, k: Tensor, v: Tensor) -> Rows:
        self.known[i][self.ids[-1]] = k, v
        return tuple(torch.stack(rows) for rows in zip(*self.known[i].values(), strict=True))  # type: ignore[return-value]


def nothing_at_first(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    """Wrong for the first token alone: its row is kept, and not attended to."""
    keys, values = Decoder.keep(decoder, i, k, v)
    return (keys, values) if len(keys) > 1 else (keys, torch.zeros_like(values))


def latest(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    keys, values = Decoder.keep(decoder, i, k, v)
    return keys[-decoder.weights.late :], values[-decoder.weights.late :]


def until_full(decoder: Decoder, i: int, k: Tensor, v: Tensor) -> Rows:
    return Decoder.keep(decoder, i, k, v) if len(decoder.ids) <= decoder.weights.late else decoder.rows[i]


WRONG: dict[str, type[Decoder]] = {
    "keeps the last token alone": changed(keep=lambda decoder, i, k, v: (k[None], v[None])),
    "leaves the new token out": changed(keep=without_itself),
    "drops the first token": changed(keep=without_first),
    "starts at position 0 at every step": changed(position=lambda decoder: 0),
    "counts positions from 1": changed(position=lambda decoder: min(len(decoder.ids), MOST - 1)),
    "computes keys without positions": changed(
        keyed=lambda decoder, x: x - decoder.weights.positions[decoder.position()]
    ),
    "has one cache for two layers": OneCache,
    "keeps one row for each id": ByID,
    "skips attention while the cache is empty": changed(keep=nothing_at_first),
    "keeps the latest tokens alone": changed(keep=latest),
    "stops keeping when it is full": changed(keep=until_full),
    "stops counting positions": changed(position=lambda decoder: min(len(decoder.ids), decoder.weights.late) - 1),
}


def maker(kind: type[Decoder], wrong: bool) -> Callable[[int], Any]:
    """Give a function that draws weights from a seed, and returns a function that makes decoders with them."""

    def of_seed(seed: int) -> Callable[[], Decoder]:
        weights = weights_of(seed, kind.layers)

        def make_decoder() -> Decoder:
            return kind(weights)

        make_decoder.__qualname__ = "make_decoder"
        return make_decoder

    return of_seed


EVERY = implementations.listed(RIGHT, WRONG, maker)


QUESTION = Question(
    points=3,
    inputs=("make_decoder",),
    outputs=("verdict",),
    draw=lambda draw: implementations.draw_implementations(draw, EVERY, methods=("full", "step")),
    reference=catches_stale_cache,
    judged_by=implementations.known_of(EVERY),
    of_implementations=True,
    quotes={"which": implementations.which},
    misconceptions=implementations.ideas_of_tests(EVERY),
)
