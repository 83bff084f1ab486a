"""MaskPainter: its masks and weights against the reference, and painting by mouse, touch and keyboard."""

import base64
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor
from traitlets import TraitError

from qkv.attention import causal_mask, masked_softmax, window_mask
from qkv.widgets import MaskPainter

from .conftest import frame, open_phone
from .node import ROOT, node

N = 7
QUERIES = [1, 2, 5, 7]


def reference(preset: str, queries: int, window: int, real: int) -> Tensor:
    return {
        "all": torch.ones(queries, N, dtype=torch.bool),
        "causal": causal_mask(queries, N),
        "top-left": torch.ones(queries, N, dtype=torch.bool).tril(),
        "window": window_mask(queries, window, N),
        "padding": (torch.arange(N) < real).expand(queries, N),
    }[preset]


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("preset", ["all", "causal", "top-left", "window", "padding"])
def test_masks_are_the_reference_s(preset: str, queries: int):
    options = {"queries": queries, "window": 3, "real": 4}
    expected = reference(preset, **options).tolist()
    assert MaskPainter(preset=preset, **options).mask == expected
    drawn = node("({ preset, o }) => maths.presetMask(preset, { tokens: 7, ...o })", {"preset": preset, "o": options})
    assert drawn == expected


def test_painted_cells_are_flipped():
    painter = MaskPainter(preset="causal", queries=2, flipped=[7 * 6 + 0, 7 * 0 + 0])
    mask = causal_mask(2, N).tolist()
    mask[1][0] = False  # the last query's first key; the first query is not asked
    assert painter.mask == mask


MASKS = [[True] * 5, [True, False, True, False, False], [False, False, False, True, False], [False] * 5]
SCORES = [[0.3, -1.2, 2.0, 0.0, 5.0], [1e4, -1e4, 30.0, 30.0, -1e4], [-3.0] * 5]


def weights(scores: Tensor, mask: Tensor, method: str) -> Tensor:
    hidden = {"−∞": -math.inf, "−1e9": -1e9, "0": 0.0}
    if method == "after":
        return scores.softmax(-1) * mask
    return scores.masked_fill(~mask, hidden[method]).softmax(-1)


