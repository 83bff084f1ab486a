"""The repeater: a model that reads a sequence of random symbols that repeats, and predicts the next symbol.

It is a causal decoder without feed-forward networks. A sequence repeats a few random symbols:
7 3 9 9 1 4 7 3 9 9 1 4 … The first time, the next symbol cannot be predicted. After that, it
is the symbol that followed one period earlier, and two layers of attention learn to attend to
it (induction heads [Olsson et al., 2022]).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from qkv.transformer import Decoder, Places, TransformerShape, surprise

N_SYMBOLS = 32
N = 32  # the length of every sequence
PERIODS = (6, 16)  # the shortest and the longest period, in symbols


def repeater_shape(n_layers: int = 2, heads: int = 2, d_hidden: int = 0) -> TransformerShape:
    """Return the sizes of a repeater: 32 features and, unless others are given, 2 heads per layer, no feed-forward."""
    return TransformerShape(
        vocab_size=N_SYMBOLS, d_model=32, n_layers=n_layers, n_heads=heads, d_hidden=d_hidden, n_max=N
    )


class Repeater(Decoder):
    """A decoder that predicts the next symbol of a sequence that repeats."""

    def __init__(self, shape: TransformerShape | None = None) -> None:
        super().__init__(shape or repeater_shape())


def draw_sequences(batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw sequences of N symbols that repeat, each with its own random period, within PERIODS.

    Returns:
        ids (B, N), periods (B, 1)
    """
    shortest, longest = PERIODS
    periods = torch.randint(shortest, longest + 1, (batch, 1), generator=generator)
    symbols = torch.randint(N_SYMBOLS, (batch, longest), generator=generator)
    return symbols.gather(1, torch.arange(N) % periods), periods


class RepeaterScores(NamedTuple):
    """Measurements of a repeater on sequences that it was not trained on.

    first        the mean surprise in the first period, in nats
    repeated     the mean surprise in the later periods, in nats
    previous     (layers, heads): the mean weight on the previous token
    induction    (layers, heads): the mean weight on the token after the same symbol, one period earlier
    """

    first: float
    repeated: float
    previous: Tensor
    induction: Tensor


@torch.no_grad()
def repeater_scores(repeater: Repeater, ids: Tensor, periods: Tensor, places: Places | None = None) -> RepeaterScores:
    """Measure a repeater on sequences with these periods, with the edits of `places`, if there are any.

    Return the mean surprise in the first period and after it, in nats, and the mean weights of each head on the token
    before and on the token to copy. `places` then has the tensors of the run.
    """
    places = Places() if places is None else places
    logits = repeater(ids, visit=places)
    surprises = surprise(logits[:, :-1], ids[:, 1:])  # (B, N − 1), of the tokens 1 … N − 1
    again = torch.arange(1, N) >= periods
    weights = places.layers("attention.weights")  # (B, L, H, N, N)
    return RepeaterScores(
        surprises[~again].mean().item(),
        surprises[again].mean().item(),
        weights.diagonal(-1, -2, -1).mean((0, -1)),
        _mean_induction_weight(weights, periods),
    )


def _mean_induction_weight(weights: Tensor, periods: Tensor) -> Tensor:
    """Return each head's mean weight from position t to position t − period + 1, (L, H).

    The mean is over all t after the first period. There stands the symbol that comes next.
    """
    asks = torch.arange(N)
    seen = asks - periods + 1  # (B, N)
    valid = asks >= periods
    index = seen.clamp(min=0)[:, None, None, :, None].expand(*weights.shape[:-1], 1)
    looked = weights.gather(-1, index).squeeze(-1)  # (B, L, H, N)
    return (looked * valid[:, None, None]).sum((0, -1)) / valid.sum()
