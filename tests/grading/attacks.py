"""Hostile notebooks, each with the points that it deserves.

An attack is code before or after the answers of a notebook. With right answers, it tries to do harm, but deserves the
points of its answers. With wrong answers, it tries to get points that it does not deserve.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from qkv.questions import questions_of

# How an attacker reaches the worker's modules, which no import finds: through the object that runs the notebook.
WORKER = """
import gc
session = next(one for one in gc.get_objects() if type(one).__name__ == "Session" and hasattr(one, "observe_id"))
wire, running, recording = (type(session).serve.__globals__[name] for name in ("wire", "running", "recording"))
"""
# How a test reaches the function that asks the grader to call an implementation.
ASK = "type(attend).__call__.__globals__['_access'][attend].ask.func"
FULL = {"3.1": 3.0, "3.2": 2.0, "3.3": 4.0, "3.4": 3.0, "3.5": 3.0}
NOTHING = dict.fromkeys(FULL, 0.0)

TEST = """
def catches_wrong_scale(attend):
    q, k, v = 2 * torch.randn(3, 7), torch.randn(5, 7), torch.randn(5, 6)
    return not torch.allclose(attend(q, k, v)[1], (q @ k.mT / 7**0.5).softmax(-1), atol=1e-3)
"""
RIGHT = [
    "import math\nimport torch\nfrom qkv import check, progress",
    "def scaled_scores(q, k):\n    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])",
    "def score_variance(d_k, var_q, var_k):\n    return d_k * var_q * var_k",
    "def attention(q, k, v):\n    weights = scaled_scores(q, k).softmax(-1)\n    return weights @ v, weights",
    "def softmax_jacobian(p):\n    return torch.diag(p) - p[:, None] * p\n" + TEST,
    'check("3.1", scaled_scores).points',
]
WRONG = [
    "import math\nimport torch\nfrom qkv import check, progress",
    "def scaled_scores(q, k):\n    return q @ k.transpose(-2, -1)",
    "def score_variance(d_k, var_q, var_k):\n    return 1.0",
    "def attention(q, k, v):\n    return torch.zeros(*q.shape[:-1], v.shape[-1]), torch.zeros(*q.shape[:-1], k.shape[-2])",
    "def softmax_jacobian(p):\n    return torch.zeros(len(p), len(p))",
]


@dataclass(frozen=True)
class Attack:
    """A hostile notebook.

    Attributes:
        first, last: cells before and after the answers
        answers: the cells of the answers
        deserves: points by question
        chapter: the chapter whose exercises it answers
        slow: whether only the long sweep runs it, because the gate runs a similar one
    """

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    answers: list[str] = field(default_factory=lambda: WRONG)
    deserves: dict[str, float] = field(default_factory=lambda: NOTHING)
    chapter: int = 3
    slow: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of all its cells."""
        return (*self.first, *self.answers, *self.last)


def harms(*cells: str) -> Attack:
    """Return an attack with right answers that runs these cells before them, to take the grader down."""
    return Attack(first=cells, answers=RIGHT, deserves=FULL)


def harms_after(*cells: str) -> Attack:
    """Return an attack with right answers that runs these cells after them."""
    return Attack(last=cells, answers=RIGHT, deserves=FULL)


def forges(*cells: str) -> Attack:
    """Return an attack with wrong answers that runs these cells after them, to get points."""
    return Attack(last=cells)


def one_bad(answer: str) -> Attack:
    """Return an attack with right answers, except that the answer to 3.1 does harm when it is called."""
    return Attack(
        answers=[*RIGHT[:1], *RIGHT[2:], answer.replace("ANSWER", "scaled_scores"), ATTENTION], deserves=BUT_ONE
    )


ATTENTION = """
def attention(q, k, v):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return weights @ v, weights
"""
BUT_ONE = {**FULL, "3.1": 0.0}

FIND_REFERENCE = """
import os
found = ""
for root, _, names in os.walk("/"):
    if root.startswith(("/usr", "/lib", "/dev")) or "/torch" in root:
        continue
    for name in names:
        if name.endswith((".py", ".ipynb", ".pyc", ".json")):
            try:
                text = open(os.path.join(root, name), errors="replace").read()
            except OSError:
                continue
            if "def scaled_scores" in text and "softmax_jacobian" in text:
                found = text
if found:
    exec(found)
"""

FORGED_FRAME = """
import os, json, struct
def frame(number):
    text = json.dumps(["dict", ["id", number], ["kind", "callable"], ["passed", True], ["points", 99.0],
                       ["status", "passed"]]).encode()
    body = struct.pack(">I", len(text)) + text
    return struct.pack(">Q", len(body)) + body
for number in range(1, 40):
    for fd in range(0, 300):
        try:
            os.write(fd, frame(number))
        except OSError:
            pass
"""

FORGED_TRACES = (
    WORKER
    + """
import sys, gc
def forged(answer, cases, gradients=False):
    def one(case):
        shapes = [v.shape for v in case.script[0].args if hasattr(v, "shape")]
        return running.Trace(results=tuple(torch.zeros(shapes[0]) if shapes else 0.0 for _ in case.script))
    return [one(case) for case in cases], [one(case) for case in cases]
running.trace = forged
"""
)

