"""QKVStepper: the worked example of the course, step by step, with numbers that can be edited (chapter 2)."""

from qkv.widgets.base import Trait, Widget, choice, flag, listed, real, text, whole

STEPS = ("queries", "keys", "values", "scores", "weights", "output")


def _matrix(rows: list[list[int]]) -> Trait:
    row = listed(rows[0], real(0.0, -1000, 1000), lengths=[len(rows[0])])
    return listed(rows, row, lengths=[len(rows)])


class QKVStepper(Widget):
    """Self-attention on three tokens in steps, one table each: X → Q, K, V → scores → weights → output.

    All tables are shown. Those of the step are lit: the two factors of a matrix product, and the result. Without
    tables, it is a picture of one word's query, which meets the key of each word.

    Traits:
        x, w_q, w_k, w_v  the tokens (3, 4) and the three matrices (4, 3); numbers from −1000 to 1000
        tokens            the names of the three tokens
        matrices          False for the picture of the query of token `row`, without tables
        scaled            True if scores are divided by √3
        step              the step that is shown: "queries", "keys", "values", "scores", "weights" or "output"
        row, column       the entry of the result whose computation is shown, counted from 0
    """

    x = _matrix([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
    w_q = _matrix([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
    w_k = _matrix([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
    w_v = _matrix([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])
    tokens = listed(["the", "cat", "it"], text(""), lengths=[3])
    matrices = flag(True)
    matrices.tag(author=True)
    scaled = flag(False)
    step = choice("scores", STEPS)
    row = whole(1, 0, 2)
    column = whole(2, 0, 2)
