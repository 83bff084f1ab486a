"""The grader's pages in a real Chromium: legible in light and dark, no rule of axe broken, no request, no script."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from qkv.grading.report import class_page, feedback_page
from qkv.grading.results import Result
from tests.grading.made import question, result, ungraded

ROOT = Path(__file__).resolve().parents[2]
NASTY = '<img src="http://x.invalid/a.png" onerror="document.title=1"><script>document.title=1</script>'
ALL = [
    question("3.1", 0, 3, misconception="no-scale", message=f"Your `scores` {NASTY}"),
    question("3.2", 2, 2),
    question("3.3", 0, 4, status="error", message="x" * 1500),
    question("3.4", 0, 3, status="not attempted", message=""),
]
CLASS = [result("ada", questions=ALL), result(NASTY, questions=ALL), ungraded("bob", NASTY)]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_legible_and_quiet(browser: Browser, scheme: str, tmp_path: Path):
    submissions = [Result.from_dict(one) for one in CLASS]
    pages = [*map(feedback_page, submissions), class_page(submissions, Path("nowhere"))]
    context = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 800}, bypass_csp=True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    for number, text in enumerate(pages):
        (tmp_path / f"{number}.html").write_text(text, encoding="utf-8")
        page = context.new_page()
        page.goto((tmp_path / f"{number}.html").as_uri())
        title = page.title()
        page.add_script_tag(path=ROOT / "node_modules" / "axe-core" / "axe.min.js")
        found = page.evaluate("axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))")
        assert found == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.title() == title != "1"
    assert all(url.startswith("file://") for url in asked)
    context.close()
