"""The wire format between a grader and its worker: plain data in frames, never pickled objects.

A frame is the length of the rest (8 bytes, big-endian), the length of a JSON text (4 bytes), that text, and the bytes
of all tensors in it. The text can hold numbers, texts, lists, tuples, dictionaries, tensors of a few dtypes, and
objects of the classes in `PLAIN`.

Both sides use this file. The worker decodes everything that the grader sends. The grader never decodes: it only parses
a reply into JSON values and bytes (`parse_frame`), and validates these by the schema of its request (`replies`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import math
import socket
import textwrap
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from qkv.sandboxed import cases, hidden, recording, running

MAX_FRAME = 64 * 2**20  # bytes
MAX_JSON = 4 * 2**20  # bytes of the JSON text in a frame
MAX_PARTS = 200_000  # values in one frame
MAX_AXES = 16  # of a tensor
MAX_MODULE = 100  # characters of the name of a module that could not be imported
MAX_MISSING = 20  # such modules of one cell
MAX_ERROR = 2 * recording.MAX_TEXT  # characters of the message about an error in a cell, with its line
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in recording.DTYPES}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
PLAIN: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        cases.Case,
        cases.Step,
        cases.Carried,
        recording.OtherValue,
        recording.Raised,
        running.Trace,
    )
}

ATOMS = (type(None), bool, int, float, str)  # values that stand in the JSON text as they are
FIELDS = {name: [field.name for field in dataclasses.fields(cls)] for name, cls in PLAIN.items()}
STATES = FIELDS["Trace"].index("random_states")

# As `hidden.Ask`, with the number of the hidden implementation as the first argument.
Ask = Callable[[int, int, str, tuple[Any, ...], dict[str, Any]], Any]


class WireError(Exception):
    """The received bytes are not a frame of this format, or exceed one of its limits."""


class EndedError(Exception):
    """The other side has closed the connection."""


# ── frames ────────────────────────────────────────────────────────────────────────────────────────


def send(channel: socket.socket, message: Any, seconds: float | None = None) -> None:
    """Send one message.

    Raises:
        TimeoutError: the other side did not read it within `seconds`.
        EndedError: the other side has closed the connection.
        WireError: the message has a value that cannot be sent.
    """
    frame = encode(message)
    try:
        _wait_at_most(channel, seconds)
        channel.sendall(frame)
    except ConnectionError:
        raise EndedError from None


def receive(channel: socket.socket, ask: Ask | None = None) -> Any:
    """Wait for one message of the grader, and return it decoded. Calls of hidden implementations in it go to `ask`.

    Raises:
        EndedError: the grader has closed the connection.
        WireError: the bytes are no frame.
    """
    return decode(receive_frame(channel), ask)


def receive_frame(channel: socket.socket, seconds: float | None = None) -> bytearray:
    """Wait for one message, and return its frame without the first length.

    Raises:
        TimeoutError: the message did not arrive completely within `seconds`.
        EndedError: the other side has closed the connection.
        WireError: the frame is larger than `MAX_FRAME`, or too small.
    """
    until = None if seconds is None else time.monotonic() + seconds
    size = int.from_bytes(_exactly(channel, 8, until), "big")
    if not 4 <= size <= MAX_FRAME:
        raise WireError(f"a frame of {size} bytes")
    return _exactly(channel, size, until)


def _exactly(channel: socket.socket, size: int, until: float | None) -> bytearray:
    """Return this many bytes, received before the monotonic clock reaches `until`; None means no limit.

    Raises:
        TimeoutError: they did not arrive in time.
        EndedError: the other side has closed the connection.
    """
    data = bytearray(size)
    view, have = memoryview(data), 0
    try:
        while have < size:
            _wait_at_most(channel, None if until is None else max(0.001, until - time.monotonic()))
            got = channel.recv_into(view[have:])
            if not got:
                raise EndedError
            have += got
    except ConnectionError:
        raise EndedError from None
    return data


def _wait_at_most(channel: socket.socket, seconds: float | None) -> None:
    """Set for how long the next call of the socket waits, if it does not already: that is a call of the system."""
    if channel.gettimeout() != seconds:
        channel.settimeout(seconds)


# ── values ────────────────────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A value that was encoded once, to be sent often. It must not share objects with the rest of its message."""

    text: str
    blobs: bytes


