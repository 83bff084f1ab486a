"""Describe a difference that no twin explains, and infer its cause from the exception, the shape or the values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from qkv.questions.engine.diagnosing import explain
from qkv.questions.engine.difference import WRONG_RESULT, Difference
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.gradients import no_gradient_text
from qkv.questions.engine.wording import input_name
from qkv.words import mark, sentences, t, translated

# The slugs of differences that no twin of the question explains, by the kind of difference.
SLUGS = {
    "dtype": "wrong-dtype",
    "aliased": "earlier-results-change",
    "changed": "inputs-changed",
    "unstable": "not-the-same-twice",
    "gradient": "gradient-cut",
    "large": "tensor-too-large",
    "growing": "state-that-grows",
}

# The slugs of answers that return where the case requires an exception, by the place of the difference.
RAISED_OTHERWISE = {"returned": "no-error-raised", "exception returned": "error-returned"}

# For exceptions with a known cause: patterns of the type and of the text, the slug, and a question about the cause.
CAUSES = (
    (
        "NameError|UnboundLocalError",
        "",
        "name-without-a-value",
        mark("Where is that name given a value, before it is used?"),
    ),
    (
        "IndexError",
        "Dimension out of range|tuple index out of range|too many indices",
        "axis-that-is-not-there",
        mark("How many axes does that tensor have, and from which end are they counted?"),
    ),
    (
        "IndexError",
        "out of bounds for dimension|list index out of range",
        "index-too-large",
        mark("How many entries are there, and which number has the last one?"),
    ),
    (
        "RuntimeError",
        "Sizes of tensors must match except in dimension",
        "parts-do-not-fit",
        mark("Parts that are joined may differ along one axis only. Along which other axes do these two differ?"),
    ),
    (
        "RuntimeError",
        "must match the size of tensor b",
        "sizes-do-not-match",
        mark(
            "Write the two shapes one below the other, so that the last axes meet. Which sizes differ? "
            "Is an axis missing?"
        ),
    ),
    (
        "RuntimeError",
        r"\.mT is only supported on matrices",
        "too-few-axes",
        mark("A matrix has two axes. Which step took an axis away from that tensor?"),
    ),
    (
        "RuntimeError",
        "Boolean value of Tensor with more than one value",
        "one-truth-for-many",
        mark("`if`, `and`, `or` and `a < b < c` ask for one True or False. Which operators compare entry by entry?"),
    ),
    (
        "RuntimeError",
        "Negation, the `-` operator, on a bool",
        "minus-for-not",
        mark("A mask has no sign. What turns True and False round?"),
    ),
    (
        "RuntimeError",
        "Subtraction, the `-` operator, with (a|two) bool",
        "true-and-false-subtracted",
        mark(
            "One side of that `-` is True or False. Which number should stand for each, and what makes numbers of them?"
        ),
    ),
    (
        "RuntimeError",
        r"(?i)(same dtype|expected scalar type)(?=.*\b(bool|int|long|byte)\b)(?=.*\b(float|double|half)\b)",
        "whole-numbers-in-a-product",
        mark(
            "One of the two holds whole numbers, or True and False, and the other fractions. "
            "Which of yours needs a `.float()` before that step?"
        ),
    ),
    (
        "TypeError",
        r'softmax\(\) (missing .*"dim"|received an invalid combination of arguments - got \(Tensor\))',
        "softmax-without-an-axis",
        mark(
            "You name no axis for the softmax. Which numbers should sum to 1 together, "
            "and along which axis do they lie?"
        ),
    ),
    (
        "TypeError",
        r"torch\.return_types\.|NamedResults",
        "values-and-indices",
        mark("`max` along an axis returns two things: values and their indices. Which of them do you need?"),
    ),
    (
        "TypeError",
        "must be Tensor, not (int|float)",
        "a-number-for-a-tensor",
        mark("A function of torch was given a plain number. Which operator or function of Python does the same?"),
    ),
    (
        "RuntimeError|ValueError",
        "Expected target size|Expected input batch_size",
        "classes-on-another-axis",
        mark("`cross_entropy` reads the classes from axis 1 of its first argument. What lies on that axis of yours?"),
    ),
    (
        "AttributeError",
        r"^'(?!list'|tuple'|int'|float'|str'|Tensor'|NoneType')\w+' object has no attribute",
        "attribute-never-set",
        mark("Is it given a value in `__init__`, under that very name?"),
    ),
    (
        "KeyError",
        "",
        "key-that-is-not-there",
        mark("Which keys does that dictionary have? Print them before this line: how is the one that you want spelt?"),
    ),
    (
        "TypeError|AttributeError",
        "NoneType",
        "nothing-returned",
        mark("Something was None there: an argument left out, or what a function without a `return` gave. Which?"),
    ),
)

WRONG_ARGUMENTS = r"([\w.<>]+)\(\) (takes|missing|got an unexpected)"  # what Python says of a call that does not fit

IN_A_BATCH = mark(
    "It fits one sequence. A batch puts an axis in front. Which line of yours works along another axis then?"
)

OUT_OF_TORCH = mark("No gradient passes through it. Which step leaves torch?")

NO_WAY_BACK = ("NumPy array", "float", "int")  # types through which no gradient flows

Cause = tuple[str | None, str]  # the slug of the mistake, if it has one, and the question about it
Shape = tuple[int, ...]


def describe_difference(evidence: Evidence, i: int, difference: Difference) -> Cause:
    """Return the slug, or None, and the message of a difference that no twin explains, found in case `i`.

    Wrong values or dtypes may follow from another difference in the case, such as a wrong shape. Then that one is
    described in their place.
    """
    if difference.kind in ("values", "dtype"):
        causes = [d for d in evidence.found[i] if d.kind in ("generator", "unstable", "shape")]
        difference = causes[0] if causes else difference
    if difference.kind == "values" and isinstance(difference.seen, Tensor) and not evidence.question.differs:
        slug, text = explain(difference.name, evidence.output_pairs(difference.name))
        return _slug_of(evidence, difference) or slug, sentences(text, _right_and_wrong(evidence))
    if difference.kind == "gradient" and difference.place[-1] == "none":
        return SLUGS["gradient"], _missing_gradients_text(evidence, i)
    slug, question = None, ""
    if difference.kind in ("raised", "shape") and evidence.fails_only_for_batches:
        question = translated(IN_A_BATCH)
    elif difference.kind == "raised":
        slug, question = _cause_of_an_exception(evidence, i)
    elif difference.kind == "shape":
        slug, question = _cause_of_shapes(evidence, difference)
    elif difference.kind == "type" and _slug_of(evidence, difference) == SLUGS["gradient"]:
        question = translated(OUT_OF_TORCH)
    in_which = _right_and_wrong(evidence) if difference.kind in WRONG_RESULT and difference.kind != "values" else ""
    return slug or _slug_of(evidence, difference), sentences(difference.text, question, in_which)


def _slug_of(evidence: Evidence, difference: Difference) -> str | None:
    """Return the general slug for a kind of difference, such as "gradient-cut"; None if there is none for this kind."""
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
    if difference.kind in WRONG_RESULT and evidence.fails_only_for_batches:
        return "one-batch-shape"
    return SLUGS.get(difference.kind)


def _missing_gradients_text(evidence: Evidence, i: int) -> str:
    """Return the message that names every input that no gradient reaches in case `i`."""
    cut = [d.place[0] for d in evidence.found[i] if d.kind == "gradient" and d.place[-1] == "none"]
    names = dict.fromkeys(input_name(evidence.question, evidence.cases[i], where) for where in cut)
    return no_gradient_text(t(", ").join(names))


def _right_and_wrong(evidence: Evidence) -> str:
    """Return a sentence that lists the kinds of cases that are right in all their outputs, and the wrong ones.

    It is empty if there are none that are right, and for questions whose answer is a test.
    """
    mixed = [name for name in evidence.right_names if name not in evidence.wrong_names]
    if not mixed or evidence.question.of_implementations:
        return ""
    right, wrong = (t("; ").join(map(translated, names)) for names in (mixed, evidence.wrong_names))
    return t("Right for: {right}. Wrong for: {wrong}.", right=right, wrong=wrong)


# ── causes of an exception ────────────────────────────────────────────────────────────────────────


def _cause_of_an_exception(evidence: Evidence, i: int) -> Cause:
    """Infer the cause of the exception in case `i` from its type, text and line.

    Return a slug and a question to the learner.

    They are None and "" if no cause is known.
    """
    raised = evidence.seen[i].raised
    if raised is None:
        return None, ""
    if raised.type == "TypeError" and re.search(WRONG_ARGUMENTS, raised.text) and not raised.line:
        making = evidence.cases[i].script[len(evidence.seen[i].results)].act == "make"
        if making and "__init__" not in raised.text:
            return "function-for-a-class", t("A class was asked for. What makes an object here, and what is called?")
        of_a_class = "__init__" in raised.text or raised.text.endswith("() takes no arguments")
        if of_a_class and not evidence.cases[i].wants_class:
            return "class-for-a-function", t("A function was asked for. Which line of your class would be its body?")
    step = len(evidence.seen[i].results)
    given = [k for k, value in enumerate(evidence.cases[i].script[step].args) if value is None]
    if "NoneType" in raised.text and given:
        name = input_name(evidence.question, evidence.cases[i], (step, given[0]))
        text = t("`{name}` is None in this call. What does the question say that this means?", name=name)
        return "argument-is-none", text
    for types, text, slug, question in CAUSES:
        if re.fullmatch(types, raised.type) and re.search(text, raised.text):
            return slug, translated(question)
    if raised.type == "TypeError" and (call := re.match(WRONG_ARGUMENTS, raised.text)) and raised.line:
        text = t("Which arguments does `{name}` take, and which does this line pass?", name=call[1])
        return "arguments-do-not-fit", text
    causes = [
        cause_of_a_product(seen.text, _matrix_shapes(evidence.want[j].results), seen.line)
        for j in evidence.ordinary
        if (seen := evidence.seen[j].raised)
    ]
    return most_frequent(cause_of_a_product(raised.text, _matrix_shapes(evidence.want[i].results), raised.line), causes)


def _matrix_shapes(values: Sequence[Any]) -> list[Shape]:
    """Return the sizes of the last two axes of all tensors in these results."""
    members = [one for value in values for one in (value if isinstance(value, (tuple, list)) else [value])]
    return [tuple(one.shape[-2:]) for one in members if isinstance(one, Tensor)]


def cause_of_a_product(text: str, wanted: Sequence[Shape] = (), line: str = "") -> Cause:
    """Infer why a matrix product failed: would the two factors fit in the other order, or with one transposed?

    Return the slug and a question to the learner, or None and "" if neither is so. The factors of q.mT @ k fit in the
    other order too, but k @ q.mT is the transpose of the scores that are wanted. So if swapping the factors gives the
    transpose of a `wanted` shape, the answer transposed the wrong factor. `text` is that of torch's error, which has
    both shapes. `line` is the answer's own line: `F.linear` there transposes a factor that the line does not show.
    """
    shapes = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", text)
    rows, inner, others, columns = map(int, shapes.groups()) if shapes else (0, 1, 2, 3)
    if columns == rows and (inner, others) in wanted:
        return (
            "wrong-factor-transposed",
            t("The wrong one of the two is transposed. Over which axis should the product sum?"),
        )
    if columns == rows:
        text = t("The other way round the two would fit. Which of them stands on the left?")
        return "factors-in-the-wrong-order", text
    if columns == inner and re.search(r"\blinear\(", line):
        text = t("`F.linear` transposes the weight itself: it wants `(out, in)`. Which shape does this line pass?")
        return "weight-for-linear-transposed", text
    if columns == inner or others == rows:
        return "not-transposed", t("One of the two is not transposed. Over which axis should the product sum?")
    return None, ""


def most_frequent(cause: Cause, causes: Sequence[Cause]) -> Cause:
    """Return the cause if at least 70 % of the cases have the same one: in one case, sizes may be equal by chance."""
    return cause if causes.count(cause) >= 0.7 * len(causes) else (None, "")


# ── causes of a wrong shape ───────────────────────────────────────────────────────────────────────


def _cause_of_shapes(evidence: Evidence, difference: Difference) -> Cause:
    """Infer the cause of a wrong shape from its shapes in all cases: the one that most of them have.

    Return the slug and a question to the learner; None and "" if one case alone is wrong, or no cause is known.
    """
    shapes = [(d.seen.shape, d.want.shape) for found in evidence.found for d in found if d.kind == "shape"]
    causes = [_cause_of_a_shape(tuple(seen), tuple(want)) for seen, want in shapes]
    cause = _cause_of_a_shape(tuple(difference.seen.shape), tuple(difference.want.shape))
    return most_frequent(cause, causes) if len(causes) > 1 else (None, "")


def _cause_of_a_shape(seen: Shape, want: Shape) -> Cause:
    """Infer from a wrong shape whether axes are permuted, merged, not merged, summed over, or off by one.

    Return the slug and a question to the learner, or None and "" if it is none of these.
    """
    if len(seen) == len(want) and sorted(seen) == sorted(want):
        return "axes-in-another-order", ""  # `shape_text` asks about it already
    if len(seen) != len(want) and [size for size in seen if size > 1] == [size for size in want if size > 1]:
        if len(seen) > len(want):
            return "size-one-axis-left", t("An axis of size 1 is left. Where do you take it away?")
        return "size-one-axis-lost", t("An axis of size 1 is gone. Which step takes it away?")
    if len(seen) < len(want) and _merges_to(want, seen):
        return "axes-merged", t("Two axes have become one. Which step does that, and to which two?")
    if len(seen) > len(want) and _merges_to(seen, want):
        return "axes-not-merged", t("One axis should be what two of yours are together. Which step joins them?")
    if len(seen) != len(want):
        return None, ""
    off = [(s, w) for s, w in zip(seen, want, strict=True) if s != w]
    if len(off) == 1 and off[0][0] == 1:
        return (
            "axis-summed-over",
            t("One axis is left with a single entry. Was something summed along it, or was it never split?"),
        )
    if all(abs(s - w) == 1 for s, w in off) and len({s - w for s, w in off}) == 1:
        text = t("There is one too many, or too few. Where does the counting start, and where does it end?")
        return "off-by-one", text
    return None, ""


def _merges_to(longer: Shape, shorter: Shape) -> bool:
    """Check whether merging neighbouring axes of the longer shape gives the shorter one.

    Shapes of a single number or of none do not count.
    """
    i = 0
    for size in shorter:
        product = 1
        while i < len(longer) and product < size:
            product *= longer[i]
            i += 1
        if product != size:
            return False
    return all(size == 1 for size in longer[i:]) and math.prod(longer) == math.prod(shorter) > 1
