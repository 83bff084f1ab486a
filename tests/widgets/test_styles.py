"""Style sheets of different widgets meet on one page, so no two may style the same class of their own."""

import re
from itertools import combinations
from pathlib import Path

import pytest

import qkv.widgets

FOLDER = Path(qkv.widgets.__file__).parent
ROOT = Path(__file__).parents[2]


def classes(stem: str) -> set[str]:
    """The classes that a widget's style sheet names."""
    return classes_in(FOLDER / f"{stem}.css")


def classes_in(sheet: Path) -> set[str]:
    """The classes that a style sheet names, leaving out comments and numbers."""
    css = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
    return set(re.findall(r"\.([a-z][\w-]*)", re.sub(r'"[^"]*"', "", css)))


STEMS = sorted(path.stem for path in FOLDER.glob("*.css") if path.stem != "base")
COMMON = classes("base").union(*(classes(f"shared/{path.stem}") for path in (FOLDER / "shared").glob("*.css")))


@pytest.mark.parametrize(("one", "other"), list(combinations(STEMS, 2)))
def test_two_widgets_share_no_class_of_their_own(one: str, other: str):
    shared = (classes(one) & classes(other)) - COMMON
    assert not shared, f"both {one}.css and {other}.css style {', '.join(sorted(shared))}: rename one, or share it"


@pytest.mark.parametrize("sheet", ["book/static/qkv.css", "browser_python/runtime/page.css"])
@pytest.mark.parametrize("stem", [*STEMS, "shared/predicting"])
def test_the_site_styles_no_class_of_a_widget(stem: str, sheet: str):
    assert classes(stem) & classes_in(ROOT / sheet) - classes("base") == set()


@pytest.mark.parametrize("stem", STEMS)
def test_classes_are_prefixed(stem: str):
    assert {name for name in classes(stem) if not name.startswith("qkv-")} == set()
