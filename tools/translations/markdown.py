"""Split Markdown into what stays and what is translated: paragraphs, headings, items, cells of tables, summaries.

Of the glossary, the definitions are translated. A term keeps its English name, by which its Chinese names are found.
Of the map of the course, the questions are translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

WORD = re.compile(r"[^\W\d_]{2}")
NOT_WORDS = re.compile(r"\$[^$]*\$|`[^`]*`|<[^>]*>|\]\([^)]*\)|\{[^}]*\}")
FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})")
GLOSSARY = "```{glossary}"
CONTAINER, COURSE_MAP = "```{container}", "```{course-map}"
QUESTION = re.compile(r"^(\w+: )(.*)$", re.MULTILINE)
DEFINITION = re.compile(r"((?:^  (?!In Chinese).*\n)+)", re.MULTILINE)
HEADING = re.compile(r"(#+ +)(.*)$")
ITEM = re.compile(r"(\s*(?:[-*]|\d+\.) +)(.*)$")
SUMMARY = re.compile(r"(<summary>)(.*)(</summary>)$")
TAG = re.compile(r"\s*</?\w[^>]*>\s*$")
TABLE_RULE = re.compile(r"\|[\s:|-]+\|$")
BAR = re.compile(r"(\s*(?<!\\)\|\s*)")
WORDS_IN_MATHS = re.compile(r"\\text\{[^}]*[A-Za-z]{2}[^}]*\}")


@dataclass(frozen=True)
class Part:
    """A piece of a source: text to translate if it has a kind, else text that stays as it is."""

    text: str
    kind: str = ""


def has_words(text: str) -> bool:
    """Return whether a text has words outside of formulas, code, tags and the targets of links."""
    return bool(WORD.search(NOT_WORDS.sub(" ", text)))


def parts(source: str) -> list[Part]:
    """Split Markdown into parts. Their texts together are the source, with each paragraph on one line."""
    lines = source.split("\n")
    found: list[Part] = []
    at = 0
    while at < len(lines):
        end = block_end(lines, at)
        found += [Part("\n")] if at else []
        found += block_parts(lines[at:end])
        at = end
    return found


def block_end(lines: list[str], at: int) -> int:
    """Return the index of the line after the block that begins at line `at`.

    A block is a fence, a formula, a paragraph or item with its further lines, or else one line.
    """
    if fence := FENCE.match(lines[at]):
        return next((i + 1 for i in range(at + 1, len(lines)) if lines[i].startswith(fence[1])), len(lines))
    if lines[at].startswith("$$"):
        if lines[at].count("$$") > 1:
            return at + 1
        return next((i + 1 for i in range(at + 1, len(lines)) if "$$" in lines[i]), len(lines))
    if not is_text(lines[at]) and not ITEM.match(lines[at]):
        return at + 1
    return next((i for i in range(at + 1, len(lines)) if not is_text(lines[i])), len(lines))


def is_text(line: str) -> bool:
    """Return whether a line continues a paragraph or an item: no other kind of block begins in it."""
    other = (FENCE, HEADING, ITEM, SUMMARY, TAG)
    return bool(line.strip()) and not line.startswith(("|", "$$")) and not any(kind.match(line) for kind in other)


def block_parts(lines: list[str]) -> Iterator[Part]:
    """Yield the parts of a block, given by its lines."""
    first, whole = lines[0], "\n".join(lines)
    if first == GLOSSARY:
        yield from glossary_parts(whole)
    elif first.startswith(CONTAINER):
        yield from (Part(f"{first}\n"), *parts("\n".join(lines[1:-1])), Part(f"\n{lines[-1]}"))
    elif first == COURSE_MAP:
        yield from map_parts(whole)
    elif FENCE.match(first) or not first.strip() or TABLE_RULE.match(first):
        yield Part(whole)
    elif first.startswith("$$"):
        yield Part(whole, "maths" if WORDS_IN_MATHS.search(whole) else "")
    elif found := SUMMARY.match(first):
        yield from (Part(found[1]), unit(found[2], "summary"), Part(found[3]))
    elif TAG.match(first):
        yield Part(whole)
    elif found := HEADING.match(first):
        yield from (Part(found[1]), unit(found[2], "heading"))
    elif first.startswith("|"):
        yield from (Part(piece) if BAR.fullmatch(piece) else unit(piece, "table") for piece in BAR.split(first))
    else:
        item = ITEM.match(first)
        text = [item[2] if item else first, *(line.strip() for line in lines[1:])]
        yield from (Part(item[1] if item else ""), unit(" ".join(text), "item" if item else "paragraph"))


def glossary_parts(whole: str) -> Iterator[Part]:
    """Yield the parts of a glossary, a block with its fences: each definition, on one line, and what is between two.

    A definition is to be translated: neighbouring lines that begin with two spaces, but not those with Chinese names.
    """
    for piece in DEFINITION.split(whole):
        if DEFINITION.fullmatch(piece):
            yield from (Part("  "), unit(" ".join(piece.split()), "definition"), Part("\n"))
        else:
            yield Part(piece)


def map_parts(whole: str) -> Iterator[Part]:
    """Yield the parts of the map of the course, a block with its fences: together they are `whole` again.

    In a line `name: question`, the question is to be translated.
    """
    at = 0
    for found in QUESTION.finditer(whole):
        yield from (Part(whole[at : found.start(2)]), unit(found[2], "question"))
        at = found.end()
    yield Part(whole[at:])


def unit(text: str, kind: str) -> Part:
    """Return a part to translate, unless its text has no words."""
    return Part(text, kind if has_words(text) else "")
