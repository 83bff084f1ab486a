"""Draw a small picture of each chapter's subject, for the map of the course.

The pictures are drawn at build time, in the colours of the page, which mean the same everywhere. Beside a picture is
the chapter's part of softmax(QKᵀ/√d_k + M) V, or what the chapter adds to it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sin
from typing import NamedTuple

WIDTH, HEIGHT = 96, 56
INK, QUERY, KEY, VALUE, WEIGHT, OUTPUT = (
    f"var(--qkv-{name})" for name in ("muted", "query", "key", "value", "weight", "output")
)


class Chapter(NamedTuple):
    """A chapter on the map: its part of the formula, what draws its picture, and the letters that the part is about."""

    part: str
    draw: Callable[[], str]
    letters: str  # as they are marked in FORMULA


def box(x: float, y: float, width: float, height: float, colour: str = INK, strength: float = 1) -> str:
    """Return a filled rectangle as SVG."""
    shade = f' fill-opacity="{strength:g}"' if strength < 1 else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="1.5" fill="{colour}"{shade}/>'


def line(*points: tuple[float, float], colour: str = INK, width: float = 1.5) -> str:
    """Return a line through points as SVG."""
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{through}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def circle(x: float, y: float, radius: float, colour: str = INK) -> str:
    """Return an unfilled circle as SVG."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def grid(x: float, y: float, size: float, rows: list[list[float]], colour: str = WEIGHT) -> str:
    """Return a square table of weights as SVG at (x, y), `size` wide: the larger a weight, the fuller its colour.

    `rows` has as many columns as rows, of weights from 0 to 1.
    """
    side = size / len(rows)
    return "".join(
        box(x + j * side, y + i * side, side - 1, side - 1, colour, 0.08 + 0.92 * weight)
        for i, row in enumerate(rows)
        for j, weight in enumerate(row)
    )


def curve(height: Callable[[float], float], colour: str = INK, steps: int = 40) -> str:
    """Return a curve over the whole width as SVG. `height` maps a place in [0, 1] to a height in [0, 1]."""
    places = [step / steps for step in range(steps + 1)]
    return line(*((6 + 84 * at, 50 - 44 * height(at)) for at in places), colour=colour)


def words_as_rows() -> str:
    """Return, as SVG, words with the numbers of each word below it."""
    shades = ((0.9, 0.2, 0.5), (0.3, 0.8, 0.4), (0.5, 0.5, 1), (1, 0.3, 0.2))
    words = "".join(box(8 + 21 * i, 6, 17, 8) for i in range(4))
    numbers = (
        box(12 + 21 * i, 20 + 11 * j, 9, 9, INK, shade) for i, row in enumerate(shades) for j, shade in enumerate(row)
    )
    return words + "".join(numbers)


def three_roles() -> str:
    """Return, as SVG, one word, and the three vectors that are made from it."""
    ways = "".join(line((26, 28), (58, y)) for y in (11, 28, 45))
    return ways + box(10, 21, 16, 14) + "".join(box(58, y, 28, 12, c) for y, c in ((5, QUERY), (22, KEY), (39, VALUE)))


def two_spreads() -> str:
    """Return, as SVG, the distribution of scores, and the narrower one of the same scores after the division."""

    def bell(spread: float, top: float) -> Callable[[float], float]:
        return lambda at: top * exp(-(((at - 0.5) / spread) ** 2))

    return curve(bell(0.42, 0.4)) + curve(bell(0.14, 1), "var(--qkv-ink)")


def shares() -> str:
    """Return, as SVG, weights as bars: shares of 1."""
    heights = (10, 22, 42, 15, 6)
    bars = "".join(box(12 + 15 * i, 50 - height, 12, height, WEIGHT) for i, height in enumerate(heights))
    return bars + line((8, 51), (88, 51))


def several_tables() -> str:
    """Return, as SVG, the weights of three heads with a causal mask."""
    looks: tuple[list[list[float]], ...] = (
        [[1, 0, 0, 0], [0.3, 0.7, 0, 0], [0.1, 0.2, 0.7, 0], [0.1, 0.1, 0.2, 0.6]],
        [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
        [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.3, 0.3, 0.4, 0], [0.25, 0.25, 0.25, 0.25]],
    )
    return "".join(grid(6 + 29 * i, 15, 27, rows) for i, rows in enumerate(looks))


def waves() -> str:
    """Return, as SVG, three waves of different frequencies."""
    speeds = ((18, 10), (9, 28), (4, 46))
    return "".join(line(*((6 + 84 * at / 40, y - 7 * sin(speed * at / 40)) for at in range(41))) for speed, y in speeds)


def kept_rows() -> str:
    """Return, as SVG, cached keys and values, the newest row, and a query."""
    rows = "".join(
        box(38, 5 + 9.5 * i, 22, 7.5, KEY, 1 if i == 4 else 0.45)
        + box(63, 5 + 9.5 * i, 22, 7.5, VALUE, 1 if i == 4 else 0.45)
        for i in range(5)
    )
    return rows + box(10, 43, 18, 7.5, QUERY) + line((28, 46.7), (38, 46.7))


