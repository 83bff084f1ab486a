"""What a session sees of this machine, and what is said where no sandbox can be had."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbgrader
import pytest

from qkv.grading import groups, replies, sandbox
from qkv.sandboxed import wire

SHOWN = """
import json, os
def seen(code):
    try:
        return eval(code)
    except Exception as error:
        return type(error).__name__
raise Exception(json.dumps([seen(code) for code in CODES]))
"""


@pytest.fixture(scope="module")
def worker(needs_sandbox: None) -> Iterator[sandbox.Worker]:
    """A worker whose package is where another one is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox.qkv, "__file__", nbgrader.__file__)
        started = sandbox.start()
    yield started
    started.stop()


@pytest.fixture
def ask(worker: sandbox.Worker) -> Iterator[Callable[..., list]]:
    """Evaluate expressions in a session of its own."""
    channel = worker.open_session(256)

    def ask(*codes: str) -> list:
        source = SHOWN.replace("CODES", repr(list(codes)))
        wire.send(channel, {"do": "cell", "id": 1, "source": source, "number": 1, "seconds": 10})
        said = replies.read(wire.receive_frame(channel, 20), 1, replies.cell)
        return json.loads(said.error.removeprefix("Exception: ").rpartition(" in line ")[0])

    yield ask
    worker.close_session(channel)
    worker.end_of_session()


def test_a_session_sees_python_and_little_else(ask):
    package = str(Path(nbgrader.__file__).parent)
    listed = ("/proc", "/course", "/course/qkv", str(Path.home()), ".")
    roots, own, user, processes, course, package_of_course, home, scratch = ask(
        "sorted(os.listdir('/'))",
        f"os.listdir({package!r})",
        "[os.getuid(), os.getpid(), os.getppid()]",
        *(f"sorted(os.listdir({place!r}))" for place in listed),
    )
    assert {"course", "dev", "proc", "tmp", "usr"} <= set(roots)
    assert own == [], "an installed package of the course would be hidden"
    assert user[0] != 0
    assert user[1:] == [1, 0]
    assert processes == ["cpuinfo", "loadavg", "meminfo", "stat", "uptime"]
    assert [course, package_of_course] == [["qkv"], ["sandboxed"]]
    assert home in ("FileNotFoundError", []) or set(home) <= {Path(sys.base_prefix).relative_to(Path.home()).parts[0]}
    assert scratch == []


def test_a_session_can_write_to_scratch_space_alone(ask):
    places = (
        "/x",
        "/course/qkv/sandboxed/worker.py",
        "/usr/x",
        "/proc/x",
        f"{Path(nbgrader.__file__).parent}/x",
        "/dev/x",
    )
    assert set(ask(*(f"open({place!r}, 'w').write('x')" for place in places))) <= {"OSError", "PermissionError"}
    assert ask("open('x', 'w').write('x')", "open('x').read()") == [1, "x"]


def test_nothing_of_the_host_is_there_but_what_programs_need(ask):
    """Neither nbgrader's exchange, nor a checkout under /usr/src, nor what else the host has in /usr."""
    places = (
        "/usr/local/share",
        "/usr/src",
        "/usr/share/nbgrader",
        "/etc/passwd",
        "/etc/hostname",
        "/home",
        "/var",
        "/srv",
    )
    assert ask(*(f"os.path.exists({place!r})" for place in places)) == [False] * len(places)
    assert set(ask("sorted(os.listdir('/usr'))")[0]) <= {"bin", "sbin", "lib", "lib32", "lib64", "share", "local"}
    assert ask("os.uname().nodename", "__import__('socket').gethostname()") == ["sandbox", "sandbox"]


def test_a_python_in_usr_does_not_show_all_of_usr(monkeypatch):
    for prefix in ("/usr", "/usr/local"):
        monkeypatch.setattr(sandbox.sys, "prefix", prefix)
        monkeypatch.setattr(sandbox.sys, "base_prefix", prefix)
        assert not {prefix, f"{prefix}/share", f"{prefix}/src"} & {*sandbox.needed_folders(), *sandbox.SYSTEM}


def test_sockets_stay_in_the_sandbox(ask):
    """AF_VSOCK reaches the machine that hosts this one, AF_NETLINK and AF_PACKET the kernel's own tables."""
    said = ask(*(f"__import__('socket').socket({family}, 2)" for family in (40, 16, 17, 38, 29, 31)))
    assert set(said) == {"PermissionError"}
    usable = ("__import__('socket').socketpair() and 1", "__import__('socket').socket().fileno() > 0")
    assert ask(*usable, "__import__('socket').socket(__import__('socket').AF_INET6).fileno() > 0") == [1, True, True]


