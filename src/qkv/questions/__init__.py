"""The graded questions, one file a chapter. A file `chapter_NN.py` with its `QUESTIONS` is found by its name."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from qkv.questions.base import Question


@cache
def chapters() -> tuple[int, ...]:
    """The chapters that have questions."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(int(name.removeprefix("chapter_")) for name in names if name.startswith("chapter_")))


@cache
def questions_of(chapter: int) -> dict[str, Question]:
    """A chapter's questions by their ids, in order."""
    if chapter not in chapters():
        raise KeyError(f"no chapter {chapter} has questions; these have: {', '.join(map(str, chapters()))}")
    return {question.id: question for question in import_module(f"{__name__}.chapter_{chapter:02}").QUESTIONS}


def find(question_id: str) -> Question:
    """Find a question by its id; the `KeyError` for any other names those there are."""
    chapter = str(question_id).partition(".")[0]
    found = questions_of(int(chapter)) if chapter.isdecimal() and int(chapter) in chapters() else {}
    if question_id in found:
        return found[question_id]
    known = ", ".join(name for number in chapters() for name in questions_of(number))
    raise KeyError(f"there is no question {question_id!r}; the questions are {known}")
