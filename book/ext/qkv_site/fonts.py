"""Reduce fonts to the characters that the course shows: those of formulas, and Chinese ones."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont


def subset_woff2(font: Path, characters: Iterable[str]) -> bytes:
    """Return a font with only these characters, as a woff2 file. The sizes of letters and lines do not change.

    Hints are left out: they are a quarter of the file, and today's screens do not need them.
    """
    return file_bytes(subset_font(font, characters), "woff2")


def subset_font(font: Path, characters: Iterable[str], unused: Iterable[str] = ()) -> TTFont:
    """Return a font with only these characters, and without the unused tables."""
    options = subset.Options(hinting=False, name_IDs=[0, 1, 2, 4, 13, 14])  # 13 and 14 contain the licence
    options.drop_tables = [*options.drop_tables, *unused]
    loaded = TTFont(BytesIO(uncompressed(font)), recalcTimestamp=False)
    smaller = subset.Subsetter(options)
    smaller.populate(text="".join(characters))
    smaller.subset(loaded)
    return loaded


@cache
def uncompressed(font: Path) -> bytes:
    """Return the uncompressed file of a woff2 font. Reading woff2 is slow, and each font is read many times."""
    return file_bytes(TTFont(font, recalcTimestamp=False))


def file_bytes(font: TTFont, flavor: str | None = None) -> bytes:
    """Return the contents of a font's file, uncompressed or in a flavor such as woff2, which the font then has."""
    font.flavor = flavor
    written = BytesIO()
    font.save(written)
    return written.getvalue()


def data_uri(font: bytes) -> str:
    """Return a woff2 file as a `data:` URI, which a style sheet can contain."""
    return f"data:font/woff2;base64,{base64.b64encode(font).decode()}"
