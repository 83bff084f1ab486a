"""What a page may load and run, as a browser holds the page to it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from .conftest import SITE, gate_has, pages

pytestmark = pytest.mark.browser
# What somebody's text could do, had it become a part of the page: run as a script, and ask another host.
ATTEMPTS = """async () => {
  const refused = [];
  addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "window.entered = true";
  document.body.append(script);
  document.body.insertAdjacentHTML("beforeend", "<p onclick='window.entered = true'></p>");
  document.body.lastChild.click();
  new Image().src = "https://example.org/";
  await fetch("https://example.org/").catch(() => {});
  await new Promise((done) => { setTimeout(done, 100); });
  return { refused: refused.sort(), entered: "entered" in window };
}"""


@pytest.mark.parametrize("copy", [False, True], ids=["served", "a copy"])
@pytest.mark.parametrize("path", gate_has(pages(), "exercises/03_"))
def test_no_text_becomes_a_script_and_no_other_host_is_asked(browser: Browser, site: str, path: str, copy: bool):
    page = browser.new_page()
    page.goto(f"{SITE.as_uri() if copy else site}/{path}", wait_until="load")
    seen = page.evaluate(ATTEMPTS)
    page.close()
    assert seen["refused"] == ["connect-src", "img-src", "script-src-attr", "script-src-elem"]
    assert not seen["entered"]
