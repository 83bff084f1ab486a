"""Start a worker that strangers' code cannot leave: bubblewrap, as an unprivileged user.

Inside there is no network, nothing that can be written but scratch space, and of the file system only Python, its
packages and the four files that the worker is made of. The course's own package, its solutions and the home folder
are not there.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import qkv
from qkv import observing
from qkv.grading import groups, sandboxed
from qkv.grading.sandboxed import wire

HERE = Path(sandboxed.__file__).parent
FILES = {name: HERE / name for name in ("worker.py", "wire.py", "cells.py")}
FILES |= {name: Path(observing.__file__).with_name(name) for name in ("answers.py", "hidden.py", "observing.py")}
INSIDE = Path("/course")
NOBODY = 65534
FILTERED = ("x86_64", "aarch64")  # machines whose system calls the worker can refuse
START_SECONDS = 60.0
FORBIDDEN = "bubblewrap does not start here"
PROCESSES = 64  # of a worker, its sessions included; a session's own limit is the worker's
PATIENCE = 0.5  # seconds that a session has to end by itself
STOP_SECONDS = 5.0
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
PACKAGES = ("site-packages", "dist-packages")
NO_PYTHON_BELOW = ("share", "include", "doc", "locale", "node_modules", "perl5", "gcc", "firmware", "modules", "torch")
DEPTH = 7  # of folders that are searched for copies of the course
# Rights that root keeps while it starts bubblewrap as nobody, through mounts that nobody could not reach.
STAGE = "/run/qkv-stage"


class UnavailableError(Exception):
    """No sandbox can be had here; the message says why and what to do."""


@dataclass
class Worker:
    """A started worker. `start` opens a session in it; one at a time."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    group: groups.Group = field(default_factory=groups.Group)
    ending: bool = False
    unread: bytes = field(default=b"", repr=False)

    def open_session(self, memory: int) -> socket.socket:
        """Start a session and give the channel to it.

        Raises:
            ConnectionError: the worker is gone, or still busy.
        """
        if self.ending:
            self.end_of_session()
        ours, theirs = socket.socketpair()
        with theirs:
            request = json.dumps({"memory": memory}).encode() + b"\n"
            socket.send_fds(self.control, [request], [theirs.fileno()])
        return ours

    def close_session(self, channel: socket.socket) -> None:
        """Let the session end; nobody waits for it before the next is to begin."""
        channel.close()
        self.ending = True

    def end_of_session(self) -> str:
        """Say how it ended: "exit 0", "stopped", "signal SIGSEGV", "memory: more than 1024 MB".

        Raises:
            ConnectionError, TimeoutError: the worker is gone, or does not answer.
        """
        self.ending = False
        how = ""
        with contextlib.suppress(TimeoutError):
            how = str(self._next(PATIENCE).get("ended", ""))
        if not how:
            self.control.sendall(b"stop\n")
            how = str(self._next(STOP_SECONDS).get("ended", ""))
        return how

    def wait_until_ready(self, seconds: float) -> None:
        self._next(seconds)

    def _next(self, seconds: float) -> dict[str, object]:
        """The next line that the worker says."""
        self.control.settimeout(seconds)
        while b"\n" not in self.unread:
            got = self.control.recv(4096)
            if not got:
                raise ConnectionError("the worker has ended")
            self.unread += got
        line, _, self.unread = self.unread.partition(b"\n")
        said: dict[str, object] = json.loads(line)
        return said

    def used(self) -> float:
        """Seconds of processor time that the worker and its sessions have used, as far as this system tells."""
        if self.group.meter is not None:
            return self.group.used()
        return sum(map(_processor_seconds, _descendants(self.process.pid)))

    def waited(self) -> float:
        """The longest that one of its processes was ready to run and had no processor, in seconds."""
        return max(map(_waited_seconds, _descendants(self.process.pid)), default=0.0)

    def stop(self) -> None:
        self.control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.group.remove()


def _descendants(pid: int) -> list[int]:
    """A process and all below it."""
    found, new = [], [pid]
    while new:
        found += new
        new = [child for parent in new for child in _children(parent)]
    return found


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
        ]
    except OSError:  # it is gone, or this is not Linux
        return []


