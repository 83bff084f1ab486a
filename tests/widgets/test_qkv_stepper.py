"""QKVStepper shows the worked example's numbers, and those of any other that is typed in."""

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect
from traitlets import TraitError

from qkv.attention import attention, attention_scores, project_qkv
from qkv.softmax import softmax
from qkv.widgets import QKVStepper

from .conftest import drag, frame, open_phone
from .node import node
from .test_access import draw

TABLES = ("x", "w_q", "w_k", "w_v")


def seen(x: list, w_q: list, w_k: list, w_v: list, scaled: bool) -> dict[str, torch.Tensor]:
    """Every table that the widget shows."""
    state = {"x": x, "wQ": w_q, "wK": w_k, "wV": w_v, "scaled": scaled}
    return {name: torch.tensor(rows, dtype=torch.float64) for name, rows in node("maths.singleHead", state).items()}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("size", [0.5, 1000])
def test_tables_are_those_of_the_reference(scaled: bool, size: float):
    x, *ws = (torch.randn(3, 4, dtype=torch.float64) * size, *torch.randn(3, 4, 3, dtype=torch.float64))
    q, k, v = project_qkv(x, *ws)
    shown = seen(x.tolist(), *[w.tolist() for w in ws], scaled=scaled)
    scores = attention_scores(q, k) / (3**0.5 if scaled else 1)
    weights = softmax(scores)
    for name, expected in {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "out": weights @ v}.items():
        torch.testing.assert_close(shown[name], expected, rtol=1e-9, atol=1e-12)
    if scaled:
        torch.testing.assert_close(shown["out"], attention(q, k, v)[0], rtol=1e-9, atol=1e-12)


def test_it_opens_on_the_worked_example():
    stepper = QKVStepper()
    shown = seen(*[[list(row) for row in getattr(stepper, name)] for name in TABLES], scaled=False)
    assert shown["scores"].tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    expected = torch.tensor([[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]])
    torch.testing.assert_close(shown["out"], expected.double(), atol=5e-5, rtol=0)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("step", "softmax", "step must be one of 'queries'"),
        ("row", 3, "row must be a whole number from 0 to 2; got 3"),
        ("x", [[1, 2], [3, 4]], "x must be a list of 3 entries, each a list of 4 entries"),
        ("w_q", [[1, 2, "3"]] * 4, "w_q must be a list of 4 entries"),
    ],
)
def test_wrong_values_are_answered_with_a_sentence(name: str, value: object, wanted: str):
    with pytest.raises(TraitError) as error:
        setattr(QKVStepper(), name, value)
    assert wanted in str(error.value)


# ---- what is grabbed


@pytest.fixture
def stepper(open_page: Callable[..., Page]) -> Page:
    """A phone's page with the stepper at its last step, where every matrix is shown."""
    page = open_page(width=390)
    draw(page, [("QKVStepper", {"step": "output"})])
    return page


def changed(page: Page) -> dict[str, list[list[bool]]]:
    """For each result, which of its entries are marked as changed."""
    frame(page)
    return page.evaluate("""() => {
      const results = [...document.querySelectorAll("table:has(.qkv-outcome)")];
      const marks = (table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.matches(".qkv-changed")));
      const name = (table) => table.querySelector("button").ariaLabel.split(",")[0];
      return Object.fromEntries(results.map((table) => [name(table), marks(table)]));
    }""")


@pytest.mark.browser
def test_a_number_that_is_dragged_shows_what_it_changes(stepper: Page):
    cell = stepper.get_by_label("W V, row 1, column 2")
    before = float(cell.input_value())
    drag(stepper, cell, 1.5)
    assert stepper.evaluate("shown[0].model.get('w_v')")[0][1] == before + 2, "32 pixels, of which 8 are half a one"
    moved = {name for name, rows in changed(stepper).items() if any(map(any, rows))}
    assert moved == {"values", "output"}
    assert changed(stepper)["values"] == [[False, True, False], [False] * 3, [False, True, False]]
    stepper.get_by_label("X, row 2, column 1").fill("5")
    stepper.get_by_label("X, row 2, column 1").press("Tab")
    assert {name for name, rows in changed(stepper).items() if any(map(any, rows))} == set(changed(stepper))
    assert changed(stepper)["queries"][0] == [False] * 3, "a row of X makes its own row of Q"
    stepper.get_by_role("button", name="undo edits").click()
    frame(stepper)
    assert stepper.evaluate("JSON.stringify(shown[0].model.get('x'))") == "[[1,0,1,0],[0,2,0,2],[1,1,1,1]]"
    assert not any(any(map(any, rows)) for rows in changed(stepper).values()), "what is restored is not marked"
    expect(stepper.get_by_text("changed by the last edit")).to_be_hidden()


