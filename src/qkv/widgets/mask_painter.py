"""MaskPainter: masks that say which query may attend to which key, and their effect on the weights (chapter 5)."""

from qkv.widgets.base import Widget, choice, listed, text, whole
from qkv.widgets.base import real as number

TOKENS = ["貓 cat", "追 chased", "老鼠 mouse", "， comma", "因為 because", "它 it", "餓了 hungry"]
SCORES = [
    [1.6, 1.8, 0.9, -0.4, 0.1, 0.7, 0.9],
    [2.1, 0.6, 2.2, -0.3, 0.0, 0.4, 0.2],
    [1.1, 2.0, 1.5, -0.4, 0.1, 0.5, 0.6],
    [0.4, 0.9, 0.6, 0.8, 1.0, 0.2, 0.5],
    [0.2, 1.7, 0.1, 0.9, 0.8, 0.6, 2.1],
    [2.6, 0.4, 1.6, -0.5, 0.3, 0.7, 2.4],
    [2.3, 0.2, 1.2, -0.6, 1.4, 1.9, 1.0],
]
N = len(TOKENS)


class MaskPainter(Widget):
    """The attention weights of seven tokens under a mask that the reader chooses and then paints.

    Traits:
        preset   the mask before painting: "all", "causal", "top-left", "window" or "padding"
        queries  the number of queries, which are the last tokens; "top-left" aligns the first query with the first key
        window   the number of tokens that a query sees in the preset "window", itself included
        real     the number of real tokens in the preset "padding"; the others are padding
        flipped  the painted cells, each as the number 7 · query + key: these differ from the preset
        method   how the mask is applied: hidden scores become "−∞", "−1e9" or "0" before the softmax, or hidden
                 weights become 0 "after" it
        scores   the scores before the mask, queries down and keys across
        tokens   the names of the tokens
    """

    preset = choice("causal", ["all", "causal", "top-left", "window", "padding"])
    queries = whole(N, 1, N)
    window = whole(3, 1, N)
    real = whole(5, 1, N)
    flipped = listed([], whole(0, 0, N * N - 1))
    method = choice("−∞", ["−∞", "−1e9", "0", "after"])
    scores = listed(SCORES, listed([0.0] * N, number(0, -1000, 1000), [N]), [N])
    tokens = listed(TOKENS, text(""), [N])

    @property
    def mask(self) -> list[list[bool]]:
        """The current mask with the painted cells: one row for each query, True = may attend."""
        first = N - self.queries
        return [
            [self._preset_allows(i, j, first) != (N * i + j in self.flipped) for j in range(N)] for i in range(first, N)
        ]

    def _preset_allows(self, i: int, j: int, first: int) -> bool:
        """Return whether the preset lets the query at position i attend to the key at position j.

        `first` is the position of the first query.
        """
        if self.preset == "all":
            return True
        if self.preset == "padding":
            return j < self.real
        if self.preset == "top-left":
            return j <= i - first
        return j <= i and (self.preset == "causal" or j > i - self.window)
