"""What a link may ask of a widget: `read` and `written` of the site's link.js, in node."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

LINK = Path(__file__).resolve().parents[2] / "book" / "static" / "link.js"
SCRIPT = f"""
import {{ read, settingsIn, written }} from "{LINK.as_uri()}";
const [cases, searches] = JSON.parse(process.argv[1]);
const values = cases.map(([text, limits]) => read(text, limits));
console.log(JSON.stringify({{
  values: values.map((value) => (value === undefined ? "refused" : [value])),
  back: values.map((value) => (value === undefined ? null : written(value))),
  asked: searches.map(settingsIn),
}}));
"""
WHOLE, REAL = {"whole": [0, 10]}, {"real": [0.05, None]}
WORDS, FLAG = {"one": ["causal", "0", "all"]}, {"one": [True, False]}
TABLE = {"each": {"each": WHOLE, "lengths": [2]}, "lengths": []}
TAKEN = [
    ("3", WHOLE, 3),
    ("0.05", REAL, 0.05),
    ("1e6", REAL, 1e6),
    ("causal", WORDS, "causal"),
    ("0", WORDS, "0"),
    ("true", FLAG, True),
    ("[[1,2],[3,4]]", TABLE, [[1, 2], [3, 4]]),
    ("[]", TABLE, []),
]
REFUSED = [
    ("11", WHOLE),
    ("2.5", WHOLE),
    ("-1", WHOLE),
    ("", WHOLE),
    ("[3]", WHOLE),
    ("true", WHOLE),
    ("0.01", REAL),
    ("NaN", REAL),
    ("1e999", REAL),
    ("maybe", FLAG),
    ("1", FLAG),
    ("__proto__", WORDS),
    ("[[1,2,3]]", TABLE),
    ("[[1,11]]", TABLE),
    ('{"length":1}', TABLE),
    (json.dumps([[1, 2]] * 201), TABLE),
    ("3", None),
]
SEARCHES = ["?ScalingLab-4.d_k=16&q=1&utm=x", "?Mask-1.flipped=%5B1%5D", "?ScalingLab.d_k=1&-1.x=2"]


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    cases = [*((text, limits) for text, limits, _ in TAKEN), *REFUSED]
    command = ["node", "--input-type=module", "--eval", SCRIPT, json.dumps([cases, SEARCHES])]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_values_within_limits_are_taken_and_written_back(said: dict[str, Any]):
    assert said["values"][: len(TAKEN)] == [[value] for _, _, value in TAKEN]
    assert said["back"][: len(TAKEN)] == ["1000000" if text == "1e6" else text for text, _, _ in TAKEN]


def test_all_others_are_refused(said: dict[str, Any]):
    taken = [case for case, value in zip(REFUSED, said["values"][len(TAKEN) :], strict=True) if value != "refused"]
    assert taken == []


def test_of_an_address_only_widgets_are_read(said: dict[str, Any]):
    assert said["asked"] == [
        [{"key": "ScalingLab-4", "trait": "d_k", "text": "16"}],
        [{"key": "Mask-1", "trait": "flipped", "text": "[1]"}],
        [],
    ]
