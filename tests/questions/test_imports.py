"""No check imports torch's compiler with SymPy, which takes seconds at the first check."""

from __future__ import annotations

import subprocess
import sys

import pytest

JUDGE_ALL = """
import sys
from qkv.questions import chapters, questions_of
from qkv.questions.engine.judging import judge
from qkv.sandboxed.observations import observe

for chapter in chapters():
    for question in questions_of(chapter).values():
        cases = question.fresh_cases(1)
        for answer in (question.reference, question.twin(question.misconceptions[0])):
            judge(question, cases, observe(answer, cases, question.gradients))
        slow = {"sympy", "torch._dynamo"} & set(sys.modules)
        assert not slow, (question.id, slow)
"""


@pytest.mark.slow
def test_no_check_imports_the_compiler_of_torch():
    ended = subprocess.run([sys.executable, "-c", JUDGE_ALL], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
