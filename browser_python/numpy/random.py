"""NumPy's random numbers: the same numbers as NumPy's for the same seed.

`default_rng` draws from PCG64 (O'Neill, 2014), and the older functions of this module from the Mersenne Twister MT19937
(Matsumoto and Nishimura, 1998). Normal numbers are made by the ziggurat (Marsaglia and Tsang, 2000), or by the older
functions in pairs by the polar method (Marsaglia and Bray, 1964).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import Any, NoReturn

import torch
from torch.numbers import INTEGERS

from . import array_or_number, as_tensor, missing_getattr, missing_message, ndarray, raise_missing, torch_dtype
from .numbers import number_of

Size = Any  # an integer, several in a tuple or list, or None
HALF, WHOLE = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF  # 32 and 64 bits
POOL = 4  # words of the pool in which a seed is mixed


def drawn(draw: Callable[[], Any], size: Size, kind: torch.dtype = torch.float64) -> Any:
    """Return one number that `draw()` returns, or an array of this size with one for each place.

    A single number is a Python float, or for another `kind` one of NumPy's.
    """
    if size is None:
        return draw() if kind is torch.float64 else number_of(draw(), kind)
    shape = (size,) if isinstance(size, INTEGERS) else tuple(size)
    return ndarray(torch.tensor([draw() for _ in range(math.prod(shape))], dtype=kind).reshape(shape))


def chosen(
    draw: Callable[[], float],
    below: Callable[[int], int],
    different: Callable[[int, int], list[int]],
    a: Any,
    size: Size,
    replace: bool,
    p: Any,
) -> Any:
    """Choose from an array, or from 0, …, a − 1, each equally often or with the probabilities p.

    Return one item, or an array of the size. `draw()` draws a number from 0 to 1, `below(n)` an integer below n, and
    `different(n, count)` so many different integers below n, for a choice without replacement.

    Raises:
        ValueError: `a` is an array with several axes, is empty, or has too few items for a choice without replacement;
            or p has another length, a negative number, or does not sum to 1.
        NotImplementedError: `a` has strings, or p is given for a choice without replacement.
    """
    if not isinstance(a, (*INTEGERS, list, tuple, range)) and as_tensor(a).ndim != 1:
        raise ValueError("a must be 1-dimensional")
    n = a if isinstance(a, INTEGERS) else len(a)
    shape = () if size is None else (size,) if isinstance(size, INTEGERS) else tuple(size)
    if n <= 0 and math.prod(shape):
        what = "must be a positive integer" if isinstance(a, INTEGERS) else "cannot be empty"
        raise ValueError(f"a {what} unless no samples are taken")
    if p is not None and tuple(as_tensor(p).shape) != (n,):
        raise ValueError("a and p must have same size")
    if not replace:
        if p is not None:
            raise NotImplementedError(missing_message("`numpy.random.choice` without replacement with probabilities"))
        if math.prod(shape) > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        places = array_or_number(torch.tensor(different(n, math.prod(shape)), dtype=torch.int64).reshape(shape))
    elif p is None:
        places = drawn(lambda: below(n), size, torch.int64)
    else:
        parts = as_tensor(p).double().tolist()
        sums = list(accumulate(parts))
        if any(part < 0 for part in parts):
            raise ValueError("Probabilities are not non-negative")
        if abs(sums[-1] - 1) > 1e-7:
            raise ValueError("Probabilities do not sum to 1. See Notes section of docstring for more information.")
        places = drawn(lambda: sum(s / sums[-1] <= u for u in (draw(),) for s in sums), size, torch.int64)
    if isinstance(a, (list, tuple)) and any(isinstance(x, str) for x in a):
        raise NotImplementedError(missing_message("an array of `str`"))
    if isinstance(a, INTEGERS):
        return places if isinstance(places, ndarray) else int(places)
    return array_or_number(as_tensor(a)[as_tensor(places)])


def shuffled(x: Any, below: Callable[[int], int]) -> ndarray:
    """Return the parts of an array along its first axis, or 0, …, x − 1, in a random order. The array stays as it is.

    `below(n)` draws an integer below n.
    """
    order = list(range(x if isinstance(x, INTEGERS) else len(x)))
    for i in range(len(order) - 1, 0, -1):
        j = below(i + 1)
        order[i], order[j] = order[j], order[i]
    return ndarray(torch.tensor(order, dtype=torch.int64) if isinstance(x, INTEGERS) else as_tensor(x)[order])


def shuffle_in_place(x: Any, below: Callable[[int], int]) -> None:
    """Put the parts of an array or list into a random order, in place."""
    order = [int(i) for i in shuffled(len(x), below)]
    x[:] = [x[i] for i in order] if isinstance(x, list) else ndarray(as_tensor(x)[order])


def small_enough(n: int, draw: Callable[[], int]) -> int:
    """Draw an integer from 0 to n − 1: words of as many bits as n − 1 has, until one is small enough.

    `draw()` draws the words. For n = 1, nothing is drawn.
    """
    n = int(n)
    mask = (1 << (n - 1).bit_length()) - 1
    while n > 1 and (value := draw() & mask) >= n:
        pass
    return value if n > 1 else 0


# ── PCG64 ─────────────────────────────────────────────────────────────────────────────────────────
def state_of_seed(seed: int, count: int) -> list[int]:
    """Return `count` words of 64 bits that a seed (an integer of at least 0) determines, as NumPy's `SeedSequence`."""
    entropy = [seed >> shift & HALF for shift in range(0, max(32, seed.bit_length()), 32)]
    factor = 0x43B0D7E5

    def hashed(value: int) -> int:
        nonlocal factor
        value ^= factor
        factor = factor * 0x931E8875 & HALF
        value = value * factor & HALF
        return value ^ value >> 16

    def mixed(x: int, y: int) -> int:
        found = (0xCA01F9DD * x - 0x4973F715 * y) & HALF
        return found ^ found >> 16

    pool = [hashed(entropy[i] if i < len(entropy) else 0) for i in range(POOL)]
    for source in range(POOL):
        for i in range(POOL):
            if i != source:
                pool[i] = mixed(pool[i], hashed(pool[source]))
    for word in entropy[POOL:]:
        for i in range(POOL):
            pool[i] = mixed(pool[i], hashed(word))
    words, factor = [], 0x8B51F9DD
    for i in range(2 * count):
        value = pool[i % POOL] ^ factor
        factor = factor * 0x58F38DED & HALF
        value = value * factor & HALF
        words.append(value ^ value >> 16)
    return [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]


