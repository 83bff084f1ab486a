"""Slips: a sign, a rounding or a cut at one step of an answer that is right otherwise.

A question writes its answer once more, step by step, and says what each step is called:

    def scores_in_steps(at: At) -> Callable[..., Tensor]:
        return lambda q, k: at("scores", at("products", q @ k.mT) / math.sqrt(q.shape[-1]))

    *slips(scores_in_steps, products="your products q · k", scores="your scores"),

Each step gives up to three wrong ideas, "scores-negated", "scores-rounded" and "gradient-cut-at-scores", each with a
twin in which that step alone goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Misconception

At = Callable[[str, Any], Any]  # of a step's name and its value: the value, or what a slip makes of it
InSteps = Callable[[At], Callable[..., Any]]


def negated(value: Any) -> Any:
    return ~value if isinstance(value, Tensor) and value.dtype == torch.bool else -value


def rounded(value: Any) -> Any:
    return value.round() if isinstance(value, Tensor) else float(round(value))


def cut(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


KINDS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "negated": (
        "{}-negated",
        "What you give is right but for one sign: that of {}. Where does a minus come in, or go?",
        negated,
    ),
    "rounded": (
        "{}-rounded",
        "What you give is what comes of rounding {} to whole numbers. Which step does that, and what is lost there?",
        rounded,
    ),
    "cut": (
        "gradient-cut-at-{}",
        "Your values are right, but the way back ends at {}: what comes before learns nothing. Was it detached there, "
        "or made anew from its numbers?",
        cut,
    ),
}


def slips(in_steps: InSteps, kinds: str = "negated rounded cut", **steps: str) -> tuple[Misconception, ...]:
    """Give the wrong ideas of these kinds at these steps; a step's name has _ where its slugs have hyphens."""
    return tuple(slip(in_steps, kind, step, words) for step, words in steps.items() for kind in kinds.split())


def slip(in_steps: InSteps, kind: str, step: str, words: str) -> Misconception:
    """Give one wrong idea: this kind of slip at this step."""
    slug, says, change = KINDS[kind]
    twin = in_steps(lambda name, value: change(value) if name == step else value)
    return Misconception(slug.format(step.replace("_", "-")), says.format(words), twin=twin)
