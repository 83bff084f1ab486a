"""The predictions in Chromium: a guess by pointer and by keyboard, what is said of it, and what the page is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import frame

pytestmark = pytest.mark.browser

COMMON = {"question": "How large is d_k?", "why": "Because of *this*.", "sure": False}
NUMBER = COMMON | {"answer": 32, "near": 4, "unit": "nats", "guess": []}
BARS = COMMON | {
    "labels": ["a", "b"],
    "answer": [0.8, 0.2],
    "near": 0.1,
    "top": 1,
    "line": False,
    "given": [],
    "unit": "",
    "guess": [],
}
MASK = COMMON | {"rows": ["I", "saw"], "columns": ["I", "saw"], "answer": [[True, False], [True, True]]}
MASK |= {"guess": []}
CHOICE = {"question": "How large?", "options": [["1", "no"], ["32", "yes"]], "answer": "B", "guess": "", "sure": False}

OPEN = """([kind, state]) => {
  window.told = [];
  document.addEventListener("qkv-predicted", ({ detail }) => told.push(detail));
  window.shown = show(predictions[kind], state);
}"""


@pytest.fixture
def start(open_page: Callable[..., Page]) -> Callable[..., Page]:
    def start(kind: str, state: dict[str, Any], width: int = 800) -> Page:
        page = open_page(width=width)
        page.evaluate(OPEN, [kind, state])
        return page

    return start


def commit(page: Page) -> str:
    """Commit, and return what is said of the guess."""
    page.get_by_role("button", name="commit").click()
    frame(page)
    return page.locator(".qkv-commit b").inner_text()


def told(page: Page) -> list[dict[str, bool]]:
    return page.evaluate("told")


def test_nothing_can_be_committed_before_there_is_a_guess(start):
    for kind, state in {"predict": CHOICE, "predictNumber": NUMBER, "predictBars": BARS, "predictMask": MASK}.items():
        page = start(kind, state)
        assert page.get_by_role("button", name="guess first").is_disabled(), kind
        assert "Because" not in page.locator(".qkv-predict").inner_text(), kind


@pytest.mark.parametrize(
    ("typed", "right", "said"),
    [
        ("32", True, "That is right. The answer is 32 nats."),
        ("35", True, "That is close. The answer is 32 nats."),
        ("37", False, "Your guess is off by 5 nats. The answer is 32 nats."),
        ("1024", False, "Your guess is 32 times too large. The answer is 32 nats."),
        ("1", False, "Your guess is 32 times too small. The answer is 32 nats."),
        ("-32", False, "Your guess is off by 64 nats. The answer is 32 nats."),
    ],
)
def test_a_number_is_judged_by_how_far_it_is_off(start, typed, right, said):
    page = start("predictNumber", NUMBER)
    page.get_by_role("spinbutton").fill(typed)
    assert commit(page) == said
    assert told(page) == [{"isRight": right, "isSure": False}]


def test_the_page_is_told_whether_the_reader_was_sure(start):
    page = start("predict", CHOICE)
    page.get_by_role("radio").nth(0).check()
    page.get_by_role("switch", name="I am sure").check()
    assert commit(page) == "The answer is B."
    assert told(page) == [{"isRight": False, "isSure": True}]
    assert page.evaluate("shown.model.get('sure')") is True


def test_the_focus_stays_on_the_button_and_a_guess_can_be_made_again(start):
    page = start("predictNumber", NUMBER)
    page.get_by_role("spinbutton").fill("3")
    page.get_by_role("button", name="commit").press("Enter")
    frame(page)
    assert page.evaluate("document.activeElement.innerText") == "guess again"
    page.keyboard.press("Enter")
    frame(page)
    assert page.get_by_role("spinbutton").input_value() == "3"
    assert page.evaluate("shown.model.get('guess')") == []


def test_bars_are_drawn_in_one_stroke(start):
    page = start("predictBars", BARS)
    area = page.locator(".qkv-drawn-area").bounding_box()
    assert area
    high, low = area["y"] + 0.2 * area["height"], area["y"] + 0.8 * area["height"]
    page.mouse.move(area["x"] + 0.25 * area["width"], high)
    page.mouse.down()
    frame(page)
    page.mouse.move(area["x"] + 0.75 * area["width"], low, steps=4)
    page.mouse.up()
    frame(page)
    values = [float(bar.input_value()) for bar in page.get_by_role("slider").all()]
    assert values[0] > 0.5
    assert values[1] == pytest.approx(0.2, abs=0.03)


def test_a_sloped_stroke_gives_each_column_its_height_in_the_middle(start):
    page = start("predictBars", BARS | {"labels": ["a", "b", "c", "d"], "answer": [0.5] * 4})
    area = page.locator(".qkv-drawn-area").bounding_box()
    assert area
    page.mouse.move(area["x"] + 1, area["y"] + 1)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] - 1, area["y"] + area["height"] - 1, steps=30)
    page.mouse.up()
    frame(page)
    values = [float(bar.input_value()) for bar in page.get_by_role("slider").all()]
    assert values == pytest.approx([0.875, 0.625, 0.375, 0.125], abs=0.02)


def test_a_value_follows_the_pointer_up_and_down_beside_its_middle(start):
    page = start("predictBars", BARS)
    area = page.locator(".qkv-drawn-area").bounding_box()
    assert area
    for column, x in enumerate((0.25, 0.9)):
        page.mouse.move(area["x"] + x * area["width"], area["y"] + 0.8 * area["height"])
        page.mouse.down()
        page.mouse.move(area["x"] + x * area["width"], area["y"] + 0.3 * area["height"], steps=4)
        page.mouse.up()
        frame(page)
        assert float(page.get_by_role("slider").nth(column).input_value()) == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize(("y", "value"), [(0.97, 0), (0.985, 0), (0.9, 0.1)])
def test_a_press_at_a_bar_s_foot_means_0(start, y, value):
    page = start("predictBars", BARS | {"top": 100})
    area = page.locator(".qkv-drawn-area").bounding_box()
    assert area
    bar = page.get_by_role("slider").nth(1)
    for press in (0.5, y):
        page.mouse.click(area["x"] + 0.75 * area["width"], area["y"] + press * area["height"])
        frame(page)
    assert float(bar.input_value()) == pytest.approx(100 * value)


def test_the_column_that_was_pressed_has_the_arrow_keys(start):
    page = start("predictBars", BARS)
    area = page.locator(".qkv-drawn-area").bounding_box()
    assert area
    page.mouse.click(area["x"] + 0.75 * area["width"], area["y"] + 0.5 * area["height"])
    frame(page)
    before = float(page.get_by_role("slider").nth(1).input_value())
    page.keyboard.press("ArrowUp")
    frame(page)
    assert float(page.get_by_role("slider").nth(1).input_value()) == pytest.approx(before + 0.02)


PLACES = """() => {
  const middles = (selector) => [...document.querySelectorAll(selector)].map((e) => {
    const { left, right } = e.getBoundingClientRect();
    return (left + right) / 2;
  });
  return [".qkv-drawn-bar", "thead th", "tbody tr:last-child td"].map(middles);
}"""


@pytest.mark.parametrize("line", [True, False])
def test_the_columns_of_numbers_are_below_what_is_drawn_and_nothing_moves_when_the_answer_comes(start, line):
    labels = ["1", "4", "16", "attention, positions"]
    page = start("predictBars", BARS | {"labels": labels, "answer": [0, 0.5, 1, 0.25], "line": line}, width=390)
    page.get_by_role("slider").first.press("End")
    frame(page)
    area = page.locator(".qkv-drawn-area").bounding_box()
    bars, names, numbers = page.evaluate(PLACES)
    assert names == pytest.approx(bars, abs=1)
    assert numbers == pytest.approx(bars, abs=1)
    commit(page)
    assert page.locator(".qkv-drawn-area").bounding_box() == area
    for places in page.evaluate(PLACES):
        assert places == pytest.approx(bars, abs=1)


def test_the_scale_and_what_the_question_gives_are_written(start):
    page = start("predictBars", BARS | {"top": 0.5, "given": [0.24]})
    assert page.locator(".qkv-drawn-axis").inner_text().split() == ["0", "0.25", "0.50"]
    area, line = (page.locator(f".qkv-drawn-{part}").bounding_box() for part in ("area", "given"))
    assert area
    assert line
    assert line["y"] == pytest.approx(area["y"] + area["height"] * (1 - 0.24 / 0.5), abs=2)
    assert "given: 0.24" in page.locator(".qkv-drawn").inner_text()


def test_an_exact_guess_is_called_right(start):
    page = start("predictBars", BARS | {"answer": [1, 0]})
    page.get_by_role("slider").first.press("End")
    frame(page)
    assert commit(page) == "That is right."


def test_bars_are_drawn_with_the_keyboard_and_compared_on_average(start):
    page = start("predictBars", BARS)
    first, second = page.get_by_role("slider").all()
    first.focus()
    page.keyboard.press("End")
    frame(page)
    second.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
        frame(page)
    assert commit(page) == "That is close. On average you are off by 0.10."
    assert page.evaluate("shown.model.get('guess')") == pytest.approx([1, 0.2])
    assert page.locator(".qkv-drawn-table tr").last.inner_text().split() == ["answer", "0.80", "0.20"]


def test_a_mask_is_painted_by_a_stroke_and_by_the_space_bar(start):
    page = start("predictMask", MASK)
    cells = page.locator("[data-cell]")
    start_of, end_of = (cells.nth(i).bounding_box() for i in (2, 3))
    assert start_of
    assert end_of
    page.mouse.move(start_of["x"] + 5, start_of["y"] + 5)
    page.mouse.down()
    frame(page)
    page.mouse.move(end_of["x"] + 5, end_of["y"] + 5, steps=3)
    page.mouse.up()
    frame(page)
    page.get_by_role("checkbox", name="I may attend to saw").press("Space")
    frame(page)
    assert page.evaluate("shown.model.get('guess')") == []
    assert commit(page) == "2 of 4 cells are not right."
    assert page.evaluate("shown.model.get('guess')") == [[False, True], [True, True]]
    assert told(page) == [{"isRight": False, "isSure": False}]


def test_nothing_sticks_out_on_a_phone(start):
    many = BARS | {"labels": [str(2**i) for i in range(8)], "answer": [0.1] * 8}
    for kind, state in {"predict": CHOICE, "predictNumber": NUMBER, "predictBars": many, "predictMask": MASK}.items():
        page = start(kind, state, width=320)
        inside = "el => [...el.querySelectorAll('*')].every((e) => e.getBoundingClientRect().right <= 321)"
        assert page.locator(".qkv-widget").evaluate(inside), kind
