"""Plain Markdown, and what it means on the page."""

import re
from collections.abc import Callable

import pytest
from docutils import nodes
from docutils.utils import new_document
from qkv_site import prose


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(prose.LOGGER, "warning", lambda text, *args, **_: said.append(text % args if args else text))
    return said


def page(*parts: nodes.Node) -> nodes.document:
    document = new_document("page")
    document.extend(parts)
    return document


def classes(document: nodes.document, kind: type[nodes.Element]) -> list[list[str]]:
    return [node["classes"] for node in document.findall(kind)]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Break it: no scale", ["qkv-break-it"]),
        ("In the wild", ["qkv-wild"]),
        ("Summary", ["qkv-summary"]),
        ("How to break things", []),
    ],
)
def test_sections_that_every_chapter_has(title: str, expected: list[str]):
    document = page(nodes.section("", nodes.title("", title), ids=[nodes.make_id(title)]))
    prose.mark_sections(document)
    assert classes(document, nodes.section) == [expected]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("query", ["qkv-query"]),
        ("Keys", ["qkv-key"]),
        ("value", ["qkv-value"]),
        ("weights", ["qkv-weight"]),
        ("word", []),
    ],
)
def test_a_defined_word_has_its_colour(word: str, expected: list[str]):
    document = page(nodes.paragraph("", "", nodes.strong("", word)))
    prose.colour_words(document)
    assert classes(document, nodes.strong) == [expected]


@pytest.mark.parametrize(
    ("code", "expected"), [("W_Q", ["qkv-query"]), ("w_v", ["qkv-value"]), ("k", []), ("Q @ K", [])]
)
def test_a_matrix_in_code_has_its_colour(code: str, expected: list[str]):
    document = page(nodes.paragraph("", "", nodes.literal("", code)))
    prose.colour_words(document)
    assert classes(document, nodes.literal) == [expected]


@pytest.mark.parametrize(
    "make",
    [
        lambda: nodes.image(uri="x.png"),
        lambda: nodes.raw("", '<img src="x.png">', format="html"),
        lambda: nodes.raw("", '<img src="x.png" alt="">', format="html"),
        lambda: nodes.raw("", '<svg role="img"><path/></svg>', format="html"),
    ],
)
def test_a_picture_without_words_is_named(warned: list[str], make: Callable[[], nodes.Node]):
    prose.require_alt_text(page(make()))
    assert len(warned) == 1
    assert "without alt text" in warned[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: nodes.image(uri="x.png", alt="a line"),
        lambda: nodes.raw("", '<img src="x.png" alt="a line">', format="html"),
        lambda: nodes.raw("", '<svg role="img" aria-label="a line"><path/></svg>', format="html"),
        lambda: nodes.raw("", '<svg aria-hidden="true"><path/></svg>', format="html"),
    ],
)
def test_a_picture_with_words_passes(warned: list[str], make: Callable[[], nodes.Node]):
    prose.require_alt_text(page(make()))
    assert warned == []


def test_the_palette_is_on_the_page_once():
    html = "<figure><style data-qkv-tokens>:root { --qkv-ink: x }</style><svg></svg></figure>"
    document = page(nodes.raw("", html, format="html"))
    prose.share_palette(document)
    assert [raw.astext() for raw in document.findall(nodes.raw)] == ["<figure><svg></svg></figure>"]
    assert [raw["format"] for raw in document.findall(nodes.raw)] == ["html"]


def test_a_long_line_keeps_its_points_in_fewer_bytes():
    points = [(round(3.337 * i, 2), round(50 + (-1) ** i * 7.77 * i, 2)) for i in range(60)]
    path = " \n".join(f"{'L' if i else 'M'} {x:.2f} {y:.2f}" for i, (x, y) in enumerate(points))
    light = prose.compacted(f'<svg>\n  <path d="{path}"/>\n</svg>')
    assert light.startswith('<svg><path d="M0 50l')
    assert len(light) < len(path)
    x, y = 0.0, 50.0
    steps = [float(number) for number in re.findall(r"-?[\d.]+", light.split("l", 1)[1].split('"')[0])]
    for (dx, dy), point in zip(zip(steps[::2], steps[1::2], strict=True), points[1:], strict=True):
        x, y = x + dx, y + dy
        assert (x, y) == pytest.approx(point, abs=0.051)


def test_a_rectangle_is_said_by_two_corners():
    corners = "M 16.50 12.43 L 33.28 12.43 L 33.28 29.21 L 16.50 29.21"
    for end in (" z ", " L 16.50 12.43 z "):
        assert prose.compacted(f'<path d="{corners}{end}"/>') == '<path d="M16.5 12.4H33.3V29.2H16.5z"/>'


@pytest.mark.parametrize(
    "path",
    [
        "M 1 2 L 3 4",
        "M 1 1 L 2 1 L 2 2 L 1 3 z ",
        "M 0 0 " + "C 1 2 3 4 5 6 " * 50,
        "M 1 1 L 2 2 M 3 3 " + "L 4 4 " * 50,
    ],
)
def test_other_paths_only_lose_spaces(path: str):
    tight = re.sub(" ?([MLCz]) ?", r"\1", path)
    assert prose.compacted(f'<path d="{path}"/>') == f'<path d="{tight}"/>'
