"""Schedules of the learning rate. Each changes the `lr` of an optimizer's groups at each `step`, as torch computes it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, NoReturn
from warnings import warn

from ..missing import missing_getattr, raise_missing, refuse, refuse_set
from . import Optimizer


class LRScheduler:
    """The base class of schedules. `get_lr` returns the next learning rate of each group.

    It makes the optimizer note its steps (`note_steps`). Another object than an optimizer raises a TypeError, and a
    `last_epoch` other than −1 a NotImplementedError.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if last_epoch != -1:
            refuse("`last_epoch` of a schedule")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial, self._get_lr_called_within_step = 0, True, False  # names of torch's state
        self.step()
        self._is_initial = False

    @property
    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing(self, name)

    def get_lr(self) -> list[float]:
        raise NotImplementedError

    def _first_lr(self) -> list[float]:
        """Return the rates with which this schedule begins in a sequence."""
        return self.base_lrs

    def get_last_lr(self) -> list[float]:
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Set the next learning rate of each group; warn, as torch, if no step of the optimizer came before.

        An `epoch` raises a NotImplementedError.
        """
        if epoch is not None:
            refuse("`epoch` of `step`")
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                "will result in PyTorch skipping the first value of the learning rate schedule. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                stacklevel=2,
            )
        self._step_count += 1
        self.last_epoch += 1
        self._set(self.get_lr())

    def _set(self, rates: list[float]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr = rates

    def state_dict(self) -> dict[str, Any]:
        """Return the schedule's attributes by name, but for the optimizer; functions are None.

        That of `SequentialLR` raises a NotImplementedError.
        """
        if isinstance(self, (SequentialLR, ChainedScheduler)):
            refuse(f"the state of `{type(self).__name__}`")
        if isinstance(self, (LambdaLR, MultiplicativeLR)):
            own = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambdas")}
            if not all(isinstance(factor, FunctionType) for factor in self.lr_lambdas):
                refuse(f"the state of `{type(self).__name__}` with an object for a function")
            return own | {"lr_lambdas": [None] * len(self.lr_lambdas)}
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the attributes of a state, but for functions."""
        own = self.__dict__.get("lr_lambdas")
        self.__dict__.update(state_dict)
        if own is not None:
            self.lr_lambdas = own


def note_steps(optimizer: Any) -> None:
    """Replace an optimizer's `step` by one that also sets its `_opt_called`, at first False; once only."""
    if hasattr(optimizer, "_opt_called"):
        return
    optimizer._opt_called, step = False, optimizer.step

    @wraps(step)
    def noted(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return step(*args, **kwargs)

    optimizer.step = noted


Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The initial rate, times a function of the number of steps: one for all groups, or a list with one each.

    A list of another length raises a ValueError.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        n = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * factor(self.last_epoch) for factor, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]

    def _first_lr(self) -> list[float]:
        return self.get_lr()


class StepLR(LRScheduler):
    """The rate, times `gamma` after each `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial or self.last_epoch % self.step_size:
            return self._rates
        return [lr * self.gamma for lr in self._rates]


class MultiStepLR(LRScheduler):
    """The rate, times `gamma` at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial or self.last_epoch not in self.milestones:
            return self._rates
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._rates]


class ExponentialLR(LRScheduler):
    """The rate, times `gamma` at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._rates if self._is_initial else [lr * self.gamma for lr in self._rates]


class LinearLR(LRScheduler):
    """The initial rate, times a factor that goes from one number to another in `total_iters` steps: a warm-up.

    A factor above 1, a negative one, or 0 at the start raises a ValueError.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next rate of each group: at first, `start_factor` times the rate, then each from the one before.

        After `total_iters` steps, they stay.
        """
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates
        gap = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * gap
        return [lr * (1.0 + gap / before) for lr in self._rates]

    def _first_lr(self) -> list[float]:
        return [lr * self.start_factor for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a wave of a cosine in `T_max` steps, from the initial rate to `eta_min` (Loshchilov and Hutter, 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next rate of each group from the one before.

        At the start of another wave, the initial rates are used as well.
        """
        if self._is_initial:
            return self._rates
        wave, low = math.pi / self.T_max, self.eta_min
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            pairs = zip(self.base_lrs, self._rates, strict=True)
            return [lr + (base - low) * (1 - math.cos(wave)) / 2 for base, lr in pairs]
        now, before = (1 + math.cos(math.pi * n / self.T_max) for n in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (lr - low) + low for lr in self._rates]


