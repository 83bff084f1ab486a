"""Chapter 2, queries, keys and values: what is asked, and what people get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from qkv.attention import additive_scores, attention, attention_scores, project_qkv, weighted_sum
from qkv.questions.engine import Case, Draw, Layer, Misconception, Question, Seen, call, load, make
from qkv.questions.shared.attending import ATTENTION, attention_variant, first_row_sum
from qkv.questions.shared.products import PRODUCTS, q_with_k
from qkv.questions.slips import At, slips

WIDTHS = (5, 6, 7, 8, 10)  # sizes whose root is not a whole number

# ── 2.1 three projections ─────────────────────────────────────────────────────────────────────────

Triple = tuple[Tensor, Tensor, Tensor]


def draw_projections(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "d_model", "d_k", "d_v", **fixed)
        scale = s["d_model"] ** -0.5
        x = draw.normal(*leading, s["n"], s["d_model"], dtype=dtype)
        w_q, w_k = (draw.normal(s["d_model"], s["d_k"], dtype=dtype, scale=scale) for _ in range(2))
        return Case(call(x, w_q, w_k, draw.normal(s["d_model"], s["d_v"], dtype=dtype, scale=scale)), name, s)

    same = draw.choose(WIDTHS)
    return [
        *draw.situations(case),
        case("n = 1", n=1),
        case("d_k = d_v = d_model", d_model=same, d_k=same, d_v=same),
        case("a batch, d_k = d_v = d_model", leading=(3,), d_model=same, d_k=same, d_v=same),
        case("all sizes equal", n=same, d_model=same, d_k=same, d_v=same),
        case("d_model = 1", d_model=1),
        case("d_k = 1 and d_v = 1", d_k=1, d_v=1),
    ]


def times(x: Tensor, w: Tensor) -> Tensor:
    return x @ w


def each_its_own(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, project: Callable[..., Tensor]) -> Triple:
    return project(x, w_q), project(x, w_k), project(x, w_v)


def projected_variant(
    project: Callable[[Tensor, Tensor], Tensor] = times,
    three: Callable[..., Triple] = each_its_own,
    give: Callable[[Tensor, Tensor, Tensor], Any] = lambda q, k, v: (q, k, v),
) -> Callable[..., Any]:
    """Give an answer to 2.1 that multiplies in another way, by other matrices, or returns in another order."""

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Any:
        return give(*three(x, w_q, w_k, w_v, project))

    return variant


def one_made_otherwise(which: int, project: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """Give an answer to 2.1 in which one of the three is made in another way."""
    return lambda x, *matrices: tuple(project(x, w) if i == which else x @ w for i, w in enumerate(matrices))


ORDER = "Your three results are right, in the order {0}. In which order are they asked for?"

PROJECT_QKV = Question(
    id="2.1",
    points=2,
    title="Three roles",
    inputs=("x", "w_q", "w_k", "w_v"),
    outputs=("q (..., n, d_k)", "k (..., n, d_k)", "v (..., n, d_v)"),
    draw=draw_projections,
    reference=project_qkv,
    variant=projected_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "weights-transposed",
            "Your product takes the matrices transposed, as nn.Linear stores them. Here w_q is (d_model, d_k): along "
            "which of its axes does the product sum?",
            knobs={"project": lambda x, w: x @ w.mT},
        ),
        Misconception(
            "tokens-as-columns",
            "Your tokens are columns: that is the other convention. In this course, what is a row?",
            knobs={"project": lambda x, w: w.mT @ x.mT},
        ),
        Misconception(
            "matrix-on-the-left",
            "The matrix stands to the left of x. That runs only where the sizes happen to agree. Rows are tokens: what "
            "must each row meet?",
            knobs={"project": lambda x, w: w @ x},
        ),
        Misconception(
            "matrix-on-the-left",
            "The transposed matrix stands to the left of x. That runs only where the sizes happen to agree. Rows are "
            "tokens: what must each row meet?",
            knobs={"project": lambda x, w: w.mT @ x},
        ),
        Misconception(
            "input-transposed",
            "You multiplied x transposed. That runs only where there are as many tokens as features. Which axis of x "
            "holds the features?",
            knobs={"project": lambda x, w: x.mT @ w},
        ),
        Misconception(
            "entry-by-entry",
            "Entries were multiplied one by one, and not summed. That runs only for some sizes. Is `*` a matrix "
            "product?",
            knobs={"project": lambda x, w: x * w},
        ),
        Misconception(
            "scaled-already",
            "Your results are divided by √d_k. The formula divides the scores, later on. What do projections "
            "divide by?",
            knobs={"project": lambda x, w: x @ w / math.sqrt(w.shape[-1])},
        ),
        Misconception(
            "scaled-already",
            "Your results are divided by √d_model. Is there a root in q = x W_Q?",
            knobs={"project": lambda x, w: x @ w / math.sqrt(x.shape[-1])},
        ),
        Misconception(
            "scaled-already",
            "Your queries are divided by √d_k. That is right for scores, later on. Does this question ask for it?",
            knobs={"give": lambda q, k, v: (q / math.sqrt(q.shape[-1]), k, v)},
        ),
        Misconception(
            "softmax-applied",
            "Your rows are positive and sum to 1. A softmax makes weights of scores. Are these scores?",
            knobs={"project": lambda x, w: (x @ w).softmax(-1)},
        ),
        Misconception(
            "non-linear",
            "Your results have no negative numbers. A projection is a matrix product. What comes after it here?",
            knobs={"project": lambda x, w: (x @ w).relu()},
        ),
        Misconception(
            "non-linear",
            "Your results were squeezed between −1 and 1. A projection is a matrix product. What comes after it here?",
            knobs={"project": lambda x, w: (x @ w).tanh()},
        ),
        Misconception(
            "normalised",
            "Each of your rows has length 1. May a query be longer than another?",
            knobs={"project": lambda x, w: torch.nn.functional.normalize(x @ w, dim=-1)},
        ),
        Misconception(
            "input-added",
            "x was added to what it was projected to. That runs only where the widths agree. Which formula does the "
            "question give?",
            knobs={"project": lambda x, w: x @ w + x},
        ),
        Misconception(
            "one-batch-shape",
            "Right for one sequence and for a batch, but not for more axes in front, or the reverse. Which product "
            "treats all leading axes as copies?",
            knobs={"project": lambda x, w: torch.bmm(x, w.expand(len(x), *w.shape))},
        ),
        Misconception(
            "one-batch-shape",
            "Right for one sequence, but not for a batch. Which product treats all leading axes as copies?",
            knobs={"project": lambda x, w: torch.mm(x, w)},
        ),
        Misconception(
            "only-the-first-sequence",
            "For a batch only its first sequence came back. What became of the others?",
            knobs={"project": lambda x, w: x.reshape(-1, *x.shape[-2:])[0] @ w},
        ),
        Misconception(
            "one-matrix-for-all",
            "Query, key and value are all made by w_q. Then each token asks for what it is. Which matrix makes which?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_q),) * 3},
        ),
        Misconception(
            "key-made-by-w-q",
            "Your keys are made by w_q, like the queries. Then every token looks most for itself. Which matrix is for "
            "keys?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_q), project(x, w_q), project(x, w_v))},
        ),
        Misconception(
            "query-made-by-w-k",
            "Your queries are made by w_k, like the keys. Which matrix is for queries?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_k), project(x, w_k), project(x, w_v))},
        ),
        Misconception(
            "value-made-by-w-k",
            "Your values are made by w_k. A key is what a token is found by. Which matrix makes what it hands over?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_q), project(x, w_k), project(x, w_k))},
        ),
        Misconception(
            "value-made-by-w-q",
            "Your values are made by w_q. Which matrix makes what a token hands over?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_q), project(x, w_k), project(x, w_q))},
        ),
        Misconception(
            "query-and-key-swapped",
            "Your queries and keys have changed places. Who asks, and who is found?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_k), project(x, w_q), project(x, w_v))},
        ),
        Misconception(
            "value-not-projected",
            "Your values are x itself. What a token is and what it hands over may differ. Which matrix says how?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_q), project(x, w_k), x * 1)},
        ),
        Misconception(
            "key-not-projected",
            "Your keys are x itself. By what can a token be found, and which matrix says so?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (project(x, w_q), x * 1, project(x, w_v))},
        ),
        Misconception(
            "query-not-projected",
            "Your queries are x itself. What does a token look for, and which matrix says so?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (x * 1, project(x, w_k), project(x, w_v))},
        ),
        Misconception(
            "nothing-projected",
            "x came back three times. What are the three matrices for?",
            knobs={"three": lambda x, w_q, w_k, w_v, project: (x * 1, x * 1, x * 1)},
        ),
        Misconception(
            "projected-one-after-another",
            "Your keys are made from the queries, and your values from the keys. From what should all three be made?",
            knobs={
                "three": lambda x, w_q, w_k, w_v, project: (
                    (q := project(x, w_q)),
                    (k := project(q, w_k)),
                    project(k, w_v),
                )
            },
        ),
        Misconception("another-order", ORDER.format("v, q, k"), knobs={"give": lambda q, k, v: (v, q, k)}),
        Misconception("another-order", ORDER.format("v, k, q"), knobs={"give": lambda q, k, v: (v, k, q)}),
        Misconception("another-order", ORDER.format("q, v, k"), knobs={"give": lambda q, k, v: (q, v, k)}),
        Misconception("another-order", ORDER.format("k, v, q"), knobs={"give": lambda q, k, v: (k, v, q)}),
        Misconception(
            "key-transposed",
            "Your keys stand on their side already. The scores will need that. Do the keys themselves?",
            knobs={"give": lambda q, k, v: (q, k.mT, v)},
        ),
        Misconception(
            "only-the-query",
            "One thing came back: the queries. Which two roles of a token are missing?",
            knobs={"give": lambda q, k, v: q},
        ),
        Misconception(
            "value-not-returned",
            "Queries and keys came back. What does a token hand over when it is found?",
            knobs={"give": lambda q, k, v: (q, k)},
        ),
        Misconception(
            "glued-together",
            "One wide table came back: queries, keys and values side by side. Three tables are asked for.",
            knobs={"give": lambda q, k, v: torch.cat([q, k, v], dim=-1)},
        ),
        Misconception(
            "went-on-to-scores",
            "You went on to the scores. Three tables are asked for, before queries meet keys.",
            knobs={"give": lambda q, k, v: q_with_k(q, k)},
        ),
        Misconception(
            "went-on-to-attention",
            "You went on to attention, output and weights. Three tables are asked for, before queries meet keys.",
            knobs={"give": lambda q, k, v: attention(q, k, v)},
        ),
        Misconception(
            "all-three-negated",
            "Every sign in all three is turned round. Where does a minus come in?",
            knobs={"project": lambda x, w: -(x @ w)},
        ),
        Misconception(
            "all-three-rounded",
            "All three are rounded to whole numbers. Which step, or which dtype, does that?",
            knobs={"project": lambda x, w: (x @ w).round()},
        ),
        *slips(
            lambda at: lambda x, w_q, w_k, w_v: (at("queries", x @ w_q), at("keys", x @ w_k), at("values", x @ w_v)),
            queries="your queries",
            keys="your keys",
            values="your values",
        ),
        *(
            Misconception(f"{role}-{slug}", says.format(f"{role}s"), twin=one_made_otherwise(i, project))
            for i, role in enumerate(("query", "key", "value"))
            for slug, says, project in (
                (
                    "entry-by-entry",
                    "For your {} alone x is multiplied entry by entry, which its shapes do not allow. Which product "
                    "sums as it goes?",
                    lambda x, w: x * w,
                ),
                (
                    "matrix-on-the-left",
                    "For your {} alone the matrix stands to the left of x. Rows are tokens: what must each row meet?",
                    lambda x, w: w @ x,
                ),
                (
                    "matrix-returned",
                    "For your {} the matrix itself came back. Which tokens are they made of?",
                    lambda x, w: w,
                ),
            )
        ),
    ),
)

# ── 2.2 scores ────────────────────────────────────────────────────────────────────────────────────


def draw_pairs(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", **{"d_k": draw.choose(WIDTHS)} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        return Case(call(q, draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)), name, s)

    same = draw.choose(WIDTHS)
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("one query", n_q=1),
        case("one key", n_k=1),
        case("d_k = 1", d_k=1),
        case("as many queries as keys", n_q=same, n_k=same, d_k=11),
        case("as many keys as features", n_k=same, d_k=same),
        case("all sizes equal", n_q=same, n_k=same, d_k=same),
    ]


def scores_variant(
    product: Callable[[Tensor, Tensor], Tensor] = q_with_k,
    after: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda scores, q, k: scores,
) -> Callable[..., Tensor]:
    """Give an answer to 2.2 that compares in another way, or goes on with the scores."""

    def variant(q: Tensor, k: Tensor) -> Tensor:
        return after(product(q, k), q, k)

    return variant


def length(rows: Tensor) -> Tensor:
    return rows.norm(dim=-1, keepdim=True)


SUMMED = "One number came back for all pairs of a sequence. How many scores are there, for n_q queries and n_k keys?"

ATTENTION_SCORES = Question(
    id="2.2",
    points=3,
    title="Who matches whom",
    inputs=("q", "k"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_pairs,
    reference=attention_scores,
    variant=scores_variant,
    gradients=True,
    misconceptions=(
        *PRODUCTS,
        Misconception(
            "axis-counted-from-the-front",
            "Right for a batch, and for nothing else: axes 1 and 2 of k change places. Which two are the last two, "
            "counted from the back?",
            knobs={"product": lambda q, k: q @ k.transpose(1, 2)},
        ),
        Misconception(
            "scaled-already",
            "Your scores are divided by √d_k. That comes in chapter 3. What does this question ask for?",
            knobs={"after": lambda scores, q, k: scores / math.sqrt(q.shape[-1])},
        ),
        Misconception(
            "averaged-over-features",
            "Your scores are divided by d_k, or averaged over it. Is a dot product a sum, or a mean?",
            knobs={"after": lambda scores, q, k: scores / q.shape[-1]},
        ),
        Misconception(
            "scale-multiplied",
            "Your scores are √d_k times what was expected. How often is each product summed?",
            knobs={"after": lambda scores, q, k: scores * math.sqrt(q.shape[-1])},
        ),
        Misconception(
            "cosine-similarity",
            "Your scores lie between −1 and 1: they are cosines. Should a query that is twice as long score the same?",
            knobs={"after": lambda scores, q, k: scores / (length(q) @ length(k).mT)},
        ),
        Misconception(
            "divided-by-a-length",
            "Your scores are divided by the keys' lengths: projections. Does a key that is twice as long not score "
            "twice as high?",
            knobs={"after": lambda scores, q, k: scores / length(k).mT},
        ),
        Misconception(
            "divided-by-a-length",
            "Your scores are divided by the queries' lengths: projections. Does a query that is twice as long not "
            "score twice as high?",
            knobs={"after": lambda scores, q, k: scores / length(q)},
        ),
        Misconception(
            "distance",
            "Your scores are distances: small where a query and a key agree. Is the closest key the one to read least?",
            knobs={"product": torch.cdist},
        ),
        Misconception(
            "distance",
            "Your scores are distances with the sign turned. Those compare places. How are directions and lengths "
            "compared?",
            knobs={"product": lambda q, k: -torch.cdist(q, k)},
        ),
        Misconception(
            "squared-distance",
            "Your scores are squared distances, with the sign turned or not. A dot product is one part of those. "
            "Which?",
            knobs={"product": lambda q, k: -(torch.cdist(q, k) ** 2)},
        ),
        Misconception(
            "squared-distance",
            "Your scores are squared distances. A dot product is one part of those. Which?",
            knobs={"product": lambda q, k: torch.cdist(q, k) ** 2},
        ),
        Misconception(
            "added-for-multiplied",
            "Each score is the sum of all entries of a query and of a key. Does it say anything of the two together?",
            knobs={"product": lambda q, k: q.sum(-1)[..., :, None] + k.sum(-1)[..., None, :]},
        ),
        Misconception(
            "sums-multiplied",
            "Each score is the sum of a query's entries times the sum of a key's. Which entries should meet, before "
            "anything is summed?",
            knobs={"product": lambda q, k: q.sum(-1)[..., :, None] * k.sum(-1)[..., None, :]},
        ),
        Misconception(
            "only-matching-places",
            "Query i met key i and no other. That runs only where there are as many of both. Whom may a query ask?",
            knobs={"product": lambda q, k: (q * k).sum(-1)},
        ),
        Misconception(
            "only-matching-places",
            "Your scores are zero off the diagonal: query i met key i and no other. Whom may a query ask?",
            knobs={"after": lambda scores, q, k: scores * torch.eye(*scores.shape[-2:], dtype=scores.dtype)},
        ),
        Misconception(
            "entry-by-entry",
            "q and k were multiplied entry by entry. That runs only where there are as many queries as keys. What is "
            "summed in a dot product, and how many pairs are there?",
            knobs={"product": lambda q, k: q * k},
        ),
        Misconception(
            "not-summed",
            "Your result has one axis too many: the products of a pair stand side by side. What makes one number of "
            "them?",
            knobs={"product": lambda q, k: q[..., :, None, :] * k[..., None, :, :]},
        ),
        Misconception(
            "features-compared",
            "Your table compares features with features, over all tokens. Which two things does a score bring "
            "together?",
            knobs={"product": lambda q, k: q.mT @ k},
        ),
        Misconception(
            "mixed-across-the-batch",
            "Your scores compare tokens of one example with tokens of another. Who may ask whom in a batch?",
            knobs={"product": lambda q, k: q @ k.flip(0).mT if k.ndim > 2 else q @ k.mT},
        ),
        Misconception(
            "only-the-first-query",
            "Your scores are those of the first query, in every row. Which query belongs to which row?",
            knobs={"after": lambda scores, q, k: scores[..., :1, :].expand_as(scores)},
        ),
        Misconception(
            "keys-reversed",
            "Your columns are in reverse order. Which key does the first column belong to?",
            knobs={"after": lambda scores, q, k: scores.flip(-1)},
        ),
        Misconception(
            "last-feature-left-out",
            "The last feature has no part in your scores. Where does your sum end?",
            twin=lambda q, k: q_with_k(q[..., :-1], k[..., :-1]),
        ),
        Misconception(
            "first-feature-left-out",
            "The first feature has no part in your scores. Where does your sum begin?",
            twin=lambda q, k: q_with_k(q[..., 1:], k[..., 1:]),
        ),
        Misconception(
            "softmax-already-applied",
            "Your rows sum to 1: these are weights. Scores are what comes before the softmax. Which of the two is "
            "asked for?",
            knobs={"after": lambda scores, q, k: scores.softmax(-1)},
        ),
        Misconception(
            "softmax-already-applied",
            "Your rows sum to 1, and they were scaled: these are attention weights. What stands before the softmax, "
            "and before the scale?",
            knobs={"after": lambda scores, q, k: (scores / math.sqrt(q.shape[-1])).softmax(-1)},
        ),
        Misconception(
            "softmax-over-queries",
            "Your columns sum to 1: these are weights, and shared out among the queries. Scores come before any "
            "softmax.",
            knobs={"after": lambda scores, q, k: scores.softmax(-2)},
        ),
        Misconception(
            "exponential-already-applied",
            "Your scores are all positive: the exponential belongs to the softmax. What comes before it?",
            knobs={"after": lambda scores, q, k: scores.exp()},
        ),
        Misconception(
            "scores-negated",
            "Every score has the wrong sign. Should a key that points where the query points score high, or low?",
            knobs={"after": lambda scores, q, k: -scores},
        ),
        Misconception(
            "sign-lost",
            "Your scores have no sign. Does a key that points away from the query match as well as one that points "
            "along?",
            knobs={"after": lambda scores, q, k: scores.abs()},
        ),
        Misconception(
            "sign-lost",
            "Your scores have no negative numbers: they were cut off at 0. What does a negative score say?",
            knobs={"after": lambda scores, q, k: scores.relu()},
        ),
        Misconception(
            "masked-though-not-asked",
            "To the right of the diagonal your scores are −∞. A causal mask comes in chapter 5. Did this question ask "
            "for one?",
            knobs={
                "after": lambda scores, q, k: scores.masked_fill(
                    ~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf
                )
            },
        ),
        Misconception(
            "masked-though-not-asked",
            "To the right of the diagonal your scores are 0. May a query not ask later tokens, here?",
            knobs={"after": lambda scores, q, k: scores.tril()},
        ),
        Misconception("summed-over-everything", SUMMED, knobs={"after": lambda scores, q, k: scores.sum((-2, -1))}),
        Misconception(
            "summed-over-keys",
            "One number came back for each query. How many keys does a query meet?",
            knobs={"after": lambda scores, q, k: scores.sum(-1)},
        ),
        *slips(lambda at: lambda q, k: at("scores", q @ k.mT), "rounded cut", scores="your scores"),
    ),
)

# ── 2.3 additive scores ───────────────────────────────────────────────────────────────────────────


def draw_additive(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", "d_a", **{"d_k": draw.choose((5, 6, 7, 8))} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        k = draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)
        scale = (2 * s["d_k"]) ** -0.5  # of variance 1 before the tanh, which is nowhere near its limits then
        w_q, w_k = (draw.normal(s["d_k"], s["d_a"], dtype=dtype, scale=scale) for _ in range(2))
        return Case(call(q, k, w_q, w_k, draw.normal(s["d_a"], dtype=dtype)), name, s)

    same = draw.choose((5, 6, 7))
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("one query", n_q=1),
        case("one key", n_k=1),
        case("one hidden unit", d_a=1),
        case("d_k = 1", d_k=1),
        case("as many queries as keys", n_q=same, n_k=same),
        case("as many hidden units as features", d_k=same, d_a=same),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_a=same),
    ]


def summed_pairs(asked: Tensor, offered: Tensor) -> Tensor:
    """Add every row of one to every row of the other: (..., n_q, d_a) and (..., n_k, d_a) to (..., n_q, n_k, d_a)."""
    return asked.unsqueeze(-2) + offered.unsqueeze(-3)


def weighed(hidden: Tensor, v: Tensor) -> Tensor:
    return hidden @ v


def additive_variant(
    meet: Callable[[Tensor, Tensor], Tensor] = summed_pairs,
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    read: Callable[[Tensor, Tensor], Tensor] = weighed,
    project: Callable[[Tensor, Tensor], Tensor] = times,
    roles: Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]] = lambda q, k, w_q, w_k: (q, k, w_q, w_k),
    after: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Callable[..., Tensor]:
    """Give an answer to 2.3 that goes wrong at some of its steps."""

    def variant(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
        q, k, w_q, w_k = roles(q, k, w_q, w_k)
        hidden = squash(meet(project(q, w_q), project(k, w_k)))
        return after(read(hidden, v))

    return variant


def additive_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
        asked, offered = at("projected_queries", q @ w_q), at("projected_keys", k @ w_k)
        return at("scores", at("hidden_units", torch.tanh(summed_pairs(asked, offered))) @ v)

    return answer


def additive_with(which: str, project: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Give an answer to 2.3 in which the queries or the keys are projected in another way."""

    def variant(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
        asked = project(q, w_q) if which == "queries" else q @ w_q
        offered = project(k, w_k) if which == "keys" else k @ w_k
        return torch.tanh(summed_pairs(asked, offered)) @ v

    return variant


INSTEAD = "In place of tanh your hidden units go through {0}. Which function does the formula have?"

ADDITIVE_SCORES = Question(
    id="2.3",
    points=4,
    title="Another way to compare",
    inputs=("q", "k", "w_q", "w_k", "v"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_additive,
    reference=additive_scores,
    variant=additive_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "tanh-forgotten",
            "Your scores are linear in q and k: each is one part from the query plus one part from the key. Then every "
            "query ranks the keys alike. What is between the sum and v?",
            knobs={"squash": lambda hidden: hidden},
        ),
        Misconception("another-function", INSTEAD.format("a sigmoid"), knobs={"squash": torch.sigmoid}),
        Misconception("another-function", INSTEAD.format("a ReLU"), knobs={"squash": torch.relu}),
        Misconception("another-function", INSTEAD.format("a GELU"), knobs={"squash": torch.nn.functional.gelu}),
        Misconception("another-function", INSTEAD.format("an exponential"), knobs={"squash": torch.exp}),
        Misconception("another-function", INSTEAD.format("the tangent"), knobs={"squash": torch.tan}),
        Misconception("another-function", INSTEAD.format("a sine"), knobs={"squash": torch.sin}),
        Misconception("another-function", INSTEAD.format("a hyperbolic sine"), knobs={"squash": torch.sinh}),
        Misconception(
            "another-function",
            INSTEAD.format("a softmax over the hidden units"),
            knobs={"squash": lambda hidden: hidden.softmax(-1)},
        ),
        Misconception(
            "tanh-twice",
            "Your hidden units go through tanh twice. How often does the formula have it?",
            knobs={"squash": lambda hidden: hidden.tanh().tanh()},
        ),
        Misconception(
            "tanh-before-the-sum",
            "Query and key go through tanh each for themselves, and are added afterwards. Then every query ranks the "
            "keys alike. What stands inside the tanh in the formula?",
            knobs={"meet": lambda asked, offered: summed_pairs(asked.tanh(), offered.tanh()), "squash": lambda h: h},
        ),
        Misconception(
            "tanh-after-v",
            "The tanh is taken of the whole score, so all scores lie between −1 and 1. Does v stand inside it or in "
            "front?",
            knobs={"squash": lambda hidden: hidden, "after": torch.tanh},
        ),
        Misconception(
            "v-inside-the-tanh",
            "v is multiplied before the tanh. Does it stand inside it or in front?",
            knobs={"squash": lambda hidden: hidden, "read": lambda hidden, v: (hidden * v).tanh().sum(-1)},
        ),
        Misconception(
            "multiplied-for-added",
            "The query's hidden vector is multiplied by the key's, entry by entry. What does *additive* say?",
            knobs={"meet": lambda asked, offered: asked.unsqueeze(-2) * offered.unsqueeze(-3)},
        ),
        Misconception(
            "subtracted-for-added",
            "The key's hidden vector is subtracted from the query's. What does *additive* say?",
            knobs={"meet": lambda asked, offered: summed_pairs(asked, -offered)},
        ),
        Misconception(
            "subtracted-for-added",
            "The query's hidden vector is subtracted from the key's. What does *additive* say?",
            knobs={"meet": lambda asked, offered: summed_pairs(-asked, offered)},
        ),
        Misconception(
            "averaged-for-added",
            "The two hidden vectors are averaged. What does *additive* say?",
            knobs={"meet": lambda asked, offered: summed_pairs(asked, offered) / 2},
        ),
        Misconception(
            "queries-have-no-say",
            "All your rows are alike: the queries have no say. Which two vectors meet inside the tanh?",
            knobs={"meet": lambda asked, offered: summed_pairs(0 * asked, offered)},
        ),
        Misconception(
            "keys-have-no-say",
            "All your columns are alike: the keys have no say. Which two vectors meet inside the tanh?",
            knobs={"meet": lambda asked, offered: summed_pairs(asked, 0 * offered)},
        ),
        Misconception(
            "only-matching-places",
            "Query i met key i and no other. That runs only where there are as many of both. Whom may a query ask, and "
            "which new axis makes room for it?",
            knobs={"meet": lambda asked, offered: asked + offered},
        ),
        Misconception(
            "query-and-key-swapped",
            "Your rows belong to keys, and your columns to queries. Who asks, and who is asked? Queries go down, keys "
            "across.",
            knobs={"meet": lambda asked, offered: asked.unsqueeze(-3) + offered.unsqueeze(-2)},
        ),
        Misconception(
            "axis-counted-from-the-front",
            "Right for one sequence, but not for a batch: the new axes are counted from the front. Where do queries "
            "and keys lie, counted from the back?",
            knobs={"meet": lambda asked, offered: asked.unsqueeze(1) + offered.unsqueeze(0)},
        ),
        Misconception(
            "axis-counted-from-the-front",
            "Right for a batch, and for nothing else: the new axes are counted from the front. Where do queries and "
            "keys lie, counted from the back?",
            knobs={"meet": lambda asked, offered: asked.unsqueeze(2) + offered.unsqueeze(1)},
        ),
        Misconception(
            "v-forgotten",
            "Your hidden units are summed, each with the same weight. What says how much each of them counts?",
            knobs={"read": lambda hidden, v: hidden.sum(-1)},
        ),
        Misconception(
            "v-forgotten",
            "Your hidden units are averaged, each with the same weight. What says how much each of them counts?",
            knobs={"read": lambda hidden, v: hidden.mean(-1)},
        ),
        Misconception(
            "not-summed",
            "Your result has one axis too many: the hidden units, each times its v. What makes one number of them?",
            knobs={"read": lambda hidden, v: hidden * v},
        ),
        Misconception(
            "not-summed",
            "Your result has one axis too many, of size d_a: the hidden units. What makes one number of them?",
            knobs={"read": lambda hidden, v: hidden},
        ),
        Misconception(
            "one-axis-too-many",
            "Your result has one axis too many, of size 1. Was v turned into a column, and the column kept?",
            knobs={"read": lambda hidden, v: hidden @ v.unsqueeze(-1)},
        ),
        Misconception(
            "averaged-over-hidden-units",
            "Your scores are divided by d_a, the number of hidden units. Is v · tanh(…) a sum, or a mean?",
            knobs={"read": lambda hidden, v: (hidden * v).mean(-1)},
        ),
        Misconception(
            "scaled-though-not-asked",
            "Your scores are divided by √d_a. The formula of this score has no root. Which one has?",
            knobs={"read": lambda hidden, v: hidden @ v / math.sqrt(v.shape[-1])},
        ),
        Misconception(
            "scaled-though-not-asked",
            "Your scores are divided by √d_k. The formula of this score has no root. Which one has?",
            twin=lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_k, v) / math.sqrt(q.shape[-1]),
        ),
        Misconception(
            "scaled-though-not-asked",
            "Your hidden units are divided by √d_k before the tanh. The formula of this score has no root. Which one "
            "has?",
            knobs={"project": lambda x, w: x @ w / math.sqrt(x.shape[-1])},
        ),
        Misconception(
            "dot-product-after-all",
            "Your scores are dot products of the projected queries and keys. This one has no product of q and k. What "
            "joins them?",
            twin=lambda q, k, w_q, w_k, v: (q @ w_q) @ (k @ w_k).mT,
        ),
        Misconception(
            "dot-product-after-all",
            "Your scores are dot products of q and k, as in 2.2. What are w_q, w_k and v for?",
            twin=lambda q, k, w_q, w_k, v: q @ k.mT,
        ),
        Misconception(
            "matrices-swapped",
            "Queries are multiplied by w_k, and keys by w_q. Which matrix is whose?",
            knobs={"roles": lambda q, k, w_q, w_k: (q, k, w_k, w_q)},
        ),
        Misconception(
            "one-matrix-for-both",
            "Keys are multiplied by w_q, like the queries. Which matrix is theirs?",
            knobs={"roles": lambda q, k, w_q, w_k: (q, k, w_q, w_q)},
        ),
        Misconception(
            "one-matrix-for-both",
            "Queries are multiplied by w_k, like the keys. Which matrix is theirs?",
            knobs={"roles": lambda q, k, w_q, w_k: (q, k, w_k, w_k)},
        ),
        Misconception(
            "inputs-swapped",
            "Your rows belong to keys, and they are projected by w_q. Which of the two is the one that asks?",
            knobs={"roles": lambda q, k, w_q, w_k: (k, q, w_q, w_k)},
        ),
        Misconception(
            "keys-compared-with-keys",
            "Each key meets every key; the queries have no say. Which two meet in a score?",
            knobs={"roles": lambda q, k, w_q, w_k: (k, k, w_q, w_k)},
        ),
        Misconception(
            "queries-compared-with-queries",
            "Each query meets every query; the keys have no say. Which two meet in a score?",
            knobs={"roles": lambda q, k, w_q, w_k: (q, q, w_q, w_k)},
        ),
        Misconception(
            "weights-transposed",
            "Your product takes the matrices transposed, as nn.Linear stores them. Here w_q is (d_k, d_a): along which "
            "of its axes does the product sum?",
            knobs={"project": lambda x, w: x @ w.mT},
        ),
        Misconception(
            "scores-negated",
            "Every score has the wrong sign. Is there a minus in the formula?",
            knobs={"after": lambda scores: -scores},
        ),
        Misconception(
            "softmax-already-applied",
            "Your rows sum to 1: these are weights. Scores are what comes before the softmax. Which of the two is "
            "asked for?",
            knobs={"after": lambda scores: scores.softmax(-1)},
        ),
        Misconception(
            "softmax-over-queries",
            "Your columns sum to 1: these are weights, and shared out among the queries. Scores come before any "
            "softmax.",
            knobs={"after": lambda scores: scores.softmax(-2)},
        ),
        *slips(
            additive_in_steps,
            "rounded cut",
            projected_queries="the projected queries",
            projected_keys="the projected keys",
            scores="your scores",
        ),
        *slips(additive_in_steps, "rounded", hidden_units="your hidden units"),
        *(
            Misconception(
                "new-axis-in-the-wrong-place",
                f"The new axis of the {which} stands in the wrong place. Queries go down, keys across, hidden units "
                "last: where is there room for what the other one has?",
                twin=additive_variant(meet=meet),
            )
            for which, meet in (
                ("queries", lambda asked, offered: asked.unsqueeze(-1) + offered.unsqueeze(-3)),
                ("queries", lambda asked, offered: asked.unsqueeze(-3) + offered.unsqueeze(-3)),
                ("queries", lambda asked, offered: asked.unsqueeze(0) + offered.unsqueeze(-3)),
                ("queries", lambda asked, offered: asked + offered.unsqueeze(-3)),
                ("keys", lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(-1)),
                ("keys", lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(0)),
                ("keys", lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(1)),
                ("keys", lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(-2)),
                ("keys", lambda asked, offered: asked.unsqueeze(-2) + offered),
            )
        ),
        *(
            Misconception(
                "keys-left-out" if i == 0 else "queries-left-out",
                "Only one of the two goes through your tanh: one axis of the scores has a single entry. What meets "
                "there?",
                twin=additive_variant(meet=meet),
            )
            for i, meet in enumerate((lambda asked, _: asked.unsqueeze(-2), lambda _, offered: offered.unsqueeze(-3)))
        ),
        *(
            Misconception(
                f"{which}-{slug}",
                says.format(which),
                twin=additive_with(which, project),
            )
            for which in ("queries", "keys")
            for slug, says, project in (
                (
                    "times-matrix-entry-by-entry",
                    "Your {} are multiplied with their matrix entry by entry. Which product sums as it goes?",
                    lambda x, w: x * w,
                ),
                (
                    "not-projected",
                    "Your {} go into the sum as they are. Which matrix makes hidden units of them?",
                    lambda x, w: x,
                ),
                (
                    "left-out-of-their-projection",
                    "The matrix of your {} goes into the sum by itself. What should it be multiplied with?",
                    lambda x, w: w,
                ),
                (
                    "behind-their-matrix",
                    "Your {} stand to the right of their matrix. Rows are tokens: which of the two comes first?",
                    lambda x, w: w @ x,
                ),
            )
        ),
        Misconception(
            "v-on-the-left",
            "v stands to the left of the hidden units, and the product sums over another axis. Which axis holds them?",
            twin=additive_variant(read=lambda hidden, v: v @ hidden),
        ),
    ),
)

