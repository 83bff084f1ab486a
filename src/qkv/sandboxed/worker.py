"""The worker: runs untrusted notebooks inside the sandbox, and reports what their answers did.

It is started once, imports torch, and then forks for every submission. It has no reference, no expected value, no seed
and no score. The worker process itself never runs code of a submission: only its forks, the sessions, do.

    worker         waits for submissions, one at a time, and watches the session that runs one
      └ session    pid 1 of its own pid namespace: runs the cells, observes the answers

When the session ends, the kernel ends every process that the session left behind.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import fcntl
import functools
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
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from qkv.sandboxed import answers, cases, cells, hidden, recording, running, wire
from qkv.sandboxed.isolation import quiet, undisturbed
from qkv.sandboxed.time_limit import TIMERS, TimeUp, at_most, timers_paused

CHANNEL = 100  # the file descriptor of the socket to the grader, in a session
MB = 2**20
RESERVE_MB = 64  # extra memory for replies, so that a submission that has used up its own can still be graded
PROCESSES = 64  # of a session
OPEN_FILES = 128  # of each process
FILE_BYTES = 16 * MB  # of each file
CPU_SECONDS = 900  # of each process; the grader's own limit is lower
SCRATCH = "size=32m,nr_inodes=8k,mode=1777"  # mount options of the scratch folder
POLL_MS = 50  # between two measurements of a session's memory
MAX_CHECKS = 100  # of one cell that are made at once; the time of an endless loop of checks is then its cell's own

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
MS_REMOUNT, MS_BIND = 32, 4096
MADV_COLLAPSE = 25
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
SECCOMP_ALLOW, SECCOMP_ERRNO = 0x7FFF0000, 0x50000  # the latter with a number of an error; 0: done, without an effect
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06  # instructions of the kernel's filters (BPF)
# Offsets in `seccomp_data`: the call's number, the architecture, the 1st, the 2nd and the 4th argument.
AT_CALL, AT_ARCHITECTURE, AT_FIRST, AT_SECOND, AT_FOURTH = 0, 4, 16, 24, 40
SOCKET = {"x86_64": 41, "aarch64": 198}  # the number of the call `socket`
# The only families of sockets. Some others leave the session's network: AF_VSOCK reaches the host of a virtual machine.
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
# Locks of files that sessions share would let one session signal to another, or stop a program of the host. So a lock
# is granted and has no effect: a session is alone with its own files.
FLOCK, FCNTL = {"x86_64": 73, "aarch64": 32}, {"x86_64": 72, "aarch64": 25}  # the numbers of these calls
LOCKS = (fcntl.F_SETLK, fcntl.F_SETLKW, 37, 38)  # commands of `fcntl`; the last two are F_OFD_SETLK and F_OFD_SETLKW
REFUSED_COMMANDS = (fcntl.F_SETLEASE, fcntl.F_NOTIFY)  # of `fcntl`: they delay and watch the opening of shared files
X32, SYS_CLONE3, SHARED_ANONYMOUS = 0x40000000, 435, 0x21
# For each machine: its audit architecture, its number of `mmap`, and the numbers of the refused calls. Refused are:
# memory that no process maps (memfd_create, memfd_secret, shmget, msgget, semget, mq_open), kernel keys, access to
# other processes (ptrace, process_vm_*, pidfd_getfd, kcmp), kernel interfaces (bpf, perf_event_open, userfaultfd,
# io_uring_setup), namespaces and mounts, file handles, and watching other processes' files (fanotify,
# inotify_add_watch).
REFUSED = {
    "x86_64": (0xC000003E, 9, (319, 447, 29, 68, 64, 240, 248, 249, 250, 101, 310, 311, 438, 312, 321, 298, 323, 425,
                               272, 308, 165, 166, 155, 161, 428, 429, 430, 431, 432, 433, 442, 303, 304,
                               300, 301, 254)),
    "aarch64": (0xC00000B7, 222, (279, 447, 194, 186, 190, 180, 217, 218, 219, 117, 270, 271, 438, 272, 280, 241, 282,
                                  425, 97, 268, 40, 39, 41, 51, 428, 429, 430, 431, 432, 433, 442, 264, 265,
                                  262, 263, 27)),
}  # fmt: skip
CAPABILITIES_3 = 0x20080522  # the version of the structure that is passed to `capset`

libc = ctypes.CDLL(None, use_errno=True)
python = ctypes.PyDLL(None, use_errno=True)  # its calls keep the GIL, as a fork must


def raise_if_failed(result: int, what: str) -> None:
    """Raise OSError if a system call failed: no session may start without the limits that these calls set."""
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


# ── the worker ────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Run a session for each request, until the grader closes the socket.

    The command line has the number of the socket and the scratch folder. Tell the grader when the worker is ready, and
    how each session ended.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    control.setblocking(True)
    torch.set_num_threads(1)
    warm_up()
    scratch = sys.argv[2]
    gc.collect()
    gc.freeze()  # or a garbage collection in a session would write to every shared page, and so copy it
    use_huge_pages()
    control.sendall(b'{"ready": true}\n')
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not message:
            return
        if not descriptors:
            continue  # a "stop" for a session that had already ended
        memory = int(json.loads(message.split(b"\n")[-2])["memory"])
        others = set(processes())
        session = start_session(descriptors[0], memory, scratch)
        os.close(descriptors[0])
        reason = watch_session(control, session, memory, others)
        control.sendall(json.dumps({"ended": reason}).encode() + b"\n")


def use_huge_pages() -> None:
    """Join this process's memory in pages of 2 MB, so that a fork copies hundreds of page table entries, not 40,000.

    On a kernel that cannot do it, this has no effect. A session that writes to such a page copies only 4 kB of it.
    """
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for place, rights, *_, inode in (line[:5] for line in lines):
        if rights == "rw-p" and inode == "0":
            start, end = (int(address, 16) for address in place.split("-"))
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)


@contextlib.contextmanager
def errors_to_stderr() -> Iterator[None]:
    """Catch every exception, so that none leaves a forked process.

    The last 1,000 characters of its traceback go to stderr, which the grader quotes.
    """
    try:
        yield
    except BaseException:
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc()[-1000:].encode())


def warm_up() -> None:
    """Trigger the lazy initialisation of torch and IPython before forking, so that sessions need not repeat it."""
    first = cells.Notebook(cells.make_shell())
    first.run("import math, torch\nprint(torch.arange(6.0).view(2, 3), torch.zeros(2).bool())\nawait no_such_name", 1)
    first.end()
    tried = [cases.Case(cases.call(torch.ones(2, 3, dtype=kind))) for kind in (torch.float32, torch.float64)]
    for answer in (
        lambda x: (x @ x.mT / 2).masked_fill(x @ x.mT > 1, -1e9).softmax(-1),
        lambda x: torch.stack([torch.exp(x).sum(-1), x.amax(-1)]).log().transpose(0, 1).reshape(-1),
        lambda x: torch.einsum("ij,kj->ik", x, torch.cat([x, x])).tril().cumsum(-1) + torch.arange(4),
    ):
        wire.decode(wire.encode(running.trace(answer, tried, gradients=True)[0])[8:])
    torch.nn.Linear(2, 2)(torch.ones(2)).sum().backward()
    own_modules()


# ── start and end of a session ────────────────────────────────────────────────────────────────────


def start_session(channel: int, memory: int, scratch: str) -> int:
    """Fork a session in new namespaces, as pid 1 of its own, and return its pid here.

    `channel` is the number of its socket, `memory` its limit in MB, `scratch` the folder that it may write to. The
    session never returns from this call. An OSError is raised if the kernel refuses to fork. Any later error goes to
    stderr, and the session ends.
    """
    mapped, tell_mapped = os.pipe()
    session = fork_into(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET)
    if session == 0:
        with errors_to_stderr():
            os.close(tell_mapped)
            if os.read(mapped, 1):
                run_session(channel, memory, scratch)
        os._exit(0)
    os.close(mapped)
    with errors_to_stderr():
        map_user(session)
        os.write(tell_mapped, b"1")
    os.close(tell_mapped)
    return session


def fork_into(flags: int) -> int:
    """Fork a child that starts in new namespaces. Return its pid, and 0 in the child, as `os.fork` does.

    `unshare` would need two forks: after it, only a child of the caller is in the new pid namespace.

    Raises:
        OSError: the kernel refuses.
    """
    pid = int(python.syscall(SYS_CLONE[os.uname().machine], flags | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    raise_if_failed(-1 if pid < 0 else 0, "clone")
    return pid


def map_user(session: int) -> None:
    """Let the session with this process id keep the worker's user and group in its user namespace.

    No other ids exist there, and processes in it cannot change their groups.
    """
    user, group = os.getuid(), os.getgid()
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/{session}/{name}", "w") as file:
            file.write(text)


def watch_session(control: socket.socket, session: int, memory: int, others: set[int]) -> str:
    """Wait until the session ends, and return why. Stop it if the grader asks, or if it uses too much memory.

    Its other processes get a lower priority.

    Args:
        control: the socket to the grader
        session: the session's pid
        memory: MB that the session may use
        others: pids of processes that do not belong to the session

    Returns:
        "stopped", "memory: more than 1024 MB", "signal SIGKILL" or "exit 0", with other numbers and signals
    """
    ended = os.pidfd_open(session)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(control, select.POLLIN)
    start, reason = private_bytes(session), ""
    while not reason:
        ready = dict(poll.poll(POLL_MS))
        if ended in ready:
            break
        if control.fileno() in ready:
            control.recv(4096)
            reason = "stopped"
            continue
        theirs = [pid for pid in processes() if pid not in others]
        if sum(max(0, private_bytes(pid) - start) for pid in theirs) > (memory + RESERVE_MB) * MB:
            reason = f"memory: more than {memory} MB"
        for pid in theirs:
            if pid != session:
                lower_priority(pid)
    os.close(ended)
    with contextlib.suppress(ProcessLookupError):
        os.kill(session, signal.SIGKILL)
    _, status = os.waitpid(session, 0)
    if reason:
        return reason
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def lower_priority(pid: int) -> None:
    """Give a process that a session started the lowest priority, so that many of them do not slow down others."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]


