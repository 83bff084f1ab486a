"""Chapter 4: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import itertools
import math
import unicodedata

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from qkv.grading.results import MAX_NAME as MOST_OF_A_NAME
from qkv.questions import find, questions_of
from qkv.questions.catalogue import q4_5, q8_6, q10_6
from qkv.questions.catalogue.q4_3 import sample_difference
from qkv.questions.shared.personal import MAX_NAME, same_name
from qkv.sandboxed.cases import Case, call_many
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict

QUESTIONS = questions_of(4)

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def checked(temperature):
    if temperature <= 0:
        raise ValueError("T must be above 0")


def softmax_by_torch(z, temperature=1.0, dim=-1):
    checked(temperature)
    return F.softmax(z / temperature, dim=dim)


def softmax_after_tempering(z, temperature=1.0, dim=-1):
    checked(temperature)
    z = z / temperature
    z = z - z.max(dim=dim, keepdim=True).values.detach()
    return z.exp() / z.exp().sum(dim, keepdim=True)


def softmax_by_log_sum_exp(z, temperature=1.0, dim=-1):
    checked(temperature)
    z = (z - z.amax(dim, keepdim=True)) / temperature
    return (z - z.logsumexp(dim=dim, keepdim=True)).exp()


def softmax_by_rows(z, temperature=1.0, dim=-1):
    checked(temperature)
    rows = z.movedim(dim, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    done = []
    for row in flat:
        powers = ((row - max(row.tolist())) / temperature).exp()
        done.append(powers / sum(powers))
    return torch.stack(done).reshape(rows.shape).movedim(-1, dim)


def softmax_in_place(z, temp=1, axis=-1, *, temperature=None, dim=None):
    temperature, dim = temp if temperature is None else temperature, axis if dim is None else dim
    checked(temperature)
    work = z.clone()
    work -= z.amax(dim=dim, keepdim=True)
    work /= temperature
    powers = work.exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def softmax_in_double(z, temperature=1.0, dim=-1):
    checked(temperature)
    return torch.softmax(z.double() / temperature, dim).to(z.dtype)


def softmax_by_sigmoids(z, temperature=1.0, dim=-1):
    """1 / Σ_j exp(z_j − z_i): every pair of scores once."""
    checked(temperature)
    rows = z.movedim(dim, -1) / temperature
    p = (-torch.logsumexp(rows[..., None, :] - rows[..., :, None], dim=-1)).exp()
    return p.movedim(-1, dim)


SOFTMAXES = [
    softmax_by_torch,
    softmax_after_tempering,
    softmax_by_log_sum_exp,
    softmax_by_rows,
    softmax_in_place,
    softmax_in_double,
    softmax_by_sigmoids,
]


def entropy_by_loops(p, dim=-1):
    rows = p.movedim(dim, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    sums = [sum((-x * x.log() for x in row if x > 0), start=row.new_zeros(())) for row in flat]
    return torch.stack(sums).reshape(rows.shape[:-1])


def entropy_in_bits_and_back(p, dim=-1):
    return torch.where(p > 0, -p * p.clamp(min=1e-300 if p.dtype == torch.float64 else 1e-30).log2(), 0.0).sum(
        dim
    ) * math.log(2)


ENTROPIES = [
    entropy_by_loops,
    entropy_in_bits_and_back,
    lambda p, dim=-1: torch.special.entr(p).sum(dim),
    lambda p, dim=-1: -(p * p.clamp_min(1e-12).log()).sum(dim=dim),
    lambda p, dim=-1: -(p * (p + 1e-12).log()).sum(dim=dim),
]


def token_by_inverse_cdf(logits, temperature, generator):
    if temperature == 0:
        return logits.argmax()
    reached = (logits / temperature).softmax(0).double().cumsum(0)
    u = torch.rand((), generator=generator, dtype=torch.float64) * reached[-1]
    return int(torch.searchsorted(reached, u, right=True).clamp(max=len(logits) - 1))


def token_by_walking(logits, temperature, generator):
    if temperature == 0:
        values = logits.tolist()
        return values.index(max(values))
    left = float(torch.rand(1, generator=generator, dtype=torch.float64))
    shares = torch.softmax(logits.double() / temperature, -1).tolist()
    i = 0
    while left >= shares[i] and i < len(shares) - 1:
        left -= shares[i]
        i += 1
    return i


def token_by_gumbel(logits, temperature, generator):
    if temperature == 0:
        return int(torch.argmax(logits, dim=-1).item())
    u = torch.rand(logits.shape, generator=generator, dtype=torch.float64)
    return torch.argmax(logits / temperature - torch.log(-torch.log(u)))


def token_by_a_race(logits, temperature, generator):
    if temperature < 1e-6:
        return int(logits.argmax())
    p = torch.softmax((logits - logits.max()) / temperature, -1)
    return (p / torch.empty_like(p).exponential_(generator=generator)).argmax().item()


def token_by_rejection(logits, temperature, generator):
    if not temperature:
        return torch.max(logits, dim=0).indices
    heights = ((logits - logits.max()) / temperature).exp()
    while True:
        i = int(torch.randint(len(logits), (), generator=generator))
        if torch.rand((), generator=generator) < heights[i]:
            return i


def token_from_unnormalised(logits, temperature, generator):
    if temperature == 0.0:
        return np.int64(np.argmax(logits.numpy()))
    powers = torch.exp((logits - logits.max()) / temperature)
    return torch.multinomial(powers, 1, generator=generator)[0]


def token_by_numpy(logits, temperature, generator):
    if temperature == 0:
        return int(np.argmax(logits.numpy()))
    p = torch.softmax(logits.double() / temperature, -1).numpy()
    seed = int(torch.randint(2**31, (), generator=generator))
    return int(np.random.default_rng(seed).choice(len(p), p=p / p.sum()))


def token_by_sorting(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argsort()[-1])
    ordered, ids = logits.sort(descending=True)
    return int(ids[torch.multinomial((ordered / temperature).softmax(-1), 1, generator=generator)])


TOKENS = [
    token_by_inverse_cdf,
    token_by_walking,
    token_by_gumbel,
    token_by_a_race,
    token_by_rejection,
    token_from_unnormalised,
    token_by_numpy,
    token_by_sorting,
]


def largest(z, temperature):
    return torch.softmax(z.double() / temperature, -1).max().item()


def temperature_by_halving(z, target):
    spread = (z.max() - z.min()).item()
    low, high = 1e-3 * spread, 1e3 * spread
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if largest(z, middle) > target else (low, middle)
    return middle


def temperature_by_log_halving(z, target):
    low, high = -40.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        if largest(z, math.exp(middle)) > target:
            low = middle
        else:
            high = middle
    return math.exp(middle)


def temperature_until_near(z, target):
    """Stops as soon as the weight is near enough, in float32."""
    low, high = 1e-12, 1e12
    while True:
        middle = math.sqrt(low * high)
        weight = torch.softmax((z - z.max()) / middle, dim=0).max()
        if abs(weight - target) < 0.9e-4:
            return torch.tensor(middle)
        low, high = (middle, high) if weight > target else (low, middle)


def temperature_by_newton(z, target):
    gaps = (z.max() - z).double()
    b = torch.tensor(1.0 / gaps.max().item(), dtype=torch.float64)  # 1/T: ln Σ exp(−b g) falls and is convex in b
    for _ in range(200):
        p = (-b * gaps).softmax(0)
        excess = (-b * gaps).logsumexp(0) + math.log(target)
        b = torch.maximum(b + excess / (p * gaps).sum(), b / 10)
    return 1 / b.item()


def temperature_by_doubling(z, target):
    low = high = 1.0
    while largest(z, low) < target:
        low /= 2
    while largest(z, high) > target:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if largest(z, middle) >= target else (low, middle)
    return np.float64(high)


def temperature_by_secant(z, target):
    """Regula falsi (Illinois) on ln T, from a bracket that follows the gaps."""
    gaps = z.double().max() - z.double()
    a, b = math.log(gaps[gaps > 0].min().item() / 50), math.log(gaps.max().item() * 1e4)
    fa, fb = largest(z, math.exp(a)) - target, largest(z, math.exp(b)) - target
    for _ in range(300):
        c = (a * fb - b * fa) / (fb - fa)
        fc = largest(z, math.exp(c)) - target
        if abs(fc) < 1e-9:
            break
        if fc * fb < 0:
            a, fa = b, fb
        else:
            fa /= 2
        b, fb = c, fc
    return math.exp(c)


TEMPERATURES = [
    temperature_by_halving,
    temperature_by_log_halving,
    temperature_until_near,
    temperature_by_newton,
    temperature_by_doubling,
    temperature_by_secant,
]

test_a_right_answer_is_accepted = right_answers(
    {"4.1": SOFTMAXES, "4.2": ENTROPIES, "4.3": TOKENS, "4.4": TEMPERATURES}
)

# ── a sampler is judged by counts ─────────────────────────────────────────────────────────────────


def draws(*counts):
    return torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))


def test_samples_of_one_distribution_are_not_told_apart():
    """20,000 pairs of samples: the largest χ² stays far below the one that rejects."""
    generator = torch.Generator().manual_seed(1)
    p = torch.tensor([0.45, 0.3, 0.15, 0.07, 0.03])
    ids = torch.multinomial(p, 300 * 40_000, replacement=True, generator=generator).view(-1, 300)
    counts = (ids[..., None] == torch.arange(5)).sum(-2).double()
    a, b = counts[::2], counts[1::2]
    chi2 = ((a - b) ** 2 / (a + b).clamp(min=1)).sum(-1)
    assert 15 < chi2.max() < 40, "χ² with 4 degrees of freedom exceeds 60 once in 10¹²"
    assert sample_difference(Case(call_many(300, p, 1.0)), ids[0], ids[1]) is None


def test_samples_of_two_distributions_are_told_apart():
    case = Case(call_many(300, torch.zeros(3), 1.0))
    assert "id 0 came 200 times in 300 draws; about 100 were expected" in sample_difference(
        case, draws(200, 50, 50), draws(100, 100, 100)
    )
    assert sample_difference(case, draws(0, 300, 0), draws(100, 100, 100)).startswith("All of your 300 draws are id 1")
    assert sample_difference(case, draws(110, 95, 95), draws(100, 100, 100)) is None


def test_a_greedy_draw_is_compared_exactly():
    case = Case(call_many(50, torch.zeros(3), 0.0))
    assert sample_difference(case, draws(0, 50), draws(0, 50)) is None
    assert (
        sample_difference(case, draws(1, 49), draws(0, 50)) == "Your ids are 0 and 1 at temperature 0; 1 was expected."
    )


# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def right(z, temperature=1.0, dim=-1):
    checked(temperature)
    return torch.softmax(z / temperature, dim)


def token_seeded_anew(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    generator.manual_seed(7)
    return token_by_gumbel(logits, temperature, generator)


def token_near_zero(cold):
    """Draws at temperature 0 too, at a temperature that `cold` makes of it."""

    def answer(logits, temperature, generator):
        return token_from_unnormalised(logits, cold(temperature), generator)

    return answer


def token_by_no_logits(logits, temperature, generator):
    return int(torch.randint(len(logits), ()))


def token_of_another_generator(logits, temperature, generator):
    return token_by_gumbel(logits, temperature, torch.Generator().manual_seed(1))


def temperature_between(low, high):
    """Searches a range that does not follow the scores."""

    def answer(z, target):
        a, b = low, high
        for _ in range(100):
            middle = (a + b) / 2
            a, b = (middle, b) if largest(z, middle) > target else (a, middle)
        return middle

    return answer


def temperature_of_the_wrong_half(times, between):
    """Searches a range that follows the scores, and moves the wrong end."""

    def answer(z, target):
        gap = float(z.max() - z.min())
        low, high = gap / times, gap * times
        for _ in range(60):
            middle = between(low, high)
            low, high = (low, middle) if largest(z, middle) > target else (middle, high)
        return middle

    return answer


SAID = {
    "no dim": ("4.1", lambda z, temperature=1.0: right(z, temperature), "error", None, ["dim"]),
    "detached": ("4.1", lambda z, temperature=1.0, dim=-1: right(z, temperature, dim).detach(), "failed",
                 "gradient-cut", ["no gradient reaches z"]),
    "in place": ("4.1", lambda z, temperature=1.0, dim=-1: right(z.div_(temperature or 0), 1.0 if temperature > 0 else 0
                                                                 , dim), "failed", "inputs-changed", ["writes into"]),
    "2 % hotter": ("4.1", lambda z, temperature=1.0, dim=-1: right(z, temperature * 1.02, dim), "failed", None, []),
    "entropy 2 % off": ("4.2", lambda p, dim=-1: 1.02 * torch.special.entr(p).sum(dim), "failed", None, ["1.02 times"]),
    "xlogy": ("4.2", lambda p, dim=-1: -torch.xlogy(p, p).sum(dim), "failed", "gradient-is-nan", ["ln 0"]),
    "nansum": ("4.2", lambda p, dim=-1: -(p * p.log()).nansum(dim), "failed", "gradient-is-nan", ["ln 0"]),
    "NaN replaced": ("4.2", lambda p, dim=-1: -(p * p.log()).nan_to_num().sum(dim), "failed", "gradient-is-nan", []),
    "positive weights alone": (
        "4.2", lambda p, dim=-1: -(p[p > 0] * p[p > 0].log()).sum(dim=dim), "error", "weights-of-all-rows-in-one",
        ["one long row"],
    ),
    "entropy as a number": ("4.2", lambda p, dim=-1: torch.special.entr(p).sum(dim).tolist(), "failed", None, []),
    "no temperature 0": (
        "4.3", lambda z, t, g: checked(t) or token_by_gumbel(z, t, g), "error", "refused-at-zero", ["sampler"]
    ),
    "0.05 for 0": ("4.3", token_near_zero(lambda t: max(t, 0.05)), "failed", "nearly-zero-for-zero", ["equal"]),
    "1e-6 for 0": ("4.3", token_near_zero(lambda t: max(t, 1e-6)), "failed", "nearly-zero-for-zero", ["equal"]),
    "0.02 added": ("4.3", token_near_zero(lambda t: t + 0.02), "failed", "nearly-zero-for-zero",
                                       ["equal"]),
    "uniform, of no generator": ("4.3", token_by_no_logits, "failed", "even-shares", ["equally often"]),
    "seeded anew": ("4.3", token_seeded_anew, "failed", "generator-reseeded", ["seeds the generator"]),
    "another generator": ("4.3", token_of_another_generator, "failed", "generator-not-used", ["nothing from"]),
    "float id": ("4.3", lambda z, t, g: float(token_by_gumbel(z, t, g)), "failed", None, ["whole number"]),
    "2 % colder": (
        "4.4", lambda z, target: 0.98 * temperature_by_newton(z, target), "failed", None,
        ["the largest weight is", "to four decimals"],
    ),
    "of the widest gap": (
        "4.4", lambda z, target: float(z.max() - z.min()) / math.log(target / (1 - target)),
        "failed", "only-the-widest-gap", ["Right for two scores"],
    ),
    "from 0.001 to 1,000": ("4.4", temperature_between(1e-3, 1e3), "failed", "range-too-narrow", ["multiplied"]),
    "from 0.01 to 100": ("4.4", temperature_between(0.01, 100.0), "failed", "range-too-narrow", ["multiplied"]),
    "from 1e-6 to 1e6": ("4.4", temperature_between(1e-6, 1e6), "failed", "range-too-narrow", ["multiplied"]),
    "the wrong half": (
        "4.4", temperature_of_the_wrong_half(1e4, lambda a, b: (a + b) / 2), "failed", "search-goes-the-wrong-way",
        ["wrong half"],
    ),
    "the wrong half of logarithms": (
        "4.4", temperature_of_the_wrong_half(100, lambda a, b: math.sqrt(a * b)), "failed",
        "search-goes-the-wrong-way", ["wrong half"],
    ),
    "the wrong half of a fixed range": (
        "4.4", lambda z, target: 1e-6 if right(z, 5e5).max() > target else 1e6, "failed",
        "search-goes-the-wrong-way", ["wrong half"],
    ),
    "a stub": ("4.4", lambda z, target: None, "not attempted", None, []),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


# ── 4.5 and 10.6: numbers of one's own ────────────────────────────────────────────────────────────


def by_bisection():
    """The temperature for Grace, found by trying instead of the formula."""
    numbers = q4_5.PERSONAL.numbers_of("Grace")
    low, high = 1e-3, 1e3
    for _ in range(200):
        middle = (low * high) ** 0.5
        weight = 1 / (1 + (numbers["n"] - 1) * math.exp(-numbers["gap"] / middle))
        low, high = (middle, high) if weight > numbers["share"] / 100 else (low, middle)
    return "grace ", low


test_a_right_prediction_is_accepted = right_answers({"4.5": [by_bisection]})


def test_the_result_of_another_reader_is_wrong_and_the_message_has_ones_own_numbers():
    question = QUESTIONS["4.5"]
    found = verdict(question, lambda: ("Ada", by_bisection()[1]))
    assert found.status == "failed"
    assert question.effect.__self__.told("Ada") in found.message
    assert "as a text" in verdict(question, lambda: 2.0).message
    assert "empty" in verdict(question, lambda: ("", 2.0)).message
    assert verdict(question, lambda: ("Grace", round(by_bisection()[1], 3))).status == "failed"


def test_a_name_with_0_is_told_its_numbers_and_is_no_failure():
    for personal in (q4_5.PERSONAL, q8_6.PERSONAL, q10_6.PERSONAL):
        found = verdict(find(personal.question), lambda: ("Ada", 0))
        assert found.status == "not attempted"
        assert found.message.startswith(personal.told("Ada"))
    assert verdict(QUESTIONS["4.5"], lambda: ("Ada", -1)).status == "failed"
    assert "empty" in verdict(QUESTIONS["4.5"], lambda: (" ", 0)).message


def test_a_right_answer_in_a_single_case_is_called_right():
    assert verdict(QUESTIONS["4.5"], by_bisection).message == "Right."


@pytest.mark.parametrize(
    "personal", [q4_5.PERSONAL, q8_6.PERSONAL, q10_6.PERSONAL], ids=lambda personal: personal.question
)
def test_two_of_a_class_hardly_ever_get_the_same_numbers(personal):
    """Of 4,000 names, so few have the same numbers or the same result that a class of 200 has them in less than 1 %."""
    numbers = [personal.numbers_of(f"reader {i}") for i in range(4_000)]
    results = sorted(map(personal.formulas["right"], numbers))
    same_numbers = len(numbers) - len({tuple(one.values()) for one in numbers})
    same_result = sum(b - a <= 1e-9 * a for a, b in itertools.pairwise(results))
    for same in (same_numbers, same_result):
        assert same / (4_000 * 3_999) * (200 * 199) < 0.01


def test_a_name_draws_the_same_numbers_however_its_accents_are_stored():
    """A learner whose folder came from a system that stores them apart could not write the name of the folder."""
    together, apart = (unicodedata.normalize(form, "José Núñez") for form in ("NFC", "NFD"))
    assert together != apart
    assert same_name(together, apart)
    assert q4_5.PERSONAL.numbers_of(together) == q4_5.PERSONAL.numbers_of(apart)
    assert not same_name("José", "Jose")


def test_every_name_that_the_grader_gives_has_numbers():
    assert MAX_NAME >= MOST_OF_A_NAME


def test_of_a_whole_number_nothing_is_said_about_rounding():
    assert "rounded" not in verdict(find("10.6"), lambda: ("Ada", 1)).message
    assert "rounded" in verdict(find("8.6"), lambda: ("Ada", 1.0)).message


def test_the_placeholder_is_no_name():
    right = q4_5.temperature(q4_5.PERSONAL.numbers_of("your name"))
    found = verdict(QUESTIONS["4.5"], lambda: ("Your name", right))
    assert found.status == "failed"
    assert "a name of your own" in found.message
    assert verdict(QUESTIONS["4.5"], lambda: ("your name", 0)).message == found.message.replace(
        "Your name", "your name"
    )


@pytest.mark.parametrize("digits", [2, 4])
def test_a_rounded_prediction_is_called_rounded(digits: int):
    right = q4_5.temperature(q4_5.PERSONAL.numbers_of("Ada"))
    assert "the right one, rounded" in verdict(QUESTIONS["4.5"], lambda: ("Ada", round(right, digits))).message
    assert "the right one" not in verdict(QUESTIONS["4.5"], lambda: ("Ada", right + 0.3)).message


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        (lambda z: z.half(), "half-precision"),
        (lambda p: (100 * p).round() / 100, "rounded"),
        (lambda p: p.round(decimals=4), "rounded"),
    ],
)
def test_lost_digits_are_named(change, slug: str):
    def answer(z, temperature=1.0, dim=-1):
        if temperature <= 0:
            raise ValueError
        if slug == "half-precision":
            return (change(z) / temperature).softmax(dim)
        return change((z / temperature).softmax(dim))

    assert verdict(QUESTIONS["4.1"], answer, seed=1).misconception == slug
