"""4.3: drawing the next token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, call_many, mistake
from qkv.softmax import sample_token, softmax
from qkv.words import mark, t

MANY, SOME, FEW = 1500, 300, 50  # draws from one set of logits
PLENTY = 2500  # draws from 200 ids: each is likely enough to come up
UNSEEN = 6  # ids that one sample has often and another never: so many are no chance
CHANCE = 1e-12  # probability that two samples of one distribution count as different
TINY = 2e-6  # between two logits: a float32 resolves it, and at temperature 1e-6 both ids are still drawn

# ── the cases ─────────────────────────────────────────────────────────────────────────────────────


def draw_logits(draw: Draw) -> list[Case]:
    """Draw logits, temperatures and generators; many draws show the probabilities."""

    # Every known mistake changes the probabilities of these logits visibly in MANY draws. Their order is random.
    def logits(n: int, spread: float = 3.0) -> Tensor:
        spaced = torch.linspace(-spread / 2, spread / 2, n) - 0.1
        spaced += spread / n * torch.empty(n).uniform_(-0.1, 0.1, generator=draw.generator)
        while True:
            mixed = spaced[torch.randperm(n, generator=draw.generator)]
            if mixed.argmax() not in (0, n - 1) and mixed.argmin() not in (0, n - 1):  # a guessed 0 or n − 1 is wrong
                return mixed

    def case(name: str, times: int, z: Tensor, temperature: float) -> Case:
        return Case(call_many(times, z, temperature, draw.seeded()), name, {"vocab": len(z)})

    def one_candidate(name: str, temperature: float) -> Case:
        """Return a case with a single draw: only there a check sees whether the id is a tensor with an axis."""
        z = torch.tensor([draw.uniform(0.5, 1.5)])
        return Case(call(z, temperature, draw.seeded()), name, {"vocab": 1})

    certain = logits(draw.whole(4, 8))
    certain[certain.argmax()] += 100
    near = logits(draw.whole(5, 8))
    near[0] = near.max() - TINY
    flat = 0.2 * draw.normal(200).clamp(-2, 2)
    flat[draw.whole(1, 198)] += 3.5
    return [
        case("plain", MANY, logits(5, 1.6), draw.uniform(0.19, 0.21)),
        case("plain", MANY, logits(6, 6.0), draw.uniform(3.8, 4.2)),
        case("200 candidates", PLENTY, flat, draw.uniform(0.95, 1.05)),
        case("temperature 1", SOME, logits(draw.whole(5, 6)), 1.0),
        *(case("a high temperature", FEW, logits(draw.whole(5, 9)), draw.uniform(2.5, 3.0)) for _ in range(6)),
        case("logits near 300", SOME, logits(draw.whole(5, 6)) + 300, draw.uniform(0.7, 0.8)),
        case("one candidate far ahead", FEW, certain, draw.uniform(0.5, 0.9)),
        case("temperature 0", FEW, logits(draw.whole(5, 8)) - 20, 0.0),
        case("temperature 0", FEW, logits(draw.whole(5, 8)) + 20, 0),
        case("temperature 0, the two largest logits nearly equal", SOME, near, 0.0),
        one_candidate(mark("one candidate"), draw.uniform(0.5, 0.9)),
        one_candidate(mark("temperature 0, one candidate"), 0.0),
    ]


# ── how two samples are compared ──────────────────────────────────────────────────────────────────


def sample_difference(case: Case, seen: Tensor, want: Tensor) -> str | None:
    """Describe how two samples of ids differ, by χ² of their counts; None where chance can explain the difference.

    At temperature 0, where nothing is random, the ids must be equal.
    """
    seen, want = seen.flatten().long(), want.flatten().long()
    steady = 1 in (len(seen.unique()), len(want.unique()))
    if case.script[-1].args[1] == 0 and steady:  # greedy: nothing is random
        same = torch.equal(seen, want)
        text = t("Your ids are {seen} at temperature 0; {want} was expected.", seen=_listed(seen), want=_listed(want))
        return None if same else text
    ids = torch.cat([seen, want]).unique()
    a, b = ((ids[:, None] == sample).sum(-1).double() for sample in (seen, want))
    chi2 = ((a - b) ** 2 / (a + b)).sum()  # both samples have the same size
    unseen = ids[(a == 0) & (b >= UNSEEN)]
    if len(unseen) >= UNSEEN:
        return t(
            "{n} ids never come up in {draws} draws, each of which was expected several times.",
            n=len(unseen),
            draws=len(seen),
        )
    if ((b == 0) & (a >= UNSEEN)).sum() >= UNSEEN:
        return t("Many ids come up that were not expected.")
    if len(ids) < 2 or torch.special.gammaincc(torch.tensor((len(ids) - 1) / 2.0).double(), chi2 / 2) > CHANCE:
        return None
    worst = int(((a - b) ** 2 / (a + b)).argmax())
    if len(seen.unique()) == 1:
        return t(
            "All of your {draws} draws are id {id}. What changes from one draw to the next?",
            draws=len(seen),
            id=int(seen[0]),
        )
    return t(
        "Your ids come up with other frequencies: id {id} came {n} times in {draws} draws; about {want} were expected.",
        id=int(ids[worst]),
        n=int(a[worst]),
        draws=len(seen),
        want=int(b[worst]),
    )


def _listed(ids: Tensor) -> str:
    return t(" and ").join(str(i) for i in ids.unique().tolist()[:4])


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────

Probs = Callable[[Tensor, float], Tensor]  # (logits, temperature) -> the relative frequency of each id
AtZero = Callable[[Tensor, torch.Generator], Any]  # (logits, generator) -> what comes back at temperature 0


def right_probs(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(-1)


def greedy_id(logits: Tensor, generator: torch.Generator) -> int:
    return int(logits.argmax())


class Sampler:
    """A sampler with given probabilities. It draws many ids at once, because a check calls it thousands of times."""

    def __init__(self, probs: Probs, result: Callable[[int, Tensor], Any]) -> None:
        self.probs, self.result = probs, result
        self.logits: Tensor | None = None
        self.queue: list[int] = []

    def draw(self, logits: Tensor, temperature: float, generator: torch.Generator | None) -> Any:
        """Return one draw as `result` forms it.

        Many ids are drawn at once, and kept for the next calls with the same logits, whose temperature and generator
        are not looked at.
        """
        if self.logits is not logits or not self.queue:
            self.logits = logits
            p = self.probs(logits, temperature)
            self.queue = torch.multinomial(p, MANY, replacement=True, generator=generator).tolist()
        return self.result(self.queue.pop(), logits)


def sampler(
    probs: Probs = right_probs,
    at_zero: AtZero = greedy_id,
    result: Callable[[int, Tensor], Any] = lambda i, logits: i,
    source: Callable[[torch.Generator], torch.Generator | None] = lambda generator: generator,
    also_at_zero: bool = True,
) -> Callable[..., Any]:
    """Return an answer(logits, temperature, generator); each argument replaces one of its steps.

    By default it is right. `probs` are the probabilities, `at_zero` is what temperature 0 gives, `result` forms what is
    returned, and `source` chooses the generator. With `also_at_zero`, `result` is applied to the id at temperature 0
    too.
    """
    drawing = Sampler(probs, result)

    def variant(logits: Tensor, temperature: float, generator: torch.Generator) -> Any:
        if temperature == 0:
            found = at_zero(logits, generator)
            return result(found, logits) if also_at_zero and type(found) is int else found
        return drawing.draw(logits, temperature, source(generator))

    return variant


def reseeded_sampler(seed: Callable[[torch.Generator], int]) -> Callable[..., int]:
    """Return an answer that seeds the generator in each call, and so draws the same id from the same logits each time.

    `seed(generator)` is the seed.
    """
    first_draws: dict[int, tuple[Tensor, int]] = {}

    def variant(logits: Tensor, temperature: float, generator: torch.Generator) -> int:
        if id(logits) not in first_draws or first_draws[id(logits)][0] is not logits:
            generator.manual_seed(seed(generator))
            first_draws[id(logits)] = logits, sample_token(logits, temperature, generator)
        return first_draws[id(logits)][1]

    return variant


def uniform(logits: Tensor, temperature: float = 0.0) -> Tensor:
    return torch.ones_like(logits)


def top_k(n: int) -> Probs:
    """Return a function for the probabilities, not normalised, of a sampler that keeps the n likeliest tokens."""

    def probs(logits: Tensor, temperature: float) -> Tensor:
        p = right_probs(logits, temperature)
        return p * (p >= p.topk(min(n, len(p))).values[-1])

    return probs


def nucleus(share: float) -> Probs:
    """Return a function for the probabilities, not normalised, of a sampler that keeps the likeliest tokens.

    They are the fewest whose probabilities add up to this share.
    """

    def probs(logits: Tensor, temperature: float) -> Tensor:
        p, order = right_probs(logits, temperature).sort(descending=True)
        kept = p.masked_fill(p.cumsum(-1) - p > share, 0.0)
        return torch.zeros_like(p).scatter(0, order, kept)

    return probs


def min_p(share: float) -> Probs:
    """Return a function for the probabilities, not normalised, of a sampler that drops unlikely tokens.

    Tokens with less than this share of the largest probability get 0.
    """

    def probs(logits: Tensor, temperature: float) -> Tensor:
        p = right_probs(logits, temperature)
        return p.masked_fill(p < share * p.max(), 0.0)

    return probs


def overflowing_softmax(logits: Tensor, temperature: float) -> Tensor:
    powers = (logits / temperature).exp()
    return powers / powers.sum()


def unnormalised_inverse_cdf(logits: Tensor, temperature: float) -> Tensor:
    """Return how often each id comes up in an inverse CDF whose sum is not 1, because T divides the probabilities.

    The last id gets the rest. Above a sum of 1, the last ids get nothing.
    """
    reached = (logits.softmax(-1) / temperature).cumsum(-1).clamp(max=1.0)
    reached[-1] = 1.0
    return reached.diff(prepend=torch.zeros(1))


def drawn_by(probs: Callable[[Tensor], Tensor]) -> AtZero:
    return lambda logits, generator: int(torch.multinomial(probs(logits), 1, generator=generator))


drawn = by_knob("probs")
returned = by_knob("result")
when_zero = by_knob("at_zero")

PROBABILITIES = (
    drawn("temperature-multiplied", lambda z, t: (z * t).softmax(-1)),
    drawn("temperature-ignored", lambda z, t: z.softmax(-1)),
    drawn("temperature-on-probabilities", unnormalised_inverse_cdf),
    drawn("always-greedy", lambda z, t: torch.eye(len(z))[z.argmax()]),
    Misconception("even-shares", knob_sets=({"probs": uniform}, {"probs": uniform, "at_zero": drawn_by(uniform)})),
    drawn("logits-negated", lambda z, t: (-z / t).softmax(-1)),
    drawn("softmax-twice", lambda z, t: (z / t).softmax(-1).softmax(-1), lambda z, t: (z.softmax(-1) / t).softmax(-1)),
    drawn("logits-for-probabilities", lambda z, t: z / t, lambda z, t: z.clamp(min=0)),
    drawn("overflow", overflowing_softmax),
    drawn(
        "tail-cut-off",
        *(top_k(k) for k in (2, 3, 5, 10, 20, 40, 50, 100)),
        *(nucleus(share) for share in (0.8, 0.9, 0.95)),
        *(min_p(share) for share in (0.05, 0.1)),
    ),
    drawn(
        "rank-for-id",
        lambda z, t: right_probs(z, t).sort(descending=True).values,
        lambda z, t: right_probs(z, t).sort().values,
    ),
)

RETURNED = (
    Misconception(
        "off-by-one",
        twins=(
            sampler(result=lambda i, z: i + 1, also_at_zero=False),
            sampler(result=lambda i, z: min(i + 1, len(z) - 1), also_at_zero=False),
        ),
        knob_sets=({"result": lambda i, z: i + 1}, {"result": lambda i, z: i - 1}),
    ),
    returned("score-returned", lambda i, z: float(z[i]), lambda i, z: float(z.softmax(-1)[i])),
    mistake(
        "axis-left-over",
        sampler(result=lambda i, z: torch.tensor([i])),
        sampler(result=lambda i, z: torch.tensor([i]), also_at_zero=False),
        sampler(at_zero=lambda z, g: z.argmax(-1, keepdim=True)),
    ),
    mistake(
        "nothing-returned", sampler(result=lambda i, z: None, also_at_zero=False), sampler(at_zero=lambda z, g: None)
    ),
    returned("one-hot-returned", lambda i, z: torch.eye(len(z))[i]),
)

AT_ZERO = (
    when_zero("score-returned-at-zero", lambda z, g: float(z.max())),
    when_zero(
        "greedy-ignored-at-zero",
        drawn_by(lambda z: (z / 0).softmax(-1)),
        lambda z, g: 1 // 0,
        lambda z, g: 0,
    ),
    Misconception("refused-at-zero", knobs={"at_zero": lambda z, g: softmax(z, 0.0)}, in_any_words=True),
    when_zero("smallest-at-zero", lambda z, g: int(z.argmin())),
    when_zero("drawn-at-zero", drawn_by(lambda z: z.softmax(-1))),
    when_zero(
        "nearly-zero-for-zero", drawn_by(lambda z: (z / 0.05).softmax(-1)), drawn_by(lambda z: (z / TINY).softmax(-1))
    ),
)

QUESTION = Question(
    points=3,
    inputs=("logits", "temperature", "generator"),
    outputs=("id",),
    draw=draw_logits,
    reference=sample_token,
    judged_by=sampler(),
    variant=sampler,
    differs=sample_difference,
    misconceptions=(
        *PROBABILITIES,
        *RETURNED,
        *AT_ZERO,
        Misconception("generator-not-used", knobs={"source": lambda generator: None}),
        mistake(
            "generator-reseeded",
            reseeded_sampler(lambda generator: 0),
            reseeded_sampler(lambda generator: 42),
            reseeded_sampler(lambda generator: generator.initial_seed()),
        ),
    ),
)
