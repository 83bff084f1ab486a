"""Tests of other people's implementations: each says whether what it is handed is wrong.

What is handed over can be called, and nothing else is known of it. So a test chooses inputs for which right and wrong
results lie far apart, and leaves room for rounding: two right implementations differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import attention

ROUNDING = 1e-3  # by which right results may differ, and wrong ones differ by far more
# All sizes differ, and d_k = 7 is neither a square nor 4, where the root is d_k / 2.
Q, K, V = (torch.randn(*shape, generator=torch.Generator().manual_seed(1)) for shape in ((3, 7), (5, 7), (5, 6)))


def catches_wrong_scale(attend: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> bool:
    """Say whether an attention divides its scores by something else than √d_k.

    `attend(q, k, v)` gives `out, weights`, without a mask. Its weights are compared with softmax(q kᵀ / √d_k).
    """
    _, weights = attend(Q, K, V)
    _, expected = attention(Q, K, V)
    return not torch.allclose(weights, expected, atol=ROUNDING)
