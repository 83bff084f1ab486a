"""Start a worker in a sandbox that untrusted code cannot leave: bubblewrap, as an unprivileged user.

Inside there is no network. Only a scratch folder can be written to. The file system holds only the system's own
folders, Python, its packages and the package `qkv.sandboxed`. The rest of the course, its solutions and the home
folder are not there.
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
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import qkv
from qkv import sandboxed
from qkv.grading import groups
from qkv.sandboxed import wire
from qkv.words import mark, t, translated

MOUNTED = Path(sandboxed.__file__).parent  # the only part of the course in the sandbox
INSIDE = "/course"  # the folder on Python's path there; it holds qkv/sandboxed
NOBODY = 65534
FILTERED = ("x86_64", "aarch64")  # machines for which the worker has a filter of system calls (seccomp)
START_SECONDS = 60.0  # for a worker to start
FORBIDDEN = mark("bubblewrap does not start here: {why}")
PROCESSES = 64  # of a worker with its sessions; worker.py has the same number for a single session
END_SECONDS = 0.5  # for a session to end on its own
STOP_SECONDS = 5.0  # for a session to end after it was told to stop
# What programs need of the system. The rest of /usr is the host's own: what is installed under /usr/local, sources
# under /usr/src, and the data in /usr/share, such as the folder through which nbgrader exchanges submissions.
SYSTEM = (
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/bin", "/sbin", "/lib", "/lib32", "/lib64"),
    *("/usr/share/fonts", "/usr/share/zoneinfo", "/usr/share/terminfo", "/etc/ld.so.cache", "/etc/alternatives"),
)
SHARED_PREFIXES = ("/usr", "/usr/local")  # prefixes of a Python that hold more than Python
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
PACKAGES = ("site-packages", "dist-packages")
NO_PYTHON_BELOW = ("share", "include", "doc", "locale", "node_modules", "perl5", "gcc", "firmware", "modules", "torch")
DEPTH = 7  # levels of folders that are searched for copies of the course
# When root starts bubblewrap as the user nobody, the folders that only root can read are mounted here first.
STAGE = "/run/qkv-stage"


class UnavailableError(Exception):
    """No sandbox can be started on this system; the message says why and what to do."""


@dataclass
class Worker:
    """A running worker process, made by `start`. It has one session at a time."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    group: groups.Group = field(default_factory=groups.Group)
    ending: bool = False
    unread: bytes = field(default=b"", repr=False)

    def open_session(self, memory: int) -> socket.socket:
        """Start a session, which may use `memory` MB, and return the socket that talks to it.

        Raises:
            ConnectionError: the worker has ended.
            TimeoutError: the worker is still busy with the last session.
        """
        if self.ending:
            self.end_of_session()
        ours, theirs = socket.socketpair()
        with theirs:
            request = json.dumps({"memory": memory}).encode() + b"\n"
            socket.send_fds(self.control, [request], [theirs.fileno()])
        return ours

    def close_session(self, channel: socket.socket) -> None:
        """Close the socket of a session, so that it ends. Only the next session waits for that end."""
        channel.close()
        self.ending = True

    def end_of_session(self) -> str:
        """Wait until the session ends, stop it if it does not, and return how it ended.

        For example "exit 0", "stopped", "signal SIGSEGV" or "memory: more than 1024 MB".

        Raises:
            ConnectionError, TimeoutError: the worker has ended, or does not answer.
        """
        self.ending = False
        how = ""
        with contextlib.suppress(TimeoutError):
            how = str(self._next_message(END_SECONDS).get("ended", ""))
        if not how:
            self.control.sendall(b"stop\n")
            how = str(self._next_message(STOP_SECONDS).get("ended", ""))
        return how

    def wait_until_ready(self, seconds: float) -> None:
        self._next_message(seconds)

    def _next_message(self, seconds: float) -> dict[str, object]:
        """Return the next line of JSON that the worker sends.

        Raises:
            ConnectionError: the worker has ended.
            TimeoutError: nothing came for this many seconds.
        """
        self.control.settimeout(seconds)
        while b"\n" not in self.unread:
            got = self.control.recv(4096)
            if not got:
                raise ConnectionError("the worker has ended")
            self.unread += got
        line, _, self.unread = self.unread.partition(b"\n")
        said: dict[str, object] = json.loads(line)
        return said

    def processor_seconds(self) -> float:
        """Return the processor time of the worker and its sessions so far, in seconds.

        Without control groups, only processes that still run and their ended children can be counted.
        """
        if self.group.meter is not None:
            return self.group.processor_seconds()
        return sum(map(_processor_seconds, _descendants(self.process.pid)))

    def longest_wait(self) -> float:
        """Return the longest time, in seconds, that one of the worker's processes was ready but had no processor."""
        return max(map(waiting_seconds, _descendants(self.process.pid)), default=0.0)

    def stop(self) -> None:
        """End the worker and all its processes, and remove its control groups."""
        self.control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.group.remove()


