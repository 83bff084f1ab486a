"""The site's host: widgets on a page without a kernel, whatever else is wrong with that page."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from qkv_site.widgets import drawn

import qkv.widgets
from qkv.widgets.base import Trait

from .conftest import TOY, frame
from .node import node

OpenPage = Callable[..., Page]
LAB = {"_name": "ScalingLab", "d_k": 256, "scaled": False, "seed": 76}
READY, FAILED = ("data-state", "ready"), ("data-state", "error")


def view(model: str, name: str = "Toy") -> str:
    """A place for a widget, as the site's pages have it."""
    script = json.dumps({"version_major": 2, "model_id": model})
    return (
        f'<div class="qkv-slot" data-for="{name}">'
        f'<script type="application/vnd.jupyter.widget-view+json">{script}</script></div>'
    )


def states(**models: object) -> str:
    saved = {"state": {key: {"model_name": "AnyModel", "state": state} for key, state in models.items()}}
    return f'<script type="application/vnd.jupyter.widget-state+json">{json.dumps(saved)}</script>'


def start(page: Page) -> None:
    page.evaluate("() => host([toy, scalingLab, sequenceExplorer])")
    frame(page)


@pytest.mark.browser
def test_a_widget_comes_alive_in_its_place(open_page: OpenPage):
    page = open_page(f"<p>before</p>{view('a')}<p>after</p>{states(a={'_name': 'Toy', **TOY})}")
    start(page)
    widget = page.locator(".qkv-slot > .qkv-widget")
    expect(widget).to_have_attribute(*READY)
    page.get_by_role("button", name="one more").click()
    frame(page)
    expect(page.locator("#seen")).to_have_text("4 closed causal 1")


@pytest.mark.browser
def test_views_of_one_model_move_together(open_page: OpenPage):
    page = open_page(view("a") + view("a") + states(a={"_name": "Toy", **TOY}))
    start(page)
    page.get_by_role("button", name="one more").first.click()
    frame(page)
    assert page.locator("#seen").all_inner_texts() == ["4 closed causal 1"] * 2


@pytest.mark.browser
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (view("gone"), "the page holds no state for it"),
        (view("unknown"), "there is no widget named Unknown"),
        (view("nameless"), "there is no widget named undefined"),
        ('<script type="application/vnd.jupyter.widget-view+json">{</script>', "JSON"),
        (view("toyless"), "Toy has no heads"),
    ],
)
def test_a_bad_widget_says_so_and_the_others_live(open_page: OpenPage, bad: str, message: str):
    models = {"unknown": {"_name": "Unknown"}, "nameless": {}, "toyless": {"_name": "Toy"}}
    page = open_page(bad + view("a") + states(a={"_name": "Toy", **TOY}, **models))
    start(page)
    widgets = page.locator(".qkv-widget")
    expect(widgets).to_have_count(2)
    expect(widgets.first).to_have_attribute(*FAILED)
    expect(widgets.first.get_by_role("alert")).to_contain_text(message)
    expect(widgets.last).to_have_attribute(*READY)


@pytest.mark.browser
def test_a_broken_state_is_told_in_every_place(open_page: OpenPage):
    page = open_page(
        view("a") + view("b") + '<script type="application/vnd.jupyter.widget-state+json">{"state":</script>'
    )
    start(page)
    expect(page.get_by_role("alert")).to_have_count(2)


@pytest.mark.browser
def test_a_page_without_widgets_is_left_alone(open_page: OpenPage):
    page = open_page("<p>text</p>")
    before = page.content()
    start(page)
    assert page.content() == before


@pytest.mark.browser
def test_far_widgets_wait_until_the_reader_comes_near(open_page: OpenPage):
    page = open_page(f'{view("a")}<div style="height: 5000px"></div>{view("b")}'
                     f"{states(a={'_name': 'Toy', **TOY}, b={'_name': 'Toy', **TOY})}")  # fmt: skip
    start(page)
    near, far = page.locator(".qkv-widget").all()
    expect(near).to_have_attribute(*READY)
    expect(far).to_have_attribute("data-state", "waiting")
    far.scroll_into_view_if_needed()
    expect(far).to_have_attribute(*READY)


@pytest.mark.browser
def test_a_printed_page_has_all_of_them(open_page: OpenPage):
    page = open_page(f'<div style="height: 5000px"></div>{view("a")}{states(a={"_name": "Toy", **TOY})}')
    start(page)
    expect(page.locator(".qkv-widget")).to_have_attribute("data-state", "waiting")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".qkv-widget")).to_have_attribute(*READY)


def place(traits: dict[str, Any], drawing: str | None = None) -> str:
    """A place with a widget, drawn as the build draws it, or as somebody changed it since."""
    drawing = drawn(traits, "widget-1") if drawing is None else drawing
    inside = view("a", str(traits["_name"])).replace("</div>", f"{drawing}</div>")
    return f"{inside.replace('<div ', '<div id=widget-1 ', 1)}<p id=below>below</p>{states(a=traits)}"


def default(name: str) -> dict[str, Any]:
    """The state of a widget that nobody has touched."""
    traits = getattr(qkv.widgets, name).class_traits()
    return {"_name": name, **{key: trait.default_value for key, trait in traits.items() if isinstance(trait, Trait)}}


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 720, 1000])
def test_nothing_moves_when_scaling_lab_comes_alive(open_page: OpenPage, width: int):
    page = open_page(place(LAB), width=width)
    below = lambda: page.locator("#below").bounding_box()  # noqa: E731
    before = below()
    body = page.locator(".qkv-widget > div").element_handle()
    start(page)
    expect(page.locator(".qkv-widget")).to_have_attribute(*READY)
    frame(page)
    assert below() == before
    assert page.locator(".qkv-widget > div").evaluate("(now, before) => now === before", body)
    page.get_by_role("switch").check()
    frame(page)
    assert 0.1 < float(page.locator("[data-number=largest]").inner_text()) < 0.4


@pytest.mark.browser
def test_a_drawing_that_does_not_fit_is_drawn_anew_and_the_console_says_so(open_page: OpenPage):
    page = open_page(place(LAB, drawn(default("TemperatureLab"), "widget-1")))
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    start(page)
    expect(page.locator(".qkv-widget")).to_have_attribute(*READY)
    assert page.locator("[data-number=largest]").count() == 1
    assert page.locator(".qkv-temperature").count() == 0
    assert said[0].startswith("ScalingLab is drawn anew")


@pytest.mark.browser
def test_an_empty_text_can_be_filled_after_the_script_took_over(open_page: OpenPage):
    page = open_page(place(default("SequenceExplorer")))
    start(page)
    page.get_by_role("radio", name="graph").check()
    frame(page)
    expect(page.locator(".qkv-columns")).to_contain_text("O")


def test_a_model_tells_of_a_change_and_only_of_a_change():
    body = """() => {
      const model = new Model({ n: 1, list: [1, 2] });
      const told = [];
      const listener = () => told.push(`any ${model.get("n")}`);
      model.on("change", listener);
      model.on("change:n", () => told.push(`n ${model.get("n")}`));
      model.set("n", 2);
      model.set("n", 2);
      model.set("list", [1, 2]);
      model.set("list", [1, 3]);
      model.off("change", listener);
      model.set("n", 3);
      model.save_changes();
      model.send({});
      return told;
    }"""
    assert node(body) == ["n 2", "any 2", "any 2", "n 3"]


def test_a_model_leaves_the_saved_state_alone():
    assert node("() => { const state = { n: 1 }; new Model(state).set('n', 2); return state; }") == {"n": 1}
