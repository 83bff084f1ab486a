"""Compare the gradients of an answer with those of the reference.

These functions are pure: they take observations and return differences.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from qkv.questions.engine.difference import Difference
from qkv.questions.engine.precision import FLOAT32_GRADIENTS, gradient_tolerance
from qkv.questions.engine.question import Question
from qkv.questions.engine.wording import came_from, input_name
from qkv.sandboxed.cases import Case
from qkv.sandboxed.observations import Observation
from qkv.words import sentences, t


def gradient_differences(question: Question, case: Case, seen: Observation, want: Observation) -> Iterator[Difference]:
    """Yield a difference for each input and parameter whose gradient is missing, NaN or wrong.

    If the backward pass raised, that is the only one. If the answer's gradients were not taken, there is none. A
    gradient that the reference lacks, and a missing one that should be 0, do not count.
    """
    if seen.gradient_raised is not None:
        raised = seen.gradient_raised
        error = f"{raised.type}: {raised.text.rstrip('.')}"
        text = t("With inputs that require gradients it raised {error}.", error=error)
        yield Difference("gradient", sentences(text, came_from(raised)), "raised")
        return
    if seen.gradients is None:
        return
    wanted = want.gradients or {}
    for where, expected in wanted.items():
        if where[1] in seen.absent:
            continue
        got = seen.gradients.get(where)
        if question.gradient_part and got is not None and expected is not None and got.shape == expected.shape:
            got, expected = question.gradient_part(case, got), question.gradient_part(case, expected)
        name = input_name(question, case, where)
        if expected is None or (got is None and expected.abs().max() < 1e-6):
            continue
        if got is None:
            yield Difference("gradient", no_gradient_text(name), (where, "none"))
        elif got.isnan().any() and not expected.isnan().any():
            text = t("The values are right, but the gradient of {name} is NaN.", name=name)
            yield Difference("gradient", text, (where, "nan"))
        elif not _near(got, expected, gradient_tolerance(case, question.judge, wanted, where)):
            text = t("The values are right, but the gradient of {name} is wrong: a part of it is cut off.", name=name)
            yield Difference("gradient", text, (where, "part"))


def no_gradient_text(names: str) -> str:
    """Say which inputs no gradient reaches, and ask for the step that stops it."""
    return t(
        "The values are right, but no gradient reaches {names}. "
        "Which step copies numbers out of a tensor, or stops the gradient?",
        names=names,
    )


def same_gradients(one: Observation, other: Observation) -> bool:
    """Check whether two observations have the same gradients: for each input, both have none or equal numbers.

    If gradients of one were not taken, those of the other must not have been either.
    """
    if one.gradients is None or other.gradients is None:
        return one.gradients is other.gradients
    return all(
        a is b or (a is not None and b is not None and _gradients_close(a, b))
        for a, b in ((value, other.gradients.get(where)) for where, value in one.gradients.items())
    )


def _gradients_close(seen: Tensor, other: Tensor) -> bool:
    """Check whether the gradients of two wrong answers are equal, as far as float32 can tell."""
    return _near(seen, other, FLOAT32_GRADIENTS * max(1.0, float(other.nan_to_num(0.0, 0.0, 0.0).abs().max())))


def _near(seen: Tensor, want: Tensor, tolerance: float) -> bool:
    return torch.allclose(seen.double(), want.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
