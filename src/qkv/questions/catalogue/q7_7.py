"""7.7: prefill in chunks, with a cache that may hold tokens already."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, causal_mask
from qkv.questions.engine import Case, Draw, Misconception, Provided, Question, by_knob, call, length, method, mistake
from qkv.sandboxed.cases import Step


def prefill_in_chunks(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any, size: int) -> Tensor:
    """Run the tokens of a prompt in chunks of `size`: each token attends to the cache and, causally, to its chunk.

    The keys and values of each chunk are appended to the cache. The last chunk may be shorter.

    Shapes:
        x (B, n, d_model)   w_q, w_k (d_model, d_k)   w_v (d_model, d_v)   cache, of one head: (B, 1, n, d)
    Returns:
        out (B, n, d_v)
    """
    outs = []
    for chunk in x.split(size, dim=1):
        q, k, v = (chunk.unsqueeze(1) @ w for w in (w_q, w_k, w_v))  # (B, 1, size, d)
        keys, values = cache.append(k, v)
        outs.append(attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2]))[0].squeeze(1))
    return torch.cat(outs, dim=1)


class ProvidedCache:
    """The cache that is passed to an answer. It counts the rows of each append, and nothing that is put into its lists
    in another way.

    It is no answer to 7.1, whose caches have no last place. As for 7.2, code can change that.
    """

    places = 200  # twice as many as a case needs, because a wrong answer may append twice

    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self.rows: list[int] = []

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values, and return all so far.

        Raises:
            ValueError: they do not have the four axes (B, 1, n, d), or there is no place for them.
        """
        if k.ndim != 4 or v.ndim != 4:
            raise ValueError(
                f"this cache holds tensors (B, 1, n, d); it was given k {tuple(k.shape)} and v {tuple(v.shape)}"
            )
        if len(self) + k.shape[-2] > self.places:
            raise ValueError(f"this cache has {self.places} places")
        self.keys.append(k)
        self.values.append(v)
        self.rows.append(k.shape[-2])
        return torch.cat(self.keys, dim=-2), torch.cat(self.values, dim=-2)

    def __len__(self) -> int:
        return sum(self.rows)

    def count_appends(self) -> int:
        return len(self.rows)


def draw_prompts(draw: Draw) -> list[Case]:
    """Draw prompts and sizes of chunks, with an empty cache or a filled one; one case limits memory."""

    def case(
        name: str,
        n: int,
        size: int,
        held: int = 0,
        batch: int = 2,
        dtype: torch.dtype = torch.float32,
        **limits: Any,
    ) -> Case:
        s = draw.sizes("d_model", "d_k", "d_v") | {"B": batch, "n": n, "size": size}
        weights = [
            draw.normal(s["d_model"], s[d], dtype=dtype, scale=s["d_model"] ** -0.5) for d in ("d_k", "d_k", "d_v")
        ]
        cache = Provided(ProvidedCache)
        steps: list[Step] = []
        if held:
            k, v = (draw.normal(batch, 1, held, s[d], dtype=dtype) for d in ("d_k", "d_v"))
            steps.append(method("append", k, v, on=cache))
        steps += [call(draw.normal(batch, n, s["d_model"], dtype=dtype), *weights, cache, size), length(on=cache)]
        return Case((*steps, method("count_appends", on=cache)), name, s, **limits)

    return [
        case("plain", 12, 4, batch=3),
        case("a cache that holds tokens", 6, 3, held=draw.whole(4, 5)),
        case("a shorter last chunk, with a cache that holds tokens", 11, 4, held=2),
        case("float64", 7, 3, held=1, batch=1, dtype=torch.float64),
        case("chunks of one token, with a cache that holds tokens", 5, 1, held=2),
        case("one chunk, and an empty cache", 5, 5),
        case("one chunk larger than the prompt, with a cache that holds tokens", 3, 8, held=4),
        case("a long prompt", 96, 4, batch=1, max_elements=4000, gradients=False),
    ]


KV = tuple[Tensor, Tensor]
Seen = Callable[[int, int, int, int], Tensor]  # (queries, keys, new tokens before the chunk, size) -> mask


def ends_at_the_last_key(n_q: int, n_k: int, before: int, size: int) -> Tensor:
    return causal_mask(n_q, n_k)


def triangle(diagonal: Callable[[int, int, int, int], int]) -> Seen:
    """Return a mask whose last visible key for query i is key i + `diagonal(…)`."""
    return lambda n_q, n_k, before, size: torch.ones(n_q, n_k, dtype=torch.bool).tril(diagonal(n_q, n_k, before, size))


def chunk_alone(n_q: int, n_k: int, before: int, size: int) -> Tensor:
    return causal_mask(n_q, n_k) & (torch.arange(n_k) >= n_k - n_q)


def first_row_blind(scores: Tensor, mask: Tensor) -> Tensor:
    """Mask with a large negative number, so that a query that sees nothing averages instead of NaN."""
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def split_evenly(x: Tensor, size: int) -> list[Tensor]:
    return [x[:, start : start + size] for start in range(0, x.shape[1], size)]


