"""4.1: softmax with a temperature."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, in_each_layer, mistake
from qkv.questions.engine.in_model import At
from qkv.questions.shared.attending import row_sum
from qkv.softmax import softmax
from qkv.words import mark

STRESS = 1e-3  # tolerance for scores near 10,000, where a float32 has three decimals

# ── the cases ─────────────────────────────────────────────────────────────────────────────────────


def draw_scores(draw: Draw) -> list[Case]:
    """Draw scores along several axes, with temperatures; very large scores, and temperatures that are refused."""

    def case(
        name: str, *leading: int, dtype: torch.dtype = torch.float32, n_k: int | None = None, **given: float
    ) -> Case:
        s = draw.sizes("n_q", "n_k", **({"n_k": n_k} if n_k else {}))
        return Case(call(draw.normal(*leading, s["n_q"], s["n_k"], dtype=dtype), **given), name, s)

    def refused(name: str, temperature: float) -> Case:
        z = draw.normal(3, draw.whole(4, 8))
        return Case(call(z, temperature=temperature), name, raises="ValueError", gradients=False)

    low, high = partial(draw.uniform, 0.4, 0.7), partial(draw.uniform, 1.5, 2.8)
    return [
        case("plain"),
        case("plain", temperature=low()),
        case("plain", temperature=high()),
        case("a batch", 3, temperature=low()),
        case("two axes in front", 2, 3, temperature=high()),
        case("dim = 0", dim=0),
        case("dim = 1 of three", 3, dim=1, temperature=high()),
        case("float64", dtype=torch.float64, temperature=low()),
        Case(call(draw.normal(draw.whole(4, 8)), temperature=high()), "one row without a table"),
        case("one score in each row", n_k=1, temperature=low()),
        case("temperature 40", temperature=40.0),
        *extreme_scores(draw),
        refused("temperature 0", 0.0),
        refused(mark("a temperature below 0"), -draw.uniform(0.5, 1.5)),
    ]


def extreme_scores(draw: Draw) -> list[Case]:
    """Draw scores whose exponentials overflow, or are all 0 in a row."""

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


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────


def guard_against(bad: Callable[[float], bool], error: type[Exception] = ValueError) -> Callable[[float], None]:
    """Return a guard(temperature) that raises `error` for the temperatures for which `bad` is true."""

    def guard(temperature: float) -> None:
        if bad(temperature):
            raise error(f"temperature {temperature}")

    return guard


right_guard = guard_against(lambda t: t <= 0)


def row_maximum(z: Tensor, dim: int) -> Tensor:
    return z.amax(dim=dim, keepdim=True)


def no_shift(z: Tensor, dim: int, temperature: float) -> float:
    return 0.0


def one(powers: Tensor, dim: int) -> float:
    return 1.0


def softmax_variant(
    temper: Callable[[Tensor, float], Tensor] = lambda z, t: z / t,
    shift: Callable[[Tensor, int, float], Tensor | float] = lambda z, dim, t: row_maximum(z, dim),
    power: Callable[[Tensor], Tensor] = torch.exp,
    divisor: Callable[[Tensor, int], Tensor | float] = lambda powers, dim: powers.sum(dim=dim, keepdim=True),
    after: Callable[[Tensor, float, int], Tensor] = lambda p, t, dim: p,
    axis: Callable[[int], int] = lambda dim: dim,
    guard: Callable[[float], None] = right_guard,
    defaults: tuple[float, int] = (1.0, -1),
) -> Callable[..., Tensor]:
    """Return an answer(z, temperature, dim); each argument replaces one of its steps. By default it is right.

    `guard` refuses temperatures, `temper` divides by them, `shift` is subtracted, `power` is the exponential, `divisor`
    the sum, and `after` changes the weights. `axis` changes dim; `defaults` are the temperature and dim.
    """

    def variant(z: Tensor, temperature: float = defaults[0], dim: int = defaults[1]) -> Tensor:
        guard(temperature)
        dim = axis(dim)
        z = temper(z, temperature)
        powers = power(z - shift(z, dim, temperature))
        return after(powers / divisor(powers, dim), temperature, dim)

    return variant


def at_temperature(weights: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """Return an answer(z, temperature, dim) that divides the scores by the temperature and then applies `weights`.

    It refuses the temperatures that the right answer refuses.
    """

    def answer(z: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
        right_guard(temperature)
        return weights(z / temperature, dim)

    return answer


def temperature_ignored(z: Tensor, temperature: float) -> Tensor:
    return z


tempered = by_knob("temper")
guarded = by_knob("guard")
shifted = by_knob("shift")

TEMPERATURES = (
    tempered("temperature-multiplied", lambda z, t: z * t),
    tempered("temperature-ignored", temperature_ignored),
    Misconception(
        "temperature-on-probabilities",
        knob_sets=(
            {"temper": temperature_ignored, "after": lambda p, t, dim: p / t},
            {"temper": temperature_ignored, "after": lambda p, t, dim: p ** (1 / t)},
            {"temper": temperature_ignored, "after": lambda p, t, dim: (p / t).softmax(dim)},
        ),
    ),
    guarded("temperature-not-checked", lambda t: None, lambda t: 1 / t),
    guarded("zero-temperature-let-through", guard_against(lambda t: t < 0)),
    guarded("negative-temperature-let-through", guard_against(lambda t: t == 0)),
    guarded("high-temperature-refused", guard_against(lambda t: not 0 < t <= 1)),
    guarded("assertion-for-an-error", guard_against(lambda t: t <= 0, AssertionError)),
)

SHIFTS = (
    shifted("overflow", no_shift),
    shifted("one-maximum-for-all", lambda z, dim, t: z.max()),
    shifted(
        "maximum-along-the-wrong-axis",
        lambda z, dim, t: row_maximum(z, 0),
        lambda z, dim, t: row_maximum(z, -1),
    ),
    shifted("smallest-subtracted", lambda z, dim, t: z.amin(dim=dim, keepdim=True)),
    shifted("maximum-before-the-temperature", lambda z, dim, t: row_maximum(z, dim) * t),
    shifted("mean-subtracted", lambda z, dim, t: z.mean(dim=dim, keepdim=True)),
    Misconception(
        "scores-clipped",
        knob_sets=tuple(
            {"temper": lambda z, t, limit=limit: (z / t).clamp(-limit, limit), "shift": no_shift}
            for limit in (10, 20, 30, 50, 60, 80, 88, 100)  # exp(88) is near the largest float32
        ),
    ),
    Misconception("nan-replaced", knobs={"after": lambda p, t, dim: p.nan_to_num(), "shift": no_shift}),
    mistake(
        "axis-not-kept",
        softmax_variant(shift=lambda z, dim, t: z.amax(dim=dim)),
        softmax_variant(divisor=lambda powers, dim: powers.sum(dim=dim)),
    ),
)

AXES = (
    Misconception(
        "dim-ignored",
        knob_sets=({"axis": lambda dim: -1}, {"divisor": lambda powers, dim: powers.sum(-1, keepdim=True)}),
    ),
    Misconception(
        "softmax-over-queries", knob_sets=({"defaults": (1.0, 0)}, {"defaults": (1.0, -2)}, {"axis": lambda dim: 0})
    ),
    Misconception("softmax-axis-from-the-front", knobs={"defaults": (1.0, 1)}),
    mistake(
        "softmax-over-everything",
        at_temperature(lambda z, dim: z.flatten().softmax(-1).view_as(z)),
        softmax_variant(divisor=lambda powers, dim: powers.sum()),
    ),
)

WEIGHTS = (
    Misconception("not-normalised", knob_sets=({"divisor": one}, {"divisor": one, "shift": no_shift})),
    Misconception(
        "exponential-forgotten",
        knob_sets=({"power": lambda z: z}, *({"power": way, "shift": no_shift} for way in (lambda z: z, torch.relu))),
    ),
    mistake("sigmoid", at_temperature(lambda z, dim: z.sigmoid())),
    mistake(
        "log-softmax",
        at_temperature(lambda z, dim: z.log_softmax(dim)),
        at_temperature(lambda z, dim: softmax(z, dim=dim).log()),
    ),
    Misconception("softmax-twice", knobs={"after": lambda p, t, dim: p.softmax(dim)}),
    Misconception("only-the-best", knobs={"power": lambda z: (z == 0).to(z.dtype)}),
    tempered("scores-negated", lambda z, t: -z / t),
)


def weights_in_model(answer: Callable[..., Tensor], at: At) -> Tensor:
    """Compute weights with the answer. The division by √d_k is a temperature: 4 in the tagger."""
    q, k = at["attention.q"], at["attention.k"]
    return answer(q @ k.mT, math.sqrt(q.shape[-1]))


QUESTION = Question(
    points=4,
    inputs=("z", "temperature", "dim"),
    outputs=("weights (...)",),
    draw=draw_scores,
    reference=softmax,
    variant=softmax_variant,
    gradients=True,
    in_model=in_each_layer("attention.weights", weights_in_model),
    quotes={"first_row_sum": lambda seen: row_sum(seen.value)},
    misconceptions=(*TEMPERATURES, *SHIFTS, *AXES, *WEIGHTS),
)
