"""TwoHeads: its layers against torch, what it says of them, and what a press and a drag change."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor
from traitlets import TraitError

from qkv.attention import MultiHeadAttention
from qkv.models import two_heads
from qkv.widgets import TwoHeads

from .conftest import as_on_a_phone, drag, frame
from .node import JS, node
from .test_access import draw

WIDGET = (JS / "two_heads.js").as_uri()
NAMES = {1: "one head", 2: "two heads"}
OPENING = [2, 4, 8, 3, 7]
OTHERS = [[1, 9, 1, 9, 1], [9, 9, 9, 9, 9], [5, 5, 5, 5, 5], [7, 2, 6, 1, 8]]


def widget(expression: str, data: Any = None) -> Any:
    """A JavaScript expression of `data` over what the widget's module exports, `w`."""
    return node(f'async (data) => {{ const w = await import("{WIDGET}"); return {expression}; }}', data)


def in_torch(heads: int, prices: list[int]) -> tuple[Tensor, Tensor]:
    """The answers (6,) and weights (heads, 6, 6) of the stored layer, as the chapter computes them."""
    # as stored, with two decimals
    stored = {name: value.double().mul(100).round().div(100) for name, value in two_heads()[NAMES[heads]].items()}
    attend = MultiHeadAttention(8, heads).double()
    attend.load_state_dict({name.removeprefix("attend."): value for name, value in stored.items() if name != "places"})
    x = torch.zeros(6, 4, dtype=torch.float64)
    x[:, 0] = (torch.tensor([*prices, 5]).double() - 5) / 2.5
    with torch.no_grad():
        out, weights = attend(torch.cat([x, stored["places"]], dim=-1)[None])
    return out[0, :, 0] * 2.5, weights[0]


@pytest.mark.parametrize("prices", [OPENING, *OTHERS])
@pytest.mark.parametrize("heads", [1, 2])
def test_both_layers_are_torch_s(heads: int, prices: list[int]):
    answers, weights = in_torch(heads, prices)
    run = widget("w.run(data)", {"heads": heads, "prices": prices})
    torch.testing.assert_close(torch.tensor(run["answers"], dtype=torch.float64), answers, atol=1e-9, rtol=0)
    torch.testing.assert_close(torch.tensor(run["weights"], dtype=torch.float64), weights, atol=1e-9, rtol=0)


@pytest.mark.parametrize("prices", [OPENING, *OTHERS])
def test_what_is_said_of_the_reading_is_true(prices: list[int]):
    """One head reads yesterday; of two, the second reads the day before, with the other sign."""
    for heads, reads in ((1, [1]), (2, [1, 2])):
        weights = torch.tensor(widget("w.run(data).weights", {"heads": heads, "prices": prices}))
        for head, back in enumerate(reads):
            assert min(weights[head, day, day - back].item() for day in range(2, 6)) > 0.95
    assert [widget("w.signOf(...data)", [heads, h]) for heads, h in ((1, 0), (2, 0), (2, 1))] == [1, 1, -1]


@pytest.mark.parametrize("prices", [OPENING, *OTHERS])
def test_two_heads_are_right_whatever_the_prices_and_one_head_ignores_the_day_before(prices: list[int]):
    changes = [new - old for old, new in pairwise(prices)]
    answers = widget("w.run(data).answers.slice(2)", {"heads": 2, "prices": prices})
    assert [round(answer) for answer in answers] == changes
    answers = widget("w.run(data).answers.slice(2)", {"heads": 1, "prices": prices})
    assert [round(answer) for answer in answers] == [price - 5 for price in prices[1:]]


def test_both_layers_have_as_many_parameters():
    counts = {sum(value.numel() for value in two_heads()[name].values()) for name in NAMES.values()}
    assert len(counts) == 1


def test_traits():
    assert repr(TwoHeads()) == "TwoHeads(heads=1, prices=(2, 4, 8, 3, 7))"
    for name, value in {"heads": 3, "prices": [1, 2, 3, 4, 10]}.items():
        with pytest.raises(TraitError, match=name):
            setattr(TwoHeads(), name, value)


# ---- on a page


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    page = open_page(width=390, reduced_motion="reduce")
    as_on_a_phone(page)
    draw(page, [("TwoHeads", {})])
    return page


