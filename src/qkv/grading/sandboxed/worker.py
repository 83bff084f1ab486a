"""The worker: runs strangers' notebooks, inside the sandbox, and tells what their answers did.

It is started once, imports torch, and then forks for every submission. Nothing here is trusted with a result: it holds
no reference, no expected value, no seed and no score, and it never runs a line of a submission itself.

    worker         waits for submissions, one at a time, and watches the session that has one
      └ session    pid 1 of its own process space: runs the cells, observes the answers

When the session ends, the kernel ends every process that it has left behind.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import answers
import cells
import hidden
import observing
import torch
import wire

CHANNEL = 100  # the descriptor of the socket to the grader, in a session
MB = 2**20
RESERVE_MB = 64  # beyond what a submission may use: to say what came of it, when it has used up everything
PROCESSES = 64
OPEN_FILES = 128
FILE_BYTES = 16 * MB
CPU_SECONDS = 900  # of each process; the grader's own clock is the stricter one
SCRATCH = "size=32m,mode=1777"
LOOK_EVERY_MS = 50
CHECKS = 100  # of one cell: a loop of them that does not end takes the time of all other answers

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
MS_REMOUNT, MS_BIND = 32, 4096
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
SECCOMP_ALLOW, SECCOMP_ERRNO = 0x7FFF0000, 0x50000
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06  # of the kernel's filter language
AT_CALL, AT_ARCHITECTURE, AT_FOURTH = 0, 4, 40  # in what the filter is given: the call, the machine, the 4th argument
X32, SYS_CLONE3, SHARED_ANONYMOUS = 0x40000000, 435, 0x21
# By machine: its name in filters, its `mmap`, and what is refused: memory without a mapping (memfd_create,
# memfd_secret, shmget, msgget, semget, mq_open), keys, other processes' memory (ptrace, process_vm_*, pidfd_getfd,
# kcmp), kernel interfaces (bpf, perf_event_open, userfaultfd, io_uring_setup), namespaces and mounts, handles of files.
REFUSED = {
    "x86_64": (0xC000003E, 9, (319, 447, 29, 68, 64, 240, 248, 249, 250, 101, 310, 311, 438, 312, 321, 298, 323, 425,
                               272, 308, 165, 166, 155, 161, 428, 429, 430, 431, 432, 433, 442, 303, 304)),
    "aarch64": (0xC00000B7, 222, (279, 447, 194, 186, 190, 180, 217, 218, 219, 117, 270, 271, 438, 272, 280, 241, 282,
                                  425, 97, 268, 40, 39, 41, 51, 428, 429, 430, 431, 432, 433, 442, 264, 265)),
}  # fmt: skip
CAPABILITIES_3 = 0x20080522  # the version of the kernel's structure that `capset` is given

libc = ctypes.CDLL(None, use_errno=True)
python = ctypes.PyDLL(None, use_errno=True)  # calls that keep Python's lock, as a fork must


def require(result: int, what: str) -> None:
    """Raise where a system call failed: without the limits that it sets, no session may begin."""
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


# ── the worker ────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Serve submissions until the grader hangs up."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.setblocking(True)
    torch.set_num_threads(1)
    warm_up()
    scratch = sys.argv[2] if len(sys.argv) > 2 else ""
    control.sendall(b'{"ready": true}\n')
    gc.collect()
    gc.freeze()  # or a session that collects would copy every page that it looks at
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not message:
            return
        if not descriptors:
            continue  # a "stop" for a session that had ended by itself
        memory = int(json.loads(message.split(b"\n")[-2])["memory"])
        others = set(processes())
        session = start_session(descriptors[0], memory, scratch)
        os.close(descriptors[0])
        reason = watch(control, session, memory, others)
        control.sendall(json.dumps({"ended": reason}).encode() + b"\n")


@contextlib.contextmanager
def errors_written_down() -> Iterator[None]:
    """Let no exception leave a forked process: write it to standard error, which the grader reads and quotes."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc()[-1000:].encode())


def warm_up() -> None:
    """Do once, before forking, what torch and IPython otherwise do at the first call in every session."""
    first = cells.Notebook(cells.make_shell())
    first.run("import math, torch\nprint(torch.arange(6.0).view(2, 3), torch.zeros(2).bool())\nawait no_such_name", 1)
    first.end()
    cases = [observing.Case(observing.call(torch.ones(2, 3, dtype=kind))) for kind in (torch.float32, torch.float64)]
    for answer in (
        lambda x: (x @ x.mT / 2).masked_fill(x @ x.mT > 1, -1e9).softmax(-1),
        lambda x: torch.stack([torch.exp(x).sum(-1), x.amax(-1)]).log().transpose(0, 1).reshape(-1),
        lambda x: torch.einsum("ij,kj->ik", x, torch.cat([x, x])).tril().cumsum(-1) + torch.arange(4),
    ):
        wire.decode(wire.encode(observing.trace(answer, cases, gradients=True)[0])[8:])
    torch.nn.Linear(2, 2)(torch.ones(2)).sum().backward()


