"""Chinese on pages: the characters of a page, and a font that has all of them and no other."""

import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from fontTools.ttLib import TTFont
from qkv_site.chinese import SHARED, STATIC, characters_in, font_of, style, write_shared_font
from sphinx.config import Config
from sphinx.errors import ExtensionError

# Both ways to write it, and a full stop; they stand in several parts of the fonts.
WORDS = "权權注。"


def test_the_characters_of_a_page_are_those_of_its_text_and_of_its_widgets_states():
    assert characters_in(r"<p>注意, 注 café √d_k → ✓</p><script>\u6743 \u00e9</script>") == "意权注"
    assert characters_in("no Chinese") == style("no Chinese") == ""


def test_a_font_has_the_characters_of_both_ways_to_write_chinese_and_no_other():
    font = TTFont(BytesIO(font_of("".join(sorted(WORDS)))))
    assert set(map(chr, font.getBestCmap())) == set(WORDS)
    assert all(font["glyf"][font.getBestCmap()[ord(letter)]].numberOfContours > 0 for letter in WORDS)
    assert "fvar" not in font, "one weight"
    assert {name.nameID for name in font["name"].names} <= {1, 13}


def test_a_style_names_its_characters_and_no_other():
    made = style("<p>注 and 权</p>")
    assert "unicode-range:U+6743,U+6ce8}" in made
    assert re.findall(r"@font-face\{(font-weight:600 900;)?", made) == ["", "font-weight:600 900;"], "bold letters too"


def test_what_a_reader_may_choose_in_a_widget_is_in_a_file_of_the_site(tmp_path: Path):
    write_shared_font(SimpleNamespace(outdir=tmp_path / "html"), Config())
    font = TTFont(tmp_path / "assets" / SHARED)
    code = (STATIC / "sentence_lab.js").read_text(encoding="utf-8")
    assert set(characters_in(code)) <= set(map(chr, font.getBestCmap()))
    assert len(characters_in(code)) > 50


def test_a_character_that_no_font_has_stops_the_build():
    with pytest.raises(ExtensionError, match="have no \U0002a6a5"):
        font_of("\U0002a6a5")
