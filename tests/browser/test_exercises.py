"""Exercises are answered on their page, where Python runs: the verdicts of `check`, the points of `qkv grade`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from qkv.cli import main

from .conftest import lay_out
from .test_first_paint import SHIFTS
from .test_site import violations_of

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = sorted(path.stem for path in (ROOT / "exercises").glob("[0-9]*.ipynb"))
SAMPLE = "03_scaling"
SHORTEST = "11_everywhere"  # its answers are few: this one is solved and graded in the gate
NAMES = [pytest.param(name, marks=() if name == SHORTEST else pytest.mark.slow) for name in EXERCISES]
PATIENCE = 240_000  # ms: the first check compiles all of Python, beside everything else that runs here
RIGHT = "def scaled_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5\n"
BY_D_K = "def scaled_scores(q, k):\n    return q @ k.mT / q.shape[-1]\n"
ENDLESS = "def scaled_scores(q, k):\n    while True:\n        pass\n"
SET = "([key, source]) => window.qkv.answer(key, source)"
CHECK = "([key, source]) => { window.qkv.answer(key, source); return window.qkv.check(key); }"

WIDEN = """box => box.querySelectorAll("tr").forEach((row) =>
  [...row.children].slice(1, 5).forEach((cell) => cell.after(cell.cloneNode(true))))"""
AS_IT_WAS = "area => window.qkv.answer(area.dataset.key, area.defaultValue)"
PLACES = """[...document.querySelectorAll(".qkv-answer, article p")]
  .filter((part) => part.checkVisibility())
  .map((part) => part.getBoundingClientRect())
  .map(({ top, height }) => [Math.round(top + scrollY), Math.round(height)])"""


def python_page(browser: Browser, site: str, path: str) -> Iterator[Page]:
    """Open a page for all tests of a file; at the end, nothing threw, and no other host was asked."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    opened.on("request", lambda r: None if r.url.startswith((site, "data:", "blob:")) else complaints.append(r.url))
    opened.on("pageerror", lambda error: complaints.append(f"threw: {error}"))
    opened.add_init_script(SHIFTS)
    opened.goto(f"{site}/{path}")
    yield opened
    context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A page of a phone's size, on which Python is started once; nothing but the site is asked for anything."""
    yield from python_page(browser, site, f"exercises/{SAMPLE}.html")


def checked(page: Page, question: str, source: str) -> dict[str, Any]:
    """Write an answer, check it, and give what the page says of it."""
    return dict(page.evaluate(CHECK, [question, source]))


