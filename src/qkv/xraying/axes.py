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
        """Return where the result of operation `i` counts the same.

        This is an axis, or else neighbours together, such as the rows and columns of an image whose pixels are tokens.
        There may also be axes that count it several times, such as a batch into which heads were folded.
        """
        grown = shape if self.grown is None else self.grown[i]
        spans = [(a, b) for a in range(len(shape)) for b in range(a + 1, len(shape) + 1)]
        counts = {(a, b): (math.prod(shape[a:b]), math.prod(grown[a:b])) for a, b in spans}
        alone = [(a, b) for a, b in spans if b == a + 1]
        single = [span for span in alone if counts[span] in self.sizes]
        if self.grown is None:
            return single
        same = [(a, b) for a, b in spans if all(math.prod(o[i][a:b]) == counts[a, b][0] for o in self.others)]
        together = [span for span in same if counts[span] in self.sizes]
        times = [span for span in alone if span not in single and self._is_times(*counts[span])]
        return (single or together) + times

    def _is_times(self, count: int, grown: int) -> bool:
        """Check whether an axis counts it a whole number of times."""
        return count < grown and any(count % n == 0 and count * more == grown * n for n, more in self.sizes)
