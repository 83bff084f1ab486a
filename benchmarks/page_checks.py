"""How long the page's Python takes for a check, for every answer that the course knows: right, wrong, and unknown.

PYTHONPATH=src:. python benchmarks/page_checks.py           the reference of each question, and answers nobody expects
PYTHONPATH=src:. python benchmarks/page_checks.py --twins   every known wrong idea as well

Tried in node, on the page's own Python, torch and kernels (`page/in_node.mjs`). The seconds are of the processor, so
that what else runs on this machine does not count. Each question is checked once before it is measured.
"""

from __future__ import annotations

import argparse
import statistics

from page.in_node import Interpreter, interpreter
from qkv.questions import chapters, find, questions_of

# The course's own answers are refused as a learner's; here they may be checked.
FIND = """from qkv import checking
from qkv.questions import find
checking._borrowed = lambda answer: None
question = find({id!r})
"""
REFERENCE = "answer = question.reference"
TWIN = "answer = question.twin(question.misconceptions[{i}])"
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


def answers(name: str, twins: bool) -> dict[str, str]:
    """The cells that make each answer, by what it is."""
    made = {"reference": REFERENCE, "unknown": UNKNOWN}
    if twins:
        made |= {idea.slug: TWIN.format(i=i) for i, idea in enumerate(find(name).misconceptions)}
    return {what: FIND.format(id=name) + cell for what, cell in made.items()}


def measured(python: Interpreter, name: str, twins: bool) -> dict[str, float]:
    """Seconds of each check of a question; a check that does not end in time has the most that there is."""
    cells = answers(name, twins)
    ask = {"question": name, "name": "answer"}
    python.ask([cells["reference"]], **ask)
    found = {}
    for what, cell in cells.items():
        answer = python.ask([cell], **ask)
        if what == "reference" and answer.get("status") != "passed":
            raise RuntimeError(f"{name}: {answer}")
        found[f"{name} {what} ({answer.get('status')})"] = answer["seconds"]
    return found


def told(what: str, seconds: dict[str, float]) -> str:
    slowest = max(seconds, key=seconds.__getitem__)
    middle = statistics.median(seconds.values())
    return f"{len(seconds)} {what}: median {middle:.3f} s, largest {seconds[slowest]:.2f} s ({slowest})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twins", action="store_true", help="every known wrong idea as well")
    parser.add_argument("questions", nargs="*", help="ids; default: all")
    asked = parser.parse_args()
    seconds: dict[str, float] = {}
    with interpreter() as python:
        for name in asked.questions or [name for chapter in chapters() for name in questions_of(chapter)]:
            found = measured(python, name, asked.twins)
            seconds |= found
            print(told("answers", found), flush=True)
    right = {what: s for what, s in seconds.items() if " reference " in what}
    unknown = {what: s for what, s in seconds.items() if " unknown " in what}
    known = {what: s for what, s in seconds.items() if what not in right and what not in unknown}
    for what, group in (("right", right), ("of a known idea", known), ("unknown", unknown), ("all", seconds)):
        if group:
            print(told(what, group))


if __name__ == "__main__":
    main()
