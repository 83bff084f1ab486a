"""The workflows of GitHub: only commands that exist, no more rights than needed, and nothing for actionlint to say."""

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
LINT = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const { createLinter } = createRequire(`${process.cwd()}/package.json`)("actionlint");
const lint = await createLinter();
const files = process.argv.slice(1);
console.log(JSON.stringify(files.flatMap((file) => lint(readFileSync(file, "utf8"), file))));
"""


def read(file: Path) -> dict[Any, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in read(file)["jobs"].values() for step in job.get("steps", [])]


def complaint(command: str) -> str:
    """Why a step's command is not one of this repository's; empty where it is."""
    if re.search(r"[\n;&|<>$`]", command):
        return "logic belongs in a command with tests, not in YAML"
    program, *arguments = shlex.split(command)
    if program == "make":
        return "" if len(arguments) == 1 and arguments[0] in TARGETS else "there is no such target in the Makefile"
    if Path(program).name != "python":
        return "a step runs make or python"
    if arguments[:2] == ["-m", "pip"]:
        files = [name for option, name in pairwise(arguments) if option in {"-r", "-e"}]
        return "" if files and all((ROOT / name).exists() for name in files) else "pip installs what is not there"
    if arguments[:2] == ["-m", "pytest"]:
        return "" if (ROOT / arguments[-1]).exists() else "there are no such tests"
    return "" if (ROOT / arguments[0]).is_file() else "there is no such tool"


def linted(*files: Path) -> list[str]:
    node = ["node", "--input-type=module", "--eval", LINT, "--", *map(str, files)]
    done = subprocess.run(node, cwd=ROOT, capture_output=True, text=True, check=True)
    return [f"{found['file']}:{found['line']}: {found['message']}" for found in json.loads(done.stdout)]


def test_there_are_three_and_each_has_steps():
    assert [file.stem for file in FILES] == ["publish", "test", "weekly"]
    assert all(steps(file) for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_command_exists(file: Path):
    found = {step["run"]: complaint(step["run"]) for step in steps(file) if "run" in step}
    assert not {command: why for command, why in found.items() if why}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("make tset", "no such target"),
        ("make test && make site", "logic"),
        ("npm test", "make or python"),
        ("python tools/gone.py", "no such tool"),
        ("python -m pytest -q tests/gone", "no such tests"),
        ("python -m pip install -r gone.txt", "not there"),
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str, why: str):
    assert why in complaint(command)


def test_the_publishing_commands_are_understood():
    for step in steps(ROOT / ".github" / "workflows" / "publish.yml"):
        program, *arguments = shlex.split(step.get("run", "make"))
        if program.endswith("python"):
            usage = [sys.executable, ROOT / arguments[0], *arguments[1:], "--help"]
            assert subprocess.run(usage, capture_output=True).returncode == 0


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rights_are_few_and_actions_are_github_s(file: Path):
    workflow = read(file)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 90
        rights = {"build": {"contents": "write"}, "pages": {"pages": "write", "id-token": "write"}}
        assert job.get("permissions", {}) == (rights.get(name, {}) if file.stem == "publish" else {})
    for step in steps(file):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_the_site_is_published_only_from_main_and_after_the_tests():
    workflow = read(ROOT / ".github" / "workflows" / "publish.yml")
    assert workflow[True]["push"] == {"branches": ["main"]}  # YAML reads `on` as true
    assert workflow["jobs"]["test"]["uses"] == "./.github/workflows/test.yml"
    assert workflow["jobs"]["build"]["needs"] == "test"
    assert workflow["jobs"]["pages"]["needs"] == "build"


def test_actionlint_finds_nothing_and_would_find_something(tmp_path: Path):
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(FILES[0].read_text(encoding="utf-8").replace("needs: test", "needs: tset"), encoding="utf-8")
    assert [line.partition(": ")[0].partition(":")[0] for line in linted(*FILES, wrong)] == [str(wrong)]


def test_dependabot_watches_all_that_is_pinned():
    updates = read(ROOT / ".github" / "dependabot.yml")["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"pip", "npm", "github-actions"}
    assert all(update["directory"] == "/" and update["schedule"]["interval"] == "weekly" for update in updates)


def test_pins_agree_and_nothing_is_missing():
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_pins_are_exact_and_for_every_system():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wrong = [line for line in lines if not re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line)]  # 2.13.0+cpu is on no index
    assert wrong == []
    assert not [line for line in lines if line.startswith(("cuda", "nvidia", "triton"))]
