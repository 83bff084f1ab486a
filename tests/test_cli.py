"""The command `qkv`: what it says, and how it ends."""

from __future__ import annotations

import argparse
import builtins
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import qkv
from qkv import cli
from qkv.cli import main


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """A folder with one solution in it."""
    (tmp_path / "solutions").mkdir()
    metadata = {"nbgrader": {"grade": False, "grade_id": "f", "locked": False, "solution": True, "task": False}}
    metadata["nbgrader"]["schema_version"] = 3
    notebook = new_notebook(cells=[new_code_cell("x = 1", id="f", metadata=metadata)])
    notebook.nbformat_minor = 5
    nbformat.write(notebook, tmp_path / "solutions" / "03_a.ipynb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_release_writes_and_says_so(course, capsys):
    assert main(["release"]) == 0
    assert "wrote exercises/03_a.ipynb" in capsys.readouterr().out
    assert "NotImplementedError" in (course / "exercises" / "03_a.ipynb").read_text()


def test_check_names_what_is_out_of_sync_and_the_command_that_mends_it(course, capsys):
    assert main(["release", "--check"]) == 1
    said = capsys.readouterr().out
    assert "exercises/03_a.ipynb is missing." in said
    assert "qkv release" in said
    assert not (course / "exercises").exists()
    main(["release"])
    assert main(["release", "--check"]) == 0


@pytest.mark.parametrize(
    ("arguments", "stopped", "hint"),
    [
        (["grade", "."], "qkv.cli._grade", "run the same command again"),
        (["release"], "qkv.cli._release", "Run it again"),
        (["train", "tagger"], "qkv.cli._train", "Nothing was written"),
    ],
)
def test_a_stop_from_the_keyboard_is_answered(course, monkeypatch, capsys, arguments, stopped, hint):
    def stop(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(stopped, stop)
    assert main(arguments) == 130
    assert hint in capsys.readouterr().err


def test_outside_the_course_it_says_where_to_go(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["release"]) == 2
    assert "no folder solutions here" in capsys.readouterr().err


def test_without_nbgrader_it_says_what_to_install(course, monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.startswith("nbgrader"):
            raise ImportError("No module named 'nbgrader'")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["release"]) == 2
    assert "extra `grade`" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nowhere.ipynb", "x" * 5000, "a\x1b[2J.ipynb"], ids=["none", "too long", "an escape"])
def test_a_notebook_that_is_not_there_is_named_and_acts_on_no_terminal(name, capsys):
    assert main(["grade", name]) == 2
    said = capsys.readouterr().err
    assert said.startswith("qkv grade: there is no ")
    assert "\x1b" not in said


@pytest.mark.parametrize("arguments", [[], ["relase"], ["release", "--chek"]])
def test_bad_usage_ends_in_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize(("arguments", "word"), [(["--help"], "release"), (["release", "--help"], "--check")])
def test_help_names_what_there_is(arguments, word, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert word in capsys.readouterr().out


# ── what the pages promise ────────────────────────────────────────────────────────────────────────

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "book").glob("*.md")]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OURS = re.compile(r"\bqkv |tools/(site|publish|notebooks)\.py|^\| `--")  # a line about a command of this course


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the long options of a parser and of its subcommands."""
    found = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    commands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found.union(*(options_of(sub) for action in commands for sub in action.choices.values())) - {"--help"}


def test_every_option_of_the_command_is_run_by_a_test():
    tests = [path for path in (ROOT / "tests").glob("**/*.py") if path != Path(__file__)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*tests, Path(__file__)])
    assert [option for option in sorted(options_of(cli._parser())) if f'"{option}"' not in text] == []


def test_every_option_that_a_page_shows_is_run_by_a_test():
    lines = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines() if OURS.search(line)]
    shown = {option for line in lines for option in OPTION.findall(line)}
    assert {"--seed", "--without-solutions", "--without-page-python", "--roster"} <= shown
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("**/*.py"))
    assert [option for option in sorted(shown) if not re.search(rf"[\"' ]{option}[\"' ]", text)] == []


def test_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"qkv {qkv.__version__}\n"


def test_release_writes_a_folder_for_learners_and_one_for_nbgrader(course, capsys):
    (course / "chapters").mkdir()
    assert main(["release", "--solutions", "solutions", "--exercises", "mine"]) == 0
    assert (course / "mine" / "03_a.ipynb").exists()
    assert main(["release", "--without-solutions", "handout"]) == 0
    assert " files into handout" in capsys.readouterr().out
    assert (course / "handout" / "exercises" / "03_a.ipynb").exists()
    assert main(["release", "--nbgrader", "course/source"]) == 0
    assert (course / "course" / "source" / "03_a" / "03_a.ipynb").exists()
