"""Products of queries and keys other than q kᵀ. A product is made of q and k."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Seen, by_knob, call
from qkv.questions.shared.scales import EXACT, ROOTLESS

Product = Callable[[Tensor, Tensor], Tensor]


def pair(
    draw: Draw, name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int
) -> Case:
    """Draw queries and keys, for a question about scores."""
    d_k = EXACT if dtype == torch.float64 else draw.choose(ROOTLESS)
    s = draw.sizes("n_q", "n_k", "d_k", **{"d_k": d_k} | fixed)
    q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
    return Case(call(q, draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)), name, s)


def q_with_k(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


multiplied = by_knob("product")

PRODUCTS = (
    multiplied("keys-not-transposed", lambda q, k: q @ k),
    multiplied("elementwise-product", lambda q, k: q * k.mT, lambda q, k: q * k),
    multiplied("query-and-key-swapped", lambda q, k: q_with_k(k, q)),
    multiplied("keys-on-the-left", lambda q, k: k.mT @ q, alone=True),
    multiplied("queries-transposed", lambda q, k: q.mT @ k, alone=True),
    multiplied("keys-compared-with-keys", lambda q, k: q_with_k(k, k)),
    multiplied("queries-compared-with-queries", lambda q, k: q_with_k(q, q)),
    multiplied(
        "axes-swapped-from-the-front",
        lambda q, k: q @ k.permute(*reversed(range(k.ndim))),  # k.T
        lambda q, k: q @ k.transpose(0, 1),
    ),
    multiplied(
        "axes-of-a-batch-alone",
        lambda q, k: q @ k.transpose(1, 2),
        alone=True,
    ),
)

# Not a product, but what is done to one too early.
ALREADY_WEIGHTS = by_knob("after")(
    "softmax-already-applied", lambda scores: scores.softmax(-1), lambda scores: scores.softmax(-2)
)


def right_for(seen: Seen) -> str:
    """Quote for which inputs an answer is right whose axes are counted from the front."""
    batch = bool(seen.case.script[-1].args[0].ndim > 2)
    return "one sequence, but not for a batch" if batch else "a batch, but not for one sequence"
