"""Tell which axes of a result count tokens, or examples: those that grow when the inputs get longer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]
Span = tuple[int, int]  # neighbouring axes: the first, and the one after the last


@dataclass(frozen=True)
class Counted:
    """What is counted along an axis of the inputs.

    Attributes:
        what: "tokens" or "examples"
        sizes: how many there are, and how many in the longer inputs, for each number of them: {(5, 6)}
        grown: the shapes of all results for the longer inputs; None if the program takes none, so that sizes tell
        others: the shapes of all results for inputs that are longer along another axis
    """

    what: str = "nothing"
    sizes: frozenset[tuple[int, int]] = frozenset()
    grown: Sequence[Shape] | None = None
    others: Sequence[Sequence[Shape]] = ()

    def spans(self, i: int, shape: Shape) -> list[Span]:
        """Return where the result of operation `i` counts the same, as (first axis, end).

        `shape` is the shape of the result. A span is one axis, or else neighbours together, such as the rows and
        columns of an image whose pixels are tokens. There may also be axes that count it several times, such as a batch
        into which heads were folded.
        """
        spans = [(a, b) for a in range(len(shape)) for b in range(a + 1, len(shape) + 1)]
        alone = [(a, b) for a, b in spans if b == a + 1]
        if self.grown is None:
            return [(a, b) for a, b in alone if (shape[a], shape[a]) in self.sizes]
        times = {(a, b): self._times(math.prod(shape[a:b]), *self._in_longer(i, a, b)) for a, b in spans}
        once = [span for span in spans if times[span] == 1]
        single = [span for span in once if span in alone]
        together = [(a, b) for a, b in once if {math.prod(shape[a:b])}.issuperset(self._in_longer(i, a, b)[1])]
        return (single or together) + [span for span in alone if times[span] > 1]

    def _in_longer(self, i: int, a: int, b: int) -> tuple[int, list[int]]:
        """Return how many there are along a span for the longer inputs, and for those longer along another axis."""
        assert self.grown is not None
        return math.prod(self.grown[i][a:b]), [math.prod(shapes[i][a:b]) for shapes in self.others]

    def _times(self, count: int, grown: int, others: list[int]) -> int:
        """Return how many numbers of an axis there are for each token or example; 0 if the axis does not count them.

        `count` is the axis's size, `grown` its size for longer inputs, `others` its sizes for inputs longer along
        another axis. In examples cut into windows, the windows of all examples may be as many as the tokens. But one
        example more adds a number of windows that is no multiple of the tokens.
        """
        for n, more in self.sizes:
            if count * more == grown * n and all(each % n == 0 for each in [count, *others]):
                return count // n
        return 0