@pytest.mark.browser
def test_the_mark_of_a_change_does_not_flicker(stepper: Page):
    stepper.get_by_label("X, row 1, column 1").press("ArrowUp")
    frame(stepper)
    cells = stepper.locator(".qkv-changed")
    assert cells.count() > 0
    assert cells.evaluate_all("all => all.map((e) => e.getAnimations({ subtree: true }).length)") == [0] * cells.count()


LIT = {
    "queries": ["tokens, X", "WQ", "1 queries, Q"],
    "keys": ["tokens, X", "WK", "2 keys, K"],
    "values": ["tokens, X", "WV", "3 values, V"],
    "scores": ["1 queries, Q", "2 keys, K", "4 scores"],
    "weights": ["4 scores", "5 weights"],
    "output": ["3 values, V", "5 weights", "6 output"],
}


@pytest.mark.browser
@pytest.mark.parametrize("colours", ["none", "active"])
def test_all_tables_are_shown_and_a_step_lights_its_own(open_page: Callable[..., Page], colours: str):
    page = open_page(width=390, forced_colors=colours)
    draw(page, [("QKVStepper", {"step": "queries"})])
    form = """all => all.map((table) => {
      const { backgroundColor, outlineColor } = getComputedStyle(table.querySelector("td:has(button)") ?? table);
      return [table.matches(".qkv-lit"), table.caption.innerText, `${backgroundColor} ${outlineColor}`];
    })"""
    for step, wanted in LIT.items():
        page.get_by_role("button", name=f"{step}, row 1, column 1").click()
        frame(page)
        tables = page.locator(".qkv-matrix3").evaluate_all(form)
        assert len(tables) == 10
        assert [caption for lit, caption, _ in tables if lit] == wanted, step
        looks = [
            {look for lit, caption, look in tables[4:] if lit == it and caption != "5 weights"} for it in (True, False)
        ]
        assert not looks[0] & looks[1], "lit tables look different"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_a_narrow_screen_shows_the_matrix_of_weights_of_the_step(open_page: Callable[..., Page], width: int):
    page = open_page(width=width)
    draw(page, [("QKVStepper", {"step": "queries"})])
    shown = page.locator(".qkv-given table:visible caption")
    for step, factor in (("queries", "WQ"), ("values", "WV"), ("keys", "WK"), ("output", "WV")):
        page.get_by_role("button", name=f"{step}, row 1, column 1").click()
        frame(page)
        wanted = ["tokens, X", factor] if width == 390 else ["tokens, X", "WQ", "WK", "WV"]
        assert shown.all_inner_texts() == wanted, step


@pytest.mark.browser
@pytest.mark.parametrize("step", LIT)
def test_what_the_chosen_entry_is_made_of_is_tinted(open_page: Callable[..., Page], step: str):
    page = open_page(width=390)
    draw(page, [("QKVStepper", {"step": step, "row": 1, "column": 2})])
    tables = page.locator(".qkv-matrix3").evaluate_all(
        "all => all.map((each) => each.querySelectorAll('.qkv-used').length).filter(Boolean)"
    )
    assert tables == {"queries": [4, 4], "keys": [4, 4], "values": [4, 4], "weights": [3]}.get(step, [3, 3])
    assert page.locator(".qkv-framed").count() == len(tables)


