"""What the site brings along: the theme's style sheet, without what makes widgets slow."""

from pathlib import Path

from qkv_site.assets import without_any_class, write_theme


def test_selectors_that_ask_for_any_class_go_and_others_stay():
    style = "dl[class]:not(.a,.b) dd{x:1}p:is(.a,.b) dt,dl:not([class]) dt,pre{y:2}[class*=c]{z:3}"
    assert without_any_class(style) == "p:is(.a,.b) dt,pre{y:2}[class*=c]{z:3}"
    assert without_any_class("@media print{i[class]{w:4}b{v:5}}") == "@media print{b{v:5}}"


def test_the_theme_s_style_has_none_of_them_and_little_else_is_gone(tmp_path: Path):
    write_theme(tmp_path)
    style = (tmp_path / "furo.css").read_text(encoding="utf-8")
    assert "[class]" not in style
    assert ".field-list dt" in style
    assert len(style) > 45_000
