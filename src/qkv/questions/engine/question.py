"""The parts of a question: how inputs are drawn, the reference answer, and the mistakes that people make.

**The answer is a function.** This is a whole question file without its imports; `q2_4.toml` beside it has the messages.

    def draw_sum(draw: Draw) -> list[Case]:
        def case(name, leading=(), dtype=torch.float32, **fixed):
            s = draw.sizes("n_q", "n_k", "d_v", **fixed)              # all different, drawn anew for every check
            weights = draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype)
            v = draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)
            return Case(call(weights, v), name, s)
        return [*draw.situations(case), case("n_k = 1", n_k=1)]       # plain, a batch, float64, …; then edge cases

    QUESTION = Question(
        points=2, inputs=("weights", "v"), outputs=("out (..., n_q, d_v)",),
        draw=draw_sum, reference=weighted_sum, gradients=True,
        misconceptions=(mistake("summed-over-queries", lambda weights, v: …),),
    )

A case is a call with its inputs, or a list of steps. A twin is a wrong idea as code. An answer has an idea if it
returns what a twin of that idea returns in every case. Twins of different ideas must differ from each other in at least
one case, and each twin from the reference. Order the cases from plain to special: messages quote the first that fails.

**Messages.** `q2_4.toml` has `title = "…"` and, under `[ideas]`, `summed-over-queries = "…"`: what was seen, then a
question that leads to the cause, never the answer. In a message, `{n_k}` becomes the size n_k of the case, and
`{first_row}` becomes the result of the function `quotes={"first_row": …}`, called with a `Seen`. The messages of ideas
from `shared/` are in `shared/`; a question's own message for such an idea takes precedence.

**Two mistakes in one answer.** Write one factory, `variant(**knobs)`, that returns an answer. Each knob is a keyword
argument that replaces one part of the right answer, and its default is right:

    def variant(axis=-1, scale=math.sqrt):
        return lambda q, k: (q @ k.mT / scale(q.shape[-1])).softmax(axis)

Give misconceptions `knobs={"axis": -2}` instead of a twin: then answers with two of these mistakes are recognised too.
`mistake` is a short way to write a misconception with twins, and `by_knob` a short way to write one with knobs.

**The answer must raise an exception.** `Case(call(z, 0.0), "temperature 0", raises="ValueError")`.

**The answer is a class** (`nn.Module`). The steps of a case make an object, load its parameters and call it:

    Case((make(d_model, d_k, d_v), load({"w_q.weight": …, "w_q.bias": …, …}), call(x)), "plain", s)

The reference and the twins are classes as well; give their layers a bias. If the answer has no bias, the reference gets
a bias of zeros. Gradients are compared for the inputs and for the loaded parameters. `method("eval")` between two steps
calls a method of the object.

**The answer has state.** `Case((make(), method("append", k1, v1), length(), method("append", k2, v2), length()))`.
The result of every step is compared. An earlier result must not change in a later step. An object that is passed *to*
an answer is `held = Provided(Store, (k, v))`; then `Case((call(x, …, held), length(on=held)))` also compares the length
of that object after the call.

**The answer returns a state of any form, and gets it back in the next call.** `call_carrying(None, q, k)` is the first
step; the last member of its result is the state, which is not compared. `call_carrying(Carried(0), q, k)` then passes
the state from step 0.

**A limit on the size of tensors.** With `Case(…, max_elements=n)`, no tensor that the answer forms may hold more than n
numbers. Fused attention counts as the score matrix that it replaces.

**The answer is a test that the learner writes.** Each case passes it one implementation, right or wrong, as
`Hidden(make, args)`: the answer can call the implementation, but cannot read its code. `shared/implementations.py`
draws such cases and has the misconceptions.

**The answer is judged by what it does.** If the answer returns the matrices of a head, many matrices are right. The
function `Question.effect` then runs the head, and its weights are compared by `Question.differs`
(`shared/written_heads.py`).

**The answer draws at random.** `Seeded(seed)` in the arguments of a call stands for a `torch.Generator`.
`call_many(2000, …)` collects the whole numbers of all calls in one tensor. `Question.differs` then compares counts
instead of values. The reference and the twins are samplers too, and get the same seed as the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from qkv.questions.engine.draw import Draw
from qkv.questions.engine.in_model import InModel
from qkv.sandboxed.cases import Case
from qkv.words import in_words, t, translated


@dataclass(frozen=True, eq=False)
class Seen:
    """A case in which an answer shows a wrong idea, and the answer's result there, for use in a message."""

    case: Case
    value: Any  # the last step's result as plain data: a tensor, a number or a tuple of them; None if there is none

    def __getitem__(self, size: str) -> int:
        """Return the size with this name in the case, such as `seen["n_k"]`."""
        return self.case.sizes[size]


