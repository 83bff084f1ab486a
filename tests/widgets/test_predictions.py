"""The predictions in Chromium: a guess by pointer and by keyboard, what is said of it, and what the page is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import frame
from .test_swipes import swipe

pytestmark = pytest.mark.browser

COMMON = {"question": "How large is d_k?", "why": "Because of *this*.", "sure": False}
NUMBER = COMMON | {"answer": 32, "near": 4, "unit": "nats", "ends": [], "guess": []}
BARS = COMMON | {
    "labels": ["a", "b"],
    "answer": [0.8, 0.4],
    "near": 0.1,
    "top": 1,
    "line": False,
    "given": [],
    "given_name": "",
    "unit": "",
    "guess": [],
}
MASK = COMMON | {"rows": ["I", "saw"], "columns": ["I", "saw"], "answer": [[True, False], [True, True]]}
MASK |= {"guess": []}
CHOICE = {"question": "How large?", "options": [["1", "no"], ["32", "yes"]], "answer": "B", "guess": "", "sure": False}

KINDS = {"predict": CHOICE, "predictNumber": NUMBER | {"ends": [0, 100]}, "predictBars": BARS, "predictMask": MASK}

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


def fill(page: Page, kind: str) -> None:
    """Make some guess."""
    if kind == "predictNumber":
        page.get_by_role("spinbutton").fill("3")
    else:
        role, key = {
            "predict": ("radio", "Space"),
            "predictBars": ("slider", "End"),
            "predictMask": ("checkbox", "Space"),
        }[kind]
        page.get_by_role(role).first.press(key)
    frame(page)


def check(page: Page) -> str:
    """Check the guess, and return what is said of it."""
    page.get_by_role("button", name="check").click()
    frame(page)
    return page.locator(".qkv-explained b").first.inner_text()


def told(page: Page) -> list[dict[str, bool]]:
    return page.evaluate("told")


def test_nothing_can_be_checked_before_there_is_a_guess(start):
    for kind, state in KINDS.items():
        page = start(kind, state)
        assert page.get_by_role("button", name="check").is_disabled(), kind
        assert "Because" not in page.locator(".qkv-predict").inner_text(), kind
        expect(page.locator(".qkv-sure")).not_to_be_visible()


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
    page.get_by_role("spinbutton", name="your guess").fill(typed)
    assert check(page) == said
    assert told(page) == [{"isRight": right, "isSure": False}]
    assert page.locator(".qkv-line-guess").inner_text() == number(typed)
    assert page.locator(".qkv-line-answer").inner_text() == "answer 32 nats"
    guess, answer = (line_place(page, kind) for kind in ("guess", "answer"))
    assert (guess > answer) == (float(typed) > 32)
    assert (guess < answer) == (float(typed) < 32)
    assert 0 <= min(guess, answer) <= max(guess, answer) <= 1


def number(typed: str) -> str:
    return f"{int(typed):,}".replace("-", "−")


def line_place(page: Page, kind: str) -> float:
    """Where a mark stands on the number line, from 0 to 1."""
    at = page.locator(f".qkv-line-{kind}").evaluate("e => e.style.getPropertyValue('--qkv-at')")
    return float(at.removesuffix("%")) / 100


@pytest.mark.parametrize(
    ("line", "x", "guess"),
    [
        ({"ends": [0, 100]}, 0.32, 32),
        ({"ends": [0, 3], "answer": 1.41}, 0.5, 1.5),
        ({"ends": [-5, 5]}, 0.1, -4),
        ({"ends": [1, 10_000]}, 0.5, 100),  # logarithmic
        ({"ends": [0.1, 1000]}, 0.125, 0.3),
    ],
)
def test_a_guess_is_dragged_on_a_line_that_does_not_show_the_answer(start, line, x, guess):
    page = start("predictNumber", NUMBER | line)
    field, area = page.get_by_role("spinbutton"), page.locator(".qkv-number-line")
    drag_on_the_line(page, 0.9, x)
    assert float(field.input_value()) == pytest.approx(guess)
    assert "32" not in area.inner_text()
    check(page)
    assert page.evaluate("shown.model.get('guess')") == pytest.approx([guess])
    assert line_place(page, "guess") == pytest.approx(x, abs=0.02)
    assert page.locator(".qkv-number-line").count() == 1, "the answer is on the same line"


def drag_on_the_line(page: Page, start: float, end: float) -> None:
    """Drag from one place of the line to another, given as shares of its scale."""
    box = page.locator(".qkv-number-line").bounding_box()
    assert box
    page.mouse.move(box["x"] + start * box["width"], box["y"] + 24)
    page.mouse.down()
    frame(page)
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 24, steps=3)
    page.mouse.up()
    frame(page)


def test_the_handle_is_dragged_from_where_it_is_held_and_a_tap_on_it_guesses_nothing(start):
    page = start("predictNumber", NUMBER | {"ends": [0, 100]})
    field = page.get_by_role("spinbutton")
    drag_on_the_line(page, 0.51, 0.51)
    expect(page.get_by_role("button", name="check")).to_be_disabled()
    expect(field).to_be_focused()
    drag_on_the_line(page, 0.52, 0.72)
    assert float(field.input_value()) == pytest.approx(70), "the handle was held beside its middle"
    drag_on_the_line(page, 0.7, 0.7)
    page.keyboard.type("64")
    frame(page)
    assert field.input_value() == "64"
    assert line_place(page, "guess") == pytest.approx(0.64)


def test_a_finger_drags_the_handle_and_scrolls_beside_it(open_page):
    page, line = on_a_phone(open_page, "predictNumber", ".qkv-number-line")
    assert swipe(page, line, 0, -200) > 100
    line.evaluate("e => e.scrollIntoView({ block: 'center' })")
    assert swipe(page, page.locator(".qkv-line-guess"), 60, 0) == 0
    assert float(page.get_by_role("spinbutton").input_value()) > 60


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ([0, 40], ["0", "10", "20", "30", "40 nats"]),
        ([0.1, 1000], ["0.1", "1", "10", "100", "1,000 nats"]),
    ],
)
def test_the_line_has_round_numbers(start, ends, ticks):
    page = start("predictNumber", NUMBER | {"ends": ends})
    assert page.locator(".qkv-number-line small").all_inner_texts() == ticks


@pytest.mark.parametrize(
    ("line", "guess"), [({"ends": [0, 3], "answer": 1.41}, 1.52), ({"ends": [0, 40]}, 21), ({"ends": [1, 10_000]}, 101)]
)
def test_an_arrow_key_changes_the_guess_by_a_step(start, line, guess):
    page = start("predictNumber", NUMBER | line)
    drag_on_the_line(page, 0.9, 0.5)
    page.get_by_role("spinbutton").press("ArrowUp")
    frame(page)
    assert float(page.get_by_role("spinbutton").input_value()) == pytest.approx(guess)


def test_a_typed_guess_beyond_the_ends_of_the_line_is_on_it(start):
    page = start("predictNumber", NUMBER | {"ends": [0, 100]})
    page.get_by_role("spinbutton").fill("400")
    frame(page)
    assert line_place(page, "guess") == 1
    check(page)
    assert (line_place(page, "guess"), line_place(page, "answer")) == (1, pytest.approx(32 / 400))


@pytest.mark.parametrize(("ends", "guess"), [([0, 40], "33"), ([0, 100], "90"), ([1, 1000], "1")])
def test_the_answer_s_number_covers_no_other_number_of_the_line(start, ends, guess):
    page = start("predictNumber", NUMBER | {"ends": ends})
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("spinbutton").fill(guess)
    frame(page)
    check(page)
    covered = page.locator(".qkv-number-line").evaluate("""line => {
      const answer = line.querySelector(".qkv-line-answer > span").getBoundingClientRect();
      return [...line.querySelectorAll("small, .qkv-line-guess")].filter((each) => {
        const { left, right, top, bottom } = each.getBoundingClientRect();
        return left < answer.right && right > answer.left && top < answer.bottom && bottom > answer.top;
      }).map((each) => each.innerText);
    }""")
    assert covered == []


def test_enter_checks_a_number_and_nothing_without_one(start):
    page = start("predictNumber", NUMBER)
    field = page.get_by_role("spinbutton", name="your guess")
    field.press("Enter")
    assert page.evaluate("shown.model.get('guess')") == []
    field.fill("30")
    frame(page)
    field.press("Enter")
    frame(page)
    assert page.evaluate("shown.model.get('guess')") == [30]
    expect(page.get_by_role("button", name="try again")).to_be_focused()


def test_how_sure_is_asked_once_there_is_a_guess(start):
    page = start("predict", CHOICE)
    expect(page.get_by_role("radio", name="sure", exact=True)).to_have_count(0)
    page.get_by_role("radio", name="A.").check()
    expect(page.get_by_role("radio", name="sure", exact=True)).to_be_enabled()


def test_the_page_is_told_whether_the_reader_was_sure(start):
    page = start("predict", CHOICE)
    page.get_by_role("radio").nth(0).check()
    page.get_by_role("group", name="How sure?").get_by_role("radio", name="sure", exact=True).check()
    assert check(page) == "You said A. The answer is B."
    assert told(page) == [{"isRight": False, "isSure": True}]
    assert page.evaluate("shown.model.get('sure')") is True
    expect(page.get_by_role("radio", name="sure", exact=True)).to_be_checked()
    expect(page.get_by_role("radio", name="sure", exact=True)).to_be_disabled()


def test_the_guess_and_the_right_option_are_explained_and_the_others_on_request(start):
    options = [["1", "no"], ["32", "yes"], ["64", "too large"], ["1024", "far too large"]]
    page = start("predict", CHOICE | {"options": options})
    page.get_by_role("radio").nth(2).check()
    check(page)
    assert page.locator(".qkv-option[data-mark]").evaluate_all("all => all.map((e) => e.dataset.mark)") == [
        "true",
        "false",
    ]
    reasons = page.locator(".qkv-explained li")
    assert [reason.inner_text().split()[-1] for reason in reasons.all() if reason.is_visible()] == ["yes", "large"]
    page.get_by_text("Why the others are wrong").click()
    expect(page.get_by_text("far too large")).to_be_visible()
    assert reasons.count() == 4


def test_the_focus_stays_on_the_button_and_a_guess_can_be_made_again(start):
    page = start("predictNumber", NUMBER)
    page.evaluate("document.addEventListener('qkv-guesses-again', () => told.push('again'))")
    page.get_by_role("spinbutton").fill("3")
    check = page.get_by_role("button", name="check")
    expect(check).to_be_enabled()  # a press does not wait for it
    check.press("Enter")
    frame(page)
    assert page.evaluate("document.activeElement.innerText") == "try again"
    page.keyboard.press("Enter")
    frame(page)
    assert page.get_by_role("spinbutton").input_value() == "3"
    assert page.evaluate("shown.model.get('guess')") == []
    assert told(page)[1:] == ["again"], "the page covers the answer"


def test_a_guess_of_an_earlier_visit_is_in_the_form_when_it_is_made_again(start):
    page = start("predict", CHOICE | {"guess": "A", "sure": True})
    page.get_by_role("button", name="try again").click()
    frame(page)
    expect(page.get_by_role("radio", name="A.")).to_be_checked()
    expect(page.get_by_role("radio", name="sure", exact=True)).to_be_checked()


# Where the question, the form and the button stand.
STANDS = """() => [...document.querySelectorAll("fieldset, fieldset > *, .qkv-option, td, .qkv-commit > *")]
  .map((e) => e.getBoundingClientRect()).map(({ x, y, width, height }) => [x, y, width, height].join(" "))"""


@pytest.mark.parametrize("width", [320, 390, 800])
def test_the_explanation_opens_below_the_button_and_moves_nothing(start, width):
    for kind, state in KINDS.items():
        page = start(kind, state, width=width)
        fill(page, kind)
        before = page.evaluate(STANDS)
        check(page)
        assert page.evaluate(STANDS) == before, kind


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


WEIGHTS = BARS | {"labels": ["a", "b", "c"], "answer": [0.6, 0.3, 0.1]}


def test_bars_that_share_a_whole_yield_to_the_one_that_is_moved(start):
    page = start("predictBars", WEIGHTS)
    heights = "[...document.querySelectorAll('input[type=range]')].map(({ valueAsNumber }) => valueAsNumber)"
    first, second, third = page.get_by_role("slider").all()
    first.press("End")
    frame(page)
    assert page.evaluate("shown.el.querySelector('.qkv-drawn-table').innerText").split()[3:7] == ["you", "1", "0", "0"]
    first.press("Home")
    frame(page)
    assert page.evaluate(heights) == [0, 0.5, 0.5], "from nothing, the others get equal shares"
    second.press("ArrowUp")
    frame(page)
    assert page.evaluate(heights) == pytest.approx([0, 0.52, 0.48], abs=0.011)
    third.press("End")
    check(page)
    assert sum(page.evaluate("shown.model.get('guess')")) == pytest.approx(1)


def test_before_the_first_drag_no_bar_stands_for_a_guess(start):
    page = start("predictBars", WEIGHTS)
    opacity = "getComputedStyle(document.querySelector('.qkv-drawn-bar'), '::before').opacity"
    assert page.evaluate(opacity) == "0"
    assert page.locator(".qkv-drawn-table tbody tr").first.inner_text().split() == ["you", "?", "?", "?"]
    page.get_by_role("slider").first.press("ArrowUp")
    frame(page)
    assert page.evaluate(opacity) == "1"


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
    check(page)
    assert page.locator(".qkv-drawn-area").bounding_box() == area
    for places in page.evaluate(PLACES):
        assert places == pytest.approx(bars, abs=1)


def test_the_scale_has_what_the_question_gives_and_no_number_so_near_that_they_touch(start):
    page = start("predictBars", BARS | {"top": 0.5, "given": [0.24]})
    assert sorted(page.locator(".qkv-drawn-axis").inner_text().split()) == ["0", "0.24", "0.50"]
    area, line = (page.locator(f".qkv-drawn-{part}").bounding_box() for part in ("area", "given"))
    assert area
    assert line
    assert line["y"] == pytest.approx(area["y"] + area["height"] * (1 - 0.24 / 0.5), abs=2)
    page = start("predictBars", BARS | {"top": 3, "given": [1], "given_name": "plain mean"})
    name = page.locator(".qkv-drawn-axis small")
    assert name.inner_text() == "plain mean"
    left, right = (part.bounding_box() for part in (name, page.locator(".qkv-drawn-area")))
    assert left
    assert right
    assert left["x"] + left["width"] <= right["x"], "no handle hides it"
    assert sorted(page.locator(".qkv-drawn-axis").inner_text().split()) == ["0", "1", "1.5", "3", "mean", "plain"]


@pytest.mark.parametrize(
    ("ends", "answer", "count"),
    [([1, 1000], 32, 3 * 8), ([0.01, 1000], 32, 5 * 2), ([0, 15], 4, 16), ([0, 1], 0.5, 0), ([0, 900], 4, 0)],
)
def test_short_lines_stand_between_the_numbers_of_a_line(start, ends, answer, count):
    page = start("predictNumber", NUMBER | {"ends": ends, "answer": answer})
    places = page.locator(".qkv-number-line > u").evaluate_all("(all) => all.map((e) => e.style.cssText)")
    assert len(places) == len(set(places)) == count


def test_an_exact_guess_is_called_right(start):
    page = start("predictBars", BARS | {"answer": [1, 0]})
    page.get_by_role("slider").first.press("End")
    frame(page)
    assert check(page) == "That is right."


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
    assert "off by 0.25." in check(page)
    assert page.evaluate("shown.model.get('guess')") == pytest.approx([1, 0.7])
    assert page.locator(".qkv-drawn-table tr").last.inner_text().split() == ["answer", "0.80", "0.40"]


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
    assert "2 of 4 cells differ" in check(page)
    assert page.evaluate("shown.model.get('guess')") == [[False, True], [True, True]]
    assert told(page) == [{"isRight": False, "isSure": False}]
    drawn = "all => all.map((e) => [e.dataset.may, Boolean(e.querySelector('i'))].join(' '))"
    assert page.locator("[data-cell]").evaluate_all(drawn) == [
        "true true",  # colour: the answer; corner: the reader's, which differs from it
        "false true",
        "true false",
        "true false",
    ]
    for key in ("seen", "hidden", "corner: yours"):
        expect(page.get_by_text(key, exact=True)).to_be_visible()


def on_a_phone(open_page: Callable[..., Page], kind: str, selector: str) -> tuple[Page, Locator]:
    """A page longer than its screen, with a prediction in its middle, and a part of its picture."""
    page = open_page("<p style='height: 900px'>above</p>", width=390, has_touch=True)
    page.evaluate(OPEN, [kind, KINDS[kind]])
    page.add_style_tag(content="body { padding-bottom: 2000px }")
    picture = page.locator(selector).first
    picture.evaluate("e => e.scrollIntoView({ block: 'center' })")
    frame(page)
    return page, picture


def test_a_finger_paints_by_a_tap_sideways_and_down_and_scrolls_beside_the_cells(open_page):
    page, name = on_a_phone(open_page, "predictMask", ".qkv-painted tbody th")
    painted = "[...document.querySelectorAll('[data-cell]')].map((cell) => cell.dataset.may === 'true')"
    assert swipe(page, name, 0, -200) > 100
    assert page.evaluate(painted) == [False] * 4
    page.locator("[data-cell]").nth(2).tap()
    frame(page)
    assert page.evaluate(painted) == [False, False, True, False]
    assert swipe(page, page.locator("[data-cell]").nth(0), 60, 0) == 0
    assert page.evaluate(painted) == [True, True, True, False]
    for cell in page.locator("[data-cell]").all()[:3]:
        cell.tap()
        frame(page)
    assert page.evaluate(painted) == [False] * 4
    assert swipe(page, page.locator("[data-cell]").nth(1), 0, 40) == 0
    assert page.evaluate(painted) == [False, True, False, True], "a column in one stroke"


def test_a_finger_drags_a_handle_up_and_scrolls_beside_it(open_page):
    page, area = on_a_phone(open_page, "predictBars", ".qkv-drawn-area")
    heights = "[...document.querySelectorAll('input[type=range]')].map(({ valueAsNumber }) => valueAsNumber)"
    assert swipe(page, page.locator(".qkv-drawn-tick").nth(1), 0, -200) > 100
    assert page.evaluate(heights) == [0.5, 0.5]
    area.evaluate("e => e.scrollIntoView({ block: 'center' })")
    assert swipe(page, page.locator(".qkv-drawn-handle").first, 0, -38) == 0
    assert page.evaluate(heights) == [pytest.approx(0.75, abs=0.03), 0.5]
    area.tap(position={"x": 200, "y": 38})
    frame(page)
    assert page.evaluate(heights)[1] == pytest.approx(0.75, abs=0.02), "a tap sets a height"


def test_a_finger_grabs_a_handle_in_the_gap_between_two_columns(open_page):
    page, area = on_a_phone(open_page, "predictBars", ".qkv-drawn-area")
    box = area.bounding_box()
    assert box
    at = f"document.elementFromPoint({box['x'] + box['width'] / 2 - 2}, {box['y'] + box['height'] / 2})"
    assert page.evaluate(f"getComputedStyle({at}).touchAction") == "none"


def test_nothing_sticks_out_on_a_phone(start):
    many = BARS | {"labels": [str(2**i) for i in range(8)], "answer": [0.1] * 8}
    for kind, state in (KINDS | {"predictBars": many}).items():
        page = start(kind, state, width=320)
        inside = "el => [...el.querySelectorAll('*')].every((e) => e.getBoundingClientRect().right <= 321)"
        assert page.locator(".qkv-widget").evaluate(inside), kind
