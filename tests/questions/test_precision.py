"""One rule says how far a right answer may be from the reference: float32 inside is no mistake, 2 % always is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from qkv.questions import chapters, questions_of
from qkv.questions.engine import Case, call
from qkv.questions.engine.precision import FLOAT64, with_bound
from qkv.questions.engine.question import Question
from qkv.sandboxed.observations import results_of
from tests.questions.test_twins import drawn_once, verdict, verdict_in

EVERY = [question for chapter in chapters() for question in questions_of(chapter).values()]
FLOATS = [question for question in EVERY if not question.of_implementations and question.differs is None]


def has_float64(question: Question) -> bool:
    return any(case.name == "float64" for case in drawn_once(question))


def cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    return type(value)(cast(item, dtype) for item in value) if isinstance(value, (tuple, list)) else value


def in_float32(answer: Callable[..., Any]) -> Any:
    """Return the answer with float32 inside: its inputs are cast, and its results are cast back."""
    if isinstance(answer, type) and issubclass(answer, nn.Module):

        class Inside(answer):
            def forward(self, *args: Any, **kwargs: Any) -> Any:
                dtype = next(iter(self.parameters())).dtype
                given = {name: cast(value, torch.float32) for name, value in kwargs.items()}
                parameters = {f"module.{name}": p.float() for name, p in self.named_parameters()}
                result = torch.func.functional_call(Plain(self), parameters, tuple(cast(args, torch.float32)), given)
                return cast(result, dtype)

            def plain(self, *args: Any, **kwargs: Any) -> Any:
                return super().forward(*args, **kwargs)

        class Plain(nn.Module):
            def __init__(self, module: Any) -> None:
                super().__init__()
                self.module = module

            def forward(self, *args: Any, **kwargs: Any) -> Any:
                return self.module.plain(*args, **kwargs)

        return Inside

    def inside(*args: Any, **kwargs: Any) -> Any:
        kinds = [t.dtype for t in args if isinstance(t, Tensor) and t.is_floating_point()]
        given = {name: cast(value, torch.float32) for name, value in kwargs.items()}
        return cast(answer(*(cast(arg, torch.float32) for arg in args), **given), kinds[0] if kinds else torch.float32)

    return inside


FUNCTIONS_OF_OTHERS = (
    "7.1",
    "7.2",
    "7.7",
    "8.2",
    "9.3",
)  # a cache or a callable that is handed over has a dtype of its own


@pytest.mark.parametrize(
    "question", [q for q in FLOATS if has_float64(q) and q.id not in FUNCTIONS_OF_OTHERS], ids=lambda q: q.id
)
def test_float32_inside_is_accepted(question: Question):
    found = verdict(question, in_float32(question.reference))
    assert found.status == "passed", found


def scaled(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value * 1.02 if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(map(scaled, value))
    return value * 1.02 if isinstance(value, float) else value


@pytest.mark.parametrize("question", FLOATS, ids=lambda q: q.id)
def test_a_scale_that_is_2_percent_off_is_rejected(question: Question):
    answer = question.reference
    if isinstance(answer, type):
        method = "forward" if issubclass(answer, nn.Module) else "append"
        right = getattr(answer, method)
        wrong: Any = type("Scaled", (answer,), {method: lambda self, *a, **k: scaled(right(self, *a, **k))})
    else:
        wrong = lambda *a, **k: scaled(answer(*a, **k))  # noqa: E731
    floats = [t for case in drawn_once(question) for t in results_of(answer, case).results if changes(t)]
    if floats:
        assert verdict_in(question, wrong, drawn_once(question)).status == "failed"


def gradients_off(value: Any) -> Any:
    """Return the same numbers with gradients that are larger by 1/2,000."""
    if isinstance(value, Tensor):
        return value + 5e-4 * (value - value.detach()) if value.is_floating_point() else value
    return type(value)(map(gradients_off, value)) if isinstance(value, (tuple, list)) else value


@pytest.mark.parametrize(
    "question",
    [q for q in FLOATS if q.gradients and has_float64(q) and not isinstance(q.reference, type)],
    ids=lambda q: q.id,
)
def test_a_gradient_that_float32_could_not_round_so_far_is_rejected(question: Question):
    found = verdict_in(question, lambda *a, **k: gradients_off(question.reference(*a, **k)), drawn_once(question))
    assert found.misconception == "gradient-cut", found


def changes(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(changes, value))
    return isinstance(value, float) or (isinstance(value, Tensor) and value.is_floating_point())


def test_the_bound_is_eight_times_the_error_of_float32():
    def mean(x):
        return x.mean()

    x = torch.randn(1000, dtype=torch.float64) + 1000
    case = Case(call(x))
    error = abs(float(mean(x.float())) - float(mean(x)))
    rounding = float(mean(x)) * torch.finfo(torch.float32).eps
    bound = with_bound(case, mean, [mean(x)]).tolerance
    assert bound == pytest.approx(8 * max(error, rounding) + FLOAT64)
    own = replace(case, tolerance=1e-8)
    assert with_bound(own, mean, [mean(x)]) is own, "a case may have a tolerance of its own"
    assert with_bound(Case(call(x.float())), mean, [mean(x.float())]).tolerance is None, "four decimals in float32"
