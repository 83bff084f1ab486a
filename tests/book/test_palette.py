"""The palette: every text can be read on everything that it stands on, in light and in dark."""

import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PALETTE = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(
        r"--qkv-([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)",
        (ROOT / "src" / "qkv" / "tokens.css").read_text(encoding="utf-8"),
    )
}
MEANINGS = ("query", "key", "value", "weight", "output")
THEMES = ("light", "dark")


def luminance(colour: str) -> float:
    """Relative luminance, [WCAG 2.2]."""
    srgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in srgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio, [WCAG 2.2]."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "surface"])
@pytest.mark.parametrize("name", [*MEANINGS, "ink", "muted", "bad", "plus", "minus"])
def test_text_can_be_read(name: str, ground: str, theme: str):
    assert contrast(PALETTE[name][theme], PALETTE[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize("text", ["ink", "itself"])
def test_text_can_be_read_on_a_tint(name: str, text: str, theme: str):
    colour = PALETTE[name if text == "itself" else text][theme]
    assert contrast(colour, PALETTE[f"{name}-tint"][theme]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_controls_can_be_seen(theme: str):
    assert contrast(PALETTE["control-line"][theme], PALETTE["paper"][theme]) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_meanings_share_a_colour(theme: str):
    assert all(PALETTE[one][theme] != PALETTE[other][theme] for one, other in itertools.combinations(MEANINGS, 2))


def test_every_colour_has_both_themes():
    css = (ROOT / "src" / "qkv" / "tokens.css").read_text(encoding="utf-8")
    colours = re.findall(r"--qkv-([\w-]+):[^;]*#", css)
    assert set(colours) == set(PALETTE)


def test_skin_has_no_colour_of_its_own_but_shadows():
    css = (ROOT / "book" / "static" / "qkv.css").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9a-f]{3,8}\b", css) == []


@pytest.mark.parametrize("theme", THEMES)
def test_strings_can_be_read_in_a_box_of_code(theme: str):
    assert contrast(PALETTE["literal"][theme], PALETTE["surface"][theme]) >= 4.5
