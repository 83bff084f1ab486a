"""Tests of other people's implementations: each says whether what it is handed is wrong.

What is handed over can be called, and nothing else is known of it. So a test chooses inputs for which right and wrong
results lie far apart, and leaves room for rounding: two right implementations differ in the last digits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention

near = functools.partial(torch.allclose, atol=1e-3)  # right results differ by rounding, and wrong ones by far more
# All sizes differ, and d_k = 7 is neither a square nor 4, where the root is d_k / 2.
Q, K, V = (torch.randn(*shape, generator=torch.Generator().manual_seed(1)) for shape in ((3, 7), (5, 7), (5, 6)))


def catches_wrong_scale(attend: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> bool:
    """Say whether an attention divides its scores by something else than √d_k.

    `attend(q, k, v)` gives `out, weights`, without a mask. Its weights are compared with softmax(q kᵀ / √d_k).
    """
    _, weights = attend(Q, K, V)
    _, expected = attention(Q, K, V)
    return not near(weights, expected)


IDS = [3, 0, 4, 4, 1, 2, 0, 3, 1, 1, 4, 2, 0, 0, 3, 2, 4, 1, 3, 3, 0, 2, 2, 1, 4, 0, 1, 3, 2, 4, 4, 0]
TEXT = torch.tensor(IDS)


def catches_stale_cache(make_decoder: Callable[[], Any]) -> bool:
    """Say whether decoding token by token, with a cache, gives other logits than reading all tokens at once.

    `d = make_decoder()` has an empty cache; `d.full(ids)` gives logits `(n, vocab)` and leaves the cache alone, and
    `d.step(id)` gives logits `(vocab,)`. All 32 tokens are compared: some mistakes show late.
    """
    decoder = make_decoder()
    steps = torch.stack([decoder.step(token) for token in IDS])
    return not near(steps, decoder.full(TEXT))


X = torch.randn(3, 5, 12, generator=torch.Generator().manual_seed(2))
ORDER = torch.tensor([3, 0, 4, 1, 2])
NUDGED = torch.cat([X[:, :-1], X[:, -1:] + 2], dim=1)


def catches_mixed_axes(module: Callable[[Tensor], tuple[Tensor, Tensor]]) -> bool:
    """Say whether a multi-head self-attention without a mask mixes up its axes.

    In a right one, an example gives the same alone as in a batch; when tokens are shuffled, the rows of the output are
    shuffled alike; and when one token changes, the others' rows move.
    """
    out, _ = module(X)
    alone, _ = module(X[:1])
    shuffled, _ = module(X[:, ORDER])
    nudged, _ = module(NUDGED)
    return not (near(alone, out[:1]) and near(shuffled, out[:, ORDER]) and not near(nudged[:, 0], out[:, 0]))
