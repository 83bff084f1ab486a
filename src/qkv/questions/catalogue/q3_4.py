"""3.4: the Jacobian of the softmax."""

from __future__ import annotations

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, call, mistake
from qkv.questions.shared.attending import row_sum
from qkv.softmax import softmax_jacobian


def draw_weights(draw: Draw) -> list[Case]:
    """Draw a row of weights: nearly equal, nearly all on one, of one and of two."""

    def case(name: str, spread: float = 1.0, dtype: torch.dtype = torch.float32, n: int | None = None) -> Case:
        n = draw.whole(3, 8) if n is None else n
        return Case(call(draw.normal(n, dtype=dtype, scale=spread).softmax(-1)), name, {"n": n})

    return [
        case("plain", n=3),
        case("plain"),
        case("float64", dtype=torch.float64),
        case("nearly all on one", spread=4.0),
        case("nearly equal", spread=0.05),
        case("n = 2", n=2),
        case("n = 1", n=1),
    ]


def outer(p: Tensor) -> Tensor:
    return p[:, None] * p[None, :]


def identity(p: Tensor) -> Tensor:
    return torch.eye(len(p), dtype=p.dtype)


QUESTION = Question(
    points=3,
    inputs=("p",),
    outputs=("jacobian (n, n)",),
    draw=draw_weights,
    reference=softmax_jacobian,
    row_sums={"jacobian": 0.0},
    quotes={"first_row_sum": lambda seen: row_sum(seen.value)},
    misconceptions=(
        mistake("diagonal-term-forgotten", lambda p: -outer(p)),
        mistake("outer-product-only", outer),
        mistake("other-scores-forgotten", torch.diag, lambda p: torch.diag(p * (1 - p))),
        mistake("elementwise", lambda p: p * (1 - p)),
        mistake("jacobian-negated", lambda p: outer(p) - torch.diag(p)),
        mistake("sum-for-difference", lambda p: torch.diag(p) + outer(p)),
        mistake("softmax-applied-again", lambda p: softmax_jacobian(p.softmax(-1))),
        mistake("one-number-for-all", lambda p: torch.diag(p) - p @ p),
        mistake(
            "same-weight-twice",
            lambda p: torch.diag(p) - (p * p)[:, None],
            lambda p: torch.diag(p) - p * p,
        ),
        mistake("identity-for-diag", lambda p: identity(p) - outer(p)),
        mistake("of-the-logarithm", lambda p: identity(p) - p, lambda p: identity(p) - p[:, None]),
        mistake("diagonal-taken-away-twice", lambda p: torch.diag(p * (1 - p)) - outer(p)),
        mistake("outer-product-with-one-less", lambda p: torch.outer(p, 1 - p), lambda p: torch.outer(1 - p, p)),
        mistake("sign-off-the-diagonal", lambda p: 2 * torch.diag(p * (1 - p)) - softmax_jacobian(p)),
    ),
)
