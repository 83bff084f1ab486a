"""Figures of the book: matplotlib with `book.mplstyle`, shown as inline SVG that follows the page's dark mode.

Importing this module sets the matplotlib style of the session, so the cells of a chapter are plain matplotlib:

    import matplotlib.pyplot as plt
    from qkv.figures import heatmap, show

    fig, ax = plt.subplots()
    heatmap(ax, weights, tokens, tokens)
    show(fig, alt="Each token attends mostly to itself.")

Colours mean the same here as everywhere in the course (`tokens.css`). In the SVG, colours become CSS variables and
shades become mixtures of two variables, so the page decides how they look in light and in dark mode.
"""

import hashlib
import html
import io
import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

HERE = Path(__file__).parent
TOKENS = (HERE / "tokens.css").read_text(encoding="utf-8")


def _light_values(tokens: str) -> dict[str, str]:
    """Return the palette: the light-mode colours by name."""
    return dict(re.findall(r"--qkv-([\w-]+):\s*light-dark\((#[0-9a-f]{6}),", tokens))


PALETTE = _light_values(TOKENS)
QUERY, KEY, VALUE = PALETTE["query"], PALETTE["key"], PALETTE["value"]
WEIGHT, OUTPUT = PALETTE["weight"], PALETTE["output"]
INK, MUTED, LINE, PAPER = PALETTE["ink"], PALETTE["muted"], PALETTE["line"], PALETTE["paper"]

# --- colour maps: mixtures of two palette colours in Oklab, as CSS mixes them ---------------------------------------

_TO_LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                    [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
_TO_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def _oklab(colour: str) -> np.ndarray:
    """Return the three Oklab coordinates of an sRGB colour, "#rrggbb" [Ottosson, 2020]."""
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return _TO_LAB @ np.cbrt(_TO_LMS @ linear)


def _srgb(lab: np.ndarray) -> str:
    """Return the sRGB hex colour of Oklab coordinates."""
    linear = np.clip(np.linalg.inv(_TO_LMS) @ (np.linalg.inv(_TO_LAB) @ lab) ** 3, 0, 1)
    return to_hex(np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055))


def _mixtures(name: str) -> list[str]:
    """Return the shades from paper (0 %) to a palette colour (100 %), in steps of one percent."""
    paper, full = _oklab(PAPER), _oklab(PALETTE[name])
    return [_srgb(paper + (full - paper) * percent / 100) for percent in range(101)]


SHADES = {name: _mixtures(name) for name in ("weight", "plus", "minus")}
WEIGHT_MAP = ListedColormap(SHADES["weight"], name="qkv-weights")
"""The colour map of attention weights, from the page's colour to that of weights. Always use vmin=0, vmax=1."""
SIGNED_MAP = ListedColormap(SHADES["minus"][:0:-1] + SHADES["plus"], name="qkv-signed")
"""The colour map of numbers of either sign; 0 has the page's colour."""


# A number on a shade is black or white, whichever is readable. The percentage at which this changes is different in
# dark mode. So there are three cases; until the SVG is written, three otherwise unused colours stand for them.
ON_PALE, ON_MIDDLE, ON_DEEP = "#000001", "#000002", "#fffffe"
_WRITTEN = {ON_PALE: "light-dark(#000,#fff)", ON_MIDDLE: "#000", ON_DEEP: "light-dark(#fff,#000)"}
_PALE_UP_TO, _DEEP_FROM = {"weight": 65, "plus": 61, "minus": 66}, {"weight": 78, "plus": 71, "minus": 87}


def _css_colours() -> dict[str, str]:
    """Return the CSS of each colour that figures use, by its hex value: a variable of the palette, or two mixed."""
    mixed = {
        shade: f"color-mix(in oklab,var(--qkv-{name}) {percent}%,var(--qkv-paper))"
        for name, shades in SHADES.items()
        for percent, shade in enumerate(shades)
    }
    return mixed | _WRITTEN | {value: f"var(--qkv-{name})" for name, value in reversed(PALETTE.items())}


