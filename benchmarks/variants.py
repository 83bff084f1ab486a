"""Measure the errors and the savings of cheaper attention: this prints the table of chapter 10.

python benchmarks/variants.py                  n from 128 to 16,384, some minutes
python benchmarks/variants.py --max-n 1024     fewer sizes, to try it out
python benchmarks/variants.py --json out.json  also writes the numbers into a file, for a figure

One head of 64 features, bidirectional, in float32, on the GPU if there is one. All variants get the same inputs: random
ones, local ones (a token's neighbours matter) and a needle (for the last token, one distant token matters). The error
is |out − full| / |full| over all tokens, or over the last token for the needle; full is torch's own attention.
Multiply-adds and the size of the largest tensor are computed. Time is measured: the fastest of several runs, after
three runs for the errors. A case that needs more than half of the free memory is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from qkv import efficient
from qkv.attention import attention
from qkv.cache import kv_cache_bytes
from qkv.efficient import Cost

D = 64
WINDOW, STEP, RANK, FEATURES, BUCKET, BLOCK = 64, 4, 64, 256, 64, 256
LIVE = 4  # tensors of the largest size that are in memory at once in full attention: scores, shifted, powers, weights

Inputs = tuple[Tensor, Tensor, Tensor]


class Variant(NamedTuple):
    """A variant of attention for one n: the function, and its cost, which may depend on the inputs."""

    run: Callable[[Tensor, Tensor, Tensor], Tensor]
    cost: Callable[[Tensor, Tensor], Cost]


@dataclass
class Row:
    """A row of the table. If the case was left out, its time and errors are None."""

    variant: str
    n: int
    multiply_adds: int
    largest: int
    random: float | None = None
    local: float | None = None
    needle: float | None = None
    milliseconds: float | None = None


# ── inputs ────────────────────────────────────────────────────────────────────────────────────────


def random_inputs(n: int, generator: torch.Generator) -> Inputs:
    """Draw independent inputs of variance 1: full attention spreads over all tokens."""
    q, k, v = torch.randn(3, n, D, generator=generator).unbind()
    return q, k, v


def local_inputs(n: int, generator: torch.Generator) -> Inputs:
    """Draw keys that change slowly along the sequence, and similar queries: tokens within about 8 places matter."""
    speeds, phases = torch.randn(D, generator=generator) / 8, 2 * math.pi * torch.rand(D, generator=generator)
    k = math.sqrt(2) * (torch.arange(n)[:, None] * speeds + phases).cos()
    return 2 * k, k, torch.randn(n, D, generator=generator)


def needle_inputs(n: int, generator: torch.Generator) -> Inputs:
    """Draw random inputs whose last query matches the key at n // 10, with a score of about 20."""
    q, k, v = random_inputs(n, generator)
    q[-1] = 2.5 * k[n // 10]
    return q, k, v


KINDS = {"random": random_inputs, "local": local_inputs, "needle": needle_inputs}


# ── variants ──────────────────────────────────────────────────────────────────────────────────────


def counted(cost: Cost) -> Callable[[Tensor, Tensor], Cost]:
    """Return a cost function that ignores the inputs."""
    return lambda q, k: cost


def variants(n: int, device: str) -> dict[str, Variant]:
    """Return all variants for one n by their names, with their costs, and with random parameters drawn from n."""
    generator = torch.Generator().manual_seed(n)
    height = 2 ** (int(math.log2(n)) // 2)
    n_buckets = max(2, n // BUCKET)
    rotations = torch.randn(D, n_buckets // 2, generator=generator).to(device)
    directions = efficient.orthogonal_directions(FEATURES, D, generator).float().to(device)
    rank = min(RANK, n)
    pooling = (
        torch.eye(rank).repeat_interleave(n // rank, dim=1).to(device) * rank / n
    )  # untrained: averages neighbours

    def hash_cost(q: Tensor, k: Tensor) -> Cost:
        buckets = efficient.hash_buckets(q, rotations), efficient.hash_buckets(k, rotations)
        return efficient.hash_cost(*buckets, D, D, n_buckets)

    both_ways = {"window": WINDOW, "causal": False}
    return {
        "full": Variant(lambda *x: attention(*x)[0], counted(efficient.full_cost(n, D, D))),
        f"blockwise, blocks of {BLOCK}": Variant(
            lambda *x: efficient.blockwise_attention(*x, BLOCK), counted(efficient.blockwise_cost(n, D, D, BLOCK))
        ),
        "torch's own (fused)": Variant(fused, counted(efficient.blockwise_cost(n, D, D, D))),
        f"window of {WINDOW}": Variant(
            lambda *x: efficient.window_attention(*x, **both_ways), counted(efficient.window_cost(n, D, D, **both_ways))
        ),
        f"window of {WINDOW}, 4 global": Variant(
            lambda *x: efficient.window_attention(*x, n_global=4, **both_ways),
            counted(efficient.window_cost(n, D, D, n_global=4, **both_ways)),
        ),
        f"dilated, {WINDOW} by {STEP}": Variant(
            lambda *x: efficient.dilated_attention(*x, step=STEP, **both_ways),
            counted(efficient.dilated_cost(n, D, D, step=STEP, **both_ways)),
        ),
        "axial, rows": Variant(
            lambda *x: efficient.axial_attention(*x, height, 1),
            counted(efficient.axial_cost(height, n // height, D, D, 1)),
        ),
        f"low rank, {RANK}": Variant(
            lambda *x: efficient.low_rank_attention(*x, pooling, pooling),
            counted(efficient.low_rank_cost(n, D, D, rank)),
        ),
        "linear, elu + 1": Variant(
            lambda *x: efficient.linear_attention(*x, efficient.elu_features), counted(efficient.linear_cost(n, D, D))
        ),
        f"random features, {FEATURES}": Variant(
            lambda *x: efficient.linear_attention(*x, efficient.random_features(directions)),
            counted(efficient.random_features_cost(n, D, D, FEATURES)),
        ),
        f"hashing, buckets of {BUCKET}": Variant(lambda *x: efficient.hash_attention(*x, rotations), hash_cost),
    }


def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute torch's own attention, which stores no n × n tensor either. What it stores is up to torch."""
    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])[0, 0]


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────


def free_bytes(device: str) -> int:
    """Return the number of free bytes of memory on a device."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def relative_error(seen: Tensor, full: Tensor) -> float:
    return float((seen - full).norm() / full.norm())


def best_time(run: Callable[[], Tensor], device: str, seconds: float) -> float:
    """Return the milliseconds of the fastest run, of at least one and up to 100 that fit into `seconds`."""
    times: list[float] = []
    while not times or (sum(times) < seconds and len(times) < 100):
        start = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def measure(name: str, variant: Variant, n: int, inputs: dict[str, Inputs], device: str, seconds: float) -> Row:
    """Return a row of the table: always the costs; errors and time only if the case fits into memory.

    `inputs` are by kind; the errors are of all of them, the costs and the time of the random ones. The timing takes
    about `seconds`.
    """
    q, k, v = inputs["random"]
    cost = variant.cost(q, k)
    row = Row(name, n, cost.multiply_adds, cost.largest)
    if LIVE * 4 * cost.largest > free_bytes(device) / 2:
        return row
    for kind, x in inputs.items():
        tokens = slice(-1, None) if kind == "needle" else slice(None)
        setattr(row, kind, relative_error(variant.run(*x)[tokens], fused(*x)[tokens]))
    row.milliseconds = best_time(lambda: variant.run(q, k, v), device, seconds)
    return row


def rows(sizes: list[int], device: str, seconds: float) -> Iterator[Row]:
    """Yield a row for every variant and every n, a power of two. `seconds` is for all timings, divided evenly."""
    for n in sizes:
        generator = torch.Generator().manual_seed(7)
        inputs: dict[str, Inputs] = {}
        for kind, make in KINDS.items():
            q, k, v = make(n, generator)
            inputs[kind] = q.to(device), k.to(device), v.to(device)
        cases = variants(n, device)
        for name, variant in cases.items():
            yield measure(name, variant, n, inputs, device, seconds / (len(cases) * len(sizes)))


# ── what is printed ───────────────────────────────────────────────────────────────────────────────


def shown(number: float | None, form: str) -> str:
    return "—" if number is None else format(number, form)


HEADING = f"{'':<26}{'random':>10}{'local':>9}{'needle':>9}{'multiply-adds':>18}{'largest tensor':>16}{'time, ms':>12}"


def line(row: Row) -> str:
    """Return a row as text; the first row of each n has the n above it."""
    errors = f"{shown(row.random, '.1e'):>10}{shown(row.local, '.1e'):>9}{shown(row.needle, '.1e'):>9}"
    costs = f"{row.multiply_adds:>18,}{row.largest:>16,}{shown(row.milliseconds, ',.2f'):>12}"
    return (f"n = {row.n:,}\n" if row.variant == "full" else "") + f"  {row.variant:<24}{errors}{costs}"


def print_caches() -> None:
    """Print the sizes of caches: grouped and latent keys save no scores and no arithmetic, but shrink the cache."""
    cached = {"32 key heads": 32, "grouped, 8": 8, "one": 1}
    numbers = {name: kv_cache_bytes(1, heads, 128, 1, bytes_per_value=1) for name, heads in cached.items()}
    numbers["latent of 512"] = 512
    listed = ", ".join(f"{name}: {count:,}" for name, count in numbers.items())
    print(f"Numbers in the cache per token, for a layer with 32 heads of 128: {listed}")


def main() -> None:
    """Measure the variants for growing lengths, and print the table and the sizes of caches.

    With --json, write the table into a file, too.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-n", type=int, default=16384, metavar="N", help="the longest sequence; default: 16384")
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="for all timings together; default: 60")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the table into this file")
    parser.add_argument("--cpu", action="store_true", help="do not use the GPU")
    asked = parser.parse_args()
    if asked.max_n < 128:
        parser.error("--max-n: the shortest sequence has 128 tokens")
    device = "cuda" if torch.cuda.is_available() and not asked.cpu else "cpu"
    sizes = [2**power for power in range(7, int(math.log2(asked.max_n)) + 1)]
    where = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {where}, float32, {D} features\n{HEADING}", flush=True)
    table: list[Row] = []
    with torch.no_grad(), tqdm(total=len(sizes) * len(variants(128, "cpu")), unit="case", leave=False) as bar:
        for row in rows(sizes, device, asked.seconds):
            table.append(row)
            bar.write(line(row))
            bar.update()
    print_caches()
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in table], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
