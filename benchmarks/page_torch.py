"""Measure the page's torch: single operations, and two layers of a transformer, beside those of an older commit.

    .venv/bin/python benchmarks/page_torch.py                    this working tree
    .venv/bin/python benchmarks/page_torch.py --against COMMIT   and the commit, alternately, in one run

A time is the shortest of many short bursts, because other programs disturb long ones, in milliseconds of Node.js. The
programs run with the page's own Python, torch and kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3

MAKE = """import time, torch
from torch import nn
torch.manual_seed(0)
small, other, tall = torch.randn(5, 7), torch.randn(5, 7), torch.randn(7, 5)
square, wide = torch.randn(64, 64), torch.randn(64, 64)
batch, tiny = torch.randn(32, 12, 32), torch.randn(1, 2, 32)

class Attention(nn.Module):
    def __init__(self, d=32, heads=2):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        B, n, d = x.shape
        q, k, v = self.qkv(x).view(B, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(B, n, d))

class Block(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.attention, self.first, self.second = Attention(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))

layers = nn.Sequential(Block(), Block())

def forward():
    with torch.no_grad():
        layers(batch)

def train():
    layers(batch).square().mean().backward()

def measure(code, times):
    run = compile("for _ in range(times): " + code, "<measured>", "exec")
    found = []
    for _ in range(30):
        start = time.perf_counter()
        exec(run, globals() | {"times": times})
        found.append((time.perf_counter() - start) / times * 1000)
    return min(found)
"""
PROGRAMS = {  # the name, the code, and how often it runs in a burst
    "5 × 7: addition": ("small + other", 20),
    "5 × 7: times a number": ("small * 2", 20),
    "5 × 7: product with 7 × 5": ("small @ tall", 20),
    "5 × 7: softmax": ("small.softmax(-1)", 20),
    "64 × 64: addition": ("square + wide", 5),
    "64 × 64: exp": ("square.exp()", 5),
    "64 × 64: sum over rows": ("square.sum(0)", 5),
    "64 × 64: softmax": ("square.softmax(-1)", 5),
    "64 × 64: product": ("square @ wide", 5),
    "64 × 64: product with a transpose": ("square @ wide.mT", 5),
    "1 × 2 × 32: two layers forward": ("layers(tiny)", 1),
    "32 × 12 × 32: two layers forward": ("forward()", 1),
    "32 × 12 × 32: two layers forward and backward": ("train()", 1),
}


class Page:
    """The page's Python of a source tree, in Node.js. Its files are packed into `folder`."""

    def __init__(self, tree: Path, folder: str) -> None:
        room = next(tree.glob("*/in_node.mjs")).parent
        paths = os.pathsep.join([str(tree), str(tree / "src")])
        pack = [sys.executable, "-m", f"{room.name}.pack", folder]
        subprocess.run(pack, cwd=tree, env=os.environ | {"PYTHONPATH": paths}, check=True)
        pipe = subprocess.PIPE
        command = ["node", str(room / "in_node.mjs"), f"{folder}/python"]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=tree)
        assert self.process.stdout
        self.process.stdout.readline()

    def times(self) -> list[float]:
        """Measure each program once, and return the milliseconds of each.

        Raises:
            RuntimeError: a program failed.
        """
        cell = f"print([measure(code, times) for code, times in {list(PROGRAMS.values())}])"
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"cells": [MAKE, cell]}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["problem"]:
            raise RuntimeError(answer["problem"])
        return [float(time) for time in json.loads(answer["printed"])]


@contextmanager
def source_of(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of a commit, and with the installed JavaScript packages of this one.

    It is deleted at the end of the block.
    """
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        Path(folder, "node_modules").symlink_to(ROOT / "node_modules")
        yield Path(folder)


def main() -> None:
    """Measure the programs here, and in another commit if one is named, and print the best times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="an older commit, to measure beside this working tree")
    asked = parser.parse_args()
    with ExitStack() as stack:
        trees = [stack.enter_context(source_of(asked.against))] if asked.against else []
        pages = [Page(tree, stack.enter_context(tempfile.TemporaryDirectory())) for tree in [*trees, ROOT]]
        rounds = [[page.times() for page in pages] for _ in range(ROUNDS)]
        for page in pages:
            page.process.kill()
    for place, name in enumerate(PROGRAMS):
        best = [min(one[page][place] for one in rounds) for page in range(len(pages))]
        ratio = f"   {best[0] / best[-1]:5.1f} times" if asked.against else ""
        print(f"{name:48s}" + "".join(f"{time:10.4f} ms" for time in best) + ratio)


if __name__ == "__main__":
    main()