def cells(path: Path) -> dict[str, str]:
    """The text of each cell of a notebook, by its id."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


# --- before anything is run ---------------------------------------------------------------------


def test_nothing_of_python_is_loaded_before_it_is_asked_for(browser: Browser, site: str):
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(SHIFTS)
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    expect(page.locator(".qkv-points")).to_contain_text("0 of 15 points")
    assert [url for url in asked if "/python/" in url] == []
    assert page.evaluate("window.shifts") == []
    page.close()


def test_without_scripts_the_exercise_is_there_as_it_is_printed(browser: Browser, site: str):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    expect(page.locator(".qkv-cell-answer pre").first).to_be_visible()
    assert page.locator(".qkv-live:visible").count() == 0
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_an_open_editor_is_accessible_and_moves_nothing(browser: Browser, site: str, width: int, scheme: str):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    lay_out(page)
    before = page.evaluate(PLACES)
    page.locator(".qkv-answer textarea").first.focus()
    editor = page.get_by_role("textbox", name="Your answer to question 3.1")
    expect(editor).to_be_focused()
    assert page.evaluate(PLACES) == before
    page.locator("[data-key='try 3.5']").focus()
    expect(page.locator(".cm-editor")).to_have_count(2)
    if width > 736:  # its lines are longer than a phone is wide: they wrap there once it is written in
        assert page.evaluate(PLACES) == before
    assert violations_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_an_editor_indents_undoes_and_is_left_by_the_keyboard(browser: Browser, site: str):
    page = browser.new_page()
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    page.locator(".qkv-answer textarea").first.focus()
    page.locator(".cm-editor").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type("def scaled_scores(q, k):\nreturn q")
    assert page.evaluate("window.qkv.answer('3.1')") == "def scaled_scores(q, k):\n    return q"
    page.keyboard.press("Control+z")
    assert page.evaluate("window.qkv.answer('3.1')") != "def scaled_scores(q, k):\n    return q"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('.qkv-answer')"), "the keyboard is caught"
    page.close()


# --- checks -------------------------------------------------------------------------------------


def test_answers_have_their_verdicts_and_their_points(page: Page):
    found = checked(page, "3.1", BY_D_K)
    assert (found["status"], found["points"], found["misconception"]) == ("failed", 0, "scaled-by-d-k"), found
    found = checked(page, "3.2", "def score_variance(d_k, var_q, var_k):\n    raise NotImplementedError\n")
    assert found["status"] == "not attempted"
    found = checked(page, "3.1", "def scaled_scores(q, k)\n    return q")
    assert found["status"] == "error"
    assert "SyntaxError" in found["message"]
    assert "`def scaled_scores(q, k)`" in found["message"], "the line that it came from"
    card = page.locator(".qkv-check[data-question='3.1'] .qkv-verdict")
    expect(card).to_have_attribute("data-status", "error")
    assert card.locator(".qkv-card").count() == 1
    found = checked(page, "3.1", RIGHT.replace("scaled_scores", "scores"))
    assert (found["status"], found["points"]) == ("error", 0)
    assert "`scaled_scores`" in found["message"]
    expect(page.locator(".qkv-points")).to_contain_text("0 of 15 points")
    found = checked(page, "3.1", RIGHT)
    assert (found["status"], found["points"], found["misconception"]) == ("passed", 3, None), found
    expect(page.locator(".qkv-points")).to_contain_text("3 of 15 points; 1 of 5 answers")


def test_the_card_comes_into_view_below_a_button_at_the_bottom_of_the_screen(page: Page):
    page.evaluate(SET, ["3.1", BY_D_K])
    place = page.locator(".qkv-check[data-question='3.1']")
    button = place.get_by_role("button", name="Check")
    button.evaluate("button => button.scrollIntoView({ block: 'end', behavior: 'instant' })")
    button.click()
    expect(place.locator(".qkv-card")).to_contain_text("not yet", timeout=PATIENCE)
    expect(place.locator(".qkv-card")).to_be_in_viewport(ratio=1)


def test_a_table_in_a_card_keeps_its_numbers_whole_and_is_scrolled_by_the_keyboard(page: Page):
    """With four more columns than it has, so that it is wider than the card."""
    checked(page, "3.3", "def attention(q, k, v):\n    scores = q @ k.mT\n    return scores @ v, scores\n")
    table = page.get_by_role("group", name="Your weights", exact=True)
    table.evaluate(WIDEN)
    heights = table.evaluate("box => [...box.querySelectorAll('tbody tr')].map((row) => row.clientHeight)")
    assert max(heights) < 30
    assert table.locator("td").first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)") >= 12
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    table.focus()
    page.keyboard.press("ArrowRight")
    expect(table).to_be_focused()
    page.wait_for_function("() => document.activeElement.scrollLeft > 0")


def test_what_was_found_of_an_answer_counts_for_that_text_alone(page: Page):
    checked(page, "3.1", RIGHT)
    card = page.locator(".qkv-check[data-question='3.1'] .qkv-verdict")
    page.evaluate(SET, ["3.1", RIGHT + "\n"])
    expect(page.locator(".qkv-points")).to_contain_text("0 of 15 points")
    expect(card).to_have_attribute("data-old", "")
    page.evaluate(SET, ["3.1", RIGHT])
    expect(page.locator(".qkv-points")).to_contain_text("3 of 15 points")
    expect(card).not_to_have_attribute("data-old", "")


def test_the_cursor_stands_where_the_first_press_put_it(page: Page):
    """Also in a second text, when the editor is loaded already."""
    for key in ("try 3.2", "try 3.3"):
        area = page.locator(f"[data-key='{key}']")
        area.evaluate("area => area.scrollIntoView({ block: 'center', behavior: 'instant' })")
        place = area.bounding_box()
        page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        expect(area).to_be_hidden()
        page.keyboard.type("!")
        text = page.evaluate("key => window.qkv.answer(key)", key)
        assert 0 < text.index("!") < len(text) - 1, text
        page.evaluate(SET, [key, text.replace("!", "")])


def test_an_earlier_answer_is_seen_by_a_later_one(page: Page):
    page.evaluate(SET, ["3.1", RIGHT])
    later = "def attention(q, k, v):\n    weights = scaled_scores(q, k).softmax(-1)\n    return weights @ v, weights\n"
    assert checked(page, "3.3", later)["status"] == "passed"


def test_an_answer_above_that_does_not_run_is_named(page: Page):
    page.evaluate(SET, ["3.1", RIGHT.replace(")", "", 1)])
    found = checked(page, "3.3", "def attention(q, k, v):\n    return scaled_scores(q, k).softmax(-1) @ v\n")
    assert "did not run: SyntaxError" in found["message"]
    page.evaluate(SET, ["3.1", RIGHT])


def test_what_is_asked_meanwhile_waits_and_has_its_own_time(page: Page):
    """The first is stopped; the second, which waited, is answered by another worker."""
    page.evaluate("source => { window.qkv.answer('3.1', source); window.first = window.qkv.check('3.1'); }", ENDLESS)
    page.evaluate("source => { window.qkv.answer('3.1', source); window.second = window.qkv.check('3.1'); }", RIGHT)
    page.wait_for_timeout(500)
    page.locator(".qkv-check").first.get_by_role("button", name="Stop").click()
    assert page.evaluate("() => window.first")["status"] == "error"
    assert page.evaluate("() => window.second")["status"] == "passed"


def test_a_cell_to_try_in_prints(page: Page):
    page.evaluate(SET, ["3.1", RIGHT])
    cell = page.locator(".qkv-cell-try").first
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator(".qkv-printed")).to_have_text("tensor([[ 2.,  1., -1.]])\n", timeout=PATIENCE)


def test_long_output_is_cut_with_a_word_and_scrolls(page: Page):
    cell = page.locator(".qkv-cell-try").first
    page.evaluate(SET, ["try 3.1", "for place in range(3000):\n    print(place, 'x' * 60)"])
    cell.get_by_role("button", name="Run").click()
    printed = cell.locator(".qkv-printed")
    expect(printed).to_contain_text("\n… Cut here, after 20,000 characters.\n", timeout=PATIENCE)
    assert printed.bounding_box()["height"] <= 0.7 * 844
    printed.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.activeElement.scrollTop > 0")
    page.locator("[data-key='try 3.1']").evaluate(AS_IT_WAS)


def test_names_stay_until_python_is_restarted_and_the_page_says_so(page: Page):
    expect(page.locator(".qkv-offer")).to_contain_text("Restart")
    cell = page.locator(".qkv-cell-try").first
    run, restart = (cell.get_by_role("button", name=name) for name in ("Run", "Restart"))

    def runs(source: str, printed: str) -> None:
        page.evaluate(SET, ["try 3.1", source])
        run.click()
        expect(cell.locator(".qkv-printed")).to_contain_text(printed, timeout=PATIENCE)

    runs("seen = 5\nprint(seen)", "5\n")
    runs("seen += 1\nprint(seen)", "6\n")
    restart.click()
    expect(cell.locator(".qkv-said")).to_contain_text("Restarted")
    runs("print(seen)", "name 'seen' is not defined")
    expect(cell.locator(".qkv-said")).to_contain_text("above first")
    page.locator("[data-key='try 3.1']").evaluate(AS_IT_WAS)


def test_an_interpreter_that_ended_is_replaced_at_once(page: Page):
    cell = page.locator(".qkv-cell-try").first
    printed = cell.locator(".qkv-printed")
    page.evaluate(SET, ["try 3.1", "x = []\nfor _ in range(200_000):\n    x = [x]\ndel x\nprint('whole')"])
    cell.get_by_role("button", name="Run").click()
    ended = cell.locator(".qkv-card")
    expect(ended).to_contain_text("too deeply", timeout=PATIENCE)
    expect(printed).to_be_hidden()
    page.evaluate(SET, ["try 3.1", "print('again')"])
    cell.get_by_role("button", name="Run").click()
    expect(printed).to_have_text("again\n", timeout=PATIENCE)
    page.locator("[data-key='try 3.1']").evaluate(AS_IT_WAS)


def test_a_cell_to_try_in_says_why_it_is_silent(page: Page):
    cell = page.locator(".qkv-cell-try").last
    cell.get_by_role("button", name="Run").click()
    silence = "It printed nothing. The answer above it has not been written yet."
    expect(cell.locator(".qkv-printed")).to_have_text(silence, timeout=PATIENCE)


def test_a_loop_without_an_end_is_stopped_and_the_text_stays(page: Page):
    page.evaluate("source => { window.qkv.answer('3.1', source); window.ended = window.qkv.check('3.1'); }", ENDLESS)
    page.wait_for_timeout(500)
    page.locator(".qkv-check").first.get_by_role("button", name="Stop").click()
    assert page.evaluate("() => window.ended")["status"] == "error"
    assert page.evaluate("window.qkv.answer('3.1')") == ENDLESS
    assert checked(page, "3.1", RIGHT)["status"] == "passed", "another worker"


def test_answers_are_cleared_and_called_back(page: Page):
    checked(page, "3.1", RIGHT)
    points = page.locator(".qkv-points [role=status]").inner_text()
    page.get_by_role("button", name="Clear my answers").click()
    assert "NotImplementedError" in page.evaluate("window.qkv.answer('3.1')")
    assert page.evaluate("localStorage.getItem('qkv-answers')") is None
    page.get_by_role("button", name="Undo").click()
    assert page.evaluate("window.qkv.answer('3.1')") == RIGHT
    expect(page.locator(".qkv-points [role=status]")).to_have_text(points)
    expect(page.locator(".qkv-check[data-question='3.1'] .qkv-verdict")).not_to_have_attribute("data-old", "")


def test_a_card_of_another_text_stays_old_when_answers_are_called_back(page: Page):
    checked(page, "3.1", RIGHT)
    page.get_by_role("button", name="Clear my answers").click()
    page.evaluate("() => window.qkv.check('3.1')")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".qkv-check[data-question='3.1'] .qkv-verdict")).to_have_attribute("data-old", "")


# --- the notebook -------------------------------------------------------------------------------


def graded(notebook: Path, out: Path) -> dict[str, float]:
    """The points of each question, as `qkv grade` gives them."""
    options = ["--out", str(out), "--jobs", "1"]
    assert main(["grade", str(notebook.parents[1]), *options]) == 0
    report = json.loads((out / "amy" / f"{notebook.stem}.json").read_text(encoding="utf-8"))
    return {question["id"]: question["points"] for question in report["questions"]}


@pytest.mark.parametrize("name", NAMES)
def test_the_downloaded_notebook_gets_the_points_of_the_page(page: Page, site: str, tmp_path: Path, name: str):
    """Every answer is the solution's but the last, which is still to be written."""
    if not page.url.endswith(f"/{name}.html"):
        page.goto(f"{site}/exercises/{name}.html")
    solution = cells(ROOT / "solutions" / f"{name}.ipynb")
    parts = {cell: text for cell, text in solution.items() if cell.startswith("parts-")}
    for cell, text in parts.items():
        page.evaluate(SET, [cell.removeprefix("parts-").replace("-", "."), text])
    areas = page.locator(".qkv-answer textarea[data-name]").all()
    keys = {area.get_attribute("data-name"): area.get_attribute("data-key") for area in areas}
    on_page = {}
    for answer, key in keys.items():
        if answer == list(keys)[-1]:
            on_page[key] = page.evaluate("key => window.qkv.check(key)", key)["points"]
        else:
            on_page[key] = checked(page, key, solution[f"answer-{answer}"])["points"]
    assert sum(points > 0 for points in on_page.values()) == len(keys) - 1, on_page
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download my notebook").click()
    notebook = tmp_path / "in" / "amy" / waiting.value.suggested_filename
    waiting.value.save_as(notebook)
    exercise = ROOT / "exercises" / f"{name}.ipynb"
    assert notebook.name == exercise.name
    changed = {cell for cell, text in cells(notebook).items() if text != cells(exercise)[cell]}
    assert changed == {f"answer-{answer}" for answer in list(keys)[:-1]} | parts.keys()
    assert graded(notebook, tmp_path / "out") == on_page