# ── a session's beginning and end ─────────────────────────────────────────────────────────────────


def start_session(channel: int, memory: int, scratch: str) -> int:
    """Fork a session. With scratch space it begins in namespaces of its own, as pid 1 there."""
    mapped, tell_mapped = os.pipe()
    session = fork_into(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET) if scratch else os.fork()
    if session == 0:
        with errors_written_down():
            os.close(tell_mapped)
            if os.read(mapped, 1):
                live(channel, memory, scratch)
        os._exit(0)
    os.close(mapped)
    with errors_written_down():
        if scratch:
            map_user(session)
        os.write(tell_mapped, b"1")
    os.close(tell_mapped)
    return session


def fork_into(flags: int) -> int:
    """Fork a child that starts in new namespaces; give its pid, and 0 in the child, as `os.fork` does.

    `unshare` would need two forks: after it, only a child of the caller is in the new process namespace.
    """
    pid = int(python.syscall(SYS_CLONE[os.uname().machine], flags | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    require(-1 if pid < 0 else 0, "clone")
    return pid


def map_user(session: int) -> None:
    """Say which user a session is, in the space that it is in: the same, and no other exists there."""
    user, group = os.getuid(), os.getgid()
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/{session}/{name}", "w") as file:
            file.write(text)


def watch(control: socket.socket, session: int, memory: int, others: set[int]) -> str:
    """Wait until the session ends, ends it when it must, and say why it ended."""
    ended = os.pidfd_open(session)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(control, select.POLLIN)
    start, reason = used_by(session), ""
    while not reason:
        ready = dict(poll.poll(LOOK_EVERY_MS))
        if ended in ready:
            break
        if control.fileno() in ready:
            control.recv(4096)
            reason = "stopped"
            continue
        theirs = [pid for pid in processes() if pid not in others]
        if sum(max(0, used_by(pid) - start) for pid in theirs) > (memory + RESERVE_MB) * MB:
            reason = f"memory: more than {memory} MB"
        for pid in theirs:
            if pid != session:
                step_back(pid)
    os.close(ended)
    with contextlib.suppress(ProcessLookupError):
        os.kill(session, signal.SIGKILL)
    _, status = os.waitpid(session, 0)
    if reason:
        return reason
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def step_back(pid: int) -> None:
    """Let a process that a session has started go last: many of them take no more than one."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]


def used_by(pid: int) -> int:
    """Bytes that a process holds for itself; none when it is gone."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        return (resident - shared) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


# ── the session ───────────────────────────────────────────────────────────────────────────────────


def live(channel: int, memory: int, scratch: str) -> None:
    """Close everything but the channel, give up every right, and do what the grader asks."""
    os.setsid()  # or a signal to its process group would reach the worker
    own = os.dup2(channel, CHANNEL, inheritable=False)
    os.closerange(3, own)
    os.closerange(own + 1, 4096)
    torchs_own = address_space()
    if scratch:
        join_a_keyring()
        with contextlib.suppress(OSError), open("/proc/sys/user/max_user_namespaces", "w") as file:
            file.write("0")  # no session needs to be root of anything, not even of a space of its own
        cover_the_files(scratch)
        give_up_capabilities()
        refuse_system_calls()
    limit(memory, torchs_own)
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(scratch or tempfile.gettempdir())
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.close(quiet)
    Session(socket.socket(fileno=own)).serve()


def join_a_keyring() -> None:
    """Leave the keys of the session that the grader was started in; there is nothing to leave without keys."""
    machine = os.uname().machine
    if machine in SYS_KEYCTL:
        libc.syscall(SYS_KEYCTL[machine], KEYCTL_JOIN_SESSION_KEYRING, None)


def cover_the_files(scratch: str) -> None:
    """Give the session scratch space of its own, and hide what tells of other processes."""
    require(libc.unshare(CLONE_NEWNS), "unshare files")
    require(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    flags = MS_NOSUID | MS_NODEV
    for place in (scratch, "/dev/shm"):
        require(libc.mount(b"tmpfs", place.encode(), b"tmpfs", flags, SCRATCH.encode()), f"mount {place}")
    for device in os.listdir("/dev"):  # the host's own: not even their times may be set
        if device != "shm":
            path = os.fsencode(f"/dev/{device}")
            require(libc.mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, None), f"cover {device}")
    require(libc.mount(b"tmpfs", b"/proc", b"tmpfs", flags | MS_RDONLY | MS_NOEXEC, b"size=4k"), "cover /proc")


def refuse_system_calls() -> None:
    """Refuse the calls with which memory is taken that no process is seen to hold, and what no answer needs."""
    machine = os.uname().machine
    if machine not in REFUSED:
        return
    architecture, mmap, refused = REFUSED[machine]
    allow, refuse, no_such = SECCOMP_ALLOW, SECCOMP_ERRNO | errno.EPERM, SECCOMP_ERRNO | errno.ENOSYS
    # Each line: what is done, how many lines further where it holds and where it does not, and a number.
    lines = [(LOAD, 0, 0, AT_ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, no_such), (LOAD, 0, 0, AT_CALL)]
    lines += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, no_such), (EQUAL, 0, 1, SYS_CLONE3), (RETURN, 0, 0, no_such)]
    for call in refused:
        lines += [(EQUAL, 0, 1, call), (RETURN, 0, 0, refuse)]
    # Memory that is shared and has no file
    lines += [(EQUAL, 1, 0, mmap), (RETURN, 0, 0, allow), (LOAD, 0, 0, AT_FOURTH), (AND, 0, 0, SHARED_ANONYMOUS)]
    lines += [(EQUAL, 0, 1, SHARED_ANONYMOUS), (RETURN, 0, 0, refuse), (RETURN, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    require(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0), "refuse system calls")


def give_up_capabilities() -> None:
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    require(libc.capset(header, nothing), "capset")


def limit(memory: int, own_address_space: int) -> None:
    """Set limits for each process: address space over what torch has, processes, files, and no core dump."""
    with contextlib.suppress(OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
    for what, most in (
        (resource.RLIMIT_AS, own_address_space + (memory + RESERVE_MB) * MB),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    hold_back_reserve()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that grows too large is an OSError, not the end


def hold_back_reserve() -> None:
    """Let this process take no more than a submission may."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most - RESERVE_MB * MB, most))


@contextlib.contextmanager
def reserve() -> Iterator[None]:
    """While it speaks with the grader, let this process take the rest as well."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        yield
    finally:
        hold_back_reserve()


def address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


TIMERS = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}


class TimeUp(KeyboardInterrupt):
    """An answer or a cell has had its time."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after this much processor time, or a multiple of it by the clock.

    The grader has a harder way for what goes on nevertheless.
    """
    if threading.current_thread() is not threading.main_thread():  # only there can it be interrupted
        yield
        return
    by_the_clock = wire.BY_THE_CLOCK * seconds

    def interrupt(number: int, frame: object) -> None:
        raise TimeUp(f"{seconds:g} s of processor time" if number == signal.SIGPROF else f"{by_the_clock:g} s")

    handlers = [(number, signal.signal(number, interrupt)) for number in TIMERS]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, by_the_clock)
    try:
        yield
    finally:
        for timer in TIMERS.values():
            signal.setitimer(timer, 0)
        for number, handler in handlers:
            signal.signal(number, handler)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Stop the clocks of a cell while one of its checks is observed, which has its own."""
    left = [(timer, signal.setitimer(timer, 0)[0]) for timer in TIMERS.values()]
    try:
        yield
    finally:
        for timer, seconds in left:
            signal.setitimer(timer, seconds)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no interrupt come between the parts of a frame: it comes afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGPROF, signal.SIGALRM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Session:
    """One notebook, whose answers are observed when its checks run.

    Attributes:
        cell, checks: the number of the message that asked for the cell that runs, 0 between cells, and how many checks
            that cell has come to
        observed: the number of the message that asked for an answer to be observed; 0 while none is
    """

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.notebook = cells.Notebook(cells.make_shell())
        self.process = os.getpid()
        self.cell, self.checks = 0, 0
        self.observed = 0
        self.one_check, self.one_call = threading.Lock(), threading.Lock()

    def serve(self) -> None:
        """Do what the grader asks, until it hangs up."""
        while True:
            try:
                asked = self.receive()
            except wire.EndedError:
                return
            answer = getattr(self, f"do_{asked['do']}")(asked)
            self.send(asked["id"], answer)

    def send(self, number: int, message: dict[str, Any]) -> None:
        """Answer the message that has this number."""
        with reserve():
            wire.send(self.channel, {"id": number, **message})

    def receive(self) -> dict[str, Any]:
        with reserve():
            received: dict[str, Any] = wire.receive(self.channel, self.ask_outside)
            return received

    def do_greet(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer before a line of the notebook has run: whoever cannot is not the learner's fault."""
        install_stand_in(self.check, asked.get("version", ""))
        qkv = importlib.import_module("qkv")
        self.notebook.shell.user_ns.update(check=qkv.check, progress=qkv.progress)
        return {}

    def do_cell(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run a cell."""
        self.cell, self.checks = asked["id"], 0
        try:
            with at_most(asked["seconds"]):
                error = self.notebook.run(asked["source"], asked["number"])
                return {"error": observing.bounded(error, wire.MAX_ERROR)}
        except TimeUp as up:
            return {"error": f"it was stopped after {up}"}
        except KeyboardInterrupt:  # the cell's own
            return {"error": "KeyboardInterrupt"}
        finally:
            with self.one_check:  # another thread's may go on
                self.cell = 0

    def check(self, question: Any, answer: Any = None) -> None:
        """Have an answer observed that a cell hands to a check, here and now: so it is as the learner's kernel has it.

        Nothing comes of a check that an answer makes, or another process, or a thread that outlives its cell.

        Raises:
            TimeUp: a cell has come to more than `CHECKS`.
        """
        if not isinstance(question, str) or self.observed or os.getpid() != self.process:
            return
        with self.one_check, paused():
            if not self.cell:
                return
            self.checks += 1
            if self.checks > CHECKS:
                raise TimeUp(f"{CHECKS} checks")
            self.send(self.cell, {"kind": "check", "question": observing.bounded(question)})
            asked = self.receive()
            if asked["do"] == "observe":
                self.send(asked["id"], self.observe(answer, asked))

    def do_observe(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Observe what the name in the exercise stands for: no check of that question has run."""
        return self.observe(self.notebook.named(asked["name"]), asked)

    def observe(self, answer: Any, asked: dict[str, Any]) -> dict[str, Any]:
        """Run an answer on cases, twice, and give what was observed."""
        self.observed = asked["id"]
        try:
            with refusing_the_reference(), at_most(asked["seconds"]):
                why = answers.unfit(answer, asked["cases"][0].wants_class)
                if why:
                    return {"kind": why.kind, "seen": why.seen}
                first, again = observing.trace(answer, asked["cases"], asked["gradients"])
        except TimeUp:
            return {"kind": "callable", "stopped": True}
        finally:
            self.observed = 0
        return {"kind": "callable", "first": first, "again": again}

    def ask_outside(self, of: int, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let the grader call an implementation that is hidden from answers: nothing of it is here."""
        with uninterrupted(), self.one_call:
            if not self.observed:
                raise RuntimeError("the test is over")
            call = {"of": of, "object": number, "method": method, "args": args, "kwargs": kwargs}
            self.send(self.observed, {"kind": "call", **call})
            said = self.receive()
        if "raised" in said:
            kind: Any = getattr(builtins, said["raised"].type, None)
            kind = kind if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError
            raise kind(said["raised"].text)
        return hidden.Made(said["made"]) if "made" in said else said["given"]


# ── the course's package, as far as an exercise may see it ────────────────────────────────────────


class Reference(cells.Silent):
    """Stands for a part of the reference: a cell may compare with it, an answer may not use it."""

    refused = False
    __name__: str

    def __init__(self, name: str, bases: Sequence[object] = (), *_: object, **__: object) -> None:
        """Make it of its name; or of a class that a cell derives from one of its kind, and then it is that one."""
        names = [base.name for base in bases if isinstance(base, Reference)]
        self.name: str = names[0] if names else name
        self.__module__, self.__name__ = self.name.rpartition(".")[::2]

    def __call__(self, *_: object, **__: object) -> cells.Silent:
        if Reference.refused:
            raise ImportError(f"your answer uses `{self.name}`, which holds the solution")
        return cells.SILENT

    def __getattr__(self, name: str) -> cells.Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Reference(f"{self.name}.{name}")


@contextlib.contextmanager
def refusing_the_reference() -> Iterator[None]:
    """While an answer runs, the reference raises."""
    Reference.refused = True
    try:
        yield
    finally:
        Reference.refused = False


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `qkv`: what shows things is silent, `check` has an answer observed, and the reference is a name."""

    SHOWN = ("checking", "feedback", "figures", "widgets")

    def __init__(self, check: Callable[..., None], version: str) -> None:
        self.check = check
        self.version = version

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name.partition(".")[0] != "qkv":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        place = module.__name__
        shown = place == "qkv" or place.split(".")[1] in self.SHOWN

        def part(name: str) -> cells.Silent:
            if name.startswith("__"):
                raise AttributeError(name)
            silent = name in (*self.SHOWN, "progress") if place == "qkv" else shown
            return cells.SILENT if silent else Reference(f"{place}.{name}")

        def check(*given: Any, **named: Any) -> cells.Silent:
            self.check(*given, **named)
            return cells.SILENT

        vars(module).update(__getattr__=part, __version__=self.version)
        if place in ("qkv", "qkv.checking"):
            vars(module)["check"] = check


def install_stand_in(check: Callable[..., None], version: str) -> None:
    sys.meta_path.insert(0, StandIn(check, version))


if __name__ == "__main__":
    main()
