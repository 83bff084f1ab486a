"""HeadSplitter: into heads and back, the right way beside a wrong one (chapter 5)."""

from qkv.widgets.base import Widget, choice, flag, whole


class HeadSplitter(Widget):
    """A sheet of tokens and features is cut into heads, attended to and merged, while one token is nudged.

    There are two examples of four tokens (中和 | 有 | 一個 | 永和路 and I | saw | a | saw) with eight features, random
    numbers and random projections.

    Traits:
        n_heads  number of heads: 1, 2, 4 or 8
        wrong    the wrong way shown: "reshape both ways", "reshape in", "reshape out" or "heads first"
        nudged   which row is nudged: 0 to 3 in the first example, 4 to 7 in the second
        causal   whether each row of a head sees only itself and the rows above it
    """

    n_heads = choice(2, [1, 2, 4, 8])
    wrong = choice("reshape both ways", ["reshape both ways", "reshape in", "reshape out", "heads first"])
    nudged = whole(3, 0, 7)
    causal = flag(False)
