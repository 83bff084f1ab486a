"""Run a node script that answers JSON lines, so that the site and a browser draw widgets with the same code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any


class Node:
    """A node process for a whole build: the first question starts it, and `close` ends it.

    Sphinx forks to read and write several pages at a time. Each fork starts a node process of its own, which ends with
    the fork.
    """

    def __init__(self, script: str) -> None:
        self.script = Path(__file__).with_name(script)
        self.process: subprocess.Popen[str] | None = None
        self.asked_by = 0

    def ask(self, question: dict[str, Any]) -> str:
        """Send a question as a line of JSON, and return the HTML of the answer.

        Raises:
            ValueError: the script reports an error, whose text is the message, or it has ended.
            OSError: node is not installed, or had ended before the question.
        """
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
        """End the process. The next question would start a new one."""
        if self.process is not None:
            self.process.communicate()
            self.process = None
