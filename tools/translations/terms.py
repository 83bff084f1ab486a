"""The terms of the Chinese editions: those of the glossary, and those of `terms.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tools.course import ROOT

HERE = Path(__file__).parent
GLOSSARY = ROOT / "book" / "glossary.md"  # the English one, also when a woven course is built
ENTRY = re.compile(r"^(\S.*)\n(?:  .*\n)*?  In Chinese: (\S.*?)(?: or (\S.*?))?\.$", re.MULTILINE)

NAMES = re.compile(r"In Chinese: (.+?)(?: or (.+?))?\.$", re.MULTILINE)
KEEPS_ITS_NAME = "  In Chinese it keeps its English name.\n"


@cache
def table() -> dict[str, Any]:
    return tomllib.loads((HERE / "terms.toml").read_text(encoding="utf-8"))


@cache
def glossary() -> dict[str, tuple[str, str]]:
    """Return the Chinese names of each term of the glossary: the traditional one and the simplified one."""
    found = ENTRY.findall(GLOSSARY.read_text(encoding="utf-8"))
    return {term: (traditional, simplified or traditional) for term, traditional, simplified in found}


def with_own_names(glossary: str, place: int) -> str:
    """Return the glossary of a Chinese edition: of the two Chinese names of each term, the one at a place (0 or 1)."""
    return NAMES.sub(lambda found: f"中文：{found.groups()[place] or found[1]}。", glossary.replace(KEEPS_ITS_NAME, ""))
