"""Settings and fixtures of all tests."""

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

# The tensors are tiny, and pytest uses all cores with its own processes, so a second thread would only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Kernels that the tests start store progress in this folder, not with the developer's own.
os.environ.setdefault("QKV_STATE_DIR", os.path.join(tempfile.gettempdir(), "qkv-tests"))

# Hypothesis tries the same examples in every run.
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def same_draws_in_every_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed all generators from a test's name, so that the gate is reproducible. Slow tests draw new numbers."""
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
    """Start Playwright, once per process: a second start would fail."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Start Chromium without its background requests. If it is missing, fail and print how to install it."""
    path = chromium()
    if not path:
        pytest.fail(f"These tests need Chromium. To get it: {how_to_get('chromium')}")
    arguments = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    browser = playwright.chromium.launch(executable_path=path, args=arguments)
    yield browser
    browser.close()
