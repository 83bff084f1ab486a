"""Maps to positive features, which linear attention is handed, and ways to use them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from qkv.questions.engine import Misconception, Provided

Features = Callable[[Callable[[Tensor], Tensor], Tensor], Tensor]  # of a feature map and vectors: what is used


def elu_map() -> Callable[[Tensor], Tensor]:
    """Make elu(x) + 1. A worker runs this source by itself, so it uses nothing but torch; so does the next one."""

    def features(x: Tensor) -> Tensor:
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    return features


def two_sided_map() -> Callable[[Tensor], Tensor]:
    """Make a map to twice as many features: exp(x) and exp(−x)."""

    def features(x: Tensor) -> Tensor:
        return torch.cat([(x / 2).exp(), (-x / 2).exp()], dim=-1)

    return features


FEATURES = (partial(Provided, elu_map), partial(Provided, two_sided_map))


def mapped(feature_map: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return feature_map(x)


def as_it_is(feature_map: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return x


# Of an answer that asks by features of q, offers features of k, and hands over v.
MISUSED = (
    Misconception("features-of-queries-forgotten", knobs={"ask": as_it_is}),
    Misconception("features-of-keys-forgotten", knobs={"offer": as_it_is}),
    Misconception("features-forgotten", knobs={"ask": as_it_is, "offer": as_it_is}, alone=True),
    Misconception("features-of-values", knobs={"hand_over": mapped}, alone=True),
)
