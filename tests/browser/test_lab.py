"""Every widget in a real JupyterLab with a real kernel: moved there, seen in Python; set in Python, moved there.

One Lab, one kernel and one notebook serve all tests, in their order: a session takes seconds to start.
"""

import contextlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, expect

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]


class Case(NamedTuple):
    """A widget, a control and a key that moves it, the trait that it moves, and how the control shows a value set."""

    made: str
    control: str
    key: str
    trait: str
    moved: str
    set: str
    shows: str


CASES = {
    "CacheStepper": Case("CacheStepper()", "radio:because", "Space", "step", "4", "7", "off"),
    "Everywhere": Case('Everywhere(kind="graph", token=2)', "slider:query", "ArrowRight", "token", "3", "5", "6"),
    "HeadAtlas": Case("HeadAtlas()", "slider:token that looks", "ArrowLeft", "token", "2", "0", "1"),
    "HeadMicroscope": Case("HeadMicroscope()", "slider:position", "ArrowLeft", "position", "14", "3", "4"),
    "HeadSplitter": Case("HeadSplitter()", "radio:4", "Space", "n_heads", "4", "8", "off"),
    "MaskPainter": Case("MaskPainter()", "radio:window", "Space", "preset", "'window'", "'all'", "off"),
    "PatternLab": Case("PatternLab()", "slider:layers", "ArrowRight", "layers", "5", "2", "2"),
    "PositionExplorer": Case("PositionExplorer()", "slider:query", "ArrowRight", "query", "7", "20", "20"),
    "Predict": Case(
        'Predict("?", [("one", "a"), ("two", "b")], "B")', "radio:A.", "Space", "guess", "'A'", "'B'", "That is right."
    ),
    "QKVStepper": Case("QKVStepper()", "switch:divide", "Space", "scaled", "True", "False", "off"),
    "RealModel": Case("RealModel()", "slider:token that looks", "ArrowRight", "token", "10", "4", "5"),
    "ScalingLab": Case("ScalingLab(d_k=16)", "slider:features", "ArrowRight", "d_k", "32", "1024", "10"),
    "SentenceLab": Case(
        'SentenceLab(handles=["temperature"])', "slider:temperature", "Home", "temperature", "0.01", "1.0", "76"
    ),
    "SequenceExplorer": Case("SequenceExplorer()", "slider:row", "ArrowRight", "row", "2", "0", "1"),
    "TemperatureLab": Case('TemperatureLab(handles=["width"])', "switch:width 64", "Space", "d_k", "64", "1", "off"),
    "TrainLab": Case(
        'TrainLab(handles=["scaled"], scaled=False)', "radio:100 %", "Space", "scaled", "True", "False", "off"
    ),
    "TransformerFlow": Case("TransformerFlow()", "switch:residual", "Space", "residual", "False", "False", "off"),
    "TwoHeads": Case("TwoHeads()", "radio:two heads", "Space", "heads", "2", "1", "off"),
}
CELLS = [
    "from IPython.display import display\nfrom qkv import widgets as W\n"
    + f"w = {{{', '.join(f'{name!r}: W.{case.made}' for name, case in CASES.items())}}}\n"
    + "display(*w.values())",
    f"for name, trait in { ({name: case.trait for name, case in CASES.items()}) }.items():\n"
    + "    print(name, repr(getattr(w[name], trait)))",
    "\n".join(f"w[{name!r}].{case.trait} = {case.set}" for name, case in CASES.items()),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A JupyterLab on a free port, started as `make lab` does, and the folder that it serves: notebooks, copied."""
    folder = tmp_path_factory.mktemp("lab")
    for part in ("book", "chapters", "exercises"):
        shutil.copytree(ROOT / part, folder / part, ignore=lambda at, names: [n for n in names if n.endswith(".py")])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = re.search(r"^lab:(?:.*\n\t)*?.*/jupyter (lab .*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert started, "`make lab` starts no JupyterLab"
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.news_url=None",
        "--LabApp.extension_manager=readonly",
        "--LabApp.expose_app_in_browser=True",
    ]
    command = [sys.executable, "-m", "jupyter", *shlex.split(started[1].replace("$(AS_ROOT)", "")), *options]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    for _ in range(120):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api", timeout=1)
            break
        assert server.poll() is None, (folder / "server.log").read_text()[-3000:]
        time.sleep(0.5)
    yield address, folder
    server.terminate()
    server.wait(20)


@pytest.fixture(scope="module")
def notebook(browser: Browser, lab: tuple[str, Path]) -> Iterator[Page]:
    """A notebook of all widgets, open in the lab, with its first cell run and every widget ready."""
    address, folder = lab
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    written.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(written, folder / "widgets.ipynb")
    # Nothing plays by itself: a step played in time and a key pressed would add up.
    page = browser.new_page(viewport={"width": 1200, "height": 1000}, reduced_motion="reduce")
    page.goto(f"{address}/lab/tree/widgets.ipynb?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    page.locator('[data-status="idle"]').first.wait_for(state="attached", timeout=60_000)
    run_cell(page, 0)
    for name in CASES:
        page.locator(f'[data-widget="{name}"][data-state="ready"]').wait_for(timeout=30_000)
    yield page
    page.close()


def run_cell(page: Page, number: int) -> str:
    """Run one cell with Shift+Enter and return the text that it printed."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(number)
    prompt = cell.locator(".jp-InputPrompt")
    for _ in range(12):
        # The notebook may lay its cells out anew meanwhile: what was found of one is gone then.
        with contextlib.suppress(AssertionError, Error):
            cell.scroll_into_view_if_needed(timeout=5_000)  # what is out of sight has no text
            # A cell that is run before the kernel has been connected is forgotten: its prompt stays empty.
            if "[ ]" in prompt.inner_text():
                cell.locator(".cm-content").click(timeout=5_000)
                page.keyboard.press("Shift+Enter")
            expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=5_000)
            return "\n".join(cell.locator(".jp-OutputArea-output pre").all_inner_texts())
    raise AssertionError(f"cell {number} did not run: {prompt.inner_text()}")


