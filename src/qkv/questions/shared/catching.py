"""Tests of other people's implementations: each returns True if the implementation is wrong.

A test can only call the implementation. So it chooses inputs for which right and wrong results differ by much, and
compares with a tolerance, because two right implementations differ in the last digits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention

near = functools.partial(torch.allclose, atol=1e-3)  # right results differ by rounding only, wrong ones by much more
# All sizes differ, and d_k = 7 is neither a square nor 4, where the root is d_k / 2.
Q, K, V = (torch.randn(*shape, generator=torch.Generator().manual_seed(1)) for shape in ((3, 7), (5, 7), (5, 6)))


def catches_wrong_scale(attend: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> bool:
    """Check whether an attention function divides its scores by anything other than √d_k.

    `attend(q, k, v)` returns `out, weights`, without a mask. Its weights are compared with softmax(q kᵀ / √d_k).
    """
    _, weights = attend(Q, K, V)
    _, expected = attention(Q, K, V)
    return not near(weights, expected)


IDS = [3, 0, 4, 4, 1, 2, 0, 3, 1, 1, 4, 2, 0, 0, 3, 2, 4, 1, 3, 3, 0, 2, 2, 1, 4, 0, 1, 3, 2, 4, 4, 0]
TEXT = torch.tensor(IDS)


def catches_stale_cache(make_decoder: Callable[[], Any]) -> bool:
    """Check whether decoding token by token with a cache gives other logits than one call with all tokens.

    `d = make_decoder()` has an empty cache. `d.full(ids)` returns logits `(n, vocab)` and does not change the cache;
    `d.step(id)` returns logits `(vocab,)`. All 32 tokens are compared, because some mistakes affect late tokens only.
    """
    decoder = make_decoder()
    steps = torch.stack([decoder.step(token) for token in IDS])
    return not near(steps, decoder.full(TEXT))


X = torch.randn(3, 5, 12, generator=torch.Generator().manual_seed(2))
ORDER = torch.tensor([3, 0, 4, 1, 2])
NUDGED = torch.cat([X[:, :-1], X[:, -1:] + 2], dim=1)


def catches_mixed_axes(module: Callable[[Tensor], tuple[Tensor, Tensor]]) -> bool:
    """Check whether a multi-head self-attention without a mask mixes up its axes.

    In a right one, an example has the same output alone as in a batch. If the tokens are permuted, the rows of the
    output are permuted in the same way. If one token changes, the output of the other tokens changes.
    """
    out, _ = module(X)
    alone, _ = module(X[:1])
    shuffled, _ = module(X[:, ORDER])
    nudged, _ = module(NUDGED)
    return not (near(alone, out[:1]) and near(shuffled, out[:, ORDER]) and not near(nudged[:, 0], out[:, 0]))