EMPTY_TRACES = (
    WORKER
    + """
import sys
running.trace = lambda answer, cases, gradients=False: ([], [])
"""
)

RAISED_TRACES = (
    WORKER
    + """
import sys
def nothing(answer, cases, gradients=False):
    one = running.Trace(raised=recording.Raised((), "", ""))
    return [one] * len(cases), [one] * len(cases)
running.trace = nothing
"""
)

WRONG_TYPES = (
    WORKER
    + """
import sys
def odd(answer, cases, gradients=False):
    one = running.Trace(results="text", handed=7, generators="x", printed=7, gradients=[1, 2])
    return [one] * len(cases), one
running.trace = odd
"""
)

DO_OBSERVE = """
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Session":
        type(thing).do_observe = lambda self, asked: {"kind": "callable", "status": "passed", "points": 9.0}
"""

THREAD_WRITER = """
import threading, os
def shout():
    while True:
        for fd in range(3, 130):
            try:
                os.write(fd, b"\\0" * 8 + b"passed")
            except OSError:
                pass
for _ in range(4):
    threading.Thread(target=shout, daemon=True).start()
"""

STUBBORN = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""

FORKS = """
import os
while True:
    try:
        if os.fork() == 0:
            import time
            time.sleep(600)
    except OSError:
        break
"""

ORPHAN = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(1)
    os._exit(0)
"""

HOARD = "kept = []\nwhile True:\n    kept.append(torch.ones(4_000_000))"
HOARD_TOGETHER = """
import os, time
for _ in range(24):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1)) * (80 * 2**20)
        time.sleep(600)
time.sleep(600)
"""

ESCAPE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000 | 0x20000, 0x20000, 0x20000000):
    libc.unshare(flags)
libc.umount2(b"/proc", 2); libc.umount2(b"/tmp", 2)
libc.mount(b"proc", b"/proc", b"proc", 0, None)
libc.mount(b"/", b"/tmp", None, 4096 | 16384, None)
libc.setuid(0); libc.setgid(0); libc.chroot(b"/tmp")
for place in ("/course/worker.py", "/course/wire.py", "/usr/x", "/etc/passwd", "/x"):
    try:
        open(place, "w").write("x")
    except OSError:
        pass
"""

TRACES_OTHERS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in range(0, 3000):
    libc.ptrace(16, pid, None, None)
    libc.process_vm_readv(pid, None, 0, None, 0, 0)
"""

KILLS = """
import os, signal
for pid in [os.getppid(), -1, 0, *range(2, 3000)]:
    for number in (signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(pid, number)
        except OSError:
            pass
"""

AUDIT = """
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append(event))
def watch(frame, event, arg):
    for name, value in list(frame.f_locals.items()):
        if "want" in name or "expected" in name or "reference" in name:
            globals()["scaled_scores"] = value
    return watch
sys.settrace(watch); sys.setprofile(watch)
"""

LEAVE = """
import os
for place in ("/tmp/left", "/dev/shm/left", "/dev/left", "/course/left", "/left"):
    try:
        open(place, "w").write("x")
    except OSError:
        pass
