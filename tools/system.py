"""Find or install what pip and npm cannot: a browser for the tests, bubblewrap for the grader.

    python tools/system.py chromium bubblewrap

As root, or in CI, what is missing is installed; otherwise it is named with the command that gets it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Path of a Chromium: the one in QKV_CHROMIUM, Debian's, Chrome, or the one that Playwright downloaded."""
    named = [os.environ.get("QKV_CHROMIUM"), *map(shutil.which, BROWSERS)]
    return next((path for path in named if path), None) or _playwright_chromium()


def _playwright_chromium() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def bubblewrap() -> str | None:
    """Path of bubblewrap, the sandbox of the grader; it exists on Linux only."""
    return shutil.which("bwrap")


FINDERS = {"chromium": chromium, "bubblewrap": bubblewrap}


def _may_install() -> list[str] | None:
    """The prefix of commands that may install packages, or None where we should not."""
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if os.environ.get("CI") and shutil.which("sudo") else None


def how_to_get(name: str) -> str:
    """The command that a person types to get `name` on this system."""
    if shutil.which("apt-get"):
        return f"sudo apt-get install {name}"
    if name == "chromium":
        return f"{sys.executable} -m playwright install chromium"
    return f"your package manager's '{name}' (Linux only; on macOS and Windows use a Linux container or WSL)"


def install(names: list[str]) -> None:
    """Install with apt where it is there, else Playwright's own browser; errors of the installers are shown."""
    prefix = _may_install()
    if shutil.which("apt-get") and prefix is not None:
        print(f"System: installing {', '.join(names)} with apt", flush=True)
        subprocess.run([*prefix, "apt-get", "update", "-qq"], check=False, stdout=subprocess.DEVNULL)
        apt = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *names]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(apt, check=False, env=environment, stdout=subprocess.DEVNULL)
    elif "chromium" in names and not shutil.which("apt-get"):
        print("System: downloading Playwright's Chromium", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


def main() -> int:
    """Make sure of the named things; exit 1 and say how to get them where one is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=sorted(FINDERS), help="what is needed")
    names = parser.parse_args().names
    missing = [name for name in names if not FINDERS[name]()]
    if missing:
        install(missing)
    still = [name for name in missing if not FINDERS[name]()]
    for name in still:
        print(f"System: {name} is missing. To get it: {how_to_get(name)}", file=sys.stderr)
    return 1 if still else 0


if __name__ == "__main__":
    sys.exit(main())
