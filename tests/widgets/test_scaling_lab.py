"""ScalingLab in Chromium: its histogram is dragged wider, and nothing covers its numbers."""

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect

from .conftest import drag, frame, open_phone
from .node import node
from .test_access import draw

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(open_page: Callable[..., Page]) -> Page:
    page = open_page(width=390)
    draw(page, [("ScalingLab", {})])
    return page


def test_the_histogram_is_dragged_wider(lab: Page):
    """Its edge is at three standard deviations, on an axis from −130 to 130."""
    histogram = lab.locator(".qkv-plot svg.qkv-drag")
    for score, d_k in [(0, 1), (3 * 32**0.5, 32), (96, 1024), (-96, 1024), (-12, 16)]:
        drag(lab, histogram, 0.5 + score / 260)
        assert lab.evaluate("shown[0].model.get('d_k')") == d_k
        edge = lab.locator("svg:has(> .qkv-grip)").evaluate("e => parseFloat(e.style.getPropertyValue('--at'))")
        assert edge == pytest.approx(50 - 100 * 3 * d_k**0.5 / 260, abs=0.01)
    expect(lab.get_by_role("slider", name="features")).to_have_attribute("aria-valuetext", "16")


@pytest.mark.parametrize("scaled", [False, True])
def test_the_handle_is_outside_of_the_scores_at_their_edge(lab: Page, scaled: bool):
    lab.evaluate("(scaled) => shown[0].model.set('scaled', scaled)", scaled)
    for d_k in (1, 256, 1024):
        lab.evaluate("(d_k) => shown[0].model.set('d_k', d_k)", d_k)
        lab.wait_for_timeout(450)  # it glides
        handle, plot, line = (
            lab.locator(each).first.bounding_box() for each in (".qkv-grip", ".qkv-plot svg.qkv-drag", ".qkv-here")
        )
        assert handle
        assert plot
        assert line
        assert plot["y"] < handle["y"]
        assert handle["y"] + handle["height"] < plot["y"] + plot["height"]
        assert handle["x"] + handle["width"] == pytest.approx(line["x"], abs=2)
        assert handle["x"] >= plot["x"] - 1


def test_the_ring_itself_is_dragged(lab: Page):
    ring = lab.locator(".qkv-grip").bounding_box()
    assert ring
    x, y = ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2
    lab.mouse.move(x, y)
    lab.mouse.down()
    frame(lab)
    assert lab.evaluate("shown[0].model.get('d_k')") == 256, "a press changes nothing"
    lab.mouse.move(x - 40, y, steps=4)
    lab.mouse.up()
    frame(lab)
    assert lab.evaluate("shown[0].model.get('d_k')") == 1024


def test_with_the_division_the_dashed_edge_is_dragged_and_the_divided_scores_stay(lab: Page):
    lab.evaluate("shown[0].model.set('scaled', true), shown[0].model.set('d_k', 16)")
    lab.wait_for_timeout(450)  # it glides

    def look() -> tuple[float, float]:
        frame(lab)
        box = lab.locator(".qkv-grip").bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    x, y = look()
    shape = "path => path.getBBox().width"
    divided, dashed = (lab.locator(part).evaluate(shape) for part in (".qkv-scores", ".qkv-plain"))
    lab.mouse.move(x, y)
    lab.mouse.down()
    assert lab.evaluate("shown[0].model.get('d_k')") == 16, "a press changes nothing"
    assert look() == pytest.approx((x, y), abs=0.5)
    lab.mouse.move(x - 26, y, steps=5)
    assert look() == pytest.approx((x - 26, y), abs=8), "from one power of two to the next"
    assert lab.evaluate("shown[0].model.get('d_k')") == 128
    lab.mouse.up()
    lab.wait_for_timeout(450)
    assert lab.locator(".qkv-plain").evaluate(shape) > 2 * dashed
    assert lab.locator(".qkv-scores").evaluate(shape) == pytest.approx(divided, rel=0.25)


