"""The files of the course, and the languages in which it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {"__pycache__", ".ipynb_checkpoints"}


class Language(NamedTuple):
    """A language of the site."""

    name: str  # in its own words
    tag: str  # as HTML and search engines name it
    folder: str  # of its pages on the site; the English pages are at the root


ENGLISH = "en"
LANGUAGES = {
    ENGLISH: Language("English", "en", ""),
    "zh_TW": Language("繁體中文", "zh-Hant-TW", "zh-tw"),
    "zh_CN": Language("简体中文", "zh-Hans-CN", "zh-cn"),
}
TRANSLATED = tuple(code for code in LANGUAGES if code != ENGLISH)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder (or the file itself), except in cache folders of Python and Jupyter."""
    if folder.is_file():
        yield folder
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        yield from (Path(directory, name) for name in names)


def listed_pages() -> list[str]:
    """Return the pages that the table of contents lists, in its order and without suffixes: chapters/03_scaling."""
    table = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*(?:file|root): *(\S+) *$", table, re.MULTILINE)
