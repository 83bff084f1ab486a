"""12.2: the whole writer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, InModel, Misconception, Provided, Question, by_knob, call, length, method
from qkv.questions.shared.writing import HeldCache, Weights, block, draw_writer, part, provided, writer
from qkv.transformer import layer_norm

Embed = Callable[[Tensor, Weights, int], Tensor]  # (ids, w, start) -> x
Blocks = Callable[[int], list[int]]  # (number of layers) -> the blocks that run, in order
Choose = Callable[[Any, int], Any]  # (caches, layer) -> the cache of this layer


def draw_writers(draw: Draw) -> list[Case]:
    """Draw whole writers, with and without caches."""

    def case(
        name: str,
        *counts: int,
        dtype: torch.dtype = torch.float32,
        cached: bool = False,
        held_before: int = 0,
        **fixed: int,
    ) -> Case:
        """Draw a writer, and texts that reach it in pieces of these lengths; without any, in one piece."""
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=7, **fixed)
        s["L"] = fixed.get("L", 2)
        s["d_head"] += 2  # a norm of very few features may blow up rounding errors
        s |= {"d_model": s["H"] * s["d_head"], "vocab": draw.whole(31, 39), "d_hidden": draw.whole(22, 30)}
        s["n_max"] = held_before + max(s["n"], sum(counts)) + fixed.get("more", 2)
        w = provided(draw_writer(draw, s, dtype))
        held = [Provided(HeldCache) for _ in range(s["L"])]
        steps = []
        if held_before:
            steps += [
                method("append", *(draw.normal(s["B"], s["H"], held_before, s["d_head"]) for _ in "kv"), on=cache)
                for cache in held
            ]
        for n in counts or (s["n"],):
            ids = draw.ids(s["B"], n, below=s["vocab"])
            steps.append(call(ids, w, s["H"], held) if cached else call(ids, w, s["H"]))
        return Case((*steps, length(on=held[-1])) if cached else steps[0], name, s)

    return [
        case("plain"),
        case("plain", H=3),
        case("one text", B=1),
        case("one token", n=1),
        case("one layer", L=1),
        case("three layers", L=3),
        case("as long as the table of positions", more=0),
        case("float64", dtype=torch.float64, d_head=4),
        case("four tokens, with empty caches", 4, cached=True, n=4),
        case("one layer with a cache: four tokens, then one", 4, 1, cached=True, n=4, L=1),
        case("with caches: three tokens, then one, then one", 3, 1, 1, cached=True, n=3),
        case("three layers with caches: two tokens, then three", 2, 3, cached=True, n=2, L=3),
        case("two tokens, with caches that hold four", 2, cached=True, held_before=4, n=2),
    ]


# ── an answer whose steps can be replaced ─────────────────────────────────────────────────────────


def embed(ids: Tensor, w: Weights, start: int) -> Tensor:
    return w["embedding.tokens.weight"][ids] + w["embedding.positions.table"][start : start + ids.shape[-1]]


def positions_from_zero(ids: Tensor, w: Weights, start: int) -> Tensor:
    return embed(ids, w, 0)


def positions_forgotten(ids: Tensor, w: Weights, start: int) -> Tensor:
    return w["embedding.tokens.weight"][ids]


def one_too_early(ids: Tensor, w: Weights, start: int) -> Tensor:
    return embed(ids, w, max(0, start - 1))


def one_too_late(ids: Tensor, w: Weights, start: int) -> Tensor:
    return positions_from_one(ids, w, start) if start else embed(ids, w, 0)


def one_position_for_all(ids: Tensor, w: Weights, start: int) -> Tensor:
    return w["embedding.tokens.weight"][ids] + w["embedding.positions.table"][start]


def positions_from_one(ids: Tensor, w: Weights, start: int) -> Tensor:
    table = w["embedding.positions.table"]
    places = torch.arange(start + 1, start + 1 + ids.shape[-1]).clamp(max=len(table) - 1)
    return w["embedding.tokens.weight"][ids] + table[places]


def embedding_scaled(ids: Tensor, w: Weights, start: int) -> Tensor:
    tokens = w["embedding.tokens.weight"]
    return tokens[ids] * tokens.shape[-1] ** 0.5 + w["embedding.positions.table"][start : start + ids.shape[-1]]


def last_norm(x: Tensor, w: Weights) -> Tensor:
    return layer_norm(x, w["stack.norm.weight"], w["stack.norm.bias"])


def writer_variant(
    embed: Embed = embed,
    held: Callable[[Any], int] = lambda caches: len(caches[0]),
    blocks: Blocks = lambda n: list(range(n)),
    choose: Choose = lambda caches, layer: caches[layer],
    stream: Callable[[Tensor, Tensor], Tensor] = lambda x, embedded: x,
    norm: Callable[[Tensor, Weights], Tensor] = last_norm,
    unembedding: str = "unembedding.weight",
    after: Callable[[Tensor], Tensor] = lambda logits: logits,
    result: Callable[[Tensor, list[Tensor]], Any] = lambda logits, found: (logits, torch.stack(found)),
) -> Callable[..., Any]:
    """Return an answer(ids, w, n_heads, caches); each argument replaces one of its steps.

    By default it is right. `held` is the number of earlier tokens, `choose` gives a layer its cache, `stream` a block
    its input, `unembedding` names the last matrix, `after` changes the logits, and `result` is what is returned.
    """

    def variant(ids: Tensor, w: Weights, n_heads: int, caches: Any = None) -> Any:
        n_layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
        x = embedded = embed(ids, w, held(caches) if caches else 0)
        found = []
        for layer in blocks(n_layers):
            cache = choose(caches, layer) if caches else None
            x, weights = block(stream(x, embedded), part(w, f"stack.blocks.{layer}"), n_heads, cache)
            found.append(weights)
        return result(after(norm(x, w) @ w[unembedding].mT), found)

    return variant


def next_ids(answer: Callable[..., Any], ids: Tensor, w: Weights, n_heads: int) -> Tensor:
    return answer(ids, w, n_heads)[0][:, -1].argmax(-1)


embedded = by_knob("embed")
run_through = by_knob("blocks")
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=5,
    inputs=("ids", "w", "n_heads", "caches"),
    outputs=("logits (B, n, vocab)", "weights (L, B, H, n, n_k)"),
    draw=draw_writers,
    reference=writer,
    variant=writer_variant,
    row_sums={"weights": 1.0},
    in_model=InModel("writer", next_ids=next_ids),
    misconceptions=(
        embedded("positions-from-zero", positions_from_zero),
        embedded("positions-forgotten", positions_forgotten),
        embedded("positions-from-one", positions_from_one),
        embedded("positions-off-by-one-with-caches", one_too_early, one_too_late),
        by_knob("held")("caches-counted", len),
        embedded("one-position-for-all", one_position_for_all),
        embedded("embedding-scaled", embedding_scaled),
        run_through("two-layers-taken-for-granted", lambda n: list(range(min(n, 2))), lambda n: [0, 1]),
        run_through("more-layers-than-there-are", lambda n: [0, 1, 2], lambda n: [0, 1, 2, 3], alone=True),
        run_through("last-layer-left-out", lambda n: list(range(max(1, n - 1)))),
        run_through("one-block-for-all", lambda n: [0] * n),
        run_through("blocks-from-the-last", lambda n: list(range(n))[::-1]),
        Misconception("blocks-side-by-side", knobs={"stream": lambda x, embedded: embedded}),
        by_knob("choose")("one-cache-for-all-layers", lambda caches, layer: caches[0]),
        by_knob("choose")("empty-caches-taken-for-none", lambda caches, layer: caches[layer] or None),
        by_knob("choose")("caches-not-handed-on", lambda caches, layer: None),
        by_knob("choose")("cache-for-the-first-layer-only", lambda caches, layer: caches[0] if layer == 0 else None),
        by_knob("norm")("last-norm-forgotten", lambda x, w: x),
        by_knob("unembedding")("embedding-for-unembedding", "embedding.tokens.weight"),
        by_knob("after")("probabilities-returned", lambda logits: logits.softmax(-1), lambda z: z.log_softmax(-1)),
        returned("logits-of-the-last-token-only", lambda logits, found: (logits[:, -1], torch.stack(found))),
        returned("weights-of-the-last-layer-only", lambda logits, found: (logits, found[-1])),
        returned("weights-in-a-list", lambda logits, found: (logits, found)),
        returned("layers-behind-the-batch", lambda logits, found: (logits, torch.stack(found, dim=1))),
        returned("weights-not-returned", lambda logits, found: logits),
    ),
)