class OneCycleLR(LRScheduler):
    """A rise to `max_lr` and a fall to almost 0 in `total_steps` steps; the momentum goes the other way (Smith, 2018).

    A ValueError is raised for steps or a share `pct_start` that make no schedule, for another `anneal_strategy` than
    "cos" and "linear", for an optimizer without momentum, and at a step after the last one. `three_phase` is a
    NotImplementedError.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, n in (("total_steps", total_steps), ("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if n is not None and (n <= 0 or not isinstance(n, int)):
                raise ValueError(f"Expected positive integer {name}, but got {n}")
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if cycle_momentum and not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        refuse_set("OneCycleLR", three_phase=three_phase)
        self.total_steps = total_steps or (epochs or 0) * (steps_per_epoch or 0)
        self._rise, self._anneal_func_type, self.cycle_momentum = pct_start, anneal_strategy, cycle_momentum
        groups = optimizer.param_groups
        for group, top in zip(groups, max_lr if isinstance(max_lr, list) else [max_lr] * len(groups), strict=True):
            first = top / div_factor
            group.update(initial_lr=first, max_lr=top, min_lr=first / final_div_factor)
            if cycle_momentum:
                set_momentum(group, max_momentum)
                group.update(max_momentum=max_momentum, base_momentum=base_momentum)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (1 + math.cos(math.pi * share))
        return (end - start) * share + start

    def get_lr(self) -> list[float]:
        """Return the next rate of each group, and set its momentum.

        Raises:
            ValueError: it was called more than `total_steps` times.
        """
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        top, end = float(self._rise * self.total_steps) - 1, self.total_steps - 1
        rises = self.last_epoch <= top
        share = self.last_epoch / top if rises else (self.last_epoch - top) / (end - top)
        rates, momenta = ("initial_lr", "max_lr", "min_lr"), ("max_momentum", "base_momentum", "max_momentum")
        found = []
        for group in self.optimizer.param_groups:
            first, second = rates[:2] if rises else rates[1:]
            found.append(self._between(group[first], group[second], share))
            if self.cycle_momentum:
                first, second = momenta[:2] if rises else momenta[1:]
                set_momentum(group, self._between(group[first], group[second], share))
        return found


def set_momentum(group: dict[str, Any], momentum: float) -> None:
    """Set the momentum of a group, which may be the first of its `betas`."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class SequentialLR(LRScheduler):
    """Several schedules, one after the other; the next one begins at each of the `milestones`.

    They are one fewer than the schedules, or a ValueError is raised.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for schedule in self._schedulers:
            schedule.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Make a step of the schedule whose turn it is; at a milestone, begin the next one at its first rate."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[place]
        if place and self._milestones[place - 1] == self.last_epoch:
            schedule.last_epoch = 0
            schedule._set(schedule._first_lr())
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


class MultiplicativeLR(LRScheduler):
    """The rate, times a function of the number of steps at each step: one for all groups, or a list with one each."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        n = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._rates
        return [lr * factor(self.last_epoch) for factor, lr in zip(self.lr_lambdas, self._rates, strict=True)]

    def _first_lr(self) -> list[float]:
        return self.base_lrs


class ConstantLR(LRScheduler):
    """The rate, times a factor for the first `total_iters` steps. A factor outside [0, 1] raises a ValueError."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next rate of each group from the one before."""
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates]
        if self.last_epoch != self.total_iters:
            return self._rates
        return [lr * (1.0 / self.factor) for lr in self._rates]

    def _first_lr(self) -> list[float]:
        return [lr * self.factor for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate, times a power of a number that falls from 1 to 0 in `total_iters` steps."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next rate of each group from the one before."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates
        now, before = (1.0 - n / self.total_iters for n in (self.last_epoch, self.last_epoch - 1))
        return [lr * (now / before) ** self.power for lr in self._rates]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half waves of a cosine from the initial rate to `eta_min`, the first in `T_0` steps, the next `T_mult` as long.

    A `T_0` or `T_mult` that is no positive integer raises a ValueError.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        turn = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * turn / 2 for base in self.base_lrs]

    def step(self, epoch: int | None = None) -> None:
        """Set the next rate of each group; an `epoch` raises a NotImplementedError."""
        if epoch is not None:
            refuse("`epoch` of `step`")
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self.last_epoch += 1
        self._set(self.get_lr())


class ChainedScheduler(LRScheduler):
    """Several schedules of one optimizer, each of which makes a step at each step."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        self._schedulers = list(schedulers)
        self._last_lr = self._rates

    def step(self) -> None:  # type: ignore[override]
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._rates


class ReduceLROnPlateau(LRScheduler):
    """The rate, times `factor` when a measure has not become better for more than `patience` steps.

    It is better if it is smaller by `threshold` (or with the mode "max", larger), relative or absolute. A factor of 1
    or more, and another mode, raise a ValueError.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.factor, self.optimizer, self.patience, self.cooldown, self.eps = factor, optimizer, patience, cooldown, eps
        self.min_lrs = min_lr if isinstance(min_lr, list) else [min_lr] * len(optimizer.param_groups)
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._last_lr, self.last_epoch = self._rates, 0
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        bound = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return a > bound if self.mode == "max" else a < bound

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Note a measure, and lower the rates if it is time; an `epoch` raises a NotImplementedError."""
        if epoch is not None:
            refuse("`epoch` of `step`")
        now = float(metrics)
        self.last_epoch += 1
        better = self.is_better(now, self.best)
        self.best, self.num_bad_epochs = (now, 0) if better else (self.best, self.num_bad_epochs + 1)
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lower = max(group["lr"] * self.factor, low)
                if group["lr"] - lower > self.eps:
                    group["lr"] = lower
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates

    def state_dict(self) -> dict[str, Any]:
        """Raise a NotImplementedError: torch's has other names."""
        refuse("the state of `ReduceLROnPlateau`")


def absent(name: str) -> type[LRScheduler]:
    """Return a class that raises a NotImplementedError for schedule `name` when it is called.

    So `import *` has the name, and `isinstance` may ask for it.
    """

    def schedule(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"`{name}`")

    return type(name, (LRScheduler,), {"__new__": schedule})


for _name in ("CyclicLR",):
    globals()[_name] = absent(_name)
__getattr__ = missing_getattr("torch.optim.lr_scheduler")
