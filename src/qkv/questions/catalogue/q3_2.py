"""3.2: the variance of a score."""

from __future__ import annotations

import math

from qkv.attention import score_variance
from qkv.questions.engine import Case, Draw, Question, call, mistake
from qkv.questions.shared.scales import NON_SQUARES


def draw_variances(draw: Draw) -> list[Case]:
    """Draw d_k and two variances, below 1, above 1 and 0."""

    def case(name: str, d_k: int, var_q: float, var_k: float) -> Case:
        return Case(call(d_k, var_q, var_k), name, {"d_k": d_k})

    return [
        case("plain", draw.choose(NON_SQUARES), draw.uniform(1.2, 1.8), draw.uniform(2.2, 3.8)),
        case("plain", draw.choose((11, 13, 17)), draw.uniform(2.2, 3.8), draw.uniform(1.2, 1.8)),
        case("small variances", draw.whole(20, 70), draw.uniform(0.2, 0.4), draw.uniform(0.5, 0.8)),
        case("unit variances", draw.choose((16, 64, 256)), 1.0, 1.0),
        case("d_k = 1", 1, draw.uniform(1.2, 1.8), draw.uniform(2.2, 3.8)),
        case("queries that are all zero", draw.whole(3, 9), 0.0, draw.uniform(1.2, 1.8)),
    ]


QUESTION = Question(
    points=2,
    inputs=("d_k", "var_q", "var_k"),
    outputs=("variance",),
    draw=draw_variances,
    reference=score_variance,
    misconceptions=(
        mistake("d-k-forgotten", lambda d_k, var_q, var_k: var_q * var_k),
        mistake(
            "variances-added", lambda d_k, var_q, var_k: d_k * (var_q + var_k), lambda d_k, var_q, var_k: var_q + var_k
        ),
        mistake("standard-deviation", lambda d_k, var_q, var_k: math.sqrt(d_k * var_q * var_k)),
        mistake("variances-taken-for-standard-deviations", lambda d_k, var_q, var_k: d_k * var_q**2 * var_k**2),
        mistake("root-of-the-variances", lambda d_k, var_q, var_k: d_k * math.sqrt(var_q * var_k)),
        mistake("root-of-d-k-alone", lambda d_k, var_q, var_k: math.sqrt(d_k)),
        mistake("root-of-d-k", lambda d_k, var_q, var_k: math.sqrt(d_k) * var_q * var_k),
        mistake("d-k-squared", lambda d_k, var_q, var_k: d_k**2 * var_q * var_k),
        mistake("divided-by-d-k", lambda d_k, var_q, var_k: var_q * var_k / d_k),
        mistake("var-k-forgotten", lambda d_k, var_q, var_k: d_k * var_q),
        mistake("var-q-forgotten", lambda d_k, var_q, var_k: d_k * var_k),
        mistake("variances-forgotten", lambda d_k, var_q, var_k: float(d_k)),
        mistake(
            "variance-rounded",
            lambda d_k, var_q, var_k: float(int(d_k * var_q * var_k)),
            lambda d_k, var_q, var_k: float(round(d_k * var_q * var_k)),
        ),
        mistake("one-variance-alone", lambda d_k, var_q, var_k: var_k, lambda d_k, var_q, var_k: var_q),
        mistake("always-scaled", lambda d_k, var_q, var_k: 1.0),
    ),
)
