"""Marks of different rules never stand in one table: a result is used again only if all that decides it is the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
import pytest

import qkv
from qkv.grading import rules, runner
from qkv.grading.results import Result
from qkv.grading.rules import version_of_rules
from qkv.grading.session import Settings
from qkv.grading.submissions import Work, find, read
from qkv.grading.writing import Writer
from qkv.questions import questions_of


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of some of the package: a question, the judge, a widget."""
    place = tmp_path / "qkv"
    for file in ("questions/catalogue/q3_1.py", "questions/catalogue/q3_1.toml", "questions/engine/judging.py",
                 "widgets/base.py", "tokens.css"):  # fmt: skip
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(rules.PACKAGE / file, place / file)
    return place


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("questions/catalogue/q3_1.py", True),
        ("questions/catalogue/q3_1.toml", True),
        ("questions/engine/judging.py", True),
        ("questions/catalogue/q3_9.py", True),
        ("widgets/base.py", False),
        ("tokens.css", False),
    ],
)
def test_what_decides_a_mark_is_in_the_version_and_nothing_else(package: Path, file: str, counts: bool):
    before = version_of_rules(10, 1024, package=package)
    assert version_of_rules(10, 1024, package=package) == before
    with (package / file).open("a") as stream:
        stream.write("\n")
    rules._hash_of.cache_clear()
    assert (version_of_rules(10, 1024, package=package) != before) == counts


def test_the_limits_are_rules_and_the_courses_version_is_seen():
    assert len({Settings(7).version, Settings(7, timeout=20).version, Settings(7, memory=512).version}) == 3
    assert Settings(7).version == Settings(8).version
    assert Settings(7).version.partition("+")[0] == qkv.__version__


class Pool:
    """A pool that gives every notebook full marks, without running it."""

    def __init__(self, jobs: int, settings: Settings) -> None:
        self.settings = settings

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def check_reference(self, chapter: int) -> str:
        return ""

    def results(self, works: Iterable[tuple[int, Work]]) -> Iterator[tuple[int, Result]]:
        for i, work in works:
            yield i, runner.result(work, self.settings, list(questions_of(work.chapter).values()), [], "")


class Reader:
    read = staticmethod(read)


def grade(folder: Path, settings: Settings) -> tuple[list[str], list[str]]:
    """Grade a folder. Return the students that were graded now, and those whose earlier result was stale."""
    now: list[str] = []
    stale: list[str] = []

    def on_graded(result: Result, reused: bool) -> None:
        now.extend([] if reused else [result.student])

    runner.grade_all(
        find([folder]), settings, Reader(), Writer(folder.parent / "out"), 1,
        on_graded=on_graded, on_stale=lambda earlier: stale.append(earlier.student),
    )  # fmt: skip
    return sorted(now), stale


def test_a_change_of_the_rules_grades_all_again_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner, "_LocalPool", Pool)
    cell = nbformat.v4.new_code_cell("check('3.1', f)")
    for student in ("ada", "bela"):
        (tmp_path / "in" / student).mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "in" / student / "03_scaling.ipynb")
    assert grade(tmp_path / "in", Settings(7)) == (["ada", "bela"], [])
    assert grade(tmp_path / "in", Settings(7)) == ([], [])
    (tmp_path / "in" / "bela" / "03_scaling.ipynb").write_text("broken")
    assert grade(tmp_path / "in", Settings(7)) == (["bela"], []), "a new file is no change of the rules"
    assert grade(tmp_path / "in", Settings(7, timeout=20)) == (["ada", "bela"], ["ada"])
    versions = {line.split(",")[-2] for line in (tmp_path / "out" / "grades.csv").read_text().splitlines()[1:]}
    assert len(versions) == 1
