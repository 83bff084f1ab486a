"""PredictNumber: a number to predict before the cell that computes it (every chapter)."""

from typing import Any

from qkv.widgets.base import Widget, flag, listed, real, text


class PredictNumber(Widget):
    """A question with a number as its answer: the reader commits to one, and then sees the answer and why.

        PredictNumber("How far from zero is the score?", answer=32, near=8, ends=[1, 2000], why="√1024 = 32.")

    Texts may contain `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  the text of the question
        answer    the right number
        near      the largest distance from the answer with which a guess counts as right
        unit      the unit, written after the number, such as "nats"
        ends      the ends of the line on which the reader can drag the guess; logarithmic if they differ by a factor of
                  20 or more; without them, the guess is typed
        why       the explanation of the answer
        guess     the number that the reader committed to, as a list of one; empty before that
        sure      True if the reader was sure of the guess
    """

    question = text("").tag(author=True)
    answer = real(0).tag(author=True)
    near = real(0, 0).tag(author=True)
    unit = text("").tag(author=True)
    ends = listed([], real(0), lengths=[0, 2]).tag(author=True)
    why = text("").tag(author=True)
    guess = listed([], real(0), lengths=[0, 1])
    sure = flag(False)

    def __init__(self, question: str, answer: float, why: str, near: float = 0.0, **values: Any) -> None:
        super().__init__(question=question, answer=answer, why=why, near=near, **values)
