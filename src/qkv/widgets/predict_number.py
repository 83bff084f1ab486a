"""PredictNumber: a number to guess before the cell that gives it (every chapter)."""

from qkv.widgets.base import Widget, flag, listed, real, text


class PredictNumber(Widget):
    """A prediction: enter a number, commit to it, then see how far off it was and why.

        PredictNumber("How far from zero is the score, typically?", answer=32, near=8, why="√1024 = 32.")

    Texts may hold `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  what is asked
        answer    the right number
        near      how far a guess may lie from it and still count as right
        unit      what stands behind the number, "nats" say
        why       why that is the answer
        guess     the number that the reader committed to, as a list of one; empty before that
        sure      whether the reader was sure of it
    """

    question = text("").tag(author=True)
    answer = real(0).tag(author=True)
    near = real(0, 0).tag(author=True)
    unit = text("").tag(author=True)
    why = text("").tag(author=True)
    guess = listed([], real(0), lengths=[0, 1])
    sure = flag(False)

    def __init__(self, question: str, answer: float, why: str, near: float = 0.0, **values: str) -> None:
        super().__init__(question=question, answer=answer, why=why, near=near, **values)
