"""Python of the page in node, for whoever tries cells without a browser."""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from page import pack

SECONDS = 15  # of the processor; the page stops after 60, and a phone is slower
LARGE = 250e6  # bytes, as in python.js: then a fresh interpreter takes over


class Interpreter:
    """The page's Python in node: it is asked as the page asks it, and ended when it has not answered in time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: psutil.Popen | None = None

    def start(self) -> psutil.Popen:
        pipe = subprocess.PIPE
        command = ["node", str(pack.PAGE / "in_node.mjs"), str(self.folder / "python")]
        self.process = process = psutil.Popen(
            command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", cwd=pack.ROOT
        )
        self.lines: queue.Queue[str] = queue.Queue()

        def listen(lines: queue.Queue[str]) -> None:
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=listen, args=(self.lines,), daemon=True).start()
        if not self.lines.get():
            raise RuntimeError("Python does not start in node")
        return process

    def ask(self, cells: list[str], **check: str) -> dict[str, Any]:
        """What the last of these cells prints once those that it needs have run; or that it takes too long.

        With a `question` and the `name` of an answer: the verdict on it.
        """
        process = self.process or self.start()
        process.stdin.write(json.dumps({"cells": cells, **check}) + "\n")
        process.stdin.flush()
        end = used(process) + SECONDS
        while used(process) < end:
            try:
                found: dict[str, Any] = json.loads(self.lines.get(timeout=0.2))
            except queue.Empty:
                continue
            if found["memory"] > LARGE:
                self.close()
            return found
        self.close()
        return {"printed": "", "problem": "TimeoutError", "seconds": SECONDS}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def used(process: psutil.Popen) -> float:
    """The seconds of a processor that Python has used: others of its threads make its code faster meanwhile."""
    return next(sum((t.user_time, t.system_time)) for t in process.threads() if t.id == process.pid)


@contextmanager
def interpreter() -> Iterator[Interpreter]:
    """The page's Python, packed as for a site."""
    with tempfile.TemporaryDirectory() as folder:
        pack.pack(Path(folder))
        python = Interpreter(Path(folder))
        try:
            yield python
        finally:
            python.close()
