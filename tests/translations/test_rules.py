"""Each rule finds the error that it is there for, planted in a right translation."""

import pytest

from tools.translations.rules import broken

TEXT = (
    "Every row of the **weights** in `softmax(S)` sums to 1, for $d_k$ up to 1,024 "
    "([Vaswani et al., 2017](../book/references.md))."
)
SAID = (
    "`softmax(S)` 裡**權重**的每一列總和都是 1，到 $d_k$ 為 1,024 都成立"
    "（[Vaswani et al., 2017](../book/references.md)）。"
)


def test_a_right_translation_breaks_no_rule() -> None:
    assert list(broken(TEXT, SAID, "zh_TW")) == []
    assert list(broken("Tried with {inputs}.", "試過的輸入：{inputs}。", "zh_TW")) == []


@pytest.mark.parametrize(
    ("right", "wrong", "finding"),
    [
        ("$d_k$", "$d_v$", "formula lost: $d_k$"),
        ("`softmax(S)`", "`softmax(s)`", "code lost: `softmax(S)`"),
        ("references.md", "notation.md", "link lost: ../book/references.md"),
        ("1,024", "1,042", "number lost: 1,024"),
        ("**權重**", "權重", "** stands 0 times, not 2"),
        ("**權重**", "**「權重」**", "Markdown does not see an emphasis"),
        ("每一列", "every row 每一列", "English: every row"),
        ("都成立", "都成立, 而且不變", "half-width after Chinese"),
        ("為 1,024", "為1,024", "no space"),
        ("都成立", "都 成立", "space between Chinese"),
        ("每一列", "每一行", "term: row is 列"),
        ("權重", "加權", "term: weights is 權重"),
        ("都成立", "都返回", "not a word of Taiwan: 返回"),
        ("（[", "“[", "quotation mark"),
    ],
)
def test_a_planted_error_is_found(right: str, wrong: str, finding: str) -> None:
    assert right in SAID
    found = list(broken(TEXT, SAID.replace(right, wrong), "zh_TW"))
    assert any(line.startswith(finding) for line in found), found


def test_a_placeholder_may_not_be_lost() -> None:
    assert "placeholder lost: {inputs}" in list(broken("Tried with {inputs}.", "試過了。", "zh_TW"))
