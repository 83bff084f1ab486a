"""Datasets, and loaders that draw batches from them, as `torch.utils.data`.

What the page's version lacks raises a NotImplementedError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any, NoReturn

from ..creation import tensor
from ..dtypes import float64
from ..joining import stack
from ..missing import missing_getattr, raise_missing, refuse, refuse_set
from ..numbers import NUMBERS
from ..randomness import Generator, default_generator, multinomial, randint, randperm
from ..tensors import Tensor


class Dataset:
    """The base class of datasets: they have a length, and an example for each index."""

    def __class_getitem__(cls, kind: object) -> type[Dataset]:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """The base class of datasets whose examples come one after the other."""


class TensorDataset(Dataset):
    """A dataset of tensors: an example is one part of each, along the first axis.

    Tensors whose first axes differ in size raise an AssertionError.
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class Subset(Dataset):
    """The examples of a dataset at these indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[[self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several datasets, one after the other; without any, an AssertionError."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index: int) -> Any:
        """Return the example of this index in all datasets together; IndexError if there is none."""
        index = range(len(self))[index]
        for dataset in self.datasets:
            if index < len(dataset):
                return dataset[index]
            index -= len(dataset)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator = default_generator) -> list[Subset]:
    """Split a dataset at random into `Subset`s of these lengths, or of these shares, which sum to 1.

    What the rounding of shares leaves goes to the first parts, one each. Lengths that do not sum to that of the dataset
    raise a ValueError.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        shares, lengths = lengths, [math.floor(len(dataset) * share) for share in lengths]
        for i in range(len(dataset) - int(sum(lengths))):
            lengths[i % len(shares)] += 1
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(len(dataset), generator=generator).tolist()
    return [
        Subset(dataset, order[end - int(n) : end])
        for n, end in zip(lengths, accumulate(map(int, lengths)), strict=True)
    ]


# ── the order of examples ─────────────────────────────────────────────────────────────────────────
class Sampler:
    """The base class of samplers: iterating over one gives indices."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __class_getitem__(cls, kind: object) -> type[Sampler]:
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """All indices in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All indices in a random order, or with `replacement`, random ones.

    They are `num_samples`, or as many as `data_source` has examples; a ValueError is raised unless that is positive.
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples
        if self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    def __iter__(self) -> Iterator[int]:
        """Yield `num_samples` indices, drawn by the generator, or by one that the global generator seeds.

        Without replacement, all indices come before one comes again.
        """
        n, count = len(self.data_source), self.num_samples
        g = self.generator or Generator().manual_seed(a_seed(None))
        if self.replacement:
            yield from randint(n, (count,), generator=g).tolist()
            return
        for _ in range(count // n):
            yield from randperm(n, generator=g).tolist()
        yield from randperm(n, generator=g).tolist()[: count % n]  # torch draws also where it takes none

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These indices in a random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` random indices with probabilities in proportion to weights."""

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        self.weights = weights.double() if isinstance(weights, Tensor) else tensor(list(weights), dtype=float64)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        return iter(multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """The indices of another sampler, as lists of one size, which must be a positive integer (else a ValueError)."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        """Yield lists of `batch_size` indices; a shorter last one is left out with `drop_last`."""
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def a_seed(generator: Generator | None) -> int:
    return (generator or default_generator).long_word() % 2**63


# ── loaders ───────────────────────────────────────────────────────────────────────────────────────
def default_collate(batch: Sequence[Any]) -> Any:
    """Join examples: tensors and numbers become a tensor; of tuples, lists and dictionaries, each part is joined.

    Strings stay a list.

    Raises:
        RuntimeError: tuples or lists differ in length, or tensors in shape.
        TypeError: an example is of another type.
        IndexError: there is no example.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch)
    if hasattr(first, "_tensor"):  # an array of the page's numpy
        return stack([x._tensor for x in batch])
    if isinstance(first, float) and not hasattr(first, "kind"):  # NumPy's floats keep their dtype
        return tensor(batch, dtype=float64)
    if isinstance(first, NUMBERS):
        return tensor(batch)
    if isinstance(first, str):
        return batch
    if isinstance(first, dict):
        return {name: default_collate([x[name] for x in batch]) for name in first}
    if isinstance(first, (tuple, list)):
        if any(len(x) != len(first) for x in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


class DataLoader:
    """Batches of a dataset's examples, in order or shuffled. They are drawn in the page itself, without workers.

    A `sampler` beside `shuffle` raises a ValueError; `num_workers`, or None as `batch_size`, a NotImplementedError.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
    ) -> None:
        refuse_set("DataLoader", num_workers=num_workers)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_size is None:
            refuse("`batch_size=None` of `DataLoader`")
        self.dataset, self.batch_size, self.drop_last, self.generator = dataset, batch_size, drop_last, generator
        self.collate_fn = collate_fn or default_collate
        self.num_workers, self.pin_memory = num_workers, pin_memory
        if isinstance(dataset, IterableDataset):
            sampler = dataset
        elif sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        self.batch_sampler = batch_sampler or BatchSampler(sampler, batch_size, drop_last)

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing(self, name)

    def __class_getitem__(cls, kind: object) -> type[DataLoader]:
        return cls

    def __iter__(self) -> Iterator[Any]:
        a_seed(self.generator)  # as torch, which draws the seed of its workers here
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        """Yield each batch: its examples, joined by `collate_fn`."""
        for batch in self.batch_sampler:
            stands_alone = isinstance(self.dataset, IterableDataset)
            yield self.collate_fn(batch if stands_alone else [self.dataset[i] for i in batch])

    def __len__(self) -> int:
        return len(self.batch_sampler)


__getattr__ = missing_getattr("torch.utils.data")
