"""7.2: one step of decoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention
from qkv.cache import decode_step
from qkv.questions.engine import (
    Case,
    Draw,
    InModel,
    Misconception,
    Provided,
    Question,
    by_knob,
    call,
    length,
    method,
    mistake,
)
from qkv.questions.engine.in_model import At, ModelRun, head_matrices, with_ones
from qkv.questions.shared.attending import WEIGHTS, softmax_over_keys
from qkv.questions.shared.projecting import (
    ROLES,
    WRONG_PRODUCTS,
    Project,
    Roles,
    assigned,
    product,
    projections_by,
    right_roles,
)
from qkv.questions.shared.scales import SQUARE
from qkv.sandboxed.cases import Step
from qkv.transformer import Edit

KV = tuple[Tensor, Tensor]  # keys and values


class ProvidedCache:
    """The cache that is passed to an answer: a place for each position, the next of which one token takes.

    It is no answer to 7.1, whose caches take any number of positions at a time and have no last place. Code can change
    that, so the grader asks 7.1 again in a run without this cache if it was checked after it.
    """

    places = 24  # twice as many as a case needs, because a wrong answer may append twice

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.taken = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write new keys and values into the reserved places, and return all so far.

        The first append may bring several positions, each later one brings one. Behind the last place, nothing is kept.

        Shapes:
            k, v (B, 1, new positions, d); the results (B, 1, positions so far, d)
        Raises:
            ValueError: k or v does not have four axes.
        """
        if k.ndim != 4 or v.ndim != 4:
            raise ValueError(
                f"this cache holds tensors (B, 1, n, d); it was given k {tuple(k.shape)} and v {tuple(v.shape)}"
            )
        if self.keys is None or self.values is None:
            end = (0, 0, 0, self.places - k.shape[-2])
            self.keys, self.values = torch.nn.functional.pad(k, end), torch.nn.functional.pad(v, end)
            self.taken = k.shape[-2]
        else:
            place = torch.arange(self.places)[:, None] == self.taken
            self.keys, self.values = torch.where(place, k, self.keys), torch.where(place, v, self.values)
            self.taken += 1
        return self.keys[..., : self.taken, :], self.values[..., : self.taken, :]

    def __len__(self) -> int:
        return self.taken


def draw_steps(draw: Draw) -> list[Case]:
    """Draw a cache with a few tokens or none, and new tokens one after the other."""

    def case(
        name: str, n_held: int, n_steps: int, dtype: torch.dtype = torch.float32, batch: int | None = None, **fixed: int
    ) -> Case:
        fixed = {"d_k": SQUARE} | fixed if dtype == torch.float64 else fixed
        s = draw.sizes("d_model", "d_k", "d_v", **fixed)
        s["B"] = draw.choose((2, 3)) if batch is None else batch
        weights = [
            draw.normal(s["d_model"], s[d], dtype=dtype, scale=s["d_model"] ** -0.5) for d in ("d_k", "d_k", "d_v")
        ]
        held = Provided(ProvidedCache)
        steps: list[Step] = []
        if n_held:
            k, v = (draw.normal(s["B"], 1, n_held, s[d], dtype=dtype) for d in ("d_k", "d_v"))
            steps.append(method("append", k, v, on=held))
        for _ in range(n_steps):
            x_t = draw.normal(s["B"], 1, s["d_model"], dtype=dtype)
            steps += [call(x_t, *weights, held), length(on=held)]
        return Case(tuple(steps), name, s)

    same = draw.choose((5, 6, 7))
    return [
        case("plain", draw.choose((4, 6, 8)), 1),
        case("plain", draw.choose((3, 5)), 3),
        case("an empty cache", 0, 4),
        case("float64", 5, 2, torch.float64),
        case("one example", 4, 2, batch=1),
        case("keys and values of one size", 4, 2, d_k=same, d_v=same),
        case("all sizes equal", 4, 2, d_model=same, d_k=same, d_v=same),
        case("as many positions as examples", 2, 1, batch=3),
        case("d_k = 1", 3, 2, d_k=1),
    ]


