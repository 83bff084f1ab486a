"""3.3: attention."""

from __future__ import annotations

import torch

from qkv.attention import attention
from qkv.questions.engine import Case, Draw, Question, call, in_each_layer
from qkv.questions.shared.attending import ATTENTION, attention_variant, first_row_sum
from qkv.questions.shared.scales import NON_SQUARES, SQUARE


def draw_qkv(draw: Draw) -> list[Case]:
    """Draw queries, keys and values, in several sizes."""

    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d_k = SQUARE if dtype == torch.float64 else draw.choose(NON_SQUARES)
        sizes = draw.sizes("n_q", "n_k", "d_k", "d_v", **{"d_k": d_k} | fixed)
        q = draw.normal(*leading, sizes["n_q"], sizes["d_k"], dtype=dtype)
        k = draw.normal(*leading, sizes["n_k"], sizes["d_k"], dtype=dtype)
        v = draw.normal(*leading, sizes["n_k"], sizes["d_v"], dtype=dtype)
        return Case(call(q, k, v), name, sizes)

    same = draw.choose(NON_SQUARES)
    return [
        *draw.situations(case),
        case("one key", n_k=1),
        case("one query", n_q=1),
        case("d_k = 1", d_k=1),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_v=same),
    ]


QUESTION = Question(
    points=4,
    inputs=("q", "k", "v"),
    outputs=("out (..., n_q, d_v)", "weights (..., n_q, n_k)"),
    draw=draw_qkv,
    reference=attention,
    variant=attention_variant,
    gradients=True,
    in_model=in_each_layer("attention.heads", lambda answer, at: answer(*(at[f"attention.{x}"] for x in "qkv"))[0]),
    row_sums={"weights": 1.0},
    quotes={"first_row_sum": first_row_sum},
    misconceptions=ATTENTION,
)
