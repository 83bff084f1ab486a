"""PatternLab's masks, their reach and their errors, against the reference in torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect

from qkv.attention import causal_mask, window_mask
from qkv.efficient import dilated_mask, global_mask, seen_through
from qkv.widgets import PatternLab

from .conftest import drag, frame
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
def test_reach_is_that_of_the_reference(layers: int):
    mask = mask_of("window", 3, True)
    body = f'async (x) => (await import("{MODULE}")).seenThrough(x.mask, x.layers)'
    found = torch.tensor(node(body, {"mask": mask.tolist(), "layers": layers}), dtype=torch.bool)
    assert torch.equal(found, seen_through(mask, layers))


def test_errors_tell_what_each_pattern_gives_up():
    body = f'async (x) => (await import("{MODULE}")).patternErrors(x.mask, x.all, 10)'
    everything = mask_of("full", 1, True).tolist()
    assert node(body, {"mask": everything, "all": everything}) == {"random": 0, "local": 0, "needle": 0}
    found = node(body, {"mask": mask_of("window", 4, True).tolist(), "all": everything})
    assert found["needle"] > 0.8
    assert found["local"] < found["random"]


def test_it_opens_on_a_causal_window():
    lab = PatternLab()
    assert (lab.pattern, lab.window, lab.causal, lab.layers, lab.token) == ("window", 4, True, 1, 32)


@pytest.fixture
def lab(open_page: Callable[..., Page]) -> Page:
    page = open_page()
    draw(page, [("PatternLab", {})])
    return page


def traits(page: Page) -> list[object]:
    frame(page)
    return page.evaluate("['pattern', 'window', 'token'].map((name) => shown[0].model.get(name))")


@pytest.mark.browser
def test_a_stroke_sets_the_window_and_a_press_follows_a_token(lab: Page):
    picture = lab.locator(".qkv-pattern-picture")
    drag(lab, picture, 0.25)
    assert traits(lab) == ["window", 9, 32]
    box = picture.bounding_box()
    assert box
    lab.mouse.click(box["x"] + 20, box["y"] + box["height"] * 10.5 / N)
    assert traits(lab) == ["window", 9, 11]


@pytest.mark.browser
def test_a_stroke_over_full_attention_leaves_the_window_that_it_does_not_use(lab: Page):
    lab.get_by_role("radio", name="full").check()
    drag(lab, lab.locator(".qkv-pattern-picture"), 0.25)
    assert traits(lab) == ["full", 4, 32]
    expect(lab.get_by_role("slider", name="tokens in the window")).to_have_attribute("aria-valuetext", "not used")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("pattern", "causal", "says"),
    [
        ("window", True, "4"),
        ("window", False, "7"),
        ("dilated", False, "7, every 3rd"),
        ("strided", True, "4, then every 4th"),
    ],
)
def test_the_window_is_as_wide_as_it_says(lab: Page, pattern: str, causal: bool, says: str):
    lab.get_by_role("radio", name=pattern, exact=True).check()
    lab.get_by_role("switch").set_checked(causal)
    expect(lab.get_by_role("slider", name="tokens in the window")).to_have_attribute("aria-valuetext", says)
    if pattern == "window":
        assert mask_of(pattern, 4, causal)[16].sum() == int(says)


@pytest.mark.browser
def test_the_diamond_is_where_the_needle_is(lab: Page):
    middle = """(needle) => {
      const { x, y, width, height } = needle.getBBox();
      return [x + width / 2, y + height / 2].map((at) => Number(at.toFixed(3)));
    }"""
    assert lab.locator(".qkv-needle").evaluate(middle) == [N // 8 + 0.5, N - 0.5]
    hidden = torch.ones(N, N, dtype=torch.bool)
    hidden[-1, N // 8] = False
    body = f'async (x) => (await import("{MODULE}")).patternErrors(x.mask, x.all, 10)'
    found = node(body, {"mask": hidden.tolist(), "all": torch.ones(N, N, dtype=torch.bool).tolist()})
    assert found["needle"] > 0.8
