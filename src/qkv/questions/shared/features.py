"""Feature maps for linear attention, with positive features, and ways to apply them to the wrong tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from qkv.questions.engine import Misconception, Provided

ApplyMap = Callable[[Callable[[Tensor], Tensor], Tensor], Tensor]  # (feature map, x) -> the map of x, or x itself


def elu_map() -> Callable[[Tensor], Tensor]:
    """Return the feature map elu(x) + 1, with as many features as x.

    A worker runs its source alone, so it uses only torch.
    """

    def features(x: Tensor) -> Tensor:
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    return features


def two_sided_map() -> Callable[[Tensor], Tensor]:
    """Return a feature map to twice as many features: exp(x/2), then exp(−x/2)."""

    def features(x: Tensor) -> Tensor:
        return torch.cat([(x / 2).exp(), (-x / 2).exp()], dim=-1)

    return features


def small_map() -> Callable[[Tensor], Tensor]:
    """Return a map to small features, (1 + x²) / 1,000,000."""

    def features(x: Tensor) -> Tensor:
        return (1 + x * x) * 1e-6

    return features


SMALL = partial(Provided, small_map)
FEATURES = (partial(Provided, elu_map), partial(Provided, two_sided_map))


def apply_map(feature_map: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return feature_map(x)


def skip_map(feature_map: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return x


# For a `variant` with the knobs `map_q`, `map_k` and `map_v`; a right answer maps q and k, and leaves v as it is.
MAP_MISUSES = (
    Misconception("features-of-queries-forgotten", knobs={"map_q": skip_map}),
    Misconception("features-of-keys-forgotten", knobs={"map_k": skip_map}),
    Misconception("features-forgotten", knobs={"map_q": skip_map, "map_k": skip_map}, alone=True),
    Misconception("features-of-values", knobs={"map_v": apply_map}, alone=True),
)