# ── 2.4 the mixture ───────────────────────────────────────────────────────────────────────────────


def draw_mixtures(draw: Draw) -> list[Case]:
    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        share: Callable[[Tensor], Tensor] = lambda weights: weights,
        **fixed: int,
    ) -> Case:
        s = draw.sizes("n_q", "n_k", "d_v", **fixed)
        weights = share(draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype))
        return Case(call(weights, draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)), name, s)

    same = draw.choose(WIDTHS)
    return [
        *draw.situations(case),
        case("one query", n_q=1),
        case("one key", n_k=1),
        case("d_v = 1", d_v=1),
        case("as many queries as keys", n_q=same, n_k=same),
        case("as many keys as features of a value", n_k=same, d_v=same),
        case("as many queries as features of a value", n_q=same, d_v=same),
        case("all sizes equal", n_q=same, n_k=same, d_v=same),
        case("rows that do not sum to 1", share=lambda weights: 2 * weights * (weights > weights.median())),
    ]


def product(weights: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def laid_out(weights: Tensor, v: Tensor) -> Tensor:
    """Every value times every weight it gets: (..., n_q, n_k, d_v)."""
    return weights.unsqueeze(-1) * v.unsqueeze(-3)


def mixture_variant(
    share: Callable[[Tensor], Tensor] = lambda weights: weights,
    values: Callable[[Tensor], Tensor] = lambda v: v,
    mix: Callable[[Tensor, Tensor], Tensor] = product,
    after: Callable[[Tensor], Tensor] = lambda out: out,
) -> Callable[..., Tensor]:
    """Give an answer to 2.4 that changes the weights, the values, the product or what comes of it."""

    def variant(weights: Tensor, v: Tensor) -> Tensor:
        return after(mix(share(weights), values(v)))

    return variant


def average(seen: Seen) -> str:
    return (
        f"Your output is divided by the number of keys, {seen['n_k']} here. The weights already say how much of each "
        "value to take. What would be left to divide by?"
    )


WEIGHTED_SUM = Question(
    id="2.4",
    points=2,
    title="Mix the values",
    inputs=("weights", "v"),
    outputs=("out (..., n_q, d_v)",),
    draw=draw_mixtures,
    reference=weighted_sum,
    variant=mixture_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "mixed-by-columns",
            "Each of your outputs is mixed by a column of the weights. That runs only where there are as many queries "
            "as keys. Whose weights are in a row, and whose output do they make?",
            knobs={"share": lambda weights: weights.mT},
        ),
        Misconception(
            "values-on-the-left",
            "The values stand to the left of the weights. That runs only for some sizes. Which axis do both share, and "
            "where does it stand in each?",
            knobs={"mix": lambda weights, v: v @ weights},
        ),
        Misconception(
            "values-transposed",
            "The values are transposed. That runs only where there are as many keys as features. Over what does the "
            "product sum, tokens or features?",
            knobs={"values": lambda v: v.mT},
        ),
        Misconception(
            "entry-by-entry",
            "Weights and values were multiplied entry by entry. That runs only for some sizes. How many values go into "
            "one output?",
            knobs={"mix": lambda weights, v: weights * v},
        ),
        Misconception(
            "not-summed",
            "Your result has one axis too many: each value times its weight, side by side. Over which axis do they "
            "become one output?",
            knobs={"mix": laid_out},
        ),
        Misconception(
            "summed-over-queries",
            "You summed over the queries: one row for each key came back. Who receives the mixture?",
            knobs={"mix": lambda weights, v: laid_out(weights, v).sum(-3)},
        ),
        Misconception(
            "summed-over-features",
            "You summed over the features: what came back is as large as the weights. How many numbers has an output?",
            knobs={"mix": lambda weights, v: laid_out(weights, v).sum(-1)},
        ),
        Misconception(
            "axis-counted-from-the-front",
            "Right for one sequence, but not for a batch: the sum is over axis 1. Which axis holds the keys, counted "
            "from the back?",
            knobs={"mix": lambda weights, v: laid_out(weights, v).sum(1)},
        ),
        Misconception(
            "one-batch-shape",
            "Right for a batch, and for nothing else. Which product treats all leading axes as copies?",
            knobs={"mix": lambda weights, v: torch.bmm(weights, v)},
        ),
        Misconception(
            "one-batch-shape",
            "Right for one sequence, but not for a batch. Which product treats all leading axes as copies?",
            knobs={"mix": lambda weights, v: torch.mm(weights, v)},
        ),
        Misconception(
            "softmax-again",
            "A softmax was taken of the weights. They have been through one already, and become nearly equal. What was "
            "handed over: scores, or weights?",
            knobs={"share": lambda weights: weights.softmax(-1)},
        ),
        Misconception(
            "softmax-over-queries",
            "A softmax over the queries was taken of the weights. What was handed over: scores, or weights?",
            knobs={"share": lambda weights: weights.softmax(-2)},
        ),
        Misconception(
            "rows-made-to-sum-to-1",
            "You divided by what each row sums to. For weights that sum to 1 that changes nothing; a row that is to "
            "count less, it makes louder. Does a sum divide?",
            knobs={"share": lambda weights: weights / weights.sum(-1, keepdim=True)},
        ),
        Misconception(
            "columns-made-to-sum-to-1",
            "You divided by what each column sums to. Who shares out a weight of 1, a query or a key?",
            knobs={"share": lambda weights: weights / weights.sum(-2, keepdim=True)},
        ),
        Misconception("averaged-over-keys", average, knobs={"mix": lambda weights, v: weights @ v / weights.shape[-1]}),
        Misconception(
            "scaled-though-not-asked",
            "Your output is divided by √d_v. In attention a root divides the scores, before the softmax. Does it "
            "divide the output?",
            knobs={"mix": lambda weights, v: weights @ v / math.sqrt(v.shape[-1])},
        ),
        Misconception(
            "scaled-though-not-asked",
            "Your output is divided by √n_k. In attention a root divides the scores, before the softmax. Does it "
            "divide the output?",
            knobs={"mix": lambda weights, v: weights @ v / math.sqrt(v.shape[-2])},
        ),
        Misconception(
            "weights-have-no-say",
            "All your outputs are alike, and the weights have no say: the values are averaged. What does a row of "
            "weights change?",
            knobs={"share": lambda weights: torch.full_like(weights, 1 / weights.shape[-1])},
        ),
        Misconception(
            "weights-have-no-say",
            "All your outputs are alike, and the weights have no say: the values are summed. What does a row of "
            "weights change?",
            knobs={"share": torch.ones_like},
        ),
        Misconception(
            "only-the-best-key",
            "Each output is the value of the one best key. That is a dictionary. What makes this look-up a *soft* one?",
            knobs={"mix": lambda weights, v: (weights == weights.amax(-1, keepdim=True)).to(v.dtype) @ v},
        ),
        Misconception(
            "only-the-best-key",
            "Each output is the value of the one best key, times its weight. What of the other keys?",
            knobs={"share": lambda weights: weights * (weights == weights.amax(-1, keepdim=True))},
        ),
        Misconception(
            "only-the-diagonal",
            "Each output is its own value, times its own weight. What of the other keys?",
            knobs={"share": lambda weights: weights * torch.eye(*weights.shape[-2:], dtype=weights.dtype)},
        ),
        Misconception(
            "masked-though-not-asked",
            "Later tokens have no part in your outputs. A causal mask comes in chapter 5. Did this question ask "
            "for one?",
            knobs={"share": lambda weights: weights.tril()},
        ),
        Misconception(
            "weights-squared",
            "Each weight is squared. How often does it multiply its value?",
            knobs={"share": lambda weights: weights**2},
        ),
        Misconception(
            "logarithm-taken",
            "A logarithm was taken of the weights. They are shares already. What multiplies a value?",
            knobs={"share": lambda weights: weights.log()},
        ),
        Misconception(
            "first-key-left-out",
            "The first key has no part in your outputs. Where does your sum begin?",
            twin=lambda weights, v: weights[..., 1:] @ v[..., 1:, :],
        ),
        Misconception(
            "last-key-left-out",
            "The last key has no part in your outputs. Where does your sum end?",
            twin=lambda weights, v: weights[..., :-1] @ v[..., :-1, :],
        ),
        Misconception(
            "keys-reversed",
            "Your weights meet the values in reverse order. Which value does the first weight of a row belong to?",
            knobs={"values": lambda v: v.flip(-2)},
        ),
        Misconception(
            "keys-shifted",
            "Your weights meet the values of the next token. Which value does the first weight of a row belong to?",
            knobs={"values": lambda v: v.roll(-1, -2)},
        ),
        Misconception(
            "keys-shifted",
            "Your weights meet the values of the token before. Which value does the first weight of a row belong to?",
            knobs={"values": lambda v: v.roll(1, -2)},
        ),
        Misconception(
            "transposed",
            "Your outputs are columns. In this course, what is a row?",
            knobs={"after": lambda out: out.mT},
        ),
        Misconception(
            "laid-out-along-the-wrong-axis",
            "The shape is right, but a row holds numbers of several tokens. Was something reshaped that should be "
            "transposed?",
            knobs={"after": lambda out: out.mT.reshape(out.shape)},
        ),
        Misconception(
            "only-the-first-query",
            "Every row of yours is the first query's mixture. Which query belongs to which row?",
            knobs={"after": lambda out: out[..., :1, :].expand_as(out)},
        ),
        Misconception(
            "weights-returned-too",
            "Two things came back. This question asks for the output alone.",
            twin=lambda weights, v: (weights @ v, weights),
        ),
        *slips(lambda at: lambda weights, v: at("output", weights @ v), output="your output"),
        Misconception(
            "weights-returned",
            "The weights came back as they are. What do they weigh?",
            twin=lambda weights, v: weights,
        ),
        Misconception(
            "values-returned",
            "The values came back as they are. Who gets how much of each?",
            twin=lambda weights, v: v,
        ),
        Misconception(
            "weights-rounded",
            "Your weights are rounded to 0 or 1. That is a dictionary. What makes this look-up a *soft* one?",
            knobs={"share": lambda weights: weights.round()},
        ),
    ),
)

