"""PredictBars: values to predict, as bars or a curve, before the cell that computes them (every chapter)."""

from collections.abc import Sequence
from typing import Any

import traitlets

from qkv.widgets.base import Widget, flag, listed, real, text


class PredictBars(Widget):
    """A question with one value per label: the reader draws the values, commits, and sees them beside the answer.

        PredictBars("Which weights come out?", ["cat", "mat"], answer=[0.9, 0.1], near=0.1, why="…")
        PredictBars("How does it fall?", ["1", "2", "4"], answer=[2.8, 1.4, 0.7], near=0.3, why="…", top=3, line=True)

    Texts may contain `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  the text of the question
        labels    the labels of the values
        answer    the right values, from 0 to `top`
        near      the largest mean distance from the answer with which a guess counts as right
        top       the highest value that can be drawn
        line      True if the values are drawn as a curve, False if they are drawn as bars
        given     values that the question mentions, each drawn as a line
        given_name  what these values are, written at the first of their lines; or nothing
        unit      the unit of the values, written after a number
        why       the explanation of the answer
        guess     the values that the reader committed to; empty before that
        sure      True if the reader was sure of the guess
    """

    question = text("").tag(author=True)
    labels = listed([], text("")).tag(author=True)
    answer = listed([], real(0, 0)).tag(author=True)
    near = real(0, 0).tag(author=True)
    top = real(1, 0).tag(author=True)
    line = flag(False).tag(author=True)
    given = listed([], real(0, 0)).tag(author=True)
    given_name = text("").tag(author=True)
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
        """Return the proposed values, or raise a TraitError if there are not as many as labels.

        None at all is valid, and so is any number while there are no labels.
        """
        value: tuple[float, ...] = proposal.value
        if value and self.labels and len(value) != len(self.labels):
            takes = f"a list of {len(self.labels)} values, one for each label"
            raise traitlets.TraitError(f"{proposal.trait.name} must be {takes}; got {len(value)}")
        return value