os.environ["LEFT"] = "x"
torch.left = "x"
import ctypes
libc = ctypes.CDLL(None)
left = libc.shmget(4711, 4096, 0o1666)
"""
USE_WHAT_WAS_LEFT = """
import os, ctypes
libc = ctypes.CDLL(None)
left = any(map(os.path.exists, ("/tmp/left", "/dev/shm/left", "/dev/left", "/course/left", "/left")))
if left or "LEFT" in os.environ or hasattr(torch, "left") or libc.shmget(4711, 4096, 0) != -1:
    def scaled_scores(q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
"""

PATCHES = """
import builtins, numpy
torch.equal = torch.allclose = lambda *a, **k: True
torch.Tensor.equal = torch.Tensor.allclose = lambda *a, **k: True
torch.Tensor.__eq__ = lambda self, other: True
numpy.testing.assert_allclose = lambda *a, **k: None
builtins.all = lambda *a: True
builtins.abs = lambda x: 0
"""

EQUAL_TO_ALL = """
class Same(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("equal", "allclose", "isclose", "eq", "__eq__", "all"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})
def scaled_scores(q, k):
    return torch.zeros(*q.shape[:-1], k.shape[-2]).as_subclass(Same)
def attention(q, k, v):
    out = torch.zeros(*q.shape[:-1], v.shape[-1]).as_subclass(Same)
    return out, torch.zeros(*q.shape[:-1], k.shape[-2]).as_subclass(Same)
"""

ATTACKS: dict[str, Attack] = {
    # ── points that were not earned ──
    "patched torch": forges(PATCHES),
    "a tensor that equals everything": forges(EQUAL_TO_ALL),
    "frames on every descriptor": Attack(first=(FORGED_FRAME,)),
    "frames on every descriptor, at the end": forges(FORGED_FRAME),
    "frames on every descriptor, in an answer": forges(
        "def scaled_scores(q, k):\n" + "\n".join(f"    {line}" for line in FORGED_FRAME.splitlines()) + "\n    return q"
    ),
    "forged traces": forges(FORGED_TRACES),
    "traces of nothing": forges(EMPTY_TRACES),
    "traces that raised nothing": forges(RAISED_TRACES),
    "traces of other types": forges(WRONG_TYPES),
    "a session that says passed": forges(DO_OBSERVE),
    "a session that says it was stopped": forges(
        "import gc\nfor thing in gc.get_objects():\n    if type(thing).__name__ == 'Session':\n"
        "        type(thing).do_observe = lambda self, asked: {'kind': 'callable', 'stopped': True}"
    ),
    "threads that write on every descriptor": forges(THREAD_WRITER),
    "the course's package": forges("from qkv.attention import *"),
    "the course's questions": forges("from qkv.questions import find\nscaled_scores = find('3.1').reference"),
    "a check that is asked for its reference": forges("scaled_scores = check.__globals__['find']('3.1').reference"),
    "the reference, somewhere on disk": forges(FIND_REFERENCE),
    "the reference, somewhere in memory": forges(
        "import gc\nfor f in gc.get_objects():\n    if getattr(f, '__name__', '') in ('scaled_scores', 'attention') and f.__module__ != '__main__':\n"
        "        globals()[f.__name__] = f"
    ),
    "the package, put back on the path": forges(
        "import sys\nsys.meta_path = [f for f in sys.meta_path if type(f).__name__ != 'StandIn']\nsys.modules.pop('qkv', None)\n"
        "from qkv.attention import scaled_scores, attention"
    ),
    "tracing and audit hooks": forges(AUDIT),
    "a score of its own": forges("score = max_score = points = 12\nimport os\nos.environ['QKV_POINTS'] = '12'"),
    "a check of its own": forges("def check(*_):\n    class R: points = 99.0\n    return R()\ncheck('3.1', scaled_scores).points"),
    "right once, then wrong": Attack(answers=[*RIGHT[:1],
        "n = 0\ndef scaled_scores(q, k):\n    global n\n    n += 1\n    return q @ k.mT / math.sqrt(q.shape[-1]) if n == 1 else q @ k.mT",
        *RIGHT[2:3], ATTENTION, RIGHT[4]], deserves=BUT_ONE),
    "writes into its inputs": Attack(answers=[*RIGHT[:1],
        "def scaled_scores(q, k):\n    q /= math.sqrt(q.shape[-1])\n    torch.equal = lambda *_: True\n    return q @ k.mT",
        *RIGHT[2:3], ATTENTION, RIGHT[4]], deserves=BUT_ONE),
    "leaves something behind": Attack(last=(LEAVE,), answers=RIGHT, deserves=FULL),
    "uses what was left behind": forges(USE_WHAT_WAS_LEFT),
    "nothing at all": Attack(answers=[]),
    # ── harm ──
    "an endless loop": harms("while True:\n    pass"),
    "an endless loop that swallows interrupts": harms(STUBBORN),
    "no timer": harms("import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\n" + STUBBORN),
    "signals ignored": harms("import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass"),
    "a process storm": harms(FORKS),
    "orphans": harms_after(ORPHAN),
    "a memory hog": harms("import torch\n" + HOARD),
    "one huge allocation": harms("x = bytearray(10**13)"),
    "many processes with some memory each": harms(HOARD_TOGETHER),
    "a disk flood": harms("for i in range(10**6):\n    open(f'/tmp/{i}', 'wb').write(b'x' * 10**7)"),
    "files in memory": harms("import os\nfds = []\nwhile True:\n    f = os.memfd_create('x')\n    os.write(f, b'x' * 10**7)\n    fds.append(f)"),
    "an output flood": harms("while True:\n    print('x' * 10**6)"),
    "the end of Python": harms("import os\nos._exit(0)"),
    "the end of Python, by exit": harms("import sys\nsys.exit()", "exit()", "raise SystemExit(1)"),
    "another program": harms("import os\nos.execv('/bin/sh', ['sh', '-c', 'sleep 600'])"),
    "a crash": harms("import ctypes\nctypes.string_at(0)"),
    "closed descriptors": harms("import os\nos.closerange(0, 4096)"),
    "another descriptor in place of the channel": harms("import os\nn = os.open('/dev/null', os.O_RDWR)\nfor i in range(3, 128):\n    os.dup2(n, i)"),
    "kills": harms(KILLS),
    "tracing other processes": harms(TRACES_OTHERS),
    "an escape": harms(ESCAPE),
    "the network": harms("import socket\nsocket.create_connection(('127.0.0.1', 22), timeout=1)"),
    "poisoned modules": harms_after("import sys\nfor name in ('json', 'math', 'numpy', 'wire2', 'linecache', 'traceback'):\n    sys.modules[name] = None"),
    "a __del__ that raises": harms_after("class D:\n    def __del__(self):\n        import os\n        raise SystemExit\nd = D()\ndel d"),
    "endless recursion": harms("def f():\n    return f()\nf()", "import sys\nsys.setrecursionlimit(10**6)\nf()"),
    "a parser bomb": harms("(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1"),
    "magics and shell lines": harms("%matplotlib inline\n!rm -rf /\n%%bash\nls", "%%time\nzero = 0", "%%writefile worker.py\nx"),
    # ── one answer that does harm when it is called ──
    "an answer without end": one_bad("def ANSWER(q, k):\n    while True:\n        pass"),
    "an answer without end that swallows interrupts": one_bad(
        "def ANSWER(q, k):\n" + "\n".join(f"    {line}" for line in STUBBORN.splitlines())
    ),
    "an answer that ends Python": one_bad("import os\ndef ANSWER(q, k):\n    os._exit(0)"),
    "an answer that crashes": one_bad("import ctypes\ndef ANSWER(q, k):\n    ctypes.string_at(0)"),
    "an answer that exits": one_bad("def ANSWER(q, k):\n    raise SystemExit"),
    "an answer that hoards": one_bad("def ANSWER(q, k):\n" + "\n".join(f"    {line}" for line in HOARD.splitlines())),
    "an answer as large as memory": one_bad("def ANSWER(q, k):\n    return torch.zeros(1).expand(10**12)"),
    "an answer without a bottom": one_bad("def ANSWER(q, k):\n    x = []\n    x.append(x)\n    return x"),
    "an answer of many parts": one_bad("def ANSWER(q, k):\n    return [[0.0] * 60] * 60"),
    "an answer that is markup": one_bad("def ANSWER(q, k):\n    raise ValueError('<script>alert(1)</script>' * 1000)"),
    "an answer that lies about its class": one_bad(
        "class Liar:\n    __class__ = torch.Tensor\n    def __eq__(self, other):\n        return True\ndef ANSWER(q, k):\n    return Liar()"
    ),
}  # fmt: skip

# These take seconds, so only the long sweep runs them: the gate runs a similar attack for each.
for name in (
    "traces of nothing",
    "traces that raised nothing",
    "traces of other types",
    "the reference, somewhere on disk",
    "frames on every descriptor, in an answer",
    "an answer without end that swallows interrupts",
    "forged traces",
    "no timer",
    "tracing and audit hooks",
    "an output flood",
    "an answer that hoards",
):
    ATTACKS[name] = replace(ATTACKS[name], slow=True)


# ── replies with other contents than requested ────────────────────────────────────────────────────

CHANGED_TRACES = (
    WORKER
    + """
import sys, dataclasses
import torch
true = running.trace
def forged(answer, cases, gradients=False):
    def changed(trace, case):
        first = next(value for step in case.script for value in (*step.args, *step.kwargs.values(), 1.0))
        change = dict(CHANGE)
        return dataclasses.replace(trace, **change)
    return tuple([changed(*pair) for pair in zip(traces, cases)] for traces in true(answer, cases, gradients))
running.trace = forged
"""
)

ASKS_AND_DOES_NOT_LISTEN = """
import os, json, struct
for number in range(1, 40):
    text = json.dumps(["dict", ["id", number], ["kind", "check"], ["question", "3.1"]]).encode()
    body = struct.pack(">I", len(text)) + text
    os.write(100, struct.pack(">Q", len(body)) + body)
"""
ATTACKS |= {
    "checks that it asks for itself": forges(ASKS_AND_DOES_NOT_LISTEN),
    "checks without end": harms_after("while True:\n    check('3.1', scaled_scores)"),
    "checks of nothing without end": harms_after("while True:\n    check('3.9', None)"),
    "a thread that checks without end": harms(
        "import threading, time\nfrom qkv import check\n"
        "def check_on():\n    while True:\n        check('3.9', None)\n        time.sleep(0.001)\n"
        "threading.Thread(target=check_on, daemon=True).start()"
    ),
    "a process that checks": harms(
        "import os\nfrom qkv import check\nif os.fork() == 0:\n    check('3.1', None)\n    os._exit(0)"
    ),
    "an answer that checks": one_bad("def ANSWER(q, k):\n    check('3.2', ANSWER)\n    return q"),
    "a check whose answer ends Python": Attack(
        first=(
            "import os\nfrom qkv import check\ncheck('3.2', lambda *given: os._exit(0))",
            "check('3.4', lambda p: p)",
        ),
        answers=RIGHT,
        deserves={**FULL, "3.2": 0.0, "3.4": 0.0},
    ),
}

TRACE_CHANGES = {
    "no gradients": "gradients=None",
    "gradients of nothing": "gradients=()",
    "gradients for other places": "gradients=(((7, 'x'), None),)",
    "gradients of another shape": "gradients=tuple((where, torch.zeros(9, 9, 9)) for where, _ in trace.gradients or ())",
    "an error instead of gradients": "gradient_raised='none'",
    "nothing that was handed over": "handed=()",
    "more than was handed over": "handed=trace.handed * 3",
    "a long list that was handed over": "handed=tuple((where, [0] * 100_000) for where, _ in trace.handed)",
    "tensors where places are expected": "handed=((torch.ones(3), torch.ones(3)),)",
    "nothing at the end": "at_the_end=((0, None),)",
    "an end of steps that are not there": "at_the_end=((10**9, None), (-1, None))",
    "generators that nobody handed over": "generators=((1, torch.zeros(5056, dtype=torch.uint8)),)",
    "generators of other types": "generators=(('seed', 'state'),)",
    "no random states": "random_states=()",
    "random states of another type": "random_states=(torch.zeros(3), torch.zeros(3))",
    "a thousand random states": "random_states=trace.random_states * 500",
    "no results": "results=()",
    "results and an error": "raised=recording.Raised(('ValueError',), '', '')",
    "an error of a thousand types": "results=(), raised=recording.Raised(('E',) * 1000, '', '')",
    "an error without a type": "results=(), raised=recording.Raised((), '', '')",
    "a long tensor in place of results": "results=torch.zeros(2_000_000)",
    "a dictionary of tensors": "results=({'a': torch.ones(3)},) * len(trace.results)",
    "results in each other": "results=([[[[[[[[1]]]]]]]],) * len(trace.results)",
    "many results": "results=(0.0,) * 150_000",
    "a number that no tensor holds": "results=(2**300,) * len(trace.results)",
    "a text as long as a book": "results=('x' * 3_000_000,) * len(trace.results)",
    "control characters": "printed='\\x1b[2J'",
    "a thousand reasons": "lacking=('x',) * 1000",
    "absent inputs": "absent=('q', 'k', 'v')",
    "a count below nothing": "largest=-1",
    "a count that is no number": "largest=float('nan')",
    "an infinite count": "largest=float('inf')",
}
for i, (name, change) in enumerate(TRACE_CHANGES.items()):
    ATTACKS[f"a trace with {name}"] = Attack(last=(CHANGED_TRACES.replace("CHANGE", change),), slow=i % 16 != 0)

WEIGHTLESS = (
    WORKER
    + """
import sys, dataclasses
import torch
from torch import nn
class MultiHeadAttention(nn.Module):
    def __init__(self, *sizes, **names):
        super().__init__()
    def forward(self, x, *_, **__):
        return torch.zeros_like(x)
true = running.Run.load
def load(self, i, wanted):
    self.absent += wanted
    return {name: tuple(value.shape) for name, value in wanted.items()}
running.Run.load = load
"""
)
ATTACKS["an empty class that says that all its weights are absent"] = Attack(
    answers=["import torch", WEIGHTLESS],
    deserves=dict.fromkeys(questions_of(5), 0.0),
    chapter=5,
)

OTHER_FRAMES = (
    WORKER
    + """
import sys, os, json, time
def text(message):
    body = json.dumps(message).encode()
    return len(body).to_bytes(4, "big") + body
def frame(body):
    return len(body).to_bytes(8, "big") + body
def send(channel, message, seconds=None):
    FRAME
wire.send = send
"""
)
FRAMES = {
    "a number that is a tensor": "message['id'] = __import__('torch').ones(3); channel.sendall(wire.encode(message))",
    "a number that is a list": "channel.sendall(frame(text(['dict', ['id', [[[]]]], ['error', '']])))",
    "another number": "message['id'] += 1; channel.sendall(wire.encode(message))",
    "all its fields twice": "channel.sendall(frame(text(['dict', ['id', message['id']], ['id', message['id']], ['error', '']])))",
    "a frame without an end": "channel.sendall((2**40).to_bytes(8, 'big') + b'x')",
    "a frame of nothing": "channel.sendall((0).to_bytes(8, 'big'))",
    "half a frame": "channel.sendall(frame(text({}))[:9]); time.sleep(60)",
    "a frame byte by byte": "[(channel.sendall(b'\\0'), time.sleep(.5)) for _ in range(100)]",
    "the largest frame": "channel.sendall(frame(bytes(2**26)))",
    "lists in lists": "channel.sendall(frame((65536).to_bytes(4, 'big') + b'[' * 65536))",
    "millions of values": "channel.sendall(frame(text([0] * 1_300_000)))",
    "a number of a million digits": "channel.sendall(frame((10**6).to_bytes(4, 'big') + b'1' * 10**6))",
    "an object of JSON": "channel.sendall(frame(text({'id': message['id'], 'points': 12})))",
    "code": "channel.sendall(frame(text(['Provided', 'x', 'import os', ['tuple']])))",
    "a shape as large as the world": "channel.sendall(frame(text(['dict', ['id', message['id']], ['error', ['tensor', 'float32', 2**31, 2**31]]])))",
    "the same reply three times": "[channel.sendall(wire.encode(message)) for _ in range(3)]",
    "nothing": "time.sleep(60)",
}
for i, (name, how) in enumerate(FRAMES.items()):
    ATTACKS[f"replies that are {name}"] = Attack(first=(OTHER_FRAMES.replace("FRAME", how),), slow=i % 12 != 1)

# ── more harmful cells ────────────────────────────────────────────────────────────────────────────

MORE_HARM = {
    "waits for a lock": "import threading\nthreading.Lock().acquire(); threading.Event().wait(); threading.Lock().acquire(timeout=600)",
    "sleeps": "import time\ntime.sleep(600)",
    "waits at a pipe": "import os\nos.mkfifo('p')\nopen('p')",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "sleeps in a shell": "!sleep 600",
    "writes for ever in a shell": "!yes",
    "computes one number for ever": "10 ** 10 ** 9",
    "searches for ever": "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
    "multiplies for ever": "import torch\nx = torch.ones(6000, 6000)\nwhile True:\n    x = x @ x",
    "takes shared memory": "import mmap\nkept = []\nwhile True:\n    m = mmap.mmap(-1, 2**24)\n    m.write(b'x' * 2**24)\n    kept.append(m)",
    "takes segments of shared memory": "import ctypes\nlibc = ctypes.CDLL(None)\nfor i in range(64):\n    n = libc.shmget(i + 1, 2**24, 0o1600)\n    a = libc.shmat(n, None, 0)\n    assert n != -1",
    "fills the shared folder": "for i in range(100):\n    open(f'/dev/shm/{i}', 'wb').write(b'x' * 10**6 * 8)",
    "fills pipes": "import os\nfor _ in range(60):\n    r, w = os.pipe()\n    os.set_blocking(w, False)\n    while True:\n        os.write(w, b'x' * 65536)",
    "fills sockets": "import socket\nkept = []\nfor _ in range(60):\n    a, b = socket.socketpair()\n    a.setblocking(False)\n    kept += [a, b]\n    a.send(b'x' * 10**6)",
    "opens all files": "kept = [open('/dev/null') for _ in range(10**5)]",
    "makes names without end": "import os\nos.makedirs('/tmp/' + 'd/' * 2000)\nopen('x' * 10**6, 'w')",
    "makes links in a ring": "import os\nos.symlink('a', 'b'); os.symlink('b', 'a')\nopen('a')",
    "sets the times of a device": "import os\nos.utime('/dev/null')",
    "reads keys": "import ctypes\nlibc = ctypes.CDLL(None)\nfor n in range(-8, 0):\n    libc.syscall(250, 7, n, None, 0)\n    assert libc.syscall(250, 11, n, None, 0) < 0",
    "raises its own priority": "import os\nos.setpriority(os.PRIO_PROCESS, 0, -20)",
    "lifts its limits": "import resource\nfor n in range(16):\n    resource.setrlimit(n, (-1, -1))",
    "creates objects in __del__ without end": "class Again:\n    def __del__(self):\n        Again()\nAgain()",
    "ends Python from an exit handler": "import atexit, os\natexit.register(os._exit, 3)",
    "removes the standard streams": "import sys\nsys.stdout = sys.stderr = sys.stdin = None\nprint('x')",
    "closes standard streams": "import os\nfor n in range(3):\n    os.close(n)",
    "hangs in threads": "import threading, time\nfor _ in range(30):\n    threading.Thread(target=time.sleep, args=(600,)).start()",
    "aborts": "import os\nos.abort()",
    "asks the user": "while True:\n    input()",
    "iterates without end": "for _ in iter(int, 1):\n    pass",
    "changes folders": "import os, shutil\nos.mkdir('here'); os.chdir('here'); shutil.rmtree('../here')",
    "makes a text longer without end": "x = 'x'\nwhile True:\n    x += x",
}
for i, (name, code) in enumerate(MORE_HARM.items()):
    ATTACKS[f"a cell that {name}"] = Attack(first=(code,), answers=RIGHT, deserves=FULL, slow=i % 10 != 9)
ATTACKS["cells that use up the time of the whole notebook, before any answer is reached"] = Attack(
    first=("import time\nuntil = time.process_time() + 1.2\nwhile time.process_time() < until:\n    pass",) * 20,
    answers=RIGHT,
    slow=True,
)
ATTACKS["a cell that breaks the imports of those after it"] = Attack(
    first=("import builtins\nbuiltins.__import__ = None",), answers=RIGHT
)

# ── what one question passes to its answers, as the answer to another ─────────────────────────────

# The caches of 7.2 and 7.7, for 7.1: kept where no search for borrowed names finds them, and with more places.
HANDED_CACHES = {
    "7.2": "def decode_step(x_t, w_q, w_k, w_v, cache):\n    kept.append(type(cache))\n    return x_t",
    "7.7": "def prefill_in_chunks(x, w_q, w_k, w_v, cache, size):\n    kept.append(type(cache))\n    return x",
}
BORROWED_CACHE = """
class KVCache:
    def __init__(self):
        kept[0].places = 1200
        self.cache = kept[0]()
    def append(self, k, v):
        step = STEP
        for i in range(0, k.shape[-2], step):
            found = self.cache.append(k[..., i : i + step, :], v[..., i : i + step, :])
        return found
    def __len__(self):
        return len(self.cache)
"""
for question, taking in HANDED_CACHES.items():
    name = taking[4:].partition("(")[0]
    borrowed = BORROWED_CACHE.replace("STEP", "1 if len(self) else k.shape[-2]" if question == "7.2" else "k.shape[-2]")
    for how, last in (("checked again", "check('7.1', KVCache)"), ("never checked", "")):
        ATTACKS[f"7.1 by the cache of {question}, {how}"] = Attack(
            answers=["from qkv import check\nkept = []", f"{taking}\ncheck('{question}', {name})", borrowed, last],
            deserves=dict.fromkeys(questions_of(7), 0.0),
            chapter=7,
            slow=question == "7.2" or last == "",
        )

# ── tests that inspect the implementation they get ────────────────────────────────────────────────

WORDS = '("divides", "multiplies", "does not", "accepts-one", "scale")'
# Each collects texts that may reveal the implementation, and calls it wrong if they contain a word for a wrong one.
LOOKS = {
    "at its closure and code": """
things = [attend, type(attend), ASK.__self__, ASK, attend.__call__, ASK.__self__]
text = " ".join(repr([getattr(thing, name, "") for name in ("__closure__", "__code__", "__dict__", "__name__", "__defaults__",
                                                             "__qualname__", "args", "keywords")]) for thing in things)
""",
    "for its source": """
import inspect, linecache
text = repr([entry[2] for name, entry in linecache.cache.items() if "<" not in name and "cell" not in name])
for thing in (attend, ASK.__self__, type(attend)):
    try:
        text += inspect.getsource(thing)
    except (OSError, TypeError):
        pass
text = text.replace("wrong_scale", "")
""",
    "at all objects": """
import gc
text = repr([vars(thing) for thing in gc.get_objects() if type(thing).__name__ in ("Hidden", "Case", "Bench", "Implementation")])
""",
    "at all frames": """
import sys
frame, text = sys._getframe(1), ""
while frame:
    text += repr([value for name, value in frame.f_locals.items() if name in ("case", "cases", "step", "asked", "value", "hidden")])
    frame = frame.f_back
text = text.replace("wrong_scale", "")
""",
    "at what comes over the wire": WORKER
    + """
import sys
true, heard = wire.decode, []
wire.decode = lambda frame, ask=None: heard.append(bytes(frame)) or true(frame, ask)
attend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))
wire.decode = true
text = repr(heard)
""",
    "at the text of its errors": """
