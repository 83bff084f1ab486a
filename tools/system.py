"""Find or install programs that pip and npm cannot install: browsers for the tests, bubblewrap for the grader.

    python tools/system.py chromium bubblewrap
    python tools/system.py --if-possible firefox webkit

As root, or in CI, missing programs are installed. Otherwise the command that installs them is printed.
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

# The headless Chromium comes first: the tests take two thirds of the time in it.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX_NAMES = ("firefox-esr", "firefox")


def first_path(names: Iterable[str]) -> str | None:
    """Return the path of the first of these commands that is installed, None without one."""
    return next(filter(None, map(shutil.which, names)), None)


def chromium() -> str | None:
    """Return the path of a Chromium: QKV_CHROMIUM, the system's, Chrome, or Playwright's; None without any.

    The path in QKV_CHROMIUM is not checked.
    """
    return os.environ.get("QKV_CHROMIUM") or first_path(BROWSERS) or playwright_build("chromium")


@functools.cache
def playwright_build(kind: str) -> str | None:
    """Return the path of the browser (chromium, firefox or webkit) that Playwright downloaded, or None.

    A separate process finds it, because Playwright can only be started once in a process.
    """
    ask = f"from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.{kind}.executable_path)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    return path if path and Path(path).exists() else None


def firefox() -> str | None:
    """Return the path of a Firefox: Playwright's, or the system's, or None."""
    return playwright_build("firefox") or first_path(FIREFOX_NAMES)


def mini_browsers() -> list[str]:
    """Return the paths of WebKitGTK's MiniBrowser, which its driver starts, as Debian installs it."""
    return sorted(map(str, Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser")))


def webkit() -> str | None:
    """Return the path of a WebKit: Playwright's, or Debian's WebKitGTK if its driver and Xvfb are installed too.

    Of WebKitGTK, it is the path of its MiniBrowser. Without either, return None.
    """
    parts = [first_path(names) for names in (mini_browsers(), ["WebKitWebDriver"], ["Xvfb"])]
    return playwright_build("webkit") or (parts[0] if all(parts) else None)


def bubblewrap() -> str | None:
    """Return the path of bubblewrap, the sandbox of the grader, or None. It exists on Linux only."""
    return shutil.which("bwrap")


FINDERS = {"chromium": chromium, "firefox": firefox, "webkit": webkit, "bubblewrap": bubblewrap}
# Debian's packages, where their names differ from the names above.
PACKAGES = {"firefox": ["firefox-esr"], "webkit": ["webkit2gtk-driver", "xvfb"]}
LIGHTER = {"chromium": "chromium-headless-shell"}  # smaller packages, used if apt has them: older systems do not


def known_to_apt(package: str) -> bool:
    """Check whether apt's package lists contain a package."""
    return subprocess.run(["apt-cache", "show", package], check=False, capture_output=True).returncode == 0


def packages(names: Sequence[str]) -> list[str]:
    """Return the Debian packages that contain these programs."""
    known = {name: [package] for name, package in LIGHTER.items() if name in names and known_to_apt(package)}
    return [package for name in names for package in {**PACKAGES, **known}.get(name, [name])]


def _may_install() -> list[str] | None:
    """Return the prefix of commands that install packages (`sudo`, or none as root), or None if we must not install."""
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if os.environ.get("CI") and shutil.which("sudo") else None


def how_to_get(name: str) -> str:
    """Return the command, or the advice, with which a user installs a program on this system."""
    if shutil.which("apt-get"):
        return f"sudo apt-get install {' '.join(packages([name]))}"
    if name != "bubblewrap":
        return f"{sys.executable} -m playwright install {name}"
    return f"your package manager's '{name}' (Linux only; on macOS and Windows use a Linux container or WSL)"


def install(names: list[str]) -> None:
    """Install programs with apt or, where there is no apt, download Playwright's browsers. Errors are shown.

    Do nothing on a system that has apt if packages must not be installed.
    """
    prefix = _may_install()
    if shutil.which("apt-get") and prefix is not None:
        print(f"System: installing {', '.join(names)} with apt", flush=True)
        subprocess.run([*prefix, "apt-get", "update", "-qq"], check=False, stdout=subprocess.DEVNULL)
        apt = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages(names)]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(apt, check=False, env=environment, stdout=subprocess.DEVNULL)
    elif (browsers := sorted(set(names) - {"bubblewrap"})) and not shutil.which("apt-get"):
        print(f"System: downloading Playwright's {', '.join(browsers)}", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", *browsers], check=False)
        playwright_build.cache_clear()


def main() -> int:
    """Find or install the named programs, and print how to install the missing ones.

    Return the exit code: 1 if one stays missing, unless with --if-possible.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=sorted(FINDERS), help="the programs that are needed")
    parser.add_argument("--if-possible", action="store_true", help="exit with 0 even if a program stays missing")
    asked = parser.parse_args()
    names = asked.names
    missing = [name for name in names if not FINDERS[name]()]
    if missing:
        install(missing)
    still = [name for name in missing if not FINDERS[name]()]
    for name in still:
        print(f"System: {name} is missing. To get it: {how_to_get(name)}", file=sys.stderr)
    return 1 if still and not asked.if_possible else 0


if __name__ == "__main__":
    sys.exit(main())
