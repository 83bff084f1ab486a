"""9.1: how far a head is an induction head."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.interpretability import induction_score
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake

Find = Callable[[list[int], int], list[int]]  # (ids, query position) -> the key positions whose weights count


def draw_heads(draw: Draw) -> list[Case]:
    """Draw weights and ids in which tokens repeat: twice, three times, as neighbours, not at all."""

    def case(name: str, ids: list[int], dtype: torch.dtype = torch.float32) -> Case:
        weights = (2 * draw.normal(len(ids), len(ids), dtype=dtype)).softmax(-1)
        return Case(call(weights, torch.tensor(ids)), name, {"n": len(ids)})

    def some_ids(n: int, below: int) -> list[int]:
        return [7 * i + 3 for i in draw.ids(n, below=below).tolist()]

    a, b, c, d = (10 * i + draw.whole(0, 9) for i in range(4))
    return [
        case("plain", [a, b, c, a, b, d, c, a]),
        case("plain", [*some_ids(draw.whole(7, 9), 4), a, a, b, a]),
        case("a token three times", [a, b, a, c, a, d]),
        case("equal neighbours", [a, a, b, b, b]),
        case("float64", [*some_ids(8, 3), a, b, a], torch.float64),
        case("one repeat, at the end", [b, c, d, b]),
        case("nothing repeats", [a, b, c, d]),
        case("one token", [a]),
    ]


def earlier(ids: list[int], i: int) -> list[int]:
    return [j for j in range(i) if ids[j] == ids[i]]


def score_variant(
    find: Find = lambda ids, i: [earlier(ids, i)[-1] + 1],
    counts: Callable[[list[int], int], bool] = lambda ids, i: bool(earlier(ids, i)),
    mean: Callable[[Tensor, int], Tensor] = lambda found, n: found.mean(),
    transposed: bool = False,
    default: Callable[[], float] = lambda: 0.0,
) -> Callable[..., Tensor]:
    """Return an answer(weights, ids): `find` chooses keys, `counts` chooses queries, and `mean` combines the weights.

    `transposed` exchanges queries and keys; `default` is the score of a text in which no query counts. By default it is
    right.
    """

    def variant(weights: Tensor, ids: Tensor) -> Tensor:
        texts = ids.tolist()
        table = weights.T if transposed else weights
        at = [i for i in range(len(texts)) if counts(texts, i)]
        if not at:
            return weights.new_tensor(default())
        found = [table[i, [j for j in find(texts, i) if j < len(texts)]].sum() for i in at]
        return mean(torch.stack(found), len(texts))

    return variant


def every_occurrence(weights: Tensor, ids: Tensor) -> Tensor:
    """Average over all pairs of equal ids, so that a position with several earlier occurrences counts several times."""
    found = [weights[i, j + 1] for i in range(len(ids)) for j in earlier(ids.tolist(), i)]
    return torch.stack(found).mean() if found else weights.new_zeros(())


def itself_for_earlier(weights: Tensor, ids: Tensor) -> Tensor:
    """Store each position before looking for an earlier one, and so find the position itself.

    The last position has no token after it: there it raises an IndexError.
    """
    return torch.stack([weights[i, i + 1] for i in range(len(ids))]).mean()


def fixed_diagonal(distance: Callable[[int], int]) -> Callable[..., Tensor]:
    """Return an answer that averages one diagonal, as if the second half of each text repeated the first."""
    return lambda weights, ids: weights.diagonal(1 - distance(len(ids))).mean()


looks_at = by_knob("find")
averaged = by_knob("mean")

QUESTION = Question(
    points=3,
    inputs=("weights", "ids"),
    outputs=("score",),
    draw=draw_heads,
    reference=induction_score,
    variant=score_variant,
    misconceptions=(
        looks_at("weight-on-the-token-itself", lambda ids, i: [earlier(ids, i)[-1]]),
        looks_at(
            "token-before",
            lambda ids, i: [max(earlier(ids, i)[-1] - 1, 0)],
            lambda ids, i: [earlier(ids, i)[-1] - 1],  # −1 is the last key
        ),
        looks_at("first-occurrence", lambda ids, i: [earlier(ids, i)[0] + 1]),
        Misconception(
            "every-occurrence",
            twin=every_occurrence,
            knob_sets=({"find": lambda ids, i: [j + 1 for j in earlier(ids, i)]},),
        ),
        looks_at("neighbour-of-the-query", lambda ids, i: [i - 1]),
        looks_at("own-weight", lambda ids, i: [i]),
        Misconception("keys-and-queries-swapped", knobs={"transposed": True}),
        averaged(
            "mean-over-all-positions",
            lambda found, n: found.sum() / n,
            lambda found, n: found.sum() / max(n - 1, 1),
        ),
        averaged("sum-for-mean", lambda found, n: found.sum()),
        averaged("largest-for-mean", lambda found, n: found.max()),
        averaged("last-position-only", lambda found, n: found[-1]),
        Misconception(
            "neighbours-left-out",
            knobs={"counts": lambda ids, i: bool(earlier(ids, i)) and earlier(ids, i)[-1] + 1 < i},
        ),
        Misconception("second-occurrence-only", knobs={"counts": lambda ids, i: len(earlier(ids, i)) == 1}),
        by_knob("default", alone=True)("nothing-to-average", lambda: torch.nan, lambda: 0 / 0),
        mistake("fixed-diagonal", fixed_diagonal(lambda n: (n - 1) // 2), fixed_diagonal(lambda n: n // 2)),
        mistake("itself-for-earlier", itself_for_earlier),
        mistake("ids-never-found", lambda weights, ids: weights.new_zeros(())),
    ),
)