def preencode(value: Any) -> Encoded:
    """Encode a value that is sent in many messages. A WireError is raised if it cannot be sent."""
    encoder = _Encoder()
    return Encoded(encoder.text(value), b"".join(encoder.blobs))


def encode(message: Any) -> bytes:
    """Return plain data as a whole frame. Fields of a message that are `Encoded` come last in it.

    Raises:
        WireError: a value of some type cannot be sent.
    """
    encoder = _Encoder()
    encoded = {k: v for k, v in message.items() if isinstance(v, Encoded)} if isinstance(message, dict) else {}
    text = encoder.text({k: v for k, v in message.items() if k not in encoded} if encoded else message)
    for name, value in encoded.items():
        text = f"{text[:-1]}, [{json.dumps(name)}, {value.text}]]"
        encoder.blobs.append(value.blobs)
    blobs = b"".join(encoder.blobs)
    body = text.encode()
    return b"".join([(4 + len(body) + len(blobs)).to_bytes(8, "big"), len(body).to_bytes(4, "big"), body, blobs])


def parse_frame(frame: bytes | bytearray | memoryview) -> tuple[Any, memoryview]:
    """Split a frame into the values of its JSON text and the bytes of its tensors.

    Raises:
        WireError: the bytes are not a frame, or the frame has too many values.
    """
    size = int.from_bytes(frame[:4], "big")
    text = bytes(frame[4 : 4 + size])
    if size > MAX_JSON or len(text) != size:
        raise WireError(f"{size} bytes of JSON")
    if text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_PARTS:
        raise WireError("too many values")
    try:
        return json.loads(text), memoryview(frame)[4 + size :]
    except (ValueError, RecursionError) as error:
        raise WireError(f"{type(error).__name__}: {error}") from None


def tensor_of(raw: bytes | bytearray | memoryview, dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """Return a tensor with this dtype and shape from its bytes, which are copied.

    Raises:
        WireError: a byte of a bool tensor is neither 0 nor 1.
    """
    if not len(raw):
        return torch.empty(tuple(shape), dtype=dtype)
    if dtype is torch.bool and int(torch.frombuffer(bytearray(raw), dtype=torch.uint8).max()) > 1:
        raise WireError("a byte of a bool tensor is neither 0 nor 1")
    return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(tuple(shape))


def decode(frame: bytes | bytearray, ask: Ask | None = None) -> Any:
    """Decode a frame from the grader, without its first length. Only a worker may call this: it can run sent code.

    Raises:
        WireError: the bytes are not a frame.
    """
    tree, blob = parse_frame(frame)
    return _Decoder(blob, ask).value(tree)


class _Encoder:
    """The encoder of one message. A value that is not a number or text becomes `[kind, …]`.

    Attributes:
        blobs: the bytes of the tensors, in order
        shared: for the `id()` of each shared object, its index in the message
        hidden: for the `id()` of each `Hidden`, the number that stands for it; its code never enters the sandbox
        last_state: the bytes of the last random state in the message, and their hash
    """

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.shared: dict[int, int] = {}
        self.hidden: dict[int, int] = {}
        self.last_state = (b"", "")

    def text(self, value: Any) -> str:
        """Return a value as JSON. Its tensors go into `blobs`."""
        return json.dumps(self.value(value))

    def value(self, value: Any) -> Any:
        """Return a value as a tree of JSON: a number or text as it is, else a list that begins with the name of a type.

        Raises:
            WireError: a value of this type cannot be sent.
        """
        kind = type(value)
        if kind is tuple or kind is list:
            return [kind.__name__, *[item if type(item) in ATOMS else self.value(item) for item in value]]
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, ATOMS):
            return value
        if isinstance(value, dict):
            return ["dict", *[[str(key), self.value(item)] for key, item in value.items()]]
        if kind.__name__ in PLAIN:
            fields = [getattr(value, name) for name in FIELDS[kind.__name__]]
            if kind is running.Trace:
                fields[STATES] = tuple(map(self.hash_of, value.random_states))
            return [kind.__name__, *[item if type(item) in ATOMS else self.value(item) for item in fields]]
        if isinstance(value, (list, tuple)):
            return [kind.__name__, *map(self.value, value)]
        if isinstance(value, (cases.Seeded, cases.Provided)):
            return self.shared_object(value)
        if isinstance(value, hidden.Hidden):  # only its number is sent, not the implementation
            return ["Hidden", self.hidden.setdefault(id(value), len(self.hidden)), *value.methods]
        raise WireError(f"a {type(value).__name__} cannot be sent")

    def hash_of(self, state: Tensor | str) -> str:
        """Return a hash of a random state, or a hash as it is. The grader only asks which states are equal."""
        if isinstance(state, str):  # it is a hash already
            return state
        data = state.numpy().tobytes()
        if data != self.last_state[0]:
            self.last_state = data, hashlib.sha256(data).hexdigest()
        return self.last_state[1]

    def tensor(self, value: Tensor) -> list[Any]:
        """Return the dtype and shape of a tensor as a tree of JSON, and put its bytes into `blobs`.

        Raises:
            WireError: a tensor of this dtype cannot be sent.
        """
        if value.dtype not in NAMES:
            raise WireError(f"a tensor of {value.dtype} cannot be sent")
        plain = value.detach().cpu()
        if plain.dtype is torch.bfloat16:  # NumPy has no such dtype
            plain = plain.view(torch.int16)
        self.blobs.append(plain.numpy().tobytes())
        return ["tensor", NAMES[value.dtype], *value.shape]

    def shared_object(self, value: Any) -> list[Any]:
        """Return an object that several arguments can share as a tree of JSON: the first time itself, then its number.

        A `Provided` object is sent as the source of its class or function with the arguments.
        """
        if id(value) in self.shared:
            return ["same", self.shared[id(value)]]
        self.shared[id(value)] = len(self.shared)
        if isinstance(value, cases.Seeded):
            return ["Seeded", value.seed]
        source = textwrap.dedent(inspect.getsource(value.make))
        return ["Provided", value.make.__name__, source, self.value(value.args)]