TAIL, AREA = 3.6541528853610087963519472518, 0.004928673233974652  # where the tail begins; the area of each layer


@cache
def layers() -> tuple[list[float], list[float], list[float]]:
    """Return the ziggurat's bounds, widths and heights, each of 256 layers: NumPy's, but for last bits of a few."""
    edge, height = TAIL, math.exp(-0.5 * TAIL * TAIL)
    bounds, widths, heights = [edge * height / AREA * 2**52, 0.0], [edge / 2**52], [height]
    for _ in range(254):
        x = math.sqrt(-2 * math.log(AREA / edge + heights[0]))
        bounds.insert(2, x / edge * 2**52)
        widths.insert(0, x / 2**52)
        heights.insert(0, math.exp(-0.5 * x * x))
        edge = x
    return bounds, [AREA / height / 2**52, *widths], [1.0, *heights]


class Generator:
    """NumPy's generator with PCG64, as `default_rng` returns it: the same numbers as NumPy's for the same seed.

    Normal numbers may differ in their last digits. It is made from the seed, an integer of at least 0; NumPy's class
    takes a bit generator instead. What the page does not have raises an AttributeError or a NotImplementedError.
    """

    def __init__(self, seed: int) -> None:
        first, second, third, fourth = state_of_seed(seed, 4)
        self._step = (third << 64 | fourth) << 1 | 1
        self._state, self._half = 0, -1  # half of a word that was drawn, or −1
        self._next()
        self._state += first << 64 | second
        self._next()

    def _next(self) -> int:
        """Draw a word of 64 bits."""
        self._state = (self._state * 0x2360ED051FC65DA44385DF649FCCF645 + self._step) & (1 << 128) - 1
        word, turn = (self._state >> 64 ^ self._state) & WHOLE, self._state >> 122
        return (word >> turn | word << 64 - turn) & WHOLE

    def _next_half(self) -> int:
        """Draw a word of 32 bits: of each word of 64, first the lower half."""
        if self._half >= 0:
            half, self._half = self._half, -1
            return half
        word = self._next()
        self._half = word >> 32
        return word & HALF

    def _double(self) -> float:
        return (self._next() >> 11) / 9007199254740992

    def _below(self, n: int) -> int:
        """Draw an integer from 0 to n − 1 (Lemire, 2019)."""
        if n == 1:
            return 0
        bits, draw = (32, self._next_half) if n <= HALF else (64, self._next)
        product = draw() * n
        while product & (1 << bits) - 1 < (1 << bits) % n:
            product = draw() * n
        return product >> bits

    def _place(self, n: int) -> int:
        return small_enough(n, self._next_half)

    def _normal(self) -> float:
        """Draw a normal number by the ziggurat."""
        bounds, widths, heights = layers()
        while True:
            word = self._next()
            i, size = word & 0xFF, word >> 9 & 0xFFFFFFFFFFFFF
            x = -size * widths[i] if word >> 8 & 1 else size * widths[i]
            if size < bounds[i]:
                return x
            if i and (heights[i - 1] - heights[i]) * self._double() + heights[i] < math.exp(-0.5 * x * x):
                return x
            while not i:
                far, other = -math.log1p(-self._double()) / TAIL, -math.log1p(-self._double())
                if 2 * other > far * far:
                    return -(TAIL + far) if size >> 8 & 1 else TAIL + far

    def random(self, size: Size = None) -> Any:
        return drawn(self._double, size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None) -> Any:
        return drawn(lambda: low + (high - low) * self._double(), size)

    def standard_normal(self, size: Size = None) -> Any:
        return drawn(self._normal, size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        return drawn(lambda: loc + scale * self._normal(), size)

    def integers(
        self, low: int, high: int | None = None, size: Size = None, dtype: Any = "int64", endpoint: bool = False
    ) -> Any:
        """Draw integers from `low` to `high` − 1, or from 0 to `low` − 1; with `endpoint`, also the last one.

        Raises:
            ValueError: there are none.
            NotImplementedError: the dtype is not int64.
        """
        if torch_dtype(dtype) is not torch.int64:
            raise NotImplementedError(missing_message("another `dtype` of `integers`"))
        low, high = (0, low) if high is None else (low, high)
        if low >= high + endpoint:
            raise ValueError("low >= high")
        return drawn(lambda: low + self._below(high + endpoint - low), size, torch.int64)

    def choice(self, a: Any, size: Size = None, replace: bool = True, p: Any = None) -> Any:
        return chosen(self._double, self._below, self._different, a, size, replace, p)

    def _different(self, n: int, count: int) -> list[int]:
        """Draw `count` different integers from 0 to n − 1, as Floyd (1987), and shuffle them.

        Raises:
            NotImplementedError: they are many of very many.
        """
        if n > 10_000 and count > n // 50:
            raise NotImplementedError(missing_message("a choice of many out of very many without replacement"))
        found: list[int] = []
        for j in range(n - count, n):
            i = self._below(j + 1)
            found.append(j if i in found else i)
        for i in range(count - 1, 0, -1):
            j = self._below(i + 1)
            found[i], found[j] = found[j], found[i]
        return found

    def permutation(self, x: Any) -> ndarray:
        return shuffled(x, self._place)

    def shuffle(self, x: Any) -> None:
        shuffle_in_place(x, self._place)

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return "Generator(PCG64)"

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing(self, name)


def default_rng(seed: int | Generator | None = None) -> Generator:
    """Return a generator of random numbers, determined by its seed; without one, each call returns another.

    A generator in place of the seed is returned as it is.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(int.from_bytes(os.urandom(16), "big") if seed is None else int(seed))


# ── the older functions ───────────────────────────────────────────────────────────────────────────
class State:
    """What `get_state` returns, for `set_state`. NumPy's is a tuple, whose items the page does not have."""

    def __init__(self, state: torch.Tensor) -> None:
        self._bytes = state

    def _refuse(self, *args: Any) -> NoReturn:
        raise NotImplementedError(missing_message("the content of `numpy.random.get_state()`"))

    __getitem__ = __iter__ = __len__ = __repr__ = __eq__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class RandomState:
    """NumPy's older generator, with the Mersenne Twister: the same numbers as NumPy's for the same seed.

    The seed is an integer from 0 to 2³² − 1. Without one, each object draws other numbers. All functions of this
    module, such as `numpy.random.rand`, share one object.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._twister: Any = torch.Generator()
        self.seed(seed)

    def seed(self, seed: int | None = None) -> None:
        """Begin again with a seed, without one with a random one.

        Raises:
            ValueError: it is not from 0 to 2³² − 1.
        """
        if seed is not None and not 0 <= seed < 2**32:
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        self._twister.manual_seed(int.from_bytes(os.urandom(4), "big") if seed is None else seed)

    def get_state(self) -> State:
        return State(self._twister.get_state())

    def set_state(self, state: State) -> None:
        """Continue from a state that `get_state` returned.

        Raises:
            NotImplementedError: it has another form.
        """
        if not isinstance(state, State):
            raise NotImplementedError(missing_message("a random state of another form than `get_state` returns"))
        self._twister.set_state(state._bytes)

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return "RandomState(MT19937)"

    def _double(self) -> float:
        high, low = self._twister.word() >> 5, self._twister.word() >> 6
        return (high * 67108864 + low) / 9007199254740992

    def _below(self, n: int) -> int:
        return small_enough(n, self._twister.word if n <= HALF + 1 else self._twister.long_word)

    def _normal(self) -> float:
        """Draw one normal number: one of a pair, of which the other is kept for the next call."""
        if self._twister._spare_normal is not None:
            spare, self._twister._spare_normal = self._twister._spare_normal, None
            return spare
        while True:
            x, y = 2 * self._double() - 1, 2 * self._double() - 1
            square = x * x + y * y
            if 0 < square < 1:
                scale = math.sqrt(-2 * math.log(square) / square)
                self._twister._spare_normal = scale * x
                return scale * y

    def random(self, size: Size = None) -> Any:
        return drawn(self._double, size)

    random_sample = ranf = random

    def rand(self, *sizes: int) -> Any:
        return drawn(self._double, sizes or None)

    def randn(self, *sizes: int) -> Any:
        return drawn(self._normal, sizes or None)

    def standard_normal(self, size: Size = None) -> Any:
        return drawn(self._normal, size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        return drawn(lambda: loc + scale * self._normal(), size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None) -> Any:
        return drawn(lambda: low + (high - low) * self._double(), size)

    def exponential(self, scale: float = 1.0, size: Size = None) -> Any:
        return drawn(lambda: -scale * math.log1p(-self._double()), size)

    def randint(self, low: int, high: int | None = None, size: Size = None, dtype: Any = int) -> Any:
        """Draw integers from `low` to `high` − 1, or from 0 to `low` − 1. Without a size, return a Python integer.

        Raises:
            ValueError: there are none.
            NotImplementedError: the dtype is not int64.
        """
        if torch_dtype(dtype) is not torch.int64:
            raise NotImplementedError(missing_message("another `dtype` of `randint`"))
        low, high = (0, low) if high is None else (low, high)
        if low >= high:
            raise ValueError("low >= high")
        found = drawn(lambda: low + self._below(high - low), size, torch.int64)
        return int(found) if size is None else found

    def choice(self, a: Any, size: Size = None, replace: bool = True, p: Any = None) -> Any:
        """Choose from an array, or from 0, …, a − 1: see `chosen`."""

        def first(n: int, count: int) -> list[int]:
            return shuffled(n, self._below).tolist()[:count]

        return chosen(self._double, self._below, first, a, size, replace, p)

    def permutation(self, x: Any) -> ndarray:
        return shuffled(x, self._below)

    def shuffle(self, x: Any) -> None:
        shuffle_in_place(x, self._below)

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing(self, name)


COMMON = RandomState()  # that of all functions of this module
for _name in (name for name in vars(RandomState) if not name.startswith("_")):
    globals()[_name] = getattr(COMMON, _name)


__getattr__ = missing_getattr("numpy.random")
