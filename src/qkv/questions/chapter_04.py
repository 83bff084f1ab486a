"""Chapter 4, softmax and temperature: what is asked, and what people get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, call, call_many
from qkv.questions.searching import SEARCHES
from qkv.questions.slips import At, slips
from qkv.softmax import entropy, find_temperature, sample_token, softmax

STRESS = 1e-3  # the tolerance where scores lie near 10,000, and a float32 has three decimals left

# ── 4.1 softmax ───────────────────────────────────────────────────────────────────────────────────

Change = Callable[[Tensor, float], Tensor]  # of scores or weights, by the temperature
Along = Callable[[Tensor, int], Tensor]


def divided(z: Tensor, temperature: float) -> Tensor:
    return z / temperature


def row_maximum(z: Tensor, dim: int) -> Tensor:
    return z.amax(dim=dim, keepdim=True)


def total(powers: Tensor, dim: int) -> Tensor:
    return powers.sum(dim=dim, keepdim=True)


def refuse(temperature: float) -> None:
    if temperature <= 0:
        raise ValueError(f"temperature {temperature}")


def refuse_below_zero(temperature: float) -> None:
    if temperature < 0:
        raise ValueError(f"temperature {temperature}")


def refuse_zero(temperature: float) -> None:
    if temperature == 0:
        raise ValueError("temperature 0")


def refuse_good(temperature: float) -> None:
    if temperature > 0:
        raise ValueError(f"temperature {temperature}")


def refuse_one(temperature: float) -> None:
    if temperature <= 1:
        raise ValueError(f"temperature {temperature}")


def insist(temperature: float) -> None:
    if temperature <= 0:
        raise AssertionError(f"temperature {temperature}")


def reciprocal_of(temperature: float) -> None:
    1 / temperature


def softmax_variant(
    temper: Change = divided,
    shift: Callable[[Tensor, int, float], Tensor | float] = lambda z, dim, t: row_maximum(z, dim),
    power: Callable[[Tensor], Tensor] = torch.exp,
    below: Along = total,
    after: Callable[[Tensor, float, int], Tensor] = lambda p, temperature, dim: p,
    axis: Callable[[Tensor, int], int] = lambda z, dim: dim,
    guard: Callable[[float], None] = refuse,
    defaults: tuple[float, int] = (1.0, -1),
) -> Callable[..., Tensor]:
    """Give an answer to 4.1 that goes wrong at some of its steps."""

    def variant(z: Tensor, temperature: float = defaults[0], dim: int = defaults[1]) -> Tensor:
        guard(temperature)
        dim = axis(z, dim)
        z = temper(z, temperature)
        powers = power(z - shift(z, dim, temperature))
        return after(powers / below(powers, dim), temperature, dim)

    return variant


def softmax_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(z: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
        refuse(temperature)
        shifted = at("shifted", z - row_maximum(z, dim))
        powers = at("powers", (shifted / temperature).exp())
        return at("weights", powers / total(powers, dim))

    return answer


def softmax_by(reckon: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Give an answer to 4.1 that reckons otherwise, from scores, temperature, axis and that axis's maximum."""

    def variant(z: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
        refuse(temperature)
        return reckon(z, temperature, dim, row_maximum(z, dim))

    return variant


def powers_of(z: Tensor, temperature: float, most: Tensor) -> Tensor:
    return ((z - most) / temperature).exp()


def shares(powers: Tensor, dim: int) -> Tensor:
    return powers / total(powers, dim)


def over_everything(z: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
    return softmax(z.flatten(), temperature).view_as(z)


def draw_scores(draw: Draw) -> list[Case]:
    def case(
        name: str, *leading: int, dtype: torch.dtype = torch.float32, n_k: int | None = None, **given: float
    ) -> Case:
        s = draw.sizes("n_q", "n_k", **({"n_k": n_k} if n_k else {}))
        return Case(call(draw.normal(*leading, s["n_q"], s["n_k"], dtype=dtype), **given), name, s)

    def low() -> float:
        return draw.uniform(0.4, 0.7)

    def high() -> float:
        return draw.uniform(1.5, 2.8)

    return [
        case("plain"),
        case("plain", temperature=low()),
        case("plain", temperature=high()),
        case("a batch", 3, temperature=low()),
        case("a batch and heads", 2, 3, temperature=high()),
        case("dim = 0", dim=0),
        case("dim = 1 of three", 3, dim=1, temperature=high()),
        case("float64", dtype=torch.float64, temperature=low()),
        Case(call(draw.normal(draw.whole(4, 8)), temperature=high()), "one row without a table"),
        case("one score in each row", n_k=1, temperature=low()),
        case("temperature 40", temperature=40.0),
        *extreme_scores(draw),
        case("temperature 0", temperature=0.0),
        case("a temperature below 0", temperature=-draw.uniform(0.5, 1.5)),
    ]


def extreme_scores(draw: Draw) -> list[Case]:
    """Scores on which a power overflows, or all of a row vanish."""

    def case(name: str, z: Tensor, temperature: float = 1.0, **dim: int) -> Case:
        return Case(call(z, temperature, **dim), name, gradients=False, tolerance=STRESS)

    s = draw.sizes("n_q", "n_k")
    z = draw.normal(s["n_q"], s["n_k"])
    levels = torch.linspace(-1e4, 1e4, s["n_q"])[torch.randperm(s["n_q"], generator=draw.generator)]
    tied = draw.normal(s["n_k"]).clamp(max=1.5)
    tied[:3] = torch.tensor([2.0, -1.0, 2.0])
    return [
        case("temperature 0.01", z * 0.6, 0.01),
        case("two largest scores at temperature 0.01", tied, 0.01),
        case("scores near 10,000", z + 1e4),
        case("scores near −10,000", z - 1e4),
        case("rows at different levels", z + levels[:, None]),
        case("columns at different levels, dim = 0", z.mT.contiguous() + levels, dim=0),
        case("scores from −10,000 to 10,000", z * 4e3, 0.01),
    ]


def with_errors(draw: Callable[[Draw], list[Case]], *names: str) -> Callable[[Draw], list[Case]]:
    """Let the cases of these names ask for a `ValueError`."""

    def drawn(source: Draw) -> list[Case]:
        return [
            Case(c.steps, c.name, c.sizes, raises="ValueError", gradients=False) if c.name in names else c
            for c in draw(source)
        ]

    return drawn


def row_sum(seen: Seen) -> str:
    value = seen.value
    if isinstance(value, Tensor) and value.ndim:
        return f"{float(value.sum(-1).flatten()[0]):.3g}"
    return "something else than 1"


SOFTMAX = Question(
    id="4.1",
    points=4,
    title="Softmax with a temperature",
    inputs=("z", "temperature", "dim"),
    outputs=("weights (...)",),
    draw=with_errors(draw_scores, "temperature 0", "a temperature below 0"),
    reference=softmax,
    variant=softmax_variant,
    gradients=True,
    about="The weights have the shape of the scores.",
    misconceptions=(
        Misconception(
            "temperature-multiplied",
            "A higher temperature makes your weights steeper. Should heat sharpen the differences between scores, or "
            "level them?",
            knobs={"temper": lambda z, t: z * t},
        ),
        Misconception(
            "temperature-ignored",
            "Your weights are the same at every temperature. Where does it come into the formula?",
            knobs={"temper": lambda z, t: z},
        ),
        Misconception(
            "temperature-squared",
            "Your scores are divided by the temperature squared, or twice by it. How often should it be applied?",
            knobs={"temper": lambda z, t: z / t**2},
        ),
        Misconception(
            "temperature-under-a-root",
            "Your scores are divided by the root of the temperature. Does the formula of the temperature have a root? "
            "It is √d_k that is one.",
            knobs={"temper": lambda z, t: z / math.sqrt(t)},
        ),
        Misconception(
            "temperature-rounded",
            "Your temperature is cut to a whole number. What do `int` and `//` make of 1.7?",
            knobs={"temper": lambda z, t: z / max(1, int(t))},
        ),
        Misconception(
            "temperature-on-probabilities",
            lambda seen: (
                f"Your first row sums to {row_sum(seen)}: the temperature divides the weights. "
                "Does that change the ratio of two weights? What must be on the right scale before the exponential?"
            ),
            knobs={"temper": lambda z, t: z, "after": lambda p, t, dim: p / t},
        ),
        Misconception(
            "temperature-on-probabilities",
            lambda seen: (
                f"Your first row sums to {row_sum(seen)}: the weights were raised to a power. "
                "The ratios are right by now. What has to be done again after that?"
            ),
            knobs={"temper": lambda z, t: z, "after": lambda p, t, dim: p ** (1 / t)},
        ),
        Misconception(
            "temperature-on-probabilities",
            "A second softmax was taken, of weights divided by the temperature. On what should the temperature act: "
            "on scores, or on weights that are shared out already?",
            knobs={"temper": lambda z, t: z, "after": lambda p, t, dim: (p / t).softmax(dim)},
        ),
        Misconception(
            "temperature-twice",
            lambda seen: (
                f"The temperature acts on your scores, and then on the weights again: the first row sums to "
                f"{row_sum(seen)}. How often does the formula hold it?"
            ),
            knobs={"after": lambda p, t, dim: p / t},
        ),
        Misconception(
            "temperature-on-powers",
            "Your powers are divided by the temperature, above the line only or on both sides. Where does it stand in "
            "the formula: in the exponent, or in front?",
            knobs={"temper": lambda z, t: z, "power": torch.exp, "after": lambda p, t, dim: p * t},
        ),
        Misconception(
            "overflow",
            "Right for small scores. For large ones there is NaN: the exponential of 89 is too large for a float32. "
            "Which number may you subtract from a whole row without changing a weight?",
            knobs={"shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "one-maximum-for-all",
            "One maximum is subtracted from the whole table. A row that lies far below it has only zeros left, and "
            "0/0. Which maximum does a row need?",
            knobs={"shift": lambda z, dim, t: z.max()},
        ),
        Misconception(
            "maximum-along-the-wrong-axis",
            "The maximum that you subtract is taken along another axis than the sum. Which scores share out a weight "
            "of 1 with each other?",
            knobs={"shift": lambda z, dim, t: z.amax(dim=0, keepdim=True)},
        ),
        Misconception(
            "maximum-along-the-wrong-axis",
            "The maximum that you subtract is that of the last axis, whatever `dim` says. Which scores share out a "
            "weight of 1 with each other?",
            knobs={"shift": lambda z, dim, t: z.amax(dim=-1, keepdim=True)},
        ),
        Misconception(
            "maximum-before-the-temperature",
            "You subtract the maximum of the scores as they came, from scores that the temperature has changed since. "
            "At T = 0.01, how far above 0 does that leave the largest?",
            knobs={"shift": lambda z, dim, t: row_maximum(z, dim) * t},
        ),
        Misconception(
            "mean-subtracted",
            "Right for small scores. Where a row spreads widely its mean lies far below its largest score. "
            "What should the largest exponent be, at most?",
            knobs={"shift": lambda z, dim, t: z.mean(dim=dim, keepdim=True)},
        ),
        Misconception(
            "minimum-subtracted",
            "You subtract the smallest score of a row. Then every exponent is positive. Which sign keeps a power "
            "from overflowing?",
            knobs={"shift": lambda z, dim, t: z.amin(dim=dim, keepdim=True)},
        ),
        Misconception(
            "magnitude-subtracted",
            "You subtract the largest magnitude. In a row near −10,000 that doubles the distance to 0, and every "
            "power vanishes. Which number brings the largest score to exactly 0?",
            knobs={"shift": lambda z, dim, t: z.abs().amax(dim=dim, keepdim=True)},
        ),
        Misconception(
            "maximum-added",
            "The maximum is added, so large scores get larger still. In which direction should the row move?",
            knobs={"shift": lambda z, dim, t: -row_maximum(z, dim)},
        ),
        Misconception(
            "scores-clipped",
            "Your scores are cut off at some limit, and then those beyond it look alike. Is there a change that loses "
            "nothing?",
            knobs={"temper": lambda z, t: (z / t).clamp(-80, 80), "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "scores-clipped",
            "Your scores are cut off at some limit, and then those beyond it look alike. Is there a change that loses "
            "nothing?",
            knobs={"temper": lambda z, t: (z / t).clamp(-50, 50), "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "nan-replaced",
            "Right for small scores. For large ones you put a number where there was NaN, but the row's weight has to "
            "go to its largest scores. Where does the NaN come from?",
            knobs={"shift": lambda z, dim, t: 0.0, "after": lambda p, t, dim: p.nan_to_num()},
        ),
        Misconception(
            "dim-ignored",
            "Your softmax runs along the last axis whatever `dim` says. Which lines of your code should know of it?",
            knobs={"axis": lambda z, dim: -1},
        ),
        Misconception(
            "dim-ignored",
            "Your sum runs along the last axis whatever `dim` says. Which lines of your code should know of it?",
            knobs={"below": lambda powers, dim: powers.sum(-1, keepdim=True)},
        ),
        Misconception(
            "softmax-over-queries",
            "Each of your columns sums to 1. Along which axis do scores share out a weight, if nothing is said?",
            knobs={"defaults": (1.0, 0)},
        ),
        Misconception(
            "softmax-over-queries",
            "Each of your columns sums to 1, in every batch. Along which axis do scores share out a weight, if nothing "
            "is said?",
            knobs={"defaults": (1.0, -2)},
        ),
        Misconception(
            "axis-counted-from-the-front",
            "Right for one table, wrong for a batch: without `dim` your softmax runs along axis 1. Which number means "
            "the last axis, whatever stands in front?",
            knobs={"defaults": (1.0, 1)},
        ),
        Misconception(
            "softmax-over-queries",
            "Your softmax runs along axis 0 whatever `dim` says. Which lines of your code should know of it?",
            knobs={"axis": lambda z, dim: 0},
        ),
        Misconception(
            "softmax-over-everything",
            lambda seen: (
                f"All your weights together sum to 1, and the first row to {row_sum(seen)}. "
                "Who shares out a weight of 1, and among whom?"
            ),
            twin=over_everything,
        ),
        Misconception(
            "softmax-over-everything",
            lambda seen: (
                f"Each power is divided by the sum of all of them; your first row sums to {row_sum(seen)}. "
                "Which powers belong to one row?"
            ),
            knobs={"below": lambda powers, dim: powers.sum()},
        ),
        Misconception(
            "not-normalised",
            lambda seen: f"Your weights are positive, but the first row sums to {row_sum(seen)}. What is missing?",
            knobs={"below": lambda powers, dim: torch.ones(())},
        ),
        Misconception(
            "not-normalised",
            lambda seen: (
                f"You gave the exponentials of the scores; the first row sums to {row_sum(seen)}. What is missing?"
            ),
            knobs={"below": lambda powers, dim: torch.ones(()), "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "divided-by-the-mean",
            lambda seen: f"Your first row sums to {row_sum(seen)}: each power is divided by their mean. And the sum?",
            knobs={"below": lambda powers, dim: powers.mean(dim=dim, keepdim=True)},
        ),
        Misconception(
            "divided-by-the-length",
            "The squares of your weights sum to 1, not the weights. By what must positive numbers be divided, so that "
            "they sum to 1?",
            knobs={"below": lambda powers, dim: powers.norm(dim=dim, keepdim=True)},
        ),
        Misconception(
            "exponential-forgotten",
            "Your rows sum to 1, but some weights are negative. What makes a score positive before it is divided by "
            "the sum?",
            knobs={"power": lambda z: z, "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "exponential-forgotten",
            "Your weights are the magnitudes of the scores. Should a score of −3 count for more than a score of 1?",
            knobs={"power": torch.abs, "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "exponential-forgotten",
            "Your weights are the squares of the scores. Should a score of −3 count for more than a score of 1?",
            knobs={"power": torch.square, "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "exponential-forgotten",
            "Scores below 0 get no weight at all: they were cut off. Is every weight to be positive?",
            knobs={"power": lambda z: z.clamp(min=0), "shift": lambda z, dim, t: 0.0},
        ),
        Misconception(
            "base-two",
            "Your powers have base 2. A gap of 1 between two scores should be a factor of 2.718…, not of 2.",
            knobs={"power": torch.exp2},
        ),
        Misconception(
            "base-ten",
            "Your powers have base 10. Which base makes a gap of 1 a factor of 2.718…?",
            knobs={"power": lambda z: 10**z},
        ),
        Misconception(
            "sigmoid",
            lambda seen: (
                f"Each weight lies between 0 and 1, but your first row sums to {row_sum(seen)}. "
                "Do the scores of a row compete?"
            ),
            twin=lambda z, temperature=1.0, dim=-1: (softmax(z, temperature, dim), (z / temperature).sigmoid())[1],
        ),
        Misconception(
            "log-softmax",
            "Your weights are negative: they are logarithms. What would each row have to sum to?",
            knobs={"after": lambda p, t, dim: p.log()},
        ),
        Misconception(
            "log-softmax",
            "Your weights are negative: they are logarithms. What would each row have to sum to?",
            twin=lambda z, temperature=1.0, dim=-1: (
                softmax(z, temperature, dim),
                (z / temperature).log_softmax(dim),
            )[1],
        ),
        Misconception(
            "softmax-twice",
            "Your weights are nearly equal: a softmax was taken of weights. How often should scores go through it?",
            knobs={"after": lambda p, t, dim: p.softmax(dim)},
        ),
        Misconception(
            "only-the-best",
            "Each of your rows holds one 1 and else zeros. That is the limit for T → 0. And at T = 1?",
            knobs={"power": lambda z: (z == 0).to(z.dtype)},
        ),
        Misconception(
            "scores-negated",
            "Your largest weight goes to the lowest score. Which sign does the exponent have?",
            knobs={"temper": lambda z, t: -z / t},
        ),
        Misconception(
            "all-alike",
            "All your weights in a row are equal: the scores have no effect. That is the limit for T → ∞.",
            knobs={"power": torch.ones_like},
        ),
        Misconception(
            "weights-rounded",
            "Your weights are rounded. Right to two or three digits is not right: rows no longer sum to 1. "
            "Where is something rounded?",
            knobs={"after": lambda p, t, dim: (p * 100).round() / 100},
        ),
        Misconception(
            "wrong-default-temperature",
            "Right whenever a temperature is given. Which temperature is the plain softmax, if none is?",
            knobs={"defaults": (0.0, -1)},
        ),
        Misconception(
            "wrong-default-temperature",
            "Right whenever a temperature is given. Which temperature is the plain softmax, if none is?",
            knobs={"defaults": (2.0, -1)},
        ),
        Misconception(
            "wrong-default-temperature",
            "Right whenever a temperature is given. Which temperature is the plain softmax, if none is?",
            knobs={"defaults": (0.5, -1)},
        ),
        Misconception(
            "fraction-turned-over",
            "Your weights are above 1: the sum stands above the line, and the power below. Which is the share, and "
            "which the whole?",
            knobs={"after": lambda p, t, dim: 1 / p},
        ),
        Misconception(
            "multiplied-by-the-sum",
            "Each power is multiplied by the sum of its row. What makes the row sum to 1?",
            knobs={"below": lambda powers, dim: 1 / total(powers, dim)},
        ),
        Misconception(
            "divided-by-itself",
            "All your weights are 1: each power is divided by itself. What is the whole, of which it is a share?",
            knobs={"below": lambda powers, dim: powers},
        ),
        Misconception(
            "exponential-forgotten",
            "Your largest score gets the weight 0: the maximum was subtracted, and no exponential taken. What does the "
            "exponential make of 0?",
            knobs={"power": lambda z: z},
        ),
        Misconception(
            "weights-rounded",
            "Your powers are rounded to whole numbers. Where is something rounded?",
            knobs={"power": lambda z: z.exp().round()},
        ),
        Misconception(
            "weights-rounded",
            "The sum that you divide by is rounded to a whole number. Where is something rounded?",
            knobs={"below": lambda powers, dim: total(powers, dim).round()},
        ),
        *slips(softmax_in_steps, "rounded", shifted="the scores, once the maximum is taken away"),
        *slips(softmax_in_steps, "negated rounded cut", weights="your weights"),
        *(
            Misconception(slug, says, twin=softmax_by(reckon))
            for slug, says, reckon in (
                (
                    "maximum-multiplied",
                    "Scores are multiplied with the maximum. Which operation moves a whole row and keeps its gaps?",
                    lambda z, t, dim, most: shares((z * most / t).exp(), dim),
                ),
                (
                    "maximum-for-scores",
                    "The maximum went on alone, without the scores. What is it to be taken from?",
                    lambda z, t, dim, most: shares((most / t).exp(), dim),
                ),
                (
                    "sum-subtracted",
                    "The sum of the powers is taken away from each. What makes a share of a whole?",
                    lambda z, t, dim, most: powers_of(z, t, most) - total(powers_of(z, t, most), dim),
                ),
                (
                    "sum-returned",
                    "The sum of the powers came back. What is it the whole of?",
                    lambda z, t, dim, most: total(powers_of(z, t, most), dim),
                ),
                (
                    "axis-not-kept",
                    "The maximum lost its axis, so it no longer fits its row. What keeps an axis of size 1?",
                    lambda z, t, dim, most: shares(((z - z.amax(dim=dim)) / t).exp(), dim),
                ),
                (
                    "axis-not-kept",
                    "The sum lost its axis, so it no longer fits its row. What keeps an axis of size 1?",
                    lambda z, t, dim, most: powers_of(z, t, most) / powers_of(z, t, most).sum(dim=dim),
                ),
                (
                    "temperature-above-the-line",
                    "Your exponent is the temperature divided by the scores. Which of the two stands below the line?",
                    lambda z, t, dim, most: shares((t / (z - most)).exp(), dim),
                ),
            )
        ),
        Misconception(
            "good-temperatures-refused",
            "A temperature above 0 is refused. For which ones is your test true?",
            twin=softmax_variant(guard=refuse_good),
        ),
        Misconception(
            "good-temperatures-refused",
            "A temperature of 1, or just below, is refused. Where do the temperatures end that make no sense?",
            twin=softmax_variant(guard=refuse_one),
        ),
        Misconception(
            "temperature-not-checked",
            "Your weights are right. But temperatures of 0 and below come through. What would weights at T = 0 divide "
            "by? And which exception does the question ask for?",
            knobs={"guard": lambda temperature: None},
        ),
        Misconception(
            "zero-temperature-let-through",
            "Your weights are right, and negative temperatures are refused. What does yours give for T = 0 exactly?",
            knobs={"guard": refuse_below_zero},
        ),
        Misconception(
            "negative-temperature-let-through",
            "Your weights are right, and T = 0 is refused. What would T = −1 do to the order of the weights?",
            knobs={"guard": refuse_zero},
        ),
        Misconception(
            "assertion-for-an-error",
            "Your weights are right, and a bad temperature raises AssertionError. `assert` can be switched off. "
            "Which exception does the question ask for?",
            knobs={"guard": insist},
        ),
        Misconception(
            "temperature-not-checked",
            "Your weights are right. For T = 0 Python raises an error of its own, and T = −1 comes through. "
            "Which exception does the question ask for?",
            knobs={"guard": reciprocal_of},
        ),
    ),
)

# ── 4.2 entropy ───────────────────────────────────────────────────────────────────────────────────


def draw_shares(draw: Draw) -> list[Case]:
    def case(name: str, *leading: int, dtype: torch.dtype = torch.float32, **given: int) -> Case:
        s = draw.sizes("n_q", "n_k")
        return Case(call(draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype), **given), name, s)

    def along(name: str, *shape: int, dim: int) -> Case:
        p = draw.weights(*shape).movedim(-1, dim).contiguous()
        return Case(call(p, dim=dim), name)

    s = draw.sizes("n_q", "n_k", "n")
    some_zero = draw.normal(s["n_q"], s["n_k"])
    some_zero[:, : s["n_k"] // 2] = -math.inf
    some_zero = some_zero[:, torch.randperm(s["n_k"], generator=draw.generator)].softmax(-1)
    exact = some_zero.double() / some_zero.double().sum(-1, keepdim=True)  # of sum 1 to the last digit of a float64
    one_hot = torch.eye(s["n_k"])[:: draw.whole(1, 2)]
    return [
        case("plain"),
        case("plain"),
        Case(call(draw.weights(s["n"])), "one row without a table", s),
        case("a batch", 3),
        case("a batch and heads", 2, 3),
        along("dim = 0", s["n_q"], s["n_k"], dim=0),
        along("dim = 1 of three", 3, s["n_q"], s["n_k"], dim=1),
        case("float64", dtype=torch.float64),
        Case(call(some_zero), "some weights 0", s, gradients=False),
        Case(call(exact), "some weights 0, float64", s, gradients=False),
        Case(call(one_hot), "all on one", s, gradients=False),
        Case(call(torch.full((3, s["n_k"]), 1 / s["n_k"])), "all equal", s),
        Case(call(torch.ones(s["n_q"], 1)), "one weight in each row", s),
    ]


def entropy_variant(
    log: Callable[[Tensor], Tensor] = torch.log,
    zero: Callable[[Tensor], Tensor] = lambda terms: terms.nan_to_num(),
    gather: Callable[[Tensor, int], Tensor] = lambda terms, dim: terms.sum(dim=dim),
    after: Callable[[Tensor, Tensor, int], Tensor] = lambda h, p, dim: h,
    before: Callable[[Tensor, int], Tensor] = lambda p, dim: p,
    default: int = -1,
) -> Callable[..., Tensor]:
    """Give an answer to 4.2 that goes wrong at some of its steps."""

    def variant(p: Tensor, dim: int = default) -> Tensor:
        p = before(p, dim)
        return after(-gather(zero(p * log(p)), dim), p, dim)

    return variant


def along_the_simplex(case: Case, gradient: Tensor) -> Tensor:
    """Take away what is the same for all weights of a row: they sum to 1, so none of them moves alone."""
    return gradient - gradient.mean(dim=case.script[0].kwargs.get("dim", -1), keepdim=True)


def n_along(p: Tensor, dim: int) -> float:
    return math.log(max(2, p.shape[dim]))


ENTROPY = Question(
    id="4.2",
    points=3,
    title="How widely weights are spread",
    inputs=("p", "dim"),
    outputs=("entropy (...)",),
    draw=draw_shares,
    reference=entropy,
    variant=entropy_variant,
    gradients=True,
    gradient_part=along_the_simplex,
    about="There is one number for each row: the axis `dim` is gone.",
    misconceptions=(
        Misconception(
            "entropy-in-bits",
            "Your numbers are 1.443 times too large, which is 1/ln 2: they are in bits. Which logarithm counts nats?",
            knobs={"log": torch.log2},
        ),
        Misconception(
            "entropy-in-decimal-digits",
            "Your numbers are 0.434 times what was expected, which is 1/ln 10. Which logarithm counts nats?",
            knobs={"log": torch.log10},
        ),
        Misconception(
            "entropy-negated",
            "Your entropies are negative. The logarithm of a weight is below 0: what turns the sum round?",
            knobs={"after": lambda h, p, dim: -h},
        ),
        Misconception(
            "zero-times-log-zero",
            "Right while all weights are positive. Where one is 0 you have 0 · (−∞), which is NaN. What does a weight "
            "of 0 add to the entropy, if you let p ln p run to p = 0?",
            knobs={"zero": lambda terms: terms},
        ),
        Misconception(
            "nan-row-dropped",
            "Rows with a weight of 0 come out as 0 altogether: the NaN was replaced after the sum. Which single term "
            "is 0?",
            knobs={"zero": lambda terms: terms, "after": lambda h, p, dim: h.nan_to_num()},
        ),
        Misconception(
            "epsilon-too-large",
            "Nearly right: a small number added under the logarithm changes every entropy in the third digit. "
            "Could it be smaller, or act on zeros only?",
            knobs={"log": lambda p: (p + 1e-3).log()},
        ),
        Misconception(
            "epsilon-too-large",
            "Nearly right: a small number added under the logarithm changes every entropy. Could it be smaller, or act "
            "on zeros only?",
            knobs={"log": lambda p: (p + 1e-2).log()},
        ),
        Misconception(
            "log-of-one-plus",
            "You took ln(1 + p), which is never negative. Where must the logarithm be 0, if a certain choice has "
            "entropy 0?",
            knobs={"log": torch.log1p},
        ),
        Misconception(
            "dim-ignored",
            "You sum over the last axis whatever `dim` says. Which line of your code should know of it?",
            knobs={"gather": lambda terms, dim: terms.sum(-1)},
        ),
        Misconception(
            "summed-over-queries",
            "Without `dim` you sum down the columns. Along which axis do weights sum to 1, if nothing is said?",
            knobs={"default": 0},
        ),
        Misconception(
            "summed-over-queries",
            "Without `dim` you sum over the last axis but one. Along which axis do weights sum to 1, if nothing is "
            "said?",
            knobs={"default": -2},
        ),
        Misconception(
            "axis-counted-from-the-front",
            "Right for one table, wrong for a batch: without `dim` you sum along axis 1. Which number means the last "
            "axis?",
            knobs={"default": 1},
        ),
        Misconception(
            "summed-over-everything",
            "One number came back for the whole table. Each row of weights is a choice of its own. How many entropies "
            "are there?",
            knobs={"gather": lambda terms, dim: terms.sum()},
        ),
        Misconception(
            "axis-kept",
            "Your numbers are right, but the axis that was summed is still there with size 1. Does `keepdim` belong "
            "here?",
            knobs={"gather": lambda terms, dim: terms.sum(dim=dim, keepdim=True)},
        ),
        Misconception(
            "not-summed",
            "You gave a number for each weight. The entropy is one number for a whole row. How do they come together?",
            knobs={"gather": lambda terms, dim: terms},
        ),
        Misconception(
            "averaged",
            "Your numbers are too small by the number of weights: you took a plain mean. Each term holds its weight "
            "already. What is left to do with them?",
            knobs={"gather": lambda terms, dim: terms.mean(dim=dim)},
        ),
        Misconception(
            "weight-forgotten",
            "You sum −ln p, each alike. In an average surprise, how much does a rare outcome count?",
            twin=lambda p, dim=-1: -p.log().sum(dim=dim),
        ),
        Misconception(
            "weight-forgotten",
            "You average −ln p, each alike. In an average surprise, how much does a rare outcome count?",
            twin=lambda p, dim=-1: -p.log().mean(dim=dim),
        ),
        Misconception(
            "logarithm-forgotten",
            "You gave 1 − Σ p²: the chance that two draws differ. That also measures spread. What does the entropy "
            "average?",
            twin=lambda p, dim=-1: 1 - (p * p).sum(dim=dim),
        ),
        Misconception(
            "logarithm-forgotten",
            "You gave Σ p². Nothing in it is a surprise yet. Of what is the entropy the mean?",
            twin=lambda p, dim=-1: (p * p).sum(dim=dim),
        ),
        Misconception(
            "log-of-the-sum",
            "You gave −ln Σ p²: the logarithm came after the sum. Is it a mean of logarithms, or the logarithm of a "
            "mean?",
            twin=lambda p, dim=-1: -(p * p).sum(dim=dim).log(),
        ),
        Misconception(
            "perplexity",
            "You gave the exponential of the entropy: the number of equally likely choices. The entropy itself is "
            "asked for.",
            knobs={"after": lambda h, p, dim: h.exp()},
        ),
        Misconception(
            "normalised",
            "Your numbers lie between 0 and 1: they are divided by ln n, or the logarithm has base n. Should eight "
            "equal weights give the same as two?",
            knobs={"after": lambda h, p, dim: h / n_along(p, dim)},
        ),
        Misconception(
            "distance-from-uniform",
            "Yours is 0 when all weights are equal: it is ln n minus the entropy. When should it be largest?",
            knobs={"after": lambda h, p, dim: math.log(p.shape[dim]) - h},
        ),
        Misconception(
            "softmax-applied-again",
            "A softmax was taken of p first. But p has been through it: these are weights, not scores.",
            knobs={"before": lambda p, dim: p.softmax(dim)},
        ),
        Misconception(
            "softmax-applied-again",
            "The logarithm comes from `log_softmax`, as if p were scores. What is p already?",
            twin=lambda p, dim=-1: -(p * p.log_softmax(dim)).sum(dim=dim),
        ),
        Misconception(
            "largest-weight-only",
            "You gave −ln of the largest weight. What do the others contribute?",
            twin=lambda p, dim=-1: -p.amax(dim=dim).log(),
        ),
        *slips(lambda at: lambda p, dim=-1: at("entropy", entropy(p, dim)), "rounded cut", entropy="the entropy"),
        Misconception(
            "both-outcomes",
            "Each weight was treated as a coin of its own: p ln p and (1 − p) ln(1 − p). How many draws does a row "
            "stand for?",
            twin=lambda p, dim=-1: (torch.special.entr(p) + torch.special.entr(1 - p)).sum(dim=dim),
        ),
    ),
)

# ── 4.3 sampling ──────────────────────────────────────────────────────────────────────────────────

MANY, SOME, FEW = 1500, 300, 50  # draws from one set of logits
CHANCE = 1e-12  # of two samples of one distribution being told apart


def told_apart(case: Case, seen: Tensor, want: Tensor) -> str | None:
    """Say how two samples differ, by χ² of their counts, where chance alone could not do it."""
    seen, want = seen.flatten().long(), want.flatten().long()
    steady = 1 in (len(seen.unique()), len(want.unique()))
    if case.script[-1].args[1] == 0 and steady:  # greedy: nothing is left to chance
        same = torch.equal(seen, want)
        return None if same else f"Your ids are {_listed(seen)} at temperature 0; {_listed(want)} was expected."
    ids = torch.cat([seen, want]).unique()
    a, b = ((ids[:, None] == sample).sum(-1).double() for sample in (seen, want))
    chi2 = ((a - b) ** 2 / (a + b)).sum()  # (as many draws in each)
    if len(ids) < 2 or torch.special.gammaincc(torch.tensor((len(ids) - 1) / 2.0).double(), chi2 / 2) > CHANCE:
        return None
    worst = int(((a - b) ** 2 / (a + b)).argmax())
    if len(seen.unique()) == 1:
        return f"All of your {len(seen)} draws are id {int(seen[0])}. What changes from one draw to the next?"
    return (
        f"Your ids come up in other shares: id {int(ids[worst])} came {int(a[worst])} times in {len(seen)} draws; "
        f"about {int(b[worst])} were expected."
    )


def _listed(ids: Tensor) -> str:
    return " and ".join(str(i) for i in ids.unique().tolist()[:4])


def right_shares(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(-1)


class Sampler:
    """Draws by given shares. It draws many at a time, for a check draws thousands."""

    def __init__(self, shares: Callable[[Tensor, float], Tensor], give: Callable[[int, Tensor], Any]) -> None:
        self.shares, self.give = shares, give
        self.logits: Tensor | None = None
        self.ready: list[int] = []

    def draw(self, logits: Tensor, temperature: float, generator: torch.Generator | None) -> Any:
        if self.logits is not logits or not self.ready:
            self.logits = logits
            p = self.shares(logits, temperature)
            self.ready = torch.multinomial(p, MANY, replacement=True, generator=generator).tolist()
        return self.give(self.ready.pop(), logits)


def greedily(logits: Tensor, generator: torch.Generator) -> int:
    return int(logits.argmax())


def sampler(
    shares: Callable[[Tensor, float], Tensor] = right_shares,
    greedy: Callable[[Tensor, torch.Generator], Any] = greedily,
    give: Callable[[int, Tensor], Any] = lambda i, logits: i,
    source: Callable[[torch.Generator], torch.Generator | None] = lambda generator: generator,
    give_at_zero: bool = True,
) -> Callable[..., Any]:
    """Give an answer to 4.3 that goes wrong at some of its steps."""
    drawing = Sampler(shares, give)

    def variant(logits: Tensor, temperature: float, generator: torch.Generator) -> Any:
        if temperature == 0:
            found = greedy(logits, generator)
            return give(found, logits) if give_at_zero and type(found) is int else found
        return drawing.draw(logits, temperature, source(generator))

    return variant


def reseeding(seed: Callable[[torch.Generator], int]) -> Callable[..., int]:
    """Give a sampler that seeds the generator each time, so that it draws one id again and again."""
    known: dict[int, tuple[Tensor, int]] = {}

    def variant(logits: Tensor, temperature: float, generator: torch.Generator) -> int:
        if id(logits) not in known or known[id(logits)][0] is not logits:
            generator.manual_seed(seed(generator))
            known[id(logits)] = logits, sample_token(logits, temperature, generator)
        return known[id(logits)][1]

    return variant


def draw_logits(draw: Draw) -> list[Case]:
    # Shares that every known mistake moves far enough to be seen in so many draws, in an order drawn anew.
    def logits(n: int, spread: float = 3.0) -> Tensor:
        spaced = torch.linspace(-spread / 2, spread / 2, n) - 0.1
        spaced += spread / n * torch.empty(n).uniform_(-0.1, 0.1, generator=draw.generator)
        while True:
            mixed = spaced[torch.randperm(n, generator=draw.generator)]
            if mixed.argmax() not in (0, n - 1) and mixed.argmin() not in (0, n - 1):  # first and last are no guess
                return mixed

    def case(name: str, times: int, z: Tensor, temperature: float) -> Case:
        return Case(call_many(times, z, temperature, draw.seeded()), name, {"vocab": len(z)})

    certain = logits(draw.whole(4, 8))
    certain[certain.argmax()] += 100
    return [
        case("plain", MANY, logits(5, 1.6), draw.uniform(0.19, 0.21)),
        case("plain", MANY, logits(6, 6.0), draw.uniform(3.8, 4.2)),
        case("temperature 1", SOME, logits(draw.whole(5, 6)), 1.0),
        *(case("a high temperature", FEW, logits(draw.whole(5, 9)), draw.uniform(2.5, 3.0)) for _ in range(4)),
        case("logits near 300", SOME, logits(draw.whole(5, 6)) + 300, draw.uniform(0.7, 0.8)),
        Case(call(certain, draw.uniform(0.5, 0.9), draw.seeded()), "one candidate far ahead", {"vocab": len(certain)}),
        case("temperature 0", FEW, logits(draw.whole(5, 8)), 0.0),
        case("temperature 0", FEW, logits(draw.whole(5, 8)) + 20, 0),
        Case(call(logits(7) - 20, 0.0, draw.seeded()), "temperature 0, once", {"vocab": 7}),
    ]


def top(n: int) -> Callable[[Tensor, float], Tensor]:
    def shares(logits: Tensor, temperature: float) -> Tensor:
        p = right_shares(logits, temperature)
        return p * (p >= p.topk(n).values[-1])

    return shares


def powers_as_they_are(logits: Tensor, temperature: float) -> Tensor:
    powers = (logits / temperature).exp()
    return powers / powers.sum()


def cut_at_one(logits: Tensor, temperature: float) -> Tensor:
    """What an inverse CDF draws from shares that do not sum to 1: the rest falls to the last, or is cut."""
    reached = (logits.softmax(-1) / temperature).cumsum(-1).clamp(max=1.0)
    reached[-1] = 1.0
    return reached.diff(prepend=torch.zeros(1))


def onehot(index: Tensor, logits: Tensor) -> Tensor:
    return torch.eye(len(logits))[index]


SAMPLE_TOKEN = Question(
    id="4.3",
    points=3,
    title="Draw the next token",
    inputs=("logits", "temperature", "generator"),
    outputs=("id",),
    draw=draw_logits,
    reference=sample_token,
    variant=sampler,
    differs=told_apart,
    about="An id is a whole number: an int, or a tensor without axes.",
    misconceptions=(
        Misconception(
            "temperature-multiplied",
            "At a high temperature your draws become surer, at a low one wilder. Which way should the dial turn?",
            knobs={"shares": lambda z, t: (z * t).softmax(-1)},
        ),
        Misconception(
            "temperature-ignored",
            "Your shares are the same at every temperature. Dividing all weights by T changes no ratio, and a sampler "
            "looks at ratios. On what should T act?",
            knobs={"shares": lambda z, t: z.softmax(-1)},
        ),
        Misconception(
            "temperature-on-probabilities",
            "Your shares no longer sum to 1, so the last ids get too much or nothing. The temperature divides your "
            "weights. Where does it stand in the formula?",
            knobs={"shares": cut_at_one},
        ),
        Misconception(
            "temperature-squared",
            "Your shares are those of the temperature squared. How often is it applied?",
            knobs={"shares": lambda z, t: (z / t**2).softmax(-1)},
        ),
        Misconception(
            "temperature-under-a-root",
            "Your shares are those of the root of the temperature. Where does a root come from?",
            knobs={"shares": lambda z, t: (z / math.sqrt(t)).softmax(-1)},
        ),
        Misconception(
            "always-greedy",
            "Every draw is the largest logit. At temperature 0 that is right. And at temperature 1?",
            knobs={"shares": lambda z, t: onehot(z.argmax(), z)},
        ),
        Misconception(
            "always-the-least-likely",
            "Every draw is the smallest logit. Which sign does your search have?",
            knobs={"shares": lambda z, t: onehot(z.argmin(), z)},
        ),
        Misconception(
            "even-shares",
            "All your ids come equally often. What should the logits decide?",
            knobs={"shares": lambda z, t: torch.ones_like(z)},
        ),
        Misconception(
            "logits-negated",
            "The lowest logits come up most often. Which sign does your exponent have?",
            knobs={"shares": lambda z, t: (-z / t).softmax(-1)},
        ),
        Misconception(
            "softmax-twice",
            "Your shares are too even: the weights went through a softmax once more. Some samplers take scores and "
            "some take probabilities. What does yours take?",
            knobs={"shares": lambda z, t: (z / t).softmax(-1).softmax(-1)},
        ),
        Misconception(
            "softmax-twice",
            "You divided weights by T and went through a second softmax. On what should T act: on scores, or on "
            "weights?",
            knobs={"shares": lambda z, t: (z.softmax(-1) / t).softmax(-1)},
        ),
        Misconception(
            "logits-for-probabilities",
            "Logits were handed over where probabilities belong, and some are negative. What turns scores into shares?",
            knobs={"shares": lambda z, t: z / t},
        ),
        Misconception(
            "logits-for-probabilities",
            "Logits below 0 never come up. They were used as shares. What turns scores into shares?",
            knobs={"shares": lambda z, t: z.clamp(min=0)},
        ),
        Misconception(
            "shares-squared",
            "Likely ids come too often: the shares are squared. Is something multiplied in twice?",
            knobs={"shares": lambda z, t: (z / t).softmax(-1) ** 2},
        ),
        Misconception(
            "overflow",
            "Right for small logits. For large ones there is NaN, or infinity. Which number may be subtracted from all "
            "logits without changing a share?",
            knobs={"shares": powers_as_they_are},
        ),
        Misconception(
            "tail-cut-off",
            "Only the two likeliest ids come up. Top-k was not asked for. Which ids may be drawn at a temperature "
            "above 0?",
            knobs={"shares": top(2)},
        ),
        Misconception(
            "tail-cut-off",
            "Only the three likeliest ids come up. Top-k was not asked for. Which ids may be drawn at a temperature "
            "above 0?",
            knobs={"shares": top(3)},
        ),
        Misconception(
            "last-id-never-drawn",
            "The last id never comes up. Which numbers can your draw reach? Look at its upper end.",
            knobs={"shares": lambda z, t: right_shares(z, t) * (torch.arange(len(z)) < len(z) - 1)},
        ),
        Misconception(
            "first-id-never-drawn",
            "Id 0 never comes up. Which numbers can your draw reach? Look at its lower end.",
            knobs={"shares": lambda z, t: right_shares(z, t) * (torch.arange(len(z)) > 0)},
        ),
        Misconception(
            "rank-for-id",
            "Id 0 comes up most often, id 1 next: you gave places in a sorted list. Which id stood at that place "
            "before it was sorted?",
            knobs={"shares": lambda z, t: right_shares(z, t).sort(descending=True).values},
        ),
        Misconception(
            "rank-for-id",
            "The last id comes up most often: you gave places in a sorted list. Which id stood at that place before?",
            knobs={"shares": lambda z, t: right_shares(z, t).sort().values},
        ),
        Misconception(
            "off-by-one",
            "Each id is one too large. Does counting start at 0, or at 1? And which side does `searchsorted` take?",
            knobs={"give": lambda i, z: i + 1},
        ),
        Misconception(
            "off-by-one",
            "Each id is one too small. On which side of the running sum does a draw lie?",
            knobs={"give": lambda i, z: i - 1},
        ),
        Misconception(
            "probability-returned",
            "You gave the logit or the share of what was drawn. Which token is it? An id is asked for.",
            knobs={"give": lambda i, z: float(z.softmax(-1)[i])},
        ),
        Misconception(
            "logit-returned",
            "You gave the logit of what was drawn. Which token is it? An id is asked for.",
            knobs={"give": lambda i, z: float(z[i])},
        ),
        Misconception(
            "one-hot-returned",
            "You gave a row with a single 1. At which place is it? An id is asked for.",
            knobs={"give": lambda i, z: torch.eye(len(z))[i]},
        ),
        Misconception(
            "axis-left-over",
            "Your id comes in a tensor with one axis, of size 1. A sampler that can draw several gives a list. How do "
            "you take the one number out?",
            knobs={"give": lambda i, z: torch.tensor([i])},
        ),
        Misconception(
            "greedy-ignored-at-zero",
            "At temperature 0 your formula divides by 0. What should a sampler do there, that draws nothing?",
            knobs={"greedy": lambda z, g: int(torch.multinomial((z / 0).softmax(-1), 1, generator=g))},
        ),
        Misconception(
            "greedy-ignored-at-zero",
            "At temperature 0 your formula divides by 0. What should a sampler do there, that draws nothing?",
            knobs={"greedy": lambda z, g: 1 // 0},
        ),
        Misconception(
            "greedy-ignored-at-zero",
            "At temperature 0 your formula divides by 0, and gives the first id whatever the logits are. What should a "
            "sampler do there, that draws nothing?",
            knobs={"greedy": lambda z, g: 0},
        ),
        Misconception(
            "refused-at-zero",
            "At temperature 0 you raise an error. Your softmax has to refuse it. What should a sampler do there in "
            "place of a softmax?",
            knobs={"greedy": lambda z, g: softmax(z, 0.0)},
        ),
        Misconception(
            "drawn-at-zero",
            "At temperature 0 you still draw, as if the temperature were 1. What is left to chance as T falls to 0?",
            knobs={"greedy": lambda z, g: int(torch.multinomial(z.softmax(-1), 1, generator=g))},
        ),
        Misconception(
            "least-likely-at-zero",
            "At temperature 0 you give the smallest logit. Which token does a cold model say every time?",
            knobs={"greedy": lambda z, g: int(z.argmin())},
        ),
        Misconception(
            "logit-returned-at-zero",
            "At temperature 0 you give the largest logit itself. Which token is it? An id is asked for.",
            knobs={"greedy": lambda z, g: float(z.max())},
        ),
        Misconception(
            "one-hot-returned-at-zero",
            "At temperature 0 you give weights, not an id. Which token has the weight of 1?",
            knobs={"greedy": lambda z, g: torch.eye(len(z))[z.argmax()]},
        ),
        Misconception(
            "axis-left-over-at-zero",
            "At temperature 0 your id comes in a tensor with one axis, of size 1. How do you take the number out?",
            knobs={"greedy": lambda z, g: z.argmax(-1, keepdim=True)},
        ),
        Misconception(
            "nothing-returned-at-zero",
            "At temperature 0 nothing comes back. Does every way through your code end in a `return`?",
            knobs={"greedy": lambda z, g: None},
        ),
        Misconception(
            "id-negated",
            "Your ids are negative where you draw. Where does a minus come in?",
            twin=sampler(give=lambda i, z: -i, give_at_zero=False),
        ),
        Misconception(
            "id-negated-at-zero",
            "At temperature 0 your id is negative. Where does a minus come in?",
            twin=sampler(greedy=lambda z, g: -int(z.argmax()), give_at_zero=False),
        ),
        Misconception(
            "axis-left-over",
            "Above temperature 0 your id comes in a tensor with one axis, of size 1. How do you take the number out?",
            twin=sampler(give=lambda i, z: torch.tensor([i]), give_at_zero=False),
        ),
        Misconception(
            "nothing-returned-above-zero",
            "Above temperature 0 nothing comes back. Does every way through your code end in a `return`?",
            twin=sampler(give=lambda i, z: None, give_at_zero=False),
        ),
        Misconception(
            "several-drawn",
            "Two ids were drawn where one is asked for, and `int` takes one number. How many should be drawn?",
            twin=sampler(give=lambda i, z: int(torch.tensor([i, i])), give_at_zero=False),
        ),
        Misconception(
            "generator-not-used",
            "Your shares are right, but the generator that you were handed stays as it was. Whose draws can be "
            "repeated then? Where does your draw get its randomness?",
            knobs={"source": lambda generator: None},
        ),
        Misconception(
            "generator-reseeded",
            "You seed the generator at each call, so every call draws the same. Who should say where the sequence of "
            "draws begins?",
            twin=reseeding(lambda generator: 0),
        ),
        Misconception(
            "generator-reseeded",
            "You seed the generator at each call, so every call draws the same. Who should say where the sequence of "
            "draws begins?",
            twin=reseeding(lambda generator: 42),
        ),
        Misconception(
            "generator-reseeded",
            "Every call sets the generator back to its own first seed, so every call draws the same. Who should say "
            "where the sequence of draws begins?",
            twin=reseeding(lambda generator: generator.initial_seed()),
        ),
    ),
)

# ── 4.4 the temperature for a target ──────────────────────────────────────────────────────────────


def gaps_below(z: Tensor) -> Tensor:
    """How far each other score lies below the largest, the smallest gap first: (n − 1,)."""
    return z.double().max() - z.double().sort(descending=True).values[1:]


def precision(z: Tensor, target: float) -> float:
    """How far a temperature may be off, relative to max(1, T), for a largest weight that is off by 1e-4."""
    temperature, gaps = find_temperature(z, target), gaps_below(z)
    powers = (-gaps / temperature).exp()
    slope = float(target**2 * (powers * gaps).sum() / temperature**2)
    return 1.05e-4 / slope / max(1.0, temperature)


def draw_target(draw: Draw) -> list[Case]:
    def scores(n: int, scale: float = 1.0) -> Tensor:
        """Draw scores with gaps from 0.5 to 2.5 below one maximum, which is neither first nor last."""
        gaps = torch.linspace(0.5, 2.5, n - 1) if n > 2 else torch.tensor([draw.uniform(0.5, 2.5)])
        gaps = gaps + torch.empty(n - 1).uniform_(-0.1, 0.1, generator=draw.generator)
        z = torch.cat([torch.zeros(1), -gaps[torch.randperm(n - 1, generator=draw.generator)]])
        return (scale * (z.roll(draw.whole(1, n - 2) if n > 2 else draw.whole(0, 1)) + 0.3)).float()

    def case(name: str, z: Tensor, target: float) -> Case:
        return Case(call(z, target), name, {"n": len(z)}, tolerance=precision(z, target))

    def n() -> int:
        return draw.whole(4, 8)

    def middle() -> float:
        return draw.uniform(0.45, 0.7)

    def two(temperature: float) -> tuple[Tensor, float]:
        """Draw two scores, and the target that this temperature meets."""
        z = scores(2)
        return z, 1 / (1 + math.exp(-float((z[0] - z[1]).abs()) / temperature))

    m = n()
    return [
        case("plain", scores(n()), middle()),
        case("plain", scores(n()), middle()),
        case("a low target", scores(n()), draw.uniform(0.3, 0.4)),
        case("a target near 1", scores(n()), draw.uniform(0.97, 0.985)),
        case("a target near 1/n", scores(m), 1 / m + draw.uniform(0.03, 0.05)),
        case("n = 2", scores(2), draw.uniform(0.6, 0.9)),
        case("n = 2", *two(draw.uniform(0.65, 0.9))),  # whose temperature, rounded, would be 1
        case("float64", scores(n()).double(), middle()),
        case("small scores", scores(n(), 0.02), middle()),
        case("large scores", scores(6, 260.0), draw.uniform(0.35, 0.4)),
        case("scores near 200", scores(n()) + 200, middle()),
        case("scores near −200", scores(n()) - 200, middle()),
    ]


def solution(weight: Callable[[Tensor, float], float], z: Tensor, target: float) -> float:
    """Find T by halving an interval, where `weight` falls as T rises."""
    low, high = 1e-4, 1e4
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if weight(z, middle) > target else (low, middle)
    return math.sqrt(low * high)


def halving(low: float, high: float, steps: int, stable: bool = True) -> Callable[[Tensor, float], float]:
    """Give a search by halving the interval from `low` to `high` so many times."""

    def search(z: Tensor, target: float) -> float:
        a, b = low, high
        for _ in range(steps):
            middle = (a + b) / 2
            powers = (z / middle).exp()
            weight = float(softmax(z, middle).max() if stable else (powers / powers.sum()).max())
            a, b = (middle, b) if weight > target else (a, middle)
        return (a + b) / 2

    return search


def within(low: float, high: float) -> Callable[[Tensor, float], float]:
    return lambda z, target: min(max(find_temperature(z, target), low), high)


def always(temperature: float) -> Callable[[Tensor, float], float]:
    return lambda z, target: temperature


def odds(n_others: int, target: float) -> float:
    return math.log(n_others * target / (1 - target))


def changed(change: Callable[[float], Any]) -> Callable[[Tensor, float], Any]:
    return lambda z, target: change(find_temperature(z, target))


NARROW = tuple(
    Misconception(
        "range-too-narrow",
        lambda seen: (
            "Right while the temperature lies within the range that you search. For scores that are a hundred times "
            "larger or smaller it ends at the edge. How could the range follow the scores?"
        ),
        twin=within(low, high),
    )
    for low, high in (
        (0.1, 10.0), (0.01, 10.0), (0.001, 10.0), (1e-6, 10.0), (0.1, 100.0), (0.01, 100.0), (0.001, 100.0),
        (1e-6, 100.0), (0.1, 1000.0), (0.1, 1e4), (0.05, 5.0), (0.05, 20.0), (0.01, 5.0), (0.01, 20.0), (0.01, 50.0),
    )
)  # fmt: skip

EARLY = tuple(
    Misconception(
        "search-stops-early",
        "Near, but not to four decimals: your search stops too early. Each halving gains one bit. How many do you "
        "need, if you start with a wide range?",
        twin=halving(low, high, steps),
    )
    for low, high, steps in ((1e-3, 1e3, 10), (1e-3, 1e3, 20), (0.01, 100.0, 10), (1e-6, 1e6, 20), (1e-6, 1e6, 30))
)

RUNAWAY = tuple(
    Misconception(
        "search-goes-the-wrong-way",
        "Whatever is asked for, your search ends at the same end of its range. When the largest weight is still above "
        "the target, must T rise or fall?",
        twin=always(end),
    )
    for end in (1e3, 1e2, 10.0, 1e4, 1e6, 1e-3, 0.01, 0.1, 1e-6)
)

OVERFLOWS = tuple(
    Misconception(
        "overflow",
        "Right for small scores. For scores near 200 the exponential is infinite, or all are 0, and a NaN is on no "
        "side of the target. What keeps a softmax in range?",
        twin=halving(low, high, 100, stable=False),
    )
    for low, high in ((1e-3, 1e3), (1e-4, 1e4), (1e-6, 1e6))
)

ROUNDED = tuple(
    Misconception(
        "temperature-rounded",
        "Near, but not to four decimals: your temperature is rounded, or comes from a grid. How can you come closer "
        "without trying every number?",
        twin=changed(partial(round, ndigits=digits)),
    )
    for digits in (0, 1, 2, 3)
)

FIND_TEMPERATURE = Question(
    id="4.4",
    points=4,
    title="Find the temperature",
    inputs=("z", "target"),
    outputs=("temperature",),
    draw=draw_target,
    reference=find_temperature,
    misconceptions=(
        Misconception(
            "reciprocal",
            "You gave 1/T: the number that scores are multiplied by. Should a flatter target give a higher number, or "
            "a lower one?",
            twin=changed(lambda t: 1 / t),
        ),
        Misconception(
            "only-the-runner-up",
            "Right for two scores. For more, you looked at the gap to the second only. Do the others take no weight?",
            twin=lambda z, target: float(gaps_below(z)[0]) / odds(1, target) if target != 0.5 else 1e6,
        ),
        Misconception(
            "all-gaps-alike",
            "Right for two scores. For more, you took one gap, the mean, for all. Do the exponentials of different "
            "gaps average like that?",
            twin=lambda z, target: float(gaps_below(z).mean()) / odds(len(z) - 1, target),
        ),
        Misconception(
            "all-gaps-alike",
            "Right for two scores. For more, you give what would be right if all gaps were the smallest: by a formula, "
            "or as the end of an interval that was halved to the wrong side. Which of the two?",
            twin=lambda z, target: float(gaps_below(z)[0]) / odds(len(z) - 1, target),
        ),
        Misconception(
            "all-gaps-alike",
            "Right for two scores. For more, you give what would be right if all gaps were the largest: by a formula, "
            "or as the end of an interval that was halved to the wrong side. Which of the two?",
            twin=lambda z, target: float(gaps_below(z)[-1]) / odds(len(z) - 1, target),
        ),
        Misconception(
            "rest-for-target",
            "At your temperature the largest weight is 1 − target, or as near to it as can be. Which of the two is to "
            "be the target: the largest weight, or all the rest?",
            twin=lambda z, target: (
                find_temperature(z, 1 - target) if 1 / len(z) < 1 - target else solution(largest, z, 1 - target)
            ),
        ),
        Misconception(
            "lead-for-weight",
            "At your temperature it is the lead over the second weight that is the target. What is asked for: the "
            "lead, or the largest weight?",
            twin=lambda z, target: solution(lead_over_second, z, target),
        ),
        Misconception(
            "ratio-for-weight",
            "At your temperature the two largest weights have the ratio of the target. What is asked for: a ratio, or "
            "a weight?",
            twin=lambda z, target: float(gaps_below(z)[0]) / -math.log(target),
        ),
        Misconception(
            "sum-of-squares-for-weight",
            "At your temperature the squares of the weights sum to the target. Which number is asked for?",
            twin=lambda z, target: solution(lambda z, t: float((softmax(z, t) ** 2).sum()), z, target),
        ),
        Misconception(
            "logarithm-returned",
            "You gave ln T. If you search on a logarithmic scale, what brings you back from it?",
            twin=changed(math.log),
        ),
        Misconception(
            "exponential-returned",
            "You gave e to the power T. Was your search on a logarithmic scale? Where do you come back from it?",
            twin=changed(lambda t: math.exp(min(t, 700.0))),
        ),
        Misconception(
            "temperature-negated",
            "Your temperature has the right size, and is negative. Is a gap how far the largest lies above, or below?",
            twin=changed(lambda t: -t),
        ),
        Misconception(
            "temperature-squared",
            "You gave the square of the temperature. Is T applied twice in your softmax, or its root?",
            twin=changed(lambda t: t * t),
        ),
        Misconception(
            "temperature-under-a-root",
            "You gave the root of the temperature. Is T squared in your softmax?",
            twin=changed(math.sqrt),
        ),
        Misconception(
            "base-two",
            "Your temperature is 0.693 times the right one, which is ln 2: somewhere is a power of base 2. Which base "
            "does a softmax have?",
            twin=changed(lambda t: t * math.log(2)),
        ),
        Misconception(
            "base-two",
            "Your temperature is 1.443 times the right one, which is 1/ln 2: somewhere is a logarithm of base 2. Which "
            "base does a softmax have?",
            twin=changed(lambda t: t / math.log(2)),
        ),
        Misconception(
            "weight-returned",
            "You gave the weight that was reached, which is the target. At which temperature is it reached?",
            twin=lambda z, target: target,
        ),
        Misconception(
            "weights-returned",
            "You gave the weights at the right temperature. The temperature itself is asked for.",
            twin=lambda z, target: softmax(z, find_temperature(z, target)),
        ),
        Misconception(
            "interval-returned",
            "Two numbers came back, the ends of an interval. Which one number lies between them?",
            twin=changed(lambda t: (t, t)),
        ),
        Misconception(
            "temperature-forgotten",
            "You gave 1, or a number that no input changes. Which part of your code looks at the target?",
            twin=lambda z, target: 1.0,
        ),
        *NARROW,
        *EARLY,
        *RUNAWAY,
        *OVERFLOWS,
        *ROUNDED,
        *SEARCHES,
    ),
)


def largest(z: Tensor, temperature: float) -> float:
    return float(softmax(z.double(), temperature).max())


def lead_over_second(z: Tensor, temperature: float) -> float:
    first, second = softmax(z.double(), temperature).topk(2).values.tolist()
    return float(first - second)


QUESTIONS = (SOFTMAX, ENTROPY, SAMPLE_TOKEN, FIND_TEMPERATURE)