def step_variant(
    project: Project = product,
    roles: Roles = right_roles,
    store: Callable[[Any, Tensor, Tensor], KV] = lambda cache, k, v: cache.append(k, v),
    attended: Callable[[Tensor, Tensor, Tensor, Tensor], KV] = lambda keys, values, k, v: (keys, values),
    scale: Callable[[Tensor, Tensor, Tensor, Tensor], float] = lambda x, q, keys, values: math.sqrt(q.shape[-1]),
    weigh: Callable[[Tensor], Tensor] = softmax_over_keys,
    result: Callable[[Tensor, Tensor], Any] = lambda out, weights: out.squeeze(1),
) -> Callable[..., Any]:
    """Return an answer(x_t, w_q, w_k, w_v, cache); each argument replaces one of its steps.

    By default it is right. `project` and `roles` make q, k and v, `store` appends to the cache, `attended` chooses the
    keys and values, `weigh` makes weights of the scaled scores, and `result` is what is returned.
    """

    def variant(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Any:
        x = x_t.unsqueeze(1)
        q, k, v = roles(x, *projections_by(project, w_q, w_k, w_v))
        keys, values = attended(*store(cache, k, v), k, v)
        weights = weigh(q @ keys.mT / scale(x, q, keys, values))
        return result(weights @ values, weights)

    return variant


def appended_twice(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    cache.append(k, v)
    return cache.append(k, v)


def appended_again_afterwards(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Attend to what the first append returned, and append once more, as if to save the result."""
    held = cache.append(k, v)
    cache.append(k, v)
    return held


def twice_at_first(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return appended_twice(cache, k, v) if len(cache) == 0 else cache.append(k, v)


def appended_for_each(first_keys: bool) -> Callable[[Any, Tensor, Tensor], KV]:
    """Return a store that appends twice, and takes the keys of one append and the values of the other.

    With `first_keys`, the keys are those of the first.
    """

    def store(cache: Any, k: Tensor, v: Tensor) -> KV:
        first, second = cache.append(k, v), cache.append(k, v)
        return (first[0], second[1]) if first_keys else (second[0], first[1])

    return store


def not_into_an_empty_cache(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Append as code with `if cache:` does: an empty cache is false."""
    return cache.append(k, v) if len(cache) else (k, v)


def inputs_cached(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
    x = x_t.unsqueeze(1)
    held, _ = cache.append(x, x)
    return attention(x @ w_q, held @ w_k, held @ w_v)[0].squeeze(1)


def query_without_a_head(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
    """Append to the cache, and return a wrong output: a query of three axes attends to keys of four.

    So each text's query meets the keys of all texts.
    """
    x = x_t.unsqueeze(1)
    return attention(x_t @ w_q, *cache.append(x @ w_k, x @ w_v))[0]


def first_text_for_all(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
    """Append to the cache, and return a wrong output: all texts attend to the keys and values of the first text.

    The answer takes `[0]` of them, instead of dropping the axis of heads.
    """
    x = x_t.unsqueeze(1)
    keys, values = cache.append(x @ w_k, x @ w_v)
    return attention(x_t @ w_q, keys[0], values[0])[0]


def texts_as_heads(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
    x = x_t.unsqueeze(0)
    keys, values = cache.append(x @ w_k, x @ w_v)
    return (softmax_over_keys(x @ w_q @ keys.mT / math.sqrt(w_q.shape[-1])) @ values)[0]


def steps_in_model(answer: Callable[..., Tensor], run: ModelRun) -> dict[str, Edit]:
    """Return the edits that compute each head of each layer with the answer, one token after another.

    Each head has a cache of its own.
    """

    def step(at: At) -> Edit:
        heads = [(head_matrices(at.block, head), ProvidedCache()) for head in range(at.block.attention.n_heads)]

        def outputs(_: Tensor) -> Tensor:
            x_t = with_ones(at["attention.normed"])
            return torch.stack([answer(x_t.clone(), *matrices, held) for matrices, held in heads], dim=1)

        return outputs

    return {f"{at.name}.attention.heads": step(at) for at in run.layers}


TWICE = (appended_twice, twice_at_first, appended_again_afterwards, appended_for_each(True), appended_for_each(False))
attending = by_knob("attended")
scaling = by_knob("scale")
WEIGHT_MISTAKES = (
    *("softmax-over-queries", "softmax-over-first-axis", "no-softmax", "not-normalised", "sigmoid"),
    *("softmax-twice", "scores-negated"),
)
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=4,
    inputs=("x_t", "w_q", "w_k", "w_v", "cache"),
    outputs=("out (B, 1, d_v)",),
    draw=draw_steps,
    reference=decode_step,
    variant=step_variant,
    gradients=True,
    in_model=InModel("writer", edits=steps_in_model),
    misconceptions=(
        Misconception("not-appended", knobs={"store": lambda cache, k, v: (k, v)}),
        Misconception("first-token-not-appended", knobs={"store": not_into_an_empty_cache}),
        Misconception("appended-twice", knob_sets=tuple({"store": store} for store in TWICE)),
        attending("sees-itself-only", lambda keys, values, k, v: (k, v)),
        attending(
            "cannot-see-itself",
            lambda keys, values, k, v: (keys[..., :-1, :], values[..., :-1, :]),
            lambda keys, values, k, v: tuple(t[..., : max(1, t.shape[-2] - 1), :] for t in (keys, values)),
            alone=True,
        ),
        attending("sees-the-oldest-only", lambda keys, values, k, v: (keys[..., :1, :], values[..., :1, :])),
        Misconception(
            "keys-and-values-swapped",
            twin=step_variant(roles=lambda x, q, k, v: (q(x), v(x), k(x))),
            knob_sets=(
                {"store": lambda cache, k, v: cache.append(v, k)},
                {"attended": lambda keys, values, k, v: (values, keys)},
            ),
        ),
        *(replace(idea, alone=True) for idea in (*ROLES, *WRONG_PRODUCTS)),
        assigned("head-axis-forgotten", lambda x, *projections: right_roles(x[:, 0], *projections), alone=True),
        mistake("query-without-a-head", query_without_a_head),
        mistake("first-text-for-all", first_text_for_all),
        mistake("texts-as-heads", texts_as_heads),
        mistake("inputs-cached", inputs_cached),
        scaling("no-scale", lambda x, q, keys, values: 1.0),
        scaling("scaled-by-d-k", lambda x, q, keys, values: q.shape[-1]),
        scaling("scale-multiplied", lambda x, q, keys, values: q.shape[-1] ** -0.5),
        scaling("scaled-by-d-model", lambda x, q, keys, values: x.shape[-1] ** 0.5),
        scaling("scaled-by-d-v", lambda x, q, keys, values: values.shape[-1] ** 0.5),
        scaling("scaled-by-number-of-keys", lambda x, q, keys, values: keys.shape[-2] ** 0.5),
        *(idea for idea in WEIGHTS if idea.slug in WEIGHT_MISTAKES),
        returned("head-axis-left", lambda out, weights: out),
        returned("token-axis-lost", lambda out, weights: out.squeeze(1).squeeze(1)),
        returned("too-many-axes-squeezed", lambda out, weights: out.squeeze()),
        returned("weights-returned-too", lambda out, weights: (out.squeeze(1), weights)),
        returned("weights-returned", lambda out, weights: weights.squeeze(1)),
    ),
)