# ── 2.5 the module ────────────────────────────────────────────────────────────────────────────────


class Projections(nn.Module):
    """Three layers, with a bias each: an answer may have one or none."""

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.w_q = Layer(d_model, d_k)
        self.w_k = Layer(d_model, d_k)
        self.w_v = Layer(d_model, d_v)


Roles = Callable[[Projections, Tensor], Triple]
Attend = Callable[[Tensor, Tensor, Tensor], Any]


def own_roles(layers: Projections, x: Tensor) -> Triple:
    return layers.w_q(x), layers.w_k(x), layers.w_v(x)


def head(attend: Attend = attention, roles: Roles = own_roles) -> Callable[..., Any]:
    """Give a class that projects in this way and then attends in that way."""

    class SingleHead(Projections):
        def forward(self, x: Tensor) -> Any:
            return attend(*roles(self, x))

    return SingleHead


def head_variant(roles: Roles = own_roles, **knobs: Any) -> Callable[..., Any]:
    """Give an answer to 2.5 that projects otherwise, or goes wrong where an answer to 3.3 may."""
    return head(attention_variant(**knobs), roles)


def draw_heads(draw: Draw) -> list[Case]:
    def layers(s: dict[str, int], dtype: torch.dtype) -> dict[str, Tensor]:
        given = {}
        for name, width in (("w_q", s["d_k"]), ("w_k", s["d_k"]), ("w_v", s["d_v"])):
            given[f"{name}.weight"] = draw.normal(width, s["d_model"], dtype=dtype, scale=s["d_model"] ** -0.5)
            given[f"{name}.bias"] = draw.normal(width, dtype=dtype, scale=0.5)
        return given

    def case(
        name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, then: int = 0, **fixed: int
    ) -> Case:
        s = draw.sizes("n", "d_model", "d_k", "d_v", **{"d_k": draw.choose(WIDTHS)} | fixed)
        calls = [call(draw.normal(*leading, s["n"], s["d_model"], dtype=dtype))]
        calls += [call(draw.normal(n, s["d_model"], dtype=dtype)) for n in [then] * bool(then)]
        return Case((make(s["d_model"], s["d_k"], s["d_v"]), load(layers(s, dtype)), *calls), name, s)

    same = draw.choose(WIDTHS)
    return [
        *draw.situations(case),
        case("one sequence after another", n=5, then=8),
        case("n = 1", n=1),
        case("d_k = 1", d_k=1),
        case("d_v = 1", d_v=1),
        case("as many tokens as d_k", n=same, d_k=same),
        case("d_k = d_v", d_k=same, d_v=same),
        case("d_k = d_v = d_model", d_model=same, d_k=same, d_v=same),
        case("all sizes equal", n=same, d_model=same, d_k=same, d_v=same),
    ]


