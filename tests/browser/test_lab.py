"""Widgets in a real JupyterLab with a real kernel: moved there, seen in Python; set in Python, moved there."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A JupyterLab on a free port and the folder that it serves."""
    folder = tmp_path_factory.mktemp("lab")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}"]
    options = [
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.news_url=None",
        "--LabApp.extension_manager=readonly",
    ]
    log = (folder / "server.log").open("w")
    server = subprocess.Popen([*command, *options], cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{address}/api", timeout=1)
            break
        except OSError:
            assert server.poll() is None, (folder / "server.log").read_text()[-3000:]
            time.sleep(0.5)
    yield address, folder
    server.terminate()
    server.wait(20)


def open_notebook(browser: Browser, lab: tuple[str, Path], name: str, cells: list[str]) -> Page:
    """Write a notebook into the lab's folder and open it with its kernel idle."""
    address, folder = lab
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / f"{name}.ipynb")
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.goto(f"{address}/lab/tree/{name}.ipynb?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    page.locator('[data-status="idle"]').first.wait_for(state="attached", timeout=60_000)
    return page


def run_cell(page: Page, number: int) -> str:
    """Run one cell with Shift+Enter and return the text that it printed."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(number)
    prompt = cell.locator(".jp-InputPrompt")
    for _ in range(12):
        # A cell that is run before the kernel has been connected is forgotten: its prompt stays empty.
        if "[ ]" in prompt.inner_text():
            cell.locator(".cm-content").click()
            page.keyboard.press("Shift+Enter")
        with contextlib.suppress(AssertionError):
            expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=5_000)
            return "\n".join(cell.locator(".jp-OutputArea-output pre").all_inner_texts())
    raise AssertionError(f"cell {number} did not run: {prompt.inner_text()}")


def test_scaling_lab_moves_both_ways(browser: Browser, lab: tuple[str, Path]):
    cells = [
        "from qkv.widgets import ScalingLab\nlab = ScalingLab(d_k=16)\nlab",
        "print('seen', lab.d_k)",
        "lab.d_k = 1024",
    ]
    page = open_notebook(browser, lab, "scaling", cells)
    run_cell(page, 0)
    widget = page.locator('[data-widget="ScalingLab"][data-state="ready"]')
    widget.wait_for(timeout=30_000)
    slider = widget.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert "seen 32" in run_cell(page, 1), "moving the slider must show in Python"
    run_cell(page, 2)
    widget.get_by_text("1024").first.wait_for(timeout=5_000)
    page.close()


def choose_theme(address: str, theme: str) -> None:
    """Set the lab's theme as its settings page does."""
    body = json.dumps({"raw": json.dumps({"theme": theme})}).encode()
    settings = f"{address}/lab/api/settings/@jupyterlab/apputils-extension:themes"
    urllib.request.urlopen(urllib.request.Request(settings, data=body, method="PUT"), timeout=10)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_widget_follows_the_theme(browser: Browser, lab: tuple[str, Path], scheme: str):
    choose_theme(lab[0], f"JupyterLab {scheme.title()}")
    page = open_notebook(browser, lab, f"theme-{scheme}", ["from qkv.widgets import ScalingLab\nScalingLab()"])
    run_cell(page, 0)
    widget = page.locator('[data-widget="ScalingLab"][data-state="ready"]')
    widget.wait_for(timeout=30_000)
    assert page.locator("body").get_attribute("data-jp-theme-light") == str(scheme == "light").lower()
    assert widget.evaluate("e => getComputedStyle(e).colorScheme") == scheme
    page.close()
