"""Train the tagger and the repeater with one part left out or changed, with several seeds: the table of chapter 8.

.venv/bin/python benchmarks/training.py                        all cases, 5 seeds, page and torch: an hour or two
.venv/bin/python benchmarks/training.py --seeds 3 --only rate   fewer seeds, and only the cases with this word
.venv/bin/python benchmarks/training.py --store                writes the results of each seed into the package

Each case is trained twice: by the engine of the page (in node), with the settings of TrainLab, and by torch, with the
same settings. The two draw different random numbers, so only shares and means can be compared. And the torch tagger
chooses among the 32 nouns of both languages, the page's among the 16 of its own. One case shows it, "without both":
with 16 nouns the page gets .70 to .96 of *it* right (5 seeds) and torch .77 and .87 (2 seeds); with 32, the page .42 to
.57 (5 seeds) and torch .38 to .93 (5 seeds). So no chapter says more of this case than that it suffers.

All runs are kept in build/training.jsonl, and those that are there are not trained again. The tagger's result is the
share of *it* that it gets right in 1,000 new sentences. The repeater's is the mean surprise, in nats, of symbols that
come again; a guess has ln 32 = 3.47.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from qkv.models.repeater import draw_sequences, repeater_scores
from qkv.models.tagger import accuracy
from qkv.models.training import (
    REPEATER_ON_THE_PAGE,
    TAGGER_ON_THE_PAGE,
    LeftOut,
    sentences,
    train_repeater,
    train_tagger,
)

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "training.jsonl"
STORED = ROOT / "src" / "qkv" / "models" / "training-results.json"
RATES = {"repeater": REPEATER_ON_THE_PAGE["rate"], "tagger": TAGGER_ON_THE_PAGE["rate"]}
PARTS = LeftOut._fields

Options = dict[str, Any]
# The cases, in the names of TrainLab's traits: `rate` is a factor.
BOTH: dict[str, Options] = {
    "as it is": {},
    "not divided": {"scaled": False},
    "without positions": {"positions": False},
    "one layer": {"layers": 1},
    "one head": {"heads": 1},
    "four heads": {"heads": 4},
    "without residual": {"residual": False},
    "without norm": {"norm": False},
    "without both": {"residual": False, "norm": False},
    "rate ÷ 10": {"rate": 0.1},
    "rate × 3": {"rate": 3},
    "rate × 10": {"rate": 10},
    "without warm-up": {"warm_up": False},
    "without warm-up, rate × 3": {"warm_up": False, "rate": 3},
}
CASES: dict[str, dict[str, Options]] = {
    "tagger": BOTH | {"without feed-forward": {"feed_forward": False}, "hungry turned": {"rule": ["hungry"]}},
    "repeater": BOTH | {"with feed-forward": {"feed_forward": True}, "mask forgotten": {"mask_forgotten": True}},
}
# What could rescue the repeater without the division: options, and sizes of the model. `start` is a factor for the
# first weights of queries and keys. Each control is also done with the division.
RESCUES: dict[str, tuple[Options, Options]] = {
    "rate ÷ 3": ({"rate": 1 / 3}, {}),
    "rate ÷ 10": ({"rate": 0.1}, {}),
    "start ÷ 2": ({}, {"start": 0.5}),
    "start ÷ 4": ({}, {"start": 0.25}),
    "rate ÷ 3, start ÷ 2": ({"rate": 1 / 3}, {"start": 0.5}),
    "4 heads of 8": ({"heads": 4}, {}),
    "8 heads of 4": ({"heads": 8}, {}),
    "1 head of 32": ({"heads": 1}, {}),
    "64 features": ({}, {"dModel": 64}),
}
CONTROLS = {
    f"{undivided}{name}": ({"scaled": not undivided, **options}, sizes)
    for name, (options, sizes) in RESCUES.items()
    for undivided in ("", "not divided, ")
}

Job = tuple[str, str, str, int]  # where, task, case, seed


def train_in_torch(task: str, options: Options, seed: int) -> dict[str, float]:
    """Train one case of the task "tagger" or "repeater" with torch, and return its measures.

    `options` have the names of TrainLab's traits; `rate` is a factor.

    They are the shares of *it* right ("it", "held_out"), or the surprises and the best induction score of a repeater.
    """
    given = {"n_layers" if name == "layers" else name: value for name, value in options.items()}
    given["rate"] = RATES[task] * given.get("rate", 1)
    off = LeftOut(**{name: given[name] for name in PARTS if name in given})
    if task == "tagger":
        tagger = train_tagger(seed=seed, **(TAGGER_ON_THE_PAGE | given))

        def share(part: str) -> float:
            asked = sentences(part, 1000, 1000 + seed, "english", True, given.get("rule", ()))
            return accuracy(tagger, asked, **off._asdict()).it

        return {"it": share("new"), "held_out": share("combination")}
    mask = not given.pop("mask_forgotten", False)
    repeater = train_repeater(seed=seed, mask=mask, **(REPEATER_ON_THE_PAGE | given))
    drawn = draw_sequences(256, torch.Generator().manual_seed(1000 + seed))
    scores = repeater_scores(repeater, *drawn, off.places(repeater.shape))
    return {"repeated": scores.repeated, "first": scores.first, "induction": scores.induction[-1].max().item()}


class Engine:
    """The engine of the page, in a process of node."""

    def __init__(self) -> None:
        command = ["node", str(ROOT / "benchmarks" / "training.mjs")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def train(self, task: str, options: Options, seed: int, sizes: Options) -> dict[str, float]:
        """Train one case with the page's engine, and return its measures. `sizes` changes the sizes of the model.

        The measures are named as in `train_in_torch`.

        Raises:
            ValueError: the process ended before it answered.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        job = {"task": task, "options": options, "seed": seed, "sizes": sizes}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        found: dict[str, float] = json.loads(self.process.stdout.readline())
        return found


