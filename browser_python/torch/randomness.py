"""Random numbers: the same numbers as torch's CPU generator for the same seed.

torch and Python's `random` both draw from the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998). They differ
only in the seeding, and in how they convert its 32-bit words to numbers.

Errors are those of torch, also where a docstring does not list them.
"""

from __future__ import annotations

import math
import os
import random
import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from .arithmetic import kernel_for
from .creation import placed
from .dtypes import (
    CPU,
    FLOATING,
    TYPE_NAMES,
    Device,
    State,
    as_dtype,
    check_device,
    device,
    dtype,
    float32,
    float64,
    int64,
    uint8,
)
from .dtypes import dtype as Kind
from .gradients import record_step
from .kernels import KERNELS, address_of
from .missing import refuse
from .numbers import Numbers, OtherInteger, quotient, to_array
from .shapes import check_sizes, common_shape, layout_order, product, sizes_of, whole
from .tensors import Tensor, laid_out, method, tensor_of

WORDS = 624  # in the state of the Mersenne Twister
CHUNK = 1 << 18  # numbers drawn by one call of the kernel
# torch's layout: the seed, how many words are left until new ones are made, whether it is seeded, the index, the words,
# the spare normal number between two numbers that torch no longer uses, whether there is one, and the same of float32
STATE_LAYOUT = struct.Struct(f"<QiiQ{WORDS}Q3di4xf?3x")


@lru_cache(maxsize=100)
def first_words(seed: int) -> tuple[int, ...]:
    """Return the words and the index of the Mersenne Twister after a seed, as torch computes them."""
    words = [seed]
    for i in range(1, WORDS):
        words.append((1812433253 * (words[-1] ^ (words[-1] >> 30)) + i) & 0xFFFFFFFF)
    return (*words, WORDS)


class Generator:
    """A generator of random numbers, determined by its seed."""

    def __init__(self, device: Device = "cpu") -> None:
        check_device(device)
        self._twister = random.Random()
        self.manual_seed(67280421310721)

    @property
    def device(self) -> device:
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Seed the Mersenne Twister as torch does, and return the generator.

        Raises:
            RuntimeError, TypeError: the seed is no `int`; an integer of NumPy is none.
        """
        if not isinstance(seed, int) or isinstance(seed, bool):
            if isinstance(seed, OtherInteger):
                raise TypeError("an integer is required")
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self._seed, self._spare_normal = int(seed) % 2**64, None
        self._twister.setstate((3, first_words(self._seed & 0xFFFFFFFF), None))
        self._state = None
        return self

    _spare_normal: float | None
    _state: bytes | None  # what `get_state` returned, until numbers are drawn

    def words(self, n: int) -> array[int]:
        """Draw n words of 32 bits."""
        self._state = None
        return array("I", self._twister.getrandbits(32 * n).to_bytes(4 * n, "little")) if n else array("I")

    def word(self) -> int:
        self._state = None
        return self._twister.getrandbits(32)

    def long_word(self) -> int:
        return self.word() << 32 | self.word()

    def double(self) -> float:
        return (self.long_word() & 0x1FFFFFFFFFFFFF) / 9007199254740992

    def uniform(self, n: int, kind: dtype) -> Numbers:
        """Draw n uniform numbers in [0, 1): with 53 random bits for float64, else with 24."""
        if kernel_for("uniform", n, kind):
            return self.uniform_by_kernel(n, kind)
        if kind is not float64:
            return [(w & 0xFFFFFF) / 16777216 for w in self.words(n)]
        both = self.words(2 * n)
        return [((h & 0x1FFFFF) << 32 | low) / 9007199254740992 for h, low in zip(both[::2], both[1::2], strict=True)]

    def uniform_by_kernel(self, n: int, kind: dtype) -> array[Any]:
        """Draw n uniform numbers with the page's kernel, in chunks, to save the memory of all words at once."""
        numbers = array(kind.code, bytes(n * kind.itemsize))
        for start in range(0, n, CHUNK):
            words = self.words(min(CHUNK, n - start) * (2 if kind is float64 else 1))
            at = address_of(numbers) + start * numbers.itemsize
            KERNELS["uniform", kind](at, address_of(words), min(CHUNK, n - start))
        return numbers

    def normal(self, n: int, kind: dtype) -> Numbers:
        """Draw n normal numbers by Box and Muller (1958): for n < 16 one pair at a time, else in blocks of 16.

        Raises:
            NotImplementedError: n ≥ 16 numbers of float16 or bfloat16.
        """
        if n < 16:
            return [self.one_normal() for _ in range(n)]
        if kind.itemsize == 2:
            refuse(f"drawing 16 or more normal numbers of the dtype `{kind}`")  # torch pairs these otherwise
        drawn = self.uniform(n, kind)
        numbers = drawn if isinstance(drawn, array) else to_array(drawn, kind)
        box_muller(numbers, 0, n - n % 16, kind)
        if n % 16:
            numbers[n - 16 :] = to_array(self.uniform(16, kind), kind)
            box_muller(numbers, n - 16, n, kind)
        return numbers

    def one_normal(self) -> float:
        """Draw one normal number: half of a pair, of which the other is kept for the next call."""
        if self._spare_normal is not None:
            drawn, self._spare_normal, self._state = self._spare_normal, None, None
            return drawn
        turn, u = 2 * math.pi * self.double(), self.double()
        radius = math.sqrt(-2 * math.log1p(-u))
        self._spare_normal = radius * math.sin(turn)
        return radius * math.cos(turn)

    def exponential(self, n: int) -> list[float]:
        """Draw n exponential numbers, each from a uniform one of 53 bits. torch's differ where it uses Intel's MKL."""
        return [-math.log1p(-u) for u in self.uniform(n, float64)]

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        return self.manual_seed(int.from_bytes(os.urandom(6), "big"))._seed

    def get_state(self) -> Tensor:
        """Return the generator's state, as a uint8 tensor in torch's layout."""
        if self._state is None:
            (*words, at), spare = self._twister.getstate()[1], self._spare_normal
            left = WORDS + 1 - at
            if (*words, at) == first_words(self._seed & 0xFFFFFFFF):
                at = 0  # torch's index before the first word is drawn
            normal = (0.0, spare or 0.0, 0.0, spare is not None)
            self._state = STATE_LAYOUT.pack(self._seed, left, 1, at, *words, *normal, 0.0, False)
        return tensor_of(array("B", self._state), (len(self._state),), uint8)

    def set_state(self, state: Tensor) -> Generator:
        """Continue from a state that `get_state` returned.

        Raises:
            TypeError: it is no tensor of bytes.
            RuntimeError: it has another size than a state.
        """
        if not isinstance(state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype is not uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.numel() != STATE_LAYOUT.size:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_LAYOUT.size} but found the input RNG state size to be "
                f"{state.numel()}"
            )
        self._seed, left, _, _, *words = STATE_LAYOUT.unpack(bytes(state._numbers()))
        spare, has_spare = words[WORDS + 1], words[WORDS + 3]
        self._spare_normal = spare if has_spare else None
        self._twister.setstate((3, (*words[:WORDS], WORDS + 1 - left), None))
        self._state = None
        return self

    def clone_state(self) -> Generator:
        return Generator().set_state(self.get_state())


