"""12.3: writing, with caches and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, InModel, Provided, Question, by_knob, call, mistake
from qkv.questions.shared.writing import HeldCache, Weights, draw_writer, provided, write, writer

Unseen = Callable[[list[int], int], list[int]]  # (text, number of tokens run so far) -> the tokens that run next
Pick = Callable[[Tensor], int]  # (logits (n, vocab)) -> the next id
Result = Callable[[list[int], int], Any]  # (text, length of the beginning) -> what the answer returns


def draw_texts(draw: Draw) -> list[Case]:
    """Draw beginnings of texts, and in the last case a limit that a whole text run again exceeds."""

    def case(name: str, n: int, n_new: int, cached: bool = False, limited: bool = False, L: int = 2) -> Case:
        s = {"n": n, "n_new": n_new, "L": L, "H": draw.choose((2, 3)), "d_head": 4, "n_max": n + n_new + 2}
        s |= {"vocab": draw.whole(20, 24), "d_hidden": draw.whole(30, 36)}
        w = provided(draw_writer(draw, s))
        ids = draw.ids(n, below=s["vocab"]).tolist()
        caches = ([Provided(HeldCache) for _ in range(L)],) if cached else ()
        # The products of one token, or of a short beginning, are smaller; a text that is run again needs larger ones.
        limit = 5 * s["d_hidden"] if limited else None
        return Case(call(ids, w, s["H"], n_new, *caches), name, s, max_elements=limit, of_products=limited)

    return [
        case("plain", 3, 7),
        case("plain", 4, 6),
        case("one token at first", 1, 8),
        case("one new token", 5, 1),
        case("caches", 4, 7, cached=True),
        case("caches, one token at first", 1, 8, cached=True),
        case("caches, three layers", 3, 6, cached=True, L=3),
        case("caches, and little room", 2, 12, cached=True, limited=True),
    ]


# ── an answer whose steps can be replaced ─────────────────────────────────────────────────────────


def likeliest(logits: Tensor) -> int:
    return int(logits[-1].argmax())


def not_run_yet(text: list[int], n_run: int) -> list[int]:
    return text[n_run:]


def only_the_new(text: list[int], n: int) -> Tensor:
    return torch.tensor(text[n:])


def write_variant(
    unseen: Unseen = not_run_yet,
    pick: Pick = likeliest,
    choose: Callable[[Any], Any] = lambda caches: caches,
    handed: Callable[[Any], Any] = lambda caches: caches,
    kept: Callable[[list[int], int], list[int]] = lambda text, new: [*text, new],
    times: Callable[[int], int] = lambda n_new: n_new,
    result: Result = only_the_new,
) -> Callable[..., Any]:
    """Return an answer(ids, w, n_heads, n_new, caches); each argument replaces one of its steps.

    By default it is right. `unseen` are the tokens that run with caches, `pick` takes the next id from logits, `choose`
    and `handed` change the caches, `kept` the text, `times` the number of steps, and `result` is what is returned.
    """

    def variant(ids: list[int], w: Weights, n_heads: int, n_new: int, caches: Any = None) -> Any:
        text, n_run, used = list(ids), 0, choose(caches) if caches else None
        for _ in range(times(n_new)):
            now = unseen(text, n_run) if used else text
            logits, _ = writer(torch.tensor([now]), w, n_heads, handed(used))
            n_run = len(text)
            text = kept(text, pick(logits[0]))
        return result(text, len(ids))

    return variant


def written_over(ids: list[int], w: Weights, n_heads: int, n_new: int, caches: Any = None) -> Tensor:
    """Return the right new ids, but append them to the list that was passed: a side effect."""
    for new in write(ids, w, n_heads, n_new, caches).tolist():
        ids.append(new)
    return torch.tensor(ids[-n_new:])


def prompt_left_out(text: list[int], n_run: int) -> list[int]:
    return text[-1:]


def without_caches_by(feed: Callable[[list[int], int], list[int]]) -> Callable[..., Any]:
    """Return an answer that is right with caches; without them, it runs `feed(text, length of the beginning)`."""

    def answer(ids: list[int], w: Weights, n_heads: int, n_new: int, caches: Any = None) -> Tensor:
        if caches is not None:
            return write(ids, w, n_heads, n_new, caches)
        text = list(ids)
        for _ in range(n_new):
            text.append(likeliest(writer(torch.tensor([feed(text, len(ids))]), w, n_heads)[0][0]))
        return only_the_new(text, len(ids))

    return answer


# After the beginning, the newest token runs alone, or all new ones without the beginning.
last_token_alone = without_caches_by(lambda text, n: text if len(text) == n else text[-1:])
nothing_before_the_new = without_caches_by(lambda text, n: text if len(text) == n else text[n:])


def last_token_again(text: list[int], n_run: int) -> list[int]:
    return text[max(0, n_run - 1) :]


def sampled(logits: Tensor) -> int:
    return int(torch.multinomial(logits[-1].softmax(-1), 1))


def next_ids(answer: Callable[..., Any], ids: Tensor, w: Weights, n_heads: int) -> Tensor:
    """Return the ids (B,) of the words that the answer writes next, one for each text (B, n), each with new caches."""

    def caches() -> list[HeldCache]:
        return [HeldCache() for _ in range(2)]

    return torch.cat([answer(text, w, n_heads, 1, caches()) for text in ids.tolist()])


running = by_knob("unseen")
picked = by_knob("pick")
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=5,
    inputs=("ids", "w", "n_heads", "n_new", "caches"),
    outputs=("new (n_new,)",),
    draw=draw_texts,
    reference=write,
    variant=write_variant,
    in_model=InModel("writer", next_ids=next_ids, n_texts=5),
    misconceptions=(
        mistake("caches-not-used", write_variant(choose=lambda caches: None)),
        by_knob("handed")("empty-caches-taken-for-none", lambda caches: None),
        running("beginning-left-out", prompt_left_out),
        running("last-token-run-twice", last_token_again),
        mistake("last-token-alone", last_token_alone, nothing_before_the_new),
        mistake("whole-text-into-the-caches", write_variant(unseen=lambda text, n_run: text)),
        picked("logits-of-the-first-token", lambda logits: int(logits[0].argmax())),
        picked("least-likely", lambda logits: int(logits[-1].argmin())),
        picked("sampled", sampled),
        by_knob("choose")("one-cache-for-all-layers", lambda caches: [caches[0]] * len(caches)),
        mistake("new-words-not-read", write_variant(kept=lambda text, new: [*text, text[-1]])),
        by_knob("times")("one-too-few", lambda n_new: n_new - 1),
        by_knob("times")("one-too-many", lambda n_new: n_new + 1),
        returned("beginning-returned-too", lambda text, n: torch.tensor(text)),
        returned("last-word-only", lambda text, n: torch.tensor(text[-1])),
        mistake("inputs-changed", written_over),
    ),
)