# In one sequence there are as many queries as keys; and what is asked of the wrong layer is said below.
NOT_FOR_A_HEAD = (
    "scaled-by-number-of-queries",
    "query-and-key-swapped",
    "keys-compared-with-keys",
    "queries-compared-with-queries",
    "keys-used-as-values",
    "queries-used-as-values",
)
# What often comes together with another mistake. All pairs of all ideas would take seconds.
OFTEN = (
    "softmax-over-queries",
    "no-softmax",
    "no-scale",
    "scaled-by-d-k",
    "scale-multiplied",
    "weights-transposed-in-the-mix",
    "output-and-weights-swapped",
    "weights-not-returned",
)


# Chapter 3 says why the scores are divided; here the formula is given.
SAID_OF_THE_SCALE = {
    "no-scale": "Your scores are q · k as it is. By what does the task divide them before the softmax?",
    "scaled-by-d-k": "Your scores are divided by d_k, or averaged over it. What does the task take of d_k first?",
    "scaled-by-d-k-squared": "Your scores are divided by the square of d_k. What does the task take of d_k?",
}


def for_a_head(idea: Misconception) -> Misconception:
    """Make a mistake in `attention` one in the module."""
    idea = replace(idea, says=SAID_OF_THE_SCALE.get(idea.slug, idea.says))
    if idea.knobs and idea.slug in OFTEN:
        return idea
    return replace(idea, twin=head(idea.twin or attention_variant(**idea.knobs)), knobs={})


