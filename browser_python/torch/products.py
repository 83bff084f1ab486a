"""Matrix products, and operations that use them, such as `einsum`.

Errors are those of torch, also where a docstring does not list them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import mul
from typing import Any

from .dtypes import C_NAMES, FLOATING, TYPE_NAMES, State, bool_, dtype
from .kernels import ADDRESS, BIG, KERNELS, Loop, address_of, bound, merged, starts_of
from .numbers import Numbers, OtherInteger
from .shapes import ALL, Size, axis_of, common_shape, product, strides_of, whole
from .tensors import Tensor, broadcast_view, dispatched, method, record_rules, tensor_from_parts, tensor_of, view_of
from .views import diagonal


def product_of_rows(A: Numbers, B: Numbers, m: int, k: int, n: int) -> list[float]:
    """Return the product of an m × k and a k × n matrix; A, B and the result are flat sequences in row order."""
    B = list(B)
    cols = [B[j::n] for j in range(n)] if n else []
    out: list[float] = []
    for i in range(m):
        row = A[i * k : (i + 1) * k]
        out += [dot_of_rows(row, col) for col in cols]
    return out


def sum_of_products(x: Numbers, y: Numbers) -> float:
    return sum(map(mul, x, y))


dot_of_rows = getattr(math, "sumprod", sum_of_products)  # `math.sumprod` is new in Python 3.12; the page has it


def check_product(a: object, b: object) -> None:
    """Raise torch's error if torch would not multiply these operands by `matmul`.

    Raises:
        TypeError: one is not a tensor.
        RuntimeError: one has no axes, the dtypes differ, or the sizes do not fit.
        NotImplementedError: both are bool.
    """
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dtype is b.dtype and a.dtype is not bool_:
        (*_, k), (*rest, n) = a.shape or (0,), b.shape or (1,)
        if a.shape and b.shape and k == (rest[-1] if rest else n):
            return
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        bad = b if isinstance(a, Tensor) else a
        raise TypeError(f"matmul(): argument 'other' must be Tensor, not {type(bad).__name__}")
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    if a.dtype is not b.dtype:
        if a.ndim == 1 and b.ndim == 1:
            raise RuntimeError(
                f"dot : expected both vectors to have same dtype, but found {TYPE_NAMES[a.dtype]} and {TYPE_NAMES[b.dtype]}"
            )
        first, second = TYPE_NAMES[a.dtype], TYPE_NAMES[b.dtype]
        if (a.ndim, b.ndim) == (2, 1):
            raise RuntimeError(f"addmv input tensors must have the same dtype, but got {second}, {first}, and {second}")
        if min(a.ndim, b.ndim) > 2:
            raise RuntimeError(f"expected scalar type {first} but found {second}")
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {C_NAMES[a.dtype]} != {C_NAMES[b.dtype]}"
        )
    if a.dtype is bool_:
        names = {(1, 1): "dot", (2, 1): "addmv_impl_cpu"}
        name = names.get((min(a.ndim, 2), b.ndim), "addmm_impl_cpu_" if b.ndim <= 2 else "bmm")
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    if a.shape[-1] == b.shape[-min(2, b.ndim)]:
        return
    m, k, k2, n = (
        (a.shape[-2] if a.ndim > 1 else 1),
        a.shape[-1],
        b.shape[-min(2, b.ndim)],
        (b.shape[-1] if b.ndim > 1 else 1),
    )
    if a.ndim == 1 and b.ndim == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{k}] and src [{k2}] to have the same number of elements, but got {k} and {k2} elements respectively"
        )
    if b.ndim == 1 and a.ndim == 2:
        raise RuntimeError(f"size mismatch, got input ({m}), mat ({m}x{k}), vec ({k2})")
    if a.ndim > 2 and b.ndim > 2:
        lead = product(common_shape(a.shape[:-2], b.shape[:-2]))
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{lead}, {k}] but got: [{lead}, {k2}]."
        )
    rows = product(a.shape[:-1]) if b.ndim <= 2 else m
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{k} and {k2}x{n})")


@method
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices in the last two axes, and broadcast the others. Errors are those of `check_product`.

    A vector is a row as the left operand, and a column as the right one; the result does not have its axis.
    """
    check_product(a, b)
    out = unnamed_product(a, b)
    return dispatched(out, "aten::bmm") if State.dispatch_modes else out