def test_one_caption_names_the_dashed_outline_where_it_is_not(lab: Page):
    lab.get_by_role("switch").check()
    for d_k in (1, 16, 32, 64, 128, 1024):
        lab.evaluate("(d_k) => shown[0].model.set('d_k', d_k)", d_k)
        lab.wait_for_timeout(450)
        texts = lab.locator(".qkv-widened .qkv-over-grid")
        expect(texts).to_have_text(["dashed:", "not divided"])
        crossed = texts.evaluate_all("""(texts) => texts.filter((text) => {
          const path = document.querySelector('.qkv-plain');
          const { left, right, top, bottom } = text.getBoundingClientRect();
          return Array.from({ length: 4000 }, (_, i) =>
            path.getPointAtLength(path.getTotalLength() * i / 4000).matrixTransform(path.getScreenCTM()))
            .some(({ x, y }) => left < x && x < right && top + 2 < y && y < bottom - 2);
        }).map((text) => text.textContent)""")
        assert crossed == [], d_k


def test_the_sentence_names_the_edge_that_is_dragged(lab: Page):
    """Almost all scores are within it."""
    lab.locator("summary").click()
    reach = lab.locator(".qkv-lead [data-number=reach]")
    for d_k in (1, 16, 32, 1024):
        lab.evaluate("(d_k) => shown[0].model.set('d_k', d_k)", d_k)
        lab.wait_for_timeout(450)  # it glides
        edge = lab.locator("svg:has(> .qkv-grip)").evaluate("e => parseFloat(e.style.getPropertyValue('--at'))")
        assert float(reach.inner_text()) == pytest.approx(2.6 * (50 - edge), rel=0.02), d_k
    lab.get_by_role("switch").check()
    expect(reach).to_have_text("3")


@pytest.mark.parametrize("d_k", [1, 2, 16, 1024])
def test_almost_all_scores_are_within_the_edge(d_k: int):
    body = """(d_k) => maths.scalingExperiment(0).map(({ d_k: each, plain }) => [each, [...plain.scores]])
      .find(([each]) => each === d_k)[1]"""
    scores = torch.tensor(node(body, d_k))
    assert 0.96 < (scores.abs() < 3 * d_k**0.5).double().mean() < 1


def test_no_grid_line_goes_through_the_note_about_the_dashed_outline(open_page: Callable[..., Page]):
    page = open_phone(open_page)
    draw(page, [("ScalingLab", {"scaled": True})])
    boxes = """all => all.map((e) => e.getBoundingClientRect()).map(
      ({ left, right, top, bottom }) => [left, right, top, bottom])"""
    notes = page.locator(".qkv-widened .qkv-over-grid").evaluate_all(boxes)
    lines = page.locator(".qkv-widened .qkv-grid").evaluate_all(boxes)
    edge = page.locator(".qkv-plot svg.qkv-drag").evaluate("e => e.getBoundingClientRect().right")
    assert len(lines) == 5
    for left, right, _, bottom in notes:
        assert right < edge - 2
        assert [top for x, _, top, _ in lines if left < x < right and top < bottom] == []


@pytest.mark.parametrize("d_k", [16, 256])
def test_the_sentence_has_the_numbers_of_both_panels(lab: Page, d_k: int):
    """Its largest weight is that of the tallest bar, not a mean over all queries."""
    lab.evaluate("(d_k) => shown[0].model.set('d_k', d_k)", d_k)
    lead = lab.locator(".qkv-lead")
    for scaled, scores in ((False, "almost all scores within"), (True, "almost all scores / √dk within")):
        lab.evaluate("(scaled) => shown[0].model.set('scaled', scaled)", scaled)
        lab.wait_for_timeout(450)  # the bars glide
        bars = lab.get_by_role("img", name="weights of one query").get_attribute("aria-label") or ""
        largest = re.search(r"the largest is ([\d.]+)", bars)
        assert largest, bars
        expect(lead).to_have_text(re.compile(rf"^{d_k} features: {scores}\s+±.*, largest weight [01]\.\d\d\."))
        shown = float(lead.locator("[data-number=largest]").inner_text())
        assert shown == pytest.approx(float(largest[1]), abs=0.006)


