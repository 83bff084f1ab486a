"""Derive simplified Chinese, as the mainland writes it, from the traditional Chinese of Taiwan.

OpenCC (tw2sp) converts characters and everyday words. The course's terms come first: OpenCC turns 序列 (sequence)
into 串行 (serial) and 查詢 (query) into 查找 (search). It cannot know that 列 is a row in Taiwan, but a column on the
mainland.
"""

from __future__ import annotations

import re
from functools import cache

import opencc

from tools.translations.terms import glossary, table

FIRST = 0xE000  # private characters stand for the terms while OpenCC converts the rest
QUOTES = str.maketrans("「」『』", "“”‘’")


@cache
def converter() -> opencc.OpenCC:
    return opencc.OpenCC("tw2sp")


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