CSS_COLOURS = _css_colours()


def _apply_style() -> None:
    """Set the matplotlib style of the session. Lines differ in dash pattern as well as in colour."""
    plt.style.use(HERE / "book.mplstyle")
    plt.rcParams.update(
        {
            "axes.edgecolor": MUTED,
            "axes.labelcolor": INK,
            # neutral: a line has one of the five colours only where it shows weights, outputs, queries, keys or values
            "axes.prop_cycle": plt.cycler(color=[INK, MUTED] * 2) + plt.cycler(linestyle=["-", "--", "-.", ":"]),
            "grid.color": LINE,
            "image.cmap": "qkv-weights",
            "text.color": INK,
            "xtick.color": MUTED,
            "xtick.labelcolor": INK,
            "ytick.color": MUTED,
            "ytick.labelcolor": INK,
        }
    )


for _map in (WEIGHT_MAP, SIGNED_MAP):
    plt.colormaps.register(_map, force=True)
_apply_style()

# --- to draw --------------------------------------------------------------------------------------------------------


def heatmap(
    ax: Axes,
    weights: ArrayLike,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    decimals: int | None = 2,
) -> None:
    """Draw attention weights: queries down, keys across, each weight written in its cell.

    weights (n_q, n_k) are between 0 and 1. queries and keys are labels; without them, positions are the labels. With
    decimals=None, no numbers are written. The axes are named "query" and "key".

    Raises:
        ValueError: `weights` is not a matrix of finite numbers, a weight is below 0 or above 1, or the number of
            labels does not fit.
    """
    values = _matrix(weights)
    if values.min() < -1e-6 or values.max() > 1 + 1e-6:
        raise ValueError(
            f"weights are between 0 and 1; got {values.min():.4g} to {values.max():.4g} (scores? use matrix)"
        )
    _cells(ax, values, [[_Cell("weight", round(100 * min(max(w, 0), 1))) for w in row] for row in values], decimals)
    _label(ax, values.shape, queries, keys)
    ax.set_xlabel("key", color=KEY)
    ax.set_ylabel("query", color=QUERY)


def matrix(
    ax: Axes,
    values: ArrayLike,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    limit: float | None = None,
    decimals: int | None = 2,
) -> None:
    """Draw numbers of either sign as shaded cells.

    `limit` is the magnitude with the full shade; with None or 0, it is the largest magnitude. With decimals=None, the
    numbers are left out, for a matrix in which they would be too small to read. Without labels, positions are the
    labels.

    Raises:
        ValueError: `values` is not a matrix of finite numbers, or the number of labels does not fit.
    """
    numbers = _matrix(values)
    scale = limit or float(np.abs(numbers).max()) or 1.0
    cells = [
        [_Cell("plus" if v >= 0 else "minus", round(100 * min(abs(v) / scale, 1))) for v in row] for row in numbers
    ]
    _cells(ax, numbers, cells, decimals)
    _label(ax, numbers.shape, rows, columns)


def _matrix(values: ArrayLike) -> np.ndarray:
    """Return the values, also of a torch tensor, as an array.

    Raise a ValueError if it is not 2-d, finite and not empty.
    """
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise ValueError(f"a matrix of finite numbers is needed; got shape {array.shape}")
    return array


class _Cell(NamedTuple):
    """The shade of one cell: a palette colour and a percentage."""

    name: str
    percent: int

    @property
    def fill(self) -> str:
        return SHADES[self.name][self.percent]

    @property
    def text(self) -> str:
        if self.percent <= _PALE_UP_TO[self.name]:
            return ON_PALE
        return ON_DEEP if self.percent >= _DEEP_FROM[self.name] else ON_MIDDLE