def unnamed_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `matmul(a, b)`, without telling it to any `TorchDispatchMode` by its name."""
    if not (a.requires_grad or b.requires_grad):
        return plain_product(a, b)
    A, B = (a.unsqueeze(0) if a.ndim == 1 else a), (b.unsqueeze(1) if b.ndim == 1 else b)
    out = product_of_matrices(A, B)
    single, n = B.ndim == 2, B.shape[-1]

    def rule_of_right(g: Tensor, a: Tensor) -> Tensor:
        return product_of_matrices(a.flatten(0, -2).mT, g.reshape(-1, n)) if single else product_of_matrices(a.mT, g)

    record_rules(out, (A, B), (lambda g, b: product_of_matrices(g, b.mT), rule_of_right), a=A, b=B)
    out = out.squeeze(-2) if a.ndim == 1 else out
    return out.squeeze(-1) if b.ndim == 1 else out


def plain_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `matmul(a, b)` of tensors without gradient; nothing is recorded."""
    if len(a.shape) > 1 and len(b.shape) > 1:
        return product_of_matrices(a, b)
    if len(a.shape) + len(b.shape) <= 3 and max(a.numel(), b.numel()) <= BIG:
        return tensor_of(product_with_vector(a, b), (*a.shape[:-1], *b.shape[1:]), a.dtype)
    row, column = len(a.shape) == 1, len(b.shape) == 1
    A = view_of(a, (1, *a.shape), (len(a), *a._strides), a._offset) if row else a
    B = view_of(b, (*b.shape, 1), (*b._strides, 1), b._offset) if column else b
    out = product_of_matrices(A, B)
    *lead, m, n = out.shape
    return tensor_of(out._data, [*lead, *([] if row else [m]), *([] if column else [n])], out.dtype)


def product_with_vector(a: Tensor, b: Tensor) -> list[float]:
    """Return the numbers of a product in which one operand is a vector and the other a vector or a small matrix."""
    x, y = a._numbers(), b._numbers()
    if len(b.shape) == 2:
        n = b.shape[1]
        return [dot_of_rows(x, y[j::n]) for j in range(n)]
    k = len(y)
    return [dot_of_rows(x[i * k : (i + 1) * k], y) for i in range(product(a.shape[:-1]))]


def product_of_matrices(A: Tensor, B: Tensor) -> Tensor:
    """Multiply the matrices in the last two axes, and broadcast the others; nothing is recorded for gradients."""
    kind = A.dtype
    if ("matmul", kind) in KERNELS:
        loop = loop_of_product(kind, A.shape, A._strides, B.shape, B._strides)
        out = array(kind.code, bytes(loop.n * kind.itemsize))
        loop.run(address_of(out), A._address(), B._address())
        return tensor_from_parts(kind, out, 0, loop.shape, loop.strides)
    (*lead_of_a, m, k), (*lead_of_b, _, n), dt = A.shape, B.shape, A.dtype
    lead = lead_of_a if lead_of_a == lead_of_b or not lead_of_b else list(common_shape(lead_of_a, lead_of_b))
    count, rows = product(lead), m
    one = not lead_of_b  # B is a single matrix: the matrices of A are stacked into a tall one
    left = A if lead_of_a == lead else broadcast_view(A, (*lead, m, k))
    right = B if one or lead_of_b == lead else broadcast_view(B, (*lead, k, n))
    if one:
        count, rows = 1, count * m
    x, y = left._numbers(), right._numbers()
    numbers: list[float] = []
    for c in range(count):
        numbers += product_of_rows(x[c * rows * k : (c + 1) * rows * k], y[c * k * n : (c + 1) * k * n], rows, k, n)
    return tensor_of(numbers, (*lead, m, n), dt)


