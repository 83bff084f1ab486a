"""PredictBars: bars or a curve to draw before the cell that gives them (every chapter)."""

from collections.abc import Sequence
from typing import Any

import traitlets

from qkv.widgets.base import Widget, flag, listed, real, text


class PredictBars(Widget):
    """A prediction: draw a value for each label, commit, then see the guess beside the answer.

        PredictBars("Which weights come out?", ["cat", "mat"], answer=[0.9, 0.1], near=0.1, why="…")
        PredictBars("How does it fall?", ["1", "2", "4"], answer=[2.8, 1.4, 0.7], near=0.3, why="…", top=3, line=True)

    Texts may hold `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  what is asked
        labels    what each value belongs to
        answer    the right values, from 0 to `top`
        near      how far a guess may lie from them on average and still count as right
        top       the highest value that can be drawn
        line      whether the values are drawn as a curve in place of bars
        given     values that the question tells, each drawn as a line
        unit      what stands behind a value when it is read out
        why       why that is the answer
        guess     the values that the reader committed to; empty before that
        sure      whether the reader was sure of them
    """

    question = text("").tag(author=True)
    labels = listed([], text("")).tag(author=True)
    answer = listed([], real(0, 0)).tag(author=True)
    near = real(0, 0).tag(author=True)
    top = real(1, 0).tag(author=True)
    line = flag(False).tag(author=True)
    given = listed([], real(0, 0)).tag(author=True)
    unit = text("").tag(author=True)
    why = text("").tag(author=True)
    guess = listed([], real(0, 0))
    sure = flag(False)

    def __init__(
        self, question: str, labels: Sequence[str], answer: Sequence[float], why: str, near: float, **values: Any
    ) -> None:
        super().__init__(question=question, labels=labels, answer=answer, why=why, near=near, **values)

    @traitlets.validate("answer", "guess")
    def _has_a_value_for_each_label(self, proposal: traitlets.Bunch) -> tuple[float, ...]:
        value: tuple[float, ...] = proposal.value
        if value and self.labels and len(value) != len(self.labels):
            raise traitlets.TraitError(
                f"{proposal.trait.name} is a list of {len(self.labels)} values, one for each label; got {len(value)}"
            )
        return value