# --- answers that become parts ------------------------------------------------------------------


def test_answers_of_this_browser_are_brought_over_and_shown(browser: Browser, site: str):
    page = browser.new_page()
    page.goto(f"{site}/exercises/12_capstone.html")
    kept = {
        "5.1": {"source": "def split_heads(x, n_heads):\n    return 51\n"},
        "5.2": {"source": "def merge_heads(x):\n    raise NotImplementedError  # begun\n"},
        "7.1": {"source": "KVCache = 71"},
    }
    page.evaluate(
        "answers => localStorage.setItem('qkv-answers', JSON.stringify({format: 'qkv-answers', version: 1, answers}))",
        kept,
    )
    for button in page.get_by_role("button", name="Bring my answers").all():
        button.click()
    heads, cache, layers = (page.evaluate("key => window.qkv.answer(key)", f"12.0{i}") for i in (1, 2, 3))
    assert "return 51" in heads
    assert cache == "# 7.1: append(k, v) and len\nKVCache = 71\n"
    assert heads.count("# 5.1: ") == layers.count("# 8.3: ") == 1
    assert (heads + layers).count("raise NotImplementedError") == 6  # of the parts that this browser does not keep
    said = page.locator(".qkv-do:has([data-do=bring]) .qkv-said")
    assert "begun" not in heads
    expect(said.first).to_contain_text("Your answers to 5.1 are in: read them.")
    expect(said.first).to_contain_text("no answer to 5.2, 5.3, 5.4:")
    expect(said.last).to_contain_text("no answer to 8.1, 8.2, 8.3:")
    page.close()


# --- another visit ------------------------------------------------------------------------------


def test_an_answer_is_kept_and_in_its_place_before_the_first_paint(page: Page, site: str):
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    page.evaluate(SET, ["3.1", ENDLESS])
    page.reload()
    assert page.evaluate("window.qkv.answer('3.1')") == ENDLESS, "kept in this browser"
    expect(page.locator(".qkv-last").first).to_have_text("3 points")
    assert page.evaluate("window.shifts") == []
