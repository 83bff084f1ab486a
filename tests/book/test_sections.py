"""Sections that a hint, a question or a page names in “…” after a chapter: they are headings of that chapter."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = re.compile(r"(?:chapters/(?:deeper/)?0*|\]\(0*|[Cc]hapter )(\d+)(?:_(?=\w*\.ipynb)|\b)")
NAMED = re.compile(r"(from )?“([^”]+)”")


def markdown(path: Path) -> Iterator[str]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])


@functools.cache
def headings_and_openings() -> tuple[dict[int, set[str]], dict[int, list[str]]]:
    """By chapter, with its deeper pages: the headings, and all paragraphs."""
    headings: dict[int, set[str]] = {}
    paragraphs: dict[int, list[str]] = {}
    for path in (ROOT / "chapters").rglob("*.ipynb"):
        text = "\n\n".join(markdown(path))
        number = int(path.name[:2])
        headings.setdefault(number, set()).update(re.findall(r"^#+ (.+)$", text, re.MULTILINE))
        paragraphs.setdefault(number, []).extend(text.split("\n\n"))
    return headings, paragraphs


def named(text: str) -> Iterator[tuple[int, str, bool]]:
    """The names in “…” after a chapter, in one paragraph: chapter, name, and whether a paragraph should begin so."""
    for paragraph in text.split("\n\n"):
        places = [*CHAPTER.finditer(paragraph)]
        for i, place in enumerate(places):
            end = places[i + 1].start() if i + 1 < len(places) else len(paragraph)
            for start, name in NAMED.findall(paragraph[place.end() : end]):
                yield int(place[1]), name, bool(start)


def missing(text: str) -> list[str]:
    """The names that no heading of their chapter has; “Break it” may stand for “Break it: …”."""
    headings, paragraphs = headings_and_openings()
    lost = []
    for chapter, name, opens in named(text):
        found = any(heading == name or heading.startswith(f"{name}:") for heading in headings.get(chapter, ()))
        if not found and not (opens and any(p.startswith(name) for p in paragraphs.get(chapter, ()))):
            lost.append(f"chapter {chapter}: “{name}”")
    return lost


PAGES = sorted(path for folder in ("solutions", "chapters", "book") for path in (ROOT / folder).rglob("*.ipynb"))
MESSAGES = sorted((ROOT / "src/qkv/questions").rglob("*.toml"))


@pytest.mark.parametrize("path", [*PAGES, *MESSAGES], ids=lambda path: path.stem)
def test_a_section_that_is_named_exists(path: Path):
    texts = markdown(path) if path.suffix == ".ipynb" else [path.read_text(encoding="utf-8")]
    assert missing("\n\n".join(texts)) == []


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("[Chapter 5](../chapters/05_multi_head.ipynb), “Masks: which keys may a query see?”", []),
        ("See chapter 5, “Break it”, and “In the wild”.", []),
        ("See chapter 5, “Split by name, then swap the axes”, from “The way back”.", []),
        ("See chapter 5, “The way back”.", ["chapter 5: “The way back”"]),
        ("See chapter 4, “Masks: which keys may a query see?”", ["chapter 4: “Masks: which keys may a query see?”"]),
        ("In chapter 4, “Break it”, and in chapter 5, “No such section”.", ["chapter 5: “No such section”"]),
        ("A “name” before chapter 5 is none of its sections.", []),
    ],
)
def test_what_counts_as_a_section(text: str, lost: list[str]):
    assert missing(text) == lost