def one_layer() -> str:
    """Return, as SVG, the residual stream through a layer, to which attention and the feed-forward network add."""
    adds = "".join(
        line((x, 40), (x, 12), (x + 30, 12), (x + 30, 34)) + circle(x + 30, 40, 5.5)
        + line((x + 27, 40), (x + 33, 40)) + line((x + 30, 37), (x + 30, 43))
        for x in (12, 52)
    )  # fmt: skip
    return (
        line((4, 40), (36.5, 40))
        + line((47.5, 40), (76.5, 40))
        + line((87.5, 40), (94, 40))
        + adds
        + (box(18, 6, 18, 12, WEIGHT) + box(58, 6, 18, 12, INK))
    )


def looked_at_closely() -> str:
    """Return, as SVG, a table of weights with a stripe parallel to its diagonal, under a magnifying glass."""
    rows = [[1.0 if j == i - 3 else 0.12 if j <= i else 0 for j in range(8)] for i in range(8)]
    return grid(14, 5, 46, rows) + circle(58, 28, 14, "var(--qkv-ink)") + line((68, 38), (82, 50), width=3)


def fewer_scores() -> str:
    """Return, as SVG, a table of scores, of which only a band near the diagonal is computed."""
    return grid(25, 5, 46, [[1.0 if 0 <= i - j < 3 else 0 for j in range(9)] for i in range(9)])


def other_things() -> str:
    """Return, as SVG, an image in patches, a sound and a molecule."""
    patches = "".join(
        box(6 + 9 * j, 16 + 9 * i, 8, 8, INK, 0.25 + 0.25 * ((i + j) % 3)) for i in range(3) for j in range(3)
    )
    sound = line(*((39 + at, 28 - 14 * sin(at * 1.1) * exp(-((at - 11) ** 2) / 60)) for at in range(23)))
    atoms = ((70, 38), (78, 22), (89, 36))
    return patches + sound + line(*atoms) + "".join(box(x - 4, y - 4, 8, 8) for x, y in atoms)


def lines_of_text() -> str:
    """Return, as SVG, four lines of a page, for a chapter that has no picture of its own yet."""
    return "".join(box(24, 12 + 9 * i, width, 4, INK, 0.5) for i, width in enumerate((48, 40, 48, 28)))


# The formula of the course, with what makes its matrices. On the map, each marked part lights the chapters about it.
# The outer braces keep the space around a part out of its mark.
FORMULA = r"""\begin{gathered}
{\htmlData{letter=softmax}{\operatorname{softmax}}}\!\left(
\frac{{\htmlData{letter=Q}{Q}}\;{\htmlData{letter=K}{K^\top}}}{{\htmlData{letter=d_k}{\sqrt{d_k}}}}
+ {\htmlData{letter=M}{M}}\right) {\htmlData{letter=V}{V}} \\[0.4em]
{\htmlData{letter=Q}{Q}} = {\htmlData{letter=X}{X}}\,{\htmlData{letter=W}{W_Q}} \quad
{\htmlData{letter=K}{K}} = {\htmlData{letter=X}{X}}\,{\htmlData{letter=W}{W_K}} \quad
{\htmlData{letter=V}{V}} = {\htmlData{letter=X}{X}}\,{\htmlData{letter=W}{W_V}}
\end{gathered}"""
ALL = "softmax Q K d_k M V X W"

CHAPTERS = {
    1: Chapter("X", words_as_rows, "X"),
    2: Chapter("Q, K, V", three_roles, "Q K V W"),
    3: Chapter("QKᵀ / √d_k", two_spreads, "Q K d_k"),
    4: Chapter("softmax( )", shares, "softmax"),
    5: Chapter("H heads, + M", several_tables, "M W"),
    6: Chapter("X + positions", waves, "X"),
    7: Chapter("K, V kept", kept_rows, "K V"),
    8: Chapter("x + f(x)", one_layer, ALL),
    9: Chapter("weights, read", looked_at_closely, "softmax"),
    10: Chapter("fewer scores", fewer_scores, "Q K"),
    11: Chapter("other X", other_things, "X"),
}

NEW = Chapter("", lines_of_text, ALL)


def picture(number: int) -> str:
    """Return a chapter's picture as SVG. Screen readers skip it, because the title says the same."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{CHAPTERS.get(number, NEW).draw()}</svg>'


def letters(number: int) -> str:
    """Return the letters of the formula that a chapter is about, with spaces between them; all, if it is about more."""
    return CHAPTERS.get(number, NEW).letters


def part(number: int) -> str:
    """Return a chapter's part of the formula, or what it adds to the formula; "" for a new chapter."""
    return CHAPTERS.get(number, NEW).part
