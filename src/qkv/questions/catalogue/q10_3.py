"""10.3: one token of causal linear attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention
from qkv.cheaper import linear_attention_step
from qkv.questions.engine import Carried, Case, Draw, Question, by_knob, call_carrying, mistake
from qkv.questions.shared.features import FEATURES, MISUSED, Features, as_it_is, mapped

State = tuple[Tensor, Tensor]
FeatureMap = Callable[[Tensor], Tensor]


def draw_tokens(draw: Draw) -> list[Case]:
    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        after: tuple[int | None, ...] = (None, 0, 1, 2),
        features: Any = None,
        **fixed: int,
    ) -> Case:
        """Read a token in each step, with the state that the step named in `after` gave."""
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

Sum = Callable[[State | None, State], State]  # of the state that was given and what is new: all so far
Mix = Callable[[Tensor, State, State], Tensor]  # of the query's features, all so far, and what is new: the output


def added(state: State | None, new: State) -> State:
    return new if state is None else (state[0] + new[0], state[1] + new[1])


def any_outer(k: Tensor, v: Tensor) -> Tensor:
    return k.unsqueeze(-1) * v.unsqueeze(-2)


def read_out(asked: Tensor, summary: Tensor) -> Tensor:
    return (asked.unsqueeze(-2) @ summary).squeeze(-2)


def divided(asked: Tensor, so_far: State, new: State) -> Tensor:
    return read_out(asked, so_far[0]) / (asked * so_far[1]).sum(-1, keepdim=True)


def step_variant(
    ask: Features = mapped,
    offer: Features = mapped,
    hand_over: Features = as_it_is,
    add: Sum = added,
    mix: Mix = divided,
    give: Callable[[Tensor, Any, Any], Any] = lambda out, state, before: (out, state),
) -> Callable[..., Any]:
    """Give an answer that goes wrong at some part of its step."""

    def variant(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
        asked, offered, v = ask(feature_map, q), offer(feature_map, k), hand_over(feature_map, v)
        new = any_outer(offered, v), offered
        so_far = add(state, new)
        return give(mix(asked, so_far, new), so_far, state)

    return variant


def written_into(*places: int) -> Sum:
    def add(state: State | None, new: State) -> State:
        if state is None:
            return new
        so_far = list(added(state, new))
        for place in places:
            so_far[place] = state[place].add_(new[place])
        return so_far[0], so_far[1]

    return add


def kept(*places: int) -> Sum:
    """Carry on some of the two sums, and begin the others anew."""

    def add(state: State | None, new: State) -> State:
        so_far = added(state, new)
        return (so_far if 0 in places else new)[0], (so_far if 1 in places else new)[1]

    return add


def zeros_before(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
    _, so_far = linear_attention_step(state, q, k, v, feature_map)
    before = (torch.zeros_like(so_far[0]), torch.zeros_like(so_far[1])) if state is None else state
    return divided(feature_map(q), before, so_far), so_far


def for_one_token(
    product: Callable[[Tensor, Tensor], Tensor], total: Callable[[Tensor, Tensor], Tensor]
) -> Callable[..., Any]:
    """Give an answer whose product of key and value, or whose reading of the state, takes vectors."""

    def variant(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
        asked, offered = feature_map(q), feature_map(k)
        so_far = added(state, (product(offered, v), offered))
        return asked @ so_far[0] / total(asked, so_far[1]), so_far

    return variant


def all_tokens(state: Any, q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap) -> Any:
    """Keep every key and value, and attend with a softmax."""
    k, v = k.unsqueeze(-2), v.unsqueeze(-2)
    if state is not None:
        k, v = torch.cat([state[0], k], dim=-2), torch.cat([state[1], v], dim=-2)
    return attention(q.unsqueeze(-2), k, v)[0].squeeze(-2), (k, v)


mixing = by_knob("mix")
adding = by_knob("add")
giving = by_knob("give")

QUESTION = Question(
    points=3,
    inputs=("state", "q", "k", "v", "feature_map"),
    outputs=("out (..., d_v)", "state"),
    draw=draw_tokens,
    reference=linear_attention_step,
    variant=step_variant,
    gradients=True,
    misconceptions=(
        adding("state-forgotten", kept()),
        giving("old-state-returned", lambda out, state, before: (out, before or state)),
        adding("sum-of-features-not-carried", kept(0)),
        adding("summary-not-carried", kept(1)),
        adding("state-written-into", written_into(0, 1), written_into(0), written_into(1)),
        mistake(
            "batch-forgotten",
            for_one_token(torch.outer, torch.matmul),
            for_one_token(lambda k, v: k[:, None] * v, torch.matmul),
            for_one_token(any_outer, torch.matmul),
            for_one_token(any_outer, lambda asked, total: (asked * total).sum()),
            for_one_token(any_outer, lambda asked, total: (asked * total).sum(-1, keepdim=True)),
            step_variant(mix=lambda asked, so_far, new: read_out(asked, so_far[0]) / (asked * so_far[1]).sum()),
            step_variant(mix=lambda asked, so_far, new: read_out(asked, so_far[0]) / (asked @ so_far[1])),
        ),
        mistake("cannot-see-itself", zeros_before),
        *MISUSED,
        mixing("not-divided", lambda asked, so_far, new: read_out(asked, so_far[0])),
        mixing(
            "query-not-in-the-sum",
            lambda asked, so_far, new: read_out(asked, so_far[0]) / so_far[1].sum(-1, keepdim=True),
        ),
        mixing(
            "keys-not-in-the-sum", lambda asked, so_far, new: read_out(asked, so_far[0]) / asked.sum(-1, keepdim=True)
        ),
        mistake("query-and-key-swapped", lambda state, q, k, *rest: linear_attention_step(state, k, q, *rest)),
        mistake("keys-used-as-values", lambda state, q, k, v, by: linear_attention_step(state, q, k, k, by)),
        mistake("softmax-attention", all_tokens),
        giving("output-and-state-swapped", lambda out, state, before: (state, out), alone=True),
        giving("state-not-returned", lambda out, state, before: out, alone=True),
        giving("state-in-two-parts", lambda out, state, before: (out, *state), alone=True),
    ),
)
