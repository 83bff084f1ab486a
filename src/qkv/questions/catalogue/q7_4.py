"""7.4: a prefix that can be used again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from itertools import takewhile

from qkv.cache import reusable_prefix
from qkv.questions.engine import Case, Draw, Question, call, mistake

Ids = list[int]
Counted = Callable[[Ids, Ids], int]


def copied(ids: Ids) -> Ids:
    """The same numbers as other objects: to tell == from `is`."""
    return [int(str(i)) for i in ids]


def both(cached: Ids, prompt: Ids, name: str) -> Case:
    return Case(call(cached, prompt), name, {"cached": len(cached), "prompt": len(prompt)})


def draw_prompts(draw: Draw) -> list[Case]:
    def ids(n: int) -> Ids:
        return (1000 + draw.ids(n, below=50000)).tolist()

    def case(name: str, shared: int, rest_cached: int, rest_prompt: int, again: int = 0, skip: int = 1) -> Case:
        """Share a prefix, differ in `skip` places, agree in `again` more, and end with other tokens."""
        prefix, later = ids(shared), ids(again)
        head = ids(2 * skip) if again else []
        cached = [*prefix, *head[:skip], *later, *unlike(0, rest_cached)]
        return both(cached, [*copied(prefix), *head[skip:], *copied(later), *unlike(1, rest_prompt)], name)

    def unlike(start: int, n: int) -> Ids:
        return [2 * i + start for i in draw.ids(n, below=400).tolist()]

    other, moved, double = ids(7), ids(6), ids(1) * 4
    return [
        case("plain", draw.whole(3, 6), draw.whole(2, 4), draw.whole(5, 8)),
        case("plain", draw.choose((5, 7)), draw.whole(5, 8), draw.whole(2, 4)),
        case("a difference, then the same again", draw.whole(2, 4), 2, 3, again=draw.whole(3, 5)),
        case("the first token differs", 0, 2, 3, again=4),
        case("the last token differs", 6, 1, 1),
        case("nothing in common", 0, 3, 4),
        both(other, copied(other), "the same twice"),
        both(other[:4], copied(other), "the prompt goes on"),
        both(copied(other), other[:5], "the prompt stops earlier"),
        both(moved, ids(1) + copied(moved), "a token inserted in front"),
        both(moved, copied(moved[1:]), "the first token dropped"),
        both(moved, copied([moved[0], moved[2], moved[1], *moved[3:]]), "two exchanged"),
        both(moved, copied([moved[0], *moved[:0:-1]]), "all but the first reversed"),
        both([*double, 3], [*double[:2], 4, *double], "a token again and again"),
        case("a long text", draw.choose((35, 37, 39)), 6, 5),
        both([], ids(3), "nothing cached"),
        both(ids(4), [], "an empty prompt"),
        both([], [], "both empty"),
        both([7], [7], "one token each"),
        both([0, 0, 5], [0, 0, 6, 1], "ids that are 0"),
    ]


def agreements(cached: Ids, prompt: Ids) -> list[bool]:
    return [a == b for a, b in zip(cached, prompt, strict=False)]


def while_true(flags: Iterable[bool]) -> int:
    """Count the flags before the first that is False."""
    return len(list(takewhile(bool, flags)))


def longest_run(cached: Ids, prompt: Ids) -> int:
    starts = [(i, j) for i in range(len(cached)) for j in range(len(prompt))]
    return max((reusable_prefix(cached[i:], prompt[j:]) for i, j in starts), default=0)


def first_mismatch_or(fallback: Callable[[Ids, Ids], int | None]) -> Callable[..., int | None]:
    """Give an answer that is right at a mismatch, and gives this where there is none."""

    def variant(cached: Ids, prompt: Ids) -> int | None:
        flags = agreements(cached, prompt)
        return fallback(cached, prompt) if all(flags) else flags.index(False)

    return variant


def over(counted: Counted) -> Counted:
    """Give an answer that goes on through one list by its index, and falls off the end of the other."""

    def variant(cached: Ids, prompt: Ids) -> int:
        for i in range(counted(cached, prompt)):
            if cached[i] != prompt[i]:
                return i
        return counted(cached, prompt)

    return variant


def while_equal(cached: Ids, prompt: Ids) -> int:
    i = 0
    while cached[i] == prompt[i]:
        i += 1
    return i


def longer(cached: Ids, prompt: Ids) -> int:
    return max(len(cached), len(prompt))


def of_cached(cached: Ids, prompt: Ids) -> int:
    return len(cached)


def of_prompt(cached: Ids, prompt: Ids) -> int:
    return len(prompt)


QUESTION = Question(
    points=2,
    inputs=("cached", "prompt"),
    outputs=("length",),
    draw=draw_prompts,
    reference=reusable_prefix,
    misconceptions=(
        mistake("counted-after-a-mismatch", lambda cached, prompt: sum(agreements(cached, prompt))),
        mistake(
            "counted-anywhere",
            lambda cached, prompt: len(set(cached) & set(prompt)),
            lambda cached, prompt: sum(token in cached for token in prompt),
            lambda cached, prompt: sum(token in prompt for token in cached),
            lambda cached, prompt: while_true(token in cached for token in prompt),
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
        mistake("no-comparison", lambda cached, prompt: min(len(cached), len(prompt)), of_cached),
        mistake("rest-counted", lambda cached, prompt: len(prompt) - reusable_prefix(cached, prompt)),
        mistake("tokens-returned", lambda cached, prompt: prompt[: reusable_prefix(cached, prompt)]),
        mistake(
            "nothing-without-a-mismatch",
            first_mismatch_or(lambda cached, prompt: None),
            first_mismatch_or(lambda cached, prompt: 0),
            first_mismatch_or(lambda cached, prompt: -1),
        ),
        mistake("longer-for-shorter", *map(first_mismatch_or, (longer, of_cached, of_prompt))),
        mistake("one-list-ends", *map(over, (longer, of_cached, of_prompt)), while_equal),
        mistake("is-for-equals", lambda cached, prompt: while_true(map(operator.is_, cached, prompt))),
    ),
)