def _cells(ax: Axes, values: np.ndarray, cells: list[list[_Cell]], decimals: int | None) -> None:
    """Draw a square for each value, in the colours of its cell, and write the value in it with so many decimals.

    With None for `decimals`, no number is written, there are no gaps between the squares, and a cell of 0 % has none.
    """
    n_rows, n_columns = values.shape
    side, gap = (0.92, 0.04) if decimals is not None else (1.0, 0.0)
    for (i, j), value in np.ndenumerate(values):
        cell = cells[i][j]
        corner = (j - 0.5 + gap, i - 0.5 + gap)
        if cell.percent or decimals is not None:  # 0 has the page's colour, so large maps need no squares for it
            ax.add_patch(Rectangle(corner, side, side, facecolor=cell.fill, edgecolor="none", clip_on=False))
        if decimals is not None:
            ax.text(j, i, f"{value:.{decimals}f}", ha="center", va="center", color=cell.text)
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5), aspect="equal" if decimals is None else "auto")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _label(ax: Axes, shape: tuple[int, ...], rows: Sequence[str] | None, columns: Sequence[str] | None) -> None:
    """Write labels beside the rows and above the columns, or without labels the positions.

    Of more than 16 positions, about eight are written. Raise a ValueError if there is not one label for each row or
    column.
    """
    for labels, size, name, put in (
        (rows, shape[0], "row", ax.set_yticks),
        (columns, shape[1], "column", ax.set_xticks),
    ):
        if labels is not None and len(labels) != size:
            raise ValueError(f"one label for each {name}: {size} are needed, got {len(labels)}")
        step = 1 if labels is not None or size <= 16 else -(-size // 8)
        places = range(0, size, step)
        put(list(places), [str(labels[i] if labels is not None else i) for i in places])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")


# --- to show a figure -----------------------------------------------------------------------------------------------


PHONE = 3.69  # inches: the width of a page's column on a phone with 390 px
LETTERS = 36  # that fit side by side in it


class InlineFigure:
    """A figure as a cell result: inline SVG in browsers, the alt text elsewhere."""

    def __init__(self, markup: str, alt: str) -> None:
        self.markup = markup
        self.alt = alt

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.markup, "text/plain": repr(self)}


def show(fig: Figure, *, alt: str, caption: str = "") -> InlineFigure:
    """Close the figure and return it as the cell's result. A wide figure also gets a second layout, for phones.

    `fig` itself then has that layout. `alt` describes what the figure shows to somebody who cannot see it: the finding,
    not axes and colours. `caption` is plain text, shown below it unless it is empty.

    Raises:
        ValueError: `alt` is empty.
    """
    alt = " ".join(alt.split())
    if not alt:
        raise ValueError("alt is empty: say what the figure shows to somebody who cannot see it")
    plt.close(fig)
    if fig.get_figwidth() <= PHONE:  # one drawing suits both
        drawn = _simplified(_svg_of(fig), alt, "qkv-any")
    else:
        drawn = _simplified(_svg_of(fig), alt, "qkv-desk")
        lay_out_for_a_phone(fig)
        drawn += _simplified(_svg_of(fig), alt, "qkv-phone")
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return InlineFigure(f'<figure class="qkv-figure">{STYLE}{drawn}{below}</figure>', alt)


