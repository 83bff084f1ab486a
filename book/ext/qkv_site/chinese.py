"""Add to each page a font with its Chinese characters, for readers whose system has no Chinese font.

The glossary and some tokens in widgets are Chinese; without a font, a browser shows boxes for them. Noto Sans has about
a hundred files each for traditional and simplified Chinese. The characters of a page are taken out of these files and
merged into one font of a few kB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from io import BytesIO
from pathlib import Path

from fontTools.merge import Merger
from fontTools.ttLib import TTFont
from fontTools.ttLib.scaleUpem import scale_upem
from fontTools.varLib.instancer import instantiateVariableFont
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

import qkv.widgets
from tools.translations.skin import is_english

from .fonts import data_uri, file_bytes, subset_font

FONTS = Path(__file__).resolve().parents[3] / "node_modules" / "@fontsource-variable"
# Traditional Chinese first; the second font has the characters that exist only in simplified Chinese.
FAMILIES = ("noto-sans-tc", "noto-sans-sc")
# Not up to U+9FFF: the widgets' code contains that character as the end of a range in a regular expression.
CHARACTERS = re.compile(r"[\u2e80-\u303f\u3400-\u9fef\uf900-\ufaff\uff01-\uff60]")
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
FAMILY = "QKV Sans"  # the palette and qkv.css use this name
NAMES = (1, 13)  # name IDs: the font's name, and a note on its licence, whose text is in qkv-site-licenses.txt
GRID = 200  # units per em: eleven for each pixel of a letter on a page
SHARED = "fonts/chinese.woff2"
STATIC = Path(qkv.widgets.__file__).parent / "static"
# Tables for joining characters in running text and for vertical text, which single words do not need.
UNUSED = ("GSUB", "GPOS", "GDEF", "BASE", "vhea", "vmtx", "VORG", "STAT", "meta", "gasp")
# The same font is declared for normal and for bold text: a browser uses only a face of the weight that it needs.
FACES = ("", "font-weight:600 900;")
# Characters per font. The font is then smaller than gzip's window of 32 kB, so gzip stores it once for both weights.
PER_FONT = 100


def characters_in(page: str) -> str:
    """Return the Chinese characters of a page, sorted; they may be escaped, as in the states of widgets."""
    text = ESCAPED.sub(lambda found: chr(int(found[1], 16)), page)
    return "".join(sorted(set(CHARACTERS.findall(text))))


@cache
def file_of_each(family: str) -> dict[str, Path]:
    """Return the font file in which each character would be, if the family has the character.

    Raises:
        ExtensionError: the font family is not installed.
    """
    if not (FONTS / family).exists():
        raise ExtensionError("The Chinese fonts are missing. Install them with: npm install --no-save")
    listed: dict[str, str] = json.loads((FONTS / family / "unicode.json").read_text(encoding="utf-8"))
    return {
        chr(code): FONTS / family / "files" / f"{family}-{name.strip('[]')}-wght-normal.woff2"
        for name, ranges in listed.items()
        for unicode_range in ranges.split(",")
        for code in code_points(unicode_range)
    }


def code_points(unicode_range: str) -> range:
    """Return the code points of a CSS unicode range: U+4e00 or U+4e00-4e0f."""
    first, _, last = unicode_range.removeprefix("U+").partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


@cache
def font_of(characters: str) -> bytes:
    """Return one font with these characters, at least one, as a woff2 file.

    Raises:
        ExtensionError: one of the characters is in no font, or the fonts are not installed.
    """
    pieces: list[TTFont] = []
    missing = set(characters)
    for family in FAMILIES:
        for file in sorted({file_of_each(family)[c] for c in missing if c in file_of_each(family)}):
            if wanted := missing & {chr(code) for code in TTFont(file, lazy=True).getBestCmap()}:
                pieces.append(regular_subset(file, wanted))
                missing -= wanted
    if missing:
        raise ExtensionError(f"The Chinese fonts have no {' '.join(sorted(missing))}")
    whole = merged(pieces)
    whole["name"].names = [name for name in whole["name"].names if name.nameID in NAMES]
    scale_upem(whole, GRID)
    return file_bytes(whole, "woff2")


def regular_subset(file: Path, characters: Iterable[str]) -> TTFont:
    """Return these characters of a variable font, in the regular weight."""
    return instantiateVariableFont(subset_font(file, characters, UNUSED), {"wght": 400}, inplace=True)


def merged(pieces: list[TTFont]) -> TTFont:
    """Merge fonts, at least one, into one."""
    return Merger().merge([BytesIO(file_bytes(piece)) for piece in pieces]) if len(pieces) > 1 else pieces[0]


def style(page: str) -> str:
    """Return the style element that contains a page's Chinese characters as fonts; "" for a page without any.

    A page in Chinese has none either: it has thousands of characters, and its reader has a font for them. Errors are
    those of `face`.

    Widgets may later show other characters. A browser then fetches the file of all of them, which qkv.css names.
    """
    characters = characters_in(page) if is_english() else ""
    pieces = [characters[i : i + PER_FONT] for i in range(0, len(characters), PER_FONT)]
    faces = "".join(face(piece, weight) for piece in pieces for weight in FACES)
    return f"<style>{faces}</style>" if faces else ""


def face(characters: str, weight: str) -> str:
    """Return the `@font-face` rule for these characters, with their font (always the regular weight) inside.

    `weight` is one of FACES: a declaration with its semicolon, or "" for normal text. Errors are those of `font_of`.
    """
    ranges = ",".join(f"U+{ord(character):x}" for character in characters)
    source = f'url({data_uri(font_of(characters))}) format("woff2")'
    return f'@font-face{{{weight}font-family:"{FAMILY}";src:{source};unicode-range:{ranges}}}'


def write_shared_font(app: Sphinx, config: Config) -> None:
    """Write a font file with the Chinese characters of all widgets into a folder that Sphinx copies.

    Only the English build does this. Errors are those of `font_of`.
    """
    if not is_english():
        return
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(STATIC.glob("*.js")))
    file = Path(app.outdir).parent / "assets" / SHARED
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(font_of(characters_in(code)))


def setup(app: Sphinx) -> None:
    """Register `write_shared_font`, which Sphinx calls before it makes pages."""
    app.connect("config-inited", write_shared_font)
