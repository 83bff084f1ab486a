"""What a reader made of a widget, in the address: it can be copied, reloaded and sent, and a bad link says so."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import SITE
from .test_site import CHAPTERS, PHONE

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
CHAPTER = "chapters/03_scaling.html"
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def lab(page: Page) -> tuple[str, Locator]:
    """The name by which links call the chapter's ScalingLab, and its place."""
    slot = page.locator('.qkv-slot[data-for="ScalingLab"]').first
    page.locator(".qkv-prediction-answer").evaluate_all("all => all.forEach((e) => e.classList.add('qkv-open'))")
    slot.scroll_into_view_if_needed()
    slot.locator('[data-state="ready"]').wait_for(state="attached")
    return f"ScalingLab-{slot.get_attribute('id').removeprefix('widget-')}", slot


def test_a_discovery_can_be_sent_and_opened(visit: Visit):
    page = visit(CHAPTER, permissions=CLIPBOARD)
    name, slot = lab(page)
    slot.locator("input[type=range]").first.focus()
    page.keyboard.press("Home")
    share = slot.locator(".qkv-share")
    share.scroll_into_view_if_needed()  # now: a press on its button would scroll the page
    below = slot.locator("xpath=following::p[1]").bounding_box()
    share.get_by_role("button", name="Copy a link").click()
    expect(share.get_by_role("status")).to_have_text("Link copied")
    assert slot.locator("xpath=following::p[1]").bounding_box() == below, "what is said moves nothing"
    link = page.evaluate("navigator.clipboard.readText()")
    assert f"{name}.d_k=1" in link
    assert link.endswith(f"#{slot.get_attribute('id')}")
    other = page.context.new_page()
    other.goto(link)
    _, opened = lab(other)
    expect(opened.locator("input[type=range]").first).to_have_value(
        slot.locator("input[type=range]").first.input_value()
    )
    expect(opened.locator('[data-number="largest"]')).to_have_text(slot.locator('[data-number="largest"]').inner_text())
    expect(opened).to_be_in_viewport()


def test_a_link_that_no_script_may_copy_is_selected_in_a_field_that_covers_nothing(visit: Visit):
    page = visit(CHAPTER, viewport=PHONE)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); }")
    name, slot = lab(page)
    slot.locator("input[type=range]").first.press("Home")
    widget = slot.locator(".qkv-widget")
    button = slot.get_by_role("button", name="Copy a link")
    button.click()
    field = slot.get_by_role("textbox", name="Copy this link:")
    expect(field).to_be_focused()
    link = page.evaluate("document.activeElement.value")
    assert f"{name}.d_k=1" in link
    assert page.evaluate("getSelection().toString()") == link
    shown = slot.locator(".qkv-share [role=status]").bounding_box()
    frame, last = widget.bounding_box(), widget.locator("summary").last.bounding_box()
    round_button = button.bounding_box()
    assert round_button
    assert frame
    assert last
    assert shown
    assert shown["height"] <= round_button["height"], "one line, no taller than the button beside it"
    assert shown["x"] >= frame["x"]
    assert shown["y"] >= last["y"] + last["height"] - 1, "it is on the frame, below all that the widget shows"
    page.keyboard.press("Tab")
    expect(slot.locator(".qkv-share [role=status]")).to_be_empty()


@pytest.mark.parametrize("where", ["served", "file"])
def test_the_address_follows_and_a_reload_keeps_it(visit: Visit, site: str, where: str):
    page = visit(CHAPTER, base=site if where == "served" else SITE.as_uri())
    name, slot = lab(page)
    box = slot.locator("input[type=checkbox]").first
    before = box.is_checked()
    box.set_checked(not before)
    page.wait_for_url(f"**{name}.scaled=*")
    page.reload()
    lab(page)
    expect(box).to_be_checked(checked=not before)
    box.set_checked(before)
    page.wait_for_url(lambda url: name not in url)


def test_a_bad_link_is_told_and_harms_nothing(visit: Visit):
    page = visit(CHAPTER)
    name, slot = lab(page)
    widget = slot.locator(".qkv-widget")
    shown = widget.inner_text()
    page.goto(f"{page.url}?{name}.d_k=7&{name}.scaled=maybe&{name}._name=Predict&ScalingLab-77.d_k=4")
    _, slot = lab(page)
    for said in ("d_k = 7,", "scaled = maybe,", "_name = Predict,"):
        expect(slot.locator(".qkv-share").get_by_role("status")).to_contain_text(said)
    expect(page.locator(".qkv-share [role=status]").first).to_contain_text("ScalingLab-77")
    assert widget.inner_text() == shown


def test_values_that_clash_leave_the_widget_alive(visit: Visit):
    page = visit(CHAPTER)
    question = page.locator('.qkv-slot[data-for="Predict"]').first
    page.goto(f"{page.url}?Predict-{question.get_attribute('id').removeprefix('widget-')}.guess=Z")
    question.scroll_into_view_if_needed()
    expect(question.locator('[data-state="ready"]')).to_have_count(1)


@pytest.mark.parametrize("path", CHAPTERS)
def test_every_widget_has_its_own_place_and_its_link(path: str):
    text = (SITE / path).read_text(encoding="utf-8")
    slots = re.findall(r'<div class="qkv-slot" id="widget-(\d+)" data-for="(\w+)"', text)
    assert [number for number, _ in slots] == [str(number) for number in range(1, len(slots) + 1)]
    explorers = [name for _, name in slots if not name.startswith("Predict")]
    assert text.count('<p class="qkv-share"><button type="button"') == len(explorers)
    assert text.count('<p class="qkv-share">') == len(slots) > 0
