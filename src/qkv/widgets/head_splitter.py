"""HeadSplitter: one tape of memory that is dealt to heads, in the right and in a wrong way (chapter 5)."""

from qkv.widgets.base import Widget, choice, flag, real, whole


class HeadSplitter(Widget):
    """The numbers of a batch as they lie in memory, dealt to heads, and the outputs that change with one token.

    There are two examples of four tokens (the | cat | was | hungry and I | saw | a | saw) with eight features, random
    numbers and random projections.

    Traits:
        n_heads  the number of heads: 1, 2, 4 or 8
        wrong    the wrong way that is shown: "reshape both ways", "reshape in", "reshape out" or "heads first"
        nudged   the row whose values are changed a little: 0 to 3 in the first example, 4 to 7 in the second
        causal   True if each row of a head sees only itself and the rows above it
        dealt    how far the tape is dealt: 0 as it lies in memory, 1 all of it in its heads
    """

    n_heads = choice(2, [1, 2, 4, 8])
    wrong = choice("reshape both ways", ["reshape both ways", "reshape in", "reshape out", "heads first"])
    nudged = whole(3, 0, 7)
    causal = flag(False)
    dealt = real(1.0, 0, 1)
