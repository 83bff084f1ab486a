"""Fonts on the site: cut to what is shown, and nothing that is shown is cut away."""

from io import BytesIO

import pytest
from fontTools.ttLib import TTFont
from qkv_site.assets import KATEX
from qkv_site.fonts import subset_woff2
from qkv_site.maths import Renderer, drawn_characters

MATHS = KATEX / "fonts" / "KaTeX_Math-Italic.woff2"


def widths(font: TTFont) -> dict[str, int]:
    """How wide each character is."""
    return {chr(code): font["hmtx"][name][0] for code, name in font.getBestCmap().items()}


@pytest.mark.parametrize("characters", ["QKV", "θd", "x"])
def test_a_font_is_cut_to_its_characters_and_they_keep_their_sizes(characters: str):
    whole, cut_down = TTFont(MATHS), TTFont(BytesIO(subset_woff2(MATHS, characters)))
    assert widths(cut_down) == {letter: width for letter, width in widths(whole).items() if letter in characters}
    for name in ("ascent", "descent", "lineGap"):
        assert getattr(cut_down["hhea"], name) == getattr(whole["hhea"], name)
    assert len(subset_woff2(MATHS, characters)) < MATHS.stat().st_size / 4


def test_what_a_font_has_not_is_left_to_others():
    assert widths(TTFont(BytesIO(subset_woff2(MATHS, "Q注")))).keys() == {"Q"}


def test_the_characters_of_a_formula_are_those_that_are_drawn():
    renderer = Renderer()
    shown = drawn_characters(renderer(r"\theta_{ij} \le \operatorname{softmax}", display=False))
    renderer.close()
    assert shown - {" ", "\u200b", "\xa0"} == set("θij≤softmax")
