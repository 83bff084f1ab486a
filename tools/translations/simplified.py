"""Derive simplified Chinese, as the mainland writes it, from the traditional Chinese of Taiwan.

OpenCC (tw2sp) converts characters and everyday words. The course's terms come first: OpenCC turns 序列 (sequence)
into 串行 (serial) and 查詢 (query) into 查找 (search). It cannot know that 列 is a row in Taiwan, but a column on the
mainland. What else it turns into another word stands in `phrases.toml`, where somebody has read it once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import opencc

from tools.translations.rules import HAN
from tools.translations.terms import glossary, table

FIRST = 0xE000  # private characters stand for the terms while OpenCC converts the rest
QUOTES = str.maketrans("「」『』", "“”‘’")
APPROVED = Path(__file__).with_name("phrases.toml")
RUN = re.compile(f"[{HAN}]+")


@cache
def converter(of: str = "tw2sp") -> opencc.OpenCC:
    return opencc.OpenCC(of)


@cache
def terms() -> dict[str, str]:
    """Return the simplified form of each term, by its traditional form."""
    return {
        **dict(glossary().values()),
        **{term["zh_TW"]: term["zh_CN"] for term in table()["term"]},
        **{word: converter().convert(word) for word in table()["other"]["as_is"]},
        **table()["convert"],
    }


@cache
def any_term() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(terms(), key=len, reverse=True))))


def simplified(text: str) -> str:
    """Return a text in simplified Chinese, with the mainland's terms and quotation marks."""
    found: list[str] = []

    def hide(term: re.Match[str]) -> str:
        found.append(terms()[term[0]])
        return chr(FIRST + len(found) - 1)

    converted = converter().convert(any_term().sub(hide, text))
    for i, term in enumerate(found):
        converted = converted.replace(chr(FIRST + i), term)
    return converted.translate(QUOTES)


def phrases(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words, beside the terms, that OpenCC turns into other words, and not only into other characters.

    Each comes with the word that it becomes.
    """
    words, characters = converter().convert, converter("tw2s").convert
    for run in RUN.findall(any_term().sub(" ", text)):
        while words(run) != characters(run):
            end = next(i for i in range(1, len(run) + 1) if words(run[:i]) != characters(run[:i]))
            start = next(i for i in reversed(range(end)) if words(run[i:end]) != characters(run[i:end]))
            # A longer word may begin with this one: 執行緒 (a thread) with 執行 (to run).
            while end < len(run) and words(run[start : end + 1]) != words(run[start:end]) + characters(run[end]):
                end += 1
            yield run[start:end], words(run[start:end])
            run = run[end:]


def not_approved(texts: Iterable[str]) -> Iterator[str]:
    """Yield the words of these texts that OpenCC turns into other ones which nobody has read, and the needless ones."""
    approved = tomllib.loads(APPROVED.read_text(encoding="utf-8"))
    found = {old: new for text in texts for old, new in phrases(text)}
    for old, new in sorted(found.items()):
        if approved.get(old) != new:
            yield f'{old} becomes {new}: add "{old}" = "{new}" to {APPROVED.name}, or another word to terms.toml'
    yield from (f"{old} is in no text: take it off {APPROVED.name}" for old in approved.keys() - found.keys())
