"""The map of the course: what was read is noted in this browser alone, and can be taken along and forgotten."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
MAP = "book/map.html"
CHAPTERS, EXERCISES = (
    sorted(f"{folder}/{path.stem}" for path in (ROOT / folder).glob("[0-9]*.ipynb"))
    for folder in ("chapters", "exercises")
)
CHAPTER, EXERCISE = "chapters/03_scaling", "exercises/03_scaling"


def kept(page: Page) -> dict[str, dict[str, str]]:
    return json.loads(page.evaluate("localStorage.getItem('qkv-progress')") or '{"pages": {}}')["pages"]


def progress(pages: object, version: int = 1) -> str:
    return json.dumps({"format": "qkv-progress", "version": version, "pages": pages})


def test_the_map_has_all_of_the_course(visit: Visit):
    page = visit(MAP)
    for folder, all_of_them in (("chapters", CHAPTERS), ("exercises", EXERCISES)):
        boxes = page.locator(f'[data-progress^="{folder}/"]').all()
        assert [box.get_attribute("data-progress") for box in boxes] == all_of_them
    assert page.locator(".qkv-sections a").count() > 4 * len(CHAPTERS)
    assert page.locator("main a[href*=solutions]").count() == 0


def test_a_chapter_is_read_when_its_end_was_reached_after_a_while(visit: Visit):
    page = visit("book/notation.html")
    page.clock.install()
    page.goto(page.url.replace("book/notation", CHAPTER))
    page.locator("footer").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    assert kept(page)[CHAPTER].keys() == {"visited"}
    page.clock.run_for(11_000)
    assert kept(page)[CHAPTER].keys() == {"visited", "read"}
    expect(page.locator(".sidebar-tree a.qkv-read")).to_have_count(1)


def test_a_tick_is_kept_and_shown(visit: Visit):
    page = visit(MAP)
    page.locator(f'[data-progress="{EXERCISE}"]').check()
    status = page.locator(".qkv-progress [role=status]")
    expect(status).to_have_text(
        f"You have read 0 of {len(CHAPTERS)} chapters and done 1 of {len(EXERCISES)} sets of exercises."
    )
    page.reload()
    expect(page.locator(f'[data-progress="{EXERCISE}"]')).to_be_checked()
    expect(page.locator(".sidebar-tree a.qkv-read")).to_have_count(1)
    page.locator(f'[data-progress="{EXERCISE}"]').uncheck()
    assert kept(page) == {EXERCISE: {}}


def right_answers(chapter: int, questions: int) -> str:
    """What this browser keeps of a set of exercises of which every answer is right."""
    answers = {f"{chapter}.{i}": {"source": "x", "status": "passed", "points": 3} for i in range(1, questions + 1)}
    return json.dumps({"format": "qkv-answers", "version": 1, "answers": answers})


@pytest.mark.parametrize(("right", "done"), [(4, 0), (5, 1)])
def test_the_map_knows_the_exercises_whose_answers_are_all_right(visit: Visit, right: int, done: int):
    page = visit(MAP)
    page.evaluate("kept => localStorage.setItem('qkv-answers', kept)", right_answers(3, right))
    page.reload()
    expect(page.locator(".qkv-progress [role=status]")).to_contain_text(f"done {done} of {len(EXERCISES)} sets")
    expect(page.locator(f'[data-progress="{EXERCISE}"]')).to_be_checked(checked=bool(done))
    expect(page.locator(".sidebar-tree a.qkv-read")).to_have_count(done)
    page.locator(f'[data-progress="{EXERCISE}"]').set_checked(False)
    expect(page.locator(f'[data-progress="{EXERCISE}"]')).not_to_be_checked()


def test_progress_travels_as_a_file(visit: Visit, tmp_path: Path):
    page = visit(MAP)
    page.locator(f'[data-progress="{CHAPTER}"]').check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "mine.json"
    download.value.save_as(file)
    other = visit(MAP)
    other.locator("input[type=file]").set_input_files(file)
    expect(other.locator(f'[data-progress="{CHAPTER}"]')).to_be_checked()
    assert kept(other) == kept(page)


@pytest.mark.parametrize("text", ["no JSON", "[]", progress({}, version=2), '{"format": "other", "pages": {}}'])
def test_a_file_that_is_none_of_ours_is_refused(visit: Visit, tmp_path: Path, text: str):
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    page = visit(MAP)
    page.locator("input[type=file]").set_input_files(file)
    expect(page.locator(".qkv-progress [role=status]")).to_contain_text("cannot be read")
    assert kept(page) == {}


def test_of_a_file_only_what_is_known_is_taken(visit: Visit, tmp_path: Path):
    file = tmp_path / "odd.json"
    odd = {"../../etc": {"read": "2026-01-01"}, CHAPTER: {"read": "<b>", "visited": "2026-01-02", "x": "2026-01-01"}}
    file.write_text(progress(odd), encoding="utf-8")
    page = visit(MAP)
    page.locator("input[type=file]").set_input_files(file)
    expect(page.locator(f'[data-visited="{CHAPTER}"]')).to_have_text(", opened 2026-01-02")
    assert kept(page) == {CHAPTER: {"visited": "2026-01-02"}}


HELD: dict[str, dict[str, Any]] = {
    "qkv-predictions": {"guesses": {"chapters/03_scaling#widget-1": {"isRight": True, "isSure": False}}},
    "qkv-answers": {
        "answers": {
            "3.1": {"source": "def f(): ...", "status": "passed", "points": 3},
            "try 3.1": {"source": "1"},
            "chapters/03_scaling spread-of-scores": {"source": "2"},  # an edited cell of a chapter
        }
    },
}
OTHERS = {key: {"format": key, "version": 1} | held for key, held in HELD.items()}
READ_OTHERS = "keys => Object.fromEntries(keys.map((key) => [key, JSON.parse(localStorage.getItem(key))]))"


def test_guesses_and_answers_travel_with_it_and_are_forgotten_with_it(visit: Visit, tmp_path: Path):
    page = visit(MAP)
    page.evaluate("all => { for (const key in all) localStorage.setItem(key, JSON.stringify(all[key])); }", OTHERS)
    page.reload()
    expect(page.locator(f'[data-visited="{EXERCISE}"]')).to_have_text(", 3 points, 1 of 5 answers right")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "mine.json"
    download.value.save_as(file)
    other = visit(MAP)
    other.locator("input[type=file]").set_input_files(file)
    other.wait_for_function("() => localStorage.getItem('qkv-answers')")
    expect(other.locator(f'[data-visited="{EXERCISE}"]')).to_have_text("")
    brought = other.evaluate(READ_OTHERS, list(OTHERS))
    sources = {key: kept["source"] for key, kept in HELD["qkv-answers"]["answers"].items()}
    texts = {key: {"source": source, "imported": True} for key, source in sources.items()}
    assert brought.pop("qkv-answers")["answers"] == texts, (
        "it runs only after the reader has seen it, and has no points"
    )
    assert brought == {"qkv-predictions": OTHERS["qkv-predictions"]}
    other.get_by_role("button", name="Clear").click()
    assert other.evaluate("localStorage.length") == 0
    held = other.evaluate("JSON.stringify({ ...localStorage })")
    assert held == "{}"
    other.get_by_role("button", name="Undo").click()
    assert list(other.evaluate(READ_OTHERS, list(OTHERS))) == list(OTHERS)


FORGED: dict[str, dict[str, object]] = {
    "points without a text": {"status": "passed", "points": 3},
    "points of a text that failed": {"source": "x", "status": "failed", "points": 3},
    "too many points": {"source": "x", "status": "passed", "points": 10**9},
    "points below zero": {"source": "x", "status": "passed", "points": -3},
    "no number": {"source": "x", "status": "passed", "points": "3"},
    "half a point": {"source": "x", "status": "passed", "points": 0.5},
    "a status that is none": {"source": "x", "status": "<b>", "points": 0},
}


def test_points_that_were_not_earned_are_not_shown(visit: Visit, tmp_path: Path):
    """Neither from a file, whatever it says, nor from what a page finds in its own storage."""
    file = tmp_path / "theirs.json"
    page = visit(MAP)
    for name, answer in {**FORGED, "a right one": {"source": "x", "status": "passed", "points": 3}}.items():
        answers = {"format": "qkv-answers", "version": 1, "answers": {"3.1": answer}}
        file.write_text(json.dumps({**json.loads(progress({})), "qkv-answers": answers}), encoding="utf-8")
        page.locator("input[type=file]").set_input_files(file)
        page.wait_for_timeout(100)
        expect(page.locator(f'[data-visited="{EXERCISE}"]')).to_have_text("")
        page.evaluate("kept => localStorage.setItem('qkv-answers', kept)", json.dumps(answers))
        page.reload()
        shown = ", 3 points, 1 of 5 answers right" if name == "a right one" else ""
        expect(page.locator(f'[data-visited="{EXERCISE}"]')).to_have_text(shown)
        page.evaluate("localStorage.clear()")


def test_an_answer_that_was_written_here_stays_when_a_file_is_added(visit: Visit, tmp_path: Path):
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps({**json.loads(progress({})), **OTHERS}), encoding="utf-8")
    page = visit(MAP)
    mine = {"format": "qkv-answers", "version": 1, "answers": {"3.1": {"source": "mine"}}}
    page.evaluate("mine => localStorage.setItem('qkv-answers', JSON.stringify(mine))", mine)
    page.locator("input[type=file]").set_input_files(file)
    page.wait_for_function("() => localStorage.getItem('qkv-predictions')")
    answers = page.evaluate(READ_OTHERS, ["qkv-answers"])["qkv-answers"]["answers"]
    assert answers.pop("3.1") == {"source": "mine"}
    assert {kept["imported"] for kept in answers.values()} == {True}


def test_edited_cells_of_a_chapter_stay_when_a_file_is_added_and_when_all_is_brought_back(visit: Visit, tmp_path: Path):
    file = tmp_path / "theirs.json"
    file.write_text(progress({}), encoding="utf-8")
    page = visit(MAP)
    mine = {"format": "qkv-answers", "version": 1, "answers": {f"{CHAPTER} spread-of-scores": {"source": "mine"}}}
    page.evaluate("mine => localStorage.setItem('qkv-answers', JSON.stringify(mine))", mine)
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Clear").click()
    assert page.evaluate("localStorage.getItem('qkv-answers')") is None
    page.get_by_role("button", name="Undo").click()
    assert page.evaluate(READ_OTHERS, ["qkv-answers"]) == {"qkv-answers": mine}


def test_progress_can_be_forgotten_and_called_back(visit: Visit):
    page = visit(MAP)
    box = page.locator(f'[data-progress="{CHAPTER}"]')
    box.check()
    page.get_by_role("button", name="Clear").click()
    expect(box).not_to_be_checked()
    assert page.evaluate("localStorage.getItem('qkv-progress')") is None
    page.get_by_role("button", name="Undo").click()
    expect(box).to_be_checked()


def test_a_page_without_a_question_has_no_points_and_is_never_done(visit: Visit):
    page = visit("book/try.html")
    page.evaluate("document.dispatchEvent(new Event('qkv-checked'))")
    assert page.locator(".qkv-check, .qkv-points").count() == 0
    assert kept(page) == {}


def test_a_broken_memory_breaks_no_page(visit: Visit):
    page = visit(MAP)
    page.evaluate("localStorage.setItem('qkv-progress', '{broken')")
    page.reload()
    expect(page.locator(".qkv-progress [role=status]")).to_contain_text(f"0 of {len(CHAPTERS)} chapters")
