"""Runs the widgets' JavaScript in node, with JSON in and out. One node serves all tests."""

import atexit
import functools
import json
import math
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
JS = ROOT / "src" / "qkv" / "widgets" / "js"
MODELS = ROOT / "src" / "qkv" / "models"
SPECIAL = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}

# JSON has no infinity: it travels under its JavaScript name.
SERVER = f"""
import {{ readFileSync }} from "node:fs";
import {{ register }} from "node:module";
import {{ createInterface }} from "node:readline";
import * as maths from "{(JS / "maths.js").as_uri()}";
import * as taggers from "{(JS / "tagger.js").as_uri()}";
import * as files from "{(JS / "safetensors.js").as_uri()}";
import {{ Grammar }} from "{(JS / "grammar.js").as_uri()}";
import * as scales from "{(JS / "scales.js").as_uri()}";
import {{ num }} from "{(JS / "numbers.js").as_uri()}";
import {{ Model }} from "{(ROOT / "book" / "static" / "host.js").as_uri()}";

register("{(ROOT / "book" / "ext" / "qkv_site" / "files.mjs").as_uri()}"); // data that modules import
const grammar = new Grammar(JSON.parse(readFileSync("{MODELS / "grammar.json"}", "utf8")));
const weights = (name) => readFileSync(`{MODELS / "weights"}/${{name}}.safetensors`);
const tagger = (name) => taggers.makeTagger(weights(name), grammar);
const special = {json.dumps(list(SPECIAL))};
const revive = (_, value) => (special.includes(value) ? Number(value) : value);
const plain = (_, value) =>
  ArrayBuffer.isView(value) ? [...value] : typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
for await (const line of createInterface({{ input: process.stdin }})) {{
  const {{ body, data }} = JSON.parse(line, revive);
  try {{
    console.log(JSON.stringify({{ result: await eval(`(${{body}})`)(data) }}, plain));
  }} catch (error) {{
    console.log(JSON.stringify({{ error: error.stack }}));
  }}
}}
"""


def node(body: str, data: Any = None) -> Any:
    """The result of a JavaScript function of `data`, over what SERVER imports and defines."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps({"body": body, "data": _sent(data)}) + "\n")
    server.stdin.flush()
    answer = _received(json.loads(server.stdout.readline()))
    assert "error" not in answer, answer["error"]
    return answer.get("result")


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Start Node.js, which runs until the tests end."""
    command = ["node", "--input-type=module", "--eval", SERVER]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(server.kill)
    return server


def _sent(value: Any) -> Any:
    """Return a value for JSON, with names in place of nan and infinities."""
    if isinstance(value, list | tuple):
        return [_sent(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _sent(entry) for key, entry in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return next(name for name, number in SPECIAL.items() if str(number) == str(value))
    return value


def _received(value: Any) -> Any:
    """Return a value from JSON, with nan and infinities in place of their names."""
    if isinstance(value, list):
        return [_received(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _received(entry) for key, entry in value.items()}
    return SPECIAL.get(value, value) if isinstance(value, str) else value
