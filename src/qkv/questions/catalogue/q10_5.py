"""10.5: the delta rule, one token at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Carried, Case, Draw, Question, by_knob, call_carrying, mistake


def delta_rule_step(state: Tensor | None, q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    """Correct what the state answers to the key k by the share beta of the error, then ask it with q.

    S ← S + β k (v − Sᵀ k)ᵀ, out = Sᵀ q  [Schlag et al., 2021].

    Shapes:
        q, k (..., d), |k| = 1   v (..., d_v)   beta (...,), from 0 to 1   state: None, or what the last call returned
    Returns:
        out (..., d_v), state
    """
    if state is None:
        state = k.new_zeros(*k.shape, v.shape[-1])
    known = (k.unsqueeze(-2) @ state).squeeze(-2)
    error = beta.unsqueeze(-1) * (v - known)
    state = state + k.unsqueeze(-1) * error.unsqueeze(-2)
    return (q.unsqueeze(-2) @ state).squeeze(-2), state


def draw_tokens(draw: Draw) -> list[Case]:
    """Draw tokens one after the other, with keys of length 1, each with the state of an earlier one."""

    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        after: tuple[int | None, ...] = (None, 0, 1, 2),
        beta: float | None = None,
        **fixed: int,
    ) -> Case:
        """Draw one token for each step; `after` names the earlier step whose state it gets, None for no state."""
        s = draw.sizes("d", "d_v", **fixed)

        def token(state: int | None) -> Any:
            q, k = (draw.normal(*leading, s["d"], dtype=dtype) for _ in range(2))
            v = draw.normal(*leading, s["d_v"], dtype=dtype)
            share = (
                draw.normal(*leading, 1, dtype=dtype).sigmoid()[..., 0] if beta is None else torch.full(leading, beta)
            )
            return call_carrying(None if state is None else Carried(state), q, F.normalize(k, dim=-1), v, share)

        return Case(tuple(map(token, after)), name, s)

    same = draw.choose((5, 6))
    return [
        *draw.situations(case),
        case("two batches of one", leading=(2, 1)),
        case("d_v = 1", d_v=1),
        case("beta = 1", beta=1.0),
        case("beta = 0", beta=0.0),
        case("the first token alone", after=(None,)),
        case("a state that is used twice", after=(None, 0, 0, 1)),
        case("two texts in turn", after=(None, None, 0, 1)),
        case("all sizes equal", d=same, d_v=same),
        case("a longer text", after=(None, *range(5))),
    ]


# ── one step, with something wrong ────────────────────────────────────────────────────────────────

Correct = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # (state, k, v, beta (..., 1)) -> what is written at k


def read(state: Tensor, by: Tensor) -> Tensor:
    return (by.unsqueeze(-2) @ state).squeeze(-2)


def written_at(k: Tensor, what: Tensor) -> Tensor:
    return k.unsqueeze(-1) * what.unsqueeze(-2)


def share_of_the_error(state: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Tensor:
    return beta * (v - read(state, k))


def step_variant(
    correct: Correct = share_of_the_error,
    add: Callable[[Tensor, Tensor], Tensor] = torch.add,
    ask: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = lambda new, old, q, k: read(new, q),
    result: Callable[[Tensor, Tensor, Any], Any] = lambda out, new, given: (out, new),
) -> Callable[..., Any]:
    """Return an answer(state, q, k, v, beta) → out, new state. By default it is right.

    The arguments replace the correction, how it is added, how the state is asked, and what is returned.
    """

    def variant(state: Any, q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Any:
        old = torch.zeros_like(written_at(k, v)) if state is None else state
        new = add(old, written_at(k, correct(old, k, v, beta.unsqueeze(-1))))
        return result(ask(new, old, q, k), new, state)

    return variant


def decaying(value_too: bool) -> Callable[..., Any]:
    """Return an answer that keeps the share 1 − β of its whole state, and adds the value at the key.

    With `value_too`, it adds the share β of the value only.
    """

    def answer(state: Any, q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Any:
        share = beta[..., None, None]
        token = written_at(k, v) * (share if value_too else 1)
        new = token if state is None else (1 - share) * state + token
        return read(new, q), new

    return answer


def error_at_the_query(state: Any, q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Any:
    old = torch.zeros_like(written_at(k, v)) if state is None else state
    new = old + written_at(k, beta.unsqueeze(-1) * (v - read(old, q)))
    return read(new, q), new


corrected = by_knob("correct")
asked = by_knob("ask")
returned = by_knob("result")

QUESTION = Question(
    points=3,
    inputs=("state", "q", "k", "v", "beta"),
    outputs=("out (..., d_v)", "state"),
    draw=draw_tokens,
    reference=delta_rule_step,
    variant=step_variant,
    gradients=True,
    misconceptions=(
        corrected("not-corrected", lambda state, k, v, beta: beta * v),
        corrected("beta-on-the-value-only", lambda state, k, v, beta: beta * v - read(state, k)),
        corrected("beta-on-the-memory-only", lambda state, k, v, beta: v - beta * read(state, k)),
        corrected("beta-ignored", lambda state, k, v, beta: v - read(state, k)),
        corrected("error-with-the-wrong-sign", lambda state, k, v, beta: beta * (v + read(state, k))),
        corrected("only-erased", lambda state, k, v, beta: -beta * read(state, k)),
        mistake("keys-and-queries-swapped", lambda state, q, k, *rest: delta_rule_step(state, k, q, *rest)),
        mistake("state-forgotten", lambda state, *token: delta_rule_step(None, *token)),
        mistake("state-written-into", step_variant(add=lambda old, new: old.add_(new))),
        mistake("whole-state-decays", *map(decaying, (True, False))),
        mistake("error-at-the-query", error_at_the_query),
        asked("asked-before-writing", lambda new, old, q, k: read(old, q)),
        asked("asked-with-the-key", lambda new, old, q, k: read(new, k)),
        returned("old-state-returned", lambda out, new, given: (out, new if given is None else given)),
        returned("output-and-state-swapped", lambda out, new, given: (new, out), alone=True),
        returned("state-not-returned", lambda out, new, given: out, alone=True),
    ),
)
