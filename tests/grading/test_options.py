"""Every option of `qkv grade` for a class does what it says: each is given once, and reaches what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from qkv.cli import _parser, main
from qkv.grading import runner, sandbox
from qkv.words import ENGLISH, speak

# For each option: its value, or None if it takes none, and what it changes in what the batch is called with.
OPTIONS: dict[str, tuple[str | None, Callable[[Any], object], object]] = {
    "--out": ("results", lambda batch: batch.writer.out, Path("results")),
    "--seed": ("7", lambda batch: batch.settings.seed, 7),
    "--per-student": (None, lambda batch: batch.settings.per_student, True),
    "--jobs": ("77", lambda batch: batch.jobs, 77),
    "--scheduler": ("tcp://here:8786", lambda batch: batch.scheduler, "tcp://here:8786"),
    "--timeout": ("2.5", lambda batch: batch.settings.timeout, 2.5),
    "--memory": ("900", lambda batch: batch.settings.memory, 900),
    "--regrade": (None, lambda batch: batch.regrade, True),
    "--gradebook": ("sqlite:///book.db", lambda batch: batch.writer.gradebook, "sqlite:///book.db"),
    "--roster": ("class.csv", lambda batch: [person.shown for person in batch.roster.people], ["ann", "bela"]),
    "--overrides": ("hand.csv", lambda batch: [line.what for line in batch.writer.overrides.lines], ["3.2"]),
    "--language": ("zh_TW", lambda batch: batch.settings.language, "zh_TW"),
}


class Reader:
    """A reader of notebooks in this process: a fresh one takes seconds to start."""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, function: Callable[..., Any], *about: Any) -> Any:
        return function(*about)


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A folder with one notebook, a list of the class and points by hand; it stores what the batch is called with."""
    called = SimpleNamespace()
    named = ("submissions", "settings", "reader", "writer", "jobs", "scheduler", "regrade", "roster")

    def grade_all(*given: Any) -> list[Any]:
        vars(called).update(zip(named, given, strict=False))
        return []

    monkeypatch.setattr(runner, "Reader", Reader)
    monkeypatch.setattr(runner, "grade_all", grade_all)
    monkeypatch.setattr(sandbox, "why_unavailable", lambda: "")
    monkeypatch.setenv("QKV_LANGUAGE", ENGLISH)  # the command sets it for its processes
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "ann").mkdir(parents=True)
    nbformat.write(new_notebook(cells=[new_code_cell("x = 1")]), tmp_path / "in" / "ann" / "03_scaling.ipynb")
    (tmp_path / "class.csv").write_text("name\nann\nbela\n")
    (tmp_path / "hand.csv").write_text("student,question,points\nann,3.2,full\n")
    yield called
    speak(ENGLISH)


def test_the_table_has_every_option_of_the_command():
    grade = next(action for action in _parser()._actions if action.choices and "grade" in action.choices)
    parser = grade.choices["grade"]
    assert {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"} == OPTIONS.keys()


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_reaches_what_it_is_about(option: str, batch: SimpleNamespace):
    value, found, wanted = OPTIONS[option]
    assert main(["grade", "in"]) == 0
    assert found(batch) != wanted, "without the option"
    assert main(["grade", "in", option, *([value] if value else [])]) == 0
    assert [one.student for one in batch.submissions] == ["ann"]
    assert found(batch) == wanted
