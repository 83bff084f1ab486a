"""Splitting a source into units loses nothing, and weaving changes nothing but words."""

import ast
import json
from pathlib import Path

import pytest

from tools.site import ROOT
from tools.translations import code, markdown, sources, terms
from tools.translations.__main__ import translated
from tools.translations.sources import Unit


@pytest.mark.parametrize("path", translated(), ids=lambda path: path.stem)
def test_a_notebook_woven_with_its_own_texts_is_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    woven = sources.woven_file(path, lambda unit: unit.text)
    if path.suffix == ".ipynb":
        assert json.loads(woven) == json.loads(text)
    else:  # a paragraph becomes one line
        assert woven.split() == text.split()


def test_weaving_changes_no_code_but_what_is_shown() -> None:
    """Structure, names and numbers of each cell stay, whatever the translations are."""
    path = ROOT / "chapters" / "03_scaling.ipynb"
    before = json.loads(path.read_text(encoding="utf-8"))
    after = sources.woven(before, lambda unit: "譯" if "{" not in unit.text else unit.text)
    for old, new in zip(before["cells"], after["cells"], strict=True):
        assert {**old, "source": 0} == {**new, "source": 0}
        if old["cell_type"] == "code" and not "".join(old["source"]).startswith("%"):
            assert without_strings(old["source"]) == without_strings(new["source"])
    assert before != after


def without_strings(lines: list[str]) -> str:
    tree = ast.parse("".join(lines))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def test_what_is_a_unit_of_markdown() -> None:
    text = (
        "# Why\n\nOne line\nof two.\n\n- an item\n  goes on\n\n"
        "| a head | $x$ |\n|---|---|\n| `code` | a cell |\n\n$$x$$\n\n```python\nno\n```"
    )
    kinds = [(part.kind, part.text) for part in markdown.parts(text) if part.kind]
    assert kinds == [
        ("heading", "Why"),
        ("paragraph", "One line of two."),
        ("item", "an item goes on"),
        ("table", "a head"),
        ("table", "a cell"),
    ]


GLOSSARY = (
    "```{glossary}\nkey\n  What it is,\n  in words. More.\n  In Chinese: 鍵 or 键.\n\n"
    "head\n  One.\n  In Chinese: 頭.\n```"
)


def test_of_a_glossary_the_definitions_are_units_and_its_terms_stay() -> None:
    parts = markdown.parts(GLOSSARY)
    units = [(part.kind, part.text) for part in parts if part.kind]
    assert units == [("definition", "What it is, in words. More."), ("definition", "One.")]
    assert "".join(part.text for part in parts) == GLOSSARY.replace("is,\n  in", "is, in")
    assert terms.with_own_names(GLOSSARY, 1).count("中文：键。") == 1
    assert terms.with_own_names(GLOSSARY, 1).count("中文：頭。") == 1


def test_of_the_front_page_the_map_and_the_container_are_read() -> None:
    text = (
        "```{container} start\n[Start](a.md) [On](b.md)\n```\n\n"
        "```{course-map}\n01_first: What is it?\n02_second: Why so?\n```"
    )
    parts = markdown.parts(text)
    units = [(part.kind, part.text) for part in parts if part.kind]
    assert units == [("paragraph", "[Start](a.md) [On](b.md)"), ("question", "What is it?"), ("question", "Why so?")]
    assert "".join(part.text for part in parts) == text


def test_a_docstring_is_a_unit_and_stays_one() -> None:
    source = 'def f(x):\n    """What it\n    gives."""\n    return x'
    assert [(place.kind, place.text) for place in code.places(source)] == [("docstring", "What it gives.")]
    assert sources.woven_code("", source, lambda unit: "給什麼。", {}) == 'def f(x):\n    """給什麼。"""\n    return x'


