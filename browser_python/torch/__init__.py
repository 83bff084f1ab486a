"""A subset of PyTorch in plain Python, for the page: tensors with strides, broadcasting, indexing and gradients.

A program that runs here also runs on PyTorch, with the same numbers, shapes, dtypes, errors, text and random numbers; a
test compares the two. A missing name such as `torch.fft` or `Tensor.svd` raises an error that says so. The storage of a
tensor is an `array.array`. Loops run in Python; on the page, large loops run in JavaScript (`kernels`).
"""

# ruff: noqa: F401 (this file re-exports torch's public names)
from __future__ import annotations

from math import e, inf, nan, pi
from typing import Any

from . import autograd, distributions, inplace, linalg, nn, optim, special, testing, utils
from . import printing as _tensor_str
from .arguments import check_arguments as _check_arguments
from .arithmetic import (
    FUNCTIONS,
    add,
    allclose,
    atan2,
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    clamp,
    clip,
    div,
    eq,
    equal,
    floor_divide,
    fmod,
    ge,
    gt,
    heaviside,
    hypot,
    isclose,
    isfinite,
    isinf,
    isnan,
    isneginf,
    le,
    lerp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    masked_fill,
    maximum,
    minimum,
    mul,
    nan_to_num,
    ne,
    neg,
    pow,
    remainder,
    round,
    square,
    sub,
    where,
    xlogy,
)
from .arithmetic import atan2 as arctan2
from .arithmetic import div as divide
from .arithmetic import div as true_divide
from .arithmetic import ge as greater_equal
from .arithmetic import gt as greater
from .arithmetic import le as less_equal
from .arithmetic import lt as less
from .arithmetic import mul as multiply
from .arithmetic import ne as not_equal
from .arithmetic import neg as negative
from .arithmetic import sub as subtract
from .composed import (
    TYPES as _TYPES,
)
from .composed import (
    addbmm,
    addcdiv,
    addcmul,
    addmv,
    addr,
    adjoint,
    angle,
    atleast_3d,
    baddbmm,
    can_cast,
    clamp_max,
    clamp_min,
    combinations,
    copysign,
    cross,
    cumulative_trapezoid,
    deg2rad,
    dstack,
    flipud,
    float_power,
    frac,
    gcd,
    get_device,
    hsplit,
    index_add,
    index_copy,
    index_put,
    is_nonzero,
    lcm,
    logaddexp2,
    logcumsumexp,
    logit,
    matrix_power,
    mode,
    msort,
    nanmean,
    nanmedian,
    nanquantile,
    positive,
    promote_types,
    rad2deg,
    randint_like,
    rsub,
    scatter_reduce,
    sgn,
    signbit,
    sinc,
    trapezoid,
    triu_indices,
    unique_consecutive,
    unravel_index,
    vander,
    vdot,
    vsplit,
)
from .composed import trapezoid as trapz
from .creation import (
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    hamming_window,
    hann_window,
    linspace,
    logspace,
    ones,
    ones_like,
    scalar_tensor,
    tensor,
    zeros,
    zeros_like,
)
from .dtypes import (
    bfloat16,
    device,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    strided,
    uint8,
)
from .dtypes import bool_ as bool
from .dtypes import float16 as half
from .dtypes import float32 as float
from .dtypes import float64 as double
from .dtypes import int16 as short
from .dtypes import int32 as int
from .dtypes import int64 as long
from .indexing import (
    argwhere,
    gather,
    index_select,
    masked_select,
    narrow,
    nonzero,
    select,
    take,
    take_along_dim,
    unbind,
)
from .inplace import masked_scatter, scatter
from .joining import (
    block_diag,
    cartesian_prod,
    cat,
    chunk,
    column_stack,
    diag,
    diag_embed,
    diagflat,
    flip,
    fliplr,
    hstack,
    repeat_interleave,
    roll,
    rot90,
    split,
    stack,
    tensor_split,
    tile,
    tril,
    tril_indices,
    triu,
    vstack,
)
from .joining import cat as concat
from .joining import cat as concatenate
from .linalg import det
from .linalg import inv as inverse
from .linalg import pinv as pinverse
from .missing import UNDOCUMENTED as _UNDOCUMENTED
from .missing import missing_getattr as _missing_getattr
from .modes import (
    enable_grad,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    inference_mode,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    is_tensor,
    no_grad,
    set_default_device,
    set_default_dtype,
    set_grad_enabled,
    set_num_threads,
    use_deterministic_algorithms,
)
from .nn.module import typename
from .ordering import (
    argsort,
    bincount,
    bucketize,
    cummax,
    cummin,
    isin,
    kthvalue,
    searchsorted,
    sort,
    topk,
    unique,
)
from .printing import set_printoptions
from .products import addmm, bmm, dot, einsum, inner, kron, matmul, mm, mv, outer, tensordot
from .randomness import (
    Generator,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)