def test_files_of_others_cannot_be_watched_and_names_are_limited(ask):
    libc = "__import__('ctypes').CDLL(None)"
    many = "[open(f'/tmp/{i}', 'w').close() for i in range(20_000)]"
    assert ask(f"{libc}.fanotify_init(0, 0)", many) == [-1, "OSError"]
    inotify = f"[{libc}.inotify_init1(0), {libc}.inotify_add_watch({libc}.inotify_init1(0), b'/usr/lib', 0xfff)]"
    assert ask(f"{inotify}[1]") == [-1]


LOCKED = """(lambda fcntl, file: [fcntl.flock(file, fcntl.LOCK_EX), fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
    fcntl.fcntl(file, fcntl.F_GETFD)])(__import__('fcntl'), globals().setdefault('kept', open(PLACE)))"""


def test_a_lock_is_granted_and_no_other_session_and_no_program_of_the_host_sees_it(ask):
    """Or one learner could signal to another, and stop what the host runs: a lock needs no right to write."""
    shared = Path(json.__file__)  # the same file in every session and out here
    for _ in range(2):
        assert ask(LOCKED.replace("PLACE", repr(str(shared)))) == [[None, None, 1]]
    with shared.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is locked
    refused = [f"__import__('fcntl').fcntl(open({str(shared)!r}), {command}, 0)" for command in (1024, 1026)]
    assert ask(*refused) == ["PermissionError"] * 2
    own = "(lambda base: [base.execute(c) and 0 for c in ('create table t (x)', 'insert into t values (1)')])"
    assert ask(f"{own}(__import__('sqlite3').connect('own.db'))") == [[0, 0]]


def test_what_packages_name_elsewhere_is_not_there(ask):
    """Lines of .pth files, such as those of an editable installation: folders of the host's users."""
    site, own = Path(nbgrader.__file__).parents[1], Path(__file__).resolve().parents[2]
    named = "[line for p in __import__('glob').glob(PLACE) for line in open(p) if line.startswith('/')]"
    lines, exist, told = ask(
        named.replace("PLACE", repr(f"{site}/*.pth")),
        "[p for p in __import__('sys').path if p and os.path.exists(p)]",
        f"[os.path.exists(os.path.join({str(own)!r}, n)) for n in ('src', 'solutions', 'tests', '.git')]",
    )
    assert [line for line in lines if os.path.isdir(line.strip())] == []
    assert all(sandbox.is_under(p, ["/course", sys.prefix, sys.base_prefix, *sandbox.SYSTEM]) for p in exist), exist
    assert told == [False] * 4


def test_packages_that_ask_about_the_machine_get_an_answer(ask):
    assert ask("__import__('getpass').getuser()", "open('/proc/meminfo').readline().split()[::2]") == [
        "learner",
        ["MemTotal:", "kB"],
    ]
    pytest.importorskip("psutil")
    memory = "__import__('psutil').virtual_memory().total // 2**20"
    assert ask(memory, "__import__('psutil').cpu_count()")[0] >= 256


def test_memory_that_no_process_is_seen_to_hold_is_refused(ask):
    taken = ("os.memfd_create('x')", "__import__('mmap').mmap(-1, 4096)")
    assert set(ask(*taken, "os.eventfd(0) and 1 / 0")) <= {"PermissionError", "ZeroDivisionError"}
    calls = ("shmget(1, 4096, 0o1600)", "msgget(1, 0o1600)", "semget(1, 1, 0o1600)")
    assert ask(*(f"__import__('ctypes').CDLL(None).{call}" for call in calls)) == [-1, -1, -1]


def test_what_answers_need_is_not_refused(ask):
    assert ask("os.system('true')", "__import__('subprocess').check_output(['echo', 'x'], text=True)") == [0, "x\n"]
    assert ask(
        "__import__('multiprocessing').Lock().acquire()", "__import__('asyncio').run(__import__('asyncio').sleep(0))"
    )


def test_keys_of_the_host_are_not_there(needs_sandbox):
    """A key in the session's keyring of whoever starts the grader, as a Kerberos ticket or a disk's key may be."""
    if sandbox.os.uname().machine != "x86_64":
        pytest.skip("the numbers of these system calls are those of x86_64")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(250, 1, None) < 0:  # join a session keyring of our own
        pytest.skip("this system has no keys")
    assert libc.syscall(248, b"user", b"qkv-test", b"secret", 6, -3) > 0
    seek = "__import__('ctypes').CDLL(None).syscall(249, b'user', b'qkv-test', None, 0)"
    assert libc.syscall(249, b"user", b"qkv-test", None, 0) > 0, "the key is there, outside"
    worker = sandbox.start()
    channel = worker.open_session(256)
    source = SHOWN.replace("CODES", repr([seek]))
    wire.send(channel, {"do": "cell", "id": 1, "source": source, "number": 1, "seconds": 10})
    assert replies.read(wire.receive_frame(channel, 20), 1, replies.cell).error.startswith("Exception: [-1]")
    worker.close_session(channel)
    worker.stop()