@lru_cache(maxsize=2000)
def loop_of_product(
    kind: dtype,
    shape_a: tuple[int, ...],
    strides_a: tuple[int, ...],
    shape_b: tuple[int, ...],
    strides_b: tuple[int, ...],
) -> Loop:
    """Return the loop of the product of matrices in the last two axes of operands with these shapes and strides."""
    (*lead_of_a, m, k), (*lead_of_b, _, n) = shape_a, shape_b
    lead = common_shape(lead_of_a, lead_of_b)
    shape = Size((*lead, m, n))
    out = strides_of(shape)

    def along_lead(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
        return [0] * (len(lead) - len(sizes)) + [0 if size == 1 else s for size, s in zip(sizes, strides, strict=False)]

    steps = zip(lead, out, along_lead(lead_of_a, strides_a), along_lead(lead_of_b, strides_b), strict=False)
    rows: tuple[int, ...] = (m, n, strides_a[-2], 0)
    axes = merged([*steps, rows])
    if axes and axes[-1][1] == n and axes[-1][3] == 0:  # with axes along which b is the same, the rows are more
        rows = axes.pop()
    axes = [(1, 0, 0, 0)] * (2 - len(axes)) + axes
    *outer, (count0, out0, a0, b0), (count1, out1, a1, b1) = axes
    at = ADDRESS
    args = [count0, count1, at, out0, out1, n, at, a0, a1, rows[2], strides_a[-1], at, b0, b1, *strides_b[-2:]]
    starts = starts_of(outer, [kind.itemsize] * 3)
    return Loop(prod(shape), shape, out, bound(KERNELS["matmul", kind], [*args, rows[0], k, n, 0], starts))


@method
def bmm(a: Tensor, b: Tensor) -> Tensor:
    """Multiply two batches of matrices: (B, m, k) and (B, k, n) to (B, m, n). Other shapes raise a RuntimeError."""
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if a.ndim != 3 else "batch2 must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}]."
        )
    return matmul(a, b)


@method
def mm(a: Tensor, b: Tensor) -> Tensor:
    """Multiply two matrices. A RuntimeError is raised for other numbers of axes, and for sizes that do not fit."""
    for name, x in (("self", a), ("mat2", b)):
        if x.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    return matmul(a, b)


@method
def dot(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    return matmul(a, b)


@method
def mv(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    return matmul(a, b)


@method
def inner(a: Tensor, b: Tensor) -> Tensor:
    if not a.ndim or not b.ndim:
        return a * b
    return matmul(a, b.mT) if b.ndim > 1 else matmul(a, b)


@method
def outer(a: Tensor, b: Tensor) -> Tensor:
    """Return all products of two vectors: result[i, j] = a[i]·b[j]. Other axes raise a RuntimeError."""
    for name, x in (("self", a), ("vec2", b)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return a[:, None] * b[None, :]


def expand_ellipses(terms: list[str], ops: Sequence[Tensor]) -> tuple[list[str], str]:
    """Return einsum's terms with letters in place of each "...", and the letters that replace the longest one.

    A term that has not as many letters as its operand has axes raises a RuntimeError.
    """
    spare = [x.ndim - len(term.replace("...", "")) for term, x in zip(terms, ops, strict=True)]
    for i, (term, x, n) in enumerate(zip(terms, ops, spare, strict=True)):
        if n < 0 or (n and "..." not in term):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of dimensions ({x.ndim}) for operand {i} and no ellipsis was given"
            )
    wide = max((n for term, n in zip(terms, spare, strict=True) if "..." in term), default=0)
    dots = "".join(chr(0x100 + i) for i in range(wide))
    return [term.replace("...", dots[wide - n :]) for term, n in zip(terms, spare, strict=True)], dots


def sizes_by_letter(terms: list[str], ops: Sequence[Tensor], right: str) -> dict[str, int]:
    """Return the size of the axes of each letter of an equation of `einsum`.

    Raises:
        RuntimeError: a letter stands for two sizes that do not broadcast, or is in the result twice or only there.
    """
    sizes: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(terms, ops, strict=True)):
        for c, n in zip(term, x.shape, strict=True):
            if n != 1 and sizes.get(c, 1) not in (1, n):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {i} which does not broadcast with previously seen size {sizes[c]}"
                )
            sizes[c] = n if n != 1 else sizes.get(c, 1)
    for c in right:
        if right.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in sizes:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
    return sizes


