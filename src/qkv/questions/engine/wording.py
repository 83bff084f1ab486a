"""Describe values, shapes and steps in words that a learner knows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine.question import Question
from qkv.sandboxed.cases import Case, Step, Where
from qkv.sandboxed.recording import OtherValue


def describe(value: Any) -> str:
    """Describe a value: "a float32 tensor of shape (3, 4)", "the number 2.5", "a NumPy array of shape (3,)"."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"{_a(dtype_name(value.dtype))} tensor of shape {tuple(value.shape)}"
    if isinstance(value, OtherValue):
        return _a(value.kind) + (f" {value.text}" if value.text.startswith("of shape") else "")
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}{_members(value)}"
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return f"the float {value!r}"  # "the number 1" would read as a whole number
    return f"the {'whole number' if isinstance(value, int) else 'number'} {number(value)}"


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _members(values: tuple[Any, ...] | list[Any]) -> str:
    """Describe the members of a list or tuple; more than three numbers, or lists, are not described one by one."""
    if values and all(isinstance(value, (tuple, list)) for value in values):
        return " lists" if len(values) > 1 else " list"
    if len(values) > 3 and all(isinstance(value, (int, float)) for value in values):
        return " numbers"
    return f": {', '.join(map(describe, values[:3]))}" + ", …" * (len(values) > 3)


def are(name: str) -> str:
    """Return "are" for a plural name, such as "weights", and "is" for any other."""
    return "are" if name.endswith("s") and not name.endswith(("ss", "bias")) else "is"


def type_name(value: Any) -> str:
    """Return the name of a value's type; for a list or tuple that has tensors: "list of tensors"."""
    if isinstance(value, (tuple, list)) and any(isinstance(item, Tensor) for item in value):
        return f"{type(value).__name__} of tensors"
    return value.kind if isinstance(value, OtherValue) else type(value).__name__


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def number(value: Any) -> str:
    """Write a float with four significant digits, and any other value in at most 40 characters."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)[:40]


def two_numbers(seen: Any, want: Any) -> tuple[str, str]:
    """Write two floats with as many digits as show that they differ, at least four; other values as `number` does."""
    texts = number(seen), number(want)
    for digits in range(5, 18):
        if texts[0] != texts[1] or not (isinstance(seen, float) and isinstance(want, float)):
            break
        texts = f"{seen:.{digits}g}", f"{want:.{digits}g}"
    return texts


def input_name(question: Question, case: Case, where: Where) -> str:
    """Return the name of an argument: the question's name for it, or "argument 1 of `append`"."""
    step, key = where
    if isinstance(key, str):
        return key
    at = case.script[step] if step >= 0 else None
    if at is not None and at.method is None and at.act == "call" and key < len(question.inputs):
        return question.inputs[key]
    return f"argument {key + 1} of {_step_label(at)}" if at is not None else "an object that was passed to it"


def tried_with(question: Question, case: Case) -> str:
    """Describe the inputs of a case: "q (3, 5), k (4, 5) (float64)"."""
    step = case.quoted_step
    parts = [
        f"{input_name(question, case, (step, i))} {_brief(value)}"
        for i, value in enumerate(case.script[step].args)
        if _brief(value)
    ]
    shown = ", ".join(parts)
    if question.of_implementations:
        return f"one of the implementations: {case.name}"
    return f"{shown} ({case.name})" if case.name not in ("", "plain") else shown


def _brief(value: Any) -> str:
    """Describe an input in short: "= 2", "= [1, 0]", "(3, 5)" for a shape; "" if nothing short describes it."""
    if isinstance(value, Tensor):
        short = value.numel() <= 6 and value.ndim <= 1 and not value.is_floating_point()
        if short:
            return f"= {value.tolist()}"
        of_shape = "" if value.is_floating_point() else "of shape "  # "ids (7,)" would read as an id
        return f"{of_shape}{tuple(value.shape)}"
    if isinstance(value, (int, float)):
        return f"= {number(value)}"
    if isinstance(value, list):
        return f"= {value}" if len(str(value)) < 40 else f"(a list of {len(value)})"
    return ""


def structure_text(question: Question, seen: Any, want: Any) -> str:
    """Say that the number of results is wrong."""
    names = " and ".join(question.outputs)
    asked = f"{_count(len(want))} were asked for: {names}" if isinstance(want, (tuple, list)) else f"one was: {names}"
    if isinstance(seen, list) and isinstance(want, Tensor) and not any(isinstance(one, Tensor) for one in seen):
        return type_text(names, seen, want)
    if isinstance(seen, (tuple, list)):
        return f"{_count(len(seen)).capitalize()} things came back, {describe(seen)}; {asked}."
    return f"One thing came back, {describe(seen)}; {asked}."


def _count(n: int) -> str:
    return ("no", "one", "two", "three", "four", "five")[n] if n < 6 else str(n)


def type_text(name: str, seen: Any, want: Any) -> str:
    """Say that a result has the wrong type."""
    missing = " Does every way through it end in a `return`?" if seen is None else ""
    return f"Your {name} {are(name)} {describe(seen)}; {describe(want)} was expected.{missing}"


def shape_text(name: str, shape: str, seen: Tensor, want: Tensor) -> str:
    """Say that a result has the wrong shape; `shape` is the expected one in letters, such as "(..., n_q, d_v)"."""
    text = f"The shape of your {name} is {tuple(seen.shape)}; {tuple(want.shape)} was expected"
    text += f", that is {shape}." if shape else "."
    if seen.ndim == want.ndim and sorted(seen.shape) == sorted(want.shape):
        return f"{text} The sizes are right, their order is not: which axis is which?"
    return text


def nan_text(name: str, strange: Tensor) -> str:
    """Say where a result has NaN; `strange` is True at the places where no NaN was expected."""
    first = strange.nonzero()[0].tolist()
    place = f", the first at {first}" if first else ""
    count = f"{int(strange.sum())} of {strange.numel()} places"
    return f"There is NaN in your {name}, in {count}{place}. Which step was 0/0, or ∞ − ∞?"


def in_step(case: Case, i: int) -> str:
    """Return the start of a message about step i, "In step 2, `append`: "; "" if the case has only one call."""
    calls = [step for step in case.script if step.act == "call"]
    return f"In {step_name(case, i)}: " if len(calls) > 1 and i < len(case.script) else ""


def step_name(case: Case, i: int) -> str:
    """Return the number and the kind of step i, counted from 1: "step 2, `append`"."""
    return f"step {i + 1}, {_step_label(case.script[i])}"


def _step_label(step: Step) -> str:
    """Return how messages name a step of a case."""
    if step.act == "make":
        return "making the object"
    if step.act == "load":
        return "loading the weights"
    if step.method == "__len__":
        return "`len`"
    return f"`{step.method}`" if step.method else "the call"
