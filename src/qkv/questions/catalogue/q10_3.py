"""10.3: one token of causal linear attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention
from qkv.efficient import linear_attention_step
from qkv.questions.engine import Carried, Case, Draw, Question, by_knob, call_carrying, mistake
from qkv.questions.shared.features import FEATURES, MAP_MISUSES, ApplyMap, apply_map, skip_map

State = tuple[Tensor, Tensor]  # the sums Σ φ(k) v and Σ φ(k)
FeatureMap = Callable[[Tensor], Tensor]


def draw_tokens(draw: Draw) -> list[Case]:
    """Draw tokens one after the other, each with the state of an earlier one."""

    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        after: tuple[int | None, ...] = (None, 0, 1, 2),
        features: Any = None,
        **fixed: int,
    ) -> Case:
        """Draw one token for each step; `after` names the earlier step whose state it gets, None for no state."""
        s = draw.sizes("d", "d_v", **fixed)
        feature_map = (draw.choose(FEATURES) if features is None else features)()

        def token(state: int | None) -> Any:
            q, k = (draw.normal(*leading, s["d"], dtype=dtype) for _ in range(2))
            v = draw.normal(*leading, s["d_v"], dtype=dtype)
            return call_carrying(None if state is None else Carried(state), q, k, v, feature_map)

        return Case(tuple(map(token, after)), name, s)

    same = draw.choose((5, 6))
    return [
        *draw.situations(case),
        *(case("one feature map and another", features=features) for features in FEATURES),
        case("two batches of one", leading=(2, 1)),
        case("the first token alone", after=(None,)),
        case("a state that is used twice", after=(None, 0, 0, 1)),
        case("two texts in turn", after=(None, None, 0, 1)),
        case("all sizes equal", d=same, d_v=same),
        case("a longer text", after=(None, *range(5))),
    ]


# ── one step, with something wrong ────────────────────────────────────────────────────────────────

AddToken = Callable[[State | None, State], State]  # (old state, this token's part) -> new state
Mix = Callable[[Tensor, State, State], Tensor]  # (φ(q), new state, this token's part) -> output


def add_to_state(state: State | None, token: State) -> State:
    return token if state is None else (state[0] + token[0], state[1] + token[1])


def outer_product(k: Tensor, v: Tensor) -> Tensor:
    return k.unsqueeze(-1) * v.unsqueeze(-2)


def read_state(phi_q: Tensor, summary: Tensor) -> Tensor:
    return (phi_q.unsqueeze(-2) @ summary).squeeze(-2)


def normalised_output(phi_q: Tensor, new: State, token: State) -> Tensor:
    return read_state(phi_q, new[0]) / (phi_q * new[1]).sum(-1, keepdim=True)


def step_variant(
    map_q: ApplyMap = apply_map,
    map_k: ApplyMap = apply_map,
    map_v: ApplyMap = skip_map,
    add: AddToken = add_to_state,
    mix: Mix = normalised_output,
    result: Callable[[Tensor, Any, Any], Any] = lambda out, state, old: (out, state),
) -> Callable[..., Any]:
    """Return an answer(state, q, k, v, feature_map) → out, new state. By default it is right.

    The arguments replace how the map is applied, how the token is added, how the output is read, and what is returned.
    """

    def variant(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
        phi_q, phi_k, v = map_q(feature_map, q), map_k(feature_map, k), map_v(feature_map, v)
        token = outer_product(phi_k, v), phi_k
        new = add(state, token)
        return result(mix(phi_q, new, token), new, state)

    return variant


def state_written_into(*parts: int) -> AddToken:
    """Return an `AddToken` that adds the token to the state, but writes the sums of these parts into the old state.

    Part 0 is Σ φ(k) v, part 1 is Σ φ(k).
    """

    def add(state: State | None, token: State) -> State:
        if state is None:
            return token
        new = list(add_to_state(state, token))
        for part in parts:
            new[part] = state[part].add_(token[part])
        return new[0], new[1]

    return add


def carried_on(*parts: int) -> AddToken:
    """Return an `AddToken` that carries on these parts of the state, and starts the others from this token alone.

    Part 0 is Σ φ(k) v, part 1 is Σ φ(k).
    """

    def add(state: State | None, token: State) -> State:
        new = add_to_state(state, token)
        return (new if 0 in parts else token)[0], (new if 1 in parts else token)[1]

    return add


def cannot_see_itself(first: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Return an answer(state, q, k, v, feature_map) whose tokens see only those before; the first gives `first(v)`."""

    def answer(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
        _, new = linear_attention_step(state, q, k, v, feature_map)
        return first(v) if state is None else normalised_output(feature_map(q), state, new), new

    return answer


def batch_forgotten(
    product: Callable[[Tensor, Tensor], Tensor], divisor: Callable[[Tensor, Tensor], Tensor]
) -> Callable[..., Any]:
    """Return an answer(state, q, k, v, feature_map) whose product k v or divisor works for single vectors only.

    For a batch, it raises or returns wrong values.
    """

    def variant(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
        phi_q, phi_k = feature_map(q), feature_map(k)
        new = add_to_state(state, (product(phi_k, v), phi_k))
        return phi_q @ new[0] / divisor(phi_q, new[1]), new

    return variant


def softmax_attention(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
    """Compute the output of a wrong answer to 10.3: it keeps every key and value, and attends with a softmax.

    Return the output and the keys and values so far, which are its state.
    """
    k, v = k.unsqueeze(-2), v.unsqueeze(-2)
    if state is not None:
        k, v = torch.cat([state[0], k], dim=-2), torch.cat([state[1], v], dim=-2)
    return attention(q.unsqueeze(-2), k, v)[0].squeeze(-2), (k, v)


def divided_by_the_number_of_tokens(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
    summary, n = (0, 0) if state is None else state
    summary, n = summary + outer_product(feature_map(k), v), n + 1
    return read_state(feature_map(q), summary) / n, (summary, n)


def mean_of_the_values(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
    total, n = (0, 0) if state is None else state
    total, n = total + v, n + 1
    return total / n, (total, n)


def state_that_grows(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
    """Compute the right output with a state that grows: it has the features of every key, and every value.

    Return the output and that state.
    """
    keys, values = feature_map(k).unsqueeze(-2), v.unsqueeze(-2)
    if state is not None:
        keys, values = torch.cat([state[0], keys], dim=-2), torch.cat([state[1], values], dim=-2)
    products = (feature_map(q).unsqueeze(-2) * keys).sum(-1, keepdim=True)
    return (products * values).sum(-2) / products.sum(-2), (keys, values)


mixed_by = by_knob("mix")
added_by = by_knob("add")
returned = by_knob("result")

QUESTION = Question(
    points=3,
    inputs=("state", "q", "k", "v", "feature_map"),
    outputs=("out (..., d_v)", "state"),
    draw=draw_tokens,
    reference=linear_attention_step,
    variant=step_variant,
    gradients=True,
    misconceptions=(
        added_by("state-forgotten", carried_on()),
        returned("old-state-returned", lambda out, state, old: (out, old or state)),
        added_by("sum-of-features-not-carried", carried_on(0)),
        added_by("summary-not-carried", carried_on(1)),
        added_by("state-written-into", state_written_into(0, 1), state_written_into(0), state_written_into(1)),
        mistake(
            "batch-forgotten",
            batch_forgotten(torch.outer, torch.matmul),
            batch_forgotten(lambda k, v: k[:, None] * v, torch.matmul),
            batch_forgotten(outer_product, torch.matmul),
            batch_forgotten(outer_product, lambda phi_q, sum_k: (phi_q * sum_k).sum()),
            batch_forgotten(outer_product, lambda phi_q, sum_k: (phi_q * sum_k).sum(-1, keepdim=True)),
            step_variant(mix=lambda phi_q, new, token: read_state(phi_q, new[0]) / (phi_q * new[1]).sum()),
            step_variant(mix=lambda phi_q, new, token: read_state(phi_q, new[0]) / (phi_q @ new[1])),
        ),
        mistake(
            "cannot-see-itself",
            *map(cannot_see_itself, (lambda v: v * torch.nan, torch.zeros_like, lambda v: v)),  # 0/0, 0/ε, its own
        ),
        *MAP_MISUSES,
        mixed_by("not-divided", lambda phi_q, new, token: read_state(phi_q, new[0])),
        mixed_by(
            "query-not-in-the-sum",
            lambda phi_q, new, token: read_state(phi_q, new[0]) / new[1].sum(-1, keepdim=True),
        ),
        mixed_by(
            "keys-not-in-the-sum", lambda phi_q, new, token: read_state(phi_q, new[0]) / phi_q.sum(-1, keepdim=True)
        ),
        mistake("query-and-key-swapped", lambda state, q, k, *rest: linear_attention_step(state, k, q, *rest)),
        mistake("keys-used-as-values", lambda state, q, k, v, by: linear_attention_step(state, q, k, k, by)),
        mistake("mean-of-the-values", mean_of_the_values),
        mistake("divided-by-the-number-of-tokens", divided_by_the_number_of_tokens),
        mistake("state-that-grows", state_that_grows),
        mistake("softmax-attention", softmax_attention),
        returned("output-and-state-swapped", lambda out, state, old: (state, out), alone=True),
        returned("state-not-returned", lambda out, state, old: out, alone=True),
        returned("state-in-two-parts", lambda out, state, old: (out, *state), alone=True),
    ),
)