def box_muller(numbers: array[Any], start: int, stop: int, kind: dtype) -> None:
    """Convert uniform numbers below 1 to normal ones, in place. In each block of 16, j is paired with j + 8.

    `stop` − `start` is a multiple of 16.

    Each step is rounded to the dtype, as torch does: an angle rounded otherwise changes the numbers near 0.
    """
    if kernel := kernel_for("normal", stop - start, kind):
        kernel(address_of(numbers), start, stop)
        return
    [whole] = to_array([2 * math.pi], kind)

    def of_each(step: Callable[[float], float], values: array[Any]) -> array[Any]:
        return to_array([step(v) for v in values], kind)

    for block in range(start, stop, 16):
        logs = of_each(lambda u: math.log(1 - u), numbers[block : block + 8])
        radii = of_each(lambda v: math.sqrt(-2 * v), logs)
        turns = of_each(lambda u: whole * u, numbers[block + 8 : block + 16])
        for at, parts in ((block, of_each(math.cos, turns)), (block + 8, of_each(math.sin, turns))):
            numbers[at : at + 8] = to_array([r * p for r, p in zip(radii, parts, strict=True)], kind)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    default_generator.set_state(state)


def drawn(
    draw: Callable[[int, Kind], Numbers],
    shape: list[int],
    dtype: Kind | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of this shape and floating-point dtype with the numbers of `draw(count, dtype)`.

    Raises:
        RuntimeError: a size is negative.
        NotImplementedError: the dtype is not floating-point.
    """
    kind = as_dtype(dtype) or State.default_dtype
    check_sizes(shape)
    check_floating(kind, "check_uniform_bounds" if draw.__name__ == "uniform" else "normal_kernel_cpu")
    return placed(tensor_of(draw(product(shape), kind), shape, kind), device, requires_grad)


def check_floating(kind: Kind, name: str = "normal_kernel_cpu") -> None:
    if kind.kind < FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[kind]}'")


def randn(
    *sizes: int | Sequence[int], size: Sequence[int] | None = None, generator: Generator | None = None, **more: Any
) -> Tensor:
    return drawn((generator or default_generator).normal, sizes_of(sizes, size), **more)


def rand(
    *sizes: int | Sequence[int], size: Sequence[int] | None = None, generator: Generator | None = None, **more: Any
) -> Tensor:
    return drawn((generator or default_generator).uniform, sizes_of(sizes, size), **more)


def rand_like(
    x: Tensor, *, dtype: Kind | None = None, device: Device = None, requires_grad: bool = False, **more: Any
) -> Tensor:
    """Return uniform numbers in the shape, dtype and memory layout of `x`."""
    t = laid_out(lambda x: rand(size=tuple(x.shape), dtype=dtype or x.dtype, **more), [x])
    return placed(t, device, requires_grad)


def randn_like(
    x: Tensor, *, dtype: Kind | None = None, device: Device = None, requires_grad: bool = False, **more: Any
) -> Tensor:
    """Return normal numbers in the shape, dtype and memory layout of `x`."""
    in_order = layout_order(x.shape, [x._strides]) == list(range(x.ndim))
    return placed(normal_numbers(x, dtype or x.dtype, in_order, **more), device, requires_grad)


def normal_numbers(x: Tensor, kind: Kind, in_order: bool, generator: Generator | None = None) -> Tensor:
    """Return normal numbers in the shape and memory layout of `x`. Unless that is `in_order`, torch draws them one by one."""
    g = generator or default_generator
    draw = g.normal if in_order else lambda n, _kind: [g.one_normal() for _ in range(n)]
    return laid_out(lambda x: drawn(draw, list(x.shape), kind), [x])


def randint(*bounds: Any, **arguments: Any) -> Tensor:
    """Draw integers from `low`, 0 without it, to `high` − 1: `randint(high, size)` or `randint(low, high, size)`."""
    if "low" not in arguments and len(bounds) + len(arguments.keys() & {"high", "size"}) < 3:
        bounds = (0, *bounds)
    if len(bounds) + len(arguments.keys() & {"low", "high", "size"}) < 3:
        raise TypeError("randint() received an invalid combination of arguments: a size is missing")
    return integers(*bounds, **arguments)


def integers(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    generator: Generator | None = None,
    dtype: Kind = int64,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of random integers from `low` to `high` − 1.

    Raises:
        TypeError: `size` is not a tuple or list, or a bound is a float.
        RuntimeError: `low` is not below `high`.
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    low, high = whole(low, "low"), whole(high, "high")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    g, shape, span = generator or default_generator, sizes_of([size]), high - low
    check_sizes(shape)
    draw = g.long_word if span >= 2**28 else g.word
    return placed(
        tensor_of([low + draw() % span for _ in range(product(shape))], shape, as_dtype(dtype)), device, requires_grad
    )


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Kind = int64,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the integers 0, …, n − 1 in a random order. A negative n raises a RuntimeError."""
    n = whole(n, "n")
    check_sizes([n])
    g, r = generator or default_generator, list(range(n))
    for i in range(n - 1):
        z = g.word() % (n - i)
        r[i], r[z + i] = r[z + i], r[i]
    return placed(tensor_of(r, (n,), as_dtype(dtype)), device, requires_grad)


def check_deviation(std: Tensor | float) -> None:
    """Raise a RuntimeError for a negative standard deviation, or a tensor that contains one."""
    if isinstance(std, Tensor) and any(v < 0 for v in std._numbers()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def normal(
    mean: Tensor | float,
    std: Tensor | float = 1,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    **more: Any,
) -> Tensor:
    """Draw normal numbers with these means and standard deviations: tensors, or numbers and a `size`.

    Tensors are broadcast together.

    Raises:
        RuntimeError: a standard deviation is negative.
        TypeError: neither is a tensor, and there is no `size`.
        NotImplementedError: the means are a tensor of integers.
    """
    check_deviation(std)
    if size is not None:
        return randn(size=size, generator=generator, **more) * std + mean
    shapes = [x.shape for x in (mean, std) if isinstance(x, Tensor)]
    if not shapes:
        raise TypeError("normal() received an invalid combination of arguments: a size is missing")
    if isinstance(mean, Tensor):
        check_floating(mean.dtype)
    return mean + std * randn(size=tuple(common_shape(*shapes)), generator=generator)


@method
def bernoulli(x: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Draw 1 with the probability that each number of `x` gives, or with the probability p; else 0.

    The result is new, with the shape and dtype of `x`. A probability outside [0, 1] raises a RuntimeError, and integers
    without p a NotImplementedError.
    """
    if p is not None:
        return x.detach().clone().bernoulli_(p, generator=generator)
    check_floating(x.dtype, "bernoulli_tensor_cpu_p_")
    g, numbers = generator or default_generator, x._numbers()
    check_probabilities(numbers)
    draws = g.uniform(len(numbers), x.dtype)
    out = tensor_of([1 if u < v else 0 for u, v in zip(draws, numbers, strict=True)], x.shape, x.dtype)
    return record_step(out, [x], lambda g: [g * 0])


@method
def bernoulli_(x: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write into `x` 1 with the probability p, else 0, drawn from 53 bits each; return `x`.

    torch's differ where it uses Intel's MKL. A probability outside [0, 1] raises a RuntimeError.
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    g = generator or default_generator

    def draw(x: Tensor) -> Tensor:
        return tensor_of([1 if u < p else 0 for u in g.uniform(x.numel(), float64)], x.shape, x.dtype)

    return x._write(laid_out(draw, [x]))


def check_probabilities(numbers: Numbers) -> None:
    """Raise torch's RuntimeError if a number is no probability."""
    if not all(0 <= v <= 1 for v in numbers):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )


@method
def multinomial(
    p: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Draw `num_samples` indices with these probabilities, or numbers in proportion to them, for each row.

    Shapes:
        p (n) or (rows, n); result (num_samples) or (rows, num_samples), int64
    Raises:
        RuntimeError: `p` does not have 1 or 2 axes or a floating-point dtype, a probability is negative, inf or nan, a
            row sums to 0, `num_samples` is not positive, or without replacement exceeds the length of a row.
    """
    if p.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if p.dtype.kind < FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {p.dtype.name}")
    num_samples = whole(num_samples, "num_samples")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    numbers, n = p._numbers(), p.shape[-1]
    if min(numbers, default=0) < 0 or not sum(numbers) < math.inf:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    rows = [numbers[i : i + n] for i in range(0, len(numbers), n)]
    if any(sum(row) <= 0 for row in rows):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > n:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    draw = draw_with_replacement if replacement and num_samples > 1 else draw_without_replacement  # as in torch
    places = draw(generator or default_generator, rows, num_samples, p.dtype)
    return tensor_of(places, (*p.shape[:-1], num_samples), int64)


def draw_with_replacement(g: Generator, rows: list[Any], count: int, kind: dtype) -> list[int]:
    """Draw `count` indices of each row with replacement; return those of all rows, one after the other.

    Each is where a uniform number falls among the cumulative probabilities.
    """
    places = []
    for row in rows:
        total = sum(row)
        sums = list(accumulate(v / total for v in row))
        sums[-1] = 1.0
        places += [bisect_left(sums, g.double()) for _ in range(count)]
    return places


def draw_without_replacement(g: Generator, rows: list[Any], count: int, kind: dtype) -> list[int]:
    """Draw `count` indices of each row without replacement; return those of all rows, one after the other.

    They are those of the largest quotients of probability and exponential number.
    """
    n = len(rows[0]) if rows else 0
    waits = to_array(g.exponential(n * len(rows)), kind)
    places: list[int] = []
    for i, row in enumerate(rows):
        score = to_array([quotient(v, waits[i * n + j]) for j, v in enumerate(row)], kind)
        places += [score.index(max(score))] if count == 1 else sorted(range(n), key=lambda j: -score[j])[:count]
    return places


@method
def normal_(
    x: Tensor, mean: Tensor | float = 0, std: Tensor | float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Write normal numbers with this mean and standard deviation into `x`, and return it.

    A negative standard deviation raises a RuntimeError.
    """
    check_deviation(std)
    return x._write(normal_numbers(x, x.dtype, x.is_contiguous(), generator) * std + mean)


@method
def uniform_(x: Tensor, from_: float = 0, /, to: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write uniform numbers from `from_` to below `to` into `x`, and return it; RuntimeError if from_ > to."""
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    check_floating(x.dtype, "check_uniform_bounds")
    draws = rand_like(x, dtype=float64 if x.dtype is float64 else float32, generator=generator)
    ends = tensor_of([from_, to], (2,), x.dtype)
    width = ends[1] - ends[0]
    return x._write(draws.double() * width.item() + ends[0].item())  # in float64: torch rounds only after the sum


@method
def exponential_(x: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write exponential numbers with the mean 1 / lambd into `x`, and return it; RuntimeError if lambd ≤ 0."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if x.dtype.kind < FLOATING:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {TYPE_NAMES[x.dtype]}"
        )
    g = generator or default_generator
    return x._write(laid_out(lambda x: tensor_of(g.exponential(x.numel()), x.shape, x.dtype), [x]) / lambd)
