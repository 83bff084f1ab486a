"""Measure TrainLab in a browser: what a reader sees who presses Train, again and again.

    .venv/bin/python benchmarks/train_lab.py               20 seeds, about 8 minutes on an idle machine
    .venv/bin/python benchmarks/train_lab.py --seeds 2     a try
    .venv/bin/python benchmarks/train_lab.py --jobs tagger repeater

The widget stands alone on a page 800 px wide, in headless Chromium. Its first training has seed 1, and each press of
Train takes the next seed. For each job, the table has the means over the trainings, and the worst in brackets:

- result: the share of *it* right in 1,000 new sentences, or the surprise in nats at symbols that come again, of which a
  guess has 3.47; kept out: the share in combinations kept out; score: the weight of the best head of layer 2 on the
  symbols that followed the same symbol (the widget's score *followed*)
- good: how many trainings reach what the course says: 99 % of *it*; at most 0.6 nats and a score of at least 0.4
- seconds: from the press until the result is drawn. The widget shows 100 frames for at least 40 ms each, so no training
  is shorter than 4 seconds
- first: seconds until the first change is drawn; learned: until learning can be seen (*it* right in three quarters of
  100 new sentences, which by chance are a half; a surprise of 3 nats)
- frame: the longest time in milliseconds between two animation frames of the page while it trains
- task: the longest task of the page's thread, in milliseconds of processor time, so that whatever else runs on the
  machine does not count. On a processor of a quarter of the speed, such a task takes four times as long

The jobs: tagger, turned (it is taught that *hungry* means the other noun) and repeater, with each seed. The others
train once: slow-tagger and slow-repeater, with all threads of the page stopped for 12 ms in 16, which leaves each a
quarter of a core (a frame is up to 12 ms longer by this); slow-page, with Chromium's own slowdown of the page by 4,
which does not slow the worker; traced and traced-repeater, which measure the longest task; plain, without WebAssembly's
SIMD. Below the table: what the tab uses of memory that no other process shares, after garbage is collected, after the
first, a middle and the last training of the tagger.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from qkv.widgets import TrainLab
from qkv.widgets.base import _own_traits

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.system import chromium  # noqa: E402

ADDRESS = "http://train.test/"
DRAW = """async ([source, style, state]) => {
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  const model = { get: (name) => state[name], set: (name, value) => { state[name] = value; }, on() {}, off() {},
    save_changes() {} };
  await widget.render({ model, el: document.body.appendChild(document.createElement("div")) });
}"""
# Presses Train, and resolves to what was seen until the result was drawn.
TRAIN = """([task]) => new Promise((done) => {
  const root = document.querySelector("[data-widget=TrainLab]");
  const start = performance.now();
  const seen = { first: null, learned: null, frame: 0 };
  let last = start;
  const look = (now) => {
    seen.frame = Math.max(seen.frame, now - last);
    last = now;
    const { training, step, score } = root.dataset;
    const seconds = (now - start) / 1000;
    if (Number(step) > 0 && training !== "idle") {
      seen.first ??= seconds;
      if (task === "tagger" ? Number(score) >= 0.75 : Number(score) <= 3) seen.learned ??= seconds;
    }
    if (training === "done" && seen.first !== null)
      done({ ...seen, seconds, result: Number(score), text: root.innerText });
    else requestAnimationFrame(look);
  };
  root.querySelector(".qkv-train-go").click();
  // The dataset follows the state at the next drawing: until then it is that of the training before.
  requestAnimationFrame(() => requestAnimationFrame((now) => { last = now; look(now); }));
})"""
WITHOUT_SIMD = """
const make = URL.createObjectURL;
URL.createObjectURL = (blob) =>
  make.call(URL, new Blob(["WebAssembly.Module = undefined;", blob], { type: blob.type }));
