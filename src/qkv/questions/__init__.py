"""The graded questions: `engine/` judges answers, `catalogue/` has the questions, `shared/` what several questions use.

Question N.M is two files of the catalogue, found by their names:
    qN_M.py    how inputs are drawn, the reference answer, and each wrong idea with its twin, as one `QUESTION`
    qN_M.toml  the question's title, and the message for each wrong idea

To write a question, start from `catalogue/q3_2` and from the examples in `engine/question.py`:
1. A wrong idea has one name (a slug), and one twin for each way in which people make that mistake:
   `mistake(slug, twin, …)`.
2. A twin is code with a mistake that a person makes. A mistake that only a mutation program writes must be rejected,
   but needs no name. A cut gradient or a wrong dtype needs no twin: the engine describes both for every question.
3. The message of an idea fits all its twins: what was seen, then a question that leads to the cause, never the answer.
   In a message, `{d_k}` is a size of the case. Any other name in braces is a function in the question's `quotes`.
4. Code that two questions need is in `shared/NAME.py`, and its messages are in `shared/NAME.toml`. If a question has a
   message of its own for a shared idea, that message is shown instead. No file of the catalogue imports another.
   `shared/words.toml` has the messages of ideas for which each question writes its own twins.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from qkv.questions.engine.question import Question
from qkv.words import t

FOLDER = Path(__file__).parent


@cache
def ids() -> tuple[str, ...]:
    """Return the ids of all questions, in order, from the file names in the catalogue."""
    found = [re.fullmatch(r"q(\d+)_(\d+)", path.stem) for path in FOLDER.glob("catalogue/q*_*.py")]
    return tuple(f"{a}.{b}" for a, b in sorted((int(name[1]), int(name[2])) for name in found if name))


@cache
def chapters() -> tuple[int, ...]:
    """Return the numbers of the chapters that have questions, in order."""
    return tuple(sorted({_chapter_of(name) for name in ids()}))


@cache
def questions_of(chapter: int) -> dict[str, Question]:
    """Return the questions of a chapter by their ids, in order.

    Raises:
        KeyError: the chapter has no questions.
    """
    if chapter not in chapters():
        known = ", ".join(map(str, chapters()))
        raise KeyError(t("no chapter {n} has questions; these have: {known}", n=chapter, known=known))
    return {name: _load_question(name) for name in ids() if _chapter_of(name) == chapter}


def find(question_id: str) -> Question:
    """Return the question with this id.

    Raises:
        KeyError: there is no such question; the message lists all ids.
    """
    chapter = str(question_id).partition(".")[0]
    found = questions_of(int(chapter)) if chapter.isdecimal() and int(chapter) in chapters() else {}
    if question_id in found:
        return found[question_id]
    known = ", ".join(name for number in chapters() for name in questions_of(number))
    raise KeyError(t("there is no question {id}; the questions are {known}", id=repr(question_id), known=known))


def _chapter_of(question_id: str) -> int:
    return int(question_id.partition(".")[0])


def _load_question(question_id: str) -> Question:
    name = f"q{question_id.replace('.', '_')}"
    question: Question = import_module(f"{__name__}.catalogue.{name}").QUESTION
    return _with_texts(replace(question, id=question_id), read_texts(FOLDER / f"catalogue/{name}.toml"))


@cache
def shared_words() -> dict[str, str]:
    """Return the messages of the wrong ideas in `shared/`, by slug."""
    paths = sorted(FOLDER.glob("shared/*.toml"))
    return {slug: said for path in paths for slug, said in read_texts(path)["ideas"].items()}


def read_texts(path: Path) -> dict[str, Any]:
    """Return what is in the text file of a question or of `shared/`. In messages, line breaks become spaces."""
    words = tomllib.loads(path.read_text(encoding="utf-8"))
    words["ideas"] = {slug: " ".join(said.split()) for slug, said in words["ideas"].items()}
    return words


def _with_texts(question: Question, words: dict[str, Any]) -> Question:
    """Return the question with the texts of its file: its title, and each idea's message, its own or the shared one.

    Each twin or set of knobs becomes an idea of its own. A KeyError means that an idea has no message.
    """
    said = shared_words() | words["ideas"]
    ideas = [replace(way, says=said[way.slug]) for idea in question.misconceptions for way in idea.ways()]
    return replace(question, title=words["title"], about=words.get("about", ""), misconceptions=tuple(ideas))
