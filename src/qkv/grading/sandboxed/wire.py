"""What crosses between a grader and its worker: plain data in frames, never pickled objects.

A frame is its length (8 bytes, big-endian), the length of a JSON text (4 bytes), that text, and then the bytes of
tensors that it refers to. Decoding makes numbers, texts, lists, tuples, dictionaries, tensors of a few dtypes and the
classes named in `PLAIN`; anything else, or anything larger than the frame says, is a `WireError`.

Both sides use this file, and the worker's side is not trusted: it imports torch and `observing`, nothing of the course.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import socket
import textwrap
import time
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

try:
    from qkv import observing
except ImportError:  # in the sandbox, where the package is not
    import observing  # type: ignore[no-redef]

MAX_FRAME = 64 * 2**20  # bytes
MAX_JSON = 4 * 2**20  # of these, what is not tensors
MAX_DEPTH = 24
MAX_PARTS = 200_000  # values in one frame
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in observing.DTYPES}
PLAIN: dict[str, type] = {
    cls.__name__: cls
    for cls in (observing.Case, observing.Step, observing.OtherValue, observing.Raised, observing.Trace)
}


class WireError(Exception):
    """What came is not a frame of this protocol, or is larger than one may be."""


class EndedError(Exception):
    """The other side is gone."""


# ── frames ────────────────────────────────────────────────────────────────────────────────────────


def send(channel: socket.socket, message: Any) -> None:
    """Send one message.

    Raises:
        EndedError: nobody is there to read it.
    """
    try:
        channel.sendall(encode(message))
    except (BrokenPipeError, ConnectionError):
        raise EndedError from None


def receive(channel: socket.socket, seconds: float | None = None) -> Any:
    """Wait for one message.

    Raises:
        TimeoutError: it was not there, whole, within that time.
        EndedError: the other side is gone.
        WireError: it is no message.
    """
    until = None if seconds is None else time.monotonic() + seconds
    size = int.from_bytes(_exactly(channel, 8, until), "big")
    if not 4 <= size <= MAX_FRAME:
        raise WireError(f"a frame of {size} bytes")
    return decode(_exactly(channel, size, until))


def _exactly(channel: socket.socket, size: int, until: float | None) -> bytearray:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        channel.settimeout(None if until is None else max(0.001, until - time.monotonic()))
        try:
            got = channel.recv_into(view[have:])
        except ConnectionError:
            got = 0
        finally:
            channel.settimeout(None)
        if not got:
            raise EndedError
        have += got
    return data


# ── values ────────────────────────────────────────────────────────────────────────────────────────


def encode(message: Any) -> bytes:
    """Turn plain data into a frame."""
    encoder = _Encoder()
    text = json.dumps(encoder.value(message)).encode()
    body = len(text).to_bytes(4, "big") + text + b"".join(encoder.blobs)
    return len(body).to_bytes(8, "big") + body


def decode(frame: bytes | bytearray) -> Any:
    """Turn a frame, without its first length, into plain data.

    Raises:
        WireError: it is not one.
    """
    size = int.from_bytes(frame[:4], "big")
    if size > MAX_JSON:
        raise WireError(f"{size} bytes of JSON")
    try:
        tree = json.loads(bytes(frame[4 : 4 + size]))
        return _Decoder(memoryview(frame)[4 + size :]).value(tree)
    except WireError:
        raise
    except Exception as error:  # it comes from a stranger, and whatever is wrong with it is not ours
        raise WireError(f"{type(error).__name__}: {error}") from None


class _Encoder:
    """Writes each thing with structure as `[kind, …]`, and shared objects once."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.shared: dict[int, int] = {}

    def value(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, *map(self.value, value)]
        if isinstance(value, dict):
            return ["dict", *([str(key), self.value(item)] for key, item in value.items())]
        if isinstance(value, (observing.Seeded, observing.Provided)):
            return self.once(value)
        if type(value).__name__ in PLAIN:
            fields = (getattr(value, field.name) for field in dataclasses.fields(value))
            return [type(value).__name__, *map(self.value, fields)]
        raise WireError(f"a {type(value).__name__} cannot be sent")

    def tensor(self, value: Tensor) -> list[Any]:
        kind = str(value.dtype).removeprefix("torch.")
        if kind not in DTYPES:
            raise WireError(f"a tensor of {kind} cannot be sent")
        flat = value.detach().cpu().contiguous().reshape(-1)
        self.blobs.append(flat.view(torch.uint8).numpy().tobytes())
        return ["tensor", kind, *value.shape]

    def once(self, value: Any) -> list[Any]:
        if id(value) in self.shared:
            return ["same", self.shared[id(value)]]
        self.shared[id(value)] = len(self.shared)
        if isinstance(value, observing.Seeded):
            return ["Seeded", value.seed]
        source = textwrap.dedent(inspect.getsource(value.make))
        return ["Provided", value.make.__name__, source, self.value(value.args)]


class _Decoder:
    def __init__(self, blob: memoryview) -> None:
        self.blob = blob
        self.at = 0
        self.shared: list[Any] = []
        self.parts = 0

    def value(self, tree: Any, depth: int = 0) -> Any:
        self.parts += 1
        if depth > MAX_DEPTH or self.parts > MAX_PARTS:
            raise WireError("too many values")
        if not isinstance(tree, list):
            if isinstance(tree, dict):
                raise WireError("a JSON object")
            return tree
        kind, *rest = tree
        if kind == "tensor":
            return self.tensor(*rest)
        if kind == "dict":
            return {str(key): self.value(item, depth + 1) for key, item in rest}
        if kind == "same":
            return self.shared[rest[0]]
        if kind == "Seeded":
            return self.keep(observing.Seeded(int(rest[0])))
        if kind == "Provided":
            return self.keep(self.provided(rest[0], rest[1], self.value(rest[2], depth + 1)))
        items = [self.value(item, depth + 1) for item in rest]
        if kind == "list":
            return items
        return tuple(items) if kind == "tuple" else PLAIN[kind](*items)

    def keep(self, value: Any) -> Any:
        self.shared.append(value)
        return value

    def provided(self, name: str, source: str, args: tuple[Any, ...]) -> Any:
        return observing.Provided(made_from(name, source), args)

    def tensor(self, kind: str, *shape: int) -> Tensor:
        if not all(type(size) is int and 0 <= size < 2**31 for size in shape) or len(shape) > 16:
            raise WireError("a shape that no tensor has")
        dtype = DTYPES[kind]
        size = math.prod(shape) * dtype.itemsize
        raw = self.blob[self.at : self.at + size]
        self.at += size
        if dtype is torch.bool and size and max(raw) > 1:
            raise WireError("a truth value that is neither")
        if not size:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)


def refuse_code(name: str, source: str) -> Callable[..., Any]:
    raise WireError("code")


# The grader sends the source of the objects that answers are handed; only the worker may make them.
made_from: Callable[[str, str], Callable[..., Any]] = refuse_code


def make_from_source(name: str, source: str) -> Callable[..., Any]:
    """Make a class or function, written with torch alone, from its source. For the worker, in the sandbox."""
    module = types.ModuleType("provided")
    vars(module).update(torch=torch, Tensor=Tensor)
    exec("from __future__ import annotations\n" + source, vars(module))
    made: Callable[..., Any] = vars(module)[name]
    return made