def _processor_seconds(pid: int) -> float:
    """Processor time of a process, and of its children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def _waited_seconds(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def start(safe: bool = True, memory: int = 1024) -> Worker:
    """Start a worker and wait until it can take submissions.

    Raises:
        UnavailableError: it did not start; the message has what it said.
    """
    ours, theirs = socket.socketpair()
    group = groups.make(memory, PROCESSES) if safe else groups.Group()
    with theirs:
        process = subprocess.Popen(
            group.entering(sandboxed_command(theirs.fileno())) if safe else bare_command(theirs.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
        )
    worker = Worker(process, ours, group)
    try:
        worker.wait_until_ready(START_SECONDS)
    except (OSError, TimeoutError):
        worker.stop()
        said = process.stderr.read(2000).decode(errors="replace").strip() if process.stderr else ""
        raise UnavailableError(said or f"the worker ended with status {process.returncode}") from None
    return worker


@cache
def why_not() -> str:
    """Say why no sandbox can be had here; nothing when it can."""
    if not sys.platform.startswith("linux"):
        return f"bubblewrap needs Linux, and this is {sys.platform}."
    if shutil.which("bwrap") is None:
        return "bubblewrap is missing. On Debian or Ubuntu: sudo apt-get install bubblewrap"
    try:
        worker = start()
    except UnavailableError as error:
        return f"{FORBIDDEN}: {error}"
    try:
        with worker.open_session(64) as channel:
            wire.send(channel, {"do": "greet", "id": 0}, START_SECONDS)
            wire.receive_frame(channel, START_SECONDS)
    except (OSError, wire.EndedError):
        return f"{FORBIDDEN}: a session does not begin. It needs namespaces of its own, and seccomp."
    finally:
        worker.stop()
    return ""


def weaknesses() -> list[str]:
    """Say what this system does not let us hold, where there is a sandbox."""
    group = groups.make(1024, PROCESSES)
    group.remove()
    said = []
    if not any("memory" in str(folder) or (folder / "memory.max").exists() for folder in group.folders):
        said.append(
            "Memory is measured 20 times a second, and what waits in pipes and sockets is not: there are no control "
            "groups for memory here (they need root, or a folder that is delegated)."
        )
    if group.meter is None:
        said.append(
            "A notebook that starts many processes slows its neighbours down: there are no control groups for "
            "processors here. Who loses time by that is graded again, alone."
        )
    if os.uname().machine not in FILTERED:
        said.append(
            f"Memory in shared segments is not counted: there is no filter of system calls for {os.uname().machine}."
        )
    return said


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def sandboxed_command(control: int) -> list[str]:
    """The command that starts the worker in bubblewrap."""
    folders = needed_folders()
    if os.geteuid() != 0:
        return ["bwrap", *view({folder: folder for folder in folders}), *python(control), scratch(folders)]
    # Root gives up being root. What only root can reach is mounted where nobody can, in a mount space of its own.
    staged = {f"{STAGE}/{i}": folder for i, folder in enumerate(folders)}
    mounts = [f"mkdir -p {STAGE}", f"mount -t tmpfs tmpfs {STAGE}"]
    for place, folder in staged.items():
        mounts += [f"mkdir {place}", f"mount --bind {quoted(folder)} {place}"]
    files = {f"{STAGE}/{name}": path for name, path in FILES.items()}
    mounts += [f"cp {quoted(str(path))} {place} && chmod 444 {place}" for place, path in files.items()]
    drop = f"exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups -- bwrap"
    inner = " ".join(map(quoted, [*view(staged, Path(STAGE)), *python(control), scratch(folders)]))
    script = " && ".join([*mounts, f"cd / && {drop} {inner}"])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]


def bare_command(control: int) -> list[str]:
    """The command that starts the worker without any wall."""
    return python(control, [str(path.parent) for path in FILES.values()], FILES["worker.py"])


def python(control: int, folders: Sequence[str] = (str(INSIDE),), worker: Path = INSIDE / "worker.py") -> list[str]:
    """Python on the worker, alone: no user's packages, no variables; the grader's socket has this descriptor."""
    code = f"import sys, runpy; sys.path[:0] = {list(folders)!r}; runpy.run_path({str(worker)!r}, run_name='__main__')"
    itself = os.path.abspath(sys.executable)  # it may hold "..", out of a folder that is not there
    return [itself, "-I", "-B", "-c", code, str(control)]


def view(folders: dict[str, str], files: Path | None = None) -> list[str]:
    """What the worker sees: Python and its packages, read-only, without the course's own."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in environment(scratch(folders.values())).items():
        options += ["--setenv", name, value]
    for place in SYSTEM:
        options += link_or_bind(Path(place))
    for source, folder in folders.items():
        options += ["--ro-bind", source, folder]
    for place in hidden([*SYSTEM, *folders.values()]):
        covered = ["--tmpfs", place, "--remount-ro", place]
        options += covered if os.path.isdir(place) else ["--ro-bind", os.devnull, place]
    for name, path in FILES.items():
        options += ["--ro-bind", str(files / name if files else path), str(INSIDE / name)]
    options += ["--proc", "/proc", *devices(), "--dir", scratch(folders.values())]
    return [*options, "--remount-ro", "/", "--chdir", "/", "--"]