def _descendants(pid: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    found, new = [], [pid]
    while new:
        found += new
        new = [child for parent in new for child in _children(parent)]
    return found


def _children(pid: int) -> list[int]:
    """Return the ids of a process's children; none if it has ended, or if this is not Linux."""
    try:
        return [
            int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
        ]
    except OSError:  # the process has ended, or this is not Linux
        return []


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of its ended children, in seconds; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def waiting_seconds(pid: int) -> float:
    """Return how long a process was ready to run but had no processor, in seconds; 0 if that is not known."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def own_waiting_seconds() -> float:
    """Return how long this process was ready to run but had no processor, in seconds; 0 if that is not known.

    It is fast, because it is called for each message.
    """
    try:
        return int(os.pread(_own_schedule(os.getpid()), 100, 0).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@cache
def _own_schedule(pid: int) -> int:
    """Return a file descriptor of this process's times. It stays open: to open a file of /proc takes longer."""
    return os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)


def start(memory: int = 1024) -> Worker:
    """Start a worker and wait until it is ready for submissions.

    `memory` is how many MB its control groups allow to a submission.

    Raises:
        UnavailableError: the worker did not start; the message is what it wrote to stderr, or its exit status.
        OSError: the command to start it, such as bubblewrap, is not installed.
    """
    ours, theirs = socket.socketpair()
    group = groups.make(memory, PROCESSES)
    with theirs:
        process = subprocess.Popen(
            group.command_in_groups(sandboxed_command(theirs.fileno())),
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
        raise UnavailableError(said or t("the worker ended with status {n}", n=process.returncode)) from None
    return worker


@cache
def why_unavailable() -> str:
    """Try to start a worker and a session. Return why this is not possible on this system, or "" if it is.

    A process tries it once.
    """
    if not sys.platform.startswith("linux"):
        return t("bubblewrap needs Linux, and this is {system}.", system=sys.platform)
    if shutil.which("bwrap") is None:
        return t("bubblewrap is missing. On Debian or Ubuntu: sudo apt-get install bubblewrap")
    try:
        worker = start()
    except UnavailableError as error:
        return translated(FORBIDDEN).format(why=error)
    try:
        with worker.open_session(64) as channel:
            wire.send(channel, {"do": "greet", "id": 0}, START_SECONDS)
            wire.receive_frame(channel, START_SECONDS)
    except (OSError, wire.EndedError):
        why = t("a session cannot start. Sessions need user namespaces and seccomp.")
        return translated(FORBIDDEN).format(why=why)
    finally:
        worker.stop()
    return ""


def weaknesses() -> list[str]:
    """Return a sentence for each limit that the sandbox cannot enforce on this system."""
    group = groups.make(1024, PROCESSES)
    group.remove()
    said = []
    if not any("memory" in str(folder) or (folder / "memory.max").exists() for folder in group.folders):
        said.append(
            t(
                "Memory is measured 20 times a second, and data that waits in pipes and sockets is not counted, "
                "because there are no control groups for memory here. They need root, or a folder that root has "
                "delegated."
            )
        )
    if group.meter is None:
        said.append(
            t(
                "A notebook that starts many processes slows down the others that are graded at the same time, because "
                "there are no control groups for processors here. A notebook that runs out of time for that reason is "
                "graded again, alone."
            )
        )
    if os.uname().machine not in FILTERED:
        said.append(
            t(
                "Memory in shared segments is not counted, because there is no filter of system calls for {machine}.",
                machine=os.uname().machine,
            )
        )
    return said


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def sandboxed_command(control: int) -> list[str]:
    """Return the command that starts the worker in bubblewrap, as the user nobody if this process runs as root.

    `control` is the file descriptor of the socket to the grader.
    """
    folders = needed_folders()
    if os.geteuid() != 0:
        return [
            "bwrap",
            *bwrap_options({folder: folder for folder in folders}),
            *python_command(control),
            scratch_folder(folders),
        ]
    # As root: mount the folders that only root can read where the user nobody can reach them, in a private mount
    # namespace. Then become nobody and start bubblewrap.
    staged = {f"{STAGE}/{i}": folder for i, folder in enumerate(folders)}
    mounts = [f"mkdir -p {STAGE}", f"mount -t tmpfs tmpfs {STAGE}"]
    for place, folder in staged.items():
        mounts += [f"mkdir {place}", f"mount --bind {shell_quoted(folder)} {place}"]
    copy = f"{STAGE}/sandboxed"
    mounts += [f"cp -r {shell_quoted(str(MOUNTED))} {copy}", f"chmod -R a+rX {copy}"]
    drop = f"exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups -- bwrap"
    inner = " ".join(
        map(shell_quoted, [*bwrap_options(staged, copy), *python_command(control), scratch_folder(folders)])
    )
    script = " && ".join([*mounts, f"cd / && {drop} {inner}"])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]