def lay_out_for_a_phone(fig: Figure) -> None:
    """Change a figure: as wide as a phone's column, with as many panels in a row as fit there with 0.7 of their widths.

    Panels keep their heights and the size of their text. A panel that shared the labels of the one on its left gets
    labels of its own.
    """
    specs = {ax: spec for ax in fig.axes if (spec := ax.get_subplotspec()) is not None}
    panels = list(specs)
    rows, columns = specs[panels[0]].get_gridspec().get_geometry() if panels else (1, 1)
    width, height = fig.get_size_inches()
    across = min(columns, max(1, int(PHONE * columns / (0.7 * width))))
    down = -(-len(panels) // across) if panels else 1
    grid = fig.add_gridspec(down, across)
    for place, ax in enumerate(panels):
        ax.set_subplotspec(grid[place // across, place % across])
        if across < columns and place % across == 0:
            ax.tick_params(labelleft=True)
            ax.set_ylabel(ax.get_ylabel() or panels[0].get_ylabel(), color=panels[0].yaxis.label.get_color())
        _turn_long_labels(ax)
    fig.set_size_inches(PHONE, height * down / rows)


def _turn_long_labels(ax: Axes) -> None:
    """If the words above a panel do not fit side by side, turn them, and shorten its numbers: .25 and not 0.25.

    Labels with formulas do not count.
    """
    words = [label.get_text() for label in ax.get_xticklabels() if "$" not in label.get_text()]
    if sum(len(word) + 1 for word in words) <= LETTERS:
        return
    ax.tick_params(axis="x", labelrotation=90)
    for text in ax.texts:
        text.set_text(re.sub(r"^0(?=\.)", "", text.get_text()))


def _svg_of(fig: Figure) -> str:
    """Return matplotlib's SVG. Warnings about missing glyphs are ignored, because browsers have other fonts."""
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return out.getvalue()


def _simplified(svg: str, alt: str, name: str) -> str:
    """Return the SVG without what a page does not need, with CSS colours, unique ids, alt text and the class `name`."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*\n\s*", " ", body)
    body = re.sub(r"(\d\.\d\d)\d+", r"\1", body)
    body = re.sub(r' transform="rotate\(-0 [^"]*"', "", body)
    body = re.sub(r"#[0-9a-f]{6}\b", lambda colour: CSS_COLOURS.get(colour[0], colour[0]), body)
    body = re.sub(r"font-family: [^;\"]*", "font-family: var(--qkv-font)", body)
    body = _with_unique_ids(body)
    body = re.sub(r"<g>\s*(<(?:path|text)[^<]*(?:</text>)?)\s*</g>", r"\1", body)
    return _with_svg_tag(_joined(body), alt, name)


def _joined(svg: str) -> str:
    """Return the SVG with neighbouring paths of one opaque style joined in one path: a map takes half as many bytes."""
    run = r'<path d="[^"]*" (style="(?:(?!opacity)[^"])*")/>(?:\s*<path d="[^"]*" \1/>)+'

    def one_shape(found: re.Match[str]) -> str:
        drawn = " ".join(re.findall(r' d="([^"]*)"', found[0]))
        return f'<path d="{drawn}" {found[1]}/>'

    return re.sub(run, one_shape, svg)


def _with_unique_ids(svg: str) -> str:
    """Return the SVG without ids that nothing refers to, and with a hash of the SVG after each other id.

    A page has many figures, and its ids have to differ.
    """
    own = hashlib.sha256(svg.encode()).hexdigest()[:6]
    used = set(re.findall(r'(?:url\(|href=")#([\w.-]+)', svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda m: f' id="{m[1]}-{own}"' if m[1] in used else "", svg)
    return re.sub(r'(url\(|href=")#([\w.-]+)', rf"\1#\2-{own}", svg)


def _with_svg_tag(svg: str, alt: str, name: str) -> str:
    """Return the SVG with a new opening tag: with the class `name`, the alt text, and its widths.

    The figure fits the column, but not below a width at which its text is still readable.
    """
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None, "matplotlib writes a viewBox"
    width = float(found[1]) * 4 / 3
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="{name}" {found[0]} '
        f'role="img" aria-label="{html.escape(alt)}" '
        f'style="max-width:{math.ceil(width)}px;min-width:{width * 0.7:.0f}px">'
    )
    return head + svg[svg.index(">") + 1 :].strip()


def _minified(css: str) -> str:
    """Return CSS without comments and unnecessary spaces."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    # A space before a colon stays, because it is a descendant combinator.
    return re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", css)).replace(": ", ":").strip()


# JupyterLab and Colab do not load the palette, so each figure has it; the site loads it once and removes this copy.
# Which of a figure's two pictures is shown is decided by the width of its column, not by that of the window.
STYLE = (
    f"<style data-qkv-tokens>{_minified(TOKENS)}{_minified((HERE / 'figure.css').read_text(encoding='utf-8'))}</style>"
)
