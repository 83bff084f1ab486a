"""Drive Firefox and WebKit for the sweeps: open an address, and evaluate JavaScript there.

Playwright can only drive the builds that it downloads itself. If these are not available, Debian's Firefox is driven
through WebDriver BiDi, and Debian's WebKitGTK through WebDriver.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import psutil
import websocket
from playwright.sync_api import Playwright

from tools.system import FIREFOX_NAMES, chromium, first_path, mini_browsers, playwright_build


class Driver(Protocol):
    """A browser with one page. `name` contains its version."""

    name: str

    def open(self, url: str) -> None:
        """Load an address, and wait until it is loaded."""

    def evaluate(self, function: str) -> Any:
        """Call an async JavaScript function in the page, and return its result, which must be JSON."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def retry(attempt: Callable[[], Any], seconds: float = 30) -> Any:
    """Call a function until it succeeds, because its server may still be starting. Return its result."""
    end = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (OSError, websocket.WebSocketException):
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@contextlib.contextmanager
def running(*command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the end of the block, and yield its process."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=quiet, stderr=quiet)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


class PlaywrightDriver:
    """A driver for a browser that Playwright downloaded."""

    def __init__(self, playwright: Playwright, kind: str) -> None:
        browser = getattr(playwright, kind).launch()
        self.name, self.page = f"{kind} {browser.version}", browser.new_page()

    def open(self, url: str) -> None:
        self.page.goto(url)

    def evaluate(self, function: str) -> Any:
        return self.page.evaluate(function)


class BidiDriver:
    """A driver for Firefox, through its own WebDriver BiDi server."""

    def __init__(self, port: int) -> None:
        address = f"ws://127.0.0.1:{port}/session"
        self.socket = retry(lambda: websocket.create_connection(address, timeout=120, suppress_origin=True))
        self.asked = 0
        version = self.ask("session.new", capabilities={})["capabilities"]
        self.name = f"{version['browserName']} {version['browserVersion']}"
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result. Events that arrive before the answer are ignored."""
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv())).get("id") != self.asked:
            pass
        assert answer["type"] == "success", answer
        return dict(answer["result"])

    def open(self, url: str) -> None:
        self.ask("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def evaluate(self, function: str) -> Any:
        """Call a function on the page and return its result, through JSON."""
        expression = f"({function})().then(JSON.stringify)"
        target = {"context": self.context}
        done = self.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert done["type"] == "success", done
        return json.loads(done["result"]["value"])


class WebDriver:
    """A driver for WebKitGTK's MiniBrowser, through WebKitWebDriver."""

    def __init__(self, port: int, browser: str) -> None:
        self.address = f"http://127.0.0.1:{port}/session"
        options = {"webkitgtk:browserOptions": {"binary": browser, "args": ["--automation"]}}
        session = retry(lambda: self.ask("", capabilities={"alwaysMatch": options}))
        self.address += f"/{session['sessionId']}"
        self.name = f"WebKitGTK {session['capabilities']['browserVersion']}"
        self.ask("/timeouts", script=120_000)

    def ask(self, path: str, **parameters: Any) -> Any:
        """Send a command and return its value; an error of the browser fails the test."""
        body = json.dumps(parameters).encode()
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=150) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def open(self, url: str) -> None:
        self.ask("/url", url=url)

    def evaluate(self, function: str) -> Any:
        script = f"const done = arguments[0]; ({function})().then((value) => done(JSON.stringify(value)));"
        return json.loads(self.ask("/execute/async", script=script, args=[]))

    def close(self) -> None:
        urllib.request.urlopen(urllib.request.Request(self.address, method="DELETE"), timeout=30)


@contextlib.contextmanager
def firefox(playwright: Playwright) -> Iterator[Driver]:
    """Yield a driver for Playwright's Firefox, or for the system's."""
    if playwright_build("firefox"):
        yield PlaywrightDriver(playwright, "firefox")
        return
    port, path = free_port(), first_path(FIREFOX_NAMES)
    assert path
    with tempfile.TemporaryDirectory() as home:
        listening = ("--headless", f"--remote-debugging-port={port}", "--profile", home)
        with running(path, *listening, HOME=home):
            yield BidiDriver(port)


@contextlib.contextmanager
def webkit(playwright: Playwright) -> Iterator[Driver]:
    """Yield a driver for Playwright's WebKit, or for Debian's WebKitGTK on a virtual screen (Xvfb)."""
    if playwright_build("webkit"):
        yield PlaywrightDriver(playwright, "webkit")
        return
    port, screen, browser = free_port(), f":{free_port() % 10_000 + 100}", first_path(mini_browsers())
    assert browser
    environment = {"DISPLAY": screen, "LIBGL_ALWAYS_SOFTWARE": "1"}
    if os.geteuid() == 0:
        environment["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"] = "1"
    with (
        running("Xvfb", screen, "-screen", "0", "1440x900x24"),
        running("WebKitWebDriver", f"--port={port}", **environment),
    ):
        driver = WebDriver(port, browser)
        yield driver
        driver.close()


class ChromiumDriver:
    """A driver for a Chromium whose tab has the memory that a reader's has.

    Playwright asks the browser to keep all responses of the network, in the memory of the tab.
    """

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.asked = process, 0
        new_page = urllib.request.Request(f"http://127.0.0.1:{port}/json/new", method="PUT")
        with retry(lambda: urllib.request.urlopen(new_page)) as answer:
            address = json.load(answer)["webSocketDebuggerUrl"]
        self.socket = websocket.create_connection(address, timeout=120, suppress_origin=True)
        self.name = self.ask("Browser.getVersion")["product"]
        self.ask("Page.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv())).get("id") != self.asked:
            pass
        assert "error" not in answer, answer
        return dict(answer["result"])

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        while json.loads(self.socket.recv()).get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, function: str) -> Any:
        done = self.ask("Runtime.evaluate", expression=f"({function})()", awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def memory(self) -> float:
        """Return the bytes of the tab, with what it shares with the browser: the code."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        return max(tab.memory_info().rss for tab in below if "--type=renderer" in tab.cmdline())


@contextlib.contextmanager
def chromium_with(profile: Path) -> Iterator[ChromiumDriver]:
    """Yield a driver for a new Chromium that keeps what it stores in a folder."""
    port, path = free_port(), chromium()
    assert path
    options = ["--headless", f"--remote-debugging-port={port}", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    with running(path, *options) as process:
        driver = ChromiumDriver(process, port)
        yield driver
        driver.ask("Browser.close")
        process.wait(20)