def equation_of(parts: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation and the operands of `einsum(a, [0, 1], b, [1, 2], [0, 2])`, where numbers stand for letters."""

    def letters(numbers: Sequence[Any]) -> str:
        for n in numbers:
            if n is not Ellipsis and not (type(n) is int and 0 <= n < 52):
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if n is Ellipsis else chr(65 + n) if n < 26 else chr(71 + n) for n in numbers)

    n = len(parts) // 2
    equation = ",".join(letters(parts[2 * i + 1]) for i in range(n))
    return equation + (f"->{letters(parts[-1])}" if len(parts) % 2 else ""), list(parts[: 2 * n : 2])


def einsum(equation: Any, *ops: Any) -> Tensor:
    """Return the sums of products that an equation such as "...id,...jd->...ij" describes.

    Without "->", the result has the letters that occur once, in alphabetical order, after the axes of "...".

    Raises:
        RuntimeError: the operands are not as many as the terms, or a term does not fit its operand's axes or their
            sizes.
    """
    if isinstance(equation, Tensor) and ops:
        equation, ops = equation_of((equation, *ops))  # type: ignore[assignment]
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    if len(ops) == 1 and isinstance(ops[0], (list, tuple)):
        ops = tuple(ops[0])
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ops):
        raise RuntimeError(
            f"einsum(): {'more' if len(ops) > len(terms) else 'fewer'} operands were provided than specified in the equation"
        )
    full, dots = expand_ellipses(terms, ops)
    every = "".join(full)
    right = (
        right.replace("...", dots)
        if arrow
        else dots + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in dots))
    )
    sizes = sizes_by_letter(full, ops, right)
    order = right + "".join(sorted(set(every) - set(right)))  # of the axes, as in torch
    out, labels = take_diagonals(ops[0], full[0])
    if len(ops) == 1:
        out = out.permute([labels.index(c) for c in sorted(labels, key=order.index)]) if labels else out
        return out.sum(list(range(len(right), len(labels)))) if len(labels) > len(right) else out
    out, labels = sum_unneeded(out, labels, right + "".join(full[1:]))
    for i, (term, x) in enumerate(zip(full[1:], ops[1:], strict=True), 2):
        out, labels = contract(out, labels, *take_diagonals(x, term, i - 1), right + "".join(full[i:]), order, sizes)
    return out.permute([labels.index(c) for c in right]) if labels else out


def take_diagonals(x: Tensor, term: str, i: int = 0) -> tuple[Tensor, str]:
    """Take the diagonal of operand number i, `x`, for each letter that occurs twice in its term.

    Return the result and its term, in which the letter is last. Axes of other sizes raise a RuntimeError.
    """
    for c in sorted(set(term)):
        while term.count(c) > 1:
            p, q = term.index(c), term.rindex(c)
            if x.shape[p] != x.shape[q]:
                raise RuntimeError(
                    f"einsum(): subscript {c} is repeated for operand {i} but the sizes don't match, {x.shape[q]} != {x.shape[p]}"
                )
            x = diagonal(x, 0, p, q)
            term = term[:p] + term[p + 1 : q] + term[q + 1 :] + c
    return x, term


def sum_unneeded(x: Tensor, term: str, needed: str) -> tuple[Tensor, str]:
    """Sum `x` over the letters that are not in `needed`; return the result and its term."""
    drop = [i for i, c in enumerate(term) if c not in needed]
    return (x.sum(drop) if drop else x), "".join(c for c in term if c in needed)


def contract(
    x: Tensor, tx: str, y: Tensor, ty: str, needed: str, order: str, sizes: dict[str, int]
) -> tuple[Tensor, str]:
    """Multiply x and y with the terms tx and ty, and sum over the letters that are not in `needed`.

    Return result and term.

    It is one batched matrix product: shared letters in `needed` become the batch, the other shared ones are summed. Of
    letters of one kind, those earlier in `order` come first. Without a sum, it is a product of single numbers.
    """
    x, tx = sum_unneeded(x, tx, needed + ty)
    y, ty = sum_unneeded(y, ty, needed + tx)
    tx_in_order, ty_in_order = sorted(tx, key=order.index), sorted(ty, key=order.index)
    batch = [c for c in tx_in_order if c in ty and c in needed]
    summed = [c for c in tx_in_order if c in ty and c not in needed]
    only_x, only_y = [c for c in tx_in_order if c not in ty], [c for c in ty_in_order if c not in tx]
    if not summed:
        labels = "".join(sorted({*tx, *ty}, key=order.index))
        a, b = (
            z.permute([term.index(c) for c in labels if c in term])[tuple(ALL if c in term else None for c in labels)]
            if labels
            else z
            for z, term in ((x, tx), (y, ty))
        )
        return a * b, labels
    if only_x and only_y and order.index(only_x[0]) > order.index(only_y[-1]):
        x, tx, only_x, y, ty, only_y = y, ty, only_y, x, tx, only_x

    def as_matrices(z: Tensor, term: str, *groups: list[str]) -> Tensor:
        order = [c for group in (batch, *groups) for c in group]
        z = z.permute([term.index(c) for c in order]).expand([sizes[c] for c in order])
        return z.reshape([*(sizes[c] for c in batch), *(product(sizes[c] for c in group) for group in groups)])

    out = matmul(as_matrices(x, tx, only_x, summed), as_matrices(y, ty, summed, only_y))
    labels = "".join(batch + only_x + only_y)
    return out.reshape([sizes[c] for c in labels]), labels


def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """Multiply, and sum over the last `dims` axes of `a` and the first of `b`, or over two lists of axes.

    The result has the other axes of `a`, then those of `b`. A RuntimeError is raised for a negative or too large
    `dims`, lists of two lengths, and axes of two sizes. An axis that is not there raises an IndexError.
    """
    if not isinstance(dims, (list, tuple)):
        if isinstance(dims, OtherInteger):
            raise RuntimeError(
                "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
                f"but got dims={dims}"
            )
        dims = whole(dims, "dims")
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot expects dims in the range of 0 to {min(a.ndim, b.ndim)}, but got dims={dims}"
            )
        da, db = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        da, db = [
            [axis_of(d, t.ndim) for d in (ds if isinstance(ds, (list, tuple)) else [ds])]
            for ds, t in zip(dims, (a, b), strict=False)
        ]
    if len(da) != len(db):
        raise RuntimeError("both dimension lists should have same length")
    la = [chr(97 + i) for i in range(a.ndim)]
    lb = [chr(65 + i) for i in range(b.ndim)]
    for p, q in zip(da, db, strict=False):
        if a.shape[p] != b.shape[q] and 1 not in (a.shape[p], b.shape[q]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[p]} in dim {p - a.ndim} and second has "
                f"size {b.shape[q]} in dim {q}"
            )
        lb[q] = la[p]
    out = [c for c in la if c not in lb] + [c for c in lb if c not in la]
    return einsum("".join(la) + "," + "".join(lb) + "->" + "".join(out), a, b)


def kron(a: Tensor, b: Tensor) -> Tensor:
    """Return the Kronecker product: the blocks a[i, j]·b."""
    n = max(a.ndim, b.ndim)
    A, B = a.reshape([1] * (n - a.ndim) + list(a.shape)), b.reshape([1] * (n - b.ndim) + list(b.shape))
    sa, sb, shape = [], [], []
    for p, q in zip(A.shape, B.shape, strict=False):
        sa += [p, 1]
        sb += [1, q]
        shape.append(p * q)
    return (A.reshape(sa) * B.reshape(sb)).reshape(shape)


@method
def __matmul__(x: Tensor, o: Any) -> Any:
    return matmul(x, o) if isinstance(o, Tensor) else NotImplemented  # of an array of the page's numpy, NumPy's product


@method
def addmm(x: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return beta·x + alpha·(mat1 @ mat2), with x broadcast.

    A RuntimeError is raised for two dtypes, and for the errors of `mm`.
    """
    for name, t in (("self", x), ("mat1", mat1)):
        if t.dtype is not mat2.dtype:
            kinds = f"{TYPE_NAMES[t.dtype]} and {TYPE_NAMES[mat2.dtype]}"
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {kinds}")
    return scaled(x.expand(mat1.shape[0], mat2.shape[-1]), beta) + scaled(mm(mat1, mat2), alpha)


def scaled(x: Tensor, factor: float) -> Tensor:
    """Return `x` times a factor, which torch makes an integer for a tensor of integers."""
    return x * (factor if x.dtype.kind == FLOATING else int(factor))
