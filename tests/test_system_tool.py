"""What pip and npm cannot install: found by any of its names, asked for under the right ones, and done without."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import system


def test_every_finder_has_packages_that_debian_knows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system, "known_to_apt", lambda package: True)
    assert system.packages(["chromium", "firefox", "webkit", "bubblewrap"]) == [
        "chromium-headless-shell", "firefox-esr", "webkit2gtk-driver", "xvfb", "bubblewrap",
    ]  # fmt: skip
    assert set(system.PACKAGES) <= set(system.FINDERS)
    monkeypatch.setattr(system, "known_to_apt", lambda package: False)  # as before the first `apt-get update`
    assert system.packages(["chromium", "webkit"]) == ["chromium", "webkit2gtk-driver", "xvfb"]


@pytest.mark.skipif(not shutil.which("apt-cache"), reason="there is no apt")
def test_apt_is_asked_what_it_knows():
    assert not system.known_to_apt("qkv-no-such-package")


def test_a_person_is_told_what_to_type(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert system.how_to_get("webkit") == "sudo apt-get install webkit2gtk-driver xvfb"
    monkeypatch.setattr(system.shutil, "which", lambda name: None)
    assert system.how_to_get("firefox") == f"{sys.executable} -m playwright install firefox"
    assert "Linux only" in system.how_to_get("bubblewrap")


def test_webkit_needs_its_driver_and_a_screen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system, "playwright_build", lambda kind: None)
    monkeypatch.setattr(system, "mini_browsers", lambda: ["/usr/lib/x/webkit2gtk-4.1/MiniBrowser"])
    there = {"/usr/lib/x/webkit2gtk-4.1/MiniBrowser", "WebKitWebDriver", "Xvfb"}
    for missing in [None, *there]:
        monkeypatch.setattr(system.shutil, "which", lambda name, gone=missing: name if name in there - {gone} else None)
        assert bool(system.webkit()) == (missing is None)


@pytest.mark.parametrize(("option", "code"), [([], 1), (["--if-possible"], 0)])
def test_what_cannot_be_had_stops_unless_it_may_be_missing(option: list[str], code: int, tmp_path: Path):
    tool = Path(system.__file__)
    script = (
        f"import sys; sys.path.insert(0, {str(tool.parents[1])!r}); from tools import system\n"
        "system.FINDERS['firefox'] = lambda: None; system.install = lambda names: None\n"
        f"sys.argv = ['system.py', *{option!r}, 'firefox']; sys.exit(system.main())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code
    assert "System: firefox is missing. To get it:" in done.stderr
