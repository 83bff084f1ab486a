"""Questions whose numbers are drawn from the reader's name, so that a result cannot be passed on.

The answer returns the name and a result. The numbers depend on the question and the name alone: they are the same in a
notebook, on the page and for a class. `qkv grade --per-student` asks for the numbers of the student's own name.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, call, mistake
from qkv.words import sentences, t

Numbers = Mapping[str, float]
Formula = Callable[[Numbers], float | tuple[float, ...]]  # of a wrong idea: one result, or one for each way
RIGHT = "right"
NEAR = 1e-9  # relative: a formula gives it, and a result that was rounded by hand does not
DIGITS = range(7)  # a result that is rounded to so many is recognised
MAX_NAME = 70  # as many as the grader leaves of a learner's name, such as that of a group
PLACEHOLDER = "your name"  # what the questions showed for a name; its numbers would be the same for everybody
SOMEBODY = "a reader"  # whose numbers the reference and the twins take


def key_of(name: str) -> str:
    """Return the part of a name that decides its numbers: without capitals, and without spaces at the ends.

    Letters with accents are put into one form, because some systems store them in another one in a file's name.
    """
    return unicodedata.normalize("NFC", name.strip().casefold())


def same_name(a: str, b: str) -> bool:
    """Check whether two names draw the same numbers."""
    return key_of(a) == key_of(b)


def results_of(formula: Formula, numbers: Numbers) -> tuple[float, ...]:
    """Return the results of a formula for these numbers."""
    found = formula(numbers)
    return found if isinstance(found, tuple) else (found,)


class Personal:
    """A question with numbers of one's own.

    Attributes:
        question: its id, so that two questions draw different numbers from one name
        draw: draws the numbers
        said: the numbers in words
        formulas: the right formula, named "right", and wrong ones by the slugs of their ideas
    """

    def __init__(
        self, question: str, draw: Callable[[Draw], Numbers], said: Callable[[Numbers], str], **formulas: Formula
    ) -> None:
        self.question, self.draw, self.said = question, draw, said
        self.formulas = {name.replace("_", "-"): formula for name, formula in formulas.items()}

    def numbers_of(self, who: str) -> Numbers:
        """Return the numbers of a reader."""
        drawn = hashlib.sha256(f"{self.question}/{key_of(who)}".encode()).digest()
        return self.draw(Draw(int.from_bytes(drawn[:6], "big")))

    def effect(self, _: Case, result: Any) -> str:
        """Return the name of the formula that gives the result: "right", or the slug of a wrong idea.

        `result` is what an answer returned, a name and a number.

        Raises:
            ValueError: no formula does, or the result is no name of one's own with a number. The message says so, and
                has the numbers of the name.
        """
        if not (isinstance(result, (tuple, list)) and len(result) == 2 and isinstance(result[0], str)):
            raise ValueError(t("Two things were asked for: your name, as a text, and your result. What came back?"))
        who, value = result
        if not 1 <= len(who.strip()) <= MAX_NAME:
            text = t("Your name is empty, or has more than {n} characters. Your numbers come from it.", n=MAX_NAME)
            raise ValueError(text)
        if same_name(who, PLACEHOLDER):
            text = t("Put a name of your own in the place of “{who}”: your numbers come from it.", who=who.strip())
            raise ValueError(text)
        if isinstance(value, Tensor):
            text = t("Your result is a tensor, which may have too few digits. Use Python's own numbers, and `math`.")
            raise ValueError(sentences(self.told(who), text))
        numbers = self.numbers_of(who)
        (right,) = results_of(self.formulas[RIGHT], numbers)
        if type(value) in (int, float):
            for name, formula in self.formulas.items():
                if any(abs(value - wanted) <= NEAR * abs(wanted) for wanted in results_of(formula, numbers)):
                    return name
            if value in {round(right, digits) for digits in DIGITS}:
                text = t(
                    "Your result is the right one, rounded. Return the expression, and leave the rounding to Python."
                )
                raise ValueError(sentences(self.told(who), text))
        if isinstance(right, int):  # where nothing can be rounded
            wrong = t("Your result is not right for them.")
        else:
            wrong = t("Your result is not right for them, or a number was rounded on the way.")
        raise ValueError(sentences(self.told(who), wrong))

    def told(self, who: str) -> str:
        """Return the numbers of a reader in a sentence.

        It is empty if the name is empty, too long, or the placeholder of the exercise.
        """
        if not 1 <= len(who.strip()) <= MAX_NAME or same_name(who, PLACEHOLDER):
            return ""
        return t("The numbers for “{who}”: {numbers}.", who=who.strip(), numbers=self.said(self.numbers_of(who)))

    def as_question(self, reference: Callable[[], tuple[str, float]], result: str) -> Question:
        """Return the question, whose reference returns a name and a result. `result` names the result in messages."""
        return Question(
            points=2,
            inputs=(),
            outputs=("who", result),
            draw=lambda _: [Case(call(), "plain")],
            reference=reference,
            effect=self.effect,
            personal=self.told,
            quotes={"numbers": lambda seen: self.told(seen.value[0])},
            misconceptions=self.mistakes(),
        )

    def mistakes(self) -> tuple[Misconception, ...]:
        """Return a misconception for each wrong formula."""
        numbers = self.numbers_of(SOMEBODY)
        return tuple(
            mistake(name, *(lambda result=result: (SOMEBODY, result) for result in results_of(formula, numbers)))
            for name, formula in self.formulas.items()
            if name != RIGHT
        )
