"""One difference between an answer and the reference: its kind, what was seen, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "raised", "lacking", "silent", "structure", "type", "shape", "nan", "values", "dtype",
    "aliased", "changed", "unstable", "generator", "gradient", "large", "growing",
]  # fmt: skip
WRONG_RESULT: tuple[Kind, ...] = ("raised", "lacking", "structure", "type", "shape", "nan", "values")


@dataclass(frozen=True, eq=False)
class Difference:
    """One difference between an answer and the reference in one case.

    Attributes:
        kind: the kind of difference
        text: what was seen and what was expected, in a sentence or two
        place: data that locates the difference, such as a step or an input; two answers with the same mistake have
            equal places
        name: the name of the output that differs
        seen, want: the tensors or numbers of the answer and of the reference, for the kinds "values", "shape", "nan"
    """

    kind: Kind
    text: str
    place: Any = None
    name: str = ""
    seen: Any = None
    want: Any = None
