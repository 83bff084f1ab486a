"""Figures: named, in the palette, the same at every run, and readable in light and dark."""

import itertools
import re
import warnings
import xml.etree.ElementTree as ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qkv import figures
from tests.book.test_palette import PALETTE, THEMES, contrast

SVG = "{http://www.w3.org/2000/svg}"


def line_figure() -> plt.Figure:
    fig, ax = plt.subplots()
    ax.plot([1, 2, 3], [1, 4, 9], label="one")
    ax.plot([1, 2, 3], [2, 3, 4], label="two")
    ax.set(xlabel="d_k", ylabel="weight")
    ax.legend()
    return fig


def heat_figure() -> plt.Figure:
    fig, ax = plt.subplots()
    figures.heatmap(ax, [[0.25, 0.75], [1.0, 0.0]], ["中和", "有"], ["中和", "有"])
    return fig


def svg_of(shown: figures.InlineFigure) -> ElementTree.Element:
    return svgs_of(shown)["qkv-desk"]


def svgs_of(shown: figures.InlineFigure) -> dict[str, ElementTree.Element]:
    """Both pictures of a figure, by their classes."""
    found = map(ElementTree.fromstring, re.findall(r"<svg.*?</svg>", shown.markup, re.DOTALL))
    return {str(root.get("class")): root for root in found}


# --- showing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alt", ["", "   ", "\n"])
def test_a_figure_without_alt_text_is_refused(alt: str):
    with pytest.raises(ValueError, match="alt is empty"):
        figures.show(line_figure(), alt=alt)


def test_alt_text_is_the_name_of_the_picture_and_escaped():
    root = svg_of(figures.show(line_figure(), alt='a < b & "c"'))
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'a < b & "c"'


def test_plain_text_is_short_and_stable():
    shown = figures.show(line_figure(), alt="It\n  rises.")
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown) == "Figure: It rises."
    assert set(bundle) == {"text/plain", "text/html"}


def test_caption_is_escaped_and_may_be_left_out():
    assert "<figcaption>a &lt; b</figcaption>" in figures.show(line_figure(), alt="x", caption="a < b").markup
    assert "figcaption" not in figures.show(line_figure(), alt="x").markup


def test_the_figure_is_closed_so_that_it_is_not_shown_twice():
    fig = line_figure()
    figures.show(fig, alt="x")
    assert not plt.fignum_exists(fig.number)


@pytest.mark.parametrize("make", [line_figure, heat_figure])
def test_the_same_figure_is_the_same_text(make):
    assert figures.show(make(), alt="x").markup == figures.show(make(), alt="x").markup


def test_two_figures_share_no_identifier():
    one, other = (
        set(re.findall(r' id="([^"]+)"', figures.show(make(), alt="x").markup)) for make in (line_figure, heat_figure)
    )
    assert one
    assert not one & other


def test_every_reference_has_its_target():
    markup = figures.show(line_figure(), alt="x").markup
    assert set(re.findall(r'(?:url\(|href=")#([\w.-]+)', markup)) == set(re.findall(r' id="([^"]+)"', markup))


@pytest.mark.parametrize("make", [line_figure, heat_figure])
def test_every_colour_follows_the_theme(make):
    markup = re.sub(r"<style.*?</style>", "", figures.show(make(), alt="x").markup, flags=re.DOTALL)
    assert "var(--qkv-" in markup
    assert set(re.findall(r"#[0-9a-f]{3,8}\b", markup)) <= {"#000", "#fff"}


def test_text_stays_text_and_needs_no_font_of_matplotlib():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = figures.show(heat_figure(), alt="x")
    texts = [element.text for element in svg_of(shown).iter(f"{SVG}text")]
    assert {"中和", "有", "0.75", "query", "key"} <= set(texts)
    assert "DejaVu" not in ElementTree.tostring(svg_of(shown), encoding="unicode")


def test_neighbouring_shapes_of_one_style_become_one_and_nothing_else_does():
    plain, other = 'style="fill: red"', 'style="fill: red; opacity: 0.5"'
    shapes = [("M0 0", plain), ("M1 1", plain), ("M2 2", other), ("M3 3", other), ("M4 4", plain)]
    svg = " ".join(f'<path d="{d}" {style}/>' for d, style in shapes)
    assert figures._joined(svg) == svg.replace(f'<path d="M0 0" {plain}/> <path d="M1 1"', '<path d="M0 0 M1 1"')


