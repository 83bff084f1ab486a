"""Measure how long a check takes in the page's Python, for right answers, known wrong ideas, and unknown mistakes.

PYTHONPATH=src:. python benchmarks/page_checks.py            the reference, and an unknown mistake, of each question
PYTHONPATH=src:. python benchmarks/page_checks.py --twins    also every known wrong idea
PYTHONPATH=src:. python benchmarks/page_checks.py --pairs 5  also 5 answers per question that combine two wrong ideas

If finding the wrong idea takes long, a check shows a first card without it, and a last card at the end.

The checks run in node, with the page's own Python, torch and kernels (`browser_python/in_node.mjs`). The times are
processor time, so other programs on this machine do not count. Each question is checked once before it is measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
from itertools import combinations
from typing import NamedTuple

from browser_python.in_node import Interpreter, interpreter
from qkv.questions import chapters, find, questions_of

# A check refuses the course's own answers. Here, `borrowed` is replaced so that they are accepted.
FIND = """from qkv.sandboxed import answers
from qkv.questions import find
answers.find_borrowed_name = lambda answer: ""
question = find({id!r})
"""
REFERENCE = "answer = question.reference"
TWIN = "answer = question.twin(*(question.misconceptions[i] for i in {places}))"
# An unknown mistake: every number is changed by a factor that no idea has. So a check tries all twins, and then pairs
# of twins until its time limit.
UNKNOWN = """import torch
def changed(value):
    if isinstance(value, torch.Tensor):
        return value * 1.2345 if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(changed(item) for item in value)
    return value * 1.2345 if isinstance(value, float) else value
if isinstance(question.reference, type):
    class answer(question.reference):
        def __call__(self, *given, **named):
            return changed(super().__call__(*given, **named))
else:
    def answer(*given, **named):
        return changed(question.reference(*given, **named))
"""


class Check(NamedTuple):
    """A check: the answer's kind and name, the seconds until the first and the last card, and if an idea is named."""

    kind: str
    answer: str
    first: float
    last: float
    is_named: bool


def answers(name: str, twins: bool, pairs: int) -> dict[tuple[str, str], str]:
    """Return the code of a cell that defines each answer to a question, by the answer's kind and name.

    `twins` adds one for each known idea, and `pairs` so many that combine two ideas.
    """
    ideas = find(name).misconceptions
    made = {("right", "reference"): REFERENCE, ("unknown", "unknown"): UNKNOWN}
    if twins:
        made |= {("of a known idea", idea.slug): TWIN.format(places=[i]) for i, idea in enumerate(ideas)}
    able = [i for i, idea in enumerate(ideas) if idea.knobs and not idea.alone]
    both = [(i, j) for i, j in combinations(able, 2) if not set(ideas[i].knobs) & set(ideas[j].knobs)]
    for i, j in random.Random(name).sample(both, min(pairs, len(both))):
        made["of two ideas", f"{ideas[i].slug} and {ideas[j].slug}"] = TWIN.format(places=[i, j])
    return {what: FIND.format(id=name) + cell for what, cell in made.items()}


def measured(python: Interpreter, name: str, twins: bool, pairs: int) -> list[Check]:
    """Run the checks of a question's answers, and return the time of each. The first check of all is not measured.

    `name` is the question's id, and `twins` and `pairs` are as in `answers`. A check that does not end in time counts
    with the time limit.

    Raises:
        RuntimeError: the right answer does not pass.
    """
    cells = answers(name, twins, pairs)
    ask = {"question": name, "name": "answer"}
    python.ask([cells["right", "reference"]], **ask)
    found = []
    for (kind, what), cell in cells.items():
        answer = python.ask([cell], **ask)
        if kind == "right" and answer.get("status") != "passed":
            raise RuntimeError(f"{name}: {answer}")
        first = answer.get("first", answer)["seconds"]
        description = f"{name} {what} ({answer.get('status')})"
        found.append(Check(kind, description, first, answer["seconds"], bool(answer.get("misconception"))))
    return found


def summary(kind: str, checks: list[Check]) -> str:
    """Return a line with the median and the largest times of some checks, at least one. `kind` is what they are."""
    first = max(checks, key=lambda check: check.first)
    last = max(checks, key=lambda check: check.last)
    late = [check for check in checks if check.last > check.first]
    return (
        f"{len(checks)} {kind}: median {statistics.median(check.first for check in checks):.3f} s, "
        f"first card after at most {first.first:.2f} s ({first.answer}), last after {last.last:.2f} s ({last.answer}); "
        f"{len(late)} with two cards, {sum(check.is_named for check in late)} of them named"
    )


def main() -> None:
    """Measure the checks, and print a summary for each question, for each kind of answer, and for all.

    Raises:
        RuntimeError: the right answer to a question does not pass.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twins", action="store_true", help="also check every known wrong idea")
    parser.add_argument("--pairs", type=int, default=0, help="answers per question that combine two wrong ideas")
    parser.add_argument("questions", nargs="*", help="ids of questions; default: all")
    asked = parser.parse_args()
    checks: list[Check] = []
    with interpreter() as python:
        for name in asked.questions or [name for chapter in chapters() for name in questions_of(chapter)]:
            found = measured(python, name, asked.twins, asked.pairs)
            checks += found
            print(summary("answers", found), flush=True)
    for kind in dict.fromkeys(check.kind for check in checks):
        print(summary(kind, [check for check in checks if check.kind == kind]))
    print(summary("all", checks))


if __name__ == "__main__":
    main()
