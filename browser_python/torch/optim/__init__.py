"""Optimizers: SGD, Adam (Kingma and Ba, 2015), AdamW with decoupled decay (Loshchilov and Hutter, 2019), Adagrad, RMSprop.

What the page's version lacks raises a NotImplementedError.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, NoReturn

from ..arithmetic import kernel_for, maximum
from ..creation import full_like, tensor, zeros_like
from ..missing import missing_getattr, raise_missing, refuse_set
from ..modes import enable_grad, no_grad
from ..tensors import Tensor, type_name


class Optimizer:
    """The base class of optimizers: groups of parameters with settings, and a state for each parameter.

    `params` are tensors, or groups as for `add_param_group`; `defaults` are the settings that a group does not have. A
    single tensor raises a TypeError, and no parameter a ValueError. See also `parameters_of` and `check_settings`.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + type_name(params)
            )
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        check_settings(defaults)
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        self.defaults = defaults
        self.param_groups = [{"params": parameters_of(group), **defaults, **settings(group)} for group in groups]
        for group in self.param_groups:
            check_settings(group)
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing(self, name)

    def __repr__(self) -> str:
        """Return the settings of each group as text, sorted by name."""
        parts = []
        for i, group in enumerate(self.param_groups):
            lines = [f"    {name}: {value}\n" for name, value in sorted(settings(group).items())]
            parts.append(f"\nParameter Group {i}\n{''.join(lines)}")
        return f"{type(self).__name__} ({''.join(parts)})"

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or without `set_to_none` to zeros, in place."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad = None if set_to_none else p.grad.detach_().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update, in place, each parameter that has a gradient. Call `closure` first, if given, and return its loss.

        Without it, return None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.update(p, p.grad, group, self.state[p])
                        if not self.state[p]:  # as with torch, only an optimizer that keeps something has a state
                            del self.state[p]
        return loss

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its own settings, as {"params": …, "lr": …}; others are the defaults.

        Raises:
            ValueError: a parameter is in another group; or see `parameters_of` and `check_settings`.
        """
        group = {"params": parameters_of(param_group), **self.defaults, **settings(param_group)}
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        check_settings(group)
        self.param_groups.append(group)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each parameter and the settings of each group; parameters stand there as numbers."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({**settings(group), "params": [numbers[id(p)] for p in group["params"]]})
        return {"state": {numbers[id(p)]: state for p, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned for an optimizer with groups of the same sizes.

        Settings are copied; the tensors of the parameters' states are shared, and so change with later steps.

        Raises:
            ValueError: the groups differ in number or size.
        """
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        for group, other in zip(self.param_groups, saved, strict=True):
            group.update(deepcopy(settings(other)))
            for p, number in zip(group["params"], other["params"], strict=True):
                if number in state_dict["state"]:
                    self.state[p] = dict(state_dict["state"][number])  # with the same tensors, as in torch

    def update(self, p: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        raise NotImplementedError


def settings(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group without its parameters."""
    return {name: value for name, value in group.items() if name != "params"}


def parameters_of(group: dict[str, Any]) -> list[Tensor]:
    """Return the parameters of a group, whose `params` are one tensor or several.

    Raises:
        TypeError: one of them is not a tensor.
        ValueError: one is not a leaf: it is the result of an operation, with a gradient to pass on.
    """
    found = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
    for p in found:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not p.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    return found


def check_settings(group: dict[str, Any]) -> None:
    """Raise a ValueError for a negative setting, or for one of `betas` that is not from 0 to below 1.

    A TypeError is raised for a learning rate that is no number.
    """
    for name, value in group.items():
        for i, beta in enumerate((value[0], value[1]) if name == "betas" else ()):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        if name not in ("betas", "params") and (name == "lr" or value is not None) and not value >= 0.0:
            named = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {named}: {value}")


class SGD(Optimizer):
    """Stochastic gradient descent, p ← p − lr·g, with optional momentum and weight decay.

    `nesterov` without a momentum or with `dampening` raises a ValueError; `maximize` and `differentiable` are a
    NotImplementedError.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_set("SGD", maximize=maximize, differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults: dict[str, Any] = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
        }
        defaults |= {"nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable}
        super().__init__(params, {**defaults, "fused": fused})

    def update(self, p: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Update one parameter p in place by its gradient g, and the buffer of the momentum in `state`."""
        g = g + p * group["weight_decay"] if group["weight_decay"] else g
        if group["momentum"]:
            before = state.get("momentum_buffer")
            if before is None:
                now = state["momentum_buffer"] = g.clone()
            else:
                now = before.copy_(before * group["momentum"] + g * (1 - group["dampening"]))
            g = g + now * group["momentum"] if group["nesterov"] else now
        p.sub_(g * group["lr"])


class Adam(Optimizer):
    """Adam: steps scaled by running means of the gradient and of its square.

    `amsgrad`, `maximize` and `differentiable` raise a NotImplementedError.
    """

    decoupled = False  # whether weight decay acts on the parameters directly

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_set(type(self).__name__, maximize=maximize, differentiable=differentiable)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
        }
        defaults |= {"maximize": maximize, "foreach": foreach, "capturable": capturable}
        defaults |= {"differentiable": differentiable, "fused": fused, "decoupled_weight_decay": self.decoupled}
        super().__init__(params, defaults)

    def update(self, p: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Update p in place by its gradient g: p ← p − lr·m̂ / (√v̂ + eps), by a kernel if there is one.

        m and v, which `state` keeps with the number of steps, are running means of g and g²; m̂ and v̂ are free of the
        bias of the first steps. The decay is added to g, or where it is decoupled, taken from p before.
        """
        lr, (b1, b2), decay = group["lr"], group["betas"], group["weight_decay"]
        if decay and not self.decoupled:
            g = g + p * decay
        if not state:
            state.update(step=tensor(0.0), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        state["step"] += 1
        n = state["step"].item()
        moments = [state["exp_avg"], state["exp_avg_sq"]]
        kernel = None if group["amsgrad"] else kernel_for("adamw", p.numel(), p.dtype)
        if kernel and all(t.is_contiguous() and t.dtype is p.dtype for t in (p, g, *moments)):
            addresses = [t._address() for t in (p, g, *moments)]
            kernel(*addresses, p.numel(), lr, b1, b2, group["eps"], decay if self.decoupled else 0.0, int(n))
            p._writes[0] += 1
            return
        if decay and self.decoupled:
            p.mul_(1 - lr * decay)
        m = state["exp_avg"].copy_(state["exp_avg"] * b1 + g * (1 - b1))
        v = state["exp_avg_sq"].copy_(state["exp_avg_sq"] * b2 + g * g * (1 - b2))
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], v))
        p.sub_(m * (lr / (1 - b1**n)) / (v.sqrt() / (1 - b2**n) ** 0.5 + group["eps"]))


class AdamW(Adam):
    """Adam with decoupled weight decay, which does not enter the running means."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        more: dict[str, Any] = {"foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, capturable=capturable, **more
        )


class RMSprop(Optimizer):
    """Steps scaled by a running mean of the gradient's square (Tieleman and Hinton, 2012).

    `centered`, `maximize` and `differentiable` raise a NotImplementedError.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        refuse_set("RMSprop", centered=centered, maximize=maximize, differentiable=differentiable)
        defaults: dict[str, Any] = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        defaults |= {"weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**defaults, "differentiable": differentiable})

    def update(self, p: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Update p in place by its gradient g: p ← p − lr·g / (√v + eps), with a running mean v of g².

        A weight decay is added to g first. `state` keeps v, and with a momentum also a running sum of the steps, which
        then replaces the step.
        """
        g = g + p * group["weight_decay"] if group["weight_decay"] else g
        if not state:
            state.update(step=tensor(0.0), square_avg=zeros_like(p))
            if group["momentum"]:
                state["momentum_buffer"] = zeros_like(p)
        state["step"] += 1
        mean = state["square_avg"].copy_(state["square_avg"] * group["alpha"] + g * g * (1 - group["alpha"]))
        move = g / (mean.sqrt() + group["eps"])
        if group["momentum"]:
            move = state["momentum_buffer"].copy_(state["momentum_buffer"] * group["momentum"] + move)
        p.sub_(move * group["lr"])


class Adagrad(Optimizer):
    """Steps scaled by the sum of all squares of the gradient so far (Duchi et al., 2011).

    `maximize` and `differentiable` raise a NotImplementedError.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_set("Adagrad", maximize=maximize, differentiable=differentiable)
        defaults: dict[str, Any] = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        defaults |= {"initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**defaults, "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(step=tensor(0.0), sum=full_like(p.detach(), group["initial_accumulator_value"]))

    def update(self, p: Tensor, g: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Update p in place by its gradient g: p ← p − lr·g / (√Σg² + eps); `state` keeps the sum.

        `lr` decreases by `lr_decay`: it is divided by 1 + steps before · lr_decay.
        """
        state["step"] += 1
        g = g + p * group["weight_decay"] if group["weight_decay"] else g
        total = state["sum"].add_(g * g)
        lr = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
        p.sub_(g / (total.sqrt() + group["eps"]) * lr)


from . import lr_scheduler  # noqa: E402, F401 (it imports this file)

__getattr__ = missing_getattr("torch.optim")