@pytest.mark.parametrize("method", ["−∞", "−1e9", "0", "after"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("scores", SCORES)
def test_weights_are_torch_s(scores: list[float], mask: list[bool], method: str):
    actual = node("({ z, mask, how }) => maths.maskedWeights(z, mask, how)", {"z": scores, "mask": mask, "how": method})
    z, shown = torch.tensor(scores, dtype=torch.float64), torch.tensor(mask)
    torch.testing.assert_close(
        torch.tensor(actual, dtype=torch.float64), weights(z, shown, method), rtol=1e-9, atol=0.0, equal_nan=True
    )
    if method == "−∞" and any(mask):
        torch.testing.assert_close(torch.tensor(actual, dtype=torch.float64), masked_softmax(z[None], shown[None])[0])


def test_traits():
    painter = MaskPainter()
    assert (painter.preset, painter.queries, painter.method, painter.flipped) == ("causal", 7, "−∞", ())
    wrong = {
        "preset": "none",
        "queries": 0,
        "window": 8,
        "real": 0,
        "flipped": [49],
        "method": "-inf",
        "scores": [[1.0]],
    }
    for name, value in wrong.items():
        with pytest.raises(TraitError, match=name):
            setattr(painter, name, value)


# ---- on a page


def opened(page: Page, **values: Any) -> Page:
    """Show the built widget on an empty page, as Python would open it."""
    code = (ROOT / "src" / "qkv" / "widgets" / "static" / "mask_painter.js").read_bytes()
    address = "data:text/javascript;base64," + base64.b64encode(code).decode()
    painter = MaskPainter(**values)
    names = ("preset", "queries", "window", "real", "flipped", "method", "scores", "tokens")
    state = {name: getattr(painter, name) for name in names}
    page.evaluate("async ([a, state]) => { window.it = show((await import(a)).default, state); }", [address, state])
    page.locator(".qkv-mask-more").evaluate("e => { e.open = true; }")
    frame(page)  # the widget has its new height then
    return page


def shown(page: Page, row: int) -> list[str]:
    return page.locator(f"tbody tr:nth-child({row + 1}) label").all_inner_texts()


def summary(page: Page) -> str:
    return page.locator('[data-number="summary"]').inner_text()


def test_it_opens_on_the_causal_mask(open_page: Callable[..., Page]):
    page = opened(open_page())
    assert shown(page, 0) == ["1.00"] + [""] * 6
    assert shown(page, 5)[0] == "0.56"
    assert summary(page) == "“it” sees 6 of 7 words. Their weights grow ×1.46 to sum to 1."


@pytest.mark.parametrize("width", [390, 900])
def test_whole_english_words_stand_over_the_columns_and_touch_nothing(open_page: Callable[..., Page], width: int):
    page = opened(open_phone(open_page) if width == 390 else open_page(width=width), preset="padding")
    words = page.locator(".qkv-mask thead tr:last-child th > span")
    assert words.all_inner_texts() == ["cat", "chased", "mouse", "comma", "because", "it", "hungry"]
    assert set(words.evaluate_all("all => all.map((word) => getComputedStyle(word).rotate)")) == {"none"}
    boxes = "all => all.map((e) => e.getBoundingClientRect().toJSON())"
    columns = page.locator("tbody tr").first.locator("td:has(label)").evaluate_all(boxes)
    places = words.evaluate_all(boxes)
    for word, column in zip(places, columns, strict=True):
        assert word["left"] + word["right"] == pytest.approx(column["left"] + column["right"], abs=2)
    apart = [
        one["right"] + 3 < other["left"] or one["bottom"] <= other["top"] + 3 or other["bottom"] <= one["top"] + 3
        for one, other in itertools.combinations(places, 2)
    ]
    assert all(apart)
    handle = page.locator(".qkv-real-end").evaluate(
        "e => e.getBoundingClientRect().bottom - parseFloat(getComputedStyle(e, '::after').height)"
    )
    assert max(place["bottom"] for place in places) <= handle + 1, "the edge's handle covers a word"


def test_a_press_hides_a_key_and_another_shows_it(open_page: Callable[..., Page]):
    page = opened(open_page())
    cell = page.locator('[data-cell="35"]')  # the row of 它, its first key
    cell.click()
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == [35]
    assert shown(page, 5)[0] == ""
    cell.click()
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == []
    assert shown(page, 5)[0] == "0.56"


def test_a_drag_paints_a_run_of_cells(open_page: Callable[..., Page]):
    page = opened(open_page())
    start, end = (page.locator(f'[data-cell="{cell}"]').bounding_box() for cell in (35, 38))
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 5, steps=12)
    frame(page)
    page.mouse.up()
    frame(page)
    assert sorted(page.evaluate("it.model.get('flipped')")) == [35, 36, 37, 38]
    page.get_by_role("button", name="undo painting").click()
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == []


def test_the_row_that_was_painted_is_told_of(open_page: Callable[..., Page]):
    page = opened(open_page(), preset="all")
    assert summary(page).startswith("“it” sees 7 of 7 words.")
    page.locator('[data-cell="14"]').click()  # 老鼠, and its first key
    frame(page)
    assert summary(page) == "“mouse” sees 6 of 7 words. Their weights grow ×1.18 to sum to 1."
    for cell in range(16, 21):
        page.locator(f'[data-cell="{cell}"]').click()
    frame(page)
    assert re.fullmatch(r"“mouse” sees 1 of 7 words\. Its weight grows ×[\d.]+, to 1\.", summary(page))
    for cell in range(16, 21):
        page.locator(f'[data-cell="{cell}"]').click()
    page.get_by_role("radio", name="score 0", exact=True).check()
    frame(page)
    assert summary(page) == "“mouse” sees 6 of 7 words. Hidden words still get 0.06 in all."
    expect(page.get_by_role("status")).to_contain_text("Hidden keys that get weight: cat.")


def test_a_row_s_name_chooses_the_row_that_is_told_of(open_page: Callable[..., Page]):
    page = opened(open_page(width=390, has_touch=True), queries=6)
    names = page.locator("tbody th").get_by_role("button")
    assert page.locator("[aria-pressed=true]").all_inner_texts() == ["it\n它"]
    names.filter(has_text="mouse").tap()
    frame(page)
    assert "“mouse” sees 3 of 7 words" in summary(page)
    assert page.locator("[aria-pressed=true]").all_inner_texts() == ["mouse\n老鼠"]
    assert page.evaluate("it.model.get('flipped')") == []
    page.keyboard.press("ArrowUp")  # the names are walked as the cells are
    page.keyboard.press("Space")
    frame(page)
    assert "“chased” sees 2 of 7 words" in summary(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")  # 貓 is not asked
    page.keyboard.press("Enter")
    page.get_by_role("button", name="undo painting").click()
    frame(page)
    assert "“chased” sees 2 of 7 words" in summary(page)
    assert page.evaluate("it.model.get('flipped')") == []


def test_the_row_that_is_told_of_is_marked_where_the_one_chosen_is_not_asked(open_page: Callable[..., Page]):
    page = opened(open_page(), queries=1)
    assert page.locator("[aria-pressed=true]").all_inner_texts() == ["hungry\n餓了"]
    assert "“hungry” sees 7 of 7 words" in summary(page)


def test_a_mask_that_was_painted_is_none_of_those_to_start_from(open_page: Callable[..., Page]):
    page = opened(open_page())
    presets = page.get_by_role("group", name="start from this mask")
    causal = presets.get_by_role("radio", name="causal", exact=True)
    cell = page.locator('[data-cell="35"]')
    assert causal.is_checked()
    cell.click()
    frame(page)
    assert presets.locator(":checked").count() == 0
    page.evaluate("it.model.set('queries', 1)")  # 它 is not asked, so its row is not part of the mask
    frame(page)
    assert causal.is_checked()
    page.evaluate("it.model.set('queries', 7)")
    frame(page)
    assert presets.locator(":checked").count() == 0
    page.get_by_role("button", name="undo painting").click()
    frame(page)
    assert causal.is_checked()
    cell.click()
    frame(page)
    causal.check()
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == []


def test_nothing_jumps_when_another_mask_is_chosen(open_page: Callable[..., Page]):
    page = opened(open_page(width=390))
    height = "() => document.querySelector('.qkv-widget').offsetHeight"
    before = page.evaluate(height)
    assert before <= 750
    for method in page.get_by_role("group", name="to hide a word").get_by_role("radio").all():
        method.check()
        for mask in page.get_by_role("group", name="start from this mask").get_by_role("radio").all():
            mask.check()
            for queries in (7, 3, 1):
                page.get_by_role("slider", name="who looks").fill(str(queries))
                frame(page)
                assert page.evaluate(height) == before


@pytest.mark.parametrize("width", [390, 800, 1000])
@pytest.mark.parametrize("method", ["−∞", "−1e9", "0", "after"])
def test_nothing_jumps_when_another_row_is_chosen(open_page: Callable[..., Page], method: str, width: int):
    page = opened(open_page(width=width), method=method)
    height = "() => document.querySelector('.qkv-widget').offsetHeight"
    before = page.evaluate(height)
    for row in page.locator("tbody th button").all():
        row.click()
        frame(page)
        assert page.evaluate(height) == before


def test_what_the_chosen_mask_means_is_written_below_it(open_page: Callable[..., Page]):
    page = opened(open_page(), preset="window")
    masks = page.get_by_role("group", name="start from this mask")
    assert masks.locator("p").inner_text() == "Each word sees the last 3, itself included."
    page.get_by_role("slider", name="words in sight").fill("2")
    frame(page)
    assert masks.locator("p").inner_text() == "Each word sees the last 2, itself included."
    page.locator('[data-cell="35"]').click()
    frame(page)
    assert masks.locator("p").inner_text() == "Your own mask."


@pytest.mark.parametrize("width", [390, 1000])
def test_the_sides_of_the_grid_are_named(open_page: Callable[..., Page], width: int):
    page = opened(open_page(width=width))
    across, cells = (page.locator(f".qkv-mask {part}").bounding_box() for part in ("[colspan]", "[data-cell='0']"))
    down = page.get_by_role("columnheader", name="query").bounding_box()
    assert across
    assert cells
    assert down
    assert across["x"] + 1 >= cells["x"]
    assert down["x"] + down["width"] <= cells["x"]
    assert max(across["y"] + across["height"], down["y"] + down["height"]) <= cells["y"]


def test_a_drag_back_to_its_start_is_no_press(open_page: Callable[..., Page]):
    page = opened(open_page())
    start, end = (page.locator(f'[data-cell="{cell}"]').bounding_box() for cell in (35, 36))
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 5, steps=6)
    page.mouse.move(start["x"] + 5, start["y"] + 5, steps=6)
    page.mouse.up()
    frame(page)
    assert sorted(page.evaluate("it.model.get('flipped')")) == [35, 36]


def test_two_moves_in_one_frame_paint_once(open_page: Callable[..., Page]):
    page = opened(open_page())
    page.evaluate(
        """() => {
          const at = (cell) => document.querySelector(`[data-cell="${cell}"]`).getBoundingClientRect();
          const send = (type, cell, shift) => document.querySelector(`[data-cell="${cell}"]`).dispatchEvent(
            new PointerEvent(type, { bubbles: true, buttons: 1, clientX: at(cell).x + shift, clientY: at(cell).y + 5 }),
          );
          send("pointerdown", 35, 5);
          for (const shift of [5, 8, 11]) send("pointermove", 36, shift);
        }"""
    )
    frame(page)
    assert sorted(page.evaluate("it.model.get('flipped')")) == [35, 36]


def test_the_space_bar_paints_after_a_drag(open_page: Callable[..., Page]):
    page = opened(open_page())
    start, end = (page.locator(f'[data-cell="{cell}"]').bounding_box() for cell in (35, 36))
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 5, steps=2)
    frame(page)
    page.mouse.up()
    page.locator('[data-cell="38"] input').focus()
    page.keyboard.press("Space")
    frame(page)
    assert sorted(page.evaluate("it.model.get('flipped')")) == [35, 36, 38]