def row(page: Page, kind: str) -> list[str]:
    return page.locator(f".qkv-two-{kind}-row dd").all_inner_texts()


def state(page: Page, name: str) -> Any:
    return page.evaluate(f"shown[0].model.get('{name}')")


HEADLINE = "[data-number=headline]"


def test_a_press_on_two_heads_makes_all_answers_right(page: Page):
    expect(page.locator(HEADLINE)).to_have_text("One head: 0 of 4 right")
    assert row(page, "answer") == ["−1 ✗", "+3 ✗", "−2 ✗", "+2 ✗"]
    assert row(page, "change") == ["+2", "+4", "−5", "+4"]
    expect(page.locator(".qkv-two-lines line")).to_have_count(4)
    before = page.locator(".qkv-widget").evaluate("e => e.offsetHeight")
    page.get_by_text("two heads", exact=True).click()
    frame(page)
    expect(page.locator(HEADLINE)).to_have_text("Two heads: 4 of 4 right")
    assert row(page, "answer") == ["+2 ✓", "+4 ✓", "−5 ✓", "+4 ✓"]
    expect(page.locator(".qkv-two-lines line")).to_have_count(8)
    assert page.locator(".qkv-two-lines b").all_inner_texts() == ["+"] * 4 + ["−"] * 4
    assert state(page, "heads") == 2
    assert page.locator(".qkv-widget").evaluate("e => e.offsetHeight") == before, "nothing below it moves"


def test_an_answer_of_one_head_does_not_move_with_the_day_before(page: Page):
    slider = page.get_by_role("slider", name="price on day 1")
    slider.focus()
    for price in (3, 4, 5):
        page.keyboard.press("ArrowUp")
        frame(page)
        assert state(page, "prices") == [price, *OPENING[1:]]
        assert row(page, "answer")[0].startswith("−1"), "it reads day 2 alone"
    expect(page.locator(HEADLINE)).to_have_text("One head: 1 of 4 right")
    assert row(page, "change")[0] == "−1"


@pytest.mark.parametrize("has_touch", [False, True], ids=["mouse", "finger"])
def test_a_price_is_dragged_up_and_down(open_page: Callable[..., Page], has_touch: bool):
    page = open_page(width=390, reduced_motion="reduce", has_touch=has_touch)
    as_on_a_phone(page)
    draw(page, [("TwoHeads", {"heads": 2})])
    ring = page.locator(".qkv-two .qkv-knob").nth(3)
    area, box = page.locator(".qkv-two-prices").bounding_box(), ring.bounding_box()
    assert area
    assert box
    for share, price in ((0, 9), (1, 1), (0.5, 5)):
        drag(page, ring, 0.5, (area["y"] + share * area["height"] - ring.bounding_box()["y"]) / box["height"])  # type: ignore[index]
        assert state(page, "prices") == [2, 4, 8, price, 7]
        assert row(page, "change")[2] == f"−{8 - price}" if price < 8 else "+1"
        expect(page.locator(HEADLINE)).to_have_text("Two heads: 4 of 4 right")


def test_a_drag_goes_on_with_the_price_that_it_began_with(page: Page):
    first, last = (page.locator(".qkv-two .qkv-knob").nth(i).bounding_box() for i in (0, 4))
    assert first
    assert last
    page.mouse.move(first["x"] + 17, first["y"] + 17)
    page.mouse.down()
    page.mouse.move(last["x"] + 17, last["y"] + 17, steps=4)
    page.mouse.up()
    frame(page)
    assert state(page, "prices") == [7, *OPENING[1:]]


def test_an_answer_fills_the_outline_of_its_change_only_where_it_is_right(page: Page):
    boxes = """() => [...document.querySelectorAll('.qkv-two-bars > span')].map((bar) =>
      [...bar.children].map((each) => each.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]))"""
    apart = [max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in page.evaluate(boxes)]
    assert min(apart) > 4
    page.evaluate("shown[0].model.set('heads', 2)")
    frame(page)
    apart = [max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in page.evaluate(boxes)]
    assert max(apart) < 1


def test_the_picture_and_its_handles_are_on_one_screen_of_a_phone(page: Page):
    assert page.locator(".qkv-widget").evaluate("e => e.offsetHeight") <= 520
    for handle in page.locator(".qkv-two-choice label").all():
        box = handle.bounding_box()
        assert box
        assert box["height"] >= 44
