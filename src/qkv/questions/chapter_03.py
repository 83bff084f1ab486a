"""Chapter 3, why divide by √d_k: what is asked, and what people get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, scaled_scores, score_variance
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, call
from qkv.questions.slips import At, slips
from qkv.softmax import softmax_jacobian

ROOTLESS = (5, 6, 7, 8, 10)  # sizes whose root is not a whole number
# Many take √d_k of a float32 tensor, whatever the inputs are. No mistake: an exact root costs nothing.
EXACT = 16

# ── 3.1 scaled scores ─────────────────────────────────────────────────────────────────────────────

Scale = Callable[[Tensor, Tensor, Tensor], Tensor | float]  # of scores, q, k: what the scores are divided by


def by_root(scores: Tensor, q: Tensor, k: Tensor) -> float:
    return math.sqrt(q.shape[-1])


def q_with_k(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


def scores_variant(
    scale: Scale = by_root,
    product: Callable[[Tensor, Tensor], Tensor] = q_with_k,
    after: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Callable[..., Tensor]:
    """Give an answer to 3.1 that multiplies, scales, or goes on in another way."""

    def variant(q: Tensor, k: Tensor) -> Tensor:
        scores = product(q, k)
        return after(scores / scale(scores, q, k))

    return variant


def scores_in_steps(at: At) -> Callable[..., Tensor]:
    return lambda q, k: at("scores", at("products", q_with_k(q, k)) / math.sqrt(q.shape[-1]))


def draw_q_and_k(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d_k = EXACT if dtype == torch.float64 else draw.choose(ROOTLESS)
        sizes = draw.sizes("n_q", "n_k", "d_k", **{"d_k": d_k} | fixed)
        q = draw.normal(*leading, sizes["n_q"], sizes["d_k"], dtype=dtype)
        k = draw.normal(*leading, sizes["n_k"], sizes["d_k"], dtype=dtype)
        return Case(call(q, k), name, sizes)

    same = draw.choose(ROOTLESS)
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("d_k = 1", d_k=1),
        case("as many keys as features", n_k=same, d_k=same),
    ]


def spread(scores: Any) -> str:
    """Quote how widely some scores spread."""
    wide = isinstance(scores, Tensor) and scores.numel() > 1
    return f"a standard deviation of {float(scores.double().std()):.2f}" if wide else "another spread"


def width(seen: Seen) -> int:
    """How many products one score sums: d_k, or the width of a head."""
    return seen.case.sizes.get("d_k") or seen["d_head"]


def root_of(size: str, whose: str) -> str:
    return f"Your scores are divided by the root of {whose}. How many products are summed in one score? Is that {size}?"


# Whatever is scaled in the wrong way, in 3.1 and again in 3.3.
SCALES = (
    Misconception(
        "no-scale",
        lambda seen: (
            f"Your scores are q · k as it is. It is a sum of {seen['d_k']} products here. "
            "What happens to its spread as d_k grows, and what brings that back to 1?"
        ),
        knobs={"scale": lambda scores, q, k: 1.0},
    ),
    Misconception(
        "scaled-by-d-k",
        "Your scores are divided by d_k, or averaged over it. That is right for a variance. "
        "By what do you divide a number, so that its variance falls by a factor d_k?",
        knobs={"scale": lambda scores, q, k: q.shape[-1]},
    ),
    Misconception(
        "scale-multiplied",
        lambda seen: (
            f"Your scores grew: they are {width(seen)} times what was expected. "
            "Is the sum of many products too small for the softmax, or too large?"
        ),
        knobs={"scale": lambda scores, q, k: 1 / math.sqrt(q.shape[-1])},
    ),
    Misconception(
        "scale-multiplied-by-d-k",
        "Your scores are multiplied by d_k. Should they become larger as d_k grows, or be held back?",
        knobs={"scale": lambda scores, q, k: 1 / q.shape[-1]},
    ),
    Misconception(
        "scaled-by-fourth-root",
        "Your scores are divided by the fourth root of d_k. That is right for q alone, if k is divided likewise. "
        "Is it?",
        knobs={"scale": lambda scores, q, k: q.shape[-1] ** 0.25},
    ),
    Misconception(
        "scaled-by-d-k-squared",
        "Your scores are divided by the square of d_k. The variance of one score is d_k. What does that make its "
        "spread?",
        knobs={"scale": lambda scores, q, k: q.shape[-1] ** 2},
    ),
    Misconception(
        "scaled-by-number-of-keys",
        root_of("n_k", "the number of keys, n_k"),
        knobs={"scale": lambda scores, q, k: math.sqrt(k.shape[-2])},
    ),
    Misconception(
        "scaled-by-number-of-keys",
        "Your scores are divided by the number of keys, n_k. Does one score grow when there are more keys?",
        knobs={"scale": lambda scores, q, k: k.shape[-2]},
    ),
    Misconception(
        "scaled-by-first-axis",
        "Your scores are divided by the root of the first axis. With a batch in front, that is the size of the "
        "batch. "
        "Which axis holds the features, whatever stands in front?",
        knobs={"scale": lambda scores, q, k: math.sqrt(q.shape[0])},
    ),
    Misconception(
        "scaled-by-first-axis",
        "Your scores are divided by the root of the first axis of k. With a batch in front, that is the batch's "
        "size. "
        "Which axis holds the features, whatever stands in front?",
        knobs={"scale": lambda scores, q, k: math.sqrt(k.shape[0])},
    ),
    Misconception(
        "scaled-by-number-of-queries",
        root_of("n_q", "the number of queries, n_q"),
        knobs={"scale": lambda scores, q, k: math.sqrt(q.shape[-2])},
    ),
    Misconception(
        "scaled-by-number-of-queries",
        "Your scores are divided by the number of queries, n_q. Does one score grow when more tokens ask?",
        knobs={"scale": lambda scores, q, k: q.shape[-2]},
    ),
    Misconception(
        "axis-counted-from-the-front",
        "Right for one sequence, wrong for a batch: the scale comes from axis 1, counted from the front. "
        "Which index finds the features whatever stands in front?",
        knobs={"scale": lambda scores, q, k: math.sqrt(q.shape[1])},
    ),
    Misconception(
        "axis-counted-from-the-front",
        "Right for one sequence, wrong for a batch: the scale comes from axis 1 of k, counted from the front. "
        "Which index finds the features whatever stands in front?",
        knobs={"scale": lambda scores, q, k: math.sqrt(k.shape[1])},
    ),
    Misconception(
        "scaled-by-a-leading-axis",
        "The root is that of an axis in front of the rows, the third from the back: a batch, or heads, where there is "
        "one at all. Which axis holds the features?",
        knobs={"scale": lambda scores, q, k: math.sqrt(q.shape[-3])},
        alone=True,
    ),
    Misconception(
        "fraction-turned-over",
        "Your √d_k is divided by the scores. Which of the two is to be made smaller?",
        knobs={"scale": lambda scores, q, k: scores * scores / math.sqrt(q.shape[-1])},
        alone=True,
    ),
    Misconception(
        "scaled-by-all-entries",
        "Your scores are divided by the root of how many numbers q holds. How many of them take part in one score?",
        knobs={"scale": lambda scores, q, k: math.sqrt(q.numel())},
    ),
    Misconception(
        "root-rounded",
        lambda seen: (
            f"Your scale is a whole number. What is √{seen['d_k']}, and what does `int`, `//` or `isqrt` make of it?"
        ),
        knobs={"scale": lambda scores, q, k: max(1, math.isqrt(q.shape[-1]))},
    ),
    Misconception(
        "scaled-by-measured-spread",
        "Your scores have a standard deviation of exactly 1, because they are divided by their own. "
        "What should the scale depend on, so that a score does not change when other tokens do?",
        knobs={"scale": lambda scores, q, k: scores.std() if scores.numel() > 1 else 1.0},
    ),
)


def cosine(q: Tensor, k: Tensor) -> Tensor:
    return q_with_k(q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True)) * math.sqrt(q.shape[-1])


PRODUCTS = (
    Misconception(
        "keys-not-transposed",
        "q and k are multiplied as they stand. That runs only where there happen to be as many keys as features. "
        "Which axis should the product sum over, and where does it stand in k?",
        knobs={"product": lambda q, k: q @ k},
    ),
    Misconception(
        "elementwise-product",
        "q and kᵀ are multiplied number by number, which their shapes do not allow. Which product sums as it goes?",
        knobs={"product": lambda q, k: q * k.mT},
    ),
    Misconception(
        "query-and-key-swapped",
        "Your rows belong to keys, and your columns to queries. Who asks, and who is asked? Queries go down, keys "
        "across.",
        knobs={"product": lambda q, k: q_with_k(k, q)},
    ),
    Misconception(
        "keys-on-the-left",
        "The transposed keys stand to the left of the queries, and the product sums over tokens. Over what should it "
        "sum, and which of the two goes first?",
        knobs={"product": lambda q, k: k.mT @ q},
        alone=True,
    ),
    Misconception(
        "keys-left-out",
        "Your queries went on alone, and no key has met them. What is a score of?",
        knobs={"product": lambda q, k: q},
        alone=True,
    ),
    Misconception(
        "queries-left-out",
        "Your keys went on alone, and no query has met them. What is a score of?",
        knobs={"product": lambda q, k: k.mT},
        alone=True,
    ),
    *(
        Misconception(
            "other-axes-swapped",
            f"You swap axes {a} and {b} of k. Rows and features are to change places: which two axes are these, "
            "counted from the back?",
            knobs={"product": lambda q, k, a=a, b=b: q @ k.transpose(a, b)},
            alone=True,
        )
        for a, b in ((-3, -1), (-2, -3), (1, -1), (-2, 0))
    ),
    Misconception(
        "keys-compared-with-keys",
        "Each key is compared with every key; the queries have no say. Which two things does a score bring together?",
        knobs={"product": lambda q, k: q_with_k(k, k)},
    ),
    Misconception(
        "queries-compared-with-queries",
        "Each query is compared with every query; the keys have no say. Which two things does a score bring together?",
        knobs={"product": lambda q, k: q_with_k(q, q)},
    ),
    Misconception(
        "axes-swapped-from-the-front",
        "Right for one sequence, but not for a batch: all axes of k are reversed, as `.T` does. Which two should "
        "change places, counted from the back?",
        knobs={"product": lambda q, k: q @ k.permute(*reversed(range(k.ndim)))},
    ),
    Misconception(
        "axes-swapped-from-the-front",
        "Right for one sequence, but not for a batch: axes 0 and 1 of k change places. Which two should, counted from "
        "the back?",
        knobs={"product": lambda q, k: q @ k.transpose(0, 1)},
    ),
    *(
        Misconception(
            "axes-swapped-from-the-front",
            f"Right for one sequence, but not for a batch: axes {a} and {b} of k change places. Which two should, "
            "both counted from the back?",
            knobs={"product": lambda q, k, a=a, b=b: q @ k.transpose(a, b)},
            alone=True,
        )
        for a, b in ((0, -1), (-2, 1))
    ),
)

SCALED_SCORES = Question(
    id="3.1",
    points=3,
    title="Scale the scores",
    inputs=("q", "k"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_q_and_k,
    reference=scaled_scores,
    variant=scores_variant,
    gradients=True,
    misconceptions=(
        *SCALES,
        *PRODUCTS,
        Misconception(
            "cosine-similarity",
            "Your scores do not change when a query gets longer: each row was divided by its length. "
            "Should a query that is twice as long score the same?",
            knobs={"product": cosine},
        ),
        Misconception(
            "softmax-already-applied",
            "Your rows sum to 1: these are weights. Scores are what comes before the softmax. Which of the two is "
            "asked for?",
            knobs={"after": lambda scores: scores.softmax(dim=-1)},
        ),
        Misconception(
            "softmax-over-queries",
            "Your columns sum to 1: these are weights, and shared out among the queries. Scores come before any "
            "softmax.",
            knobs={"after": lambda scores: scores.softmax(dim=-2)},
        ),
        Misconception(
            "scale-subtracted",
            "Every score is too small by √d_k. Subtracting moves scores, it does not change their spread. What does?",
            twin=lambda q, k: q_with_k(q, k) - math.sqrt(q.shape[-1]),
        ),
        Misconception(
            "scores-negated",
            "Every score has the wrong sign. Should a key that points where the query points score high, or low?",
            knobs={"after": lambda scores: -scores},
        ),
        *slips(scores_in_steps, "rounded", products="your products q · k", scores="your scores"),
        *slips(scores_in_steps, "cut", scores="your scores"),
        Misconception(
            "only-the-scale-returned",
            "The root of d_k came back, one number. What is it to divide?",
            twin=lambda q, k: math.sqrt(q.shape[-1]),
        ),
        Misconception(
            "one-over-root-off",
            "Your scale is d_k / 2 or its reciprocal: `** 1/2` is a power of 1, and then a half. What do brackets "
            "change?",
            twin=lambda q, k: q_with_k(q, k) / (q.shape[-1] ** 1 / 2),
        ),
        Misconception(
            "one-over-root-off",
            "Your scores are divided by 2 · d_k: `** -1/2` is a power of −1, and then a half, and `/ d_k ** 1/2` "
            "divides twice. What do brackets change?",
            twin=lambda q, k: q_with_k(q, k) * (q.shape[-1] ** -1 / 2),
        ),
    ),
)

# ── 3.2 the variance of a score ───────────────────────────────────────────────────────────────────


def draw_variances(draw: Draw) -> list[Case]:
    def case(name: str, d_k: int, var_q: float, var_k: float) -> Case:
        return Case(call(d_k, var_q, var_k), name, {"d_k": d_k})

    return [
        case("plain", draw.choose(ROOTLESS), draw.uniform(1.2, 1.8), draw.uniform(2.2, 3.8)),
        case("plain", draw.choose((11, 13, 17)), draw.uniform(2.2, 3.8), draw.uniform(1.2, 1.8)),
        case("small variances", draw.whole(20, 70), draw.uniform(0.2, 0.4), draw.uniform(0.5, 0.8)),
        case("unit variances", draw.choose((16, 64, 256)), 1.0, 1.0),
        case("d_k = 1", 1, draw.uniform(1.2, 1.8), draw.uniform(2.2, 3.8)),
        case("queries that are all zero", draw.whole(3, 9), 0.0, draw.uniform(1.2, 1.8)),
    ]


SCORE_VARIANCE = Question(
    id="3.2",
    points=2,
    title="How widely a score spreads",
    inputs=("d_k", "var_q", "var_k"),
    outputs=("variance",),
    draw=draw_variances,
    reference=score_variance,
    misconceptions=(
        Misconception(
            "d-k-forgotten",
            "That is the variance of one product q₁k₁, or of a score after scaling. How many such products does a "
            "dot product sum?",
            twin=lambda d_k, var_q, var_k: var_q * var_k,
        ),
        Misconception(
            "variances-added",
            "Your two variances are added. They add for a sum of q and k. What stands between q and k in a dot "
            "product?",
            twin=lambda d_k, var_q, var_k: d_k * (var_q + var_k),
        ),
        Misconception(
            "variances-added",
            "Your two variances are added, and d_k has no part in it. What stands between q and k in a dot product, "
            "and how many such terms are there?",
            twin=lambda d_k, var_q, var_k: var_q + var_k,
        ),
        Misconception(
            "all-added",
            "All three are added. Which operation joins a query's entry to a key's? And how often does that happen?",
            twin=lambda d_k, var_q, var_k: d_k + var_q + var_k,
        ),
        Misconception(
            "standard-deviation",
            "You gave the standard deviation. The variance is asked for. How does one become the other?",
            twin=lambda d_k, var_q, var_k: math.sqrt(d_k * var_q * var_k),
        ),
        Misconception(
            "variances-taken-for-standard-deviations",
            "The two variances are squared once more. Are var_q and var_k spreads, or squares of spreads already?",
            twin=lambda d_k, var_q, var_k: d_k * var_q**2 * var_k**2,
        ),
        Misconception(
            "root-of-the-variances",
            "The root of the two variances was taken, but not that of d_k. In which unit do you reckon: variance, "
            "or spread?",
            twin=lambda d_k, var_q, var_k: d_k * math.sqrt(var_q * var_k),
        ),
        Misconception(
            "root-of-d-k",
            "Only d_k is under a root. √d_k is how the spread grows. How does the variance, its square, grow?",
            twin=lambda d_k, var_q, var_k: math.sqrt(d_k) * var_q * var_k,
        ),
        Misconception(
            "d-k-squared",
            "d_k comes in squared. A sum of copies of one number does that. Are these products copies, or independent?",
            twin=lambda d_k, var_q, var_k: d_k**2 * var_q * var_k,
        ),
        Misconception(
            "divided-by-d-k",
            "Your variance falls as d_k grows: that is a mean's. Does a dot product divide by the number of its terms?",
            twin=lambda d_k, var_q, var_k: var_q * var_k / d_k,
        ),
        Misconception(
            "var-k-forgotten",
            "Your result does not change when the keys' variance does. Double every key: what does that do to the "
            "score?",
            twin=lambda d_k, var_q, var_k: d_k * var_q,
        ),
        Misconception(
            "var-q-forgotten",
            "Your result does not change when the queries' variance does. Double every query: what does that do "
            "to the score?",
            twin=lambda d_k, var_q, var_k: d_k * var_k,
        ),
        Misconception(
            "variances-forgotten",
            "You gave d_k, which is right where both variances are 1. Double every query: what does that do to "
            "the score?",
            twin=lambda d_k, var_q, var_k: float(d_k),
        ),
        Misconception(
            "variances-averaged",
            "The two variances are averaged. If one of them is 0, every score is 0. Does yours say so?",
            twin=lambda d_k, var_q, var_k: d_k * (var_q + var_k) / 2,
        ),
        Misconception(
            "product-for-sum",
            "Your result is a power of the variances. Are the d_k products multiplied with each other, or summed?",
            twin=lambda d_k, var_q, var_k: (var_q * var_k) ** d_k,
        ),
        Misconception(
            "one-divided-by-the-other",
            "One variance is divided by the other. What happens to a score when both q and k become twice as large?",
            twin=lambda d_k, var_q, var_k: d_k * var_q / var_k,
        ),
        Misconception(
            "variance-rounded",
            "You gave a whole number. A variance need not be one. Where is it rounded?",
            twin=lambda d_k, var_q, var_k: float(int(d_k * var_q * var_k)),
        ),
        Misconception(
            "variance-rounded",
            "You gave a whole number. A variance need not be one. Where is it rounded?",
            twin=lambda d_k, var_q, var_k: float(round(d_k * var_q * var_k)),
        ),
        Misconception(
            "variances-added",
            "The keys' variance is added to the rest. What stands between q and k in a dot product?",
            twin=lambda d_k, var_q, var_k: d_k * var_q + var_k,
        ),
        Misconception(
            "d-k-added",
            "d_k is added to the queries' variance. How often is a product of the two summed?",
            twin=lambda d_k, var_q, var_k: (d_k + var_q) * var_k,
        ),
        Misconception(
            "one-divided-by-the-other",
            "You divide by the queries' variance. What happens to a score when a query becomes twice as large?",
            twin=lambda d_k, var_q, var_k: d_k / var_q * var_k,
        ),
        Misconception(
            "one-variance-alone",
            "You gave the keys' variance alone. What does a score take from the query, and how often?",
            twin=lambda d_k, var_q, var_k: var_k,
        ),
        Misconception(
            "one-variance-alone",
            "You gave the queries' variance alone. What does a score take from the key, and how often?",
            twin=lambda d_k, var_q, var_k: var_q,
        ),
        Misconception(
            "negative-variance",
            "Your variance is negative. It is a mean of squares: can it be?",
            twin=lambda d_k, var_q, var_k: -d_k * var_q * var_k,
        ),
        Misconception(
            "always-scaled",
            "You gave 1, whatever the inputs. That is a score's variance after scaling, for unit variances. And "
            "before?",
            twin=lambda d_k, var_q, var_k: 1.0,
        ),
    ),
)

# ── 3.3 attention ─────────────────────────────────────────────────────────────────────────────────


def over_keys(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def over_everything(scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(dim=-1).view_as(scores)


def over_two_axes_by_numel(scores: Tensor) -> Tensor:
    return scores.flatten().softmax(dim=-1).view_as(scores)


def mixed(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def attention_variant(
    scale: Scale = by_root,
    product: Callable[[Tensor, Tensor], Tensor] = q_with_k,
    share: Callable[[Tensor], Tensor] = over_keys,
    mix: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = mixed,
    give: Callable[[Tensor, Tensor, Tensor], Any] = lambda out, weights, scores: (out, weights),
) -> Callable[..., Any]:
    """Give an answer to 3.3 that goes wrong at some of its five steps."""

    def variant(q: Tensor, k: Tensor, v: Tensor) -> Any:
        scores = product(q, k)
        scores = scores / scale(scores, q, k)
        weights = share(scores)
        return give(mix(weights, q, k, v), weights, scores)

    return variant


def attention_in_steps(at: At) -> Callable[..., Any]:
    def answer(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        scores = at("scores", at("products", q_with_k(q, k)) / math.sqrt(q.shape[-1]))
        weights = at("weights", over_keys(scores))
        return at("output", at("weights_in_the_mix", weights) @ v), at("returned_weights", weights)

    return answer


# The slips in the five steps of attention, in 3.3 and again in 2.5.
STEPS = (
    *slips(attention_in_steps, "rounded", products="your products q · k"),
    *slips(attention_in_steps, "negated rounded cut", scores="your scores"),
    *slips(attention_in_steps, "negated rounded", weights="your weights"),
    *slips(attention_in_steps, "cut", weights_in_the_mix="the weights, where they mix the values"),
    *slips(attention_in_steps, output="your output", returned_weights="the weights that you return"),
)


def scale_after_softmax(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = over_keys(q_with_k(q, k)) / math.sqrt(q.shape[-1])
    return weights @ v, weights


def scaled_twice(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = attention(q, k, v)[1] / math.sqrt(q.shape[-1])
    return weights @ v, weights


# Whatever is mixed in the wrong way, in 3.3 and again in 5.4.
MIXES: tuple[tuple[str, str, Callable[..., Tensor]], ...] = (
    (
        "weights-times-values-one-by-one",
        "Weights and values are multiplied number by number, which their shapes do not allow. Which product sums as it "
        "goes?",
        lambda weights, q, k, v, *mask: weights * v,
    ),
    (
        "values-on-the-left",
        "The values stand to the left of the weights. Which axis do both share, and where does it stand in each?",
        lambda weights, q, k, v, *mask: v @ weights,
    ),
    (
        "nothing-mixed",
        "Your output is the values as they came. Who takes how much of each?",
        lambda weights, q, k, v, *mask: v,
    ),
    (
        "weights-returned-twice",
        "Your output is the weights. What do they mix?",
        lambda weights, q, k, v, *mask: weights,
    ),
)


def draw_qkv(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d_k = EXACT if dtype == torch.float64 else draw.choose(ROOTLESS)
        sizes = draw.sizes("n_q", "n_k", "d_k", "d_v", **{"d_k": d_k} | fixed)
        q = draw.normal(*leading, sizes["n_q"], sizes["d_k"], dtype=dtype)
        k = draw.normal(*leading, sizes["n_k"], sizes["d_k"], dtype=dtype)
        v = draw.normal(*leading, sizes["n_k"], sizes["d_v"], dtype=dtype)
        return Case(call(q, k, v), name, sizes)

    same = draw.choose(ROOTLESS)
    return [
        *draw.situations(case),
        case("one key", n_k=1),
        case("one query", n_q=1),
        case("d_k = 1", d_k=1),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_v=same),
    ]


def weights_of(value: Any) -> Tensor | None:
    """Find the weights in what an answer to 3.3 gave."""
    weights = value[1] if isinstance(value, (tuple, list)) and len(value) == 2 else None
    return weights if isinstance(weights, Tensor) and weights.ndim > 1 else None


def first_row_sum(seen: Seen) -> str:
    weights = weights_of(seen.value)
    return f"{float(weights.sum(-1).flatten()[0]):.3g}" if weights is not None else "something else than 1"


ATTENTION = Question(
    id="3.3",
    points=4,
    title="Attention",
    inputs=("q", "k", "v"),
    outputs=("out (..., n_q, d_v)", "weights (..., n_q, n_k)"),
    draw=draw_qkv,
    reference=attention,
    variant=attention_variant,
    gradients=True,
    row_sums={"weights": 1.0},
    misconceptions=(
        Misconception(
            "softmax-over-queries",
            "Each of your columns sums to 1. Whose attention is shared out: a key's, or a query's?",
            knobs={"share": lambda scores: scores.softmax(dim=-2)},
        ),
        Misconception(
            "softmax-over-everything",
            lambda seen: (
                f"All your weights together sum to 1, and the first row to {first_row_sum(seen)}. "
                "Does each query share out a weight of 1 of its own?"
            ),
            knobs={"share": over_everything},
        ),
        Misconception(
            "softmax-over-everything",
            "All your weights together sum to 1, over the whole batch. Who shares out a weight of 1, and among whom?",
            knobs={"share": over_two_axes_by_numel},
        ),
        Misconception(
            "softmax-over-first-axis",
            "Your softmax runs along axis 0. With a batch in front, that shares weights out among examples. "
            "Along which axis do the keys lie, whatever stands in front?",
            knobs={"share": lambda scores: scores.softmax(dim=0)},
        ),
        Misconception(
            "axis-counted-from-the-front",
            "Right for one sequence, wrong for a batch: your softmax runs along axis 1. "
            "Along which axis do the keys lie, counted from the back?",
            knobs={"share": lambda scores: scores.softmax(dim=1)},
        ),
        *SCALES,
        Misconception(
            "scaled-by-d-v",
            "Your scores are divided by the root of d_v. Do the values take part in a score at all?",
            twin=lambda q, k, v: attention_variant(scale=lambda *_: math.sqrt(v.shape[-1]))(q, k, v),
        ),
        Misconception(
            "scale-after-softmax",
            lambda seen: (
                f"Your first row of weights sums to {first_row_sum(seen)}, which is 1/√{seen['d_k']}. "
                "What should be on the right scale: what goes into the softmax, or what comes out?"
            ),
            twin=scale_after_softmax,
        ),
        Misconception(
            "output-scaled",
            "Your weights are those of unscaled scores, and the output is divided by √d_k. "
            "What is the division there for, and where must it stand to do that?",
            twin=lambda q, k, v: (
                over_keys(q_with_k(q, k)) @ v / math.sqrt(q.shape[-1]),
                over_keys(q_with_k(q, k)),
            ),
        ),
        Misconception(
            "output-scaled",
            "Your weights are right, and your output is divided by √d_k once more. How often does the formula divide?",
            knobs={"mix": lambda weights, q, k, v: weights @ v / math.sqrt(q.shape[-1])},
        ),
        Misconception(
            "scaled-twice",
            "Your weights are right before they are divided by √d_k once more. What should each of their rows sum to?",
            twin=scaled_twice,
        ),
        *PRODUCTS,
        Misconception(
            "no-softmax",
            "Your weights are the scores themselves: some are negative, and rows do not sum to 1. What makes "
            "weights of scores?",
            knobs={"share": lambda scores: scores},
        ),
        Misconception(
            "not-normalised",
            lambda seen: (
                f"Your weights are positive, but the first row sums to {first_row_sum(seen)}. What is missing?"
            ),
            knobs={"share": torch.exp},
        ),
        Misconception(
            "exponential-forgotten",
            "Your rows sum to 1, but some weights are negative. What does the softmax do to scores before it "
            "divides by their sum?",
            knobs={"share": lambda scores: scores / scores.sum(dim=-1, keepdim=True)},
        ),
        Misconception(
            "sigmoid",
            lambda seen: (
                f"Each weight lies between 0 and 1, but your first row sums to {first_row_sum(seen)}. "
                "Do the keys compete for a query's attention?"
            ),
            knobs={"share": torch.sigmoid},
        ),
        Misconception(
            "softmax-twice",
            "Your weights are nearly equal: a softmax was taken of weights. How often should scores go through it?",
            knobs={"share": lambda scores: over_keys(over_keys(scores))},
        ),
        Misconception(
            "log-softmax",
            "Your weights are negative: they are logarithms. What would each row have to sum to?",
            knobs={"share": lambda scores: scores.log_softmax(dim=-1)},
        ),
        Misconception(
            "only-the-best-key",
            "Each of your rows holds one 1 and else zeros. Does a soft look-up take one value, or a mixture?",
            knobs={"share": lambda scores: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)},
        ),
        Misconception(
            "all-keys-alike",
            "All your weights in a row are equal: the scores have no effect. What should decide who gets more?",
            knobs={"share": lambda scores: torch.full_like(scores, 1 / scores.shape[-1])},
        ),
        Misconception(
            "masked-though-not-asked",
            "Your weights are zero to the right of the diagonal. A causal mask comes in chapter 5. Did this "
            "question ask for one?",
            knobs={
                "share": lambda scores: over_keys(
                    scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
                )
            },
        ),
        Misconception(
            "scores-negated",
            "Your largest weight goes to the key that fits worst. Which sign do your scores have?",
            knobs={"share": lambda scores: over_keys(-scores)},
        ),
        *STEPS,
        Misconception(
            "softmax-over-a-leading-axis",
            "Your softmax runs along the third axis from the back: a batch, or heads, where there is one at all. Along "
            "which axis do the keys lie?",
            twin=attention_variant(share=lambda scores: scores.softmax(dim=-3)),
        ),
        *(Misconception(slug, says, twin=attention_variant(mix=mix)) for slug, says, mix in MIXES),
        Misconception(
            "keys-used-as-values",
            "Your output mixes the keys. A key is what a token is found by. What does it hand over?",
            knobs={"mix": lambda weights, q, k, v: weights @ k},
        ),
        Misconception(
            "queries-used-as-values",
            "Your output mixes the queries. A query is what a token asks. What does the one that answers hand over?",
            knobs={"mix": lambda weights, q, k, v: weights @ q},
        ),
        Misconception(
            "values-used-as-keys",
            "Your scores compare queries with values. By what is a token found, and what does it hand over?",
            twin=lambda q, k, v: attention(q, v, v),
        ),
        Misconception(
            "keys-and-values-swapped",
            "Your scores compare queries with values, and your output mixes keys. Which of k and v is which?",
            twin=lambda q, k, v: attention(q, v, k),
        ),
        Misconception(
            "weights-transposed-in-the-mix",
            "Your output mixes by columns of the weights. Does a query's output come from its row, or from a column?",
            knobs={"mix": lambda weights, q, k, v: weights.mT @ v},
        ),
        Misconception(
            "scores-mixed",
            "Your weights are right, but your output mixes the values by the scores. Which of the two are shares of 1?",
            twin=lambda q, k, v: (scaled_scores(q, k) @ v, attention(q, k, v)[1]),
        ),
        Misconception(
            "output-and-weights-swapped",
            "The weights come first and the output second. In which order does the question ask for them?",
            knobs={"give": lambda out, weights, scores: (weights, out)},
        ),
        Misconception(
            "scores-returned",
            "Your output is right. The second thing is the scores, and their rows do not sum to 1. What was to be "
            "second?",
            knobs={"give": lambda out, weights, scores: (out, scores)},
        ),
        Misconception(
            "weights-transposed",
            "Your output is right, but the weights that you return stand on their side. Whose weights does a row hold?",
            knobs={"give": lambda out, weights, scores: (out, weights.mT)},
        ),
        Misconception(
            "weights-not-returned",
            "Your output is right, and it came back alone. Two things are asked for: out, and then the weights.",
            knobs={"give": lambda out, weights, scores: out},
        ),
        Misconception(
            "output-not-returned",
            "Your weights are right, and they came back alone. What do they mix? Two things are asked for: out, "
            "and then weights.",
            knobs={"give": lambda out, weights, scores: weights},
        ),
        Misconception(
            "output-returned-twice",
            "The output came back twice. What says how much each query took from each key?",
            knobs={"give": lambda out, weights, scores: (out, out)},
        ),
    ),
)

# ── 3.4 the Jacobian of the softmax ───────────────────────────────────────────────────────────────


def draw_weights(draw: Draw) -> list[Case]:
    def case(name: str, sharpness: float = 1.0, dtype: torch.dtype = torch.float32, n: int | None = None) -> Case:
        n = draw.whole(3, 8) if n is None else n
        return Case(call(draw.normal(n, dtype=dtype, scale=sharpness).softmax(-1)), name, {"n": n})

    return [
        case("plain", n=3),
        case("plain"),
        case("float64", dtype=torch.float64),
        case("nearly all on one", sharpness=4.0),
        case("nearly equal", sharpness=0.05),
        case("n = 2", n=2),
        case("n = 1", n=1),
    ]


def outer(p: Tensor) -> Tensor:
    return p[:, None] * p[None, :]


def row_sums(seen: Seen) -> str:
    """Quote what a row of a Jacobian sums to."""
    value = seen.value
    if isinstance(value, Tensor) and value.ndim == 2:
        return f"Your first row sums to {float(value[0].sum()):.3g}. "
    return ""


SOFTMAX_JACOBIAN = Question(
    id="3.4",
    points=3,
    title="How weights move with scores",
    inputs=("p",),
    outputs=("jacobian (n, n)",),
    draw=draw_weights,
    reference=softmax_jacobian,
    row_sums={"jacobian": 0.0},
    about="Entry [i, j] says how weight i moves with score j.",
    misconceptions=(
        Misconception(
            "diagonal-term-forgotten",
            "Your diagonal is negative: a weight falls when its own score rises. Which part moves a weight with "
            "its own score?",
            twin=lambda p: -outer(p),
        ),
        Misconception(
            "outer-product-only",
            "Every entry is positive: no weight gives way to another. Yet the weights must keep their sum. What "
            "is missing?",
            twin=outer,
        ),
        Misconception(
            "other-scores-forgotten",
            "Off the diagonal all is zero. When score j rises, what must happen to the other weights, if they "
            "still sum to 1?",
            twin=torch.diag,
        ),
        Misconception(
            "other-scores-forgotten",
            "Your diagonal is right, and off it all is zero. When score j rises, what happens to the other weights?",
            twin=lambda p: torch.diag(p * (1 - p)),
        ),
        Misconception(
            "elementwise",
            "p(1 − p) came back, one number for each weight. That is each weight by its own score. Where are the "
            "other pairs?",
            twin=lambda p: p * (1 - p),
        ),
        Misconception(
            "jacobian-negated",
            "Every sign is turned round: a weight falls when its own score rises. Is that what a softmax does?",
            twin=lambda p: outer(p) - torch.diag(p),
        ),
        Misconception(
            "sum-for-difference",
            lambda seen: (
                f"{row_sums(seen)}All scores together may rise by the same amount, and no weight moves. "
                "What must a row sum to then? And which sign stands between your two parts?"
            ),
            twin=lambda p: torch.diag(p) + outer(p),
        ),
        Misconception(
            "softmax-applied-again",
            "Your answer takes a softmax of p. But p has been through it already: p is the weights, not the scores.",
            twin=lambda p: softmax_jacobian(p.softmax(-1)),
        ),
        Misconception(
            "squares-by-column",
            "From each column the same p² was taken. ∂pᵢ/∂zⱼ has an i and a j in it. Which product of weights "
            "holds both?",
            twin=lambda p: torch.diag(p) - p * p,
        ),
        Misconception(
            "squares-by-row",
            "From each row the same p² was taken. ∂pᵢ/∂zⱼ has an i and a j in it. Which product of weights holds both?",
            twin=lambda p: torch.diag(p) - (p * p)[:, None],
        ),
        Misconception(
            "one-number-for-all",
            "The same number was taken from every entry: p · p. Which product of p with itself gives a table, not "
            "a number?",
            twin=lambda p: torch.diag(p) - p @ p,
        ),
        Misconception(
            "identity-for-diag",
            "Your diagonal is too large: it starts from ones. How far can a weight of 0.01 move when its score "
            "rises a little?",
            twin=lambda p: torch.eye(len(p), dtype=p.dtype) - outer(p),
        ),
        Misconception(
            "of-the-logarithm",
            "Your entries are δᵢⱼ − pⱼ: that is how ln pᵢ moves. What does the chain rule add on the way from ln "
            "pᵢ to pᵢ?",
            twin=lambda p: torch.eye(len(p), dtype=p.dtype) - p,
        ),
        Misconception(
            "of-the-logarithm",
            "Your entries are δᵢⱼ − pᵢ. Multiply by one more weight: which one, and is it i's or j's?",
            twin=lambda p: torch.eye(len(p), dtype=p.dtype) - p[:, None],
        ),
        Misconception(
            "delta-everywhere",
            "Your entries are pᵢ(1 − pⱼ), off the diagonal too. What is δᵢⱼ where i and j differ?",
            twin=lambda p: p[:, None] * (1 - p),
        ),
        Misconception(
            "delta-everywhere",
            "Your entries are pⱼ(1 − pᵢ), off the diagonal too. What is δᵢⱼ where i and j differ?",
            twin=lambda p: p * (1 - p)[:, None],
        ),
        Misconception(
            "diagonal-subtracted-twice",
            "Off the diagonal you are right. On it, p² was taken away twice. Which of your two parts holds it already?",
            twin=lambda p: torch.diag(p * (1 - p)) - outer(p),
        ),
        Misconception(
            "sign-off-the-diagonal",
            "Your diagonal is right. Off it the sign is turned: when one score rises, do the other weights rise "
            "with it?",
            twin=lambda p: 2 * torch.diag(p * (1 - p)) - softmax_jacobian(p),
        ),
        Misconception(
            "jacobian-rounded",
            "Your entries are whole numbers. They are products of weights below 1. Where are they rounded?",
            twin=lambda p: softmax_jacobian(p).round(),
        ),
        *(
            Misconception(
                "parts-joined-otherwise",
                f"{says} Which operation makes a table of pᵢ pⱼ, and which takes it away from the diagonal?",
                twin=twin,
            )
            for says, twin in (
                (
                    "Your two parts are multiplied, where one is taken from the other.",
                    lambda p: torch.diag(p) * outer(p),
                ),
                ("In your second part weights are divided.", lambda p: torch.diag(p) - p[:, None] / p),
                ("In your second part weights are added.", lambda p: torch.diag(p) - (p[:, None] + p)),
                ("Your second part has pᵢ alone.", lambda p: torch.diag(p) - p[:, None]),
                ("Your second part has pⱼ alone.", lambda p: torch.diag(p) - p),
                ("In your second part a weight is divided by another.", lambda p: torch.diag(p) - p / p[:, None]),
            )
        ),
        Misconception(
            "diagonal-of-squares",
            "Your diagonal is zero. Does a weight not move with its own score?",
            twin=lambda p: torch.diag(p * p) - outer(p),
        ),
    ),
)

QUESTIONS = (SCALED_SCORES, SCORE_VARIANCE, ATTENTION, SOFTMAX_JACOBIAN)
