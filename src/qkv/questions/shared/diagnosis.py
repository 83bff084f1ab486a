"""Questions in which the learner finds the fault of a hidden module: by its name, or that it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from qkv.questions.engine import Case, Draw, Hidden, Misconception, Question, Seen, behind, call, mistake
from qkv.questions.engine.judging import NO_FAULT
from qkv.words import t, translated

Module = Callable[..., Any]
Faults = Mapping[str, Module]  # by the name of the fault; "none" is a right module


def diagnosis(
    diagnose: Callable[[Any], str], subject: str, faults: Faults, probes: Mapping[str, str], points: int
) -> Question:
    """Return a question whose answer finds the fault of a hidden module.

    Args:
        diagnose: the reference
        subject: what the module is called as its argument
        faults: the modules by their faults, the right one under NO_FAULT
        probes: by the name of a fault, what shows it
        points: the points of the question
    """
    return Question(
        points=points,
        inputs=(subject,),
        outputs=("fault",),
        draw=lambda draw: draw_modules(draw, faults),
        reference=diagnose,
        judged_by=perfect_diagnosis,
        of_implementations=True,
        quotes=quotes(probes),
        differs=lambda _, seen, want: None if seen == want else other_name(seen, faults),
        misconceptions=mistakes_of_diagnoses(faults),
    )


def draw_modules(draw: Draw, faults: Faults) -> list[Case]:
    """Draw cases: every fault twice, the right module three times, and up to four faults again, in random order.

    `faults` includes the right module, under NO_FAULT.
    """
    names = [*faults, *faults, NO_FAULT, *(draw.choose(list(faults)) for _ in range(draw.whole(0, 4)))]
    order = torch.randperm(len(names), generator=draw.generator).tolist()
    return [Case(call(Hidden(make, (faults[name],), (), name)), name) for name in (names[i] for i in order)]


def other_name(said: Any, faults: Faults) -> str:
    """Say of a wrong answer whether it is one of the names at all, without the right name."""
    if said in list(faults):
        return t("“{said}” is not the fault of one of the modules.", said=said)
    return t(
        "“{said}” is not one of the {n} names. Capitals and spaces count: see the table.",
        said=str(said)[:60],
        n=len(faults),
    )


def make(module: Module) -> Module:
    return module


def perfect_diagnosis(subject: Any) -> str:
    """Return the name of the fault. This works only where the answers are judged."""
    return behind(subject).name


def mistakes_of_diagnoses(faults: Faults) -> tuple[Misconception, ...]:
    """Return the two misconceptions, with a twin for each pair of names and for each name.

    One takes a fault for another, and is right otherwise. The other says one name of all modules.
    """

    def taken_for(name: str, other: str) -> Callable[[Any], str]:
        return lambda subject: other if behind(subject).name == name else behind(subject).name

    pairs = [taken_for(name, other) for name in faults for other in faults if name != other]
    return (
        mistake("told-apart-wrongly", *pairs),
        mistake("one-name-for-all", *(lambda subject, name=name: name for name in faults), alone=True),
    )


def quotes(probes: Mapping[str, str]) -> dict[str, Callable[[Seen], str]]:
    """Return the quotes of the messages: the fault ("which"), what the answer said, and an input that shows the fault.

    For a right module with a fault said of it, "probe" is the input that would show that fault.

    Args:
        probes: by the name of a fault, what shows it
    """

    def probe(seen: Seen) -> str:
        return translated(probes[seen.value if seen.case.name == NO_FAULT and seen.value in probes else seen.case.name])

    def which(seen: Seen) -> str:
        return t("no fault") if seen.case.name == NO_FAULT else t("the fault “{name}”", name=seen.case.name)

    return {
        "which": which,
        "said": lambda seen: str(seen.value)[:60],
        "probe": probe,
    }
