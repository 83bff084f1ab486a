"""Shared by all tests."""

import os
import random
import tempfile
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import settings
from playwright.sync_api import Browser, Playwright, sync_playwright

from qkv.questions.engine import draw
from tools.system import chromium, how_to_get

# The tensors here are tiny, and pytest runs in as many processes as there are cores: a second thread only waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Kernels that the tests start keep progress there, not among what the developer did.
os.environ.setdefault("QKV_STATE_DIR", os.path.join(tempfile.gettempdir(), "qkv-tests"))

# Properties try the same examples in every run.
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def same_draws_in_every_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the gate, what a test draws depends on its name alone: what was green stays green. The sweeps draw anew."""
    if request.node.get_closest_marker("slow"):
        return
    seed = zlib.crc32(request.node.nodeid.encode())
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    seeds = random.Random(seed)
    monkeypatch.setattr(draw, "any_seed", lambda: seeds.getrandbits(48))


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright, which can only be started once in a process."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium, quiet about the network; a missing one fails, with the way to get it."""
    path = chromium()
    if not path:
        pytest.fail(f"These tests need a browser. To get one: {how_to_get('chromium')}")
    arguments = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    browser = playwright.chromium.launch(executable_path=path, args=arguments)
    yield browser
    browser.close()
