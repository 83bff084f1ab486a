"""What the page takes of the worker's answers, in node: `messages.js` trusts no value of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

MESSAGES = Path(__file__).resolve().parents[2] / "browser_python" / "runtime" / "messages.js"
SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import {{ outputOf, verdictOf }} from "{MESSAGES.as_uri()}";
const [verdicts, outputs] = JSON.parse(readFileSync(0, "utf8"));
const taken = (of, all) => all.map((one) => of(one) ?? "refused");
console.log(JSON.stringify([taken(verdictOf, verdicts), taken(outputOf, outputs), ({{}}).status ?? "clean"]));
"""
VERDICT = {"status": "passed", "points": 3, "misconception": None, "message": "Right.", "html": "<p>Right.</p>"}
OUTPUT = {"printed": "3\n", "problem": "", "above": 2}
NO_OBJECTS: list[Any] = [None, 5, "x", [], [1, 2], {}, True]
CHANGES: dict[str, list[Any]] = {
    "status": [None, 5, {"a": 1}, "right", "__proto__", ["passed"], "failed"],  # a failed answer has no points
    "points": [None, "3", -1, 11, 2.5, 1e308, 1e999, [3], {"a": 1}, True],
    "misconception": [5, ["a"], {}],
    "message": [None, 5, {}, ["a"]],
    "html": [None, 5, {}, ["<p>"]],
}
OUTPUT_CHANGES: dict[str, list[Any]] = {
    "printed": [None, 5, {}, ["x"]],
    "problem": [None, 5, {}],
    "above": [None, "2", -1, 0.5, {}],
}


def changed(whole: dict[str, Any], changes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [whole | {name: value} for name, values in changes.items() for value in values]


def without_one(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in whole.items() if name != left_out} for left_out in whole]


def taken(verdicts: list[Any], outputs: list[Any]) -> list[Any]:
    text = json.dumps([verdicts, outputs]).replace("Infinity", "1e999")
    command = ["node", "--input-type=module", "--eval", SCRIPT]
    return json.loads(subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout)


def test_an_answer_of_the_course_is_taken_as_it_is():
    wrong = VERDICT | {"status": "failed", "points": 0, "misconception": "no-scale"}
    (right, other), (output,), _ = taken([VERDICT, wrong], [OUTPUT])
    assert {name: right[name] for name in VERDICT} == VERDICT
    assert {name: other[name] for name in wrong} == wrong
    assert {name: output[name] for name in OUTPUT} == OUTPUT


def test_anything_else_is_refused():
    verdicts = [*NO_OBJECTS, OUTPUT, *changed(VERDICT, CHANGES), *without_one(VERDICT)]
    outputs = [*NO_OBJECTS, VERDICT, *changed(OUTPUT, OUTPUT_CHANGES), *without_one(OUTPUT)]
    of_verdicts, of_outputs, _ = taken(verdicts, outputs)
    assert [one for one, found in zip(verdicts, of_verdicts, strict=True) if found != "refused"] == []
    assert [one for one, found in zip(outputs, of_outputs, strict=True) if found != "refused"] == []


def test_nothing_more_is_taken_and_long_texts_are_cut():
    more = {"ready": True, "memory": "x", "hasEnded": True, "isNew": True, "__proto__": {"status": "passed"}}
    long = {"message": "m" * 300_000, "html": "h" * 300_000, "misconception": "c" * 300_000}
    (verdict,), (output,), polluted = taken([VERDICT | long | more], [OUTPUT | {"printed": "p" * 300_000} | more])
    assert set(verdict) == {*VERDICT, "problem"}
    assert set(output) == {"status", "points", "misconception", "message", *OUTPUT}
    assert {len(verdict[name]) for name in long} == {len(output["printed"])} == {100_000}
    assert polluted == "clean"