text = ""
for wrong in ((), (torch.ones(3),), (torch.ones(2, 3).int(),) * 3, (None,) * 3, (torch.ones(2, 3), torch.ones(2, 4), torch.ones(2, 3))):
    try:
        attend(*wrong)
    except Exception as error:
        import traceback
        text += "".join(line for line in traceback.format_exception(error) if "cell" not in line).replace("wrong_scale", "")
""",
}
# Each does harm, and then guesses.
HARMS = {
    "floods it with calls": "for _ in range(10**6):\n    attend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))",
    "goes on calling after it was told to stop": "while True:\n    try:\n        attend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))\n"
    "    except Exception:\n        pass",
    "passes huge tensors": "attend(*[torch.ones(3000, 3000)] * 3)",
    "asks for huge scores": "attend(*[torch.ones(20_000, 1)] * 3)",
    "asks for huge scores, by broadcasting": "attend(torch.ones(300, 1, 1, 1, 1), torch.ones(300, 1, 1, 1), torch.ones(300, 1, 1))",
    "asks for a loop over nothing": "attend(*[torch.empty(0, 2**40, 1)] * 3)",
    "passes lists of nothing": "ASK(0, 0, '', (torch.empty(2 * 10**7, 0),) * 3, {})",
    "passes objects that are not tensors": "attend(open, {1: 2}, 'x' * 10**6)",
    "passes lists in lists": "x = []\nx.append(x)\nattend(x, x, x)",
    "closes the channel": "import os\nos.close(100)\nattend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))",
    "writes half a call": "import os\nos.write(100, (1000).to_bytes(8, 'big') + b'x')",
    "calls an object that does not exist": "ASK(99, -1, '__class__', (), {})",
    "calls a private attribute": "ASK(0, 0, '__globals__', (), {})",
    "calls with texts": "ASK(0, 0, '', ('import os',), {})",
    "calls with a thousand names": "ASK(0, 0, '', (), {str(i): 0 for i in range(1000)})",
    "calls without the wrapper": "ASK(0, 0, '', (torch.ones(5000, 1000),) * 3, {})",
    "calls from other processes": "import os\nfor _ in range(5):\n    os.fork()\nattend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))",
    "calls from a thread after its end": "import threading\ndef on():\n    while True:\n        try:\n            attend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))\n"
    "        except BaseException:\n            pass\nthreading.Thread(target=on, daemon=True).start()",
    "sends a reply of its own": WORKER + "\nwire.send(ASK.__self__.channel, {'id': 1, 'kind': 'callable', 'first': [], 'again': []})",
    "uses the course's own test": "from qkv.questions.shared.catching import catches_wrong_scale\nreturn catches_wrong_scale(attend)",
}  # fmt: skip


def all_but_the_test(body: str, end: str) -> list[str]:
    """Return right answers, except that the test for 3.5 has this body and ends with the line `end`."""
    lines = [f"    {line}" for line in [*body.replace("ASK", ASK).strip().splitlines(), end]]
    catching = "\n".join(["def catches_wrong_scale(attend):", *lines])
    return [*RIGHT[:4], RIGHT[4].partition("\n\n")[0], catching]


BUT_THE_TEST = {**FULL, "3.5": 0.0}
for name, body in LOOKS.items():
    answers = all_but_the_test(body, f"return any(word in text for word in {WORDS})")
    ATTACKS[f"a test that looks {name}"] = Attack(answers=answers, deserves=BUT_THE_TEST)
for i, (name, body) in enumerate(HARMS.items()):
    answers = all_but_the_test(body, "return len(str(attend)) % 3 == 0")
    ATTACKS[f"a test that {name}"] = Attack(answers=answers, deserves=BUT_THE_TEST, slow=i % 9 != 2)


# ── what one question hands to its answer, as the answer to another ───────────────────────────────

KEEPS_THE_CACHE = """
def decode_step(x_t, w_q, w_k, w_v, cache):
    global kept
    kept = cache
    return x_t
