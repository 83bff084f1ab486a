"""New numbers, from a seed, for the small examples in the exercises: for a new term.

An example is in two cells of a solution: in the text of the question, as the paragraph that begins with "By hand:",
and in the code cell in which learners try their answer. A function here draws the numbers, computes the result, and
returns the text and the replacements in the code. The same seed gives the same numbers. Examples about a word or a rule
have no function here, and do not change.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from nbformat import NotebookNode
from torch import Tensor

from qkv import attention, cache, positions, sequences

PARAGRAPH = re.compile(r"^By hand: .*$", re.MULTILINE)


class MissingError(Exception):
    """A notebook lacks a cell, a paragraph or a piece of code that an example should replace."""


@dataclass(frozen=True)
class Example:
    """The text and the code of one example, with new numbers.

    Attributes:
        by_hand: the text of the paragraph, after "By hand: "
        code: the replacements in the code cell, old code to new code
        result: the first numbers that the code prints; a test runs the code and compares them
    """

    by_hand: str
    code: dict[str, str]
    result: Sequence[float]


def redraw(notebook: NotebookNode, seed: int) -> None:
    """Replace the numbers of all examples in a notebook, in place.

    Raises:
        MissingError: a cell is missing, or does not have the text or code that its example replaces.
    """
    cells = {cell.id: cell for cell in notebook.cells if "id" in cell}
    for question, example in EXAMPLES.items():
        text = cells.get(f"question-{question.replace('.', '-')}")
        if text is None:
            continue
        drawn = example(random.Random(f"{seed} {question}"))
        trial_id = f"try-{question.replace('.', '-')}"
        trial = cells.get(trial_id)
        paragraphs = PARAGRAPH.findall(text.source)
        if len(paragraphs) != 1 or trial is None:
            raise MissingError(f"question {question} should have one paragraph “By hand: …” and a cell {trial_id}")
        text.source = text.source.replace(paragraphs[0], f"By hand: {drawn.by_hand}")
        for old, new in drawn.code.items():
            if old not in trial.source:
                raise MissingError(f"the cell {trial_id} should have {old!r} in it")
            trial.source = trial.source.replace(old, new)


# ── to draw numbers and to write them ─────────────────────────────────────────────────────────────


def vector(draw: random.Random, size: int, low: int, high: int) -> list[int]:
    """Return random whole numbers from low to high, both included."""
    return [draw.randint(low, high) for _ in range(size)]


def vectors(draw: random.Random, n: int, size: int, low: int, high: int) -> list[list[int]]:
    """Return n different random vectors, none of them all zeros."""
    found: list[list[int]] = []
    while len(found) < n:
        new = vector(draw, size, low, high)
        if any(new) and new not in found:
            found.append(new)
    return found


def literal(values: Any) -> str:
    """Write nested lists as Python code, whole numbers without a decimal point."""
    if isinstance(values, list):
        return f"[{', '.join(map(literal, values))}]"
    return f"{values:g}" if not isinstance(values, bool) else str(values)


def floats(values: list[Any]) -> str:
    """Write nested lists as `literal` does, but the first number as a float, so that torch makes a float tensor."""
    return re.sub(r"(-?\d+)(?![\d.])", r"\1.0", literal(values), count=1)


def rows(values: list[list[Any]]) -> str:
    """Write vectors for a sentence: `[1, 2]`, `[3, 4]` and `[5, 6]`."""
    named = [f"`{literal(row)}`" for row in values]
    return f"{', '.join(named[:-1])} and {named[-1]}"


def plain(result: Tensor) -> list[Any]:
    """Return a tensor as nested lists."""
    return result.tolist()


def flat(result: Tensor) -> list[float]:
    """Return the numbers of a tensor in one list."""
    return result.flatten().double().tolist()


# ── chapter 1 ─────────────────────────────────────────────────────────────────────────────────────


def one_hot(draw: random.Random) -> Example:
    size = draw.randint(3, 5)
    ids = draw.choice([[i, j] for i in range(size) for j in range(size) if i != j and j != i + 1])
    result = sequences.one_hot(torch.tensor(ids), size)
    return Example(
        f"the ids `{ids}` in a vocabulary of {size} give `{literal(plain(result))}`. "
        f"The ids `[{ids[0]}, {size}]` raise `ValueError`, and so do the ids `[-1, {ids[0]}]`.",
        {
            "torch.tensor([0, 2, 2]), 3)": f"torch.tensor({[*ids, ids[1]]}), {size})",
            "torch.tensor([0, outside]), 3)": f"torch.tensor([{ids[0]}, outside]), {size})",
            "(3, -1)": f"({size}, -1)",
        },
        flat(result),
    )


def embed(draw: random.Random) -> Example:
    numbers = draw.sample(range(1, 10), 6)
    table = [numbers[i : i + 2] for i in (0, 2, 4)]
    ids = draw.choice(([2, 0, 2], [1, 0, 1], [0, 2, 0], [2, 1, 2], [1, 2, 1]))
    result = sequences.embed(torch.tensor(ids), torch.tensor(table))
    return Example(
        f"with the table `{table}`, the ids `{ids}` give `{plain(result)}`.",
        {"[[1.0, 2], [3, 4], [5, 6]]": floats(table), "[2, 0, 2]": str(ids)},
        flat(result),
    )


def padded(draw: random.Random) -> Example:
    a, b, c = draw.sample(range(1, 10), 3)
    return Example(
        f"the sequences `[[{a}], [{b}]]` and `[[{c}]]` give the batch `[[[{a}], [{b}]], [[{c}], [0]]]` and the mask "
        "`[[True, True], [True, False]]`.",
        {"[[5.0], [6.0]]": f"[[{a}.0], [{b}.0]]", "[[7.0]]": f"[[{c}.0]]"},
        [a, b, c, 0],
    )


def windows(draw: random.Random) -> Example:
    window, hop = draw.randint(3, 6), 2
    n = window + 2 * hop - 1  # one sample fewer than a third row needs
    first, second = list(range(window)), list(range(hop, hop + window))
    return Example(
        f"the signal `{list(range(n))}` with a window of {window} and a hop of {hop} gives `{[first, second]}`. "
        f"Sample {n - 1} is left out. With one more sample, {n}, there is a third row.",
        {
            "seven samples, then eight": f"{n} samples, then {n + 1}",
            "torch.arange(7.0), 4, 2": f"torch.arange({n}.0), {window}, {hop}",
            "torch.arange(8.0), 4, 2": f"torch.arange({n + 1}.0), {window}, {hop}",
        },
        [*first, *second],
    )


# ── chapter 2 ─────────────────────────────────────────────────────────────────────────────────────


def projection(draw: random.Random) -> Example:
    x, w_q = vector(draw, 2, 1, 5), vectors(draw, 2, 3, 0, 3)
    result = torch.tensor(x) @ torch.tensor(w_q)
    return Example(
        f"the token `{x}` and the matrix `{w_q}` make the query `{plain(result)}`.",
        {"x = torch.tensor([[1.0, 2]])": f"x = torch.tensor({floats([x])})", "[[1.0, 0, 1], [0, 3, 1]]": floats(w_q)},
        flat(result),
    )


def scores(draw: random.Random) -> Example:
    q, k = vectors(draw, 2, 2, 0, 3), vectors(draw, 3, 2, -1, 3)
    result = torch.tensor(q) @ torch.tensor(k).mT
    return Example(
        f"the queries {rows(q)} meet the keys {rows(k)}. The scores are `{plain(result)}`.",
        {"[[1.0, 0], [1, 2]]": floats(q), "[[3.0, 1], [0, 1], [-1, 1]]": floats(k)},
        flat(result),
    )


def mixture(draw: random.Random) -> Example:
    first, last = vectors(draw, 2, 2, 0, 4)
    v = [[2 * n for n in first], vector(draw, 2, 7, 9), [2 * n for n in last]]
    result = attention.weighted_sum(torch.tensor([[0.5, 0, 0.5]]), torch.tensor(v).float())
    return Example(
        f"the weights `[[0.5, 0, 0.5]]` and the values {rows(v)} give `{literal(plain(result))}`.",
        {"[[2.0, 0], [9, 9], [4, 6]]": floats(v)},
        flat(result),
    )


def additive(draw: random.Random) -> Example:
    a, v = draw.randint(1, 2), draw.randint(2, 6)
    score = v * math.tanh(a)
    return Example(
        f"with all widths 1, `w_q = w_k = [[1]]` and `v = [{v}]`, the query `[{a}]` meets the keys `[-{a}]` and `[0]`. "
        rf"The scores are ${v}\tanh(0) = 0$ and ${v}\tanh({a}) \approx {score:.4f}$.",
        {
            "torch.tensor([[1.0]])": f"torch.tensor([[{a}.0]])",
            "[[-1.0], [0.0]]": f"[[-{a}.0], [0.0]]",
            "torch.tensor([2.0])": f"torch.tensor([{v}.0])",
        },
        [0, score],
    )


# ── chapter 3 ─────────────────────────────────────────────────────────────────────────────────────


def scaled(draw: random.Random) -> Example:
    """Return an example with even entries in the query and d_k = 4, so that every scaled score is a whole number."""
    q = [2 * n for n in vector(draw, 3, 0, 2)] + [2]
    k = vectors(draw, 3, 4, -1, 3)
    result = attention.scaled_scores(torch.tensor([q]).float(), torch.tensor(k).float())
    return Example(
        f"the query `{q}` meets the keys {rows(k)}. The scaled scores are `{literal(plain(result)[0])}`.",
        {"[[2.0, 0, 0, 2]]": floats([q]), "[[1.0, 1, 1, 1], [0, 3, 0, 1], [-1, 0, 0, 0]]": floats(k)},
        flat(result),
    )


def variance(draw: random.Random) -> Example:
    r = draw.randint(2, 9)
    result = attention.score_variance(2, r * r, 1)
    return Example(
        "with `d_k = 2` and all entries $-1$ or $1$ with equal probability, the dot product is $-2$, $0$, $0$ or $2$. "
        f"Its variance is 2. With $-{r}$ or ${r}$ in the query, it is {result}.",
        {"entries of −3 or 3 have variance 9": f"entries of −{r} or {r} have variance {r * r}", "9.0": f"{r * r}.0"},
        [2.0, result],
    )


def mean_of_values(draw: random.Random) -> Example:
    v = _three_values(draw)
    return Example(
        "the query `[0, 0]` scores 0 with every key. With three keys and the values "
        f"`[{v[0]}]`, `[{v[1]}]`, `[{v[2]}]`, its weights are all $\\frac13$ and its output is `[{sum(v) // 3}]`.",
        {"[[3.0], [6], [0]]": floats([[n] for n in v])},
        [sum(v) / 3],
    )


def _three_values(draw: random.Random) -> list[int]:
    """Return three whole numbers whose mean is a whole number."""
    a, b = draw.sample(range(1, 10), 2)
    return [a, b, (-a - b) % 3]


def slopes(draw: random.Random) -> Example:
    m = draw.randint(3, 6)
    x = f"{m - 1}/{m * m}"
    number = (m - 1) / (m * m)
    return Example(
        f"for `p = [1/{m}, {m - 1}/{m}]` the table is `[[{x}, −{x}], [−{x}, {x}]]`.",
        {"[0.5, 0.5]": f"[1 / {m}, {m - 1} / {m}]"},
        [number, -number, -number, number],
    )


# ── chapter 4 ─────────────────────────────────────────────────────────────────────────────────────


def powers(draw: random.Random) -> Example:
    m = draw.randint(2, 6)
    return Example(
        rf"the scores $0$ and $\ln {m}$ have the powers 1 and {m}, so their weights are $\frac1{{{m + 1}}}$ and "
        rf"$\frac{{{m}}}{{{m + 1}}}$. At $T = \frac12$ the powers are 1 and {m * m}.",
        {"math.log(2)": f"math.log({m})"},
        [1 / (1 + m), m / (1 + m)],
    )


def temperature(draw: random.Random) -> Example:
    m = draw.randint(2, 6)
    return Example(
        rf"let $z = [0, \ln {m * m}]$, and let the target be $\frac{{{m}}}{{{m + 1}}}$. The weights must have the "
        rf"ratio 1 to {m}, so the gap has to shrink from $\ln {m * m}$ to $\ln {m}$. That takes $T = 2$.",
        {"math.log(9)": f"math.log({m * m})", "0.75)": f"{m} / {m + 1})"},
        [2.0],
    )


# ── chapter 5 ─────────────────────────────────────────────────────────────────────────────────────


def heads_apart(draw: random.Random) -> Example:
    one, two = _two_tokens(draw)
    first, second = [one[:2], two[:2]], [one[2:], two[2:]]
    return Example(
        f"two tokens `{one}` and `{two}` in two heads. Head 0 is `{first}`, and head 1 is `{second}`.",
        {"[[[1.0, 2, 3, 4], [5, 6, 7, 8]]]": floats([[one, two]])},
        [float(n) for head in (first, second) for row in head for n in row],
    )


def heads_together(draw: random.Random) -> Example:
    one, two = _two_tokens(draw)
    first, second = [one[:2], two[:2]], [one[2:], two[2:]]
    return Example(
        f"the heads `{first}` and `{second}` merge to the tokens `{one}` and `{two}`.",
        {"[[[[1.0, 2], [5, 6]], [[3, 4], [7, 8]]]]": floats([[first, second]])},
        [float(n) for n in one + two],
    )


def _two_tokens(draw: random.Random) -> tuple[list[int], list[int]]:
    numbers = draw.sample(range(1, 10), 8)
    return numbers[:4], numbers[4:]


def masked(draw: random.Random) -> Example:
    v = draw.sample(range(0, 10), 3)
    mean = (v[0] + v[2]) / 2
    return Example(
        "the query `[0, 0]` scores 0 with each of three keys, and may see the first and the last. With the values "
        f"`[{v[0]}]`, `[{v[1]}]`, `[{v[2]}]`, its weights are `[½, 0, ½]` and its output is `[{mean:g}]`.",
        {"[[3.0], [6], [0]]": floats([[n] for n in v])},
        [mean, 0.5, 0.0, 0.5],
    )


# ── chapter 6 ─────────────────────────────────────────────────────────────────────────────────────


def rotated(draw: random.Random) -> Example:
    still, r = draw.choice(([3, 4, 1, 2], [4, 3, 2, 1], [5, 1, 2, 6], [6, 8, 3, 4], [8, 6, 4, 2])), draw.randint(1, 4)
    result = positions.apply_rope(torch.tensor([still, [r, 0, 1, 0]]).float(), torch.tensor([0, 1]))
    moved = ", ".join(f"{n:.4f}".lstrip("0") for n in plain(result)[1])
    return Example(
        f"`{still}` at position 0 stays as it is. `[{r}, 0, 1, 0]` at position 1 becomes `[{moved}]`.",
        {"[[3.0, 4, 1, 2], [1, 0, 1, 0]]": floats([still, [r, 0, 1, 0]])},
        flat(result),
    )


# ── chapter 7 ─────────────────────────────────────────────────────────────────────────────────────


def growing(draw: random.Random) -> Example:
    first, then = draw.randint(2, 5), draw.randint(1, 3)
    n = first + then
    return Example(
        f"{first} positions go in, then {then}. The length is first {first} and then {n}, and the second call returns "
        f"{n} keys. The first of them is the first that went in.",
        {
            "torch.arange(4.0).reshape(1, 1, 4, 1)": f"torch.arange({n}.0).reshape(1, 1, {n}, 1)",
            "k[..., :3, :], -k[..., :3, :]": f"k[..., :{first}, :], -k[..., :{first}, :]",
            "k[..., 3:, :], -k[..., 3:, :]": f"k[..., {first}:, :], -k[..., {first}:, :]",
        },
        [n, *range(n)],
    )


def cache_size(draw: random.Random) -> Example:
    width, tokens = draw.randint(2, 6), draw.randint(3, 9)
    result = cache.kv_cache_bytes(1, 1, width, tokens)
    return Example(
        f"one layer, one head, {width} features and {tokens} tokens. One token's key has {width} numbers, and its "
        f"value has {width}. That makes {2 * width * tokens} numbers, so {result} bytes.",
        {"(1, 1, 2, 3)": f"(1, 1, {width}, {tokens})"},
        [float(result)],
    )


def prefix(draw: random.Random) -> Example:
    *shared, one, other, last = draw.sample(range(1, 10), 5)
    first, second = [*shared, one, last], [*shared, other, last]
    return Example(
        f"`{first}` and `{second}` share 2 tokens. The {last} does not count, as chapter 7 explains.",
        {"[5, 6, 7, 8], [5, 6, 9, 8]": f"{first}, {second}"},
        [2.0],
    )


def shared_head(draw: random.Random) -> Example:
    a = draw.randint(1, 5)
    b = a + 2 * draw.randint(1, 2)
    return Example(
        f"two query heads share one KV head, with the values `[{a}]` and `[{b}]` of two tokens. All queries are zero. "
        f"Then both heads give `[{a}]` for the first token, and `[{(a + b) // 2}]` for the second.",
        {"torch.tensor([2.0, 6])": f"torch.tensor([{a}.0, {b}])"},
        [a, (a + b) / 2, a, (a + b) / 2],
    )


EXAMPLES: dict[str, Callable[[random.Random], Example]] = {
    "1.1": one_hot,
    "1.2": embed,
    "1.3": padded,
    "1.4": windows,
    "2.1": projection,
    "2.2": scores,
    "2.3": additive,
    "2.4": mixture,
    "3.1": scaled,
    "3.2": variance,
    "3.3": mean_of_values,
    "3.4": slopes,
    "4.1": powers,
    "4.4": temperature,
    "5.1": heads_apart,
    "5.2": heads_together,
    "5.4": masked,
    "6.3": rotated,
    "7.1": growing,
    "7.3": cache_size,
    "7.4": prefix,
    "7.5": shared_head,
}
