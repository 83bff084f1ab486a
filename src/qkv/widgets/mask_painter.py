"""MaskPainter: who may attend to whom, and what that does to the weights (chapter 5)."""

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
    """Weights of seven tokens under a mask that you choose, then paint.

    Traits:
        preset   the mask before painting: "all", "causal", "top-left", "window" or "padding"
        queries  how many of the last tokens ask; "top-left" lines up the first of them with the first key
        window   how many tokens a row of "window" sees, itself included
        real     how many tokens "padding" leaves
        flipped  the cells painted since: 7 · query + key for each
        method   how the mask is applied: "−∞", "−1e9" or "0" before the softmax, or "after" it
        scores   scores before the mask, queries down and keys across
        tokens   their names
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
        """The mask as it stands, painted cells included: a row for each query, True = may attend."""
        first = N - self.queries
        return [
            [self._preset_allows(i, j, first) != (N * i + j in self.flipped) for j in range(N)] for i in range(first, N)
        ]

    def _preset_allows(self, i: int, j: int, first: int) -> bool:
        """Whether the query at position i may attend to the key at position j before anybody paints."""
        if self.preset == "all":
            return True
        if self.preset == "padding":
            return j < self.real
        if self.preset == "top-left":
            return j <= i - first
        return j <= i and (self.preset == "causal" or j > i - self.window)
