"""A script in node that answers lines of JSON: formulas and widgets are drawn by what also draws them in a browser."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any


class Node:
    """One process for a whole build: it starts with the first question and ends with `close`.

    Sphinx copies itself to read and write several pages at a time. A copy asks a process of its own, which ends with
    the copy.
    """

    def __init__(self, script: str) -> None:
        self.script = Path(__file__).with_name(script)
        self.process: subprocess.Popen[str] | None = None
        self.asked_by = 0

    def ask(self, question: dict[str, Any]) -> str:
        """The HTML for one line of JSON; ValueError with the script's reason where there is none."""
        if self.process is None or self.asked_by != os.getpid():
            self.asked_by = os.getpid()
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
