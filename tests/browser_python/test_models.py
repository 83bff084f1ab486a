"""The trained models on the page: the page's torch reads their weights, and computes with them what torch does.

A check also runs a model with the answer, beside which the check itself has to stay quick.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from browser_python.in_node import interpreter
from qkv.questions import find, ids

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from qkv.models import load_repeater, load_tagger, load_writer, repeater_steps, sentences
from qkv.models.weights import load_file, to_bytes, weights_file
import torch

tagged = load_tagger().tag("the cat chased the mouse because it was hungry")
print(tagged.classes, tagged.refers_to)
print(load_tagger("tagger-one-layer").tag(["cat"]).classes)
print(load_writer().eval()(torch.tensor([[1, 5, 9]]))[0, -1].softmax(-1).topk(3).values)
print(load_repeater(step=repeater_steps()[4])(torch.tensor([[3, 1, 4, 1]]))[0, -1, :4])
print(sentences("new", 2, 1)[0].words)
weights = load_file(weights_file("writer"))
print({name: (tuple(t.shape), t.dtype) for name, t in list(weights.items())[:3]})
print(len(to_bytes(weights, {"n_heads": "2"})) == weights_file("writer").stat().st_size)
"""


def printed(path: str) -> str:
    """What the program prints in a process whose `torch` is the one that the path leads to."""
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def on_torch() -> str:
    return printed("src")


def test_models_compute_the_same(on_torch: str):
    assert "{6: 'cat'}" in on_torch
    assert printed("browser_python:src") == on_torch


RUNS = """from qkv.checking.in_model import say_in_model
from qkv.questions import find
print(say_in_model(find("{id}"), find("{id}").reference, passed=True))"""


def test_a_check_runs_a_model_in_less_than_a_second():
    seconds = {}
    with interpreter() as python:
        for name in ["3.3", "7.2", *(name for name in ids() if find(name).in_model)]:
            ran = python.ask([RUNS.format(id=name)])
            assert ran["printed"].startswith("With your"), (name, ran)
            seconds[name] = ran["seconds"]  # the second time for the first two, which import what all need
    assert max(seconds.values()) < 1, seconds  # of processor time: about a third where nothing else runs
