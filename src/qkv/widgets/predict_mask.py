"""PredictMask: a mask to paint before the cell that gives it (chapters 5 and 7)."""

from collections.abc import Sequence

import traitlets

from qkv.widgets.base import Widget, flag, listed, text


class PredictMask(Widget):
    """A prediction: paint which query may attend to which key, commit, then see which cells were right.

        PredictMask("Which keys may each query see?", ["I", "saw"], ["I", "saw"], answer=[[1, 0], [1, 1]], why="…")

    Texts may hold `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  what is asked
        rows      the names of the queries
        columns   the names of the keys
        answer    the right mask, one list a query, True = may attend; 0 and 1 are taken too
        why       why that is the answer
        guess     the mask that the reader committed to; empty before that
        sure      whether the reader was sure of it
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
        value: tuple[tuple[bool, ...], ...] = proposal.value
        shape = (len(self.rows), len(self.columns))
        if value and all(shape) and (len(value), *{len(row) for row in value}) != shape:
            raise traitlets.TraitError(f"{proposal.trait.name} is {shape[0]} lists of {shape[1]} cells")
        return value