def test_figure_carries_the_palette_for_places_that_have_none():
    markup = figures.show(line_figure(), alt="x").markup
    style = re.search(r"<style data-qkv-tokens>(.*?)</style>", markup, re.DOTALL)
    assert style is not None
    assert "--qkv-query:light-dark(" in style[1]
    assert '[data-jp-theme-light="false"]' in style[1]
    assert ") :where(" in style[1], "the descendant combinator was lost"
    assert "<style" not in markup.replace(style[0], ""), "matplotlib's own style would apply to the whole page"


# --- on a phone -----------------------------------------------------------------------------------------------------


def panels_figure(rows: int, columns: int, width: float) -> plt.Figure:
    fig, axes = plt.subplots(rows, columns, figsize=(width, 2.0 * rows), sharey=True, squeeze=False)
    for ax in axes.flat:
        ax.plot([0, 1], [0, 1])
    axes[0, 0].set_ylabel("entropy (nats)")
    return fig


@pytest.mark.parametrize(
    ("rows", "columns", "width", "phone"),
    [
        (1, 2, 8.2, (2, 1)),
        (1, 4, 8, (2, 2)),
        (1, 3, 8, (3, 1)),
        (2, 5, 5.2, (2, 5)),
        (2, 1, 7, (2, 1)),
        (1, 1, 7, (1, 1)),
    ],
)
def test_panels_that_do_not_fit_beside_each_other_on_a_phone_are_stacked(rows, columns, width, phone):
    fig = panels_figure(rows, columns, width)
    figures.lay_out_for_a_phone(fig)
    fig.canvas.draw()
    corners = [(round(ax.get_position().x0, 2), round(ax.get_position().y0, 2)) for ax in fig.axes]
    assert (len({y for _, y in corners}), len({x for x, _ in corners})) == phone
    assert tuple(fig.get_size_inches()) == pytest.approx((figures.PHONE, 2.0 * phone[0]))
    for ax in fig.axes:
        assert phone[1] > 1 or rows > 1 or ax.get_ylabel() == "entropy (nats)", "a stacked panel has lost its label"
    plt.close(fig)


def font_sizes(root: ElementTree.Element) -> list[float]:
    """The sizes of all letters, in px of a column that is 354 px wide."""
    width = float(str(root.get("viewBox")).split()[2])
    sizes = re.findall(
        r"font-size: ([\d.]+)px|font: (?:[\w ]+ )?([\d.]+)px", ElementTree.tostring(root, encoding="unicode")
    )
    return [float(a or b) * 354.8 / width for a, b in sizes]


def test_letters_are_at_least_12_px_high_on_a_phone():
    shown = figures.show(panels_figure(1, 2, 8.2), alt="x")
    assert min(font_sizes(svgs_of(shown)["qkv-phone"])) >= 12
    assert min(font_sizes(svgs_of(shown)["qkv-desk"])) < 8, "the picture for a desk cannot be read there"


def test_a_figure_as_narrow_as_a_phone_is_drawn_once():
    assert list(svgs_of(figures.show(panels_figure(1, 1, 3.6), alt="x"))) == ["qkv-any"]
    assert list(svgs_of(figures.show(panels_figure(1, 1, 3.8), alt="x"))) == ["qkv-desk", "qkv-phone"]


def test_words_above_a_narrow_heatmap_are_turned_and_its_numbers_shortened():
    words = ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"]
    fig, ax = plt.subplots(figsize=(7, 2))
    figures.heatmap(ax, np.eye(9)[:2] * 0.5, None, words)
    desk, phone = svgs_of(figures.show(fig, alt="x")).values()
    texts = {name: [t.text for t in root.iter(f"{SVG}text")] for name, root in (("desk", desk), ("phone", phone))}
    assert ("0.50" in texts["desk"], ".50" in texts["phone"], "0.50" in texts["phone"]) == (True, True, False)
    turned = [t for t in phone.iter(f"{SVG}text") if "rotate(-90" in (t.get("transform") or "")]
    assert len(turned) >= len(words)


