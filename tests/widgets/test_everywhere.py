"""Everywhere's weights and masks against the reference in torch, and its drawings under a hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import Locator, Page, expect

from qkv.attention import attention
from qkv.modalities import frame_mask, graph_mask
from qkv.widgets import Everywhere
from qkv.widgets.base import _own_traits

from .conftest import frame
from .node import JS, node

OpenPage = Callable[..., Page]
MODULE = f'(await import("{(JS / "likeness.js").as_uri()}"))'
BONDS = [(0, 1), (1, 2), (0, 3), (0, 4), (0, 5), (1, 6), (1, 7), (2, 8)]


def mask_of(call: str) -> torch.Tensor:
    return torch.tensor(node(f"async () => {MODULE}.{call}"), dtype=torch.bool)


# ---- the mathematics


def test_weights_are_those_of_the_reference():
    x = torch.randn(9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    x[3] = 0.5  # a token without variance, such as silence
    mask = graph_mask(BONDS, 9)
    data = {"tokens": x.tolist(), "mask": mask.tolist()}
    rows = "x.mask.map((may, i) => m.likeness(m.normed(x.tokens), i, may))"
    found = node(f"async (x) => {{ const m = {MODULE}; return {rows}; }}", data)
    normed = F.layer_norm(x, (5,))
    _, weights = attention(normed, normed, x, mask)
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), weights, atol=1e-10, rtol=0)


def test_masks_are_those_of_the_reference():
    assert mask_of("everyone(4)").all()
    assert torch.equal(mask_of(f"bound({[list(bond) for bond in BONDS]}, 9)"), graph_mask(BONDS, 9))
    assert torch.equal(mask_of("inReach(34, 3)"), frame_mask(34, 0.03))


def test_touching_patches_share_an_edge_or_a_corner():
    seen = mask_of("touching(4)")
    at = torch.cartesian_prod(torch.arange(4), torch.arange(4))
    assert torch.equal(seen, (at[:, None] - at).abs().amax(-1) <= 1)
    assert seen.sum(-1).tolist() == [4, 6, 6, 4, 6, 9, 9, 6, 6, 9, 9, 6, 4, 6, 6, 4]


def test_a_note_that_comes_again_is_found_again():
    """Frames in the middle of the first, third and sixth note sound alike; the fourth is another."""
    heard = f"const m = {MODULE}; const x = m.normed(m.frames(m.melody()));"
    weights = torch.tensor(node(f"async () => {{ {heard} return m.likeness(x, 2, x.map(() => true)); }}"))
    assert weights.shape == (34,)
    middle = weights[[2, 14, 20, 32]]
    assert middle[[1, 3]].min() > 0.9 * middle[0]
    assert middle[2] < 0.05 * middle[0]


# ---- the drawing


def show(page: Page, **traits: Any) -> Locator:
    """The widget in the page, with its model as `window.it`."""
    widget = Everywhere(**traits)
    page.evaluate(
        """async ([source, state]) => {
          const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          window.it = show((await import(address)).default, state);
          document.querySelector("main").append(it.el);
        }""",
        [str(widget._esm), {name: getattr(widget, name) for name in _own_traits(Everywhere)}],
    )
    frame(page)
    return page.locator('.qkv-widget[data-state="ready"]')


def press(widget: Locator, across: float, down: float) -> int:
    """Press at a place of the drawing, as shares of its width and height; the token that asks then."""
    area = widget.locator(".qkv-things")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    widget.page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
    frame(widget.page)
    return int(widget.page.evaluate("it.model.get('token')"))


@pytest.mark.browser
@pytest.mark.parametrize(
    ("kind", "across", "down", "token"),
    [
        ("picture", 0.5, 0.2, 12),
        ("picture", 0.99, 0.99, 63),
        ("sound", 0.5, 0.8, 17),
        ("graph", 0.68, 0.5, 2),
    ],
)
def test_what_is_pressed_asks(open_page: OpenPage, kind: str, across: float, down: float, token: int):
    widget = show(open_page(width=390), kind=kind, token=0)
    assert press(widget, across, down) == token


@pytest.mark.browser
def test_a_stroke_carries_the_query_along(open_page: OpenPage):
    page = open_page()
    widget = show(page, kind="sound", token=0)
    press(widget, 0.1, 0.5)
    page.mouse.down()
    page.mouse.move(*centre(widget))
    page.mouse.up()
    frame(page)
    assert page.evaluate("it.model.get('token')") == 17
    expect(widget.get_by_role("status")).to_contain_text("Token 18 of 34, 170 to 195 ms")


def centre(widget: Locator) -> tuple[float, float]:
    box = widget.locator(".qkv-things").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2 + 1, box["y"] + box["height"] / 2


@pytest.mark.browser
def test_one_ear_of_the_cat_finds_the_other(open_page: OpenPage):
    widget = show(open_page())
    assert framed(widget) == [10, 12]
    widget.get_by_role("switch", name="touching patches only").press("Space")
    expect(widget.get_by_role("status")).to_contain_text(
        "the largest other weight, 0.17, on row 3, column 4."
    )  # the cat below its ear
    assert set(framed(widget, least=0.01)) <= {1, 2, 3, 9, 10, 11, 17, 18, 19}


@pytest.mark.browser
def test_the_headline_says_how_many_are_alike(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page)
    headline = widget.locator(".qkv-everywhere-found")
    weights = widget.locator("details td:last-child")
    cases = [("picture", 10, "an ear"), ("picture", 0, "sky"), ("picture", 6, "the sun"), ("sound", 2, "frame 3")]
    for kind, token, thing in [*cases, ("graph", 3, "H 1"), ("graph", 2, "O 1")]:
        page.evaluate("([kind, token]) => (it.model.set('kind', kind), it.model.set('token', token))", [kind, token])
        page.wait_for_timeout(300)  # the table of a closed fold follows after a pause
        row = [float(weight) for weight in weights.all_text_contents()]
        alike = sum(weight >= 0.9 * row[token] for weight in row) - 1
        says = f"{thing} finds {f'{alike} like it' if alike else 'no match'}: "
        expect(headline).to_have_text(re.compile(f"^{says}"))
    page.evaluate("it.model.set('kind', 'picture'), it.model.set('token', 10), it.model.set('near', true)")
    expect(headline).to_contain_text("an ear finds no match: 0.45 on 3 others.")


@pytest.mark.browser
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(("kind", "tokens"), [("picture", 64), ("sound", 34), ("graph", 9)])
def test_the_headline_says_where_all_of_the_weight_is_and_nothing_moves(
    open_page: OpenPage, kind: str, tokens: int, near: bool
):
    page = open_page(width=390)
    page.add_style_tag(content="main { width: 354px }")
    widget = show(page, kind=kind, token=0)
    headline = widget.locator(".qkv-everywhere-found")
    tokens_are = headline.locator("small").inner_text()
    height = headline.evaluate("e => e.offsetHeight")
    assert height < 50
    for token in range(tokens):
        page.evaluate("([token, near]) => (it.model.set('token', token), it.model.set('near', near))", [token, near])
        frame(page)
        assert headline.evaluate("e => e.offsetHeight") == height
        says = headline.inner_text().removesuffix(tokens_are).strip()
        if "no match" in says:
            assert re.search(r": (0\.\d\d on itself|0\.\d\d on (one other|\d+ others))\.$", says), says
            continue
        found = re.search(r"finds (\d+) like it: (0\.\d\d)(?: each|–(0\.\d\d))(?:, rest (0\.\d\d))?\.$", says)
        assert found, says
        low, high, rest = (float(found[i] or found[2] if i == 3 else found[i] or 0) for i in (2, 3, 4))
        count = int(found[1]) + 1
        assert count * (low - 0.005) + rest - 0.006 <= 1 <= count * (high + 0.005) + rest + 0.006, says


@pytest.mark.browser
def test_the_sun_finds_no_match_and_its_weight_goes_to_many(open_page: OpenPage):
    """Its weight is spread over the cat and more: the frames of many patches are seen."""
    widget = show(open_page(width=390), token=6)
    assert len(framed(widget, least=0.4)) > 10
    weights = [float(cell) for cell in widget.locator("details td:last-child").all_text_contents()]
    lit = [weight for i, weight in enumerate(weights) if i != 6 and weight >= max(weights) / 2]
    says = f"the sun finds no match: {sum(lit):.2f} on {len(lit)} others."
    expect(widget.locator(".qkv-everywhere-found")).to_contain_text(says)


@pytest.mark.browser
def test_both_texts_speak_of_the_two_patches_that_are_lit(open_page: OpenPage):
    widget = show(open_page(width=390), token=46)
    widget.page.evaluate("it.model.set('token', 47)")  # the mouse's last patch, with its eye
    assert len(framed(widget, least=0.2)) == 3, "itself and two others"
    expect(widget.locator(".qkv-everywhere-found")).to_contain_text("the mouse finds no match: 0.31 on 2 others.")
    expect(widget.get_by_role("status")).to_contain_text(
        "weight 0.23 on itself; the largest other weight, 0.16, on 2 equal ones."
    )


@pytest.mark.browser
def test_no_number_stands_on_a_bond_or_an_atom(open_page: OpenPage):
    widget = show(open_page(width=390), kind="graph", token=3)
    crossed = """() => {
      const box = (e) => e.getBoundingClientRect();
      const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      const lines = [...document.querySelectorAll(".qkv-thing-bond")];
      const numbers = [...document.querySelectorAll(".qkv-share-of")];
      const inside = (low, value, high) => Math.max(low, Math.min(value, high));
      const covers = (atom, { left, right, top, bottom }) => {
        const [x, y, size] = [(atom.left + atom.right) / 2, (atom.top + atom.bottom) / 2, atom.width / 2];
        return Math.hypot(inside(left, x, right) - x, inside(top, y, bottom) - y) < size - 1;
      };
      const atoms = [...document.querySelectorAll(".qkv-thing-atom")];
      return numbers.filter((number) => lines.some((line) => meets(box(line), box(number)))
        || atoms.some((atom) => covers(box(atom), box(number)))).length;
    }"""
    assert widget.page.evaluate(crossed) == 0


def framed(widget: Locator, least: float = 0.9) -> list[int]:
    """The patches whose violet frame is at least so strong."""
    frame(widget.page)
    opacities: list[float] = widget.locator(".qkv-seen-edge").evaluate_all(
        "all => all.map((edge) => Number(edge.style.opacity))"
    )
    return [i for i, opacity in enumerate(opacities) if opacity >= least]


@pytest.mark.browser
def test_the_other_kinds_start_where_there_is_something_to_see(open_page: OpenPage):
    widget = show(open_page())
    widget.get_by_role("radio", name="graph").press("Space")
    expect(widget.get_by_role("slider", name="query")).to_have_attribute("aria-valuetext", "H 1")
    widget.get_by_role("slider", name="query").press("ArrowRight")
    expect(widget.get_by_role("status")).to_contain_text("Token 5 of 9, H 2")


@pytest.mark.browser
def test_another_kind_begins_without_the_mask_of_near_tokens(open_page: OpenPage):
    widget = show(open_page())
    near = widget.get_by_role("switch")
    near.check()
    for kind, finds in (("sound", "13"), ("graph", "5"), ("picture", "1")):
        widget.get_by_role("radio", name=kind).check()
        expect(near).not_to_be_checked()
        expect(widget.locator(".qkv-everywhere-found b")).to_have_text(finds)
        near.check()


@pytest.mark.browser
def test_drawing_and_controls_are_on_one_screen_of_a_phone(open_page: OpenPage):
    widget = show(open_page(width=390))
    heights = set()
    for kind, tokens in (("picture", 64), ("sound", 34), ("graph", 9)):
        widget.get_by_role("radio", name=kind).check()
        for token in range(0, tokens, 3):
            widget.page.evaluate("(token) => it.model.set('token', token)", token)
            frame(widget.page)
            heights.add(widget.evaluate("e => e.offsetHeight"))
    assert max(heights) < 760
    assert len(heights) == 1, "the page below moves when another kind is chosen"


@pytest.mark.browser
@pytest.mark.parametrize("token", [7, 56, 63])
def test_the_ring_stays_in_the_picture(open_page: OpenPage, token: int):
    widget = show(open_page(width=390), token=token)
    picture, ring = (widget.locator(part).bounding_box() for part in (".qkv-things svg", ".qkv-thing-grip"))
    assert picture
    assert ring
    assert ring["x"] + ring["width"] <= picture["x"] + picture["width"] + 1
    assert ring["y"] + ring["height"] <= picture["y"] + picture["height"] + 1


@pytest.mark.browser
def test_the_bar_of_a_frame_is_below_the_middle_of_the_frame_and_has_a_scale(open_page: OpenPage):
    widget = show(open_page(reduced_motion="reduce"), kind="sound", token=9)
    parts = [".qkv-asking-filled", ".qkv-asking-bar", ".qkv-thing-bar:nth-of-type(10)"]
    middles = """(parts) => parts.map((part) => {
      const { left, right } = document.querySelector(`.qkv-things ${part}`).getBoundingClientRect();
      return (left + right) / 2;
    })"""
    frame_, edge, bar = widget.page.evaluate(middles, parts)
    assert edge == pytest.approx(frame_, abs=1)
    assert bar == pytest.approx(frame_, abs=1)
    weights = [float(cell) for cell in widget.locator("details td:last-child").all_text_contents()]
    assert f"bars: weights, to {max(weights):.2f}" in (widget.locator(".qkv-things").text_content() or "")


@pytest.mark.browser
def test_patches_that_touch_have_no_numbers_over_their_frames(open_page: OpenPage):
    widget = show(open_page(width=390), kind="picture", token=10)
    expect(widget.locator(".qkv-share-of")).to_have_count(2)
    widget.page.evaluate("it.model.set('token', 56)")
    widget.get_by_role("switch", name="touching patches only").press("Space")
    frame(widget.page)
    assert len(framed(widget)) > 1
    expect(widget.locator(".qkv-share-of")).to_have_count(0)
    expect(widget.locator(".qkv-lead")).to_contain_text(re.compile(r"like it: 0\.\d\d"))