def devices() -> list[str]:
    """The devices that Python needs. They are the host's own, and each session sees them read-only."""
    options = ["--tmpfs", "/dev", "--dir", "/dev/shm"]
    for device in DEVICES:
        options += ["--dev-bind", device, device]
    return [*options, "--remount-ro", "/dev"]


def environment(scratch: str) -> dict[str, str]:
    """What the worker is told: nothing of this machine but where it may write."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    places = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR"), scratch)
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **places, **threads}


def scratch(folders: Iterable[str]) -> str:
    """Where a session may write: a file system of its own is mounted there, which must not hide Python."""
    return "/scratch" if any(under(folder, ("/tmp",)) for folder in folders) else "/tmp"


def link_or_bind(place: Path) -> list[str]:
    if place.is_symlink():
        return ["--symlink", os.readlink(place), str(place)]
    return ["--ro-bind", str(place), str(place)] if place.exists() else []


def needed_folders() -> list[str]:
    """Where Python, its library and its packages are, beyond the system's own folders."""
    paths = [sys.prefix, sys.base_prefix, *(sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib"))]
    real = [str(Path(path).resolve()) for path in [*paths, str(Path(sys.executable).resolve().parent.parent)]]
    wanted = sorted({path for path in [*paths, *real] if not under(path, SYSTEM)})
    return [path for path in wanted if not under(path, [other for other in wanted if other != path])]


@cache
def _copies(folders: tuple[str, ...]) -> list[str]:
    """Every copy of the course below these folders: the package, its metadata, and a repository's solutions."""
    found: list[str] = []
    to_search = [(folder, 0) for folder in folders]
    while to_search:
        folder, depth = to_search.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if _is_of_the_course(entry.name, entry.path):
                    found.append(entry.path)
                elif is_folder and depth < DEPTH and _may_hold_packages(entry.name, folder):
                    to_search.append((entry.path, depth + 1))
    return sorted(found)


def _is_of_the_course(name: str, path: str) -> bool:
    """Say whether a file or folder holds answers: qkv, qkv-0.1.0.dist-info, or solutions in a repository."""
    if name == "solutions":
        return any(glob.iglob(f"{glob.escape(path)}/[0-9][0-9]_*.ipynb"))
    return (name == "qkv" and os.path.isdir(path)) or name.startswith(("qkv-", "__editable__.qkv"))


def _may_hold_packages(name: str, parent: str) -> bool:
    """Say whether a copy of the course may lie below a folder: not inside another package, nor in the library."""
    if os.path.basename(parent).startswith("python3"):
        return name in PACKAGES
    return name not in NO_PYTHON_BELOW and os.path.basename(parent) not in PACKAGES


def hidden(folders: Iterable[str]) -> list[str]:
    """The course's own files, under every name by which the folders that are shown would show them."""
    shown = tuple(folder for folder in folders if folder not in SYSTEM or not os.path.islink(folder))
    own = Path(qkv.__file__).resolve().parent
    found = set(_copies(shown))
    for place in (str(own), str(own.parents[1] / "solutions")):
        real = {folder: os.path.realpath(folder) for folder in shown}
        found |= {f"{folder}{place[len(real[folder]) :]}" for folder in shown if under(place, [real[folder]])}
    return sorted(place for place in found if os.path.exists(place))


def under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
