"""The words of a message in the reader's language: `t("{n} of {most} points", n=3, most=4)`.

A text in the code is English. It is also the key of its translation, which stands in `dictionaries/LANGUAGE.json`
(`make translations` writes these files). A text without a translation is shown in English. No name of a case, status or
idea is ever translated where code compares it: only where it is shown.

- `t` translates a text that stands in its call, a whole sentence, and fills in its placeholders.
- `translated` translates a text that is data: a message of a question, the name of a case.
- `mark` marks a text that is data in a module, so that it comes into the catalogues.
- `retold` translates a text that arrives with its placeholders filled in, because the sandbox has no dictionary.
- `joined` joins the parts of a list, and `sentences` joins sentences.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DICTIONARIES = Path(__file__).parent / "dictionaries"
ENGLISH = "en"
_words: dict[str, str] = {}
_language = ""  # until the first text: then what QKV_LANGUAGE says


def known() -> list[str]:
    """Return the languages that `speak` takes."""
    return [ENGLISH, *sorted(path.stem for path in DICTIONARIES.glob("*.json"))]


def speak(language: str) -> None:
    """Choose the language of checks and reports: "en", "zh_TW" or "zh_CN".

    Without this call it is the one that the environment variable QKV_LANGUAGE names, or else English.

    Raises:
        ValueError: the course has no dictionary of this language; the message lists those that it has.
    """
    global _language
    if language == _language:
        return
    if language not in known():
        raise ValueError(f"the course does not speak {language!r}; it speaks {', '.join(known())}")
    _words.clear()
    if language != ENGLISH:
        _words.update(json.loads((DICTIONARIES / f"{language}.json").read_text(encoding="utf-8")))
    _language = language


def language() -> str:
    """Return the language of this process, as `speak` set it.

    At the first call without `speak`, set the one that QKV_LANGUAGE names, or else English. For an unknown one, raise
    `speak`'s ValueError.
    """
    if not _language:
        speak(os.environ.get("QKV_LANGUAGE") or ENGLISH)
    return _language


def t(text: str, /, **values: Any) -> str:
    """Return a text in the reader's language, with its placeholders filled in if there are values."""
    said = translated(text)
    return said.format_map(values) if values else said


def translated(text: str) -> str:
    """Return a text that is data in the reader's language. Its placeholders stay."""
    language()
    return _words.get(text, text)


def retold(said: str, texts: Iterable[str]) -> str:
    """Return what the sandbox has said in English, in the reader's language.

    `texts` are the sentences with placeholders that it may have filled in. If none matches, `said` comes back as it is.
    """
    for text in texts:
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.*)", re.escape(text))
        if found := re.fullmatch(pattern, said, re.DOTALL):
            return t(text, **found.groupdict())
    return said


def mark(text: str) -> str:
    """Return a text as it is. Where it is shown, `translated` translates it."""
    return text


def in_words(slug: str) -> str:
    """Write a slug as English words and symbols: "scaled by d_k" for "scaled-by-d-k"."""
    return re.sub(r"\b(d|n|w|var) (k|q|v|model|heads?)\b", r"\1_\2", slug.replace("-", " "))


def joined(parts: Iterable[str]) -> str:
    """Join the parts of a list, of which there is at least one: "a", "a and b", "a, b and c"."""
    *most, last = parts
    return t("{some} and {last}", some=t(", ").join(most), last=last) if most else last


def sentences(*parts: str) -> str:
    """Join sentences, those that are not empty: with a space between them, which Chinese does not have."""
    return ("" if language().startswith("zh") else " ").join(filter(None, parts))
