"""Distributions: the categorical one, with which sampling is often written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .dtypes import finfo
from .missing import missing_getattr, raise_missing
from .randomness import multinomial
from .reductions import logsumexp, softmax
from .shapes import product
from .tensors import Tensor


class Categorical:
    """A distribution over the indices of the last axis, by their probabilities or by logits.

    Raises:
        ValueError: both are given, or neither; with `validate_args`, also for negative probabilities and nan.
    """

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._parameter, self._used = ("probs" if logits is None else "logits"), set[str]()
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given: Any = probs if logits is None else logits
        if given.ndim < 1:
            raise ValueError(f"`{self._parameter}` parameter must be at least one-dimensional.")
        self.batch_shape = given.shape[:-1]
        if logits is None:
            self._probs = given / given.sum(-1, keepdim=True)
            tiny = finfo(given.dtype).eps
            self._logits = self._probs.clamp(tiny, 1 - tiny).log()
        else:
            self._logits = given - logsumexp(given, -1, keepdim=True)
            self._probs = softmax(self._logits, -1)
        self._validates = validate_args is not False
        if self._validates:
            self._check_parameter(getattr(self, self._parameter).detach())

    @property
    def probs(self) -> Tensor:
        self._used.add("probs")
        return self._probs

    @property
    def logits(self) -> Tensor:
        self._used.add("logits")
        return self._logits

    def _check_parameter(self, given: Any) -> None:
        """Raise a ValueError unless the probabilities are at least 0 and sum to 1, or no logit is nan."""
        if self._parameter == "probs":
            valid = bool((given >= 0).all()) and bool(((given.sum(-1) - 1).abs() < 1e-6).all())
        else:
            valid = bool((given == given).all())
        if not valid:
            constraint = "Simplex()" if self._parameter == "probs" else "IndependentConstraint(Real(), 1)"
            raise ValueError(
                f"Expected parameter {self._parameter} (Tensor of shape {tuple(given.shape)}) of distribution {self!r} to "
                f"satisfy the constraint {constraint}, but found invalid values:\n{given}"
            )

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing(self, name)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return drawn indices (int64) in the shape (*sample_shape, *batch shape), as many for each distribution.

        A `sample_shape` with a 0 raises a RuntimeError.
        """
        count = product(sample_shape)
        drawn = multinomial(self.probs.detach().reshape(-1, self.probs.shape[-1]), count, True)
        return drawn.T.reshape((*sample_shape, *self.batch_shape))

    def log_prob(self, value: Any) -> Tensor:
        """Return the logarithms of the probabilities of these indices.

        Raises:
            ValueError: one of them is no index, unless `validate_args` is False.
        """
        last = self._probs.shape[-1] - 1
        if self._validates and not bool(((value >= 0) & (value <= last) & (value % 1 == 0)).all()):
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support "
                f"(IntegerInterval(lower_bound=0, upper_bound={last})) of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )
        places = value.long().unsqueeze(-1)
        shape = (*(places * self.logits[..., :1].detach()).shape[:-1], self.logits.shape[-1])
        return self.logits.expand(shape).gather(-1, places.expand((*shape[:-1], 1))).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return −Σ p log p along the last axis, in nats; where p is 0, the term is 0."""
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def __repr__(self) -> str:
        """Return the text with the parameters that are there: torch computes the other one only when it is used."""
        there = [name for name in ("probs", "logits") if name in (self._parameter, *self._used)]
        shown = {name: getattr(self, f"_{name}").shape for name in there}
        return f"Categorical({', '.join(f'{n}: {s}' for n, s in shown.items())})"


__getattr__ = missing_getattr("torch.distributions")