def private_bytes(pid: int) -> int:
    """Return the bytes of memory that a process does not share, or 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        return (resident - shared) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


# ── the session ───────────────────────────────────────────────────────────────────────────────────


def run_session(channel: int, memory: int, scratch: str) -> None:
    """Close all files except the channel, give up all rights, set limits, and serve the grader's requests to the end.

    `memory` is in MB. The session works in `scratch`, and has no standard input, output or error.
    """
    os.setsid()  # or a signal to the process group would also reach the worker
    own = os.dup2(channel, CHANNEL, inheritable=False)
    os.closerange(3, own)
    os.closerange(own + 1, 4096)
    torch_memory = address_space()
    join_new_keyring()
    with contextlib.suppress(OSError), open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")  # a session needs no further user namespaces, in which it would be root
    isolate_files(scratch, memory)
    give_up_capabilities()
    refuse_system_calls()
    set_limits(memory, torch_memory)
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(scratch)
    sys.path.insert(0, "")  # as in a kernel, a notebook imports the modules that it writes
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.close(quiet)
    Session(socket.socket(fileno=own)).serve()


def join_new_keyring() -> None:
    """Join a new session keyring, so that the keys of the user who started the grader are out of reach.

    On a kernel that has no keyrings, or a processor that is not in SYS_KEYCTL, this has no effect.
    """
    machine = os.uname().machine
    if machine in SYS_KEYCTL:
        libc.syscall(SYS_KEYCTL[machine], KEYCTL_JOIN_SESSION_KEYRING, None)


def isolate_files(scratch: str, memory: int) -> None:
    """Mount the session's own scratch folder and shared memory, make devices read-only, and hide /proc.

    An OSError says which step failed.
    """
    raise_if_failed(libc.unshare(CLONE_NEWNS), "new mount namespace")
    raise_if_failed(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    flags = MS_NOSUID | MS_NODEV
    for place in (scratch, "/dev/shm"):
        raise_if_failed(libc.mount(b"tmpfs", place.encode(), b"tmpfs", flags, SCRATCH.encode()), f"mount {place}")
    for device in os.listdir("/dev"):  # these are the host's devices: not even their timestamps may change
        if device != "shm":
            path = os.fsencode(f"/dev/{device}")
            raise_if_failed(
                libc.mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, None),
                f"remount /dev/{device}",
            )
    replace_proc(memory)


def replace_proc(memory: int) -> None:
    """Mount over /proc a folder with the few files that packages read there, about a machine like any other.

    `memory` is that of the machine, in MB. An OSError says which step failed.
    """
    flags, options = MS_NOSUID | MS_NODEV | MS_NOEXEC, b"size=64k"
    raise_if_failed(libc.mount(b"tmpfs", b"/proc", b"tmpfs", flags, options), "hide /proc")
    for name, text in proc_files(memory).items():
        with open(f"/proc/{name}", "w") as file:
            file.write(text)
    raise_if_failed(libc.mount(None, b"/proc", None, flags | MS_REMOUNT | MS_RDONLY, options), "close /proc")


def proc_files(memory: int) -> dict[str, str]:
    """Return the texts of files of /proc, by name, for a machine with this memory, in MB, and one processor."""
    total, free = memory * 1024, memory * 512
    sizes = {"MemTotal": total, "MemFree": free, "MemAvailable": free, "SwapTotal": 0, "SwapFree": 0}
    sizes |= dict.fromkeys(("Buffers", "Cached", "SReclaimable", "Shmem", "Active", "Inactive", "Slab"), 0)
    ticks = "1 0 1 100 0 0 0 0 0 0"
    return {
        "meminfo": "".join(f"{f'{name}:':<16}{size:>8} kB\n" for name, size in sizes.items()),
        "stat": f"cpu  {ticks}\ncpu0 {ticks}\nbtime 1700000000\n",
        "cpuinfo": "processor\t: 0\ncpu MHz\t\t: 2000.000\ncpu cores\t: 1\nphysical id\t: 0\n\n",
        "loadavg": "0.00 0.00 0.00 1/1 1\n",
        "uptime": "1000.00 1000.00\n",
    }


def refuse_system_calls() -> None:
    """Install a seccomp filter that refuses the calls in `REFUSED`, other sockets, and shared anonymous memory.

    Such memory would not count as the memory of any process. The other refused calls are not needed by any answer.
    Locks of files are granted without an effect. On a kind of processor that is not in `REFUSED`, there is no filter.
    """
    machine = os.uname().machine
    if machine not in REFUSED:
        return
    architecture, mmap, refused = REFUSED[machine]
    allow, refuse, no_such = SECCOMP_ALLOW, SECCOMP_ERRNO | errno.EPERM, SECCOMP_ERRNO | errno.ENOSYS
    no_effect = SECCOMP_ERRNO
    # Each line: an instruction, how many lines to skip if its condition is true and if it is false, and an operand.
    lines = [(LOAD, 0, 0, AT_ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, no_such), (LOAD, 0, 0, AT_CALL)]
    lines += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, no_such), (EQUAL, 0, 1, SYS_CLONE3), (RETURN, 0, 0, no_such)]
    for call in refused:
        lines += [(EQUAL, 0, 1, call), (RETURN, 0, 0, refuse)]
    lines += [(EQUAL, 0, 2 + len(FAMILIES), SOCKET[machine]), (LOAD, 0, 0, AT_FIRST)]
    lines += [(EQUAL, len(FAMILIES) - i, 0, family) for i, family in enumerate(FAMILIES)]
    lines += [(RETURN, 0, 0, refuse), (LOAD, 0, 0, AT_CALL)]
    lines += [(EQUAL, 0, 1, FLOCK[machine]), (RETURN, 0, 0, no_effect)]
    commands = [*((command, no_effect) for command in LOCKS), *((command, refuse) for command in REFUSED_COMMANDS)]
    lines += [(EQUAL, 0, 2 + 2 * len(commands), FCNTL[machine]), (LOAD, 0, 0, AT_SECOND)]
    lines += [line for command, end in commands for line in ((EQUAL, 0, 1, command), (RETURN, 0, 0, end))]
    lines += [(RETURN, 0, 0, allow)]
    # mmap with MAP_SHARED | MAP_ANONYMOUS
    lines += [(EQUAL, 1, 0, mmap), (RETURN, 0, 0, allow), (LOAD, 0, 0, AT_FOURTH), (AND, 0, 0, SHARED_ANONYMOUS)]
    lines += [(EQUAL, 0, 1, SHARED_ANONYMOUS), (RETURN, 0, 0, refuse), (RETURN, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    raise_if_failed(
        libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0), "refuse system calls"
    )


def give_up_capabilities() -> None:
    """Give up all of the process's rights beyond those of an ordinary user, for good."""
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    raise_if_failed(libc.capset(header, nothing), "capset")


