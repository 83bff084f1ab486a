"""6.6: write a head that looks at the previous token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, call, mistake
from qkv.questions.shared.written_heads import (
    SHARP,
    Matrices,
    check_matrices,
    head_weights,
    looking_difference,
    only_rows,
    tables,
    turned,
    weakened,
)

TEXTS = 20


def previous_token_head(words: Tensor, positions: Tensor) -> Matrices:
    """Return w_q and w_k of a head with which each token looks at the one before it.

    The key at position j has a 1 in place j, and the query at position i a large number in place i − 1.

    Shapes:
        words (vocab, d), positions (n_max, d), orthogonal rows of length 1
    Returns:
        w_q, w_k (d, n_max − 1)
    """
    return SHARP * len(positions) * positions[1:].mT, positions[:-1].mT


def draw_tables(draw: Draw) -> list[Case]:
    """Draw words and positions: of several sizes, and with many features."""

    def case(name: str, vocab: int, n_max: int, spare: int = 2) -> Case:
        words, positions = tables(draw, vocab, n_max, spare=spare)
        sizes = {"vocab": vocab, "n_max": n_max, "d": vocab + n_max + spare}
        return Case(call(words, positions), name, sizes)

    return [
        case("plain", draw.whole(6, 8), draw.whole(9, 10)),
        case("plain", draw.whole(9, 10), draw.whole(6, 8)),
        case("texts of two tokens", 5, 2),
        case("many features", 6, 7, spare=draw.whole(10, 14)),
    ]


def weights_of_texts(case: Case, result: Any) -> Tensor:
    """Run the head of a result on texts of all lengths, without a mask. Return its weights (texts, n_max, n_max).

    The row of the first query is 0, and so is what lies behind the end of a text.

    Raises:
        ValueError: the result is not w_q and w_k. Its text is for the learner.
    """
    words, positions = case.script[0].args
    w_q, w_k = check_matrices(result, ("w_q", "w_k"), words.shape[-1])
    n_max = len(positions)
    generator = torch.Generator().manual_seed(n_max)
    weights = torch.zeros(TEXTS, n_max, n_max)
    for text in range(TEXTS):
        n = n_max if text % 2 == 0 else int(torch.randint(2, n_max + 1, (), generator=generator))
        ids = torch.randint(0, len(words), (n,), generator=generator)
        weights[text, :n, :n] = head_weights(words[ids] + positions[:n], w_q, w_k)
    return only_rows(weights, torch.arange(n_max) > 0)


def at_distance(lag: int) -> Any:
    """Return an answer in which token i looks at token i − lag, and the first ones at places at the end."""

    def answer(words: Tensor, positions: Tensor) -> Matrices:
        n = len(positions)
        matched = torch.eye(n).roll(-lag, dims=1)  # of query i, a 1 in place i − lag
        return SHARP * n * positions.mT @ matched, positions.mT

    return answer


def same_word(words: Tensor, positions: Tensor) -> Matrices:
    return SHARP * len(words) * words.mT, words.mT


def words_not_ignored(words: Tensor, positions: Tensor) -> Matrices:
    """Return an answer whose scores are larger for a token of the same word."""
    w_q, w_k = previous_token_head(words, positions)
    return torch.cat([w_q, 3 * SHARP * len(positions) * words.mT], dim=1), torch.cat([w_k, words.mT], dim=1)


def to_the_first_token(words: Tensor, positions: Tensor) -> Matrices:
    """Return an answer whose key is 1 at position 0 alone, as in the question's example of two positions."""
    return SHARP * len(positions) * positions.sum(0)[:, None], positions[:1].mT


QUESTION = Question(
    points=3,
    inputs=("words", "positions"),
    outputs=("w_q (d, d_k)", "w_k (d, d_k)"),
    draw=draw_tables,
    reference=previous_token_head,
    effect=weights_of_texts,
    differs=looking_difference,
    misconceptions=(
        mistake("itself", lambda words, positions: (SHARP * len(positions) * positions.mT, positions.mT)),
        mistake("next-token", lambda words, positions: previous_token_head(words, positions)[::-1]),
        mistake(
            "two-back",
            at_distance(2),
            lambda words, positions: (
                (SHARP * len(positions) * positions[2:].mT, positions[:-2].mT)
                if len(positions) > 2
                else (0 * positions.mT, positions.mT)
            ),
        ),
        mistake("first-token", to_the_first_token),
        mistake("same-word", same_word),
        mistake(
            "words-for-positions",
            lambda words, positions: (SHARP * len(words) * words[1:].mT, words[:-1].mT),
            lambda words, positions: (SHARP * len(words) * words[:-1].mT, words[1:].mT),
        ),
        mistake("words-not-ignored", words_not_ignored),
        mistake("too-weak", weakened(previous_token_head)),
        mistake("sign-turned", turned(previous_token_head)),
    ),
)
