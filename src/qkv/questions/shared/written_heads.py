"""Questions in which the learner writes the matrices of a head: they are judged by where the head looks.

A word is a row of one table and a position a row of another. All rows have length 1 and are orthogonal to each other,
so x · row is 1 for the token's own word and position, and 0 for every other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw
from qkv.softmax import masked_softmax
from qkv.words import sentences, t

ENOUGH = 0.9  # the weight that a head has to give to the token that it looks at
SOME = 0.19  # a weight that shows in a wrong answer, for telling wrong ideas apart; not 1/n, which rounding moves
TIED = 0.02  # weights that differ by less are said to be as much
SHARP = 12.0  # a difference of scores that makes a weight of 0.9 among all tokens of a text
MAX_FEATURES = 1000  # of queries and keys

TextOf = Callable[[Case, int], str]


def orthogonal_rows(draw: Draw, n: int, d: int) -> Tensor:
    """Return n random rows of length 1 and d features, orthogonal to each other, as float32 (n, d); n is at most d."""
    rows = torch.eye(d, dtype=torch.float64)
    for _ in range(4):
        v = draw.normal(d, dtype=torch.float64)
        rows = rows - 2 * torch.outer(rows @ v, v) / (v @ v)
    return rows[:n].float()


def tables(draw: Draw, *counts: int, spare: int = 2) -> tuple[Tensor, ...]:
    """Return tables with so many rows each; all their rows are orthogonal to each other."""
    return orthogonal_rows(draw, sum(counts), sum(counts) + spare).split(list(counts))


def head_weights(x: Tensor, w_q: Tensor, w_k: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the weights of the head: softmax(x W_Q (x W_K)ᵀ / √d_k). Without a mask, all keys are visible.

    Shapes:
        x (..., n, d)   w_q, w_k (d, d_k)   mask (n, n) bool
    Returns:
        (..., n, n), zeros for a query that sees nothing
    """
    scores = x @ w_q @ (x @ w_k).mT / math.sqrt(w_q.shape[-1])
    return masked_softmax(scores, torch.ones(scores.shape[-2:], dtype=torch.bool) if mask is None else mask)


def check_matrices(result: Any, names: Sequence[str], d: int) -> tuple[Tensor, ...]:
    """Return the matrices that an answer returned, in float32, without gradients.

    Raises:
        ValueError: they are not as many floating-point matrices as `names`, of d rows and up to MAX_FEATURES columns,
            or a w_q and the w_k after it differ in shape.
    """
    values = {"names": t(", ").join(names), "d": d}
    if not isinstance(result, (tuple, list)) or len(result) != len(names):
        raise ValueError(
            t(
                "The matrices {names}, each with {d} rows, one for each feature of x, were asked for, as a tuple. "
                "What does your function return?",
                **values,
            )
        )
    for name, matrix in zip(names, result, strict=True):
        if not isinstance(matrix, Tensor) or matrix.ndim != 2 or not matrix.is_floating_point():
            raise ValueError(
                t(
                    "Your {name} is not a matrix of floating-point numbers. The matrices {names}, each with {d} rows, "
                    "one for each feature of x.",
                    name=name,
                    **values,
                )
            )
        if matrix.shape[0] != d or not 1 <= matrix.shape[1] <= MAX_FEATURES:
            raise ValueError(
                t(
                    "Your {name} has shape {shape}. x has {d} features: x @ {name} is computed.",
                    name=name,
                    shape=tuple(matrix.shape),
                    d=d,
                )
            )
    matrices = tuple(matrix.detach().float() for matrix in result)
    for i, name in enumerate(names):
        if name.startswith("w_q") and matrices[i].shape != matrices[i + 1].shape:
            other = names[i + 1]
            raise ValueError(
                t("Your {name} and {other} differ in shape. What does a score multiply?", name=name, other=other)
            )
    return matrices


def only_rows(weights: Tensor, rows: Tensor) -> Tensor:
    """Set the rows that do not count to 0."""
    return weights * rows[..., None]


def where_it_looks(weights: Tensor) -> Tensor:
    """Return 2 for a weight that is enough, 1 for one that shows, 0 for the others."""
    return (weights >= ENOUGH).int() + (weights > SOME).int()


def looking_difference(case: Case, seen: Tensor, want: Tensor, text_of: TextOf | None = None) -> str | None:
    """Describe the first query that looks elsewhere, and its text; None if every query looks at the right token.

    `text_of(case, i)` returns a sentence that shows text i of the case.

    Shapes:
        seen, want (texts, n, n): weights, 0 in the rows that do not count
    """
    wrong = (where_it_looks(seen) != where_it_looks(want)).any(-1)
    if not wrong.any():
        return None
    text, i = wrong.nonzero()[0].tolist()
    said = _query_difference(seen, want, text, i)
    return sentences(said, text_of(case, text)) if text_of else said


def _query_difference(seen: Tensor, want: Tensor, text: int, i: int) -> str:
    """Return a message about where query i of a text looks, and where it should.

    It tells apart: too little weight on the right token, as much on another one, and most on another one.
    """
    target, most = int(want[text, i].argmax()), int(seen[text, i].argmax())
    # A message counts tokens as the questions do, from 0.
    values = {"i": i, "target": target, "enough": ENOUGH, "largest": f"{seen[text, i, most]:.2f}"}
    others = seen[text, i].clone()
    others[target] = 0
    if abs(others.max() - seen[text, i, target]) < TIED:  # a sharper softmax may leave them equal
        return t(
            "Of one text, token {i} should look at token {target}, with a weight of {enough} or more; "
            "it gives it {given}, and as much to token {other}. Which part of the score should tell the two apart, "
            "and is it large enough?",
            given=f"{seen[text, i, target]:.2f}",
            other=int(others.argmax()),
            **values,
        )
    if most == target:
        return t(
            "Of one text, token {i} should look at token {target}, with a weight of {enough} or more. "
            "It does, but the weight is only {largest}. What makes a softmax sharper?",
            **values,
        )
    return t(
        "Of one text, token {i} should look at token {target}, with a weight of {enough} or more; it gives it {given}. "
        "Most, {largest}, goes to token {most}. Which score is too large, or too small?",
        given=f"{seen[text, i, target]:.2f}",
        most=most,
        **values,
    )


Matrices = tuple[Tensor, ...]
Writer = Callable[..., Matrices]


def weakened(write: Writer) -> Writer:
    """Return an answer whose scores are too small, so that no weight is enough."""
    return lambda *given: tuple(matrix / (10 if i == 0 else 1) for i, matrix in enumerate(write(*given)))


def turned(write: Writer) -> Writer:
    """Return an answer whose scores have the other sign."""
    return lambda *given: tuple(-matrix if i == 0 else matrix for i, matrix in enumerate(write(*given)))
