"""What a session sees of this machine, and what is said where no sandbox can be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbgrader
import pytest

from qkv.grading import groups, sandbox
from qkv.grading.sandboxed import wire

SHOWN = """
import json, os
def seen(code):
    try:
        return eval(code)
    except Exception as error:
        return type(error).__name__
raise Exception(json.dumps([seen(code) for code in CODES]))
"""


@pytest.fixture
def ask(needs_sandbox: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list]]:
    """Evaluate expressions in a session of a fresh worker, whose package is where another one is."""
    monkeypatch.setattr(sandbox.qkv, "__file__", nbgrader.__file__)
    worker = sandbox.start()
    channel = worker.open_session(256)

    def ask(*codes: str) -> list:
        import json

        source = SHOWN.replace("CODES", repr(list(codes)))
        wire.send(channel, {"do": "cell", "id": 1, "source": source, "number": 1, "names": [], "seconds": 10})
        said = wire.receive(channel, 20)["error"]
        return json.loads(said.removeprefix("Exception: ").rpartition(" in line ")[0])

    yield ask
    worker.close_session(channel)
    worker.stop()


def test_a_session_sees_python_and_little_else(ask):
    package = str(Path(nbgrader.__file__).parent)
    listed = ("/proc", "/course", str(Path.home()), ".")
    roots, own, user, processes, course, home, scratch = ask(
        "sorted(os.listdir('/'))",
        f"os.listdir({package!r})",
        "[os.getuid(), os.getpid(), os.getppid()]",
        *(f"sorted(os.listdir({place!r}))" for place in listed),
    )
    assert {"course", "dev", "proc", "tmp", "usr"} <= set(roots)
    assert own == [], "an installed package of the course would be hidden"
    assert user[0] != 0
    assert user[1:] == [1, 0]
    assert processes == []
    assert course == ["cells.py", "observing.py", "wire.py", "worker.py"]
    assert home in ("FileNotFoundError", []) or set(home) <= {Path(sys.base_prefix).relative_to(Path.home()).parts[0]}
    assert scratch == []


def test_a_session_can_write_to_scratch_space_alone(ask):
    places = ("/x", "/course/worker.py", "/usr/x", "/proc/x", f"{Path(nbgrader.__file__).parent}/x", "/dev/x")
    assert set(ask(*(f"open({place!r}, 'w').write('x')" for place in places))) <= {"OSError", "PermissionError"}
    assert ask("open('x', 'w').write('x')", "open('x').read()") == [1, "x"]


HOARD_TOGETHER = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        kept = b"x" * (60 * 2**20)
        time.sleep(60)
time.sleep(60)
"""


def test_memory_is_counted_over_all_processes_even_without_control_groups(needs_sandbox, monkeypatch):
    monkeypatch.setattr(groups, "make", lambda memory, processes: groups.Group())
    worker = sandbox.start()
    channel = worker.open_session(256)
    wire.send(channel, {"do": "cell", "id": 1, "source": HOARD_TOGETHER, "number": 1, "names": [], "seconds": 20})
    with pytest.raises(wire.EndedError):
        wire.receive(channel, 15)
    assert worker.end_of_session() == "memory: more than 256 MB"
    channel.close()
    worker.stop()


def test_scratch_space_never_hides_python():
    assert sandbox.scratch(["/opt/python"]) == "/tmp"
    assert sandbox.scratch(["/opt/python", "/tmp/course/.venv"]) == "/scratch"


def test_a_session_has_no_rights_and_no_network(ask):
    assert ask("__import__('ctypes').CDLL(None).unshare(0x10000000)") == [-1]
    refused = ask(
        "__import__('socket').create_connection(('127.0.0.1', 80), 1)",
        "os.setuid(0)",
        "os.mknod('n', 0o20666, 257)",
    )
    assert set(refused) <= {"OSError", "PermissionError", "ConnectionRefusedError"}


def test_python_may_have_been_started_by_a_way_that_is_none_in_there(needs_sandbox, tmp_path):
    way = os.path.relpath(sys.executable, tmp_path)
    code = "from qkv.grading import sandbox; print([sandbox.why_not()])"
    done = subprocess.run([way, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "['']\n", done.stderr


def test_it_says_why_there_is_no_sandbox(monkeypatch):
    sandbox.why_not.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "apt-get install bubblewrap" in sandbox.why_not()
    sandbox.why_not.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "needs Linux, and this is darwin" in sandbox.why_not()
    sandbox.why_not.cache_clear()


def test_a_worker_that_does_not_start_says_what_it_said(monkeypatch):
    monkeypatch.setattr(
        sandbox, "sandboxed_command", lambda control: ["sh", "-c", "echo no user namespaces >&2; exit 1"]
    )
    with pytest.raises(sandbox.UnavailableError, match="no user namespaces"):
        sandbox.start()