def test_a_finger_taps_a_cell(open_page: Callable[..., Page]):
    page = opened(open_page(width=390, has_touch=True))
    page.locator('[data-cell="35"]').tap()
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == [35]


@pytest.mark.parametrize(
    "cells", [[0, 7, 14, 21, 28, 35], [42, 35, 28, 21], [7, 8, 9, 10]], ids=["down", "up", "across"]
)
def test_a_finger_paints_in_any_direction(open_page: Callable[..., Page], cells: list[int]):
    page = opened(open_page("<p style='height: 2000px'>below</p>", width=390, has_touch=True), preset="all")
    page.locator(".qkv-mask").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    boxes = [page.locator(f'[data-cell="{cell}"]').bounding_box() for cell in cells]
    finger = page.context.new_cdp_session(page)
    for number, box in enumerate(boxes):
        assert box
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove" if number else "touchStart", "touchPoints": [at]})
        frame(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    frame(page)
    assert sorted(page.evaluate("it.model.get('flipped')")) == sorted(cells)
    assert page.evaluate("scrollY") == before


def test_the_mask_of_the_top_left_corner_differs_from_the_causal_one(open_page: Callable[..., Page]):
    page = opened(open_page(width=390))
    rows, hidden = page.locator(".qkv-mask tbody tr:visible"), page.locator("td .qkv-hidden:visible")
    for name, counts in (("causal", (7, 21)), ("top-left", (4, 18)), ("causal", (7, 21))):
        page.get_by_role("radio", name=name).check()
        frame(page)
        assert (rows.count(), hidden.count()) == counts, name


def test_queries_that_are_not_asked_are_named_in_their_place(open_page: Callable[..., Page]):
    page = opened(open_page(width=390))
    place = page.locator(".qkv-unasked")
    assert place.evaluate("e => e.offsetHeight") == 0
    page.evaluate("it.model.set('queries', 3)")
    frame(page)
    assert place.inner_text() == "Their rows were computed before, as with a KV cache: cat, chased, mouse, comma."
    box, head, first = (
        page.locator(f".qkv-mask {part}").bounding_box()
        for part in (".qkv-unasked", "thead th >> nth=0", "tbody tr:visible >> nth=0")
    )
    assert box
    assert head
    assert first
    assert box["y"] + box["height"] <= head["y"] < head["y"] + head["height"] <= first["y"]
    assert box["height"] > 3.5 * first["height"]


def test_a_sum_that_is_not_1_says_so_beside_the_row(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), method="after")
    ends = page.locator(".qkv-mask-end")
    assert ends.all_inner_texts() == [
        f"{total}\nnot 1" for total in ("0.25", "0.43", "0.74", "0.59", "0.56", "0.68")
    ] + ["1.00"]
    beyond = page.evaluate("""() => {
      const { right } = document.querySelector('.qkv-mask').getBoundingClientRect();
      const range = document.createRange();
      return [...document.querySelectorAll('.qkv-mask-end :is(b, small)')].map((e) => {
        range.selectNodeContents(e);
        return range.getBoundingClientRect().right - right;
      });
    }""")
    assert max(beyond) <= 2


