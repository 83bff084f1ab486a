"""What a question is made of: how inputs are drawn, which function is right, and what people get wrong.

**A function.** This is a whole question file, but for its imports; `q2_4.toml` beside it has the words.

    def draw_sum(draw: Draw) -> list[Case]:
        def case(name, leading=(), dtype=torch.float32, **fixed):
            s = draw.sizes("n_q", "n_k", "d_v", **fixed)              # pairwise different, new at every check
            weights = draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype)
            v = draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)
            return Case(call(weights, v), name, s)
        return [*draw.situations(case), case("n_k = 1", n_k=1)]       # plain, a batch, float64, … and edge cases

    QUESTION = Question(
        points=2, inputs=("weights", "v"), outputs=("out (..., n_q, d_v)",),
        draw=draw_sum, reference=weighted_sum, gradients=True,
        misconceptions=(mistake("summed-over-queries", lambda weights, v: …),),
    )

A twin is the wrong idea as code. An answer that gives what a twin gives, in every case, has that idea. Twins of
different ideas must differ in at least one case, and each from the reference. Order the cases from plain to special:
messages quote the first that fails.

**Words.** `title = "…"` and, under `[ideas]`, `summed-over-queries = "…"`: what was seen, then a question that leads to
the cause, never the answer. `{n_k}` stands for a size of the case; `{first_row}` for what the function
`quotes={"first_row": …}` says of a `Seen`. Ideas of `shared/` have their words there; a question may give its own.

**Ideas that occur together.** Write one factory, `variant(**knobs)`, that returns an answer with the knobs so turned,
and give misconceptions `knobs={"axis": -2}` in place of a twin: then pairs of them are recognised too. `mistake` is a
short way to write a misconception with twins, and `by_knob` one with knobs.

**An exception that is asked for.** `Case(call(z, 0.0), "temperature 0", raises="ValueError")`.

**A class** (`nn.Module`). The steps say what is done with it. A bias may be missing; then the reference has none:

    Case((make(d_model, d_k, d_v), load({"w_q.weight": …, "w_q.bias": …, …}), call(x)), "plain", s)

The reference and the twins are classes as well; give their layers a bias. Gradients are looked at for the inputs and
for what was loaded. `method("eval")` between the steps calls a method.

**Something with state**: `Case((make(), method("append", k1, v1), length(), method("append", k2, v2), length()))`.
Every step's result is compared, and that no earlier result changes later. An object that an answer is *given* is
`held = Provided(Store, (k, v))`; then `Case((call(x, …, held), length(on=held)))` looks at it afterwards.

**A state of any form** that the answer gives back and is handed again: `call_carrying(None, q, k)`, whose last result
nobody compares, then `call_carrying(Carried(0), q, k)`, where 0 is the first step.

**How much is formed on the way.** `Case(…, most=n)`: no tensor may hold more numbers. Fused attention counts as the
scores that it stands for.

**A test that the learner writes.** Each case hands it one implementation, right or wrong, as `Hidden(make, args)`: the
answer can call it and cannot look into it. `shared/implementations.py` draws such cases and has the ideas.

**Random draws.** A generator is `Seeded(seed)`, in the call's arguments. `call_many(2000, …)` gathers whole numbers
in one tensor. `Question.differs` then compares by counts in place of by value; reference and twins are samplers too,
and get the same seed as the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from qkv.observing import Case
from qkv.questions.engine.draw import Draw


@dataclass(frozen=True, eq=False)
class Seen:
    """What a message may quote: the case in which the wrong idea shows, and what came back there."""

    case: Case
    value: Any  # of the last step; plain data: a tensor, a number, or a tuple of them, and None where it raised

    def __getitem__(self, size: str) -> int:
        """The size of this name in that case."""
        return self.case.sizes[size]


@dataclass(frozen=True, eq=False)
class Misconception:
    """One wrong idea.

    Attributes:
        slug: its name, in lower case with hyphens; what is said about it stands under this name in a text file
        says: those words, once they are read from there
        twin: an answer that makes this mistake and no other
        twins: several such answers, where people make one mistake in several ways
        knobs: in place of a twin, what the question's `variant` is called with
        knob_sets: several of these
        alone: True where it is rare, and not looked for together with another one; for a test, where it is not about
            one implementation
        in_any_words: True where the type of the exception that it raises is enough, whatever the exception says
    """

    slug: str
    _: KW_ONLY
    says: str = ""
    twin: Callable[..., Any] | None = None
    twins: tuple[Callable[..., Any], ...] = ()
    knobs: dict[str, Any] = field(default_factory=dict)
    knob_sets: tuple[dict[str, Any], ...] = ()
    alone: bool = False
    in_any_words: bool = False

    def ways(self) -> Iterator[Misconception]:
        """Give each way in which the mistake is made as a misconception with one twin, or one set of knobs."""
        if self.twin is not None or self.knobs:
            yield replace(self, twins=(), knob_sets=())
        for twin in self.twins:
            yield replace(self, twin=twin, knobs={}, twins=(), knob_sets=())
        for knobs in self.knob_sets:
            yield replace(self, twin=None, knobs=knobs, twins=(), knob_sets=())


def mistake(slug: str, *answers: Callable[..., Any], alone: bool = False) -> Misconception:
    """The misconception of all who answer like this, or like one of these."""
    return Misconception(slug, twins=answers, alone=alone)


def by_knob(*knobs: str, alone: bool = False) -> Callable[..., Misconception]:
    """Give a function that writes misconceptions which turn this knob: it takes a name, then each way to turn it.

    shared = by_knob("share")
    shared("softmax-over-queries", lambda scores: scores.softmax(-2))
    shared("no-softmax", lambda scores: scores, lambda scores: scores.clamp(min=0))

    With several knobs, each way turns all of them: `by_knob("keys", "values")`.
    """

    def idea(slug: str, *ways: Any, alone: bool = alone) -> Misconception:
        return Misconception(slug, knob_sets=tuple(dict.fromkeys(knobs, way) for way in ways), alone=alone)

    return idea


@dataclass(frozen=True, eq=False)
class Question:
    """One graded question.

    Attributes:
        points: as the curriculum has them
        inputs: what each argument of the call is called, by position
        outputs: each output's name and shape, "weights (..., n_q, n_k)"
        draw: gives fresh cases, from plain to special
        reference: the right answer
        judged_by: what gives the same as the reference, where that takes long: answers are compared with it
        misconceptions: the wrong ideas that are known
        variant: gives an answer that has some ideas wrong (see the top of this file)
        gradients: whether gradients must flow to every floating-point input
        gradient_part: gives, of a gradient, the part that counts; inputs that sum to 1 cannot move in all directions
        differs: in place of a comparison by value: says how two results of a case differ, None where they do not
        any_float: whether a result may be of any floating-point dtype
        of_implementations: whether the answer is a test, which each case hands one implementation (`Hidden`)
        row_sums: outputs, by name, whose rows have a sum that is known; a card shows yours beside it
        quotes: functions of `Seen`, by the names that stand in braces in the words of an idea
        called: what the answer is called, where the reference has another name
        id: "3.1", from the names of its files
        title: for cards and bars, from the text file
        about: from there too, a sentence for every message about the type of what came back
    """

    points: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    draw: Callable[[Draw], list[Case]]
    reference: Callable[..., Any]
    misconceptions: tuple[Misconception, ...]
    variant: Callable[..., Callable[..., Any]] | None = None
    judged_by: Callable[..., Any] | None = None
    gradients: bool = False
    gradient_part: Callable[[Case, Tensor], Tensor] | None = None
    differs: Callable[[Case, Any, Any], str | None] | None = None
    any_float: bool = False
    of_implementations: bool = False
    row_sums: dict[str, float] = field(default_factory=dict)
    quotes: Mapping[str, Callable[[Seen], Any]] = field(default_factory=dict)
    called: str = ""
    id: str = ""
    title: str = ""
    about: str = ""

    @property
    def name(self) -> str:
        """What a learner's answer is called."""
        return self.called or self.reference.__name__

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.partition(" ")[0] for output in self.outputs)

    def twin(self, *misconceptions: Misconception) -> Callable[..., Any]:
        """Give the answer that has these ideas wrong: one, or several that turn different knobs."""
        first = misconceptions[0]
        if len(misconceptions) == 1 and first.twin is not None:
            return first.twin
        if self.variant is None:
            raise ValueError(f"question {self.id}: {first.slug} has no twin, and the question no variant")
        return self.variant(**{name: value for m in misconceptions for name, value in m.knobs.items()})

    def say(self, idea: Misconception, seen: Seen) -> str:
        """Say what there is to say about an idea; words that cannot be filled in must not make a check raise."""
        try:
            return idea.says.format_map(_Quoted(self, seen))
        except Exception:
            return f"This looks like: {idea.slug.replace('-', ' ')}."

    def fresh_cases(self, seed: int | None = None) -> list[Case]:
        """Draw the cases: from the system's entropy, or again from a seed that was kept."""
        return self.draw(Draw(seed))


class _Quoted(dict[str, Any]):
    """What may stand in braces in the words of an idea: the question's own quotes, then the sizes of the case."""

    def __init__(self, question: Question, seen: Seen) -> None:
        super().__init__(seen.case.sizes)
        self.question, self.seen = question, seen

    def __getitem__(self, name: str) -> Any:
        quote = self.question.quotes.get(name)
        return quote(self.seen) if quote else super().__getitem__(name)


class Layer(nn.Linear):
    """A layer for twins, which are made by the hundred: no numbers are drawn for weights that are loaded next."""

    def reset_parameters(self) -> None:
        pass
