"""`xray` finds the same lines on the page's torch as on torch."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import torch

from qkv import xray
from tests.xraying.odd import ALIKE, ODD
from tests.xraying.programs import MISTAKES, RIGHT, B, D, N

ROOT = Path(__file__).resolve().parents[2]


def sources_found() -> list[str | None]:
    """Return the line that `xray` finds in each program."""
    x = torch.linspace(-2, 2, B * N * D).view(B, N, D) ** 2
    found = []
    for fn, more in [*MISTAKES, *RIGHT]:
        torch.manual_seed(0)
        found.append(xray(fn, x, *((x, x) if more == "twice" else more)).source)
    for program in [*ODD, *ALIKE]:
        if program.name != "fourier_in_place_of_attention":  # the page's torch has no Fourier transform
            x = torch.linspace(-2, 2, math.prod(program.shape)).view(program.shape) ** 2
            found.append(xray(program.fn, x, *program.more, tokens=program.tokens).source)
    return found


def test_the_same_lines_are_found():
    command = [sys.executable, "-c", f"from {__name__} import *; print(torch.__version__, json.dumps(sources_found()))"]
    environment = {**os.environ, "PYTHONPATH": "browser_python:src:."}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    version, _, found = done.stdout.partition(" ")
    assert version.endswith("+page")
    assert json.loads(found) == sources_found()