@pytest.mark.browser
@pytest.mark.parametrize("width", [720, 1000])
@pytest.mark.parametrize("step", ["queries", "keys", "values", "output"])
def test_on_a_desk_row_and_column_meet_in_the_entry(open_page: Callable[..., Page], step: str, width: int):
    page = open_page(width=width)
    draw(page, [("QKVStepper", {"step": step, "row": 1, "column": 2})])
    chosen, *used = (
        page.locator(part).evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left + b.width / 2, b.top + b.height / 2])"
        )
        for part in (".qkv-chosen", ".qkv-used")
    )
    ((x, y),) = chosen
    n = len(used[0]) // 2
    assert sum(abs(left - x) < 2 and top < y for left, top in used[0]) == n
    assert sum(abs(top - y) < 2 and left < x for left, top in used[0]) == n


# Of each word of the opening: its areas as width times height, in units of the first query entry's width and of 1/4.5.
SCORES = [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
AREAS = """() => [...document.querySelectorAll('.qkv-query-areas')].map((row) => [...row.querySelectorAll('span')].map(
(entry) => {
  const [wide, high] = ['wide', 'high'].map((name) => Number(entry.style.getPropertyValue(`--qkv-${name}`)));
  return 8 * wide * 4.5 * high;
}))"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("third", "lead"), [(2, "it asks. cat and it fit equally."), (3, "it asks. The key of it fits best.")]
)
def test_the_opening_calls_equal_weights_equal(open_page: Callable[..., Page], third: int, lead: str):
    page = open_phone(open_page)
    x = QKVStepper().x
    draw(page, [("QKVStepper", {"row": 2, "matrices": False, "x": [*x[:2], [*x[2][:2], third, *x[2][3:]]]})])
    expect(page.locator(".qkv-lead")).to_have_text(lead)


@pytest.mark.browser
def test_the_opening_shows_scores_as_areas_and_a_number_is_dragged(open_page: Callable[..., Page]):
    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    expect(page.locator(".qkv-lead")).to_have_text("it asks. The key of cat fits best.")
    weights = page.locator(".qkv-query-weight")
    assert weights.all_inner_texts() == ["0.00", "0.88", "0.12"]
    scores = page.locator(".qkv-query-areas")
    assert page.locator(".qkv-query-meets").evaluate("e => e.getBoundingClientRect().bottom") <= 450
    for row in (1, 2, 0):
        page.get_by_role("radio").nth(row).check(force=True)
        frame(page)
        sums = [sum(areas) for areas in page.evaluate(AREAS)]
        assert sums == pytest.approx(SCORES[row], abs=0.02)
        assert scores.all_inner_texts() == [f"score {score}" for score in SCORES[row]], "after its areas"
    page.get_by_role("radio", name="it").check(force=True)
    box = page.locator(".qkv-query-faders .qkv-drag").nth(2).bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"], steps=3)
    page.mouse.up()
    frame(page)
    assert page.evaluate("shown[0].model.get('x')")[2] == [1, 1, 2, 1]
    assert weights.all_inner_texts() == ["0.00", "0.50", "0.50"]
    expect(page.locator(".qkv-lead")).to_have_text("cat 0.88 → 0.50, it 0.12 → 0.50.")
    slider = page.get_by_role("slider", name="it, number 3")
    slider.press("ArrowDown")
    frame(page)
    assert page.evaluate("shown[0].model.get('x')")[2] == [1, 1, 1.75, 1]
    for _ in range(6):
        slider.press("ArrowDown")
    frame(page)
    now = weights.nth(1).inner_text()
    expect(page.locator(".qkv-lead")).to_have_text(f"cat fits best: weight 0.88 → {now}.")
    other = page.get_by_role("slider", name="it, number 2")
    for _ in range(2):
        other.press("ArrowUp")
    frame(page)
    expect(page.locator(".qkv-lead")).to_have_text(f"cat fits best: weight {now} → {weights.nth(1).inner_text()}.")
    expect(page.locator(".qkv-query-faders b").nth(2)).to_have_text(".25")
    page.get_by_role("button", name="undo edits").click()
    expect(weights.nth(1)).to_have_text("0.88")
    expect(page.locator(".qkv-lead")).to_have_text("it asks. The key of cat fits best.")
    expect(page.locator(".qkv-query-line b")).to_have_text(["2", "1", "3"])
    expect(page.locator(".qkv-query-of > b")).to_have_text("it")


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 860])
def test_before_the_first_touch_one_number_asks_to_be_dragged_and_there_is_less_to_read(
    open_page: Callable[..., Page], width: int
):
    page = open_page(width=width, reduced_motion="reduce")
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    legend, first = page.locator(".qkv-query-sides"), page.locator(".qkv-query-first")
    later = page.locator(".qkv-query-score, .qkv-query-line span")
    widget = page.locator(".qkv-widget")
    height = widget.evaluate("e => e.offsetHeight")
    expect(legend).to_have_text("the more grey, the better the key fits")
    expect(later.locator("visible=true")).to_have_count(0)
    expect(first).to_have_count(1)
    assert page.locator(".qkv-query-faders b").nth(3).evaluate("e => e.matches('.qkv-query-first')")
    above, faders = legend.bounding_box(), page.locator(".qkv-query-faders").bounding_box()
    assert above
    assert faders
    assert above["y"] + above["height"] <= faders["y"]
    page.get_by_role("slider", name="it, number 1").press("ArrowUp")
    expect(legend).to_have_text("width = query, height = key, grey area = score")
    expect(later.locator("visible=true")).to_have_count(6)
    expect(first).to_have_count(0)
    assert widget.evaluate("e => e.offsetHeight") == height, "nothing below moves"
    for _ in range(3):
        page.get_by_role("slider", name="it, number 4").press("ArrowUp")
    expect(page.locator(".qkv-query-turn")).to_contain_text("below")
    assert widget.evaluate("e => e.offsetHeight") == height
    note = page.locator(".qkv-query-turn p")
    assert note.evaluate("e => e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight)") < 1.5, "in one line"


@pytest.mark.browser
def test_the_number_from_which_another_key_fits_best_is_computed(open_page: Callable[..., Page]):
    x, w_q, w_k = (torch.tensor(getattr(QKVStepper(), name), dtype=torch.float64) for name in ("x", "w_q", "w_k"))

    def best(j: int, value: float) -> int:
        rows = x.clone()
        rows[2, j] = value
        return int((rows[2] @ w_q @ (rows @ w_k).mT).argmax())

    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    note, line = page.locator(".qkv-edited .qkv-note"), page.locator(".qkv-query-faders s")
    expect(note).to_have_text("↕ Number 4 above 1.56: it wins.")
    for j, keys, start in ((0, "ArrowUp", 1.25), (3, "ArrowUp", 1.25)):
        page.get_by_role("button", name="undo edits").evaluate("e => e.click()")
        page.get_by_role("slider", name=f"it, number {j + 1}").press(keys)
        frame(page)
        expect(page.get_by_role("slider", name=f"it, number {j + 1}")).to_have_attribute("aria-valuetext", str(start))
        at = float(re.search(r"above ([\d.]+): it", note.inner_text())[1])  # type: ignore[index]
        assert [best(j, at - 0.01), best(j, at + 0.01)] == [1, 2]
        assert 2 * line.evaluate("e => Number(e.style.getPropertyValue('--qkv-at'))") == pytest.approx(at, abs=0.006)
    for _ in range(2):
        page.get_by_role("slider", name="it, number 4").press("ArrowUp")
    expect(note).to_have_text("↕ Number 4 below 1.56: cat wins.")
    page.get_by_role("button", name="undo edits").click()
    page.get_by_role("slider", name="it, number 3").press("ArrowDown")
    expect(note).to_have_text("↕ Drag a number, or press a word.")  # at 2, cat and it fit equally
    expect(line).to_have_count(0)


@pytest.mark.browser
def test_no_number_is_named_that_is_the_end_of_its_track(open_page: Callable[..., Page]):
    """At the end, the keys fit equally: no other one wins."""
    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    for j in (1, 2, 3):
        page.get_by_role("slider", name=f"it, number {j + 1}").press("Home")
    page.get_by_role("slider", name="it, number 1").press("End")
    frame(page)
    assert page.evaluate("shown[0].model.get('x')")[2] == [2, 0, 0, 0]
    expect(page.locator(".qkv-edited .qkv-note")).to_have_text("↕ Drag a number, or press a word.")
    expect(page.locator(".qkv-query-faders s")).to_have_count(0)
    page.get_by_role("slider", name="it, number 1").press("Home")
    expect(page.locator(".qkv-lead")).to_have_text("it asks. 3 keys fit equally.")


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 720, 800, 860, 1440])
@pytest.mark.parametrize("fourth", [0.25, 1, 2])
def test_the_query_is_as_wide_as_the_columns_below_it(open_page: Callable[..., Page], width: int, fourth: float):
    page = open_page(width=width, reduced_motion="reduce")
    x = QKVStepper().x
    draw(page, [("QKVStepper", {"row": 2, "matrices": False, "x": [*x[:2], [1, 1, 1, fourth]]})])
    page.get_by_role("slider", name="it, number 1").press("ArrowUp")
    page.get_by_role("slider", name="it, number 1").press("ArrowDown")
    frame(page)
    query = page.locator(".qkv-query-line b").evaluate_all(EDGES)
    for areas in page.locator(".qkv-query-areas").all():
        columns = areas.locator("span").evaluate_all(EDGES)
        assert [edge for each in columns for edge in each] == pytest.approx([e for each in query for e in each], abs=1)
    assert page.locator(".qkv-widget").evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.locator(".qkv-query-weight").first.evaluate("e => e.offsetWidth") >= 80, "a bar and its number"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 860])
def test_a_query_entry_of_0_has_no_column_and_no_key(open_page: Callable[..., Page], width: int):
    page = open_page(width=width, reduced_motion="reduce")
    draw(page, [("QKVStepper", {"row": 2, "matrices": False, "x": [*QKVStepper().x[:2], [1, 0, 0, 0]]})])
    query = QKVStepper(x=[*QKVStepper().x[:2], [1, 0, 0, 0]])
    entries = (torch.tensor(query.x[2]) @ torch.tensor(query.w_q)).tolist()
    assert 0 in entries
    for part in (".qkv-query-line", ".qkv-query-areas"):
        wide = page.locator(part).first.locator("> span, > b:not(.qkv-query-score)").evaluate_all(EDGES)
        assert [right - left >= 2 for left, right in wide] == [entry != 0 for entry in entries], part
        assert [right - left == 0 for left, right in wide] == [entry == 0 for entry in entries], part
    expect(page.locator(".qkv-query-areas").first.locator("i")).to_have_count(sum(entry != 0 for entry in entries))


# Of each wire that adds something: its thickness, and where it begins and ends on the screen.
WIRES = """(kind) => [...document.querySelectorAll(`.qkv-query-wires ${kind}`)].map((wire) => {
  const { left, width } = wire.ownerSVGElement.getBoundingClientRect();
  const ends = [0, wire.getTotalLength()].map((at) => left + (wire.getPointAtLength(at).x * width) / 100);
  return [Number(wire.getAttribute("stroke-width")), ...ends];
}).filter(([thickness]) => thickness > 0)"""
FED = "all => all.flatMap((entry, i) => (entry.matches('.qkv-query-fed') ? [i] : []))"
EDGES = "all => all.map((e) => e.getBoundingClientRect()).map(({ left, right }) => [left, right])"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 860])
def test_a_wire_leads_from_a_number_to_each_query_entry_that_it_is_added_to(open_page: Callable[..., Page], width: int):
    page = open_page(width=width, reduced_motion="reduce")
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    entries, slider = page.locator(".qkv-query-line b"), page.get_by_role("slider", name="it, number 4")
    assert page.evaluate(WIRES, ".qkv-query-lit") == []
    assert entries.evaluate_all(FED) == []
    matrix = torch.tensor(QKVStepper().w_q)
    for moved in (3, 0, 2):
        page.get_by_role("slider", name=f"it, number {moved + 1}").press("ArrowUp")
        frame(page)
        lit = page.evaluate(WIRES, ".qkv-query-lit")
        assert entries.evaluate_all(FED) == matrix[moved].nonzero().flatten().tolist()
        assert [wire[0] for wire in lit] == [2.5 * 1.25] * int(matrix[moved].sum()), "as thick as what it adds"
        knob = page.locator(".qkv-query-faders b").nth(moved).bounding_box()
        assert knob
        assert all(begin == pytest.approx(knob["x"] + knob["width"] / 2, abs=1) for _, begin, _ in lit)
        edges = [entries.evaluate_all(EDGES)[f] for f in entries.evaluate_all(FED)]
        assert all(left < end < right for (_, _, end), (left, right) in zip(lit, edges, strict=True)), (lit, edges)
    for _ in range(5):
        slider.press("ArrowDown")
    frame(page)
    assert page.evaluate(WIRES, ".qkv-query-lit") == [], "0 adds nothing"
    page.get_by_role("button", name="undo edits").click()
    frame(page)
    assert entries.evaluate_all(FED) == []


@pytest.mark.browser
def test_numbers_of_the_opening_keep_to_their_places(open_page: Callable[..., Page]):
    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    height = "() => document.querySelector('.qkv-query-meets').offsetHeight"
    before = page.evaluate(height)
    page.evaluate("x => shown[0].model.set('x', x)", [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1.75, 0.25]])
    frame(page)
    expect(page.locator(".qkv-query-line b")).to_have_text(["2", ".25", "3"])
    assert page.evaluate(height) == before, "a number that is wider than its entry is in one line"
    inside = (
        page.locator(".qkv-query-faders b")
        .nth(2)
        .evaluate("""(knob) => {
      const text = document.createRange();
      text.selectNodeContents(knob);
      return knob.clientWidth - text.getBoundingClientRect().width;
    }""")
    )
    assert inside >= 2, "1.75 is within its knob"


@pytest.mark.browser
def test_in_the_opening_the_word_is_in_one_line_and_a_knob_at_0_covers_no_number(open_page: Callable[..., Page]):
    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"row": 0, "matrices": False, "x": [[0, 0, 0, 0], *QKVStepper().x[1:]]})])
    assert page.locator(".qkv-query-of > b").evaluate("e => e.offsetHeight") < 30
    ends = page.locator(".qkv-query-faders > div").evaluate_all("""all => all.map((e) =>
      [e.querySelector("b").getBoundingClientRect().bottom, e.querySelector("small").getBoundingClientRect().top])""")
    assert all(knob < number for knob, number in ends), ends


@pytest.mark.browser
def test_a_sum_of_rounded_weights_is_right(open_page: Callable[..., Page]):
    """0.000 · 3 + 1.000 · 0 = 0.001 would be wrong."""
    page = open_page(width=390)
    draw(page, [("QKVStepper", {"step": "output"})])
    put = "([row, column]) => Object.entries({ row, column }).forEach((each) => shown[0].model.set(...each))"
    for row in range(3):
        for column in range(3):
            page.evaluate(put, [row, column])
            frame(page)
            text = page.locator(".qkv-spelled").inner_text().rpartition(":")[2].replace("−", "-")
            left, _, right = text.replace("·", "*").replace("(", "").replace(")", "").partition("=")
            terms = re.findall(r"[-\d.e]+", left)
            products = [float(a) * float(b) for a, b in zip(terms[::2], terms[1::2], strict=True)]
            assert sum(products) == pytest.approx(float(right), abs=0.01), text
            assert not {"0.000", "1.000"} & set(terms), text


@pytest.mark.browser
def test_frames_lie_around_the_row_and_the_column_of_the_chosen_result(stepper: Page):
    stepper.get_by_role("button", name="values, row 3, column 2").click()
    frame(stepper)
    frames = stepper.locator(".qkv-framed").evaluate_all("""all => all.map((cell) => {
      const [table, { width, height }] = [cell.closest("table"), getComputedStyle(cell, "::before")];
      const rows = [...table.rows].map((row) => [...row.cells].filter((each) => each.matches("td")));
      const size = cell.getBoundingClientRect();
      const cells = (length, one) => Math.round(parseFloat(length) / (one + 2));
      const at = [cell.parentElement.rowIndex, rows[cell.parentElement.rowIndex].indexOf(cell)];
      return [table.caption.innerText, ...at, cells(width, size.width), cells(height, size.height)];
    })""")
    assert frames == [["tokens, X", 2, 0, 4, 1], ["WV", 0, 1, 1, 4]]


NUMBERS = {"x": "X", "w_q": "W Q", "w_k": "W K", "w_v": "W V"}


@pytest.mark.browser
@pytest.mark.parametrize("step", ["queries", "keys", "values", "scores", "weights", "output"])
@pytest.mark.parametrize("part", NUMBERS)
def test_the_chosen_result_depends_on_the_number_that_is_edited(open_page: Callable[..., Page], step: str, part: str):
    """A result moves with its number, if any of its step does; if the one that was chosen does, it stays chosen."""
    page = open_page(width=390)
    rng = torch.Generator().manual_seed(2)
    values = {
        name: torch.randint(1, 9, (3, 4) if name == "x" else (4, 3), generator=rng).double().div(8).tolist()
        for name in TABLES
    }
    draw(page, [("QKVStepper", {**values, "step": step, "row": 0, "column": 2})])
    page.get_by_label(f"{NUMBERS[part]}, row 2, column 1").press("ArrowUp")
    moved = changed(page)[step]
    page.keyboard.press("Tab")
    row, column = (page.evaluate(f"shown[0].model.get('{name}')") for name in ("row", "column"))
    assert moved[row][column] or not any(map(any, moved))
    assert (row, column) == (0, 2) or not moved[0][2]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("number", "said", "kept"),
    [
        ("1e9", "1,000,000,000 is out of range: numbers go from −1,000 to 1,000. It is 1,000 now.", 1000),
        ("", "Type a number", 1),
    ],
)
def test_a_number_that_cannot_be_taken_is_answered(stepper: Page, number: str, said: str, kept: float):
    cell = stepper.get_by_label("X, row 1, column 1")
    cell.fill(number)
    cell.press("Tab")
    expect(stepper.locator(".qkv-spelled")).to_contain_text(said)
    assert stepper.evaluate("shown[0].model.get('x')")[0][0] == kept
    expect(cell).to_have_value(str(kept))


@pytest.mark.browser
def test_a_sum_has_the_digits_that_a_number_needs_and_a_sign_in_brackets(stepper: Page):
    cell = stepper.get_by_label("X, row 1, column 1")
    cell.fill("-3.5")
    cell.press("Tab")
    stepper.get_by_label("scores, row 1, column 3").click()
    expect(stepper.locator(".qkv-spelled")).to_contain_text(
        re.compile(r"−3\.5 · 2\s*\+ 0 · 3\s*\+ \(−2\.5\) · 1\s*= −9\.5")
    )


@pytest.mark.browser
def test_what_is_typed_counts_at_once_and_a_letter_is_answered(stepper: Page):
    cell = stepper.get_by_label("X, row 1, column 1")
    cell.click()
    stepper.keyboard.type("35")
    frame(stepper)
    assert stepper.evaluate("shown[0].model.get('x')")[0][0] == 35, "before the cell is left"
    expect(cell).to_have_value("35")
    cell.click()
    stepper.keyboard.type("9.7b")
    expect(stepper.locator(".qkv-spelled")).to_contain_text("Type a number")
    stepper.keyboard.type("5")
    expect(stepper.locator(".qkv-spelled")).not_to_contain_text("Type a number")
    expect(cell).to_have_value("9.75")
    stepper.keyboard.press("Tab")
    assert stepper.evaluate("shown[0].model.get('x')")[0] == [9.75, 0, 1, 0]
    cell.click()
    drag(stepper, cell, 1.5)
    assert stepper.evaluate("shown[0].model.get('x')")[0][0] == 11.75, "a number that is selected is dragged as well"


@pytest.mark.browser
def test_undo_takes_back_the_switch_too(stepper: Page):
    undo = stepper.get_by_role("button", name="undo edits")
    expect(undo).to_be_disabled()
    stepper.get_by_role("switch").check()
    undo.click()
    expect(stepper.get_by_role("switch")).not_to_be_checked()
    expect(undo).to_be_disabled()


@pytest.mark.browser
def test_a_long_number_keeps_to_one_line_and_the_mark_of_a_change_is_below_it(stepper: Page):
    legend = stepper.get_by_text("changed by the last edit")
    expect(legend).to_be_hidden()
    for value, cell in [
        (-5, "W V, row 1, column 2"),
        (-2.51, "W V, row 2, column 1"),
        (-999.7, "W V, row 2, column 3"),
    ]:
        stepper.get_by_label(cell).fill(str(value))
        stepper.get_by_label(cell).press("Tab")
    expect(legend).to_be_visible()
    expect(stepper.locator(".qkv-outcome", has_text="−2e3").first).to_be_visible()  # the last edit is drawn, too
    numbers = stepper.locator(".qkv-outcome").evaluate_all("""all => all.map((cell) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      const [{ bottom, height }, box] = [text.getBoundingClientRect(), cell.getBoundingClientRect()];
      return [cell.textContent, height, box.bottom - bottom];
    })""")
    assert all(height < 18 and below >= 4 for _, height, below in numbers), numbers
    assert {text for text, *_ in numbers if text.startswith("−")} >= {"−5", "−2e3"}


@pytest.mark.browser
def test_a_result_is_chosen_on_the_canvas_and_nothing_jumps(stepper: Page):
    height = """() => [...document.querySelectorAll('.qkv-widget, .qkv-matrix3:not(.qkv-folded-table)')]
      .map((part) => [part.offsetHeight, part.offsetTop])"""
    before = stepper.evaluate(height)
    stepper.get_by_label("X, row 1, column 1").press("ArrowUp")
    for step in ("queries", "keys", "values", "scores", "weights", "output"):
        stepper.get_by_role("button", name=f"{step}, row 1, column 3").click()
        frame(stepper)
        assert stepper.evaluate("['step', 'row', 'column'].map((name) => shown[0].model.get(name))") == [step, 0, 2]
        assert stepper.evaluate(height) == before, step


CLIPPED = """() => [...document.querySelectorAll('.qkv-outcome')].filter((cell) => cell.scrollWidth > cell.clientWidth)
  .map((cell) => cell.textContent.trim())"""


@pytest.mark.browser
def test_a_cell_has_room_for_every_number(stepper: Page):
    for cell, value in [
        ("X, row 1, column 1", "1000"),
        ("X, row 2, column 2", "-99.95"),
        ("X, row 3, column 4", "9.99"),
    ]:
        stepper.get_by_label(cell).fill(value)
        stepper.get_by_label(cell).press("Tab")
    frame(stepper)
    assert stepper.evaluate(CLIPPED) == []


@pytest.mark.browser
def test_the_canvas_fits_on_a_phone_with_its_frames(open_page: Callable[..., Page]):
    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"step": "output", "row": 2, "column": 2})])
    assert page.locator(".qkv-canvas").evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.locator(".qkv-widget").evaluate("e => e.offsetHeight") <= 780
    cells = ".qkv-matrix3:not(.qkv-folded-table) :is(input, button)"
    least = page.evaluate(
        """(cells) => Math.min(...[...document.querySelectorAll(cells)]
      .flatMap((cell) => [cell.offsetWidth, cell.offsetHeight]))""",
        cells,
    )
    assert least >= 31


@pytest.mark.browser
def test_a_tie_that_a_drag_makes_is_told_in_numbers(open_page: Callable[..., Page]):
    page = open_phone(open_page)
    draw(page, [("QKVStepper", {"row": 2, "matrices": False})])
    slider, lead = page.get_by_role("slider", name="it, number 2"), page.locator(".qkv-lead")
    for _ in range(4):
        slider.press("ArrowUp")
    expect(lead).to_have_text("cat 0.88 → 0.50, it 0.12 → 0.50.")
    assert lead.evaluate("e => e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight)") < 1.5, "in one line"
    page.get_by_role("radio", name="the").check(force=True)
    expect(lead).to_have_text("the asks. The key of it fits best.")
