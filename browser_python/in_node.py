"""The page's Python in Node.js, to run cells without a browser."""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from browser_python import pack

# Of processor time for a request. The page allows 60, and compiles a second time, for speed; but a phone is slower.
SECONDS = 25
LARGE = 250e6  # bytes of memory, as in python.js; above these a fresh interpreter replaces this one


class Interpreter:
    """The page's Python in a Node.js process. It answers the page's requests, and is killed if one takes too long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: psutil.Popen | None = None

    def start(self) -> psutil.Popen:
        """Start Node.js with the page's Python, and return its process once Python is ready.

        Raises:
            RuntimeError: Python did not start.
            FileNotFoundError: there is no Node.js.
        """
        pipe = subprocess.PIPE
        # Not compiled a second time, for speed: that would take 40 % of a start.
        command = ["node", "--liftoff-only", str(pack.HERE / "in_node.mjs"), str(self.folder / "python")]
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
            raise RuntimeError("The page's Python did not start in Node.js. Its error output says why.")
        return process

    def ask(self, cells: list[str], **check: str) -> dict[str, Any]:
        """Run the last cell, after those above that have not run.

        Return what it printed as "printed", and the text of its error as "problem" ("" without one). For a request that
        takes more than SECONDS of processor time, the problem is "TimeoutError".

        With a `question` and the `name` of an answer, run all cells and return the verdict on this answer. Each reply
        also has the processor time as "seconds". The process is started if there is none; it ends after a request that
        takes too long or leaves much memory in use, and what earlier cells defined is then lost.

        Raises:
            RuntimeError: Python did not start.
            FileNotFoundError: there is no Node.js.
            JSONDecodeError, psutil.Error: the process ended during the request.
        """
        process = self.process or self.start()
        process.stdin.write(json.dumps({"cells": cells, **check}) + "\n")
        process.stdin.flush()
        end = processor_time(process) + SECONDS
        while processor_time(process) < end:
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
        """End the process, if there is one. The next request starts a new one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def processor_time(process: psutil.Popen) -> float:
    """Return the processor time of the main thread, in seconds. The other threads only optimize compiled code."""
    return next(sum((t.user_time, t.system_time)) for t in process.threads() if t.id == process.pid)


@cache
def packed() -> tempfile.TemporaryDirectory[str]:
    """Pack what a page loads, once per process, and return the folder, which is deleted when the process ends."""
    folder = tempfile.TemporaryDirectory()
    pack.pack(Path(folder.name))
    return folder


@contextmanager
def interpreter() -> Iterator[Interpreter]:
    """Yield the page's Python, packed as for the site. Its process starts at the first request.

    It ends after the block.
    """
    python = Interpreter(Path(packed().name))
    try:
        yield python
    finally:
        python.close()
