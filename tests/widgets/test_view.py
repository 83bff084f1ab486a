"""The widgets' base in a browser: state in, drawing out, and back; errors in place; controls for every hand."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from .conftest import TOY, frame
from .node import ROOT

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


@pytest.fixture
def toy(open_page: OpenPage) -> Page:
    page = open_page()
    page.evaluate("(state) => { window.it = show(toy, state); }", TOY)
    return page


def seen(page: Page) -> str:
    frame(page)
    return page.locator("#seen").inner_text()


def test_root_says_what_it_is(toy: Page):
    root = toy.locator(".qkv-widget")
    expect(root).to_have_attribute("data-widget", "Toy")
    expect(root).to_have_attribute("data-state", "ready")
    expect(root).to_have_attribute("data-set-up", "yes")
    assert seen(toy) == "3 closed causal 1"


def test_a_control_moves_the_model(toy: Page):
    toy.get_by_label("heads", exact=True).press("ArrowRight")
    assert seen(toy) == "4 closed causal 1"
    assert toy.evaluate("() => it.model.get('heads')") == 4
    assert toy.evaluate("() => counts.saved") == 1


def test_the_model_moves_the_drawing_once_a_frame(toy: Page):
    before = toy.evaluate("() => counts.views")
    toy.evaluate("() => { for (const n of [4, 5, 6, 7]) it.model.set('heads', n); }")
    assert seen(toy) == "7 closed causal 1"
    assert toy.evaluate("() => counts.views") == before + 1
    expect(toy.get_by_label("heads", exact=True)).to_have_value("7")
    expect(toy.get_by_label("power")).to_have_attribute("aria-valuetext", "128")


def test_a_control_stands_where_the_state_says(toy: Page):
    moved = """() => {
      for (const input of document.querySelectorAll('input')) {
        if (input.matches('[type=checkbox], [type=radio]')) input.checked = true;
        else input.value = '5';
      }
      it.model.set('temperature', 2);
    }"""
    toy.evaluate(moved)
    frame(toy)
    expect(toy.get_by_role("slider", name="heads")).to_have_value("3")
    expect(toy.get_by_role("slider", name="power")).to_have_value("3")
    expect(toy.get_by_role("spinbutton")).to_have_value("3")
    expect(toy.get_by_role("switch")).not_to_be_checked()
    expect(toy.get_by_role("radio", name="causal")).to_be_checked()


def test_jupyterlab_leaves_the_keys_to_a_focused_control(toy: Page):
    for control in toy.locator("input, button, summary").all():
        control.focus()
        expect(control).to_have_attribute("data-lm-suppress-shortcuts", "true")


def test_own_state_stays_in_the_view(toy: Page):
    toy.evaluate("() => { window.other = show(toy, {heads: 1, kind: 'window', temperature: 2}); }")
    toy.get_by_role("switch", name="open").first.check()
    toy.evaluate("() => other.model.set('heads', 2)")
    frame(toy)
    assert toy.locator("#seen").all_inner_texts() == ["3 open causal 1", "2 closed window 2"]
    assert toy.evaluate("() => [it.model.get('open'), other.model.get('open')]") == [None, None]


def test_an_error_is_shown_in_place_and_mended_by_the_next_state(toy: Page):
    toy.evaluate("() => it.model.set('heads', -1)")
    expect(toy.get_by_role("alert")).to_have_text("Toy stopped: heads ran out")
    expect(toy.locator(".qkv-widget")).to_have_attribute("data-state", "error")
    toy.evaluate("() => it.model.set('heads', 2)")
    assert seen(toy) == "2 closed causal 1"
    expect(toy.locator(".qkv-widget")).to_have_attribute("data-state", "ready")
    expect(toy.get_by_role("alert")).to_have_count(0)


def test_a_trait_that_is_not_there_is_named(open_page: OpenPage):
    page = open_page()
    page.evaluate("() => show(toy, {heads: 1, temperature: 1})")
    expect(page.get_by_role("alert")).to_have_text("Toy stopped: Toy has no kind")


@pytest.mark.parametrize("before_closing", ["", "it.model.set('heads', 5);"])
def test_closing_leaves_nothing_behind(toy: Page, before_closing: str):
    frame(toy)
    toy.evaluate(f"() => {{ {before_closing} it.close(); }}")
    views = toy.evaluate("() => counts.views")
    toy.evaluate("() => it.model.set('heads', 6)")
    frame(toy)
    assert toy.evaluate("() => [counts.views, counts.tidied, it.el.childElementCount]") == [views, 1, 0]
    toy.evaluate("() => toy.render(it)")
    assert seen(toy) == "6 closed causal 1", "the element can be drawn in again"


def test_a_screen_reader_hears_where_a_move_ended(open_page: OpenPage):
    page = open_page(own=True)
    page.clock.install(time=0)
    page.evaluate("(state) => { window.it = show(toy, state); }", TOY)
    page.clock.pause_at(60_000)  # from here on, time passes only where it is told to
    status = page.get_by_role("status")
    expect(status).to_have_text("")
    for heads in (4, 5):
        page.evaluate("(heads) => it.model.set('heads', heads)", heads)
        page.clock.run_for(300)
    expect(status).to_have_text("")
    page.clock.run_for(1000)
    expect(status).to_have_text("5 heads.")


def test_every_control_has_a_name_and_works_by_keyboard(toy: Page):
    toy.get_by_role("slider", name="power").press("ArrowLeft")
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight"):
        toy.get_by_role("slider", name="temperature").press(key)
    toy.get_by_role("radio", name="window").press("Space")
    assert seen(toy) == "2 closed window 1.1"
    toy.get_by_role("radio", name="window").press("ArrowLeft")
    toy.get_by_role("button", name="one more").press("Enter")
    toy.get_by_role("switch", name="open").press("Space")
    assert seen(toy) == "3 open causal 1.1"
    number = toy.get_by_role("spinbutton", name="exact heads")
    number.fill("8")
    number.press("Enter")
    assert seen(toy).startswith("8 ")
    for refused in ("11", "-1", ""):
        number.fill(refused)
        number.press("Tab")
        assert seen(toy).startswith("8 ")
        expect(number).to_have_value("8")


def test_every_control_is_large_enough_for_a_finger(toy: Page):
    sizes = toy.evaluate("""() => [...document.querySelectorAll('input, button, summary')].map((e) => {
      const box = (e.closest('.qkv-toggle, .qkv-choices label') ?? e).getBoundingClientRect();
      return [e.type ?? e.tagName, box.width, box.height];
    })""")
    assert len(sizes) == 9
    assert all(width >= 24 and height >= 24 for _, width, height in sizes), sizes


@pytest.mark.parametrize("width", [320, 390, 720, 1000])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scaling_lab_fits_and_can_be_read_by_everyone(open_page: OpenPage, theme: str, width: int):
    page = open_page("<h1>A page</h1>", theme=theme, width=width)
    if theme == "dark":
        page.add_style_tag(content="body { background: #14171c; color: #e8eaee; }")
    page.evaluate("""() => {
      document.querySelector('main').append(show(scalingLab, {d_k: 256, scaled: false, seed: 76}).el);
    }""")
    page.locator("summary").click()
    frame(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(path=ROOT / "node_modules" / "axe-core" / "axe.min.js")
    violations = page.evaluate("async () => (await axe.run()).violations")
    assert not violations, json.dumps(violations, indent=1)[:3000]


def test_scaling_lab_shows_its_numbers_as_text(open_page: OpenPage):
    page = open_page()
    page.evaluate("() => { window.it = show(scalingLab, {d_k: 256, scaled: false, seed: 76}); }")
    number = lambda name: page.locator(f"[data-number={name}]").inner_text()  # noqa: E731
    assert 45 < float(number("reach")) < 51, "three standard deviations of 16"
    assert float(number("largest")) > 0.9
    page.get_by_role("switch").check()
    frame(page)
    assert 2.7 < float(number("reach")) < 3.3
    largest = float(number("largest"))
    assert 0.1 < largest < 0.4
    assert page.evaluate("() => it.model.get('scaled')") is True
    page.locator("summary").click()
    frame(page)
    weights = page.locator("td:last-child").all_text_contents()[-16:]
    assert sum(float(weight) for weight in weights) == pytest.approx(1, abs=0.01)
    assert max(float(weight) for weight in weights) == pytest.approx(largest, abs=0.006)
    before = weights
    page.get_by_role("button", name="new sample").click()
    frame(page)
    assert page.locator("td:last-child").all_text_contents()[-16:] != before
    assert page.evaluate("() => it.model.get('seed')") == 77
