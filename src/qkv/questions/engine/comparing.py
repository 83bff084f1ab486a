"""Compare the observations of an answer with those of the reference, and describe the differences.

These functions are pure: they take observations and return differences. None of them runs an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine.difference import Difference
from qkv.questions.engine.gradients import gradient_differences
from qkv.questions.engine.precision import lacks_float64, tolerance_of
from qkv.questions.engine.question import Question
from qkv.questions.engine.side_effects import side_effects
from qkv.questions.engine.wording import (
    came_from,
    describe,
    dtype_name,
    expected_text,
    in_step,
    nan_text,
    number,
    quoted,
    shape_text,
    structure_text,
    two_numbers,
    type_name,
    type_text,
)
from qkv.sandboxed.cases import Case, Step
from qkv.sandboxed.observations import Observation
from qkv.sandboxed.recording import OtherValue, Raised
from qkv.words import mark, retold, sentences, t, translated

NUMBERS = 1e-6  # relative: a number may come from float32


def differences(question: Question, case: Case, seen: Observation, want: Observation) -> Iterator[Difference]:
    """Yield all differences in one case: first the results, then side effects, then gradients.

    In a case that must raise an exception, the first difference is about that instead of results.
    """
    if case.raises:
        yield from _raise_differences(question, case, seen)
    else:
        yield from result_differences(question, case, seen, want)
    yield from side_effects(question, case, seen, want)
    if question.gradients and case.gradients:
        yield from gradient_differences(question, case, seen, want)


def agree(question: Question, case: Case, seen: Observation, other: Observation) -> bool:
    """Check whether two answers do the same in a case: they return equal results, and raise the same exception or none.

    Dtypes do not count, and only the type of an exception does. If parameters could not be loaded, the reasons must be
    the same.
    """
    if seen.lacking or other.lacking:  # without the weights of the case, results cannot be compared
        return set(seen.lacking) == set(other.lacking)
    types = [o.raised.type if o.raised else None for o in (seen, other)]
    if types[0] != types[1] or len(seen.results) != len(other.results):
        return False
    return all(d.kind == "dtype" for d in result_differences(question, case, seen, other, compare_raised=False))


# ── what came back ────────────────────────────────────────────────────────────────────────────────


def result_differences(
    question: Question, case: Case, seen: Observation, want: Observation, compare_raised: bool = True
) -> Iterator[Difference]:
    """Yield the differences between the results of the steps, as far as both observations have results.

    If the parameters could not be loaded, that is the only one. With `compare_raised`, an exception is the last one.
    """
    if seen.lacking:
        reasons = t("; ").join(retold(why, LACKING) for why in seen.lacking)
        text = t("Your class cannot take the check's parameters: {reasons}.", reasons=reasons)
        yield Difference("lacking", text.replace("?.", "?").replace("？。", "？"), seen.lacking)
        return
    for i in _compared_steps(case):
        if i < min(len(seen.results), len(want.results)):
            for d in _step_differences(question, case, case.script[i], seen.results[i], want.results[i]):
                yield replace(d, text=in_step(case, i, d.text), place=(i, d.place))
    if compare_raised and seen.raised is not None:
        yield Difference("raised", _raised_text(question, case, seen.raised, len(seen.results), want), seen.raised.type)


def _compared_steps(case: Case) -> list[int]:
    """Return the steps whose results are compared: all calls except `eval` and `train`, which return the module."""
    return [i for i, step in enumerate(case.script) if step.act == "call" and step.method not in ("eval", "train")]


def _step_differences(question: Question, case: Case, step: Step, seen: Any, want: Any) -> Iterator[Difference]:
    """Yield the differences between two results of one step, output by output.

    If they do not have the same number of outputs, that is the only one. A state that the step carries is not compared.
    For a question with an effect, the effects of both results are compared in their places. An effect that raises a
    ValueError is a difference of structure.
    """
    names = ("length",) if step.method == "__len__" else question.outputs
    if question.effect:
        try:
            seen, want = question.effect(case, seen), question.effect(case, want)
        except ValueError as error:
            yield Difference("structure", str(error))
            return
    if step.times > 1 and isinstance(seen, tuple) and isinstance(want, Tensor):
        name = question.output_names[0]
        text = expected_text(name, describe(seen[0]), t("a whole number"))
        yield Difference("type", text, type_name(seen[0]), name)
        return
    if isinstance(want, (tuple, list)):
        if not isinstance(seen, (tuple, list)) or len(seen) != len(want):
            yield Difference("structure", structure_text(question, seen, want))
            return
        compared = len(want) - step.carries
        for i, (a, b) in enumerate(zip(seen[:compared], want[:compared], strict=True)):
            name, _, shape = (names[i] if i < len(names) else f"item {i}").partition(" ")
            difference = _difference(question, case, name, shape, a, b)
            if difference:
                yield replace(difference, place=(i, difference.place), name=name)
        return
    name, _, shape = names[0].partition(" ")
    if isinstance(seen, (tuple, list)) and isinstance(want, Tensor):
        yield Difference("structure", structure_text(question, seen, want))
        return
    difference = _difference(question, case, name, shape, seen, want)
    if difference:
        yield difference


def _difference(question: Question, case: Case, name: str, shape: str, seen: Any, want: Any) -> Difference | None:
    """Return how one output differs from the expected value, or None. `shape` is its shape in letters, for messages.

    If the type is wrong, the message ends with what the question says `about` its result.
    """
    if isinstance(want, Tensor):
        difference = _tensor_difference(question, case, name, shape, seen, want)
    elif isinstance(want, OtherValue):
        same = isinstance(seen, OtherValue) and seen.kind == want.kind
        same = same and (want.tensor is None or (seen.tensor is not None and close(case, seen.tensor, want.tensor)))
        difference = None if same else Difference("type", type_text(name, seen, want))
    elif isinstance(want, (tuple, list)):
        difference = _members_difference(question, case, name, seen, want)
    else:
        difference = _plain_difference(question, case, name, seen, want)
    if difference and difference.kind == "type" and question.about:
        return replace(difference, text=sentences(difference.text, translated(question.about)))
    return difference


def _members_difference(question: Question, case: Case, name: str, seen: Any, want: Any) -> Difference | None:
    """Return the first difference between two lists or tuples within a result, member by member, or None.

    A different length, or a value that is no list or tuple, is a difference of type.
    """
    if not isinstance(seen, (tuple, list)) or len(seen) != len(want):
        return Difference("type", type_text(name, seen, want), type_name(seen), name)
    pairs = zip(seen, want, strict=True)
    return next((d for a, b in pairs if (d := _difference(question, case, name, "", a, b))), None)


def _tensor_difference(
    question: Question, case: Case, name: str, shape: str, seen: Any, want: Tensor
) -> Difference | None:
    """Return how a result differs from the expected tensor: by its type, shape, nan, values or dtype; or None.

    If the question has `differs`, that decides in the place of values and dtype.
    """
    if not isinstance(seen, Tensor):
        return Difference("type", type_text(name, seen, want), type_name(seen), name)
    if seen.shape != want.shape:
        return Difference("shape", shape_text(name, shape, seen, want), tuple(seen.shape), name, seen, want)
    if question.differs:
        text = question.differs(case, seen, want)
        return Difference("values", text, None, name, seen, want) if text else None
    strange = seen.isnan() & ~want.isnan() if seen.is_floating_point() else torch.zeros(())
    if strange.any():
        return Difference("nan", nan_text(name, strange), None, name, seen, want)
    if not close(case, seen, want):
        return Difference("values", t("The values of your {name} differ.", name=name), None, name, seen, want)
    both_floating = seen.is_floating_point() and want.is_floating_point()
    if seen.dtype != want.dtype and not (question.any_float and both_floating) and not lacks_float64(seen, want):
        text = t(
            "The values of your {name} are right, but their dtype is {seen}; {want} was expected.",
            name=name,
            seen=dtype_name(seen.dtype),
            want=dtype_name(want.dtype),
        )
        return Difference("dtype", text, None, name)
    return None


def _plain_difference(question: Question, case: Case, name: str, seen: Any, want: Any) -> Difference | None:
    """Return how a value differs from the expected one, which is a number, a string or None.

    Return None if it does not.

    A 0-d tensor counts as its number. Floats may differ by a tolerance, and a whole number may stand for a float. The
    question's `wrong_number` may say what is wrong with a float, and its `differs` compares texts.
    """
    tolerance = NUMBERS
    if isinstance(seen, Tensor) and seen.ndim == 0 and want is not None:
        tolerance, seen = max(tolerance, tolerance_of(case, seen)), seen.item()
    if isinstance(want, float) and type(seen) in (int, float):
        tolerance = case.tolerance or tolerance
        if seen != seen and want == want:
            return Difference("nan", expected_text(name, "NaN", t("a number")), None, name)
        near = seen == want or abs(seen - want) <= tolerance * max(1.0, abs(want)) or (seen != seen and want != want)
        if near:
            return None
        said = question.wrong_number(case, float(seen)) if question.wrong_number else None
        return Difference(
            "values", said or expected_text(name, *two_numbers(float(seen), want)), None, name, seen, want
        )
    if isinstance(want, str) and question.differs:
        said = question.differs(case, seen, want)
        return Difference("values", said, None, name, seen, want) if said else None
    if type(seen) is not type(want):
        return Difference("type", type_text(name, seen, want), type_name(seen), name)
    text = expected_text(name, number(seen), number(want))
    return None if seen == want else Difference("values", text, None, name, seen, want)


def close(case: Case, seen: Tensor, want: Tensor) -> bool:
    """Check whether two tensors have the same shape and the same numbers, whatever their dtypes.

    Floats may differ by `tolerance_of`, absolutely and relative to `want`, and NaN equals NaN. Integers and booleans
    have to be exact; beside booleans, an integer counts as True if it is not 0.
    """
    if seen.shape != want.shape:
        return False
    if not (seen.is_floating_point() or want.is_floating_point()):
        return torch.equal(seen.to(want.dtype), want) if seen.dtype != torch.bool else torch.equal(seen, want.bool())
    tolerance = tolerance_of(case, seen, want)
    return torch.allclose(seen.double(), want.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


# ── exceptions that the case requires ─────────────────────────────────────────────────────────────


def _raise_differences(question: Question, case: Case, seen: Observation) -> Iterator[Difference]:
    """Yield a difference if the answer does not raise the exception that the case requires.

    It may have returned a value, returned the exception, or raised another one.
    """
    if seen.raised is None and _is_exception(seen.results[-1:], case.raises):
        text = t(
            "For {kind} your answer returned {error}, as a value. Which statement raises it instead?",
            kind=translated(case.name),
            error=case.raises,
        )
        yield Difference("silent", text, "exception returned")
    elif seen.raised is None:
        text = t(
            "For {kind} your answer returned {value}; it should raise {error}.",
            kind=translated(case.name),
            value=describe(seen.results[-1]) if seen.results else t("nothing"),
            error=case.raises,
        )
        yield Difference("silent", text, "returned")
    elif case.raises not in seen.raised.types:
        text = t(
            "For {kind} your answer raised {raised}; it should raise {error}.",
            kind=translated(case.name),
            raised=seen.raised.type,
            error=case.raises,
        )
        yield Difference("silent", text, seen.raised.type)


def _is_exception(returned: tuple[Any, ...], name: str | None) -> bool:
    """Check whether an answer returned the exception, as a class or an object, instead of raising it."""
    value = returned[0] if returned else None
    return isinstance(value, OtherValue) and (value.kind == name or value.text == f"<class '{name}'>")


def _raised_text(question: Question, case: Case, raised: Raised, step: int, want: Observation) -> str:
    """Return the message about an exception that a step raised: its text, where it came from, and what was expected.

    What was expected is left out for repeated calls, and if several results are right.
    """
    making = case.script[step].act == "make"
    one_call = step < len(want.results) and case.script[step].act == "call" and case.script[step].times == 1
    one_right = one_call and not question.effect  # of several right results, it would describe the reference's
    text = sentences(
        t("Your answer raised {error}.", error=quoted(raised.type, raised.text)),
        came_from(raised) or _called_with(question, case.script[step]),
        _expected(question, case.script[step], want.results[step]) if one_right else "",
    )
    return t("When it is made: {text}", text=text) if making else in_step(case, step, text)


def _called_with(question: Question, step: Step) -> str:
    """Say with which arguments a step calls the answer, or makes an object of it."""
    if step.act == "make":
        return t("It is made with {n} arguments.", n=len(step.args))
    if not question.inputs:
        return t("It is called without arguments.")
    return t("It is called with {names}.", names=t(", ").join(question.inputs))


def _expected(question: Question, step: Step, want: Any) -> str:
    """Return a sentence that describes the expected result of a step; empty if it is None."""
    if want is None:
        return ""
    if isinstance(want, (tuple, list)):
        named = [f"{n} {describe(w)}" for n, w in zip(question.output_names, want, strict=False)]
        if step.carries:
            named[-1] = t("a {name} of any form", name=question.output_names[-1])
        return t("Expected: {values}.", values=t(" and ").join(named))
    return t("Expected: {values}.", values=describe(want))


LACKING = (
    mark("the object has no parameters: is it an nn.Module whose layers are attributes?"),
    mark("there is no nn.Linear layer called {name}; there are: {names}"),
    mark("{name} is a bare nn.Parameter, where an nn.Linear was expected"),
    mark("{name} has shape {seen}, where {want} was expected"),
)
