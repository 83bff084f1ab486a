"""The texts of the site that no page of the course contains, in the language of the site that is being built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tools.course import ENGLISH
from tools.translations import weaving

CATALOGUES = ("site", "widgets")
_language = [ENGLISH]
_words: dict[str, str] = {}


def speak(language: str) -> None:
    """Choose the language of all texts that `t` returns from now on, and load its catalogues."""
    _language[0] = language
    _words.clear()
    if language != ENGLISH:
        for name in CATALOGUES:
            _words.update(weaving.words(name, language))


def language() -> str:
    """Return the language of the site."""
    return _language[0]


def is_english() -> bool:
    """Return whether this is the English site."""
    return language() == ENGLISH


def t(text: str, /, **values: Any) -> str:
    """Return one of the site's texts in its language, with its placeholders filled in."""
    said = _words.get(text, text)
    return said.format_map(values) if values else said


def words_of(texts: Iterable[str]) -> dict[str, str]:
    """Return the translations of these texts: those that have one."""
    return {text: _words[text] for text in texts if text in _words}
