"""Compare what an answer did besides returning its result: changed inputs, draws, large tensors, growing states.

These functions are pure: they take observations and return differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from qkv.questions.engine.difference import Difference
from qkv.questions.engine.question import Question
from qkv.questions.engine.wording import input_name, step_name
from qkv.sandboxed.cases import Carried, Case
from qkv.sandboxed.observations import Observation
from qkv.words import sentences, t


def side_effects(question: Question, case: Case, seen: Observation, want: Observation) -> Iterator[Difference]:
    """Yield what an answer did besides returning its results.

    These are: a result that changes later, changed inputs, too large a tensor, a growing state, wrong draws, and
    results that differ in a second run. Inputs that the reference changes, and draws that it makes too, do not count.
    """
    for i in seen.changed_later:
        text = t("The result of {step}, changed in a later step. What else writes into it?", step=step_name(case, i))
        yield Difference("aliased", text, i)
    written = [where for where in seen.changed if where not in want.changed]
    if written:
        names = t(", ").join(dict.fromkeys(input_name(question, case, where) for where in written))
        text = t("Your answer writes into its inputs: {names} has other values afterwards.", names=names)
        yield Difference("changed", text, tuple(written))
    if case.max_elements is not None and seen.largest is not None and seen.largest > case.max_elements:
        yield Difference("large", _large_text(case, seen.largest), seen.largest)
    if _state_grows(case, seen):
        text = t("The values are right, but your state holds more numbers after every token. Which sums could it hold?")
        yield Difference("growing", text)
    yield from _generator_differences(seen, want)
    if seen.unstable:
        text = t("Called twice with the same inputs, your answer gave two different results.")
        text = sentences(text, _question_about_instability(question, seen))
        yield Difference("unstable", text, seen.unstable)


def _state_grows(case: Case, seen: Observation) -> bool:
    """Check whether a state that is passed on holds more numbers than the one before, twice in succession.

    A state is the last item of the result of a step that carries one.
    """
    sizes: dict[int, list[int]] = {}  # by the index of a step: the sizes of its state and of those that it came from
    for i, (step, result) in enumerate(zip(case.script, seen.results, strict=False)):
        if step.carries and isinstance(result, (tuple, list)) and result:
            before = next((sizes.get(arg.step, []) for arg in step.args if isinstance(arg, Carried)), [])
            sizes[i] = [*before, _count_numbers(result[-1])]
    return any(len(line) > 2 and line[-3] < line[-2] < line[-1] for line in sizes.values())


def _count_numbers(value: Any) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_count_numbers, value))
    return value.numel() if isinstance(value, Tensor) else int(isinstance(value, (int, float)))


def _large_text(case: Case, largest: int) -> str:
    """Say how large a tensor the answer forms, and how much is enough."""
    values = {
        "sizes": t(", ").join(f"{name} = {size}" for name, size in case.sizes.items()),
        "n": f"{largest:,}",
        "enough": f"{case.max_elements:,}",
    }
    if case.of_products:
        return t(
            "The values are right, but with {sizes} a product of matrices has {n} numbers; "
            "{enough} are enough. Which line multiplies so many?",
            **values,
        )
    return t(
        "The values are right, but with {sizes} your answer forms a tensor of {n} numbers; "
        "{enough} are enough for the largest one. Which line forms it?",
        **values,
    )


def _question_about_instability(question: Question, seen: Observation) -> str:
    """Ask what makes an answer return something else the second time."""
    if seen.global_draws and question.of_implementations:
        return t(
            "What does it draw at random? Or is its tolerance too small? Two right ways of computing round differently."
        )
    if seen.global_draws:
        return t("What does it draw at random?")
    return t(
        "Does it solve equations in which a rounding error grows large, where a formula would do? "
        "Or does it keep something from one call to the next?"
    )


def _generator_differences(seen: Observation, want: Observation) -> Iterator[Difference]:
    """Yield a difference for each generator that is reseeded or not used, and for draws from the global random state.

    Generators that the reference does not use need not be used. Global draws count only if the case has a generator and
    the reference makes none.
    """
    for got, wanted in zip(seen.generators, want.generators, strict=False):
        if got == "reseeded":
            text = t("Your answer seeds the generator that was passed to it, so all draws from it start again.")
            yield Difference("generator", text, got)
        elif got == "unused" and wanted == "moved":
            yield Difference("generator", t("Your answer drew nothing from the generator that was passed to it."), got)
    if want.generators and seen.global_draws and not want.global_draws:
        text = t("Your answer draws from the global random state, although a generator was passed to it.")
        yield Difference("generator", text, "global")
