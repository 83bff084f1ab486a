"""A translation is stale exactly when its English text has changed."""

from pathlib import Path

import pytest

from tools.translations import catalogues
from tools.translations.__main__ import texts, unfinished
from tools.translations.catalogues import messages
from tools.translations.simplified import not_approved, phrases, simplified
from tools.translations.sources import Unit

UNITS = [
    Unit("question", "paragraph", "Each row of the weights sums to one."),
    Unit("question", "paragraph", "The scores are divided by a number."),
    Unit("picture", "label", "weight"),
]
SAID = ["權重的每一列總和是一。", "分數要除以一個數。", "權重"]


def finished() -> catalogues.Catalog:
    catalog = catalogues.updated(UNITS, catalogues.Catalog(locale="zh_TW"), {})
    for unit, said in zip(UNITS, SAID, strict=True):
        messages(catalog)[unit.where, unit.text].string = said
    return catalog


def test_a_changed_sentence_makes_exactly_its_own_translation_stale() -> None:
    changed = [UNITS[0], Unit("question", "paragraph", "The scores are divided by the root of a number."), UNITS[2]]
    old = finished()
    assert list(catalogues.unfinished(UNITS, old)) == []
    assert len(list(catalogues.unfinished(changed, old))) == 2  # one is missing, and one is not in the source any more
    new = catalogues.updated(changed, old, {})
    (stale,) = catalogues.unfinished(changed, new)
    assert "is stale" in stale
    assert "root of a number" in stale
    message = messages(new)["question", changed[1].text]
    assert (message.string, message.user_comments) == (SAID[1], [f"was: {UNITS[1].text}"])
    for language in ("zh_TW", "zh_CN"):
        assert len(list(catalogues.unfinished(changed, catalogues.derived(new, language, str)))) == 1


def test_a_stale_translation_is_never_shown() -> None:
    changed = Unit("question", "paragraph", "Each row of the weights sums to two.")
    translate = catalogues.translator(catalogues.updated([changed, *UNITS[1:]], finished(), {}))
    assert translate(changed) == changed.text
    assert translate(UNITS[1]) == SAID[1]


def test_an_update_without_a_change_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    catalogues.write(file, finished())
    first = file.read_text(encoding="utf-8")
    catalogues.write(file, catalogues.updated(UNITS, catalogues.read(file, "zh_TW"), {}))
    assert file.read_text(encoding="utf-8") == first
    assert catalogues.memory(tmp_path, "zh_TW") == dict(zip([unit.text for unit in UNITS], SAID, strict=True))


def test_a_stale_translation_stays_stale_until_it_is_mended(tmp_path: Path) -> None:
    changed = [Unit("question", "paragraph", "Each row of the weights sums to 1."), *UNITS[1:]]
    once = catalogues.updated(changed, finished(), {})
    catalogues.write(file := tmp_path / "a.po", once)
    twice = catalogues.updated(changed, catalogues.read(file, "zh_TW"), {})
    assert messages(twice)["question", changed[0].text].user_comments == [f"was: {UNITS[0].text}"]
    assert list(catalogues.unfinished(changed, twice)) == list(catalogues.unfinished(changed, once)) != []
    messages(twice)["question", changed[0].text].flags.clear()
    assert list(catalogues.unfinished(changed, twice)) == []


def test_the_same_text_elsewhere_is_translated_once() -> None:
    new = catalogues.updated([Unit("other", "label", "weight")], catalogues.Catalog(locale="zh_TW"), {"weight": "權重"})
    assert messages(new)["other", "weight"].string == "權重"


def test_the_list_of_unfinished_pages_names_pages() -> None:
    assert set(unfinished()) <= texts().keys()


@pytest.mark.parametrize(
    ("traditional", "expected"),
    [
        ("查詢和鍵的每一列", "查询和键的每一行"),  # OpenCC alone: 查找和键的每一列
        ("矩陣有三欄", "矩阵有三列"),
        ("序列裡的程式碼", "序列里的代码"),
        ("這些數排列成「序列」", "这些数排列成“序列”"),
        ("變異數和標準差", "方差和标准差"),
    ],
)
def test_simplified_chinese_has_the_terms_of_the_mainland(traditional: str, expected: str) -> None:
    assert simplified(traditional) == expected


def test_the_words_that_opencc_replaces_are_found_whole() -> None:
    """Not the terms of the table, nor words of which OpenCC changes the characters alone."""
    assert list(phrases("這裡執行更多執行緒，用滑鼠")) == [("執行", "运行"), ("執行緒", "线程"), ("滑鼠", "鼠标")]
    assert list(phrases("序列裡的程式碼")) == []


def test_a_new_word_has_to_be_approved_and_a_needless_one_goes() -> None:
    lines = list(not_approved(["用滑鼠操作印表機"]))
    assert [line for line in lines if "becomes" in line] == [
        '印表機 becomes 打印机: add "印表機" = "打印机" to phrases.toml, or another word to terms.toml'
    ]
    assert "執行緒 is in no text: take it off phrases.toml" in lines
