"""Fonts cut down to the characters that the course shows: a formula's, and the Chinese ones."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont


def cut(font: Path, characters: Iterable[str]) -> bytes:
    """A font with only these characters, as woff2. The sizes of letters and lines stay as they are.

    Hints are left out: they weigh a quarter, and screens on which they show are gone.
    """
    return saved(reduced(font, characters), "woff2")


def reduced(font: Path, characters: Iterable[str], unused: Iterable[str] = ()) -> TTFont:
    """A font with only these characters, and without the unused tables."""
    options = subset.Options(hinting=False, name_IDs=[0, 1, 2, 4, 13, 14])  # its licence goes with it
    options.drop_tables = [*options.drop_tables, *unused]
    loaded = TTFont(BytesIO(unpacked(font)), recalcTimestamp=False)
    smaller = subset.Subsetter(options)
    smaller.populate(text="".join(characters))
    smaller.subset(loaded)
    return loaded


@cache
def unpacked(font: Path) -> bytes:
    """A font's file without compression: to read woff2 takes long, and each part of a font is asked for many times."""
    return saved(TTFont(font, recalcTimestamp=False))


def saved(font: TTFont, flavor: str | None = None) -> bytes:
    """A font's file."""
    font.flavor = flavor
    written = BytesIO()
    font.save(written)
    return written.getvalue()


def inlined(font: bytes) -> str:
    """A font's file as a `data:` address, which a style sheet can hold."""
    return f"data:font/woff2;base64,{base64.b64encode(font).decode()}"