class _Decoder:
    """The decoder of one message of the grader, the reverse of `_Encoder`.

    `blob` has the bytes of the tensors; hidden implementations in the message send their calls to `ask`.
    """

    def __init__(self, blob: memoryview, ask: Ask | None) -> None:
        self.blob = blob
        self.ask = ask
        self.at = 0
        self.shared: list[Any] = []

    def value(self, tree: Any) -> Any:
        """Return the value that a tree of JSON stands for."""
        if not isinstance(tree, list):
            return tree
        kind, *rest = tree
        if kind == "tensor":
            return self.tensor(*rest)
        if kind == "dict":
            return {key: self.value(item) for key, item in rest}
        if kind == "same":
            return self.shared[rest[0]]
        if kind == "Seeded":
            return self.remember(cases.Seeded(int(rest[0])))
        if kind == "Provided":
            return self.remember(cases.Provided(make_from_source(rest[0], rest[1]), self.value(rest[2])))
        if kind == "Hidden":
            assert self.ask is not None
            return hidden.Hidden(None, methods=tuple(rest[1:]), ask=functools.partial(self.ask, rest[0]))
        items = [self.value(item) for item in rest]
        if kind == "list":
            return items
        return tuple(items) if kind == "tuple" else PLAIN[kind](*items)

    def remember(self, value: Any) -> Any:
        self.shared.append(value)
        return value

    def tensor(self, kind: str, *shape: int) -> Tensor:
        dtype = DTYPES[kind]
        start, self.at = self.at, self.at + math.prod(shape) * dtype.itemsize
        return tensor_of(self.blob[start : self.at], dtype, shape)


def make_from_source(name: str, source: str) -> Callable[..., Any]:
    """Return a class or function made from source code that the grader sent. Only a worker runs it, never the grader.

    The source may use only torch and builtins.
    """
    module = types.ModuleType(recording.PROVIDED)
    vars(module).update(torch=torch, Tensor=Tensor)
    exec(compile("from __future__ import annotations\n" + source, recording.PROVIDED, "exec"), vars(module))
    made: Callable[..., Any] = vars(module)[name]
    return made
