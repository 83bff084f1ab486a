"""Renew the pins: the newest releases of everything that the course is built and tested with.

    python tools/pins.py

Installs the package with its extras, as loosely as pyproject.toml allows, into a fresh environment, and writes what
came to requirements.txt; then asks npm for the newest of each package in package.json. `make test` says what breaks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def extras() -> list[str]:
    """The names of the package's extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"])


def npm_commands() -> list[list[str]]:
    """What asks npm for the newest release of each package, those of the site and those of its making."""
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    kinds = {"dependencies": "--save-prod", "devDependencies": "--save-dev"}
    npm = ["npm", "install", "--package-lock-only", "--save-exact", "--no-audit", "--no-fund"]
    return [[*npm, option, *(f"{name}@latest" for name in package[kind])] for kind, option in kinds.items()]


def pins(frozen: str, pinned: str) -> str:
    """The new requirements.txt: what `pip freeze` says, below the comments that the old one begins with."""
    head = [line for line in pinned.splitlines() if line.startswith("#")]
    names = sorted((line for line in frozen.splitlines() if "==" in line), key=str.lower)
    return "\n".join([*head, *names]) + "\n"


def renew_python() -> None:
    """Write requirements.txt from a fresh environment."""
    with tempfile.TemporaryDirectory(prefix="qkv-pins-") as home:
        venv.create(home, with_pip=True)
        python = str(next(Path(home).glob("*/python*")))
        subprocess.run([python, "-m", "pip", "install", "-q", "-e", f"{ROOT}[{','.join(extras())}]"], check=True)
        freeze = [python, "-m", "pip", "freeze", "--all", "--exclude-editable", "--exclude", "pip"]
        frozen = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    requirements = ROOT / "requirements.txt"
    requirements.write_text(pins(frozen, requirements.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> int:
    """Renew both lists of pins, and show what changed."""
    renew_python()
    for command in npm_commands():
        subprocess.run(command, cwd=ROOT, check=True)
    return subprocess.run(["git", "diff", "--stat", "--", "requirements.txt", "package.json"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
