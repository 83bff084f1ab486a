"""Chinese on pages: a font with the characters of each page inside it, for who has none.

The glossary, and some tokens in widgets, are Chinese, and a bare system shows boxes for them. Noto Sans comes in some
hundred parts for each way to write Chinese. What a page shows is cut out of them and joined to one font of a few kB.
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

from .fonts import inlined, reduced, saved

FONTS = Path(__file__).resolve().parents[3] / "node_modules" / "@fontsource-variable"
WAYS = ("noto-sans-tc", "noto-sans-sc")  # traditional first, then what only simplified Chinese has
CHARACTERS = re.compile(r"[\u2e80-\u303f\u3400-\u9fef\uf900-\ufaff\uff01-\uff60]")  # not the last, which ranges name
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
FAMILY = "QKV Sans"  # of which the palette and qkv.css know
NAMES = (1, 13)  # the font's and its licence's; the licence itself is in qkv-site-licenses.txt
GRID = 200  # steps in a letter's height: eleven for each pixel of a letter on a page
SHARED = "fonts/chinese.woff2"
STATIC = Path(qkv.widgets.__file__).parent / "static"
# How characters are joined in running text, and how they are set from top to bottom: a word or two needs neither.
UNUSED = ("GSUB", "GPOS", "GDEF", "BASE", "vhea", "vmtx", "VORG", "STAT", "meta", "gasp")
# One weight serves for both that the skin's Latin letters have: a browser looks only in the one that it asked for.
FACES = ("", "font-weight:600 900;")
# So many characters in a font that gzip, which looks back over 32 kB, writes it once for both weights.
TOGETHER = 100


def shown_in(page: str) -> str:
    """The Chinese characters of a page, in order, with those of its widgets' states, in which they may be escaped."""
    text = ESCAPED.sub(lambda found: chr(int(found[1], 16)), page)
    return "".join(sorted(set(CHARACTERS.findall(text))))


@cache
def parts(way: str) -> dict[str, Path]:
    """The part of a font in which each character would be.

    Raises:
        ExtensionError: the font is not installed.
    """
    if not (FONTS / way).exists():
        raise ExtensionError("The Chinese fonts are missing; get them with: npm install --no-save")
    listed: dict[str, str] = json.loads((FONTS / way / "unicode.json").read_text(encoding="utf-8"))
    return {
        chr(code): FONTS / way / "files" / f"{way}-{name.strip('[]')}-wght-normal.woff2"
        for name, ranges in listed.items()
        for one in ranges.split(",")
        for code in codes(one)
    }


def codes(one: str) -> range:
    """The numbers of a range as a style sheet has it: U+4e00 or U+4e00-4e0f."""
    first, _, last = one.removeprefix("U+").partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


@cache
def font_of(characters: str) -> bytes:
    """One font with these characters, as woff2.

    Raises:
        ExtensionError: no font has one of them.
    """
    pieces: list[TTFont] = []
    missing = set(characters)
    for way in WAYS:
        for part in sorted({parts(way)[character] for character in missing if character in parts(way)}):
            if wanted := missing & {chr(code) for code in TTFont(part, lazy=True).getBestCmap()}:
                pieces.append(regular(part, wanted))
                missing -= wanted
    if missing:
        raise ExtensionError(f"The Chinese fonts have no {' '.join(sorted(missing))}")
    whole = joined(pieces)
    whole["name"].names = [name for name in whole["name"].names if name.nameID in NAMES]
    scale_upem(whole, GRID)
    return saved(whole, "woff2")


def regular(part: Path, characters: Iterable[str]) -> TTFont:
    """Some characters of a part of a font, in its regular weight."""
    return instantiateVariableFont(reduced(part, characters, UNUSED), {"wght": 400}, inplace=True)


def joined(pieces: list[TTFont]) -> TTFont:
    """Fonts as one."""
    return Merger().merge([BytesIO(saved(piece)) for piece in pieces]) if len(pieces) > 1 else pieces[0]


def style(page: str) -> str:
    """The style that brings a page its Chinese characters inside it; nothing for most pages.

    What its widgets may come to show besides is fetched when they do: qkv.css names the file for all other characters.
    """
    characters = shown_in(page)
    pieces = [characters[i : i + TOGETHER] for i in range(0, len(characters), TOGETHER)]
    faces = "".join(face(piece, weight) for piece in pieces for weight in FACES)
    return f"<style>{faces}</style>" if faces else ""


def face(characters: str, weight: str) -> str:
    """Some characters in one weight, with their font."""
    ranges = ",".join(f"U+{ord(character):x}" for character in characters)
    source = f'url({inlined(font_of(characters))}) format("woff2")'
    return f'@font-face{{{weight}font-family:"{FAMILY}";src:{source};unicode-range:{ranges}}}'


def bring(app: Sphinx, config: Config) -> None:
    """Put the characters of all widgets into a file, from where Sphinx copies it."""
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(STATIC.glob("*.js")))
    file = Path(app.outdir).parent / "assets" / SHARED
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(font_of(shown_in(code)))


def setup(app: Sphinx) -> None:
    """Run before the pages are made."""
    app.connect("config-inited", bring)