FROM_ATTENTION = tuple(for_a_head(way) for idea in ATTENTION if idea.slug not in NOT_FOR_A_HEAD for way in idea.ways())


class Kept(Projections):
    """Keeps keys and values of earlier calls."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        self.rows: Tensor | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.rows = x if self.rows is None else torch.cat([self.rows, x], dim=-2)
        return attention(self.w_q(x), self.w_k(self.rows), self.w_v(self.rows))


class Remembered(Projections):
    """Answers a second call as it did the first."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        self.answer: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.answer is None:
            self.answer = attention(*own_roles(self, x))
        return self.answer


def scaled_by(size: Callable[[Projections], float]) -> type[nn.Module]:
    """Give the class that divides its scores by this."""

    class Scaled(Projections):
        def forward(self, x: Tensor) -> Any:
            return attention_variant(scale=lambda *_: size(self))(*own_roles(self, x))

    return Scaled


def with_output(change: Callable[[Tensor, Tensor], Tensor]) -> type[nn.Module]:
    """Give the class that changes its output, given the input too."""

    class Changed(Projections):
        def forward(self, x: Tensor) -> Any:
            out, weights = attention(*own_roles(self, x))
            return change(out, x), weights

    return Changed


def with_layer(name: str, exchanged: bool) -> type[nn.Module]:
    """Give the class in which one layer has its widths exchanged, or is not there."""

    class Other(Projections):
        def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
            super().__init__(d_model, d_k, d_v)
            layer = getattr(self, name)
            if exchanged:
                setattr(self, name, nn.Linear(layer.out_features, layer.in_features))
            else:
                delattr(self, name)

        def forward(self, x: Tensor) -> Any:
            return attention(*own_roles(self, x))

    return Other