# --- what is drawn --------------------------------------------------------------------------------------------------


def test_colours_are_those_of_the_palette():
    assert PALETTE["query"]["light"] == figures.QUERY
    assert (PALETTE["key"]["light"], PALETTE["value"]["light"]) == (figures.KEY, figures.VALUE)
    assert (PALETTE["weight"]["light"], PALETTE["output"]["light"]) == (figures.WEIGHT, figures.OUTPUT)


def test_heatmap_has_queries_down_and_keys_across():
    fig, ax = plt.subplots()
    figures.heatmap(ax, np.full((2, 3), 1 / 3), ["a", "b"], ["x", "y", "z"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y", "z"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first query is at the top"
    plt.close(fig)


def test_heatmap_writes_each_weight_where_it_belongs():
    fig, ax = plt.subplots()
    figures.heatmap(ax, torch.tensor([[0.1, 0.9], [0.4, 0.6]], requires_grad=True))
    written = {(text.get_position()[1], text.get_position()[0]): text.get_text() for text in ax.texts}
    assert written == {(0, 0): "0.10", (0, 1): "0.90", (1, 0): "0.40", (1, 1): "0.60"}
    plt.close(fig)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([[1.5, -0.5]], "between 0 and 1"),
        ([0.5, 0.5], "matrix"),
        ([[float("nan"), 0.5]], "finite"),
        (np.empty((0, 3)), "matrix"),
    ],
)
def test_heatmap_refuses_what_is_no_weights(weights, says):
    fig, ax = plt.subplots()
    with pytest.raises(ValueError, match=says):
        figures.heatmap(ax, weights)
    plt.close(fig)


def test_heatmap_wants_one_label_for_each_row():
    fig, ax = plt.subplots()
    with pytest.raises(ValueError, match="one label for each row: 2 are needed, got 1"):
        figures.heatmap(ax, np.full((2, 2), 0.5), ["only"])
    plt.close(fig)


def test_matrix_tells_signs_apart_and_knows_its_limit():
    fig, ax = plt.subplots()
    figures.matrix(ax, [[-2.0, 0.0, 1.0]], limit=2)
    fills = [plt.matplotlib.colors.to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert fills == [figures.SHADES["minus"][100], figures.SHADES["plus"][0], figures.SHADES["plus"][50]]
    plt.close(fig)


def test_large_matrix_has_no_numbers():
    fig, ax = plt.subplots()
    figures.matrix(ax, np.zeros((30, 20)), decimals=None)
    assert not ax.texts
    assert not ax.patches, "what has the page's own colour is drawn nevertheless"
    assert len(ax.get_yticks()) <= 10
    plt.close(fig)


# --- shades ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["weight", "plus", "minus"])
def test_shades_go_from_paper_to_the_full_colour(name: str):
    shades = figures.SHADES[name]
    assert (shades[0], shades[100]) == (PALETTE["paper"]["light"], PALETTE[name]["light"])
    lightness = [figures._oklab(shade)[0] for shade in shades]
    assert all(a > b for a, b in itertools.pairwise(lightness)), "a larger weight is darker"


@given(st.sampled_from(["weight", "plus", "minus"]), st.integers(0, 100), st.sampled_from(THEMES))
def test_number_on_a_shade_can_be_read(name: str, percent: int, theme: str):
    paper, full = (figures._oklab(PALETTE[colour][theme]) for colour in ("paper", name))
    shade = figures._srgb(paper + (full - paper) * percent / 100)
    written = figures.CSS_COLOURS[figures._Cell(name, percent).text]
    pair = re.findall(r"#\w+", written) * 2
    text = pair[THEMES.index(theme)]
    assert contrast(text[0] + "".join(c * 2 for c in text[1:]), shade) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_weight_map_keeps_its_order_without_colour(theme: str):
    """In greyscale, and so for every kind of colour vision that keeps lightness, the order of weights can be seen."""
    paper, full = (figures._oklab(PALETTE[colour][theme]) for colour in ("paper", "weight"))
    steps = [figures._oklab(figures._srgb(paper + (full - paper) * i / 10))[0] for i in range(11)]
    gaps = [abs(a - b) for a, b in itertools.pairwise(steps)]
    assert min(gaps) > 0.02
