"""PatternLab's masks and the cone of its reach, against the reference in torch; and how the cone is moved."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from qkv.attention import causal_mask, window_mask
from qkv.efficient import dilated_mask, global_mask, seen_through
from qkv.widgets import PatternLab

from .conftest import as_on_a_phone, frame, open_phone
from .node import JS, node
from .test_access import draw

MODULE = (JS / "patterns.js").as_uri()
N = 32


def mask_of(pattern: str, window: int, causal: bool) -> torch.Tensor:
    body = f'async (x) => (await import("{MODULE}")).patternMask(x.pattern, x)'
    found = node(body, {"pattern": pattern, "n": N, "window": window, "causal": causal})
    return torch.tensor(found, dtype=torch.bool)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [1, 4, 16])
def test_masks_are_those_of_the_reference(window: int, causal: bool):
    future = causal_mask(N) if causal else torch.ones(N, N, dtype=torch.bool)
    assert torch.equal(mask_of("full", window, causal), future)
    assert torch.equal(mask_of("window", window, causal), window_mask(N, window, causal=causal))
    with_global = (window_mask(N, window, causal=False) | global_mask(N, 2)) & future
    assert torch.equal(mask_of("window and global", window, causal), with_global)
    assert torch.equal(mask_of("dilated", window, causal), dilated_mask(N, window, 3, causal))


def test_strided_sees_the_window_and_every_multiple_of_it():
    apart = torch.arange(N)[:, None] - torch.arange(N)
    expected = ((apart.abs() < 5) | (apart % 5 == 0)) & (apart >= 0)
    assert torch.equal(mask_of("strided", 5, True), expected)


@pytest.mark.parametrize("layers", [1, 2, 5])
@pytest.mark.parametrize(("pattern", "causal"), [("window", True), ("strided", True), ("window and global", False)])
def test_the_cone_ends_on_what_the_reference_has_seen(pattern: str, causal: bool, layers: int):
    mask = mask_of(pattern, 3, causal)
    cones_of = "x.mask.map((_, i) => coneBelow(x.mask, x.layers, i))"
    body = f'async (x) => {{ const {{ coneBelow }} = await import("{MODULE}"); return {cones_of}; }}'
    cones = torch.tensor(node(body, {"mask": mask.tolist(), "layers": layers}), dtype=torch.bool)
    assert cones.shape == (N, layers + 1, N)
    for below in range(layers):
        assert torch.equal(cones[:, below], seen_through(mask, layers - below))
    assert torch.equal(cones[:, layers], torch.eye(N, dtype=torch.bool))


def test_it_opens_on_a_causal_window_below_the_word_it():
    lab = PatternLab()
    assert (lab.pattern, lab.window, lab.causal, lab.layers, lab.token) == ("window", 4, True, 4, 30)


@pytest.fixture
def lab(open_page: Callable[..., Page]) -> Page:
    page = open_page()
    draw(page, [("PatternLab", {})])
    page.get_by_text("Other patterns").click()
    return page


def traits(page: Page) -> list[object]:
    frame(page)
    return page.evaluate("['pattern', 'window', 'layers', 'token'].map((name) => shown[0].model.get(name))")


def middle(part: Locator) -> tuple[float, float]:
    box = part.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pull(page: Page, handle: str, tokens: float, layers: float = 0) -> None:
    """Drag a handle of the drawing by so many tokens to the right and so many layers up."""
    page.locator(handle).element_handle().wait_for_element_state("stable")  # the widget is drawn in the next frame
    x, y = middle(page.locator(handle))
    across, up = page.locator(".qkv-cone-picture svg").evaluate(
        "(svg) => [10.4, 37].map((length) => (length * svg.clientWidth) / svg.viewBox.baseVal.width)"
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + tokens * across, y - layers * up, steps=4)
    page.mouse.up()


@pytest.mark.browser
def test_the_top_token_is_dragged_sideways_and_through_the_layers(lab: Page):
    pull(lab, ".qkv-cone-top", -6)
    assert traits(lab) == ["window", 4, 4, 24]
    pull(lab, ".qkv-cone-top", 0, 2)
    assert traits(lab) == ["window", 4, 6, 24]
    pull(lab, ".qkv-cone-top", 0, -9)
    assert traits(lab) == ["window", 4, 1, 24]


@pytest.mark.browser
def test_the_top_token_keeps_to_the_direction_of_its_first_movement(lab: Page):
    pull(lab, ".qkv-cone-top", 0.6)
    assert traits(lab) == ["window", 4, 4, 30], "a slip changes no word"
    pull(lab, ".qkv-cone-top", -3, 2)
    assert traits(lab) == ["window", 4, 6, 30]
    pull(lab, ".qkv-cone-top", -6, -1)
    assert traits(lab) == ["window", 4, 6, 24]


@pytest.mark.browser
def test_the_ring_widens_the_window_and_nothing_else(lab: Page):
    pull(lab, ".qkv-cone-edge", -3, 1)
    assert traits(lab) == ["window", 7, 4, 30]
    lab.get_by_role("radio", name="dilated").check()
    pull(lab, ".qkv-cone-edge", 6)
    assert traits(lab) == ["dilated", 5, 4, 30]  # every third token: six to the right are two of them
    lab.get_by_role("radio", name="full").check()
    expect(lab.locator(".qkv-cone-edge")).to_have_count(0)


@pytest.mark.browser
def test_a_press_on_a_row_chooses_the_layers_and_one_on_a_word_the_top_token(lab: Page):
    x, y = middle(lab.locator(".qkv-cone-layer").get_by_text("6", exact=True))
    lab.mouse.click(x + 60, y + 8)
    assert traits(lab) == ["window", 4, 6, 30]
    lab.locator(".qkv-cone-text").get_by_text("clock").click()
    assert traits(lab) == ["window", 4, 6, 24]


@pytest.mark.browser
@pytest.mark.parametrize(("window", "layers"), [(4, 4), (6, 5), (6, 6), (14, 2)])
def test_the_diamond_fills_when_the_cone_reaches_the_word(open_page: Callable[..., Page], window: int, layers: int):
    page = open_page()
    draw(page, [("PatternLab", {"window": window, "layers": layers})])
    seen = seen_through(window_mask(N, window), layers)[29]
    expect(page.locator(".qkv-cone-reached")).to_have_count(int(seen[3]))
    expect(page.locator(".qkv-cone-missed")).to_have_count(int(not seen[3]))
    expect(page.locator(".qkv-cone-lost")).to_have_text([] if seen[3] else ["cat not yet", "cat"])
    says = "cat too ✓" if seen[3] else "cat not yet"
    expect(page.locator(".qkv-cone-says p")).to_have_text(f"{int(seen.sum())} of 32 words reach it: {says}")
    expect(page.locator("[data-number=reaching]")).to_have_text(str(int(seen.sum())))
    expect(page.locator(".qkv-cone-reaching")).to_have_count(
        int(seen.sum()) - 1
    )  # the word on top has a mark of its own
    share = window_mask(N, window).sum() / causal_mask(N).sum()
    cost = layers * share
    expect(page.locator("[data-number=cost]")).to_have_text(f"{100 * cost:.0f} %")
    expect(page.locator(".qkv-cone-cost")).to_have_text(f"total cost {100 * cost:.0f} % of one full layer")
    bar, mark = page.locator(".qkv-cone-cost i").evaluate(
        "(e) => ['--qkv-p', '--full'].map((part) => Number(e.style.getPropertyValue(part)))"
    )
    assert bar == pytest.approx(float(cost) / 6, abs=0.001)
    assert mark == pytest.approx(1 / 6, abs=0.001)


@pytest.mark.browser
def test_the_bar_of_the_cost_grows_beyond_its_mark_at_one_full_layer(lab: Page):
    """With the future hidden or not, six full layers fill it, and no smaller cost does."""
    shares = "(e) => ['--qkv-p', '--full'].map((part) => Number(e.style.getPropertyValue(part)))"
    for causal in (True, False):
        lab.evaluate("(causal) => shown[0].model.set('causal', causal)", causal)
        bars = []
        for pattern, window, layers in [("window", 4, 1), ("window", 6, 6), ("window", 16, 6), ("full", 4, 6)]:
            values = {"pattern": pattern, "window": window, "layers": layers}
            lab.evaluate("(all) => Object.entries(all).forEach((one) => shown[0].model.set(...one))", values)
            frame(lab)
            bar, mark = lab.locator(".qkv-cone-cost i").evaluate(shares)
            cost = float(lab.locator("[data-number=cost]").inner_text().removesuffix(" %").replace(",", "")) / 100
            assert bar / mark == pytest.approx(cost, abs=0.05)
            bars.append(bar)
        assert bars == sorted(set(bars))
        assert bars[-1] == 1


@pytest.mark.browser
@pytest.mark.parametrize("forced", ["active", "none"])
def test_the_mark_at_one_full_layer_is_seen_on_the_bar(open_page: Callable[..., Page], forced: Any):
    page = open_page()
    page.emulate_media(forced_colors=forced)
    draw(page, [("PatternLab", {"layers": 6, "window": 6})])
    look = "(e) => [getComputedStyle(e).backgroundColor, getComputedStyle(e).borderLeftColor]"
    ink, edge = page.locator(".qkv-cone-cost u").evaluate(look)
    fill = page.locator(".qkv-cone-cost i").evaluate("(e) => getComputedStyle(e, '::before').backgroundColor")
    assert page.locator(".qkv-cone-cost u").evaluate("(e) => e.clientWidth") == 2, "its line, without its edges"
    assert ink == fill
    assert edge != fill


@pytest.mark.browser
def test_one_more_layer_costs_more(lab: Page):
    lab.evaluate("shown[0].model.set('window', 6), shown[0].model.set('layers', 6)")
    expect(lab.get_by_role("status")).to_contain_text("also by cat, at 201 % of the cost of one full layer.")
    lab.evaluate("shown[0].model.set('layers', 1)")
    expect(lab.locator("[data-number=cost]")).to_have_text("34 %")


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390])
def test_of_another_word_it_is_not_said_that_it_needs_cat_and_nothing_moves(open_page: Callable[..., Page], width: int):
    page = open_page(width=width)
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    draw(page, [("PatternLab", {})])
    widget = page.locator(".qkv-widget")
    height = widget.evaluate("e => e.offsetHeight")
    for token in (8, 16, 29):
        page.evaluate("(token) => shown[0].model.set('token', token)", token)
        frame(page)
        expect(page.locator(".qkv-cone-says p")).to_have_text(re.compile(r"^\d+ of 32 words reach \w+\.$"))
        expect(page.locator(".qkv-cone-needed, .qkv-cone-wanted, .qkv-cone-lost")).to_have_count(0)
        expect(page.get_by_role("status")).to_have_text(re.compile(r"is reached by \d+ words, at"))
        assert widget.evaluate("e => e.offsetHeight") == height


# The word on top and the ring, and the texts that they must not touch.
TOUCHED = """() => {
  const box = (e) => e.getBoundingClientRect();
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const [name, ring] = [".qkv-cone-word", ".qkv-cone-edge"].map((part) => box(document.querySelector(part)));
  const touched = (texts, by) => [...document.querySelectorAll(texts)].filter((e) => !apart(by, box(e))).length;
  return touched(".qkv-cone-layer", ring) + touched(".qkv-cone-says > *", name);
}"""


@pytest.mark.browser
@pytest.mark.parametrize(("token", "window", "layers"), [(30, 4, 6), (16, 16, 4), (2, 16, 6)])
def test_the_handles_cover_no_number(open_page: Callable[..., Page], token: int, window: int, layers: int):
    page = open_phone(open_page)
    draw(page, [("PatternLab", {"token": token, "window": window, "layers": layers})])
    assert page.evaluate(TOUCHED) == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    ("pattern", "causal", "says"),
    [
        ("window", True, "4 words"),
        ("window", False, "7 words"),
        ("dilated", False, "7 words, every 3rd"),
        ("strided", True, "4 words and every 4th"),
        ("full", True, "all words before"),
    ],
)
def test_the_window_is_as_wide_as_it_says(lab: Page, pattern: str, causal: bool, says: str):
    lab.get_by_role("radio", name=pattern, exact=True).check()
    lab.get_by_role("switch").set_checked(causal)
    expect(lab.get_by_role("slider", name="window")).to_have_attribute("aria-valuetext", says)
    if pattern == "window":
        assert mask_of(pattern, 4, causal)[16].sum() == int(says.split()[0])


@pytest.mark.browser
def test_the_keyboard_moves_all_three(lab: Page):
    for name, key in (("word", "ArrowLeft"), ("window", "ArrowUp"), ("layers", "ArrowUp")):
        lab.get_by_role("slider", name=name).press(key)
    assert traits(lab) == ["window", 5, 5, 29]


@pytest.mark.browser
def test_a_finger_moves_the_handles_up_and_down(open_page: Callable[..., Page]):
    page = open_page("<p style='height: 500px'>above</p>", width=390, has_touch=True)
    as_on_a_phone(page)
    draw(page, [("PatternLab", {})])
    page.locator(".qkv-cone-top").evaluate("e => e.scrollIntoView({ block: 'center' })")
    x, y = middle(page.locator(".qkv-cone-top"))
    finger = page.context.new_cdp_session(page)
    before = page.evaluate("scrollY")
    for step in range(5):
        kind = "touchMove" if step else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y + 17 * step}]})
        frame(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert traits(page)[2] == 2
    assert page.evaluate("scrollY") == before


@pytest.mark.browser
def test_every_state_has_a_form_in_forced_colours(open_page: Callable[..., Page]):
    """Without its colours, a word in reach has a line below it, and the word's diamond is full or empty."""
    page = open_page()
    page.emulate_media(forced_colors="active")
    draw(page, [("PatternLab", {}), ("PatternLab", {"layers": 6, "window": 6})])
    lines = (
        page.locator(".qkv-cone-text")
        .first.locator("span")
        .evaluate_all(
            "(all) => all.map((e) => [e.className.includes('reaching'), getComputedStyle(e).borderBottomStyle])"
        )
    )
    assert {tuple(line) for line in lines if line[0]} == {(True, "solid")}
    assert {tuple(line) for line in lines if not line[0]} == {(False, "none")}
    fills = page.locator(".qkv-cone-needed").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)")
    assert fills == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