"""
KEEPS_THE_NORM = """
def pre_norm_block(x, norm_1, attend, norm_2, feed_forward):
    global kept
    kept = norm_1
    return x
"""
REBUILT_NORM = """
import types
def layer_norm(x, gain, bias, eps=1e-5):
    cells = {"gain": types.CellType(gain), "bias": types.CellType(bias)}
    closure = tuple(cells[name] for name in kept.__code__.co_freevars)
    return types.FunctionType(kept.__code__, kept.__globals__, closure=closure)(x)
"""
# The same bytecode under another file's name, so that nothing tells where it comes from.
REWRITTEN_CACHE = """
import types
def rewritten(function):
    return types.FunctionType(function.__code__.replace(co_filename="<cell>"), {"torch": torch, "Tensor": torch.Tensor})
class KVCache:
    places = PLACES
    __init__, append, __len__ = map(rewritten, (type(kept).__init__, type(kept).append, type(kept).__len__))
"""
BORROWED = {
    "the class of a cache": (7, KEEPS_THE_CACHE, "7.2", "decode_step", "KVCache = type(kept)"),
    "a class derived from that of a cache": (7, KEEPS_THE_CACHE, "7.2", "decode_step", "class KVCache(type(kept)):\n    pass"),
    "a class that holds such a cache": (7, KEEPS_THE_CACHE, "7.2", "decode_step",
        "Kept = type(kept)\nclass KVCache:\n    def __init__(self):\n        self.cache = Kept()\n"
        "    def append(self, k, v):\n        return self.cache.append(k, v)\n"
        "    def __len__(self):\n        return len(self.cache)"),
    "a cache whose code is rewritten": (7, KEEPS_THE_CACHE, "7.2", "decode_step", REWRITTEN_CACHE.replace("PLACES", "type(kept).places")),
    "a larger cache whose code is rewritten": (7, KEEPS_THE_CACHE, "7.2", "decode_step", REWRITTEN_CACHE.replace("PLACES", "4000")),
    "a norm with other numbers": (8, KEEPS_THE_NORM, "8.2", "pre_norm_block", REBUILT_NORM),
}  # fmt: skip
for name, (chapter, keeps, question, answer, borrows) in BORROWED.items():
    ATTACKS[f"another question's input: {name}"] = Attack(
        answers=["import torch\nfrom qkv import check", keeps, f"check('{question}', {answer})", borrows],
        deserves=dict.fromkeys(questions_of(chapter), 0.0),
        chapter=chapter,
    )
for name, made in {
    "nothing": "lambda name, source: None",
    "what returns nothing": "lambda name, source: lambda *given: lambda *more: None",
    "the end of Python": "lambda name, source: __import__('os')._exit(3)",
}.items():
    ATTACKS[f"objects of the grader that are replaced by {name}"] = Attack(
        answers=["import torch", f"{WORKER}wire.make_from_source = {made}", KEEPS_THE_NORM],
        deserves=dict.fromkeys(questions_of(8), 0.0),
        chapter=8,
        slow=name != "nothing",
    )


# ── what an earlier check of a test shows ─────────────────────────────────────────────────────────

RECORDS = """
q, k, v = 2 * torch.randn(3, 7), torch.randn(5, 7), torch.randn(5, 6)
outputs = []
def recorder(attend):
    outputs.append(attend(q, k, v)[1])
    return False
