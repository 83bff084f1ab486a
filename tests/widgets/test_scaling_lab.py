"""ScalingLab in Chromium: its curve is dragged, and each of its three numbers has a curve."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from .conftest import drag, frame
from .test_access import draw

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(open_page: Callable[..., Page]) -> Page:
    page = open_page(width=390)
    draw(page, [("ScalingLab", {})])
    return page


def test_the_point_is_dragged_along_its_curve(lab: Page):
    curve = lab.locator(".qkv-plot svg.qkv-drag")
    for x, d_k in [(0.0, 1), (0.52, 32), (1.0, 1024)]:
        drag(lab, curve, x)
        assert lab.evaluate("shown[0].model.get('d_k')") == d_k
    expect(lab.get_by_role("slider", name="features")).to_have_attribute("aria-valuetext", "1,024")


def test_each_number_has_its_curve(lab: Page):
    curve = lab.locator("svg.qkv-drag")
    for name in ("entropy", "gradient norm", "largest weight"):
        lab.get_by_role("radio", name=name).check()
        frame(lab)
        value = lab.locator(f"[data-number={name.replace(' ', '-')}]").inner_text()
        expect(curve).to_have_attribute(
            "aria-label", f"Mean {name} against d_k, scores divided and as is: {value} here."
        )
