"""7.4: a prefix that can be used again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from itertools import takewhile

from qkv.cache import reusable_prefix
from qkv.questions.engine import Case, Draw, Question, call, mistake
from qkv.words import mark

Ids = list[int]
Count = Callable[[Ids, Ids], int]


def copied(ids: Ids) -> Ids:
    """Return equal ids that are other objects, so that `is` gives False where == gives True."""
    return [int(str(i)) for i in ids]


def pair_case(cached: Ids, prompt: Ids, name: str) -> Case:
    return Case(call(cached, prompt), name, {"cached": len(cached), "prompt": len(prompt)})


def draw_prompts(draw: Draw) -> list[Case]:
    """Draw two texts with a common prefix: none, all, and equal tokens behind a difference."""

    def ids(n: int) -> Ids:
        return (1000 + draw.ids(n, below=50000)).tolist()

    def case(name: str, shared: int, rest_cached: int, rest_prompt: int, agreeing: int = 0, differing: int = 1) -> Case:
        """Draw two texts: a shared prefix, `differing` different tokens, `agreeing` equal ones, and different ends."""
        prefix, later = ids(shared), ids(agreeing)
        head = ids(2 * differing) if agreeing else []
        cached = [*prefix, *head[:differing], *later, *of_parity(0, rest_cached)]
        return pair_case(cached, [*copied(prefix), *head[differing:], *copied(later), *of_parity(1, rest_prompt)], name)

    def of_parity(parity: int, n: int) -> Ids:
        return [2 * i + parity for i in draw.ids(n, below=400).tolist()]

    other, moved, double = ids(7), ids(6), ids(1) * 4
    return [
        case("plain", draw.whole(3, 6), draw.whole(2, 4), draw.whole(5, 8)),
        case("plain", draw.choose((5, 7)), draw.whole(5, 8), draw.whole(2, 4)),
        case("a difference, then the same again", draw.whole(2, 4), 2, 3, agreeing=draw.whole(3, 5)),
        case("the first token differs", 0, 2, 3, agreeing=4),
        case("the last token differs", 6, 1, 1),
        case("nothing in common", 0, 3, 4),
        pair_case(other, copied(other), mark("the same twice")),
        pair_case(other[:4], copied(other), mark("the prompt goes on")),
        pair_case(copied(other), other[:5], mark("the prompt stops earlier")),
        pair_case(moved, ids(1) + copied(moved), mark("a token inserted in front")),
        pair_case(moved, copied(moved[1:]), mark("the first token dropped")),
        pair_case(moved, copied([moved[0], moved[2], moved[1], *moved[3:]]), mark("two exchanged")),
        pair_case(moved, copied([moved[0], *moved[:0:-1]]), mark("all but the first reversed")),
        pair_case([*double, 3], [*double[:2], 4, *double], mark("a token again and again")),
        case("a long text", draw.choose((35, 37, 39)), 6, 5),
        pair_case([], ids(3), mark("nothing cached")),
        pair_case(ids(4), [], mark("an empty prompt")),
        pair_case([], [], mark("both empty")),
        pair_case([7], [7], mark("one token each")),
        pair_case([0, 0, 5], [0, 0, 6, 1], mark("ids that are 0")),
    ]


def equal_pairs(cached: Ids, prompt: Ids) -> list[bool]:
    return [a == b for a, b in zip(cached, prompt, strict=False)]


def count_until_false(flags: Iterable[bool]) -> int:
    """Count the flags before the first that is False."""
    return len(list(takewhile(bool, flags)))


def longest_run(cached: Ids, prompt: Ids) -> int:
    starts = [(i, j) for i in range(len(cached)) for j in range(len(prompt))]
    return max((reusable_prefix(cached[i:], prompt[j:]) for i, j in starts), default=0)


def first_mismatch_or(fallback: Callable[[Ids, Ids], int | None]) -> Callable[..., int | None]:
    """Return an answer(cached, prompt) that is right where there is a mismatch.

    If one text is the beginning of the other, it returns `fallback(cached, prompt)`.
    """

    def variant(cached: Ids, prompt: Ids) -> int | None:
        flags = equal_pairs(cached, prompt)
        return fallback(cached, prompt) if all(flags) else flags.index(False)

    return variant


def by_index(stop: Count) -> Count:
    """Return an answer that compares ids at indices up to `stop(cached, prompt)`, and returns `stop` if all are equal.

    It raises an IndexError if `stop` lies beyond the end of the shorter list, and no ids differ before that.
    """

    def variant(cached: Ids, prompt: Ids) -> int:
        for i in range(stop(cached, prompt)):
            if cached[i] != prompt[i]:
                return i
        return stop(cached, prompt)

    return variant


def while_equal(cached: Ids, prompt: Ids) -> int:
    """Return the number of equal tokens at the start. It raises an IndexError if a text ends before they differ."""
    i = 0
    while cached[i] == prompt[i]:
        i += 1
    return i


def longer_length(cached: Ids, prompt: Ids) -> int:
    return max(len(cached), len(prompt))


def length_of_cached(cached: Ids, prompt: Ids) -> int:
    return len(cached)


def length_of_prompt(cached: Ids, prompt: Ids) -> int:
    return len(prompt)


QUESTION = Question(
    points=2,
    inputs=("cached", "prompt"),
    outputs=("length",),
    draw=draw_prompts,
    reference=reusable_prefix,
    misconceptions=(
        mistake("counted-after-a-mismatch", lambda cached, prompt: sum(equal_pairs(cached, prompt))),
        mistake(
            "counted-anywhere",
            lambda cached, prompt: len(set(cached) & set(prompt)),
            lambda cached, prompt: sum(token in cached for token in prompt),
            lambda cached, prompt: sum(token in prompt for token in cached),
            lambda cached, prompt: count_until_false(token in cached for token in prompt),
        ),
        mistake("longest-run", longest_run),
        mistake("suffix-for-prefix", lambda cached, prompt: reusable_prefix(cached[::-1], prompt[::-1])),
        mistake(
            "one-too-many",
            lambda cached, prompt: reusable_prefix(cached, prompt) + 1,
            lambda cached, prompt: min(reusable_prefix(cached, prompt) + 1, len(cached), len(prompt)),
        ),
        mistake(
            "one-too-few",
            lambda cached, prompt: reusable_prefix(cached, prompt) - 1,
            lambda cached, prompt: max(reusable_prefix(cached, prompt) - 1, 0),
        ),
        mistake(
            "last-token-always-run",
            lambda cached, prompt: min(reusable_prefix(cached, prompt), max(len(prompt) - 1, 0)),
        ),
        mistake("whole-blocks-only", lambda cached, prompt: reusable_prefix(cached, prompt) // 16 * 16),
        mistake(
            "all-or-nothing",
            lambda cached, prompt: len(cached) if prompt[: len(cached)] == cached else 0,
            lambda cached, prompt: len(prompt) if cached[: len(prompt)] == prompt else 0,
            lambda cached, prompt: len(prompt) if cached == prompt else 0,
        ),
        mistake("no-comparison", lambda cached, prompt: min(len(cached), len(prompt)), length_of_cached),
        mistake("rest-counted", lambda cached, prompt: len(prompt) - reusable_prefix(cached, prompt)),
        mistake("tokens-returned", lambda cached, prompt: prompt[: reusable_prefix(cached, prompt)]),
        mistake(
            "nothing-without-a-mismatch",
            first_mismatch_or(lambda cached, prompt: None),
            first_mismatch_or(lambda cached, prompt: 0),
            first_mismatch_or(lambda cached, prompt: -1),
        ),
        mistake("longer-for-shorter", *map(first_mismatch_or, (longer_length, length_of_cached, length_of_prompt))),
        mistake("one-list-ends", *map(by_index, (longer_length, length_of_cached, length_of_prompt)), while_equal),
        mistake("is-for-equals", lambda cached, prompt: count_until_false(map(operator.is_, cached, prompt))),
    ),
)