def test_a_line_leads_from_each_score_to_its_weight_in_the_order_of_the_scores(lab: Page):
    lab.locator("summary").click()
    frame(lab)
    scores = [
        float(cell.replace("−", "-"))
        for cell in lab.locator("table").nth(2).locator("td:nth-of-type(1)").all_inner_texts()
    ]
    dots = lab.locator(".qkv-links circle").evaluate_all("all => all.map((e) => parseFloat(e.getAttribute('cx')))")
    assert dots == pytest.approx([50 + 100 * score / 260 for score in sorted(scores)], abs=0.05)
    ends = lab.locator(".qkv-links path").evaluate_all("all => all.map((e) => e.getAttribute('d').split(' ').at(-2))")
    assert [float(end) for end in ends] == pytest.approx([100 * (i + 0.5) / 16 for i in range(16)])


@pytest.mark.parametrize("scaled", [False, True])
def test_the_means_that_are_not_drawn_are_in_the_numbers(lab: Page, scaled: bool):
    lab.locator("summary").click()
    lab.evaluate("(scaled) => { shown[0].model.set('scaled', scaled); shown[0].model.set('d_k', 4) }", scaled)
    frame(lab)
    now, every, _ = lab.locator("details table").all()
    cells = every.locator("tr", has=lab.get_by_role("rowheader", name="4", exact=True)).locator("td")
    pairs = [cell.split(" → ") for cell in cells.all_inner_texts()]
    means = [float(cell.split()[0]) for cell in now.locator("td").all_inner_texts()]
    assert means == pytest.approx([float(pair[scaled]) for pair in pairs[1:]], abs=0.006)
    assert now.locator("th[scope=row]").all_inner_texts() == ["largest weight", "entropy", "gradient norm"]


@pytest.mark.parametrize("d_k", [16, 256])
def test_divided_scores_shrink_on_the_same_axis_within_the_outline_that_they_had(lab: Page, d_k: int):
    lab.evaluate("(d_k) => shown[0].model.set('d_k', d_k)", d_k)
    lab.wait_for_timeout(500)  # it glides
    ticks = lab.locator(".qkv-widened .qkv-plot > svg text:not(.qkv-over-grid)")
    axis = ["−100", "−50", "0", "50", "100"]
    assert ticks.all_text_contents() == axis
    expect(lab.locator(".qkv-plain")).to_be_hidden()
    box = "path => (({ x, width, height }) => [x, width, height])(path.getBBox())"
    before = lab.locator(".qkv-scores").evaluate(box)
    lab.get_by_role("switch").check()
    lab.wait_for_timeout(500)
    assert ticks.all_text_contents() == axis
    divided, dashed = (lab.locator(part).evaluate(box) for part in (".qkv-scores", ".qkv-plain"))
    assert dashed == before, "the outline is where it was"
    assert divided[1:] == pytest.approx([before[1] * d_k**-0.5, before[2]], rel=0.03)  # by whole bins


# The rings, and the texts that one of them covers.
COVERED = """() => [...document.querySelectorAll('.qkv-plot:has(.qkv-grip)')].flatMap((plot) => {
  const ring = plot.querySelector('.qkv-grip').getBoundingClientRect();
  return [...plot.querySelectorAll('text')].filter((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return left < ring.right && right > ring.left && top < ring.bottom && bottom > ring.top;
  }).map((text) => text.textContent);
})"""


@pytest.mark.parametrize("scaled", [False, True])
def test_the_ring_covers_no_text_at_any_width_and_nothing_grows(open_page: Callable[..., Page], scaled: bool):
    page = open_phone(open_page)
    draw(page, [("ScalingLab", {"scaled": scaled})])
    heights = set()
    for d_k in [2**i for i in range(11)]:
        page.evaluate("(d_k) => shown[0].model.set('d_k', d_k)", d_k)
        frame(page)
        assert page.evaluate(COVERED) == [], d_k
        heights.add(page.locator(".qkv-widget").evaluate("e => e.offsetHeight"))
    assert len(heights) == 1
    assert max(heights) <= 530
