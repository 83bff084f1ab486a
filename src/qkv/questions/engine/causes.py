"""Say what may have led to a difference that no known wrong idea explains: read from an exception or a shape."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from qkv.questions.engine.comparing import STOPPED, WRONG_RESULT, Difference
from qkv.questions.engine.diagnosing import explain
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.wording import input_name

# What these differences are called where the question has no name of its own for them.
SLUGS = {
    "dtype": "wrong-dtype",
    "aliased": "earlier-results-change",
    "changed": "inputs-changed",
    "unstable": "not-the-same-twice",
    "gradient": "gradient-cut",
    "large": "tensor-too-large",
}

# What was done in place of raising the exception that was asked for.
RAISED_OTHERWISE = {"returned": "no-error-raised", "exception returned": "error-returned"}

# What an exception gives away, by its type and its text: a name for the mistake, and the question that leads to it.
CAUSES = (
    ("NameError|UnboundLocalError", "", "name-without-a-value", "Where is that name given a value, before it is used?"),
    (
        "IndexError",
        "Dimension out of range|tuple index out of range|too many indices",
        "axis-that-is-not-there",
        "How many axes does that tensor have, and from which end are they counted?",
    ),
    (
        "IndexError",
        "out of bounds for dimension|list index out of range",
        "index-too-large",
        "How many entries are there, and which number has the last one?",
    ),
    (
        "RuntimeError",
        "Sizes of tensors must match except in dimension",
        "parts-do-not-fit",
        "Parts that are joined may differ along one axis only. Along which other axes do these two differ?",
    ),
    (
        "RuntimeError",
        "must match the size of tensor b",
        "sizes-do-not-match",
        "Write the two shapes one below the other, so that the last axes meet. Which sizes differ? Is an axis missing?",
    ),
    (
        "RuntimeError",
        r"\.mT is only supported on matrices",
        "too-few-axes",
        "A matrix has two axes. Which step took an axis away from that tensor?",
    ),
    (
        "RuntimeError",
        "Boolean value of Tensor with more than one value",
        "one-truth-for-many",
        "`if`, `and`, `or` and `a < b < c` ask for one True or False. Which operators compare entry by entry?",
    ),
    (
        "RuntimeError",
        "Negation, the `-` operator, on a bool",
        "minus-for-not",
        "A mask has no sign. What turns True and False round?",
    ),
    (
        "RuntimeError",
        "Subtraction, the `-` operator, with (a|two) bool",
        "true-and-false-subtracted",
        "One side of that `-` is True or False. Which number should stand for each, and what makes numbers of them?",
    ),
    (
        "TypeError",
        r'softmax\(\) (missing .*"dim"|received an invalid combination of arguments - got \(Tensor\))',
        "softmax-without-an-axis",
        "You name no axis for the softmax. Which numbers should sum to 1 together, and along which axis do they lie?",
    ),
    (
        "RuntimeError|ValueError",
        "Expected target size|Expected input batch_size",
        "classes-on-another-axis",
        "`cross_entropy` reads the classes from axis 1 of its first argument. What lies on that axis of yours?",
    ),
    (
        "AttributeError",
        r"^'(?!list'|tuple'|int'|float'|str'|Tensor'|NoneType')\w+' object has no attribute",
        "attribute-never-set",
        "Is it given a value in `__init__`, under that very name?",
    ),
    (
        "TypeError|AttributeError",
        "NoneType",
        "nothing-returned",
        "Something was None there: an argument left out, or what a function without a `return` gave. Which?",
    ),
)

IN_A_BATCH = " It fits one sequence. A batch puts an axis in front. Which line of yours works along another axis then?"

OUT_OF_TORCH = " No gradient passes through it. Which step leaves torch?"

NO_WAY_BACK = ("NumPy array", "float", "int")  # types that carry no gradient

Cause = tuple[str | None, str]  # a name for the mistake, where there is one, and what to ask
Shape = tuple[int, ...]


def describe_difference(evidence: Evidence, i: int, difference: Difference) -> Cause:
    """Describe a difference that no twin explains; some kinds have a name of their own."""
    if difference.kind in ("values", "dtype"):
        causes = [d for d in evidence.found[i] if d.kind in ("generator", "unstable", "shape")]
        difference = causes[0] if causes else difference
    if difference.kind == "values" and isinstance(difference.seen, Tensor) and not evidence.question.differs:
        slug, text = explain(difference.name, evidence.pairs(difference.name))
        return _slug_of(evidence, difference) or slug, text
    if difference.kind == "gradient" and difference.place[-1] == "none":
        return SLUGS["gradient"], _without_gradient(evidence, i)
    slug, question = None, ""
    if difference.kind in ("raised", "shape") and evidence.only_batches:
        question = IN_A_BATCH
    elif difference.kind == "raised":
        slug, question = _cause_of_an_exception(evidence, i)
    elif difference.kind == "shape":
        slug, question = _cause_of_shapes(evidence, difference)
    elif difference.kind == "type" and _slug_of(evidence, difference) == SLUGS["gradient"]:
        question = OUT_OF_TORCH
    return slug or _slug_of(evidence, difference), difference.text + question + _only_some(evidence, difference)


def _slug_of(evidence: Evidence, difference: Difference) -> str | None:
    if difference.kind == "generator":
        return "generator-reseeded" if difference.place == "reseeded" else "generator-not-used"
    if difference.kind == "silent":
        return RAISED_OTHERWISE.get(difference.place, "wrong-error-raised")
    place = difference.place
    while isinstance(place, tuple) and place:
        place = place[-1]
    if difference.kind == "gradient" and place == "nan":
        return "gradient-is-nan"
    if difference.kind == "type" and place == "NoneType":
        return "nothing-returned"
    if difference.kind == "type" and evidence.question.gradients and place in NO_WAY_BACK:
        return "gradient-cut"
    if difference.kind in WRONG_RESULT and evidence.only_batches:
        return "one-batch-shape"
    return SLUGS.get(difference.kind)


def _without_gradient(evidence: Evidence, i: int) -> str:
    """Name every input that no gradient reaches."""
    cut = [d.place[0] for d in evidence.found[i] if d.kind == "gradient" and d.place[-1] == "none"]
    names = dict.fromkeys(input_name(evidence.question, evidence.cases[i], where) for where in cut)
    return f"The values are right, but no gradient reaches {', '.join(names)}. {STOPPED}"


def _only_some(evidence: Evidence, difference: Difference) -> str:
    """Say for which inputs it is right, where the text does not say it yet."""
    if difference.kind not in WRONG_RESULT or difference.kind == "values" or evidence.question.of_implementations:
        return ""
    mixed = [name for name in evidence.right_names if name not in evidence.wrong_names]
    return f" Right for: {'; '.join(mixed)}. Wrong for: {'; '.join(evidence.wrong_names)}." if mixed else ""


# ── an exception ──────────────────────────────────────────────────────────────────────────────────


def _cause_of_an_exception(evidence: Evidence, i: int) -> Cause:
    """Name what led to an exception, where its type and text say so."""
    raised = evidence.seen[i].raised
    if raised is None:
        return None, ""
    for types, text, slug, question in CAUSES:
        if re.fullmatch(types, raised.type) and re.search(text, raised.text):
            return slug, f" {question}"
    causes = [
        cause_of_a_product(seen.text, _matrices(evidence.want[j].results))
        for j in evidence.ordinary
        if (seen := evidence.seen[j].raised)
    ]
    return most_frequent(cause_of_a_product(raised.text, _matrices(evidence.want[i].results)), causes)


def _matrices(values: Sequence[Any]) -> list[Shape]:
    """The rows and columns of all tensors in there."""
    members = [one for value in values for one in (value if isinstance(value, (tuple, list)) else [value])]
    return [tuple(one.shape[-2:]) for one in members if isinstance(one, Tensor)]


def cause_of_a_product(text: str, wanted: Sequence[Shape] = ()) -> Cause:
    """Look at the shapes of two factors that do not fit: would they fit in the other order, or transposed?

    In the other order q.mT @ k fits as well; but what comes of it is the transpose of what is wanted.
    """
    shapes = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", text)
    rows, inner, others, columns = map(int, shapes.groups()) if shapes else (0, 1, 2, 3)
    if columns == rows and (inner, others) in wanted:
        return (
            "wrong-factor-transposed",
            " The wrong one of the two is transposed. Over which axis should the product sum?",
        )
    if columns == rows:
        return "factors-in-the-wrong-order", " The other way round the two would fit. Which of them stands on the left?"
    if columns == inner or others == rows:
        return "not-transposed", " One of the two is not transposed. Over which axis should the product sum?"
    return None, ""


def most_frequent(cause: Cause, causes: Sequence[Cause]) -> Cause:
    """Give the cause, where most cases have the same: sizes that are equal by chance in one case say nothing."""
    return cause if causes.count(cause) >= 0.7 * len(causes) else (None, "")


# ── a shape ───────────────────────────────────────────────────────────────────────────────────────


def _cause_of_shapes(evidence: Evidence, difference: Difference) -> Cause:
    """Name what a wrong shape gives away."""
    shapes = [(d.seen.shape, d.want.shape) for found in evidence.found for d in found if d.kind == "shape"]
    causes = [_cause_of_a_shape(tuple(seen), tuple(want)) for seen, want in shapes]
    cause = _cause_of_a_shape(tuple(difference.seen.shape), tuple(difference.want.shape))
    return most_frequent(cause, causes) if len(causes) > 1 else (None, "")


def _cause_of_a_shape(seen: Shape, want: Shape) -> Cause:
    """Read from a wrong shape whether axes were merged or left apart, mixed up, summed over, or are one off."""
    if len(seen) == len(want) and sorted(seen) == sorted(want):
        return "axes-in-another-order", ""  # the text says so
    if len(seen) != len(want) and [size for size in seen if size > 1] == [size for size in want if size > 1]:
        if len(seen) > len(want):
            return "size-one-axis-left", " An axis of size 1 is left. Where do you take it away?"
        return "size-one-axis-lost", " An axis of size 1 is gone. Which step takes it away?"
    if len(seen) < len(want) and _merges_to(want, seen):
        return "axes-merged", " Two axes have become one. Which step does that, and to which two?"
    if len(seen) > len(want) and _merges_to(seen, want):
        return "axes-not-merged", " One axis should be what two of yours are together. Which step joins them?"
    if len(seen) != len(want):
        return None, ""
    off = [(s, w) for s, w in zip(seen, want, strict=True) if s != w]
    if len(off) == 1 and off[0][0] == 1:
        return (
            "axis-summed-over",
            " One axis is left with a single entry. Was something summed along it, or was it never split?",
        )
    if all(abs(s - w) == 1 for s, w in off) and len({s - w for s, w in off}) == 1:
        return "off-by-one", " There is one too many, or too few. Where does the counting start, and where does it end?"
    return None, ""


def _merges_to(longer: Shape, shorter: Shape) -> bool:
    """Say whether joining one or more runs of neighbouring axes makes one shape of the other."""
    i = 0
    for size in shorter:
        product = 1
        while i < len(longer) and product < size:
            product *= longer[i]
            i += 1
        if product != size:
            return False
    return all(size == 1 for size in longer[i:]) and math.prod(longer) == math.prod(shorter) > 1
