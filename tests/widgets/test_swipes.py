"""A finger on a picture: up and down it scrolls the page, sideways it drags."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import frame
from .test_access import draw, made, state
from .test_head_atlas import of_words

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]

# What a swipe may begin on, and what a drag sideways changes; in the others a press chooses a row.
PICTURES: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("TransformerFlow", {}, ".qkv-flow", None),
    ("PatternLab", {}, ".qkv-cone-picture", None),
    ("Everywhere", {}, ".qkv-things", "token"),
    ("HeadMicroscope", {}, ".qkv-scope-head", None),
    ("HeadMicroscope", {}, ".qkv-scope-text", "position"),
    ("HeadMicroscope", {}, ".qkv-scope-plot svg", "step"),
    ("SequenceExplorer", {"kind": "image"}, ".qkv-picture", "row"),
    ("SequenceExplorer", {"kind": "text"}, ".qkv-rows", None),
    ("PositionExplorer", {}, ".qkv-plot svg.qkv-drag", "key"),
    ("ScalingLab", {}, ".qkv-plot svg.qkv-drag", "d_k"),
    ("PositionExplorer", {}, ".qkv-pos-text", "query"),
]
TRAITS = "(names) => names.map((name) => shown[0].model.get(name))"


def opened(open_page: OpenPage, look: tuple[str, dict[str, Any]], selector: str) -> tuple[Page, Locator]:
    """A phone's page, longer than its screen, with this widget; and the picture in the middle of the screen."""
    page = open_page("<p style='height: 900px'>above</p>", width=390, has_touch=True)
    draw(page, [look])
    page.add_style_tag(content="body { padding-bottom: 2000px }")
    picture = page.locator(selector).first
    picture.evaluate("e => e.closest('details')?.setAttribute('open', '')")
    picture.evaluate("e => e.scrollIntoView({ block: 'center' })")
    frame(page)
    return page, picture


def swipe(page: Page, picture: Locator, across: float, down: float) -> float:
    """Swipe from a place in the picture, so many pixels in all; how far the page has scrolled then."""
    box = picture.bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2
    before = page.evaluate("scrollY")
    finger = page.context.new_cdp_session(page)
    for step in range(9):
        at = {"x": x + across * step / 8, "y": y + down * step / 8}
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": [at]})
        frame(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    frame(page)
    return page.evaluate("scrollY") - before


@pytest.mark.parametrize(("name", "values", "selector", "dragged"), PICTURES)
def test_a_swipe_up_scrolls_the_page_and_changes_nothing(
    open_page: OpenPage, name: str, values: dict[str, Any], selector: str, dragged: str | None
):
    page, picture = opened(open_page, (name, values), selector)
    traits = list(state(made(name, **values)))
    before = page.evaluate(TRAITS, traits)
    assert swipe(page, picture, 0, -200) > 100
    assert page.evaluate(TRAITS, traits) == before
    box = picture.bounding_box()
    assert box
    picture.tap(position={"x": 40, "y": min(40, box["height"] / 2)})
    frame(page)
    assert page.evaluate(TRAITS, traits) != before, "a tap is still a press"


@pytest.mark.parametrize(("name", "values", "selector", "dragged"), [each for each in PICTURES if each[3]])
def test_a_finger_drags_sideways(open_page: OpenPage, name: str, values: dict[str, Any], selector: str, dragged: str):
    page, picture = opened(open_page, (name, values), selector)
    before = page.evaluate(TRAITS, [dragged])
    assert swipe(page, picture, 100, 0) == 0
    assert page.evaluate(TRAITS, [dragged]) != before


@pytest.mark.parametrize(
    ("name", "values", "selector", "trait"),
    [
        ("SequenceExplorer", {"kind": "text"}, ".qkv-row-grip", "row"),
        ("SequenceExplorer", {"kind": "text"}, ".qkv-marks span:nth-child(2)", "row"),
        ("SequenceExplorer", {"kind": "graph"}, ".qkv-marks", "row"),
        ("Everywhere", {}, ".qkv-asking-grip", "token"),
        ("CacheStepper", {"step": 3}, ".qkv-kv-row:nth-child(5) .qkv-kv-word", "step"),
        ("TransformerFlow", {"word": 1}, ".qkv-flow-word:nth-child(3)", "word"),
        ("HeadAtlas", of_words(8, token=1), ".qkv-atlas-words div:nth-child(2)", "token"),
    ],
)
def test_a_finger_drags_up_and_down_where_things_lie_below_each_other(
    open_page: OpenPage, name: str, values: dict[str, Any], selector: str, trait: str
):
    page, picture = opened(open_page, (name, values), selector)
    before = page.evaluate(TRAITS, [trait])
    assert swipe(page, picture, 0, 50) == 0
    assert page.evaluate(TRAITS, [trait])[0] > before[0]


@pytest.mark.parametrize("part", [".qkv-kv-word", ".qkv-kv-word span", "[data-part=k]"])
def test_a_tap_on_any_part_of_a_row_of_the_cache_changes_its_word(open_page: OpenPage, part: str):
    page, row = opened(open_page, ("CacheStepper", {"step": 8}), ".qkv-kv-row:nth-child(4)")
    row.locator(part).tap()
    frame(page)
    assert page.evaluate(TRAITS, ["changed"]) == [3]


def test_a_list_that_leaves_tokens_out_is_scrolled_and_the_handle_beside_the_map_is_dragged(open_page: OpenPage):
    page, words = opened(open_page, ("HeadAtlas", of_words(32, token=20)), ".qkv-atlas-words")
    assert swipe(page, words, 0, -100) > 50
    assert page.evaluate(TRAITS, ["token"]) == [20]
    handle = page.locator(".qkv-atlas-rail > span")
    assert swipe(page, handle, 0, -100) == 0
    assert page.evaluate(TRAITS, ["token"])[0] < 15


def test_a_tap_right_after_a_flick_is_not_lost(open_page: OpenPage):
    page, ring = opened(open_page, ("HeadMicroscope", {}), ".qkv-scope-ring")
    switch = page.get_by_role("switch", name="silence head 2.1")
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    def middle(part: Locator) -> tuple[float, float]:
        box = part.bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    for left in (80, 300, 80, 300):
        x, y = middle(ring)
        touch("touchStart", (x, y))
        for step in range(1, 7):
            touch("touchMove", (x + (left - x) * step / 6, y))
            page.wait_for_timeout(10)
        touch("touchEnd")
        was_silent = switch.is_checked()
        touch("touchStart", middle(switch))
        touch("touchEnd")
        expect(switch).to_be_checked(checked=not was_silent)
