"""The class `Tensor` (a storage, a shape, strides and an offset), and functions that create tensors and views.

The other files define the operations and add them to `Tensor` with `@method` and `@attribute`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import partial, wraps
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from .dtypes import (
    C_NAMES,
    CPU,
    FLOATING,
    TYPE_NAMES,
    State,
    bfloat16,
    bool_,
    device,
    dtype,
    float16,
    float32,
    int64,
    promoted_dtype,
    strided,
)
from .gradients import Node, node_of
from .kernels import BIG, KERNELS, address_of, four_axes, is_row_major, merged
from .missing import TellsMissing, raise_missing, refuse
from .numbers import INTEGERS, Numbers, convert_numbers, to_array
from .shapes import Size, axis_of, layout_order, offsets_of, product, row_major, strides_of

F = TypeVar("F", bound=Callable[..., Any])
KEYWORDS = {"type_"}  # functions whose trailing underscore only avoids the name of a builtin


def accept_numpy_names(function: F) -> F:
    """Return a function that also accepts `axis` for `dim` and `keepdims` for `keepdim`, as torch's functions do.

    One that has neither `dim` nor `keepdim` is returned itself. As torch's, `sum`, `mean`, `prod`, `max` and `min` then
    raise a TypeError for `keepdim` without `dim`, and each does for one argument by both of its names.
    """
    code = function.__code__
    takes = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    ours = {numpys: name for numpys, name in {"axis": "dim", "keepdims": "keepdim"}.items() if name in takes}
    if not ours:
        return function
    needs_dim = function.__name__ in ("sum", "mean", "prod", "max", "min")  # with `keepdim`

    @wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        given = {ours.get(name, name): value for name, value in kwargs.items()}
        if len(given) < len(kwargs):
            extra = next(name for name in ours if name in kwargs)
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{extra}'")
        if needs_dim and len(args) == 1 and "keepdim" in given and "dim" not in given:
            raise TypeError(
                f"{function.__name__}() received an invalid combination of arguments: `keepdim` without `dim`"
            )
        return function(*args, **given)

    return cast("F", renamed)


def method(function: F) -> F:
    """Add a function to `Tensor` as a method, and return it. It then accepts NumPy's names: `accept_numpy_names`."""
    function = accept_numpy_names(function)
    setattr(Tensor, function.__name__.rstrip("_") if function.__name__ in KEYWORDS else function.__name__, function)
    return function


def attribute(function: Callable[[Any], Any]) -> property:
    """Add a function of a tensor to `Tensor` as a property, and return the property."""
    made_of = property(function)
    setattr(Tensor, function.__name__, made_of)
    return made_of