def test_what_is_a_unit_of_code() -> None:
    source = (
        'x = "data"  # the note\n'
        'print("said", f"value {x!r} of {3}", x)\n'
        'ax.plot(x, label="drawn" if x else "other")\n'
        'show(figure, alt="seen", caption="read")\n'
        'Predict("asked?", ["one way", "two ways"])\n'
    )
    found = [(place.kind, place.text) for place in code.places(source)]
    assert found == [
        ("comment", "the note"),
        ("print", "said"),
        ("print", "value {x!r} of {3}"),
        ("label", "drawn"),
        ("label", "other"),
        ("alt", "seen"),
        ("caption", "read"),
        ("prediction", "asked?"),
        ("prediction", "one way"),
        ("prediction", "two ways"),
    ]


def test_a_translation_is_written_as_python() -> None:
    source = 'print(f"in {n} rows")\nshow(figure, alt="one " "line")  # why\n'
    said = {"in {n} rows": "共 {n} 列", "one line": '他說"一"行', "why": "為什麼"}
    woven = sources.woven_code("cell", source, lambda unit: said[unit.text], {})
    assert woven == 'print(f"共 {n} 列")\nshow(figure, alt="他說\\"一\\"行")  # 為什麼\n'


def test_a_cell_that_is_no_python_stays() -> None:
    assert code.places("%pip install qkv  # the package") == []


def test_a_hidden_cell_stays() -> None:
    cell = {"cell_type": "code", "id": "a", "metadata": {"tags": ["remove-cell"]}, "source": ['print("a word")']}
    assert list(sources.cell_units(cell)) == []
    assert list(sources.cell_units({**cell, "metadata": {}})) == [Unit("a", "print", "a word")]


NAMES = {
    "one head": "一個頭",
    "none": "沒有",
    "the mask": "遮罩",
    "{n} heads": "{n} 個頭",
    "I saw": "I saw",
    "ours": "我們的",
}


def code_cell(source: str, *tags: str) -> sources.Notebook:
    return {"cell_type": "code", "id": source, "metadata": {"tags": list(tags)}, "source": [source]}


@pytest.mark.parametrize(
    ("source", "woven"),
    [
        ('x = {"one head": 1, "none": "none"}', 'x = {"一個頭": 1, "沒有": "none"}'),  # a key, and one beside it
        ('for k, n in (("ours", 1), ("the mask", 2)): f(k)', 'for k, n in (("我們的", 1), ("遮罩", 2)): f(k)'),
        ('x["the mask"] = f"{n} heads"', 'x["遮罩"] = f"{n} 個頭"'),
        ('words = ["I saw", "none"]', 'words = ["I saw", "沒有"]'),  # its translation is the text itself: data
        ('TrainLab(stored=["one head"])', 'TrainLab(stored=["one head"])'),
        ('Model(first=x == "one head")', 'Model(first=x == "一個頭")'),
        ('x["none"], f("none"), y == "none", f("one head")', 'x["沒有"], f("none"), y == "沒有", f("一個頭")'),
    ],
)
def test_a_name_is_translated_wherever_code_looks_for_it(source: str, woven: str) -> None:
    assert woven_after_names(source) == woven


def test_a_name_is_translated_in_a_hidden_cell_too() -> None:
    assert woven_after_names('assert x["none"] < x["one head"]', "remove-cell") == 'assert x["沒有"] < x["一個頭"]'


def woven_after_names(source: str, *tags: str) -> str:
    """Return a cell that follows a cell with all names."""
    table = code_cell(f"x = {[name for name in NAMES if '{' not in name]}")
    cells = [table, code_cell(source, *tags)]
    return "".join(sources.woven({"cells": cells}, lambda unit: NAMES.get(unit.text, unit.text))["cells"][1]["source"])


def test_what_only_code_reads_is_no_name() -> None:
    for source in ('f("two words")', 'x = "two words"', 'Model({"two words": 1})', '["one", "two"]', 'f"{x}.{y:3d}"'):
        assert code.places(source) == [], source