def prefill_variant(
    split: Callable[[Tensor, int], list[Tensor]] = split_evenly,
    store: Callable[[Any, Tensor, Tensor], KV] = lambda cache, k, v: cache.append(k, v),
    seen: Seen = ends_at_the_last_key,
    scale: Callable[[int], float] = math.sqrt,
    weigh: Callable[[Tensor, Tensor], Tensor] = first_row_blind,
    join: Callable[[list[Tensor]], Any] = lambda outs: torch.cat(outs, dim=1),
) -> Callable[..., Any]:
    """Return an answer(x, w_q, w_k, w_v, cache, size); each argument replaces one of its steps.

    By default it is right. `split` makes the chunks, `store` appends to the cache, `seen` is the mask, `weigh` makes
    weights of scores and mask, and `join` makes one output of those of the chunks.
    """

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any, size: int) -> Any:
        outs, before = [], 0
        for chunk in split(x, size):
            q, k, v = (chunk.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
            keys, values = store(cache, k, v)
            mask = seen(q.shape[-2], keys.shape[-2], before, size)
            outs.append((weigh(q @ keys.mT / scale(q.shape[-1]), mask) @ values).squeeze(1))
            before += q.shape[-2]
        return join(outs)

    return variant


def appended_at_the_end(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any, size: int) -> Tensor:
    """Return the right output, but project everything at once, append in chunks, and attend in one step at the end.

    So it needs as much memory as without chunks.
    """
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    for chunk_k, chunk_v in zip(k.split(size, dim=2), v.split(size, dim=2), strict=True):
        keys, values = cache.append(chunk_k, chunk_v)
    return attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2]))[0].squeeze(1)


def full_chunks_only(rest_is_zero: bool) -> Callable[..., Tensor]:
    """Return an answer that runs the full chunks alone; the other rows of its output are zeros, or left out."""

    def answer(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any, size: int) -> Tensor:
        full = x.shape[1] // size * size
        out = prefill_in_chunks(x[:, :full], w_q, w_k, w_v, cache, size) if full else x[:, :0] @ w_v
        return torch.cat([out, 0 * x[:, full:] @ w_v], dim=1) if rest_is_zero else out

    return answer


masked = by_knob("seen")
scaled = by_knob("scale")
cut = by_knob("split")
joined = by_knob("join", alone=True)

QUESTION = Question(
    points=4,
    inputs=("x", "w_q", "w_k", "w_v", "cache", "size"),
    outputs=("out (B, n, d_v)",),
    draw=draw_prompts,
    reference=prefill_in_chunks,
    variant=prefill_variant,
    gradients=True,
    misconceptions=(
        masked("mask-from-the-first-key", triangle(lambda n_q, n_k, before, size: 0)),
        masked("held-tokens-not-counted", triangle(lambda n_q, n_k, before, size: before)),
        masked("last-chunk-counted-full", triangle(lambda n_q, n_k, before, size: n_k - size)),
        masked("sees-its-whole-chunk", triangle(lambda n_q, n_k, before, size: n_k)),
        masked("sees-one-ahead", triangle(lambda n_q, n_k, before, size: n_k - n_q + 1)),
        masked("cannot-see-itself", triangle(lambda n_q, n_k, before, size: n_k - n_q - 1)),
        masked("chunk-alone", chunk_alone),
        masked("earlier-chunks-only", lambda n_q, n_k, before, size: (torch.arange(n_k) < n_k - n_q).expand(n_q, -1)),
        by_knob("weigh")("late-mask", lambda scores, mask: scores.softmax(-1) * mask),
        Misconception("not-appended", knobs={"store": lambda cache, k, v: (k, v)}),
        cut("whole-prompt-at-once", lambda x, size: [x]),
        cut("one-token-at-a-time", lambda x, size: list(x.split(1, dim=1))),
        cut("size-counts-chunks", lambda x, size: list(x.chunk(size, dim=1))),
        Misconception(
            "last-chunk-lost",
            twins=tuple(map(full_chunks_only, (True, False))),
            knob_sets=(
                {"split": lambda x, size: split_evenly(x, size)[: max(1, x.shape[1] // size)]},
                {"split": lambda x, size: split_evenly(x, size)[: x.shape[1] // size]},
            ),
        ),
        mistake("computed-at-once", appended_at_the_end),
        scaled("no-scale", lambda d: 1.0),
        scaled("scaled-by-d-k", lambda d: d),
        joined("last-chunk-only", lambda outs: outs[-1]),
        joined("chunks-not-joined", lambda outs: outs),
        joined("joined-along-the-batch", lambda outs: torch.cat(outs, dim=0)),
        mistake("head-axis-left", prefill_variant(join=lambda outs: torch.cat(outs, dim=1).unsqueeze(1))),
    ),
)
