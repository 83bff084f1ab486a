"""10.6: predict the bytes that a step reads, for numbers of one's own."""

from __future__ import annotations

from qkv.questions.engine import Draw
from qkv.questions.shared.personal import SOMEBODY, Numbers, Personal
from qkv.words import t

UNITS = (1e3, 2**10, 1e6, 2**20, 1e9, 2**30, 1 / 8)  # kB, KiB, MB, MiB, GB, GiB and bits


def draw_numbers(draw: Draw) -> Numbers:
    """Draw the numbers of one reader: layers, window, tokens, KV heads and features of a head."""
    return {
        "full": draw.whole(2, 16),
        "windowed": draw.whole(17, 60),
        "window": draw.whole(200, 4000),
        "tokens": draw.whole(20_000, 900_000),
        "kv_heads": draw.choose((2, 3, 5, 6, 7, 8)),
        "d_head": draw.choose((64, 80, 96, 112, 128)),
    }


def said(numbers: Numbers) -> str:
    """Return the numbers in words."""
    return t(
        "{full} layers of full attention, {windowed} with a window of {window}, {kv_heads} KV heads of {d_head} "
        "features, a text of {tokens} tokens",
        **numbers,
    )


def bytes_of(numbers: Numbers, keys: float) -> float:
    """Return the bytes of so many keys and values, counted over all layers: two numbers of two bytes each."""
    return 4 * numbers["kv_heads"] * numbers["d_head"] * keys


def bytes_read(numbers: Numbers) -> float:
    """Return the bytes of keys and values that the newest token reads: all in full layers, a window in the others."""
    keys = numbers["full"] * numbers["tokens"] + numbers["windowed"] * numbers["window"]
    return bytes_of(numbers, keys)


PERSONAL = Personal(
    "10.6",
    draw_numbers,
    said,
    right=bytes_read,
    half_of_the_bytes=lambda numbers: bytes_read(numbers) / 2,
    one_byte_and_no_values=lambda numbers: bytes_read(numbers) / 4,
    windows_ignored=lambda numbers: bytes_of(numbers, (numbers["full"] + numbers["windowed"]) * numbers["tokens"]),
    full_layers_forgotten=lambda numbers: bytes_of(numbers, numbers["windowed"] * numbers["window"]),
    windowed_layers_forgotten=lambda numbers: bytes_of(numbers, numbers["full"] * numbers["tokens"]),
    layers_swapped=lambda numbers: bytes_of(
        numbers, numbers["windowed"] * numbers["tokens"] + numbers["full"] * numbers["window"]
    ),
    window_everywhere=lambda numbers: bytes_of(numbers, (numbers["full"] + numbers["windowed"]) * numbers["window"]),
    in_another_unit=lambda numbers: tuple(bytes_read(numbers) / unit for unit in UNITS),
    one_head=lambda numbers: bytes_read(numbers) / numbers["kv_heads"],
    window_without_itself=lambda numbers: bytes_of(
        numbers, numbers["full"] * numbers["tokens"] + numbers["windowed"] * (numbers["window"] - 1)
    ),
)


def my_bytes() -> tuple[str, float]:
    """Return a name, and the bytes for its numbers."""
    return SOMEBODY, bytes_read(PERSONAL.numbers_of(SOMEBODY))


QUESTION = PERSONAL.as_question(my_bytes, "bytes")