def python_command(control: int) -> list[str]:
    """Return the command that runs the worker in isolated Python: no user packages, no PYTHON* variables.

    `control` is the file descriptor of the socket to the grader. One more argument has to follow: the scratch folder.
    """
    code = f"import sys; sys.path.insert(0, {INSIDE!r}); from qkv.sandboxed.worker import main; main()"
    itself = os.path.abspath(sys.executable)  # a path with ".." can lead through a folder that the sandbox lacks
    return [itself, "-I", "-B", "-c", code, str(control)]


def bwrap_options(folders: dict[str, str], course: str = str(MOUNTED)) -> list[str]:
    """Return bubblewrap's options: the worker sees Python, its packages and one package of the course, read-only.

    The last is `--`; the command follows it.

    Args:
        folders: maps each folder that is mounted to the path at which the worker sees it
        course: the folder that is mounted as the package `qkv.sandboxed`
    """
    options = [
        "--unshare-all",
        "--hostname",
        "sandbox",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
    ]
    for name, value in environment(scratch_folder(folders.values())).items():
        options += ["--setenv", name, value]
    for place in SYSTEM:
        options += link_or_bind(Path(place))
    for source, folder in folders.items():
        options += ["--ro-bind", source, folder]
    for place in hidden_paths([*SYSTEM, *folders.values()]):
        covered = ["--tmpfs", place, "--remount-ro", place]
        options += covered if os.path.isdir(place) else ["--ro-bind", os.devnull, place]
    options += ["--ro-bind", course, f"{INSIDE}/qkv/sandboxed"]
    options += ["--proc", "/proc", *device_options(), "--dir", scratch_folder(folders.values())]
    return [*options, "--remount-ro", "/", "--chdir", "/", "--"]


def device_options() -> list[str]:
    """Return the options for the devices that Python needs: the host's own, which each session remounts read-only."""
    options = ["--tmpfs", "/dev", "--dir", "/dev/shm"]
    for device in DEVICES:
        options += ["--dev-bind", device, device]
    return [*options, "--remount-ro", "/dev"]


