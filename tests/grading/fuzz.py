"""Mutated notebooks and names through the reader: `python -m tests.grading.fuzz 20000`.

Nothing but UnreadableError may come out. The command prints the slowest file and the peak of memory.
"""

from __future__ import annotations

import contextlib
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qkv.grading.submissions import UnreadableError, chapter_of, find, read
from tests.grading.untidy_notebooks import FILES, NOTEBOOKS, as_json

NAMES = (
    *("03_scaling", "ann_03_scaling", "leeann_LATE_11234_99872_03_scaling-1", "03_scaling-Copy1 (2)", "homework"),
    *("Ada Lovelace_12345_assignsubmission_file_", "03_scaling - Copy (3) copy 2", "LATE_03_scaling", "99_nothing"),
)
PIECES = (
    *(
        "-copy",
        " copy",
        "(1)",
        "_LATE_",
        "_",
        "-",
        " ",
        "-1",
        "03_",
        "\ud800",
        "\u202e",
        "\n",
        "é",
        "貓",
        "\x1b[2J",
        "'",
        ";",
    ),
    *("__MACOSX", "._", ".ipynb", "~", "%", "$(x)", "=1+1", "_123456_"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, 10**300, "", "x", "code", [], {}, [[]], [None], {"cells": 5}, "\ud800", "\0" * 50),
    *("\n" * 5_000, "def " * 2_000, "check(" * 2_000, ["x"] * 200, {"a": {"b": {"c": []}}}),
)
KEYS = ("cells", "worksheets", "cell_type", "source", "input", "metadata", "outputs", "nbformat", "__proto__", "")


def mutated_name(draw: random.Random) -> str:
    """Return a file's name with pieces put in, taken out and repeated."""
    name = draw.choice(NAMES)
    for _ in range(draw.randrange(6)):
        at = draw.randrange(len(name) + 1)
        name = name[:at] + draw.choice(PIECES) * draw.choice((1, 1, 2, 30)) + name[at + draw.randrange(3) :]
    name = name.replace("/", "").replace("\0", "") or "x"
    while len(name.encode("utf-8", "surrogatepass")) > 200:
        name = name[: len(name) * 3 // 4]
    return name.encode("utf-8", "replace").decode() + ".ipynb"


def mutated_tree(draw: random.Random, tree: Any, depth: int = 0) -> Any:
    """Return JSON in which some values are replaced, repeated, removed or stand elsewhere."""
    if draw.random() < 0.04:
        return draw.choice(VALUES)
    if isinstance(tree, dict):
        pairs = [(draw.choice(KEYS) if draw.random() < 0.03 else key, value) for key, value in tree.items()]
        return {key: mutated_tree(draw, value, depth + 1) for key, value in pairs if draw.random() > 0.03}
    if isinstance(tree, list):
        items = [mutated_tree(draw, item, depth + 1) for item in tree for _ in range(1 + (draw.random() < 0.03))]
        return items if draw.random() > 0.02 else items * 20
    return tree


def mutated_bytes(draw: random.Random, data: bytes) -> bytes:
    """Return bytes of which some are changed, cut, repeated or encoded in another way."""
    kind = draw.randrange(8)
    at, to = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + draw.randbytes(draw.randrange(40)) + data[to:]
    if kind == 2:
        return data[:at] + data[at:to] * 3 + data[to:]
    if kind == 3:
        return data.decode("utf-8", "replace").encode(draw.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32")))
    if kind == 4:
        return (
            data[:at]
            + draw.choice((b"[", b"{", b"\0", b'"', b"9" * 50, b"\\ud800")) * draw.choice((1, 3_000))
            + data[at:]
        )
    return data


def notebooks(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of files without an end."""
    trees = [as_json(cells) for cells in NOTEBOOKS.values()]
    while True:
        if draw.random() < 0.1:
            data = draw.choice(list(FILES.values()))
        else:
            data = json.dumps(mutated_tree(draw, draw.choice(trees)), ensure_ascii=draw.random() < 0.9).encode(
                "utf-8", "surrogatepass"
            )
        yield mutated_name(draw), mutated_bytes(draw, data) if data else data


def read_all(count: int, seed: int, folder: Path) -> tuple[int, float]:
    """Read this many files as a batch does.

    Returns:
        how many are notebooks, and the processor time of the slowest, in seconds
    """
    readable, slowest = 0, 0.0
    for i, (name, data) in zip(range(count), notebooks(random.Random(seed)), strict=False):
        place = folder / "in" / f"student{i}"
        place.mkdir(parents=True)
        (place / name).write_bytes(data)
        started = time.process_time()
        for found in find([place]):
            with contextlib.suppress(UnreadableError):
                readable += bool(read(found).sources)
        slowest = max(slowest, time.process_time() - started)
        (place / name).unlink()
        place.rmdir()
    return readable, slowest


def main() -> None:
    """Read many damaged files, and print the time of the slowest and how much the memory grew."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    chapter_of("03_scaling", ())  # imports all questions, which the first file would pay for
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        readable, slowest = read_all(count, random.SystemRandom().randrange(2**32), Path(folder))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{count} files, {readable} of them notebooks; memory grew by {grown:.0f} MB")
    print(f"the slowest took {slowest:.2f} s of processor time")


if __name__ == "__main__":
    main()