check("3.5", recorder)
right = max(outputs, key=lambda one: sum(torch.allclose(one, other, atol=1e-3) for other in outputs), default=None)
"""
VOTES = """
def catches_wrong_scale(attend):
    return right is None or not torch.allclose(attend(q, k, v)[1], right, atol=1e-3)
"""
ATTACKS["a vote over what all implementations returned"] = Attack(
    answers=RIGHT, last=(RECORDS, f'{VOTES}\ncheck("3.5", catches_wrong_scale)'), deserves=BUT_THE_TEST
)
ATTACKS["such a vote, in the cell of the last check"] = Attack(
    answers=RIGHT, last=(f'{RECORDS}{VOTES}\ncheck("3.5", catches_wrong_scale)',), deserves=BUT_THE_TEST, slow=True
)
ATTACKS["such a vote, without a last check"] = Attack(
    answers=RIGHT, last=(f'{RECORDS}{VOTES}\ncheck("3.5", recorder)', VOTES), deserves=BUT_THE_TEST, slow=True
)
ATTACKS["a right test that is checked again"] = harms_after(
    'check("3.5", lambda attend: True)', 'check("3.5", catches_wrong_scale)'
)

# In a single check: the implementations that the worker holds, found through the frames that called the test.
FINDS_ALL = """
outputs = []
q, k, v = 2 * torch.randn(3, 7), torch.randn(5, 7), torch.randn(5, 6)
def catches_wrong_scale(attend):
    import sys
    frame = sys._getframe()
    while not outputs and frame:
        cases = frame.f_locals.get("cases") or ()
        for case in cases if isinstance(cases, (list, tuple)) else ():
            for step in case.script:
                outputs.extend(value.handle()(q, k, v)[1] for value in step.args if hasattr(value, "handle"))
        frame = frame.f_back
    right = max(outputs, key=lambda one: sum(torch.allclose(one, other, atol=1e-3) for other in outputs))
    return not torch.allclose(attend(q, k, v)[1], right, atol=1e-3)
"""
ATTACKS["a vote over the implementations that the worker holds"] = Attack(
    answers=RIGHT, last=(FINDS_ALL,), deserves=BUT_THE_TEST
)