def environment(scratch: str) -> dict[str, str]:
    """Return the worker's environment variables: one thread for each library, files in the scratch folder, a PATH.

    Of this machine they reveal only that folder.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    places = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR"), scratch)
    names = dict.fromkeys(("USER", "LOGNAME"), "learner")  # there is no list of users
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **places, **names, **threads}


def scratch_folder(folders: Iterable[str]) -> str:
    """Return the folder that a session can write to: /tmp, unless Python is in there.

    Each session mounts its own tmpfs over this folder, which would hide Python.
    """
    return "/scratch" if any(is_under(folder, ("/tmp",)) for folder in folders) else "/tmp"


def link_or_bind(place: Path) -> list[str]:
    if place.is_symlink():
        return ["--symlink", os.readlink(place), str(place)]
    return ["--ro-bind", str(place), str(place)] if place.exists() else []


def needed_folders() -> list[str]:
    """Return the folders that hold Python, its standard library and its packages, outside of `SYSTEM`.

    None of them is in another one.
    """
    paths = [sys.prefix, sys.base_prefix, *(sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib"))]
    real = [str(Path(path).resolve()) for path in [*paths, str(Path(sys.executable).resolve().parent.parent)]]
    named = [folder for path in [*paths, *real] for folder in named_folders(path)]
    wanted = sorted({path for path in named if not is_under(path, SYSTEM)})
    return [path for path in wanted if not is_under(path, [other for other in wanted if other != path])]


def named_folders(prefix: str) -> list[str]:
    """Return the folders of Python in a prefix: the prefix, or its bin, lib and lib64 if it holds more than Python."""
    if prefix not in SHARED_PREFIXES:
        return [prefix]
    return [folder for name in ("bin", "lib", "lib64") if os.path.isdir(folder := f"{prefix}/{name}")]


@cache
def _copies(folders: tuple[str, ...]) -> list[str]:
    """Return the paths of every copy of the course below these folders: package, metadata, or a whole repository.

    Folders that cannot be listed are left out. A repository is more than its package and its solutions: its history and
    its tests tell the same.
    """
    found: list[str] = []
    to_search = [(folder, 0) for folder in folders]
    while to_search:
        folder, depth = to_search.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if _is_of_the_course(entry.name, entry.path):
                    whole = entry.name == "solutions" and not _holds_one_of(folders, folder)
                    found.append(folder if whole else entry.path)
                elif is_folder and depth < DEPTH and _may_hold_packages(entry.name, folder):
                    to_search.append((entry.path, depth + 1))
    return found


def _is_of_the_course(name: str, path: str) -> bool:
    """Check whether a path belongs to the course: qkv, qkv-0.1.0.dist-info, or the solutions of a repository.

    Files like qkv.pth, of an editable installation, name the folder of a repository.
    """
    if name == "solutions":
        return any(glob.iglob(f"{glob.escape(path)}/[0-9][0-9]_*.ipynb"))
    if name.endswith((".pth", ".egg-link")):
        return "qkv" in name
    return (name == "qkv" and os.path.isdir(path)) or name.startswith(("qkv-", "__editable__.qkv"))


def _holds_one_of(folders: Iterable[str], place: str) -> bool:
    """Check whether one of these folders is a folder or lies below it, so that it cannot be hidden."""
    return any(is_under(folder, [place]) for folder in folders)


def _may_hold_packages(name: str, parent: str) -> bool:
    """Check whether a folder can hold a copy of the course: not another package, and not the standard library."""
    if os.path.basename(parent).startswith("python3"):
        return name in PACKAGES
    return name not in NO_PYTHON_BELOW and os.path.basename(parent) not in PACKAGES


def hidden_paths(folders: Iterable[str]) -> list[str]:
    """Return the paths of the course's files to hide, under every path that leads to them through these folders.

    All exist, and none of them is in another one.
    """
    shown = tuple(folder for folder in folders if folder not in SYSTEM or not os.path.islink(folder))
    own = Path(qkv.__file__).resolve().parent
    above = own.parents[1]
    is_whole = (above / "solutions").is_dir() and not _holds_one_of(shown, str(above))
    found = set(_copies(shown))
    for place in {str(own), str(above if is_whole else own)}:
        real = {folder: os.path.realpath(folder) for folder in shown}
        found |= {f"{folder}{place[len(real[folder]) :]}" for folder in shown if is_under(place, [real[folder]])}
    return sorted(place for place in found if os.path.exists(place) and not is_under(os.path.dirname(place), found))


def is_under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
