"""axe-core on every page, with its widgets alive and open: no violation of WCAG 2.2 AA or of good practice."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .conftest import SITE, pages

pytestmark = pytest.mark.browser

AXE = SITE.parents[1] / "node_modules" / "axe-core" / "axe.min.js"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
LOOKS = [
    pytest.param(DESK, "light", id="desk-light"),
    pytest.param(PHONE, "dark", id="phone-dark"),
    pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.slow),
    pytest.param(DESK, "dark", id="desk-dark", marks=pytest.mark.slow),
]
# Formulas are left out: KaTeX draws each twice, and tests/book holds that their colours can be read.
RUN = """async () => (await axe.run({ exclude: [".katex"] }, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
})).violations.map(({ id, help, nodes }) => [id, help, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))])"""


@pytest.mark.parametrize(("screen", "scheme"), LOOKS)
@pytest.mark.parametrize("path", pages())
def test_axe_finds_nothing(visit: Callable[..., Page], path: str, screen: dict[str, int], scheme: str):
    page = visit(path, viewport=screen, color_scheme=scheme)
    for slot in page.locator(".qkv-slot").all():
        slot.scroll_into_view_if_needed()
        slot.locator('[data-state="ready"]').wait_for(timeout=5000)
    page.evaluate("() => document.querySelectorAll('.qkv-widget details').forEach((e) => { e.open = true; })")
    page.add_script_tag(path=AXE)
    violations = page.evaluate(RUN)
    assert not violations, json.dumps(violations, indent=1, ensure_ascii=False)
