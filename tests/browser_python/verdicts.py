"""Judge the references and twins of questions, and print the verdicts as JSON. A test runs this with both torches.

`python tests/browser_python/verdicts.py SEED MOST ID…`: the reference and at most MOST twins of each question.
"""

from __future__ import annotations

import json
import random
import sys
import time

from qkv.questions import find
from qkv.questions.engine.judging import judge
from qkv.questions.engine.question import Question
from qkv.sandboxed.observations import observe

LONG = 30.0  # seconds to search for two ideas at once: enough also on a slow machine


def verdict(question: Question, answer: object, seed: int) -> list[str | None]:
    """Judge an answer on the inputs of a seed. Return the status, the misconception and the message."""
    cases = question.fresh_cases(seed)
    found = judge(question, cases, observe(answer, cases, question.gradients), LONG)
    return [found.status, found.misconception, found.message]


def verdicts(name: str, seed: int, most: int) -> dict[str, list[str | None]]:
    """Judge a question's reference and at most `most` of its twins."""
    question = find(name)
    chosen = random.Random(f"{seed}{name}").sample(
        range(len(question.misconceptions)), min(most, len(question.misconceptions))
    )
    found = {f"{name} reference": verdict(question, question.reference, seed)}
    for i in chosen:
        idea = question.misconceptions[i]
        found[f"{name} {idea.slug}"] = verdict(question, question.twin(idea), seed + i)
    return found


if __name__ == "__main__":
    import torch

    seed, most, *names = sys.argv[1:]
    out: dict[str, list[str | None]] = {}
    for name in names:
        start = time.perf_counter()
        out |= verdicts(name, int(seed), int(most))
        print(f"{name} {time.perf_counter() - start:.1f} s", file=sys.stderr)
    print(json.dumps({"torch": torch.__version__, "verdicts": out, "missing": torch.missing.asked_for}))