def control(page: Page, name: str) -> Locator:
    """The control of a widget that its case names."""
    role, _, label = CASES[name].control.partition(":")
    widget = page.locator(f'[data-widget="{name}"]')
    return widget.get_by_role(role, name=re.compile(f"^{re.escape(label)}")).first  # type: ignore[arg-type]


def test_make_lab_opens_on_the_welcome(browser: Browser, lab: tuple[str, Path]):
    page = browser.new_page()
    page.goto(lab[0])
    expect(page.get_by_role("heading", name="Welcome to the course")).to_be_visible(timeout=60_000)
    page.close()


def test_moved_by_keyboard_and_seen_in_python(notebook: Page):
    for name, case in CASES.items():
        control(notebook, name).press(case.key)
    notebook.get_by_role("button", name="check", exact=True).press("Enter")
    seen = run_cell(notebook, 1).strip().split("\n")
    assert seen == [f"{name} {case.moved}" for name, case in CASES.items()]


def test_set_in_python_and_followed_by_the_view(notebook: Page):
    run_cell(notebook, 2)
    for name, case in CASES.items():
        if case.shows == "off":
            expect(control(notebook, name)).not_to_be_checked()
        elif name == "Predict":
            expect(notebook.locator('[data-widget="Predict"]')).to_contain_text(case.shows)
        else:
            expect(control(notebook, name)).to_have_value(case.shows)


@pytest.mark.slow
def test_a_model_is_trained_there(notebook: Page):
    """The same worker, inside the widget's own file. The tagger learns undivided too."""
    widget = notebook.locator('[data-widget="TrainLab"]')
    widget.get_by_role("button", name="Train", exact=True).click()
    expect(widget).to_have_attribute("data-training", "done", timeout=120_000)
    assert widget.get_attribute("data-step") == "500"
    assert float(widget.get_attribute("data-score") or 0) > 0.9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_widgets_follow_the_theme(notebook: Page, scheme: str):
    theme = f"JupyterLab {scheme.title()}"
    notebook.evaluate("(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    light = str(scheme == "light").lower()
    expect(notebook.locator("body")).to_have_attribute("data-jp-theme-light", light, timeout=20_000)
    seen = notebook.locator(".qkv-widget").evaluate_all(
        "all => all.map((e) => [getComputedStyle(e).colorScheme, getComputedStyle(e).backgroundColor])"
    )
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]
    assert seen == [[scheme, paper]] * len(CASES)


def test_no_two_widgets_share_a_group_of_radios(notebook: Page):
    """Each widget comes with a copy of the base; groups of one name would move each other."""
    names = notebook.locator(".qkv-widget").evaluate_all(
        "all => all.map((one) => [...new Set([...one.querySelectorAll('input[type=radio]')].map(({ name }) => name))])"
    )
    every = [name for of_one in names for name in of_one]
    assert len(names) > 3
    assert sorted(every) == sorted({*every})


@pytest.mark.slow
def test_look_measures_a_head_that_is_switched_off(browser: Browser, lab: tuple[str, Path]):
    """The notebook of `qkv.look`, as a reader runs it: the kernel runs the model without it, and without others."""
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto(f"{lab[0]}/lab/tree/book/look.ipynb?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    page.locator('[data-status="idle"]').first.wait_for(state="attached", timeout=60_000)
    for number in range(6):  # up to the view of a model
        run_cell(page, number)
    widget = page.locator('[data-widget="HeadAtlas"][data-state="ready"]').last
    widget.wait_for(timeout=60_000)
    widget.scroll_into_view_if_needed()
    opaque = "(all) => all.map((canvas) => canvas.getContext('2d').getImageData(0, 0, 1, 1).data[3])"
    assert set(widget.locator(".qkv-atlas-map canvas").evaluate_all(opaque)) == {255}, "a map is not painted"
    widget.get_by_role("switch", name="switch head 1.1 off").check()
    rows = widget.locator(".qkv-atlas-measured tbody tr")
    expect(rows).to_have_count(3, timeout=30_000)
    expect(rows.nth(1)).to_contain_text("without 1.1")
    expect(rows.nth(2)).to_contain_text("control: without 1.")
    assert {host for host in hosts if host} == {lab[0].removeprefix("http://")}
    page.close()