class Tensor(metaclass=TellsMissing):
    """An array of numbers with a shape, as torch's `Tensor`.

    Attributes:
        _data: the storage, an `array.array`, which all views of a tensor share
        _shape, _dtype: what `shape` and `dtype` show, which cannot be set
        _offset, _strides: the position of the first number in the storage, and the step along each axis
        _writes: a list with the number of in-place writes to the storage, which all views share
        _node: the `Node` of the operation that computed this tensor, or None
        _leaf: the `Node` that accumulates the gradient of a leaf, or None
        _view: for a view, its base tensor and a function that computes the view from the base
        _base_node: for a view, the node of its base when the view's own node was made
        _inference: whether it was made in inference mode, or is a view of such a tensor
        _changed_axes: whether an in-place operation has changed its shape or the order of its axes
    """

    _data: Any
    _offset: int
    _strides: tuple[int, ...]
    _writes: list[int]
    _shape: Size
    _dtype: dtype
    _node: Any = None
    _leaf: Any = None
    _view: Any = None
    _base_node: Any = None
    _needs_grad: bool = False
    _changed_axes: bool = False
    _gradient: Tensor | None = None
    _inference: bool = False
    if TYPE_CHECKING:  # `method` and `read_only` add these
        shape: Size
        dtype: dtype
        device: device
        layout: str
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __pow__: Any
        __floordiv__: Any
        __matmul__: Any
        __neg__: Any
        __invert__: Any
        __and__: Any
        __or__: Any
        __xor__: Any
        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any
        __getitem__: Any
        __setitem__: Any
        data: Any

    __array_priority__ = 1000

    def __init__(self, *data: Any) -> None:
        """Make zeros of these sizes, if all arguments are integers, or else a float32 tensor of nested lists.

        Of a tensor, make one with the same storage and dtype.

        Raises:
            TypeError: the argument is a single number with a fraction, or a size is no integer.
            NotImplementedError: the tensor requires a gradient.
        """
        self.__dict__.update(made_of(data, float32).__dict__)

    def is_contiguous(self) -> bool:
        return self._strides == strides_of(self.shape) or is_row_major(self.shape, self._strides)

    def _offsets(self) -> list[int]:
        """Return the position of each number in the storage, in order."""
        return offsets_of(self.shape, self._strides, self._offset)

    def _numbers(self) -> Numbers:
        """Return the tensor's numbers in order, as a sequence: a copy, of bools as 0 and 1."""
        shape, strides = self.shape, self._strides
        if strides == strides_of(shape) or is_row_major(shape, strides):  # as in `is_contiguous`
            start = self._offset
            return self._data[start : start + prod(shape)]
        if (copied := self._copied()) is not None:
            return copied
        return self._gathered()

    def _buffer(self) -> array[Any]:
        """Return the numbers in order, as an `array`. It may be the tensor's own storage: do not write into it."""
        shape, strides = self.shape, self._strides
        if strides == strides_of(shape) or is_row_major(shape, strides):  # as in `is_contiguous`
            start, n = self._offset, prod(shape)
            return self._data if start == 0 and len(self._data) == n else self._data[start : start + n]
        if (copied := self._copied()) is not None:
            return copied
        return self._gathered()

    def _gathered(self) -> array[Any]:
        """Return the numbers in order, copied row by row."""
        axes = merged(list(zip(self.shape, self._strides, strict=True))) or [(prod(self.shape), 1)]
        *outer, (n, step) = axes
        out, data = array(self.dtype.code), self._data
        for start in offsets_of([size for size, _ in outer], [stride for _, stride in outer], self._offset):
            out += data[start : start + n * step : step] if step else data[start : start + 1] * n
        return out

    def _copied(self) -> array[Any] | None:
        """Return the numbers in order, copied by a kernel; None if they are few, or there is no kernel for them."""
        n = prod(self.shape)
        copy = KERNELS.get(("copy", self.dtype)) if n > BIG else None
        if copy is None:
            return None
        size = self._data.itemsize
        out = array(self.dtype.code, bytes(n * size))
        starts, done, axes = four_axes(self.shape, self._strides)
        for i, start in enumerate(starts):
            copy(address_of(out) + i * done * size, self._address() + start * size, *axes)
        return out

    def _address(self) -> int:
        """Return the memory address of the tensor's first number."""
        return self._data.buffer_info()[0] + self._offset * self._data.itemsize

    def tolist(self) -> Any:
        """Return the numbers as nested lists; a tensor without axes as one number."""
        v: list[Any] = list(self._numbers())
        if self.dtype is bool_:
            v = [x != 0 for x in v]
        for n in reversed(self.shape[1:]):
            v = [v[i : i + n] for i in range(0, len(v), n)] if n else [[] for _ in range(product(self.shape[:1]))]
        return v if self.ndim else v[0]

    def item(self) -> Any:
        """Return the only number, as a Python number.

        Raises:
            RuntimeError: there are several, or none.
        """
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        v = self._data[self._offset]
        return v != 0 if self.dtype is bool_ else v

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return product(self.shape)

    nelement = numel

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[axis_of(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        return self._strides if dim is None else self._strides[axis_of(dim, self.ndim)]

    def element_size(self) -> int:
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.numel() * self.dtype.itemsize

    def storage_offset(self) -> int:
        return self._offset

    def data_ptr(self) -> int:
        return id(self._data) + self._offset * self.dtype.itemsize

    def untyped_storage(self) -> Storage:
        return Storage(self)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self.select(0, i) for i in range(self.shape[0])])

    def __bool__(self) -> bool:
        """Return whether the only number is not 0.

        Raises:
            RuntimeError: there are several, or none.
        """
        if self.numel() != 1:
            raise RuntimeError(
                "Boolean value of Tensor with "
                + ("no values" if self.numel() == 0 else "more than one value")
                + " is ambiguous"
            )
        return self.item() != 0

    def __float__(self) -> float:
        return float(self._only())

    def __int__(self) -> int:
        return int(self._only())

    def _only(self) -> float:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        if self.dtype.kind == FLOATING or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __hash__(self) -> int:
        return id(self)

    def __reversed__(self) -> Tensor:
        return self.flip(0) if self.ndim else self

    def __contains__(self, x: Tensor | float) -> bool:
        equal: Any = self == x
        return any(equal._numbers())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec) if spec else repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """Return a copy with copies of its `grad` and of its storage, which copies of its views share.

        Raises:
            RuntimeError: it was computed, and requires a gradient.
        """
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                "see https://github.com/pytorch/pytorch/pull/103001"
            )
        t = tensor_from_parts(self.dtype, deepcopy(self._data, memo), self._offset, self.shape, self._strides)
        t._writes, t._gradient = deepcopy(self._writes, memo), deepcopy(self._gradient, memo)
        t.__class__ = self.__class__
        t._needs_grad = self.requires_grad
        return t

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view[0]

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _version(self) -> int:
        return self._writes[0]

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the tensor are recorded for gradients, also because it is a view of one whose are.

        Raises:
            RuntimeError: it is set to no bool, for a tensor of integers or one made in inference mode, or for a
                computed one.
        """
        if self._view is None:
            return self._needs_grad
        base = self._view[0]
        if base._node is not self._base_node:
            follow_base(self)
        return self._needs_grad or base._needs_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise RuntimeError("requires_grad must be a bool")
        if on and self._inference and not State.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if on and self.dtype.kind < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self._node is not None:
            advice = (
                " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise RuntimeError("you can only change requires_grad flags of leaf variables." + ("" if on else advice))
        self._needs_grad = on

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if not (requires_grad is True and self._node is not None):  # a computed tensor already has what is asked
            self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has accumulated.

        Raises:
            TypeError, RuntimeError: it is set to something else than None or another tensor of the same shape and
            dtype.
        """
        return self._gradient

    @grad.setter
    def grad(self, g: Any) -> None:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(g).__name__}")
        if g is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if g is not None and g.dtype is not self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{C_NAMES[g.dtype]}' to a tensor with grad_dtype "
                f"'{TYPE_NAMES[self.dtype]}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
            )
        if g is not None and g.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size '{list(self.shape)}'. Please "
                "ensure that the gradient and the tensor are the same size"
            )
        self._gradient = g

    @grad.deleter
    def grad(self) -> None:
        self._gradient = None

    @property
    def is_leaf(self) -> bool:
        return not self.requires_grad or self._node is None

    @property
    def grad_fn(self) -> Node | None:
        return self._node if self.requires_grad else None

    def retain_grad(self) -> None:
        """Store the gradient of a computed tensor in its `grad` as well; RuntimeError if it requires none."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._node is not None:
            self._node.retains = self

    def detach_(self) -> Tensor:
        self._node, self._needs_grad = None, False
        return self

    def is_floating_point(self) -> bool:
        return self.dtype.kind == FLOATING

    def is_inference(self) -> bool:
        return self._inference

    def is_complex(self) -> bool:
        return False

    def cpu(self) -> Tensor:
        return self

    def cuda(self, device: object = None) -> Tensor:
        raise AssertionError("Torch not compiled with CUDA enabled")

    def ndimension(self) -> int:
        return len(self.shape)

    @property
    def retains_grad(self) -> bool:
        return self._node is not None and self._node.retains is self

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any:
        """Call a function with each gradient of this tensor; what it returns, unless None, replaces the gradient.

        Return a handle that can remove it. A tensor that requires no gradient raises a RuntimeError.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node: Any = node_of(self)
        return node.add_hook(hook)

    def to_dense(self) -> Tensor:
        return self

    def __repr__(self) -> str:
        from .printing import text_of  # here, because printing.py imports this file

        return text_of(self)

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})

    def __getattr__(self, name: str) -> Any:
        """Raise a NotImplementedError for an attribute that torch has and the page lacks, else an AttributeError."""
        raise_missing(self, name)


