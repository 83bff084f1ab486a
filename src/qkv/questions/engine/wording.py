"""Describe values, shapes and steps in words that a learner knows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine.question import Question
from qkv.sandboxed.cases import Case, Step, Where
from qkv.sandboxed.recording import OtherValue, Raised
from qkv.words import mark, sentences, t, translated


def describe(value: Any) -> str:
    """Describe a value: "a float32 tensor of shape (3, 4)", "the number 2.5", "a NumPy array of shape (3,)"."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        dtype, shape = dtype_name(value.dtype), tuple(value.shape)
        if _has_an(dtype):
            return t("an {dtype} tensor of shape {shape}", dtype=dtype, shape=shape)
        return t("a {dtype} tensor of shape {shape}", dtype=dtype, shape=shape)
    if isinstance(value, OtherValue):
        return _other(value.kind, value.text)
    if isinstance(value, (tuple, list)):
        return _several(value)
    if isinstance(value, str):
        return t("the text {text}", text=repr(value))
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return t("the float {value}", value=repr(value))  # "the number 1" would read as a whole number
    if isinstance(value, int):
        return t("the whole number {value}", value=number(value))
    return t("the number {value}", value=number(value))


# How `qkv.sandboxed.recording` calls values that are neither tensors nor numbers, as far as these are words.
KINDS = (mark("NumPy array"), mark("NumPy number"), mark("something that can no longer be read"))


def _has_an(noun: str) -> bool:
    """Return whether English puts "an" before a noun, and not "a"."""
    return noun[:1].lower() in "aeiou"


def _other(kind: str, text: str) -> str:
    """Describe a value of another type: "a NumPy array of shape (3,)".

    The shape is left out if `text` does not begin with "of shape".
    """
    if text.startswith("of shape"):
        shape = text.removeprefix("of shape").strip()
        if _has_an(kind):
            return t("an {kind} of shape {shape}", kind=translated(kind), shape=shape)
        return t("a {kind} of shape {shape}", kind=translated(kind), shape=shape)
    return t("an {kind}", kind=translated(kind)) if _has_an(kind) else t("a {kind}", kind=translated(kind))


def _several(values: tuple[Any, ...] | list[Any]) -> str:
    """Describe a list or tuple by its kind, its length, and its first three members.

    The members are left out if all are lists, or if they are more than three numbers.
    """
    kind, n = type(values).__name__, len(values)
    if values and all(isinstance(value, (tuple, list)) for value in values):
        return t("a {kind} of {n} lists", kind=kind, n=n) if n > 1 else t("a {kind} of {n} list", kind=kind, n=n)
    if n > 3 and all(isinstance(value, (int, float)) for value in values):
        return t("a {kind} of {n} numbers", kind=kind, n=n)
    members = t(", ").join([*map(describe, values[:3]), *["…"] * (n > 3)])
    return t("a {kind} of {n}: {members}", kind=kind, n=n, members=members)


def are(name: str) -> str:
    """Return the verb of a name: "are" for a plural one, such as "weights", and "is" for any other."""
    return t("are") if name.endswith("s") and not name.endswith(("ss", "bias")) else t("is")


def quoted(kind: str, text: str) -> str:
    """Return an exception as a traceback shows it: its type, and its text if there is one."""
    return f"{kind}: {text.rstrip('.')}" if text else kind


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
    """Return the name of an argument for messages: the question's name for it, or "argument 1 of `append`".

    A parameter keeps its own name. An object that several steps share has no name, and is described.
    """
    step, key = where
    if isinstance(key, str):
        return key
    at = case.script[step] if step >= 0 else None
    if at is not None and at.method is None and at.act == "call" and key < len(question.inputs):
        return question.inputs[key]
    if at is None:
        return t("an object that was passed to it")
    return t("argument {n} of {step}", n=key + 1, step=_step_label(at))


def tried_with(question: Question, case: Case) -> str:
    """Describe the inputs of a case: "q (3, 5), k (4, 5) (float64)".

    Inputs that have no short form are left out. If the answer is a test, it is the name of the implementation.
    """
    step = case.quoted_step
    parts = [
        f"{input_name(question, case, (step, i))} {_brief(value)}"
        for i, value in enumerate(case.script[step].args)
        if _brief(value)
    ]
    shown, name = t(", ").join(parts), translated(case.name)
    if question.of_implementations:
        return t("one of the implementations: {name}", name=name)
    return t("{inputs} ({kind})", inputs=shown, kind=name) if case.name not in ("", "plain") else shown


def _brief(value: Any) -> str:
    """Describe an input in short: "= 2", "= [1, 0]", "(3, 5)" for a shape; "" if nothing short describes it."""
    if isinstance(value, Tensor):
        short = value.numel() <= 6 and value.ndim <= 1 and not value.is_floating_point()
        if short:
            return f"= {value.tolist()}"
        shape = str(tuple(value.shape))
        return shape if value.is_floating_point() else t("of shape {shape}", shape=shape)  # "ids (7,)" would be an id
    if isinstance(value, (int, float)):
        return f"= {number(value)}"
    if isinstance(value, list):
        return f"= {value}" if len(str(value)) < 40 else t("(a list of {n})", n=len(value))
    return ""


