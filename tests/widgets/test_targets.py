"""A finger finds every control of a widget on a phone: what answers a press around its middle is at least 32 px.

A few pictures have many cells or lines side by side, of at least 24 px: masks, the rows of a
dealt tape, the weights of all words, the longest sentences. A finger that misses one sees it, and presses again.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .conftest import open_phone
from .test_access import LOOKS, draw

pytestmark = pytest.mark.browser

DENSE = {
    "MaskPainter": "input[type=checkbox]",
    "HeadSplitter": "[type=radio]",
    "SentenceLab": ":is(.qkv-weights, [style*='--qkv-n: 11']) input",
}
# Of each control: whether a press near its sides still meets it, its label, what is drawn on them, or its row.
MISSED = """(dense) => [...document.querySelectorAll('.qkv-widget :is(input, button, summary, select, [role=slider])')]
  .filter((control) => control.checkVisibility({ visibilityProperty: true }) && !control.closest('.qkv-unseen')
    && !control.disabled && getComputedStyle(control).pointerEvents !== 'none')
  .flatMap((control) => {
    const row = control.closest('tbody tr');
    const pressed = row && getComputedStyle(row).cursor === 'pointer' ? row : control.closest('label');
    const alone = ['range', 'text', 'number', 'textarea'].includes(control.type);
    const target = alone ? control : pressed ?? control;
    target.scrollIntoView({ block: 'center', inline: 'center' });
    const { left, top, width, height } = target.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const near = dense && control.matches(dense) ? 11 : 15;
    const missed = [[0, 0], [-near, 0], [near, 0], [0, -near], [0, near]].filter(([dx, dy]) => {
      const met = document.elementFromPoint(x + dx, y + dy);
      return !(met && (target.contains(met) || met.closest('label')?.control === control));
    });
    const name = control.ariaLabel ?? target.innerText.trim();
    return missed.length ? [[name, control.type, Math.round(width), Math.round(height), missed.join(' ')]] : [];
  })"""


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_every_target_is_large_enough_for_a_finger(open_page: Callable[..., Page], look: tuple[str, dict[str, object]]):
    page = open_phone(open_page)
    draw(page, [look])
    assert page.evaluate(MISSED, DENSE.get(look[0])) == []
