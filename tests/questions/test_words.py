"""What is said about ideas: every idea has words and all words an idea; names in braces can be filled in."""

from __future__ import annotations

import re
import string
from importlib import import_module
from pathlib import Path

import pytest

from qkv.questions import FOLDER, find, ids, read_texts, shared_words
from qkv.questions.engine.question import Misconception

SHARED = sorted(FOLDER.glob("shared/*.toml"))


def ideas_of(question_id: str) -> tuple[Misconception, ...]:
    """The ideas as the question's file has them, without words."""
    ideas: tuple[Misconception, ...] = import_module(module_of(question_id)).QUESTION.misconceptions
    return ideas


def module_of(question_id: str) -> str:
    return f"qkv.questions.catalogue.q{question_id.replace('.', '_')}"


@pytest.mark.parametrize("question_id", ids())
def test_words_and_ideas_are_of_the_same_names(question_id: str):
    words = read_texts(FOLDER / f"catalogue/{module_of(question_id).rpartition('.')[2]}.toml")
    assert words.keys() <= {"title", "about", "ideas"}
    assert words["title"]
    slugs = [idea.slug for idea in ideas_of(question_id)]
    assert len(slugs) == len(set(slugs)), "one idea, one entry: several ways to make it are `twins` or `knob_sets`"
    assert words["ideas"].keys() <= set(slugs), "words without an idea"
    assert set(slugs) <= words["ideas"].keys() | shared_words().keys(), "ideas without words"


@pytest.mark.parametrize("question_id", ids())
def test_what_stands_in_braces_can_be_filled_in(question_id: str):
    question = find(question_id)
    known = {size for seed in range(3) for case in question.fresh_cases(seed) for size in case.sizes} | {
        *question.quotes
    }
    for idea in question.misconceptions:
        names = {name for _, name, _, _ in string.Formatter().parse(str(idea.says)) if name}
        assert names <= known, f"{idea.slug}: {names - known}"


def test_shared_words_are_used_and_each_stands_once():
    every = [slug for path in SHARED for slug in read_texts(path)["ideas"]]
    assert len(every) == len(set(every))
    used = {idea.slug for question_id in ids() for idea in ideas_of(question_id)}
    assert set(every) <= used


def test_no_question_imports_another():
    for path in FOLDER.glob("catalogue/*.py"):
        assert not re.search(
            r"^(from|import) .*questions\.catalogue", path.read_text(encoding="utf-8"), re.MULTILINE
        ), path


def test_a_question_is_two_files_and_neither_is_long():
    for path in FOLDER.glob("catalogue/q*.*"):
        assert path.with_suffix(".py").exists()
        assert path.with_suffix(".toml").exists()
        both = [line for suffix in (".py", ".toml") for line in path.with_suffix(suffix).read_text().splitlines()]
        assert len(both) <= 400, path


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.toml")), ids=lambda path: path.name)
def test_words_fit_the_width_of_a_page(path: Path):
    assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120
