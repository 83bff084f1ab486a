"""How long the page's Python takes for a check, for every answer that the course knows: right, wrong, and unknown.

PYTHONPATH=src:. python benchmarks/page_checks.py           the reference of each question, and answers nobody expects
PYTHONPATH=src:. python benchmarks/page_checks.py --twins   every known wrong idea as well
PYTHONPATH=src:. python benchmarks/page_checks.py --pairs 5 and so many answers with two wrong ideas of each question

A check shows a first card where the wrong idea takes long to name, and its last card at the end.

Tried in node, on the page's own Python, torch and kernels (`page/in_node.mjs`). The seconds are of the processor, so
that what else runs on this machine does not count. Each question is checked once before it is measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
from itertools import combinations
from typing import NamedTuple

from page.in_node import Interpreter, interpreter
from qkv.questions import chapters, find, questions_of

# The course's own answers are refused as a learner's; here they may be checked.
FIND = """from qkv import answers
from qkv.questions import find
answers.find_borrowed_name = lambda answer: ""
question = find({id!r})
"""
REFERENCE = "answer = question.reference"
TWIN = "answer = question.twin(*(question.misconceptions[i] for i in {places}))"
# It changes every number by a factor that no idea has: all twins are tried, and pairs of them as long as it is allowed.
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
    """A check: of which kind of answer, and after how many seconds it showed its first card and its last one."""

    kind: str
    answer: str
    first: float
    last: float
    is_named: bool


def answers(name: str, twins: bool, pairs: int) -> dict[tuple[str, str], str]:
    """The cells that make each answer, by its kind and what it is."""
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
    """The checks of a question; one that does not end in time has the most seconds that there are."""
    cells = answers(name, twins, pairs)
    ask = {"question": name, "name": "answer"}
    python.ask([cells["right", "reference"]], **ask)
    found = []
    for (kind, what), cell in cells.items():
        answer = python.ask([cell], **ask)
        if kind == "right" and answer.get("status") != "passed":
            raise RuntimeError(f"{name}: {answer}")
        first = answer.get("first", answer)["seconds"]
        told = f"{name} {what} ({answer.get('status')})"
        found.append(Check(kind, told, first, answer["seconds"], bool(answer.get("misconception"))))
    return found


def summary(kind: str, checks: list[Check]) -> str:
    first = max(checks, key=lambda check: check.first)
    last = max(checks, key=lambda check: check.last)
    late = [check for check in checks if check.last > check.first]
    return (
        f"{len(checks)} {kind}: median {statistics.median(check.first for check in checks):.3f} s, "
        f"first card after at most {first.first:.2f} s ({first.answer}), last after {last.last:.2f} s ({last.answer}); "
        f"{len(late)} with two cards, {sum(check.is_named for check in late)} of them named"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twins", action="store_true", help="every known wrong idea as well")
    parser.add_argument("--pairs", type=int, default=0, help="how many answers with two wrong ideas of each question")
    parser.add_argument("questions", nargs="*", help="ids; default: all")
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