def test_a_session_has_no_device_but_three_and_cannot_set_their_times(ask):
    assert sorted(ask("sorted(os.listdir('/dev'))")[0]) == ["null", "random", "shm", "urandom"]
    before = os.stat(os.devnull).st_mtime_ns
    assert ask("os.utime('/dev/null')", "open('/dev/null', 'w').write('x')") == ["OSError", 1]
    assert os.stat(os.devnull).st_mtime_ns == before


def test_each_session_has_a_network_of_its_own(needs_sandbox):
    worker = sandbox.start()
    with contextlib.ExitStack() as kept_open:  # a network that is open keeps its number: no later one gets it
        seen = []
        for _ in range(2):
            channel = worker.open_session(256)
            wire.send(channel, {"do": "greet", "id": 1}, 10)
            wire.receive_frame(channel, 10)
            network = f"/proc/{sandbox._descendants(worker.process.pid)[-1]}/ns/net"
            kept_open.enter_context(open(network))
            seen.append(os.readlink(network))
            worker.close_session(channel)
            worker.end_of_session()
        seen += [os.readlink(f"/proc/{worker.process.pid}/ns/net"), os.readlink("/proc/self/ns/net")]
    worker.stop()
    assert len(set(seen[:2])) == 2
    assert not set(seen[:2]) & set(seen[2:])


def test_every_copy_of_the_course_is_hidden_and_no_other_package(tmp_path):
    packages = tmp_path / "python" / "lib" / "python3.11" / "site-packages"
    for name in ("qkv", "qkv-0.1.0.dist-info", "qkvlike", "torch/qkv"):
        (packages / name).mkdir(parents=True)
    for name in ("course/solutions", "other/solutions", "course/src/qkv"):
        (tmp_path / "python" / name).mkdir(parents=True)
    (tmp_path / "python" / "course" / "solutions" / "03_scaling.ipynb").write_text("{}")
    (tmp_path / "python" / "course" / ".git").mkdir()
    (packages / "qkv-0.2.egg").write_text("a zipped one")
    (packages / "_editable_impl_qkv.pth").write_text("/home/ann/course/src")
    found = [
        str(Path(place).relative_to(tmp_path / "python")) for place in sandbox.hidden_paths([str(tmp_path / "python")])
    ]
    site = "lib/python3.11/site-packages"
    assert found == ["course", *(f"{site}/{name}" for name in ("_editable_impl_qkv.pth", "qkv", "qkv-0.1.0.dist-info",
                                                               "qkv-0.2.egg"))]  # fmt: skip


def test_python_is_not_hidden_with_a_repository_that_holds_it(tmp_path):
    (tmp_path / "course" / "solutions").mkdir(parents=True)
    (tmp_path / "course" / "solutions" / "03_scaling.ipynb").write_text("{}")
    prefix = tmp_path / "course" / ".venv"
    prefix.mkdir()
    assert sandbox.hidden_paths([str(tmp_path), str(prefix)]) == [str(tmp_path / "course" / "solutions")]


@pytest.mark.parametrize(
    ("version", "shares"),
    [("2", {"cpu.weight"}), ("1", {"cpu/cpu.shares"})],
)
def test_memory_processes_and_shares_of_the_processors_are_limited(tmp_path, monkeypatch, version, shares):
    """In both versions of control groups each worker has the same share, however many processes it starts."""
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    monkeypatch.setattr(groups, "remove_abandoned", lambda: None)
    for controller in ("memory", "pids", "cpu", "cpuacct"):
        (tmp_path / controller).mkdir()
    if version == "2":
        (tmp_path / "cgroup.controllers").touch()

    def limits() -> dict[str, str]:
        made = groups.make(memory=256, processes=20).folders
        assert made
        files = [path for folder in made for path in folder.iterdir()]
        return {re.sub(r"qkv-\d+-\d+/", "", str(path.relative_to(tmp_path))): path.read_text() for path in files}

    one, other = limits(), limits()
    assert one == other
    assert shares <= one.keys()
    bound = {Path(name).name: int(limit) for name, limit in one.items()}
    assert bound.get("memory.max", bound.get("memory.limit_in_bytes")) == (256 + groups.OWN_MB) * groups.MB
    assert bound["pids.max"] == 20 + groups.OWN_PROCESSES


def test_groups_of_a_grader_that_was_killed_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    groups.remove_abandoned.cache_clear()
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (f"memory/qkv-{gone.pid}-0", f"memory/qkv-{os.getpid()}-0", "memory/user.slice"):
        (tmp_path / name).mkdir(parents=True)
    groups.remove_abandoned()
    groups.remove_abandoned.cache_clear()
    assert sorted(path.name for path in (tmp_path / "memory").iterdir()) == [f"qkv-{os.getpid()}-0", "user.slice"]


