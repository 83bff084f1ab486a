"""Run untrusted code without a lasting effect on the process: global settings, random states, stdout and stderr."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import torch

from qkv.sandboxed.recording import MAX_TEXT, bounded


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Run the block with fixed global settings, and restore the global state of the process afterwards.

    In the block: gradients on, default dtype float32, default device CPU, one thread, warnings off. Restored: the
    random states of torch, NumPy and Python, grad mode, default dtype and device, number of threads, print options,
    recursion limit, working directory.
    """
    random_states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    printing = vars(torch._tensor_str.PRINT_OPTS).copy(), np.get_printoptions()
    depth, folder = sys.getrecursionlimit(), _working_directory()
    try:
        with torch.inference_mode(False), torch.enable_grad(), _uncompiled(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.set_num_threads(1)  # the tensors are tiny, so more threads would only wait
            reset_torch()
            yield
    finally:
        torch.set_rng_state(random_states[0])
        np.random.set_state(random_states[1])
        random.setstate(random_states[2])
        torch.set_default_dtype(dtype)
        _set_default_device(device)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        vars(torch._tensor_str.PRINT_OPTS).update(printing[0])
        np.set_printoptions(**printing[1])
        sys.setrecursionlimit(depth)
        if folder and _working_directory() != folder:
            os.chdir(folder)


def _uncompiled() -> contextlib.AbstractContextManager[object]:
    """Let functions under `torch.compile` run uncompiled: compiling them takes longer than running them."""
    compiled = "torch._dynamo" in sys.modules  # torch loads it when something is compiled
    return torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext()


def _working_directory() -> str:
    """Return the working directory, or "" if it was deleted."""
    try:
        return os.path.realpath(os.curdir)
    except OSError:
        return ""


def reset_torch() -> None:
    """Set the global settings of torch that answers run with: gradients on, float32 and the CPU as defaults."""
    if not torch.is_grad_enabled():
        torch.set_grad_enabled(True)
    if torch.get_default_dtype() != torch.float32:
        torch.set_default_dtype(torch.float32)
    _set_default_device(torch.device("cpu"))


def _set_default_device(device: torch.device) -> None:
    """Set torch's default device, but only if it is another one: setting it slows down every later torch call."""
    if torch.get_default_device() != device:
        torch.set_default_device(device)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard what Python or C code writes to the process's stderr, and restore the root log handlers afterwards.

    A `sys.stderr` that goes elsewhere, as in a notebook, is not touched. Without a stderr, this has no effect.
    """
    handlers = logging.root.handlers[:]
    try:
        sys.stderr.flush()
        kept = os.dup(2)
        silence = os.open(os.devnull, os.O_WRONLY)
    except (OSError, AttributeError):  # there is no stderr
        yield
        return
    try:
        os.dup2(silence, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(silence)
        logging.root.handlers[:] = handlers


class CapturedOutput(io.TextIOBase):
    """A stream that captures stdout and stderr of Python code, and keeps only as much as can be shown."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0

    def __enter__(self) -> CapturedOutput:
        self.streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self
        return self

    def __exit__(self, *error: object) -> None:
        sys.stdout, sys.stderr = self.streams

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Keep a text, up to a limit for all of them, and return its length, as streams do."""
        if self.size <= MAX_TEXT:
            self.parts.append(str(text)[: MAX_TEXT + 1])
        self.size += len(text)
        return len(text)

    def text(self) -> str:
        return bounded("".join(self.parts))
