"""Settings and fixtures of all tests.

Some tests draw a few of many: mutants, twins, tensors of any shape. Which ones depends on the commit, so that a failure
can be repeated, and the next commit tries others. A failed run prints its seed; `QKV_SEED=N make test` draws by it.
"""

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
from tests.seeds import SEED
from tools.system import chromium, how_to_get

# The tensors are tiny, and pytest uses all cores with its own processes, so a second thread would only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Kernels that the tests start store progress in this folder, not with the developer's own.
os.environ.setdefault("QKV_STATE_DIR", os.path.join(tempfile.gettempdir(), "qkv-tests"))

# Hypothesis tries the same examples in every run.
settings.load_profile("ci")


# --some keeps one in so many cases of these tests, at least one. Two wrong answers to one question differ more than two
# shapes of a product do.
PAGES = 6
COSTLY = {
    "tests/browser_python/": 6,
    "tests/grading/": 6,
    "tests/kernels/": 6,
    "tests/sandboxed/": 6,
    "tests/checking/": 5,
    "tests/questions/": 5,
    "tests/real_model/": 3,
    "tests/widgets/test_engine": 3,
    "tests/widgets/test_train_lab": 3,
    "tests/xraying/": 5,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--some", action="store_true", help="some cases of costly tests, drawn by the commit")


@pytest.hookimpl(trylast=True)  # when the cases that are not asked for are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --some, keep a few cases (at least one) of each test that opens a page or is in `COSTLY`."""
    if not config.getoption("--some"):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for test, all_of_it in cases.items():
        opens_a_page = all_of_it[0].get_closest_marker("browser")
        one_in = next((n for costly, n in COSTLY.items() if test.startswith(costly)), PAGES if opens_a_page else 1)
        out = (one_in - 1) * len(all_of_it) // one_in
        left_out.update(random.Random(f"{SEED}{test}").sample(all_of_it, out))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed all generators from a test's name; if the test is slow or draws a few of many, also from the run's seed."""
    by_run = any(request.node.get_closest_marker(name) for name in ("slow", "draws"))
    seed = zlib.crc32(f"{request.node.nodeid}{SEED if by_run else ''}".encode())
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    seeds = random.Random(seed)
    monkeypatch.setattr(draw, "any_seed", lambda: seeds.getrandbits(48))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the run's seed if a test failed."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"Tests drew by the seed {SEED}. QKV_SEED={SEED} draws the same again.")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Start Playwright, once per process: a second start would fail."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Start Chromium."""
    yield from start_chromium(playwright)


def start_chromium(playwright: Playwright, *options: str) -> Iterator[Browser]:
    """Start Chromium without its background requests. If it is missing, fail and print how to install it."""
    path = chromium()
    if not path:
        pytest.fail(f"These tests need Chromium. To get it: {how_to_get('chromium')}")
    arguments = ["--disable-background-networking", "--disable-component-update", "--disable-sync", *options]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    browser = playwright.chromium.launch(executable_path=path, args=arguments)
    yield browser
    browser.close()