def structure_text(question: Question, seen: Any, want: Any) -> str:
    """Say that the number of results is wrong: how many came back, and how many were asked for.

    A list of plain values in the place of one tensor counts as a wrong type.
    """
    names = t(" and ").join(question.outputs)
    if isinstance(seen, list) and isinstance(want, Tensor) and not any(isinstance(one, Tensor) for one in seen):
        return type_text(names, seen, want)
    values = {"seen": describe(seen), "names": names}
    if isinstance(want, (tuple, list)):
        values["wanted"] = _count(len(want))
    if isinstance(seen, (tuple, list)):
        values["n"] = translated(COUNTED[len(seen)]) if len(seen) < len(COUNTED) else str(len(seen))
        if isinstance(want, (tuple, list)):
            return t("{n} things came back, {seen}; {wanted} were asked for: {names}.", **values)
        return t("{n} things came back, {seen}; one was: {names}.", **values)
    if isinstance(want, (tuple, list)):
        return t("One thing came back, {seen}; {wanted} were asked for: {names}.", **values)
    return t("One thing came back, {seen}; one was: {names}.", **values)


COUNTS = (mark("no"), mark("one"), mark("two"), mark("three"), mark("four"), mark("five"))
COUNTED = (mark("No"), mark("One"), mark("Two"), mark("Three"), mark("Four"), mark("Five"))  # that begin a sentence


def _count(n: int) -> str:
    return translated(COUNTS[n]) if n < len(COUNTS) else str(n)


def type_text(name: str, seen: Any, want: Any) -> str:
    """Say that a result has the wrong type."""
    missing = t("Does every way through it end in a `return`?") if seen is None else ""
    return sentences(expected_text(name, describe(seen), describe(want)), missing)


def expected_text(name: str, seen: str, want: str) -> str:
    """Say what an output is, and what was expected."""
    return t("Your {name} {are} {seen}; {want} was expected.", name=name, are=are(name), seen=seen, want=want)


def shape_text(name: str, shape: str, seen: Tensor, want: Tensor) -> str:
    """Say that a result has the wrong shape; `shape` is the expected one in letters, such as "(..., n_q, d_v)", or "".

    If the right sizes are in the wrong order, the message says so.
    """
    values = {"name": name, "seen": tuple(seen.shape), "want": tuple(want.shape), "shape": shape}
    if shape:
        text = t("The shape of your {name} is {seen}; {want} was expected, that is {shape}.", **values)
    else:
        text = t("The shape of your {name} is {seen}; {want} was expected.", **values)
    if seen.ndim == want.ndim and sorted(seen.shape) == sorted(want.shape):
        return sentences(text, t("The sizes are right, their order is not: which axis is which?"))
    return text


def nan_text(name: str, strange: Tensor) -> str:
    """Say where a result has NaN; `strange` is True at the places where no NaN was expected."""
    first = strange.nonzero()[0].tolist()
    values = {"name": name, "n": int(strange.sum()), "all": strange.numel(), "first": first}
    if first:
        return t(
            "There is NaN in your {name}, in {n} of {all} places, the first at {first}. Which step was 0/0, or ∞ − ∞?",
            **values,
        )
    return t("There is NaN in your {name}, in {n} of {all} places. Which step was 0/0, or ∞ − ∞?", **values)


def in_step(case: Case, i: int, text: str) -> str:
    """Return a message about step i, which begins with "In step 2, `append`: " if the case has more than one call.

    If step i calls the answer itself, its calls alone are counted, because the learner knows of no others.
    """
    calls = [j for j, step in enumerate(case.script) if step.act == "call"]
    if len(calls) < 2 or i >= len(case.script):
        return text
    own = [j for j in calls if case.script[j].method is None]
    if i not in own:
        return t("In {step}: {text}", step=step_name(case, i), text=text)
    return t("In call {n} of your answer: {text}", n=own.index(i) + 1, text=text) if len(own) > 1 else text


def step_name(case: Case, i: int) -> str:
    """Return the number and the kind of step i, counted from 1: "step 2, `append`"."""
    return t("step {n}, {call}", n=i + 1, call=_step_label(case.script[i]))


def _step_label(step: Step) -> str:
    """Return how messages name a step of a case: "`append`", "`len`", "the call", "making the object"."""
    if step.act == "make":
        return t("making the object")
    if step.act == "load":
        return t("loading the weights")
    if step.method == "__len__":
        return "`len`"
    return f"`{step.method}`" if step.method else t("the call")


def came_from(raised: Raised) -> str:
    """Say from which line an exception came; empty if that is not known."""
    return t("It came from the line `{line}`.", line=raised.line) if raised.line else ""