def test_arrow_keys_walk_and_the_space_bar_paints(open_page: Callable[..., Page]):
    page = opened(open_page())
    page.locator('[data-cell="28"] input').focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Space"):
        page.keyboard.press(key)
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == [35]


def test_rows_that_are_not_asked_for_go_and_come_back(open_page: Callable[..., Page]):
    page = opened(open_page(), queries=2)
    rows = page.locator(".qkv-mask tbody tr:visible")
    assert rows.count() == 2
    assert page.locator(".qkv-mask input:enabled").count() == 2 * N
    head, first = page.locator(".qkv-mask thead th").last.bounding_box(), rows.first.bounding_box()
    assert head
    assert first
    assert 0 <= first["y"] - head["y"] - head["height"] < 4  # the names of the keys stand on the first row
    page.locator('[data-cell="35"] input').focus()
    page.keyboard.press("ArrowUp")  # above is no row
    page.keyboard.press("Space")
    frame(page)
    assert page.evaluate("it.model.get('flipped')") == [35]
    page.evaluate("it.model.set('queries', 7)")
    frame(page)
    assert rows.count() == 7
    page.locator('[data-cell="0"] input').focus()
    page.evaluate("it.model.set('queries', 1)")
    frame(page)
    assert rows.locator("th").all_inner_texts() == ["hungry\n餓了"]