"""
SLOWER = "no SIMD"  # in the widget's words


class Job(NamedTuple):
    """Trainings of one kind: traits of TrainLab, whether each seed is trained, and how the browser is slowed."""

    traits: dict[str, Any]
    each_seed: bool = True
    slow: str = ""


JOBS = {
    "tagger": Job({}),
    "turned": Job({"rule": ["hungry"]}),
    "repeater": Job({"task": "repeater"}),
    "slow-tagger": Job({}, False, "all"),
    "slow-repeater": Job({"task": "repeater"}, False, "all"),
    "slow-page": Job({}, False, "page"),
    "traced": Job({}, False, "trace"),
    "traced-repeater": Job({"task": "repeater"}, False, "trace"),
    "plain": Job({}, False, "simd"),
}


@contextmanager
def opened(browser: Browser, job: Job) -> Iterator[Page]:
    """Open a page with the widget alone, made slow as the job says, and yield it; close it at the end."""
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.route(ADDRESS, lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
    if job.slow == "simd":
        page.add_init_script(WITHOUT_SIMD)
    page.goto(ADDRESS)
    widget = TrainLab(stored=[], **job.traits)
    state = {name: getattr(widget, name) for name in _own_traits(TrainLab)}
    page.evaluate(DRAW, [str(widget._esm), str(widget._css), state])
    page.locator("[data-widget=TrainLab][data-state=ready]").wait_for()
    if job.slow == "page":
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    yield page
    page.close()


def tab() -> psutil.Process:
    """Return the process of the page that was opened last."""
    below = psutil.Process().children(recursive=True)
    return max((p for p in below if "--type=renderer" in p.cmdline()), key=lambda p: (p.create_time(), p.pid))


@contextmanager
def quarter(process: psutil.Process) -> Iterator[None]:
    """Let a process run for only 4 ms in 16 during the block, by signals."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.is_set():
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.012)
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.004)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def traced(browser: Browser, page: Page) -> Iterator[list[float]]:
    """Trace the page during the block. After it, the list has the processor times of its thread's tasks, in ms."""
    times: list[float] = []
    browser.start_tracing(page=page, categories=["toplevel"])
    yield times
    events = json.loads(browser.stop_tracing())["traceEvents"]
    named = [event for event in events if event["name"] == "thread_name" and event["pid"] == tab().pid]
    main = next(event["tid"] for event in named if event["args"]["name"] == "CrRendererMain")
    times += [event["tdur"] / 1000 for event in events if event["tid"] == main and "tdur" in event]


def trained(browser: Browser, page: Page, job: Job) -> dict[str, Any]:
    """Press Train once, and return what was seen: results, seconds, and whether they are good.

    Raises:
        RuntimeError: the widget says of a fast browser that it is slow, or the reverse.
    """
    task = job.traits.get("task", "tagger")
    longest = None
    if job.slow == "all":
        with quarter(tab()):
            found = page.evaluate(TRAIN, [task])
    elif job.slow == "trace":
        with traced(browser, page) as times:
            found = page.evaluate(TRAIN, [task])
        longest = max(times)
    else:
        found = page.evaluate(TRAIN, [task])
    text, found["task"] = found.pop("text"), longest
    kept_out = re.search(r"and in ([\d.]+) % of combinations", text)
    followed = re.search(r"followed\s+([\d.]+)", text)
    found["kept out"] = float(kept_out[1]) / 100 if kept_out else None
    found["score"] = float(followed[1]) if followed else None
    if task == "tagger":
        found["good"] = found["result"] >= 0.99
    else:
        found["good"] = found["result"] <= 0.6 and (found["score"] or 0) >= 0.4
    if (job.slow == "simd") != (SLOWER in text):
        raise RuntimeError("The widget does not say whether this browser is slow.")
    return dict(found)


def used(page: Page) -> float:
    """Return the MB that the tab uses, without what it shares, after the page and its worker collect their garbage."""
    page.evaluate("gc()")
    for worker in page.workers:
        worker.evaluate("gc()")
    time.sleep(0.5)
    return tab().memory_full_info().uss / 1e6


def line(name: str, runs: Sequence[dict[str, Any]]) -> str:
    """Return a line of the table for a job: means over its runs, and the worst in brackets."""
    worst = {"result": max if "repeater" in name else min, "kept out": min, "score": min}
    cells = [f"{name:15} {sum(run['good'] for run in runs):3} of {len(runs):2}"]
    for key, places in [("result", 3), ("kept out", 2), ("score", 2), ("seconds", 1), ("first", 2), ("learned", 1)]:
        values = [run[key] for run in runs if run[key] is not None]
        mean = f"{statistics.mean(values):.{places}f} ({worst.get(key, max)(values):.{places}f})" if values else "–"
        cells.append(f"{mean:15}")
    cells.append(f"{max(run['frame'] for run in runs):5.0f}")
    tasks = [run["task"] for run in runs if run["task"] is not None]
    return "  ".join([*cells, f"{max(tasks):5.1f}" if tasks else "–"])


def main() -> None:
    """Run the jobs, print a line for each as soon as it is done, and at the end the memory of the tab."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    arguments = parser.parse_args()
    heads = ["result", "kept out", "score", "seconds", "first", "learned"]
    print("  ".join([f"{'job':15} {'good':9}", *(f"{head:15}" for head in heads), "frame", "task"]))
    memory = ""
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--js-flags=--expose-gc"]
        browser = playwright.chromium.launch(executable_path=chromium(), args=options)
        for name in arguments.jobs:
            job = JOBS[name]
            with opened(browser, job) as page:
                runs = []
                for i in range(arguments.seeds if job.each_seed else 1):
                    runs.append(trained(browser, page, job))
                    if name == "tagger" and i in (0, arguments.seeds // 2, arguments.seeds - 1):
                        memory += f" after {i + 1}: {used(page):.0f} MB."
                print(line(name, runs), flush=True)
        browser.close()
    if memory:
        print(f"Memory of the tab, trainings of the tagger:{memory}")


if __name__ == "__main__":
    main()
