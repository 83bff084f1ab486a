"""A script in node that answers lines of JSON: formulas and widgets are drawn by what also draws them in a browser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


class Node:
    """One process for a whole build: it starts with the first question and ends with `close`."""

    def __init__(self, script: str) -> None:
        self.script = Path(__file__).with_name(script)
        self.process: subprocess.Popen[str] | None = None

    def ask(self, question: dict[str, Any]) -> str:
        """The HTML for one line of JSON; ValueError with the script's reason where there is none."""
        if self.process is None:
            pipe = subprocess.PIPE
            command = ["node", str(self.script)]
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "node ended before it answered"}')
        if "error" in answer:
            raise ValueError(answer["error"])
        return str(answer["html"])

    def close(self) -> None:
        """End the process; the next question would start another."""
        if self.process is not None:
            self.process.communicate()
            self.process = None