@dataclass(frozen=True, eq=False)
class Misconception:
    """One wrong idea.

    Attributes:
        slug: the name of the idea, in lower case with hyphens; its message has the same name in the text file
        says: the message, once it is read from the text file
        twin: an answer that makes this mistake and no other
        twins: several such answers, if people make this mistake in several ways
        knobs: instead of a twin, the keyword arguments for the question's `variant`
        knob_sets: several such dictionaries
        alone: True for a rare idea that is not combined with others; where the answer is a test, True for an idea
            that does not concern a single implementation
        in_any_words: True if an answer matches a twin that raises an exception of the same type, whatever its text
        remembers: True if what the twin does in one case depends on the cases before, as with a store that all share
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
    remembers: bool = False

    def ways(self) -> Iterator[Misconception]:
        """Yield one misconception for each twin and for each set of knobs."""
        if self.twin is not None or self.knobs:
            yield replace(self, twins=(), knob_sets=())
        for twin in self.twins:
            yield replace(self, twin=twin, knobs={}, twins=(), knob_sets=())
        for knobs in self.knob_sets:
            yield replace(self, twin=None, knobs=knobs, twins=(), knob_sets=())


def mistake(slug: str, *answers: Callable[..., Any], alone: bool = False) -> Misconception:
    """Return the misconception whose twins are these answers."""
    return Misconception(slug, twins=answers, alone=alone)


def by_knob(*knobs: str, alone: bool = False) -> Callable[..., Misconception]:
    """Return a function `idea(slug, *values)` that makes a misconception with one set of knobs for each value.

    shared = by_knob("share")
    shared("softmax-over-queries", lambda scores: scores.softmax(-2))
    shared("no-softmax", lambda scores: scores, lambda scores: scores.clamp(min=0))

    With several knobs, all of them get the same value: `by_knob("keys", "values")`. `alone` is as in Misconception; an
    idea may have its own: `shared(slug, value, alone=True)`.
    """

    def idea(slug: str, *ways: Any, alone: bool = alone) -> Misconception:
        return Misconception(slug, knob_sets=tuple(dict.fromkeys(knobs, way) for way in ways), alone=alone)

    return idea


@dataclass(frozen=True, eq=False)
class Question:
    """One graded question.

    Attributes:
        points: the points for a right answer
        inputs: the name of each argument of the call, by position
        outputs: the name and shape of each output, such as "weights (..., n_q, n_k)"
        draw: returns newly drawn cases, from plain to special
        reference: the right answer
        judged_by: a faster function with the same results, if the reference is slow: answers are compared with it
        misconceptions: the wrong ideas that are recognised
        variant: takes knobs, and returns an answer with the mistakes that they make (see the top of this file)
        gradients: whether gradients must flow to every floating-point input
        gradient_part: takes a case and a gradient, and returns the part of the gradient that is compared; for inputs
            that must sum to 1, only some directions count
        differs: replaces the comparison by value: takes a case and two results, and returns how they differ, or None
        wrong_number: takes a case and a float that is wrong there, and returns what is said of it, or None
        effect: takes a case and a result, and returns what is compared in the result's place, such as the weights of a
            head whose matrices are the result; it raises a ValueError, with a message, for a result that it cannot use
        personal: for an answer that returns a name first, from which its numbers are drawn, what tells the numbers of
            a name (`shared/personal.py`)
        any_float: whether a result may have any floating-point dtype
        of_implementations: whether the answer is a test, and each case passes it one implementation (`Hidden`)
        handed_over: whether other questions of the chapter pass answers an object with which this one could be answered
        tokens: the axis of tokens of the first input, if the card may say which line mixes tokens (`qkv.xray`)
        in_model: how the answer takes the place of ours in a trained model, whose sentence the card then shows
        row_sums: the known sum of the rows, by output name; the card shows the answer's row sums beside it
        quotes: functions of a `Seen`, by the names in braces in the messages
        called: the name of the answer, if it differs from the reference's name
        id: "3.1", from the names of the files
        title: the title on cards and in the bar of points, from the text file
        about: a sentence from the text file, added to messages about a wrong type of result
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
    wrong_number: Callable[[Case, float], str | None] | None = None
    effect: Callable[[Case, Any], Any] | None = None
    personal: Callable[[str], str] | None = None
    any_float: bool = False
    of_implementations: bool = False
    handed_over: bool = False
    tokens: int | None = None
    in_model: InModel | None = None
    row_sums: dict[str, float] = field(default_factory=dict)
    quotes: Mapping[str, Callable[[Seen], Any]] = field(default_factory=dict)
    called: str = ""
    id: str = ""
    title: str = ""
    about: str = ""

    @property
    def name(self) -> str:
        """The name of the answer that a learner writes."""
        return self.called or self.reference.__name__

    @property
    def judge(self) -> Callable[..., Any]:
        """What gives the right results where answers are judged."""
        return self.judged_by or self.reference

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs without their shapes."""
        return tuple(output.partition(" ")[0] for output in self.outputs)

    def twin(self, *misconceptions: Misconception) -> Callable[..., Any]:
        """Return the answer with one of these mistakes, or with all of them if they turn different knobs.

        Raises:
            ValueError: the mistakes are made by knobs, and the question has no variant.
        """
        first = misconceptions[0]
        if len(misconceptions) == 1 and first.twin is not None:
            return first.twin
        if self.variant is None:
            raise ValueError(f"question {self.id}: {first.slug} has no twin, and the question has no variant")
        return self.variant(**{name: value for m in misconceptions for name, value in m.knobs.items()})

    def message_for(self, idea: Misconception, seen: Seen) -> str:
        """Return the message of an idea with its placeholders filled in.

        If a placeholder raises, the check must not: then the message is the slug in words.
        """
        try:
            return translated(idea.says).format_map(_PlaceholderValues(self, seen))
        except Exception:
            return t("This looks like: {idea}.", idea=translated(in_words(idea.slug)))

    def fresh_cases(self, seed: int | None = None) -> list[Case]:
        """Draw new cases from this seed, or from the system's entropy without one."""
        return self.draw(Draw(seed))


class _PlaceholderValues(dict[str, Any]):
    """The values for the names in braces in a message: the question's own quotes, then the sizes of the case."""

    def __init__(self, question: Question, seen: Seen) -> None:
        super().__init__(seen.case.sizes)
        self.question, self.seen = question, seen

    def __getitem__(self, name: str) -> Any:
        quote = self.question.quotes.get(name)
        return quote(self.seen) if quote else super().__getitem__(name)


class Layer(nn.Linear):
    """A linear layer for twins that draws no initial weights: they are loaded next, and hundreds of twins are made."""

    def reset_parameters(self) -> None:
        pass
