"""Examples drawn again: what the text says is what the code prints, and nothing else of a notebook changes."""

from __future__ import annotations

import contextlib
import io
import random
import re
from pathlib import Path

import nbformat
import pytest

from qkv.cli import main
from qkv.examples import EXAMPLES, MissingError, floats, redraw, rows
from qkv.release import release, release_without_solutions

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = {int(path.name[:2]): path for path in (ROOT / "solutions").glob("*.ipynb")}
SEEDS = (1, 20261)


def solution(question: str, seed: int | None = None):
    notebook = nbformat.read(SOLUTIONS[int(question.split(".")[0])], as_version=4)
    if seed is not None:
        redraw(notebook, seed)
    return {cell.id: cell.source for cell in notebook.cells}


def printed(question: str, seed: int) -> list[float]:
    """Run the answers of a solution up to a question's cell to try, and give the numbers that this cell prints."""
    names: dict[str, object] = {}
    said = io.StringIO()
    trial = f"try-{question.replace('.', '-')}"
    for name, source in solution(question, seed).items():
        if name in ("imports", trial) or name.startswith("answer-"):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(source, names)
        if name == trial:
            break
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", said.getvalue())]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("question", EXAMPLES)
def test_the_code_prints_what_the_example_works_out(question, seed):
    expected = list(EXAMPLES[question](random.Random(f"{seed} {question}")).result)
    assert printed(question, seed)[: len(expected)] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("question", EXAMPLES)
def test_a_seed_gives_its_numbers_and_another_gives_others(question):
    drawn = [EXAMPLES[question](random.Random(f"{seed} {question}")) for seed in [*range(8), 7]]
    assert len({example.by_hand for example in drawn}) > 1
    assert drawn[7] == drawn[8]


@pytest.mark.parametrize("question", EXAMPLES)
def test_the_text_gets_the_example(question):
    drawn = EXAMPLES[question](random.Random(f"4 {question}"))
    assert f"\n\nBy hand: {drawn.by_hand}" in solution(question, 4)[f"question-{question.replace('.', '-')}"]


@pytest.mark.parametrize("question", ["1.2", "2.1", "2.2", "3.1"])
def test_the_text_names_the_result(question):
    for seed in range(40):
        example = EXAMPLES[question](random.Random(seed))
        last = [float(number) for number in re.findall(r"-?\d+", example.by_hand.split("`")[-2])]
        assert last == list(example.result)


def test_only_the_examples_change():
    for path in SOLUTIONS.values():
        before, after = nbformat.read(path, as_version=4), nbformat.read(path, as_version=4)
        redraw(after, 5)
        changed = [old.id for old, new in zip(before.cells, after.cells, strict=True) if old != new]
        assert {name.partition("-")[0] for name in changed} <= {"question", "try"}


def test_a_cell_that_is_not_as_expected_is_named():
    notebook = nbformat.read(SOLUTIONS[3], as_version=4)
    next(cell for cell in notebook.cells if cell.id == "try-3-1").source = "print(1)"
    with pytest.raises(MissingError, match="try-3-1"):
        redraw(notebook, 1)


def test_numbers_are_written_as_a_notebook_has_them():
    assert floats([[1, -2], [0, 3]]) == "[[1.0, -2], [0, 3]]"
    assert floats([[-1], [2]]) == "[[-1.0], [2]]"
    assert rows([[1, 2], [3, 4], [5.5, 6]]) == "`[1, 2]`, `[3, 4]` and `[5.5, 6]`"


# ── releases with them ────────────────────────────────────────────────────────────────────────────


def test_a_seeded_release_is_the_same_each_time_and_hides_the_answers(tmp_path):
    release(ROOT / "solutions", tmp_path / "one", seed=4)
    release(ROOT / "solutions", tmp_path / "two", seed=4)
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
        drawn = any(question.startswith(f"{int(path.name[:2])}.") for question in EXAMPLES)
        assert (path.read_bytes() != (ROOT / "exercises" / path.name).read_bytes()) == drawn
        assert "BEGIN SOLUTION" not in path.read_text()


def test_a_handout_has_chapters_and_exercises_and_no_solution(tmp_path):
    files = release_without_solutions(ROOT / "solutions", ROOT / "chapters", tmp_path / "handout")
    names = {path.relative_to(tmp_path / "handout").as_posix() for path in files}
    there = [*ROOT.glob("chapters/**/[0-9]*.ipynb"), *ROOT.glob("exercises/*.ipynb")]
    assert names == {path.relative_to(ROOT).as_posix() for path in there}
    assert not [
        path for path in (tmp_path / "handout").rglob("*") if path.is_file() and "BEGIN SOLUTION" in path.read_text()
    ]
    for path in files:
        assert path.read_bytes() == (ROOT / path.relative_to(tmp_path / "handout")).read_bytes()


def test_a_handout_has_deeper_pages_where_chapters_lead_to_them(tmp_path):
    (tmp_path / "chapters" / "deeper").mkdir(parents=True)
    (tmp_path / "chapters" / "deeper" / "03_race.ipynb").write_text("{}")
    release_without_solutions(ROOT / "solutions", tmp_path / "chapters", tmp_path / "handout")
    assert (tmp_path / "handout" / "chapters" / "deeper" / "03_race.ipynb").is_file()


def test_a_folder_that_holds_solutions_is_no_handout():
    with pytest.raises(FileExistsError):
        release_without_solutions(ROOT / "solutions", ROOT / "chapters", ROOT)


def test_the_command_writes_a_handout_and_refuses_a_folder_with_solutions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["release", "--without-solutions", str(tmp_path / "handout"), "--seed", "4"]) == 0
    written = list((tmp_path / "handout").rglob("*.ipynb"))
    assert f"wrote {len(written)} notebooks" in capsys.readouterr().out
    assert main(["release", "--without-solutions", "."]) == 2
    assert "solutions" in capsys.readouterr().err
    exercises = tmp_path / "handout" / "exercises"
    assert main(["release", "--check", "--seed", "4", "--exercises", str(exercises)]) == 0
    assert main(["release", "--check", "--seed", "5", "--exercises", str(exercises)]) == 1
