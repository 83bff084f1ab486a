"""The repeater: it reads random symbols that come again, and learns to say what comes next.

A causal decoder without feed-forward networks. A sequence is a few random symbols, over and
over: 7 3 9 9 1 4 7 3 9 9 1 4 … The first time nobody can know the next symbol. From then on it
is the one that followed the last time, and two layers of attention learn to look there
(induction heads [Olsson et al., 2022]).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from qkv.transformer import Decoder, Places, TransformerShape, surprise

N_SYMBOLS = 32
N = 32  # the length of every sequence
PERIODS = (6, 16)  # the shortest and the longest run of symbols before they come again


def repeater_shape(n_layers: int = 2) -> TransformerShape:
    """Give the shape of a repeater: 32 features, 2 heads a layer, no feed-forward network."""
    return TransformerShape(vocab_size=N_SYMBOLS, d_model=32, n_layers=n_layers, n_heads=2, d_hidden=0, n_max=N)


class Repeater(Decoder):
    """Predict the next symbol of a sequence that repeats itself."""

    def __init__(self, shape: TransformerShape | None = None) -> None:
        super().__init__(shape or repeater_shape())


def draw_sequences(batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw sequences that repeat, each with a period of its own.

    Returns:
        ids (B, N), periods (B, 1)
    """
    shortest, longest = PERIODS
    periods = torch.randint(shortest, longest + 1, (batch, 1), generator=generator)
    symbols = torch.randint(N_SYMBOLS, (batch, longest), generator=generator)
    return symbols.gather(1, torch.arange(N) % periods), periods


class RepeaterScores(NamedTuple):
    """Hold what a repeater does on sequences that it has not seen.

    first        the mean surprise where a symbol comes for the first time, in nats
    repeated     the same where it comes again
    previous     (layers, heads): the mean weight on the token just before
    induction    (layers, heads): the mean weight on the token after the same symbol, one period earlier
    """

    first: float
    repeated: float
    previous: Tensor
    induction: Tensor


@torch.no_grad()
def repeater_scores(repeater: Repeater, ids: Tensor, periods: Tensor) -> RepeaterScores:
    """Measure a repeater on sequences whose periods are known."""
    places = Places()
    logits = repeater(ids, visit=places)
    surprises = surprise(logits[:, :-1], ids[:, 1:])  # (B, N − 1), of the tokens 1 … N − 1
    again = torch.arange(1, N) >= periods
    weights = places.layers("attention.weights")  # (B, L, H, N, N)
    return RepeaterScores(
        surprises[~again].mean().item(),
        surprises[again].mean().item(),
        weights.diagonal(-1, -2, -1).mean((0, -1)),
        _weight_after_the_last(weights, periods),
    )


def _weight_after_the_last(weights: Tensor, periods: Tensor) -> Tensor:
    """Average the weight that position t gives to position t − period + 1, (L, H)."""
    asks = torch.arange(N)
    seen = asks - periods + 1  # (B, N)
    valid = asks >= periods
    index = seen.clamp(min=0)[:, None, None, :, None].expand(*weights.shape[:-1], 1)
    looked = weights.gather(-1, index).squeeze(-1)  # (B, L, H, N)
    return (looked * valid[:, None, None]).sum((0, -1)) / valid.sum()
