"""8.5: find the fault of a transformer block."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.shared import diagnosis
from qkv.words import mark, t

MAX_NUMBERS = 50_000  # of the scores, of the input and of each matrix
near = functools.partial(torch.allclose, atol=1e-4)
Step = Callable[[Tensor], Tensor]


def check_inputs(x: Tensor, *matrices: Tensor) -> None:
    """Raise an error, the same for every block, if x and the six matrices do not fit or would take much time.

    It is a TypeError for types and dtypes, and a ValueError for shapes and sizes.
    """
    if not all(isinstance(y, Tensor) and y.is_floating_point() and y.dtype == x.dtype for y in (x, *matrices)):
        raise TypeError(t("x and the six matrices are tensors of one floating-point dtype"))
    w_1 = matrices[4]
    d, hidden = x.shape[-1] if x.ndim else 0, w_1.shape[-1] if w_1.ndim else 0
    shapes = [(d, d)] * 4 + [(d, hidden), (hidden, d)]
    if x.ndim != 3 or min(*x.shape, hidden) < 1 or [tuple(w.shape) for w in matrices] != shapes:
        raise ValueError(t("x is (B, n, d), the first four matrices (d, d), w_1 (d, d_hidden), and w_2 (d_hidden, d)"))
    tokens = x.shape[0] * x.shape[1]
    if max(tokens * max(x.shape[1], d, hidden), d * max(d, hidden)) > MAX_NUMBERS:
        raise ValueError(t("the scores, x and each matrix may have {most} numbers", most=f"{MAX_NUMBERS:,}"))


def norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def norm_over_tokens(x: Tensor) -> Tensor:
    return ((x - x.mean(1, keepdim=True)) / (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()).to(x.dtype)


def before_each(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    x = x + attend(norm(x))
    return x + mlp(norm(x))


def block_of(
    order: Callable[[Tensor, Step, Step], Tensor] = before_each, masked: bool = True, act: Step = F.relu
) -> diagnosis.Module:
    """Return a block(x, w_q, w_k, w_v, w_o, w_1, w_2) of one head. By default it has no fault.

    `order(x, attend, mlp)` puts its halves together, `masked` says whether it has a causal mask, and `act` is the
    activation of the MLP. The block raises what `check_inputs` does.
    """

    def block(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, w_1: Tensor, w_2: Tensor) -> Tensor:
        check_inputs(x, w_q, w_k, w_v, w_o, w_1, w_2)

        def attend(x: Tensor) -> Tensor:
            scores = x @ w_q @ (x @ w_k).mT / math.sqrt(x.shape[-1])
            future = torch.ones(scores.shape[-2:]).triu(1).bool()
            scores = scores.masked_fill(future, -math.inf) if masked else scores
            return scores.softmax(-1) @ (x @ w_v) @ w_o

        return order(x, attend, lambda x: act(x @ w_1) @ w_2)

    return block


def first_residual_missing(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    x = attend(norm(x))
    return x + mlp(norm(x))


def second_residual_missing(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    x = x + attend(norm(x))
    return mlp(norm(x))


def after_each(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    x = norm(x + attend(x))
    return norm(x + mlp(x))


def on_the_stream(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    x = norm(x)
    x = norm(x + attend(x))
    return x + mlp(x)


def over_tokens(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    x = x + attend(norm_over_tokens(x))
    return x + mlp(norm_over_tokens(x))


def beside(x: Tensor, attend: Step, mlp: Step) -> Tensor:
    return x + attend(norm(x)) + mlp(norm(x))


FAULTS: dict[str, diagnosis.Module] = {
    "none": block_of(),
    "no residual around attention": block_of(first_residual_missing),
    "no residual around the MLP": block_of(second_residual_missing),
    "norm after each sum": block_of(after_each),
    "norm on the stream": block_of(on_the_stream),
    "norm over tokens": block_of(over_tokens),
    "MLP beside attention": block_of(beside),
    "no activation": block_of(act=lambda x: x),
    "no mask": block_of(masked=False),
}

PROBES = {
    "no residual around attention": mark("w_o = 0 and w_2 = 0: a right block returns x."),
    "no residual around the MLP": mark("w_2 = 0, and then w_o = 0 as well: a right block returns x."),
    "norm after each sum": mark("w_o = 0 and w_2 = 0, and x ten times as large: does the output grow with it?"),
    "norm on the stream": mark("w_o = 0 and w_2 = 0, and x ten times as large: does the output grow with it?"),
    "norm over tokens": mark("w_o = 0; change one token, and see which rows of the output change."),
    "MLP beside attention": mark("w_q = 0, and a large w_o: does the MLP see what attention has added?"),
    "no activation": mark("w_o = 0; what the MLP adds for w_1 and for −w_1: do the two cancel?"),
    "no mask": mark("w_2 = 0; change the last token, and see which rows of the output change."),
}

GENERATOR = torch.Generator().manual_seed(5)
PROBE = 3 * torch.randn(2, 5, 6, generator=GENERATOR)
WEIGHTS = (
    *torch.randn(4, 6, 6, generator=GENERATOR),
    *(torch.randn(*s, generator=GENERATOR) for s in ((6, 8), (8, 6))),
)


def diagnose_block(block: diagnosis.Module) -> str:
    """Return the name of the block's fault, or "none": the one whose own block gives the same output.

    Raises:
        StopIteration: none of them does.
    """
    out = block(PROBE, *WEIGHTS)
    return next(name for name, known in FAULTS.items() if near(out, known(PROBE, *WEIGHTS)))


QUESTION = diagnosis.diagnosis(diagnose_block, "block", FAULTS, PROBES, points=4)
