"""5.8: find the fault of a causal multi-head attention."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.questions.shared import diagnosis
from qkv.words import mark, t

MAX_NUMBERS = 50_000  # of the scores, of the input and of the weights
near = functools.partial(torch.allclose, atol=1e-4)


def check_inputs(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int) -> None:
    """Raise an error, the same for every module, if the inputs are not those of a module or would take much time.

    It is a TypeError for types and dtypes, else a ValueError.
    """
    matrices = (w_q, w_k, w_v, w_o)
    if not all(isinstance(y, Tensor) and y.is_floating_point() and y.dtype == x.dtype for y in (x, *matrices)):
        raise TypeError(t("x and the four matrices are tensors of one floating-point dtype"))
    if x.ndim != 3 or min(x.shape) < 1 or any(w.shape != (x.shape[-1],) * 2 for w in matrices):
        raise ValueError(t("x is (B, n, d_model), and each of the four matrices is (d_model, d_model)"))
    if not isinstance(n_heads, int) or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(t("n_heads is a whole number that divides d_model"))
    if max(x.shape[0] * n_heads * x.shape[1] ** 2, x.numel(), x.shape[-1] ** 2) > MAX_NUMBERS:
        raise ValueError(t("the scores, x and each matrix may have {most} numbers", most=f"{MAX_NUMBERS:,}"))


def split_heads(t: Tensor, n_heads: int) -> Tensor:
    return t.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (B, H, n, d_head)


def merge_heads(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(-2)  # (B, n, d_model)


def future_hidden(scores: Tensor) -> Tensor:
    return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -math.inf)


def module_of(
    split: Callable[[Tensor, int], Tensor] = split_heads,
    scale: Callable[[int, int], float] = lambda d_head, d_model: math.sqrt(d_head),
    weigh: Callable[[Tensor], Tensor] = lambda scores: future_hidden(scores).softmax(-1),
    merge: Callable[[Tensor], Tensor] = merge_heads,
) -> diagnosis.Module:
    """Return a module(x, w_q, w_k, w_v, w_o, n_heads): causal multi-head attention. Each argument replaces one step.

    By default it has no fault. The module raises what `check_inputs` does.
    """

    def module(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int) -> Tensor:
        check_inputs(x, w_q, w_k, w_v, w_o, n_heads)
        q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
        scores = q @ k.mT / scale(q.shape[-1], x.shape[-1])
        return merge(weigh(scores) @ v) @ w_o

    return module


FAULTS: dict[str, diagnosis.Module] = {
    "none": module_of(),
    "heads split by view": module_of(split=lambda t, n: t.reshape(t.shape[0], n, t.shape[1], -1)),
    "heads merged by view": module_of(merge=lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1)),
    "no scale": module_of(scale=lambda d_head, d_model: 1.0),
    "scale of d_model": module_of(scale=lambda d_head, d_model: math.sqrt(d_model)),
    "softmax over queries": module_of(weigh=lambda scores: future_hidden(scores).softmax(-2)),
    "mask after softmax": module_of(weigh=lambda scores: scores.softmax(-1).tril()),
    "mask turned": module_of(weigh=lambda scores: future_hidden(scores.mT).mT.softmax(-1)),
    "no mask": module_of(weigh=lambda scores: scores.softmax(-1)),
}

PROBES = {
    "heads split by view": mark("two heads; change the last token only, and see whether an earlier row changes."),
    "heads merged by view": mark("two heads and W_Q = 0; change one head's values by W_V: which columns change?"),
    "no scale": mark("make W_Q ten times as large, and compare the weights with those of a scale of √d_head."),
    "scale of d_model": mark("several heads, so that d_head differs from d_model, and scores that are not 0."),
    "softmax over queries": mark("W_Q = 0, and all tokens with the same value: which rows give that value back?"),
    "mask after softmax": mark("W_Q = 0, and all tokens with the same value: do the weights of a row sum to 1?"),
    "mask turned": mark("one head; change the first token, then the last: which rows of the output change?"),
    "no mask": mark("one head; change the last token: which rows of the output change?"),
}

GENERATOR = torch.Generator().manual_seed(8)
PROBE = torch.randn(2, 5, 6, generator=GENERATOR)
WEIGHTS = torch.randn(4, 6, 6, generator=GENERATOR)


def diagnose(module: diagnosis.Module) -> str:
    """Return the name of the module's fault, or "none": the one whose own module gives the same output.

    Raises:
        StopIteration: none of them does.
    """
    out = module(PROBE, *WEIGHTS, 2)
    return next(name for name, known in FAULTS.items() if near(out, known(PROBE, *WEIGHTS, 2)))


QUESTION = diagnosis.diagnosis(diagnose, "module", FAULTS, PROBES, points=5)