def jobs(seeds: int) -> Iterator[tuple[Job, Options, Options]]:
    """Yield all trainings: the table first, then the controls.

    Each is (where, task, case, seed), the options of the training, and the sizes of the model where they differ.
    """
    for seed in range(seeds):
        for where in ("page", "torch"):
            for task, cases in CASES.items():
                for case, options in cases.items():
                    yield (where, task, case, seed), options, {}
    for seed in range(seeds):
        for case, (options, sizes) in CONTROLS.items():
            if case in CASES["repeater"]:
                continue
            yield ("page", "repeater", case, seed), options, sizes
            if not sizes:
                yield ("torch", "repeater", case, seed), options, {}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return each case's results: {task: {case: {where: [a result a seed]}}}, in the order of the cases."""
    found: dict[str, Any] = {
        "tagger": {case: {} for case in CASES["tagger"]},
        "repeater": {case: {} for case in (*CASES["repeater"], *CONTROLS)},
    }
    for row in sorted(rows, key=lambda row: (row["where"], row["seed"])):
        cases = found[row["task"]]
        value = row["it"] if row["task"] == "tagger" else row["repeated"]
        cases.setdefault(row["case"], {}).setdefault(row["where"], []).append(round(value, 3))
    return found


def main() -> None:
    """Train each case that has no stored result yet, store its result, and print the mean and values of each case.

    With --store, write the results of all seeds into the package.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="only the cases with this word in their names")
    parser.add_argument("--where", choices=["page", "torch"], help="only with the page's engine, or only with torch")
    parser.add_argument("--store", action="store_true", help="write the results into the package")
    arguments = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()] if KEPT.exists() else []
    done = {(row["where"], row["task"], row["case"], row["seed"]) for row in rows}
    engine = Engine()
    for (where, task, case, seed), options, sizes in jobs(arguments.seeds):
        isnt_asked = arguments.only not in case or arguments.where not in (None, where)
        if isnt_asked or (where, task, case, seed) in done:
            continue
        found = engine.train(task, options, seed, sizes) if where == "page" else train_in_torch(task, options, seed)
        rows.append({"where": where, "task": task, "case": case, "seed": seed, **found})
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    for task, cases in summary(rows).items():
        for case, places in cases.items():
            for where, values in places.items():
                print(f"{task:9} {case:34} {where:6} mean {mean(values):.2f}  ", *(f"{value:.2f}" for value in values))
    if arguments.store:
        STORED.write_text(json.dumps(summary(rows), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
