"""Forced colours (high contrast): what can be told apart by its look can be told apart there, in every widget."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .test_access import LOOKS, draw

pytestmark = pytest.mark.browser

# How each part of the widgets is painted, itself and by what the style puts before and after it, without the colours of
# text and lines: by forced colours they are one. Shades of ink and full colours are one, and so are paper and surface.
PAINTED = """() => {
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--qkv-${name})`;
    document.querySelector(".qkv-widget").append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  const same = [
    ["ink", ["ink", "muted", "control-line", "plus", "bad", "minus", "query", "key", "value", "weight", "output"]],
    ["paper", ["paper", "surface"]],
  ].flatMap(([one, names]) => names.map((name) => [colour(name), one]));
  const canonical = (value) => same.reduce((text, [seen, one]) => text.replaceAll(seen, one), value);
  const LOOK = ["backgroundColor", "backgroundImage", "borderStyle", "borderWidth", "outlineStyle", "outlineWidth",
    "textDecorationLine", "fontWeight", "opacity", "visibility", "fill", "strokeDasharray", "content"];
  const look = (element, part) => {
    const style = getComputedStyle(element, part);
    return part && style.content === "none" ? "" : LOOK.map((name) => canonical(style[name])).join(" | ");
  };
  return [...document.querySelectorAll(".qkv-widget > div *")]
    .filter((e) => e.checkVisibility() && !e.matches("svg, g, text, tspan, option"))
    .map((e) => {
      const name = `${e.closest("[data-widget]").dataset.widget} ${e.localName} ${e.type ?? ""}`;
      const data = JSON.stringify(e.dataset);
      const state = `${e.getAttribute("class") ?? ""}${data}${e.checked ? " (checked)" : ""}${e.ariaPressed ?? ""}`;
      const looks = [null, "::before", "::after"].map((part) => look(e, part));
      return [name, state, looks.join(" || ")];
    });
}"""


def painted(page: Page) -> list[tuple[str, str, str]]:
    draw(page, LOOKS)
    return [(name, state, look) for name, state, look in page.evaluate(PAINTED)]


def lost(plain: list[tuple[str, str, str]], forced: list[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """The states of a kind of part that look different at first, and alike in forced colours."""
    kinds: dict[tuple[str, str], dict[str, str]] = {}
    found: set[tuple[str, str, str]] = set()
    for (name, state, look), (other, _, forced_look) in zip(plain, forced, strict=True):
        assert name == other
        states = kinds.setdefault((name, forced_look), {})
        states.setdefault(look, state)
        if len(states) > 1:
            found.add((name, *list(states.values())[:2]))
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_of_every_widget_has_a_form_in_forced_colours(open_page: Callable[..., Page], scheme: str):
    options = {"color_scheme": scheme, "theme": scheme, "reduced_motion": "reduce"}
    plain = painted(open_page(**options))
    forced = painted(open_page(**options, forced_colors="active"))
    assert {name.split()[0] for name, *_ in forced} == {name for name, _ in LOOKS}, "a widget is left out"
    assert lost(plain, forced) == set()


def test_text_in_forced_colours_is_the_readers(open_page: Callable[..., Page]):
    page = open_page(forced_colors="active", color_scheme="dark")
    draw(page, LOOKS[:4])
    widget = page.locator(".qkv-widget").first
    ink, paper = widget.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    assert (ink, paper) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")