def test_removing_groups_waits_for_those_in_use_and_not_for_those_that_are_gone(tmp_path, monkeypatch):
    waits: list[float] = []
    (tmp_path / "in use" / "task").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(groups.time, "sleep", waits.append)
    groups.Group([tmp_path / "gone", tmp_path / "empty"]).remove()
    assert (waits, (tmp_path / "empty").exists()) == ([], False)
    groups.Group([tmp_path / "in use"]).remove()
    assert sum(waits) == pytest.approx(1.0)


BUSY = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        while True:
            pass
time.sleep(600)
"""


def test_a_workers_memory_is_in_few_large_pages(worker: sandbox.Worker):
    """A fork copies an entry for each page, which would take half of the time to start a session."""
    kernel = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    if kernel < (6, 1) or not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("this kernel cannot join pages when a process asks for it")
    huge = 0
    for pid in sandbox._descendants(worker.process.pid):
        with contextlib.suppress(OSError):
            huge = max(
                huge, int(re.findall(r"AnonHugePages: *(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())[0])
            )
    assert huge > 50_000


def test_the_own_wait_for_a_processor_is_that_of_this_process():
    first = sandbox.own_waiting_seconds()
    assert 0 <= first <= sandbox.waiting_seconds(os.getpid()) <= sandbox.own_waiting_seconds()
    child = os.fork()
    if child == 0:  # it has waited for less than this process, whose file it must not read
        os._exit(0 if sandbox.own_waiting_seconds() <= sandbox.waiting_seconds(os.getpid()) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("grouped", [True, False], ids=["control groups", "none"])
def test_processor_time_is_counted_over_all_processes(needs_sandbox, monkeypatch, grouped):
    if not grouped:
        monkeypatch.setattr(groups, "make", lambda memory, processes: groups.Group())
    worker = sandbox.start()
    channel = worker.open_session(256)
    wire.send(channel, {"do": "cell", "id": 1, "source": BUSY, "number": 1, "seconds": 60})
    before = worker.processor_seconds()
    until = time.monotonic() + 60
    while worker.processor_seconds() < before + 1 and time.monotonic() < until:
        time.sleep(0.1)
    assert worker.processor_seconds() >= before + 1
    priorities = {os.getpriority(os.PRIO_PROCESS, pid) for pid in sandbox._descendants(worker.process.pid)}
    assert 19 in priorities, "what a session starts goes last"
    assert worker.longest_wait() > 0
    worker.close_session(channel)
    worker.stop()


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
    wire.send(channel, {"do": "cell", "id": 1, "source": HOARD_TOGETHER, "number": 1, "seconds": 20})
    with pytest.raises(wire.EndedError):
        wire.receive_frame(channel, 15)
    assert worker.end_of_session() == "memory: more than 256 MB"
    channel.close()
    worker.stop()


def test_scratch_space_never_hides_python():
    assert sandbox.scratch_folder(["/opt/python"]) == "/tmp"
    assert sandbox.scratch_folder(["/opt/python", "/tmp/course/.venv"]) == "/scratch"


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
    code = "from qkv.grading import sandbox; print([sandbox.why_unavailable()])"
    done = subprocess.run([way, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "['']\n", done.stderr


def test_it_says_why_there_is_no_sandbox(monkeypatch):
    sandbox.why_unavailable.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "apt-get install bubblewrap" in sandbox.why_unavailable()
    sandbox.why_unavailable.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "needs Linux, and this is darwin" in sandbox.why_unavailable()
    sandbox.why_unavailable.cache_clear()


def test_what_a_system_cannot_hold_is_said_at_the_start_and_on_the_page_for_instructors(monkeypatch):
    monkeypatch.setattr(groups, "make", lambda memory, processes: groups.Group())
    monkeypatch.setattr(sandbox, "FILTERED", ())
    page = Path(__file__).parents[2] / "book" / "instructors-grading.md"
    said, text = sandbox.weaknesses(), " ".join(page.read_text(encoding="utf-8").split())
    on_both, on_the_page = ("measured 20 times a second", "shared segments"), ("slow down its neighbours",)
    assert len(said) == 3
    assert [words for words in (*on_both, *on_the_page) if words not in text] == []
    assert [words for words in on_both if not any(words in note for note in said)] == []


def test_a_worker_that_does_not_start_says_what_it_said(monkeypatch):
    monkeypatch.setattr(
        sandbox, "sandboxed_command", lambda control: ["sh", "-c", "echo no user namespaces >&2; exit 1"]
    )
    with pytest.raises(sandbox.UnavailableError, match="no user namespaces"):
        sandbox.start()
