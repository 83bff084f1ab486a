"""The core of the browser tests in Firefox and WebKit, where they can be had; it says which ran."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Playwright

from tools import system

from . import drivers
from .conftest import has_widgets, pages
from .test_confined import KEPT, LISTEN, SAID, SCRIPT, START
from .test_exercises import BY_D_K, RIGHT, ROOT, cells
from .test_site import SHOWN

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHAPTERS = [page for page in pages() if page.startswith("chapters/") and has_widgets(page)]
# Every widget starts, every control that can be used shows something, and nothing is asked of another host.
CORE = """async () => {
  const complaints = [];
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const until = async (isSo, complaint) => {
    for (let i = 0; i < 200; i++) {
      if (isSo()) return;
      await pause(25);
    }
    complaints.push(complaint);
  };
  const shown = SHOWN;
  const use = (control) => {
    control.focus();
    if (control.type === "range") {
      control.value = String(control.value === control.max ? control.value - 1 : Number(control.value) + 1);
      control.dispatchEvent(new Event("input", { bubbles: true }));
    } else if (control.matches("[type=number]")) {
      control.value = control.value === "1" ? "2" : "1";
      for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
    } else control.click();
  };
  for (const slot of document.querySelectorAll(".qkv-slot")) {
    slot.scrollIntoView({ behavior: "instant", block: "center" });
    const name = slot.dataset.for;
    await until(() => slot.querySelector(".qkv-widget")?.dataset.state === "ready", `${name} does not start`);
    const widget = slot.querySelector(".qkv-widget");
    for (const control of widget.querySelectorAll("input, button")) {
      const taken = control.getClientRects().length === 0; // by a control before it
      if (taken || control.disabled || (control.type === "radio" && control.checked)) continue;
      const before = shown(widget);
      const label = control.labels?.[0]?.innerText || control.ariaLabel || control.innerText;
      use(control);
      await until(() => shown(widget) !== before, `${label} of ${name} shows nothing`);
    }
    if (widget.dataset.state !== "ready") complaints.push(`${name}: ${widget.innerText}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) complaints.push("the page scrolls sideways");
  const deeper = location.pathname.includes("/deeper/"); // such a page may do without a formula
  if (!deeper && document.querySelectorAll(".katex").length === 0) complaints.push("no formula");
  for (const { name } of performance.getEntriesByType("resource")) {
    if (!name.startsWith(location.origin) && !/^(data|blob):/.test(name)) complaints.push(`asked for ${name}`);
  }
  return [document.querySelectorAll(".qkv-widget[data-state=ready]").length, complaints];
}""".replace("SHOWN", SHOWN)


@pytest.fixture(scope="module", params=["firefox", "webkit"])
def driver(request: pytest.FixtureRequest, playwright: Playwright) -> Iterator[drivers.Driver]:
    """A browser other than Chromium; where it is missing, the tests are skipped with the way to get it."""
    kind = request.param
    if not getattr(system, kind)():
        pytest.skip(f"{kind} is not here. To get it: {system.how_to_get(kind)}")
    with getattr(drivers, kind)(playwright) as started:
        yield started


@pytest.mark.parametrize("path", CHAPTERS)
def test_widgets_live(driver: drivers.Driver, site: str, path: str, capsys: pytest.CaptureFixture[str]):
    driver.open(f"{site}/{path}")
    ready, complaints = driver.evaluate(CORE)
    with capsys.disabled():
        print(f"\n{path} in {driver.name}: {ready} widgets", end=" ", flush=True)
    assert complaints == []
    assert ready > 0


# A right answer and a wrong one, one after the other, by Python on the page.
CHECKED = f"""async () => {{
  const verdicts = [];
  for (const source of {json.dumps([RIGHT, BY_D_K])}) {{
    window.qkv.answer("3.1", source);
    const {{ status, points, message }} = await window.qkv.check("3.1");
    verdicts.push([status, points, message]);
  }}
  return verdicts;
}}"""


def test_an_answer_is_checked(driver: drivers.Driver, site: str):
    driver.open(f"{site}/exercises/03_scaling.html")
    right, wrong = driver.evaluate(CHECKED)
    assert right[:2] == ["passed", 3]
    assert wrong[:2] == ["failed", 0]
    assert "d_k" in wrong[2], "the idea is named"


# Give an answer to each of some keys, and return the points of each question among them.
POINTS = """async () => {
  const points = {};
  for (const [key, source] of ANSWERS) window.qkv.answer(key, source);
  const questions = ANSWERS.map(([key]) => key).filter((key) => key.length === "12.1".length);
  for (const key of questions) points[key] = (await window.qkv.check(key)).points;
  return points;
}"""


def test_the_last_exercise_is_passed_with_its_parts(driver: drivers.Driver, site: str):
    solution = cells(ROOT / "solutions" / "12_capstone.ipynb")
    parts = [
        (name.removeprefix("parts-").replace("-", "."), text) for name, text in solution.items() if "parts-" in name
    ]
    answers = ["block", "writer", "write", "without_head", "heads_needed"]
    numbered = [(f"12.{i}", solution[f"answer-{name}"]) for i, name in enumerate(answers, 1)]
    driver.open(f"{site}/exercises/12_capstone.html")
    points = driver.evaluate(POINTS.replace("ANSWERS", json.dumps([*parts, *numbered])))
    assert points == {f"12.{i}": 5 for i in range(1, 6)}


# Run a cell, and return what it printed.
PRINTED = """async () => {
  const [key, source] = CELL;
  window.qkv.answer(key, source);
  const cells = [...document.querySelectorAll(".qkv-live")];
  const cell = cells.find((one) => one.querySelector(`[data-key="${key}"]`));
  document.querySelector(".qkv-printed")?.replaceChildren();
  cell.querySelector("[data-do=run]").click();
  for (let i = 0; i < 1_100; i++) {
    await new Promise((done) => setTimeout(done, 100));
    const printed = cell.querySelector(".qkv-printed")?.innerText;
    if (printed) return printed;
  }
  return "nothing was printed";
}"""


def test_code_on_a_page_reaches_no_host_and_nothing_kept(
    driver: drivers.Driver, site: str, elsewhere: tuple[str, list[str]], capsys: pytest.CaptureFixture[str]
):
    def printed(source: str) -> str:
        return str(driver.evaluate(PRINTED.replace("CELL", json.dumps(["try 3.1", source]))))

    host, asked = elsewhere
    before = len(asked)
    own = f"{site}/_static/python/worker.js"
    driver.open(f"{site}/exercises/03_scaling.html")
    driver.evaluate(LISTEN)
    script = SCRIPT.replace("ADDRESS", host).replace("SITE", own)
    assert printed(f"SCRIPT, SITE = {script!r}, {own!r}\n{START}") == "END\n"
    driver.evaluate("() => new Promise((done) => setTimeout(done, 3_000, true))")  # what was begun would arrive
    said = json.loads(printed(SAID))
    with capsys.disabled():
        print(f"\n{driver.name}: {len(said)} ways out were tried", end=" ", flush=True)
    assert [way for way, words in said.items() if words == "allowed"] == [], said
    assert len(said) > 25, said
    assert asked[before:] == []
    kept = driver.evaluate(KEPT)
    assert (kept["caches"], kept["databases"], kept["cookies"], kept["heard"]) == ([], [], "", [])
    assert "qkv-poisoned" not in kept["storage"]