from .reductions import (
    all,
    amax,
    amin,
    aminmax,
    any,
    argmax,
    argmin,
    cdist,
    count_nonzero,
    cumprod,
    cumsum,
    diff,
    dist,
    log_softmax,
    logaddexp,
    logsumexp,
    max,
    mean,
    median,
    min,
    nansum,
    norm,
    prod,
    softmax,
    std,
    std_mean,
    sum,
    trace,
    var,
    var_mean,
)
from .shapes import Size
from .statistics import corrcoef, cov, histc, quantile
from .tensors import Tensor, result_type
from .tensors import read_only as _read_only
from .views import (
    as_strided,
    atleast_1d,
    atleast_2d,
    broadcast_shapes,
    broadcast_tensors,
    broadcast_to,
    clone,
    detach,
    diagonal,
    flatten,
    meshgrid,
    movedim,
    permute,
    ravel,
    reshape,
    squeeze,
    t,
    transpose,
    unflatten,
    unsqueeze,
)
from .views import transpose as swapaxes
from .views import transpose as swapdims

__version__ = "2.13.0+page"
newaxis = None
globals().update(FUNCTIONS)
globals().update(_TYPES)
ger, moveaxis, row_stack = outer, movedim, vstack
absolute, arctan, arcsin, arccos = abs, atan, asin, acos  # type: ignore[name-defined]  # noqa: F821
Tensor.det = det  # type: ignore[attr-defined]
Tensor.absolute = absolute  # type: ignore[attr-defined]
Tensor.inverse = inverse  # type: ignore[attr-defined]
Tensor.__module__ = Size.__module__ = "torch"
Generator.__module__ = "torch._C"  # as PyTorch names it


def numel(x: Tensor) -> int:  # type: ignore[valid-type]
    return x.numel()


def is_floating_point(x: Tensor) -> bool:  # type: ignore[valid-type]
    return x.is_floating_point()


from . import accelerator, amp, backends, cuda, random  # noqa: E402
from .amp import autocast  # noqa: E402

for _name, _function in [*globals().items()]:
    if type(_function) is type(numel):
        globals()[_name] = _check_arguments(_name, _function)
for _module in (autograd, linalg, nn.utils, nn.utils.rnn):
    for _name, _function in [*vars(_module).items()]:
        if type(_function) is type(numel) and _function.__module__ == _module.__name__:
            _full_name = f"linalg_{_name}" if _module is linalg else _name
            setattr(_module, _name, _check_arguments(_full_name, _function))
for _name, _function in [*vars(Tensor).items()]:
    if type(_function) is type(numel) and not _name.startswith("_"):
        setattr(Tensor, _name, _check_arguments(_name, _function, skip=1))
    elif type(_function) is property and _function.fget and not _function.fset:
        setattr(Tensor, _name, _read_only(_name, _function.fget))


def is_complex(x: Tensor) -> bool:  # type: ignore[valid-type]
    return False


class _C:
    class DisableTorchFunctionSubclass:
        """A context manager that does nothing: tensors here have no `__torch_function__`."""

        def __enter__(self) -> None:
            return None

        def __exit__(self, *a: object) -> None:
            return None


for _module in (nn, optim, optim.lr_scheduler, utils.data):
    for _thing in vars(_module).values():
        if isinstance(_thing, type) and _thing.__module__.partition("torch.")[2].startswith(("nn", "optim", "utils")):
            _thing.__doc__ = _UNDOCUMENTED
Tensor.__doc__ = _UNDOCUMENTED
__getattr__ = _missing_getattr("torch")
