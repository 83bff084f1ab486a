"""The page's NumPy gives what NumPy gives, line by line, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = """
np.eye(3)
np.eye(2, 3, dtype=np.float32)
np.eye(2, dtype=bool)
np.tri(3)
np.tri(3, 4, -1, dtype=bool)
np.prod([2, 3, 4], dtype=np.int64)
np.prod(np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
np.sum(np.array([[1, 2], [3, 4]]), axis=1, keepdims=True)
np.sum(np.array([True, True]), dtype=np.float64)
np.mean([1, 2])
np.array([[1, 2], [3, 4]]).mean(0)
np.linspace(0, 1, 3)
np.arange(3) / 2
np.outer([1, 2], [3.0, 4.0])
np.where(np.array([1, 2]) > 1, 0.5, 2)
np.array([3 / np.power(10000, 0.5), np.array([1, 2]).sum(), np.array([0.5, 2.0])[0]])
np.array([np.array([1, 2]).sum(), 3])
np.random.default_rng(0).random((2, 3))
np.random.default_rng(2**70).integers(3, 9, 20)
np.random.default_rng(1).uniform(-1, 2, 4)
np.random.default_rng(1).permutation(9)
np.random.default_rng(1).choice(5, 4, p=[0.1, 0.2, 0.3, 0.2, 0.2])
np.random.default_rng(5).normal(size=40).round(9)
[np.random.seed(0), np.random.rand(3)][1]
np.random.randn(2, 3)
np.random.randint(0, 10, 20)
np.random.permutation(8)
np.random.choice(4, 5)
np.round(np.array([0.285, 2.675, -0.5]), 2)
np.abs(np.array([True, False]))
np.swapaxes(np.arange(6).reshape(2, 3), 0, -1)
np.arange(24).reshape(2, 3, 4)[0, ::-1]
np.arange(24).reshape(2, 3, 4)[..., ::-1]
np.arange(24).reshape(2, 3, 4)[None, ::-1, 1]
np.arange(24).reshape(2, 3, 4)[np.array([0, 1]), ::-2, 0]
np.arange(24).reshape(2, 3, 4)[::-1, 1, ::-2]
np.ones((2, 3), dtype=np.float32) / np.sqrt(3) @ np.ones((3, 2), dtype=np.float32)
np.dot(np.ones(3, dtype=np.float32), np.arange(3.0))
np.arange(3) @ np.arange(3.0)
np.einsum("ij,jk->ik", np.ones((2, 2), dtype=np.float32), np.ones((2, 2)))
np.ones(2, dtype=np.float32) * np.float64(2)
np.ones(2, dtype=np.float32) * 2.0
[x := np.arange(3.0), y := x, x.__iadd__(1), y][-1]
np.random.default_rng(4).choice(9, 4, replace=False)
[np.random.seed(2), np.random.choice(6, 3, replace=False)][1]
np.random.RandomState(1).randn(2)
np.median([[3, 1], [2, 5]], axis=0)
np.percentile([1, 2, 3, 4], 30)
np.linalg.norm([[3.0, 4.0]], axis=1)
np.linalg.inv(np.array([[2.0, 1.0], [1.0, 3.0]]))
np.unique([3, 1, 3], return_counts=True)
np.vstack((np.arange(2), np.ones(2)))
np.histogram([1, 2, 1, 3], bins=3)[0]
np.maximum(0, np.array([-1.0, 2.0]))
np.array([1, 2]) @ np.array([3, 4]) > 10
""".strip().splitlines()
RUN = """
import json, sys
import numpy as np
def seen(value):
    return [value.dtype.name, value.tolist()]
print(json.dumps([seen(np.array(eval(line))) for line in json.loads(sys.argv[1])]))
"""


def given(path: str) -> list[object]:
    """The kind and the numbers of each line, with the `numpy` that stands on this path."""
    command = [sys.executable, "-c", RUN, json.dumps(LINES)]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_each_line_gives_the_same():
    page, other = given("browser_python:src"), given("src")
    assert {line: (a, b) for line, a, b in zip(LINES, page, other, strict=True) if a != b} == {}


PRINTED = """
np.array([[1, 2], [3, 40]])
np.array([1.5, -2.0, 0.25])
np.array([1e-5, 1.0])
np.array([1e9, 1.0]), np.array([123456.789])
np.array([np.nan, 1.0, -np.inf])
np.array([True, False]), np.array([[True]])
np.arange(5, dtype=np.float32) / 3, np.float32(1) / 3
np.arange(40) / 7
np.arange(2000), np.arange(2000.0).reshape(20, 100)
np.zeros((2, 0)), np.zeros(0), np.zeros((2, 2, 2))
np.array([0.1, 0.2], dtype=np.float32), np.array([2e6], dtype=np.float32)
np.array([1.0, 2.0]).sum(), np.array([1, 2]).sum(), np.arange(3, dtype=np.float32).mean()
np.arange(3, dtype=np.float32).sum() * 0.1, np.arange(3, dtype=np.float32)[1] + 1
[np.array(3.0), np.array(True), np.array([1.0]).dtype, str(np.array([1.0]).dtype)]
f"{np.array([0.1], dtype=np.float32)[0]:.3f} {np.array([0.1], dtype=np.float32)[0]}"
""".strip().splitlines()
SHOW = "import json, sys\nimport numpy as np\nfor line in json.loads(sys.argv[1]):\n    value = eval(line)\n"
SHOW += "    print(repr(value))\n    print(*value if isinstance(value, tuple) else [value])\n"


def test_arrays_and_numbers_are_shown_the_same():
    def shown(path: str) -> list[str]:
        command = [sys.executable, "-c", SHOW, json.dumps(PRINTED)]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()

    assert shown("browser_python:src") == shown("src")


EACH = """
import json, sys, warnings
import numpy as np, torch
warnings.simplefilter("ignore")
for line in json.loads(sys.argv[1]):
    try:
        print(repr([eval(line)]).encode())
    except Exception as error:
        print(type(error).__name__, "" if isinstance(error, TypeError) else error)
"""


def test_numbers_and_small_arrays_are_shown_the_same_in_a_list():
    lines = Path(__file__).with_name("numpy_lines.txt").read_text(encoding="utf-8").splitlines()

    def shown(path: str) -> list[str]:
        command = [sys.executable, "-c", EACH, json.dumps(lines)]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()

    page, other = shown("browser_python:src"), shown("src")
    assert {line: (a, b) for line, a, b in zip(lines, page, other, strict=True) if a != b} == {}
