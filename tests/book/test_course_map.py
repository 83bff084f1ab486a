"""The maps of the course: what they show of a course with exercises, and of one without any question."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from qkv_site import course_map
from qkv_site.pictures import CHAPTERS, FORMULA

CHAPTER, EXERCISE, CAPSTONE = "chapters/03_scaling", "exercises/03_scaling", "exercises/12_capstone"


@pytest.fixture(autouse=True)
def without_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has sections only in a real build."""
    monkeypatch.setattr(course_map, "sections_of", lambda app, page: [])


def app(*pages: str) -> SimpleNamespace:
    """What the maps use of a build with these pages."""
    title = SimpleNamespace(astext=lambda: "A title")
    env = SimpleNamespace(
        found_docs={*pages},
        titles=dict.fromkeys(pages, title),
        metadata={page: {"qkv_minutes": 30} for page in pages},
        doc2path=lambda page: str(Path(__file__).resolve().parents[2] / f"{page}.ipynb"),
    )
    return SimpleNamespace(env=env, builder=SimpleNamespace(get_relative_uri=lambda page, target: target))


def progress(*pages: str) -> str:
    return course_map.progress_list(course_map.progress_rows(app(*pages), "book/map"))


def test_a_course_without_a_question_shows_no_progress_of_exercises():
    shown = progress(CHAPTER)
    assert "You have read 0 of 1 chapters.<" in shown
    assert "exercises" not in shown
    assert "data-exercise" not in course_map.flow(app(CHAPTER), "book/map")


def test_a_set_of_exercises_knows_its_questions_and_one_without_a_chapter_is_the_last_tile():
    assert 'data-progress="exercises/03_scaling" data-questions="5"' in progress(CHAPTER, EXERCISE)
    tiles = course_map.flow(app(CHAPTER, EXERCISE, CAPSTONE), "book/map")
    assert re.findall(r'data-tile="([^"]+)" data-exercise="([^"]+)"', tiles) == [
        (CHAPTER, EXERCISE),
        (CAPSTONE, CAPSTONE),
    ]


def test_each_letter_of_a_chapter_is_in_the_formula_and_each_letter_of_the_formula_has_a_chapter():
    marked = {*re.findall(r"letter=(\w+)", FORMULA)}
    assert {letter for chapter in CHAPTERS.values() for letter in chapter.letters.split()} == marked
    few = [chapter.letters.split() for chapter in CHAPTERS.values() if len(chapter.letters.split()) < len(marked)]
    assert {letter for letters in few for letter in letters} == marked
