"""What a head does, as numbers from 0 to 1: the definitions of exercise 9.1, of `look` and of the real model's page."""

from __future__ import annotations

import torch
from torch import Tensor

from qkv.interpretability import induction_score, previous_token_score
from qkv.softmax import entropy

SCORES = ("previous", "next", "same", "first", "separator", "induction", "uniform")


def head_scores(weights: Tensor, ids: Tensor, separators: frozenset[int] = frozenset()) -> dict[str, Tensor]:
    """Return the scores of all heads on one text.

    previous   mean weight on the token before
    next       mean weight on the token after
    same       mean weight on the token itself
    first      mean weight of the other tokens on the first one
    separator  mean weight of the other tokens on all separators together; 0 without any
    induction  mean weight on the token that followed the latest earlier occurrence (`induction_score`)
    uniform    mean entropy of a row, divided by its maximum: 1 if all keys that the row sees have the same weight

    Shapes:
        weights (..., n, n), n ≥ 2; a row may sum to less than 1   ids (n,)
    Returns:
        a tensor (...) for each name in SCORES
    """
    heads = weights.reshape(-1, *weights.shape[-2:])
    found = {
        "previous": torch.stack([previous_token_score(head) for head in heads]),
        "next": heads.diagonal(1, -2, -1).mean(-1),
        "same": heads.diagonal(0, -2, -1).mean(-1),
        "first": heads[:, 1:, 0].mean(-1),
        "separator": separator_score(heads, ids, separators),
        "induction": torch.stack([induction_score(head, ids) for head in heads]),
        "uniform": uniform_score(heads),
    }
    return {name: found[name].reshape(weights.shape[:-2]) for name in SCORES}


def separator_score(weights: Tensor, ids: Tensor, separators: frozenset[int]) -> Tensor:
    """Return the mean weight (...) of the other tokens on all separators together; 0 if there are none, or no others.

    `weights` are (..., n, n), `ids` (n,), and `separators` the ids that count as such.
    """
    among = torch.tensor([int(each) in separators for each in ids], device=weights.device)
    if among.all():
        return weights.new_zeros(weights.shape[:-2])
    return weights[..., ~among, :][..., among].sum(-1).mean(-1)


def uniform_score(weights: Tensor) -> Tensor:
    """Return the mean entropy (...) of the rows, divided by log(keys with a weight above 0).

    Only rows with several such keys count; without any, it is 0. A row that sums to less than 1 is divided by its sum.
    """
    keys = (weights > 0).sum(-1)
    shares = weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
    evenness = entropy(shares) / keys.clamp(min=2).to(weights.dtype).log()
    counts = keys > 1
    return torch.where(counts, evenness, 0).sum(-1) / counts.sum(-1).clamp(min=1)
