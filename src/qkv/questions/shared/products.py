"""Wrong products of queries and keys, in place of q kᵀ."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Seen, by_knob, call
from qkv.questions.shared.scales import NON_SQUARES, SQUARE
from qkv.words import t

Product = Callable[[Tensor, Tensor], Tensor]  # (q, k) -> scores


def query_key_case(
    draw: Draw, name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int
) -> Case:
    """Draw a case of queries q (*leading, n_q, d_k) and keys k (*leading, n_k, d_k), for a question about scores.

    `fixed` gives sizes. Unless it gives d_k, that is a square in float64 and no square in float32.
    """
    d_k = SQUARE if dtype == torch.float64 else draw.choose(NON_SQUARES)
    s = draw.sizes("n_q", "n_k", "d_k", **{"d_k": d_k} | fixed)
    q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
    return Case(call(q, draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)), name, s)


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


multiplied = by_knob("product")

PRODUCTS = (
    multiplied("keys-not-transposed", lambda q, k: q @ k),
    multiplied("elementwise-product", lambda q, k: q * k.mT, lambda q, k: q * k),
    multiplied("query-and-key-swapped", lambda q, k: dot_products(k, q)),
    multiplied("keys-on-the-left", lambda q, k: k.mT @ q, alone=True),
    multiplied("queries-transposed", lambda q, k: q.mT @ k, alone=True),
    multiplied("keys-compared-with-keys", lambda q, k: dot_products(k, k)),
    multiplied("queries-compared-with-queries", lambda q, k: dot_products(q, q)),
    multiplied(
        "axes-swapped-from-the-front",
        lambda q, k: q @ k.permute(*reversed(range(k.ndim))),  # k.T
        lambda q, k: q @ k.transpose(0, 1),
    ),
    multiplied(
        "axes-of-a-batch-alone",
        lambda q, k: q @ k.transpose(1, 2),
        lambda q, k: q @ k.permute(0, 2, 1),
        alone=True,
    ),
)

# Not a product, but a softmax that follows the product and was not asked for.
ALREADY_WEIGHTS = by_knob("after")(
    "softmax-already-applied", lambda scores: scores.softmax(-1), lambda scores: scores.softmax(-2)
)


def right_for(seen: Seen) -> str:
    """Return the inputs, in words, for which an answer is right although it counts axes from the front."""
    batch = bool(seen.case.script[-1].args[0].ndim > 2)
    return t("one sequence, but not for a batch") if batch else t("a batch, but not for one sequence")