def test_what_goes_wrong_is_said(open_page: Callable[..., Page]):
    page = opened(open_page(), flipped=[0])
    assert shown(page, 0) == ["NaN"] * 7
    page.locator("tbody th button").first.click()
    frame(page)
    assert summary(page) == "“cat” sees none of 7 words. The softmax divides 0 by 0: NaN."
    expect(page.get_by_role("status")).to_contain_text(
        "Rows with no key in sight: cat. Rows that do not sum to 1: cat."
    )
    page.get_by_role("radio", name="score −1e9", exact=True).check()
    frame(page)
    assert shown(page, 0) == ["0.14"] * 7
    assert summary(page) == "“cat” sees none of 7 words. Hidden words still get 1.00 in all."
    expect(page.get_by_role("status")).to_contain_text(
        "Hidden keys that get weight: cat, chased, mouse, comma, because, it, hungry."
    )
    page.get_by_role("radio", name="weight 0", exact=True).check()
    frame(page)
    assert summary(page) == "“cat” sees none of 7 words. No weight grows: the sum is 0.00."
    expect(page.get_by_role("status")).to_contain_text(
        "Rows that do not sum to 1: cat, chased, mouse, comma, because, it."
    )


def test_another_start_clears_the_painting(open_page: Callable[..., Page]):
    page = opened(open_page(), flipped=[35])
    page.get_by_label("window", exact=True).check()
    frame(page)
    assert page.evaluate("[it.model.get('preset'), it.model.get('flipped')]") == ["window", []]
    page.get_by_role("slider", name="words in sight").fill("1")
    frame(page)
    assert [row.index("1.00") for row in (shown(page, i) for i in range(7))] == list(range(7))


def test_the_page_keeps_its_width_on_a_phone(open_page: Callable[..., Page]):
    page = opened(open_page(width=390))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
def test_the_edge_of_the_real_words_is_dragged_along_the_names_of_the_keys(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), preset="padding")
    ends = page.locator(".qkv-real-end")
    start, to = ends.bounding_box(), page.locator("thead tr:nth-child(2) th").nth(2).bounding_box()
    assert start
    assert to
    page.mouse.move(start["x"] + start["width"] - 4, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(to["x"] + to["width"] / 2, to["y"] + 8, steps=3)
    page.mouse.up()
    frame(page)
    assert page.evaluate("it.model.get('real')") == 3
    expect(ends).to_contain_text("mouse")
    assert summary(page).startswith("“it” sees 3 of 7 words.")


@pytest.mark.browser
def test_the_weight_of_a_word_that_is_hidden_flows_out_of_its_cell(open_page: Callable[..., Page]):
    page = opened(open_page(width=390))
    cell = page.locator('[data-cell="35"]')
    expect(page.locator(".qkv-spill")).to_have_count(0)
    cell.click()
    expect(page.locator(".qkv-spill")).to_have_attribute("data-cell", "35")
    cell.click()
    expect(page.locator(".qkv-spill")).to_have_count(0)