class BareMatrices(nn.Module):
    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Parameter(torch.randn(d_model, d)) for d in (d_k, d_k, d_v))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return attention(x @ self.w_q, x @ self.w_k, x @ self.w_v)


class NoSuperInit(nn.Module):
    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        self.w_q = nn.Linear(d_model, d_k)


SINGLE_HEAD = Question(
    id="2.5",
    called="SingleHeadAttention",
    points=5,
    title="Single-head attention",
    inputs=("x",),
    outputs=("out (..., n, d_v)", "weights (..., n, n)"),
    draw=draw_heads,
    reference=head(),
    variant=head_variant,
    quotes={"first_row_sum": first_row_sum},
    gradients=True,
    row_sums={"weights": 1.0},
    misconceptions=(
        *FROM_ATTENTION,
        Misconception(
            "scaled-by-d-model",
            "Your scores are divided by √d_model. How many products are summed in one score: d_model of them?",
            twin=scaled_by(lambda layers: math.sqrt(layers.w_q.in_features)),
        ),
        Misconception(
            "scaled-by-d-model",
            "Your scores are divided by d_model. How many products are summed in one score, and what is their spread?",
            twin=scaled_by(lambda layers: layers.w_q.in_features),
        ),
        Misconception(
            "query-and-key-swapped",
            "Your rows belong to keys, or your queries are made by w_k and your keys by w_q. Who asks, and who "
            "is asked?",
            knobs={"roles": lambda layers, x: (layers.w_k(x), layers.w_q(x), layers.w_v(x))},
        ),
        Misconception(
            "queries-compared-with-queries",
            "Your keys are the queries, so w_k has no part in the result. Then every token looks for its like. Which "
            "layer makes keys?",
            knobs={"roles": lambda layers, x: (layers.w_q(x), layers.w_q(x), layers.w_v(x))},
        ),
        Misconception(
            "keys-compared-with-keys",
            "Your queries are the keys, so w_q has no part in the result. Which layer makes queries?",
            knobs={"roles": lambda layers, x: (layers.w_k(x), layers.w_k(x), layers.w_v(x))},
        ),
        Misconception(
            "keys-used-as-values",
            "Your output mixes keys, or values made by w_k. Which layer makes what a token hands over?",
            knobs={"roles": lambda layers, x: (layers.w_q(x), layers.w_k(x), layers.w_k(x))},
        ),
        Misconception(
            "queries-used-as-values",
            "Your output mixes queries, or values made by w_q. Which layer makes what a token hands over?",
            knobs={"roles": lambda layers, x: (layers.w_q(x), layers.w_k(x), layers.w_q(x))},
        ),
        Misconception(
            "value-not-projected",
            "Your values are x itself: w_v has no part in the result. What does a token hand over?",
            knobs={"roles": lambda layers, x: (layers.w_q(x), layers.w_k(x), x)},
        ),
        Misconception(
            "key-not-projected",
            "Your keys are x itself: w_k has no part in the result. By what is a token found?",
            knobs={"roles": lambda layers, x: (layers.w_q(x), x, layers.w_v(x))},
        ),
        Misconception(
            "query-not-projected",
            "Your queries are x itself: w_q has no part in the result. What does a token look for?",
            knobs={"roles": lambda layers, x: (x, layers.w_k(x), layers.w_v(x))},
        ),
        Misconception(
            "nothing-projected",
            "Your layers have no part in the result: x asks, x is found, and x is handed over. What are the three "
            "layers for?",
            knobs={"roles": lambda layers, x: (x, x, x)},
        ),
        Misconception(
            "bias-left-out",
            "You multiplied by the layers' weights and left out their biases. What else does nn.Linear do when it is "
            "called?",
            knobs={
                "roles": lambda layers, x: (
                    x @ layers.w_q.weight.mT,
                    x @ layers.w_k.weight.mT,
                    x @ layers.w_v.weight.mT,
                )
            },
        ),
        Misconception(
            "weights-transposed",
            "Your product takes the layers' weights as if they were W_Q, W_K and W_V. How does nn.Linear store them?",
            knobs={
                "roles": lambda layers, x: (x @ layers.w_q.weight, x @ layers.w_k.weight, x @ layers.w_v.weight),
            },
        ),
        Misconception(
            "projected-one-after-another",
            "Your keys are made from the queries, and your values from the keys. From what should all three be made?",
            knobs={
                "roles": lambda layers, x: (
                    (q := layers.w_q(x)),
                    (k := layers.w_k(q)),
                    layers.w_v(k),
                )
            },
        ),
        Misconception(
            "input-added",
            "x was added to the output. A whole transformer block does that, later. Does this module?",
            twin=with_output(lambda out, x: out + x),
        ),
        Misconception(
            "averaged-over-tokens",
            "One vector came back for a whole sequence. How many tokens receive an output?",
            twin=with_output(lambda out, x: out.mean(-2)),
        ),
        Misconception(
            "state-kept",
            "Right for a first sequence. A second one still reads the tokens of the first. Who should forget them?",
            twin=Kept,
        ),
        Misconception(
            "state-kept",
            "Right for a first sequence. A second one gets the first one's result. Who should forget it?",
            twin=Remembered,
        ),
        *(
            Misconception(
                "widths-exchanged",
                f"Your {layer} has its two widths the other way round. nn.Linear takes first what comes in. Which "
                "width do the tokens have?",
                twin=with_layer(layer, True),
            )
            for layer in ("w_q", "w_k", "w_v")
        ),
        *(
            Misconception(
                "layer-missing",
                f"There is no layer called {layer}. Which three does the question ask for, under which names?",
                twin=with_layer(layer, False),
            )
            for layer in ("w_q", "w_k", "w_v")
        ),
        Misconception(
            "parameters-for-layers",
            "Your w_q, w_k and w_v are nn.Parameter: bare matrices. nn.Linear layers of these names are asked for. "
            "What does a layer hold, and how is it called?",
            twin=BareMatrices,
        ),
        Misconception(
            "no-super-init",
            "nn.Module was not set up before a layer was put into it. Which call stands first in `__init__`?",
            twin=NoSuperInit,
        ),
        Misconception(
            "only-the-query",
            "Your queries came back. What are they compared with, and what is mixed by that?",
            twin=head(roles=own_roles, attend=lambda q, k, v: q),
        ),
    ),
)

QUESTIONS = (PROJECT_QKV, ATTENTION_SCORES, ADDITIVE_SCORES, WEIGHTED_SUM, SINGLE_HEAD)