def set_limits(memory: int, own_address_space: int) -> None:
    """Set the limits of each process: address space, processor time, processes, size and number of files, no core dump.

    A file that gets too large then raises an OSError; too much processor time ends the process.

    `memory` (MB) comes on top of `own_address_space` (bytes), which torch has already.
    """
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
    hold_back_reserve(resource.getrlimit(resource.RLIMIT_AS)[1])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing too large a file raises OSError and ends nothing


def hold_back_reserve(most: int) -> None:
    """Limit this process to the address space that a submission may use: `most` without the reserve."""
    resource.setrlimit(resource.RLIMIT_AS, (most - RESERVE_MB * MB, most))


@contextlib.contextmanager
def using_reserve() -> Iterator[None]:
    """Raise this process's limit by the reserve while it sends to or receives from the grader."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        yield
    finally:
        hold_back_reserve(most)


def address_space() -> int:
    """Return the size of this process's address space, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay the timers' signals until the block ends, so that no frame is sent or received only in part."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TIMERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Session:
    """A session with one notebook: runs its cells, and observes its answers when its checks run.

    Attributes:
        cell_id: the number of the request for the cell that runs; 0 between cells
        checks: how many checks that cell has called
        postponed: the last answer of each question that the cell has checked since its first `MAX_CHECKS` checks
        observe_id: the number of the request for the answer that is being observed; 0 if none is
    """

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.notebook = cells.Notebook(cells.make_shell())
        vars(builtins)["print"] = cells.printing_unseen(sys.stdout)
        self.process = os.getpid()
        self.cell_id, self.checks = 0, 0
        self.postponed: dict[str, Any] = {}
        self.observe_id = 0
        self.one_check, self.one_call = threading.Lock(), threading.Lock()

    def serve(self) -> None:
        """Serve the grader's requests until it closes the socket."""
        with contextlib.suppress(wire.EndedError):
            asked = wire.receive(self.channel)
            while True:
                answer = getattr(self, f"do_{asked['do']}")(asked)
                asked = self.exchange(asked["id"], answer)

    def send(self, number: int, message: dict[str, Any]) -> None:
        """Send the reply to the request with this number, or a message before it."""
        with using_reserve():
            wire.send(self.channel, {"id": number, **message})

    def exchange(self, number: int, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message with the number of a request, and return the grader's next message.

        Raises:
            EndedError: the grader has closed the socket.
        """
        with using_reserve():
            wire.send(self.channel, {"id": number, **message})
            received: dict[str, Any] = wire.receive(self.channel, self.call_in_grader)
            return received

    def do_greet(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Install the stand-in for `qkv`, and reply with nothing.

        This comes before any cell has run, so that a failure up to here is not blamed on the notebook.
        """
        install_stand_in(self.check, asked.get("version", ""))
        qkv = importlib.import_module("qkv")
        self.notebook.shell.user_ns.update(check=qkv.check, progress=qkv.progress)
        return {}

    def do_cell(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run a cell, and return its error and the modules that it could not import.

        Answers that were postponed are observed at its end.
        """
        self.cell_id, self.checks, self.postponed = asked["id"], 0, {}
        try:
            reply = self.run_cell(asked)
            with self.one_check:
                for question, answer in self.postponed.items():
                    self.observe_now(question, answer)
            return reply
        finally:
            with self.one_check:  # wait for a check in another thread
                self.cell_id = 0

    def run_cell(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run a cell within its time.

        Return the fields of the reply: its error, and the modules that it could not import.

        A cell that was stopped has an error that says so.
        """
        try:
            with at_most(asked["seconds"]):
                error = self.notebook.run(asked["source"], asked["number"])
                missing = [recording.bounded(name, wire.MAX_MODULE) for name in self.notebook.missing]
                return {"error": recording.bounded(error, wire.MAX_ERROR), "missing": missing[: wire.MAX_MISSING]}
        except TimeUp as up:
            return {"error": f"TimeUp: it was stopped after {up}", "missing": []}
        except KeyboardInterrupt:  # raised by the cell itself
            return {"error": "KeyboardInterrupt", "missing": []}

    def check(self, question: Any, answer: Any) -> None:
        """Observe the answer that a cell passes to `check`, at once: later cells could change it.

        After `MAX_CHECKS` checks of a cell, only the last answer to each question is observed, when the cell ends; of
        at most `MAX_CHECKS` questions. Calls of `check` by an answer, by another process, or by a thread that outlives
        its cell are ignored, as are those whose question is no text.
        """
        if not isinstance(question, str) or self.observe_id or os.getpid() != self.process:
            return
        with self.one_check, timers_paused():
            if not self.cell_id:
                return
            self.checks += 1
            if self.checks <= MAX_CHECKS:
                self.observe_now(question, answer)
            elif question in self.postponed or len(self.postponed) < MAX_CHECKS:
                self.postponed[question] = answer

    def observe_now(self, question: str, answer: Any) -> None:
        """Tell the grader that the cell checks an answer, and observe the answer if the grader asks for it."""
        asked = self.exchange(self.cell_id, {"kind": "check", "question": recording.bounded(question)})
        with undisturbed(), quiet():  # once for all implementations that a test is tried on
            while asked["do"] == "observe":
                seen = self.observe(answer, asked)
                if not asked["more"]:
                    self.send(asked["id"], seen)
                    return
                asked = self.exchange(asked["id"], seen)

    def do_observe(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Observe the answer with the name in the exercise, for a question that no check has asked about."""
        with undisturbed(), quiet():
            return self.observe(self.notebook.value_of(asked["name"]), asked)

    def observe(self, answer: Any, asked: dict[str, Any]) -> dict[str, Any]:
        """Run an answer on the cases, twice, and return the fields of the reply: both traces, or why there are none.

        It may disturb this process.
        """
        self.observe_id = asked["id"]
        try:
            with refusing_the_reference(), at_most(asked["seconds"]):
                unfit = answers.unfit(answer, asked["cases"][0].wants_class)
                if unfit:
                    return {"kind": unfit.kind, "seen": unfit.seen}
                first, again = running.trace_twice(answer, asked["cases"], asked["gradients"])
        except TimeUp:
            return {"kind": "callable", "stopped": True}
        finally:
            self.observe_id = 0
        return {"kind": "callable", "first": first, "again": again}

    def call_in_grader(self, of: int, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ask the grader to call a hidden implementation, which is not here, and return the result.

        Args:
            of: the number of the implementation
            number: the index of an object that it made, 0 for the implementation itself
            method: the method's name, "" to call the object
            args, kwargs: the arguments

        Raises:
            Exception: what the implementation raised, as a built-in exception; a RuntimeError if no answer is running.
        """
        with uninterrupted(), timers_paused(), self.one_call:  # the grader's time is not the answer's
            if not self.observe_id:
                raise RuntimeError("the test is over")
            call = {"of": of, "object": number, "method": method, "args": args, "kwargs": kwargs}
            said = self.exchange(self.observe_id, {"kind": "call", **call})
        if "raised" in said:
            kind: Any = getattr(builtins, said["raised"].type, None)
            kind = kind if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError
            raise kind(said["raised"].text)
        return hidden.Made(said["made"]) if "made" in said else said["given"]


# ── a stand-in for the course's package ───────────────────────────────────────────────────────────


class Reference(cells.Silent):
    """A stand-in for a part of the reference: a cell may compare with it, but an answer that calls it fails."""

    refused = False  # True while an answer runs
    __name__: str

    def __init__(self, name: str, bases: Sequence[object] = (), *_: object, **__: object) -> None:
        """Make a stand-in from its full name.

        If a cell derives a class from a stand-in, Python calls this with the new class's name and bases. The result
        then has the name of that base.
        """
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
    """Let calls of the reference raise ImportError while an answer runs."""
    Reference.refused = True
    try:
        yield
    finally:
        Reference.refused = False


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer that replaces `qkv`: displays are silent, `check` observes an answer, the rest is `Reference`."""

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
        """Fill a stand-in for a module of the course.

        Displays do nothing, `check` passes the answer on, and every other name is a `Reference`.
        """
        place = module.__name__
        shown = place == "qkv" or place.split(".")[1] in self.SHOWN

        def part(name: str) -> cells.Silent:
            if name.startswith("__"):
                raise AttributeError(name)
            silent = name in self.SHOWN if place == "qkv" else shown
            return cells.SILENT if silent else Reference(f"{place}.{name}")

        def check(question: Any, answer: Any) -> cells.Report:
            self.check(question, answer)
            return cells.Report(str(question))

        vars(module).update(__getattr__=part, __version__=self.version)
        if place.startswith("qkv.checking") or place == "qkv":
            vars(module).update(check=check, progress=cells.progress)
        if place.startswith("qkv.checking"):
            vars(module).update(Report=cells.Report, Progress=cells.Progress)


def install_stand_in(check: Callable[..., None], version: str) -> None:
    """Let `import qkv` import the stand-in. The modules of this package go on, but are no longer found by name."""
    for name in own_modules():
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, StandIn(check, version))


@functools.cache
def own_modules() -> list[str]:
    """Return the names of this package's modules. A worker looks for them once: each session would copy the memory."""
    return [name for name in sys.modules if name.partition(".")[0] == "qkv"]
