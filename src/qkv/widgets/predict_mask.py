"""PredictMask: a mask to predict before the cell that computes it (chapters 5 and 7)."""

from collections.abc import Sequence

import traitlets

from qkv.widgets.base import Widget, flag, listed, text


class PredictMask(Widget):
    """A question about a mask: the reader paints the cells, commits, and then sees which cells are right.

        PredictMask("Which keys may each query see?", ["I", "saw"], ["I", "saw"], answer=[[1, 0], [1, 1]], why="…")

    Texts may contain `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  the text of the question
        rows      the names of the queries
        columns   the names of the keys
        answer    the right mask, one list for each query; True or 1 = may attend, False or 0 = hidden
        why       the explanation of the answer
        guess     the mask that the reader committed to; empty before that
        sure      True if the reader was sure of the guess
    """

    question = text("").tag(author=True)
    rows = listed([], text("")).tag(author=True)
    columns = listed([], text("")).tag(author=True)
    answer = listed([], listed([], flag(False))).tag(author=True)
    why = text("").tag(author=True)
    guess = listed([], listed([], flag(False)))
    sure = flag(False)

    def __init__(
        self,
        question: str,
        rows: Sequence[str],
        columns: Sequence[str],
        answer: Sequence[Sequence[bool | int]],
        why: str,
        **values: bool,
    ) -> None:
        mask = [[bool(may) for may in row] for row in answer]
        super().__init__(question=question, rows=rows, columns=columns, answer=mask, why=why, **values)

    @traitlets.validate("answer", "guess")
    def _has_a_cell_for_each_pair(self, proposal: traitlets.Bunch) -> tuple[tuple[bool, ...], ...]:
        """Return the proposed cells, or raise a TraitError if they are not a row for each query, a column for each key.

        No cells at all are valid, and so are any while there are no queries or keys.
        """
        value: tuple[tuple[bool, ...], ...] = proposal.value
        shape = (len(self.rows), len(self.columns))
        if value and all(shape) and (len(value), *{len(row) for row in value}) != shape:
            raise traitlets.TraitError(f"{proposal.trait.name} must be {shape[0]} lists of {shape[1]} cells")
        return value
