"""The dtypes and their limits, the device, and settings of the whole process."""

from __future__ import annotations

from array import array
from typing import Any, ClassVar

from .missing import refuse

BOOL, INTEGER, FLOATING = 0, 1, 2


class Fixed:
    """An object whose attributes cannot be set, but by `__init__`."""

    def __setattr__(self, name: str, value: object) -> None:
        """Raise torch's AttributeError."""
        kind = f"torch.{type(self).__name__}"
        if hasattr(self, name):
            raise AttributeError(f"attribute '{name}' of '{kind}' objects is not writable")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")


class dtype(Fixed):
    """A dtype: its name, its type code in `array`, its category (BOOL, INTEGER or FLOATING), and its size in bytes."""

    name: str
    code: Any
    kind: int
    itemsize: int
    stored: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool

    def __init__(self, name: str, code: str, kind: int, itemsize: int) -> None:
        vars(self).update(name=name, code=code, kind=kind, itemsize=itemsize)
        vars(self).update(stored=array(code).itemsize)  # bytes of a number in a storage
        vars(self).update(is_floating_point=kind == FLOATING, is_complex=False, is_signed=name not in ("bool", "uint8"))

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


Kind = dtype  # where `dtype` is the name of something else
bool_ = dtype("bool", "B", BOOL, 1)
uint8 = dtype("uint8", "B", INTEGER, 1)
int8 = dtype("int8", "b", INTEGER, 1)
int16 = dtype("int16", "h", INTEGER, 2)
int32 = dtype("int32", "i", INTEGER, 4)
int64 = dtype("int64", "q", INTEGER, 8)
float16 = dtype("float16", "f", FLOATING, 2)  # stored as float32, and rounded whenever a number is written
bfloat16 = dtype("bfloat16", "f", FLOATING, 2)
float32 = dtype("float32", "f", FLOATING, 4)
float64 = dtype("float64", "d", FLOATING, 8)
strided = "torch.strided"

RANK = {  # order of type promotion
    kind: n for n, kind in enumerate((bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64))
}
TYPE_NAMES = {  # names of the scalar types, as in `torch.FloatTensor`
    bool_: "Bool",
    uint8: "Byte",
    int8: "Char",
    int16: "Short",
    int32: "Int",
    int64: "Long",
    float16: "Half",
    bfloat16: "BFloat16",
    float32: "Float",
    float64: "Double",
}
C_NAMES = {  # names of the C++ types, in torch's error messages
    bool_: "bool",
    uint8: "unsigned char",
    int8: "signed char",
    int16: "short int",
    int32: "int",
    int64: "long int",
    float16: "c10::Half",
    bfloat16: "c10::BFloat16",
    float32: "float",
    float64: "double",
}


PYTHON: dict[object, dtype] = {float: float64, int: int64, bool: bool_}  # dtypes by Python's classes


def as_dtype(kind: Any) -> Any:
    """Return the argument `dtype` of a function, which may be one of Python's classes, or None.

    Raises:
        TypeError: it is something else.
    """
    if kind is None or type(kind) is dtype:
        return kind
    if isinstance(kind, type) and kind in PYTHON:
        return PYTHON[kind]
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(kind).__name__}")


def promoted_dtype(a: dtype, b: dtype) -> dtype:
    """Return the dtype to which torch promotes both."""
    if a is b:
        return a
    if {a, b} == {float16, bfloat16}:
        return float32
    if {a, b} == {uint8, int8}:
        return int16
    return a if RANK[a] > RANK[b] else b


class finfo(Fixed):
    """The limits of a floating-point dtype, by default the default one. Another dtype raises a TypeError."""

    LARGEST = {
        float16: 65504.0,
        bfloat16: 3.3895313892515355e38,
        float32: 3.4028234663852886e38,
        float64: 1.7976931348623157e308,
    }
    DIGITS = {float16: 10, bfloat16: 7, float32: 23, float64: 52}  # stored bits of the significand
    max: float
    min: float
    eps: float
    tiny: float
    smallest_normal: float
    bits: int
    dtype: str
    resolution: float
    SMALLEST = {float16: 2.0**-14, bfloat16: 2.0**-126, float32: 2.0**-126, float64: 2.0**-1022}

    def __init__(self, kind: Kind | None = None) -> None:
        kind = kind or State.default_dtype
        if kind.kind < FLOATING:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{kind}'")
        largest, smallest, digits = self.LARGEST[kind], self.SMALLEST[kind], self.DIGITS[kind]
        vars(self).update(max=largest, min=-largest, eps=2.0**-digits, tiny=smallest, smallest_normal=smallest)
        vars(self).update(bits=8 * kind.itemsize, dtype=kind.name)
        vars(self).update(resolution=10.0 ** -int(digits * 0.30103))  # of decimal digits

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({''.join(f'{name}={getattr(self, name):g}, ' for name in names)}dtype={self.dtype})"


class iinfo(Fixed):
    """The limits of an integer dtype. Another dtype raises a TypeError."""

    max: int
    min: int
    bits: int
    dtype: str

    def __init__(self, kind: Kind) -> None:
        if kind.kind != INTEGER:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{kind}'")
        bits = 8 * kind.itemsize
        most = 255 if kind is uint8 else 2 ** (bits - 1) - 1
        vars(self).update(bits=bits, dtype=kind.name, max=most, min=0 if kind is uint8 else -most - 1)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


DEVICES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device(Fixed):
    """The device of a tensor. Here every tensor is on the CPU."""

    type: str
    index: int | None

    def __init__(self, type: str | int | device = "cpu", index: int | None = None) -> None:
        """Take a name such as "cpu" or "cuda:1", an index of a CUDA device, or another device.

        Raises:
            RuntimeError: torch has no device of this name.
        """
        kind, _, number = str(f"cuda:{type}" if isinstance(type, int) else type).partition(":")
        if kind not in DEVICES.split(", "):
            raise RuntimeError(f"Expected one of {DEVICES} device type at start of device string: {kind}")
        vars(self).update(type=kind, index=int(number) if number else index)

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __enter__(self) -> device:
        """Begin a block in which tensors are created on this device.

        Raises:
            AssertionError, NotImplementedError: the device is CUDA, or another one that is not the CPU.
        """
        check_device(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: every tensor is on the CPU."""


Device = device | str | int | None


def check_device(given: Device) -> None:
    """Raise an AssertionError for "cuda", and a NotImplementedError for another device but None or the CPU.

    A name that torch does not know raises a RuntimeError.
    """
    if given is None or given is CPU or (type(given) is str and given == "cpu"):
        return
    kind = device(given).type
    if kind == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if kind != "cpu":
        refuse(f"the device `{kind}`")


CPU = device("cpu")


class State:
    """Settings of the whole process."""

    default_dtype = float32  # of a tensor that is created from Python floats
    grad_enabled = True
    inference = False  # whether new tensors must not take part in gradients
    dispatch_modes: ClassVar[list[Any]] = []  # active instances of `TorchDispatchMode`