def read_only(name: str, get: Callable[[Tensor], Any]) -> property:
    """Return a property `name`, which is read by `get`; to set or delete it raises torch's AttributeError."""

    def set_(x: Tensor, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return property(get, set_, lambda x: set_(x, None))


def absent(name: str) -> property:
    """Return an attribute of tensors that the page lacks, both to read and to set."""
    part = f"`Tensor.{name}`"
    return property(lambda x: refuse(part), lambda x, value: refuse(part))


Tensor.shape = read_only("shape", attrgetter("_shape"))  # type: ignore[assignment]
Tensor.dtype = read_only("dtype", attrgetter("_dtype"))  # type: ignore[assignment]
# What no tensor here is.
OTHERS = "cuda sparse sparse_csr quantized nested meta mkldnn mps xpu ipu maia mtia vulkan xla"
FIXED: dict[str, Any] = {f"is_{other}": False for other in OTHERS.split(" ")}
FIXED |= {"device": CPU, "layout": strided, "is_cpu": True, "name": None}
for _name, _value in FIXED.items():
    setattr(Tensor, _name, read_only(_name, partial(lambda value, x: value, _value)))
for _name in ("imag", "grad_dtype", "output_nr"):
    setattr(Tensor, _name, absent(_name))
Tensor.real = property(lambda x: x, lambda x, value: refuse("setting `Tensor.real`"))  # type: ignore[attr-defined]

Rule = Callable[..., Tensor]  # from the gradient of a result, and values that it names, to the gradient of one operand


def made_of(data: tuple[Any, ...], kind: dtype) -> Tensor:
    """Return what `torch.Tensor` and `torch.LongTensor` make of their arguments, in this dtype but for a tensor.

    See `Tensor.__init__` for the errors.
    """
    from .creation import tensor, zeros  # here, because creation.py imports this file

    if len(data) == 1 and isinstance(data[0], Tensor):
        if data[0].requires_grad:
            refuse("`torch.Tensor` of a tensor that requires a gradient")
        return data[0].detach()
    if len(data) == 1 and isinstance(data[0], float):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    if len(data) > 1 or (data and isinstance(data[0], INTEGERS) and not isinstance(data[0], bool)):
        return zeros(*data, dtype=kind)
    return tensor(*data or ([],), dtype=kind)


class Storage:
    """The result of `untyped_storage`: enough to check whether two tensors share a storage."""

    def __init__(self, t: Tensor) -> None:
        self._data = t._data

    def data_ptr(self) -> int:
        return id(self._data)

    def nbytes(self) -> int:
        return len(self._data) * self._data.itemsize

    size = nbytes


def tensor_from_parts(
    kind: dtype, data: array[Any] | None, offset: int, shape: Sequence[int], strides: tuple[int, ...]
) -> Tensor:
    """Return a tensor with this dtype, storage, offset, shape and strides, and without gradient history.

    Active `TorchDispatchMode`s are told of it.
    """
    t: Tensor = object.__new__(Tensor)
    t._data, t._offset, t._strides, t._dtype, t._writes = data, offset, strides, kind, [0]
    t._shape = shape if type(shape) is Size else Size(shape)
    if State.inference:
        t._inference = True
    return dispatched(t, "formed") if State.dispatch_modes else t


def dispatched(t: Tensor, name: str) -> Tensor:
    """Tell each active `TorchDispatchMode` that operation `name` has created a tensor, and return the tensor."""
    for mode in State.dispatch_modes:
        mode.__torch_dispatch__(FinishedOperation(t, name), (), ())
    return t


class FinishedOperation:
    """An operation as `__torch_dispatch__` receives it: calling it returns the tensor that it has created."""

    def __init__(self, t: Tensor, name: str) -> None:
        self.t, self._name = t, name

    def __call__(self) -> Tensor:
        return self.t

    def name(self) -> str:
        return self._name


def tensor_of(values: Iterable[float], shape: Sequence[int], dt: dtype) -> Tensor:
    """Return a new contiguous tensor of these values in this dtype.

    An `array`, which must fit the dtype, becomes its storage without a copy, but for half precision.
    """
    if type(values) is not array or dt is float16 or dt is bfloat16:
        values = to_array(values, dt)
    if type(shape) is not Size:
        shape = Size(shape)
    return tensor_from_parts(dt, values, 0, shape, strides_of(shape))


def view_of(
    t: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int, how: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Return a tensor with the storage of `t` and another shape, strides and offset.

    With `how`, a function that computes this view from `t`, the view also shares gradients and writes with `t`.
    """
    v = tensor_from_parts(t.dtype, t._data, offset, shape, tuple(strides))
    v._writes = t._writes
    if t._inference or State.inference:
        v._inference = t._inference
    return v if how is None else link_to_base(v, t, how)


def link_to_base(v: Tensor, t: Tensor, how: Callable[[Any], Tensor]) -> Tensor:
    """Record that `v` equals `how(t)`, so that the view `v` shares gradients and writes with `t`; return `v`."""
    v._view = (t, how) if t._view is None else (t._view[0], lambda x, f=t._view[1]: how(f(x)))
    v._base_node = v._view[0]._node
    if t.requires_grad and State.grad_enabled:
        v._node, v._needs_grad = step_of_view(t, how), True
    return v


def step_of_view(t: Tensor, how: Callable[[Any], Tensor]) -> Node:
    """Return the node of the view `how(t)`."""
    shape = t.shape
    return Node([node_of(t)], lambda g: [gradient_before_view(shape, how(places_in(shape)), g)])


def follow_base(v: Tensor) -> None:
    """Give a view the gradient history of its base, which an in-place operation has changed.

    Raises:
        NotImplementedError: the axes of the base were changed in place.
    """
    base, how = v._view
    if base._changed_axes:  # `how` may describe its shape from before
        refuse("the gradient of a view of a tensor whose axes were changed in place")
    v._base_node = base._node
    v._node, v._needs_grad = (step_of_view(base, how), True) if base.requires_grad else (None, False)


def places_in(shape: Sequence[int]) -> Tensor:
    """Return a tensor without storage, whose offsets are the flat positions in a contiguous tensor of this shape.

    Views and indices of this tensor show which positions they select.
    """
    return tensor_from_parts(int64, None, 0, shape, row_major(shape))


def gradient_before_view(shape: Sequence[int], places: Tensor, g: Tensor) -> Tensor:
    """Return the gradient of a base of this shape, from that of a view. `places` are the view's positions in the base."""
    spread = KERNELS.get(("spread", g.dtype)) if g.numel() > BIG and is_apart(places.shape, places._strides) else None
    stretched = [i for i, (n, s) in enumerate(zip(places.shape, places._strides, strict=True)) if n > 1 and not s]
    if spread and stretched:
        g = g.sum(stretched, keepdim=True)
    if spread is None:
        return scatter_gradient(shape, places._offsets(), g)
    size = g.dtype.itemsize
    out = tensor_of(array(g.dtype.code, bytes(product(shape) * size)), shape, g.dtype)
    numbers = g._buffer()
    starts, done, axes = four_axes(g.shape, places._strides)
    for i, start in enumerate(starts):
        spread(address_of(out._data) + (places._offset + start) * size, address_of(numbers) + i * done * size, *axes)
    return out


def is_apart(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Check whether the numbers of a view with these strides are all at different positions, but for repeated axes."""
    reach = 0
    for stride, n in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1 and s):
        if stride <= reach:
            return False
        reach += stride * (n - 1)
    return True


def scatter_gradient(shape: Sequence[int], places: Iterable[int], g: Tensor) -> Tensor:
    """Return zeros of this shape, in the dtype of `g`, with its numbers added at these flat positions."""
    size = product(shape)
    exact = g.dtype.code in "fd" and g.dtype.stored == g.dtype.itemsize  # rounds after each sum, as torch
    out: Any = array(g.dtype.code, bytes(size * g.dtype.itemsize)) if exact else [0.0] * size
    for p, v in zip(places, g._numbers(), strict=False):
        out[p] += v
    return tensor_of(out, shape, g.dtype)


def sum_to_shape(g: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient `g` summed over the axes that broadcasting added or stretched, in the original shape."""
    if tuple(g.shape) == tuple(shape):
        return g
    extra = g.ndim - len(shape)
    dims = list(range(extra)) + [i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1]
    if dims:
        g = g.sum(dims, keepdim=True)
    return g.reshape(shape)


def as_operand(g: Tensor, shape: Size, kind: dtype) -> Tensor:
    """Return the gradient of an operand in the operand's shape and dtype."""
    g = g if g.shape == shape else sum_to_shape(g, shape)
    return g if g.dtype is kind else g.to(kind)


def record_rules(out: Tensor, operands: Sequence[Any], rules: Sequence[Any], **values: Any) -> Tensor:
    """Record that `out` was computed from operands, with a rule for the gradient of each; return `out`.

    Nothing is recorded while gradients are off. The parameters of a rule are the gradient `g` of `out`, and names of
    `values`. A value is saved if the rule of an operand that requires a gradient names it.
    """
    if not State.grad_enabled:
        return out
    needed = [(x, rule) for x, rule in zip(operands, rules, strict=True) if isinstance(x, Tensor) and x.requires_grad]
    if not needed:
        return out
    parts = [(rule, rule.__code__.co_varnames[1 : rule.__code__.co_argcount], x.shape, x.dtype) for x, rule in needed]
    saved = dict.fromkeys(name for part in parts for name in part[1])

    def back(g: Tensor, *given: Any) -> list[Tensor]:
        known = dict(zip(saved, given, strict=True))
        return [
            as_operand(rule(g, *[known[name] for name in names]), shape, kind) for rule, names, shape, kind in parts
        ]

    out._node = Node([node_of(x) for x, _ in needed], back, saved=[values[name] for name in saved])
    out._needs_grad = True
    return out


def without_gradient(name: str) -> Callable[..., Any]:
    """Return the function `back` of an operation whose gradient is not implemented: it raises a NotImplementedError."""

    def back(*args: Any) -> NoReturn:
        refuse(f"the gradient of `{name}`")

    return back


def result_type(*xs: Tensor | float) -> dtype:
    """Return the dtype of a result, by torch's type promotion.

    In a category (bool, integer, float), tensors with axes take precedence over 0-d tensors, and these over numbers; a
    higher category always wins.
    """
    kinds = {x.dtype for x in xs if isinstance(x, Tensor)}
    if len(kinds) == 1 and (kind := kinds.pop()).kind == FLOATING:
        return kind
    dims: dtype | None = None
    zeros: dtype | None = None
    nums: dtype | None = None
    for x in xs:
        if isinstance(x, Tensor):
            if x.ndim:
                dims = x.dtype if dims is None else promoted_dtype(dims, x.dtype)
            else:
                zeros = x.dtype if zeros is None else promoted_dtype(zeros, x.dtype)
        else:
            d = bool_ if isinstance(x, bool) else int64 if isinstance(x, INTEGERS) else State.default_dtype
            nums = d if nums is None else promoted_dtype(nums, d)
    found = [d for d in (dims, zeros, nums) if d is not None]
    return max(found, key=lambda d: d.kind)


def numbers_as(t: Tensor, dt: dtype) -> Numbers:
    """Return the tensor's numbers in order, as a sequence, converted to this dtype."""
    v = t._numbers()
    return v if t.dtype is dt else convert_numbers(v, t.dtype, dt)


def as_tensor_of(x: Tensor | float, dt: dtype) -> Tensor:
    return x if isinstance(x, Tensor) else tensor_of([x], (), dt)


def broadcast_view(t: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a view of `t` broadcast to this shape, to which it must broadcast, without gradient history."""
    st = [0] * (len(shape) - len(t.shape)) + [0 if n == 1 else s for n, s in zip(t.shape, t._strides, strict=False)]
    return view_of(t, shape, st, t._offset)


def laid_out(compute: Callable[..., Tensor], tensors: Sequence[Tensor], *args: Any) -> Tensor:
    """Return the elementwise `compute(*tensors, *args)` of tensors of one shape, laid out in memory as by torch."""
    order = layout_order(tensors[0].shape, [t._strides for t in tensors])
    if order == list(range(len(order))):
        return compute(*tensors, *args)
    shape = tensors[0].shape
    out = compute(
        *(view_of(t, [shape[i] for i in order], [t._strides[i] for i in order], t._offset) for t in tensors), *args
    )
    strides = tuple(out._strides[order.index(i)] for i in range(len(order)))
    return tensor_from_parts(out.dtype, out._data, 0, shape, strides)


def type_name(t: Tensor) -> str:
    return f"torch.{TYPE_NAMES[t.dtype]}Tensor"


def check_leaf(t: Tensor, part: bool = False) -> None:
    """Raise a RuntimeError if an in-place operation on `t` would change a leaf that requires grad, itself or its base.

    While gradients are not recorded, it may. A tensor that was made in inference mode cannot be changed after it
    either. With `part`, only a part of `t` is changed.
    """
    if t._inference and not State.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    root = t if t._view is None else t._view[0]
    if State.grad_enabled and t.requires_grad and (t._node is None or (root.requires_grad and root._node is None)):
        kind = "leaf Variable" if root is t and not part else "view of a leaf Variable"
        raise RuntimeError(f"a {kind} that requires grad is being used in an in-place operation.")


def is_dense(t: Tensor) -> bool:
    """Check whether the tensor's numbers fill a part of its storage without gaps, in any order of its axes."""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(t._strides, t.shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def overlap_partly(a: Tensor, b: Tensor) -> bool:
    """Check whether two tensors share some memory, but not all of it in the same order; False if one has gaps."""
    if a._data is not b._data or not (a.numel() and b.numel() and is_dense(a) and is_dense(b)):
        return False
    if a._offset == b._offset and a.numel() == b.numel():
        return a._strides != b._strides
    return a._offset < b._offset + b.numel() and b._offset < a._offset + a.numel()


SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def check_overlap(x: Tensor, *operands: Any) -> None:
    """Raise a RuntimeError if a write into `x` would write to one place twice, or into a part of an operand."""
    advice = "Please clone() the tensor before performing the operation."
    if any(n > 1 and s == 0 for n, s in zip(x.shape, x._strides, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            + advice
        )
    if any(isinstance(t, Tensor) and overlap_partly(x, t) for t in operands):
        raise RuntimeError(SHARED)


def snapshot(t: Tensor) -> Tensor:
    """Return a copy of the tensor with its current numbers and gradient history, for use after an in-place write."""
    o = tensor_of(t._buffer()[:], t.shape, t.dtype)
    o._node, o._needs_grad = node_of(t), t.requires_grad
    return o


def in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the in-place version of a function: it writes the result into its first argument, and returns that.

    It raises the errors of `check_overlap` and of the write.
    """

    @wraps(function)
    def write(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_overlap(x, *args, *kwargs.values())
        return x._write(function(snapshot(x), *args, **kwargs))

    return write


def record_write(t: Tensor, places: list[int], value: Tensor, shape: Sequence[int]) -> None:
    """Record for gradients that `value` was written to these flat positions of `t`, and also to the base of a view."""

    own, given, kind = t.shape, value.shape, value.dtype

    def back(g: Tensor) -> list[Any]:
        flat = list(g._numbers())
        written = tensor_of([flat[p] for p in places], shape, g.dtype)
        gone = set(places)
        kept = tensor_of([0.0 if i in gone else v for i, v in enumerate(flat)], own, g.dtype)
        return [kept, sum_to_shape(written, given).to(kind) if kind.kind == FLOATING else None]

    t._node, t._needs_grad = Node([node_of(t), node_of(value)], back), True
    record_in_base(t, t)


def record_in_base(t: Tensor, value: Tensor) -> None:
    """If `t` is a view, record that `value`, of its shape, was written to the part of its base that it shows."""
    if t._view is not None:
        base, how = t._view
        record_write(base, how(places_in(base.shape))._offsets(), value, t.shape)
        t._base_node = base._node
