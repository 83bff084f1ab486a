"""The graded questions: `engine/` judges answers, `catalogue/` has the questions, `shared/` what several of them use.

A question N.M is two files of the catalogue, found by their names:
    qN_M.py    how inputs are drawn, the reference, and each wrong idea with its twin: one `QUESTION`
    qN_M.toml  its title, and what is said about each idea

To write one, start from `catalogue/q3_1` and from the examples in `engine/question.py`:
1. An idea stands under one name, with all the ways in which people make that mistake: `mistake(name, answer, …)`.
2. A twin stands for a mistake that a person makes. What only a program writes has to be rejected, and needs no name;
   no more does a cut gradient or a wrong dtype, which the engine describes for every question.
3. The words fit all twins of an idea: what was seen, then a question that leads to the cause, never the answer.
   `{d_k}` is a size of the case; other names in braces are functions of the question's `quotes`.
4. What two questions need stands in `shared/NAME.py`, its words in `shared/NAME.toml`. A question's own words for a
   shared idea take their place. No file of the catalogue imports another. `shared/words.toml` has the words of ideas
   that questions make each in its own way.
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

FOLDER = Path(__file__).parent


@cache
def ids() -> tuple[str, ...]:
    """The ids of all questions, in order, from the names of the catalogue's files."""
    found = [re.fullmatch(r"q(\d+)_(\d+)", path.stem) for path in FOLDER.glob("catalogue/q*_*.py")]
    return tuple(f"{a}.{b}" for a, b in sorted((int(name[1]), int(name[2])) for name in found if name))


@cache
def chapters() -> tuple[int, ...]:
    """The chapters that have questions."""
    return tuple(sorted({_chapter_of(name) for name in ids()}))


@cache
def questions_of(chapter: int) -> dict[str, Question]:
    """A chapter's questions by their ids, in order."""
    if chapter not in chapters():
        raise KeyError(f"no chapter {chapter} has questions; these have: {', '.join(map(str, chapters()))}")
    return {name: _read(name) for name in ids() if _chapter_of(name) == chapter}


def find(question_id: str) -> Question:
    """Find a question by its id; the `KeyError` for any other names those there are."""
    chapter = str(question_id).partition(".")[0]
    found = questions_of(int(chapter)) if chapter.isdecimal() and int(chapter) in chapters() else {}
    if question_id in found:
        return found[question_id]
    known = ", ".join(name for number in chapters() for name in questions_of(number))
    raise KeyError(f"there is no question {question_id!r}; the questions are {known}")


def _chapter_of(question_id: str) -> int:
    return int(question_id.partition(".")[0])


def _read(question_id: str) -> Question:
    name = f"q{question_id.replace('.', '_')}"
    question: Question = import_module(f"{__name__}.catalogue.{name}").QUESTION
    return _with_words(replace(question, id=question_id), read(FOLDER / f"catalogue/{name}.toml"))


@cache
def shared_words() -> dict[str, str]:
    """What is said about the ideas of `shared/`, by their slugs."""
    return {slug: said for path in sorted(FOLDER.glob("shared/*.toml")) for slug, said in read(path)["ideas"].items()}


def read(path: Path) -> dict[str, Any]:
    """Read the words of a question, or those that several share; where a line ends is of no meaning."""
    words = tomllib.loads(path.read_text(encoding="utf-8"))
    words["ideas"] = {slug: " ".join(said.split()) for slug, said in words["ideas"].items()}
    return words


def _with_words(question: Question, words: dict[str, Any]) -> Question:
    """Give a question its title and each of its ideas its words: the question's own, or the shared ones."""
    said = shared_words() | words["ideas"]
    ideas = [replace(way, says=said[way.slug]) for idea in question.misconceptions for way in idea.ways()]
    return replace(question, title=words["title"], about=words.get("about", ""), misconceptions=tuple(ideas))
