"""The base class of all layers.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from ..dtypes import FLOATING, Device, bfloat16, float16, float32, float64
from ..dtypes import dtype as Kind
from ..gradients import RemovableHandle
from ..missing import TellsMissingOrAbstract, raise_missing, refuse, refuse_set
from ..modes import no_grad
from ..tensors import Tensor
from ..views import target_dtype
from .parameter import Buffer, Parameter

# the dictionaries of a new module after the first ones, in torch's order; the page calls the hooks of the forward pass
HOOKS = "_forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks "
HOOKS += "_forward_pre_hooks_with_kwargs _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks "
HOOKS += "_load_state_dict_post_hooks"
KINDS = ("_parameters", "_buffers", "_modules")

OWN = __name__.removesuffix(".module")  # the package of torch's own layers


class Module(metaclass=TellsMissingOrAbstract):
    """The base class of layers: an object with parameters, buffers, submodules and the method `forward`.

    Its own `__init__` takes no arguments, else it raises a TypeError.

    Attributes:
        _parameters, _buffers, _modules: what `__getattr__` finds, by its name; a value may be None
        _non_persistent_buffers_set: the names of the buffers that the state does not include
        _forward_pre_hooks, _forward_hooks: what `__call__` calls before and after `forward`
    """

    _version = 1
    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _backward_hooks: dict[int, Any]
    _forward_pre_hooks: dict[int, Any]
    _forward_hooks: dict[int, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            given = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else "takes 1 positional argument"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {given}")
        own = self.__dict__
        own.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set())
        own.update(_backward_pre_hooks=OrderedDict(), _backward_hooks=OrderedDict(), _is_full_backward_hook=None)
        own.update({name: OrderedDict() for name in HOOKS.split()}, _modules={})

    def __getattr__(self, name: str) -> Any:
        """Return the parameter, buffer or module of this name.

        Raises:
            AttributeError: there is none.
            NotImplementedError: torch's modules have this attribute, and those of the page do not.
        """
        own = self.__dict__
        for kind in KINDS:
            if kind in own and name in own[kind]:
                return own[kind][name]
        raise_missing(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a `Parameter`, a module or a `Buffer` becomes a member of its kind.

        A member may be replaced by one of its kind (a buffer, by any tensor) or by None.

        Raises:
            AttributeError: `Module.__init__` has not run.
            TypeError: a member is replaced by a value of another type.
        """
        own = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, "parameters", "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            check_replacement(value, None, f"parameter '{name}' (torch.nn.Parameter")
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._forget(name, "module", "_parameters", "_buffers")
            self._modules[name] = value
        elif name in own.get("_modules", ()):
            check_replacement(value, None, f"child module '{name}' (torch.nn.Module")
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)  # type: ignore[arg-type]
        elif name in own.get("_buffers", ()):
            check_replacement(value, Tensor, f"buffer '{name}' (torch.nn.Buffer, torch.Tensor")
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, what: str, *kinds: str) -> None:
        """Remove the attribute of this name, also from members of these `kinds`, since a `what` of this name comes.

        Raises:
            AttributeError: `Module.__init__` has not run.
        """
        check_ready(self, what)
        self.__dict__.pop(name, None)
        for kind in kinds:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        """Remove an attribute, or a parameter, buffer or module. An AttributeError is raised if there is none."""
        for kind in KINDS:
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *(name for kind in KINDS for name in self.__dict__[kind])]
        return sorted(name for name in names if not name[0].isdigit())

    def __call__(self, *a: Any, **k: Any) -> Any:
        """Call `forward` between the hooks, and return its result.

        What a hook before it returns replaces its positional arguments, and what one after it returns replaces its
        result, unless that is None.
        """
        if "input" in k and type(self).forward.__module__.startswith(OWN):  # torch's name of the first argument
            a = (k.pop("input"), *a)
        if not (self._backward_hooks or self._forward_hooks or self._forward_pre_hooks):
            return self.forward(*a, **k)
        for place, hook in list(self._forward_pre_hooks.items()):
            if place in self._forward_pre_hooks_with_kwargs:
                found = hook(self, a, k)
                if found is not None:
                    if not (isinstance(found, tuple) and len(found) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
                        )
                    a, k = found
                continue
            found = hook(self, a)
            if found is not None:
                a = found if isinstance(found, tuple) else (found,)
        out = self.forward(*a, **k)
        for place, hook in list(self._forward_hooks.items()):
            found = hook(self, a, k, out) if place in self._forward_hooks_with_kwargs else hook(self, a, out)
            out = out if found is None else found
        return out

    def _add_hook(self, kind: str, hook: Callable[..., Any], prepend: bool, with_kwargs: bool) -> RemovableHandle:
        """Add a hook to those of a kind, as the last one or the first, and return its handle."""
        hooks = self.__dict__[kind]
        handle = RemovableHandle(hooks, hook)
        if with_kwargs:
            self.__dict__[f"{kind}_with_kwargs"][handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, arguments)` before each forward pass, and return a handle that can remove the hook.

        Unless it is None, what the hook returns replaces the arguments. With `with_kwargs`, it also gets those by name,
        and returns both. With `prepend`, it is called before the other hooks.
        """
        return self._add_hook("_forward_pre_hooks", hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, arguments, result)` after each forward pass; return a handle that can remove it.

        Unless it is None, what the hook returns replaces the result. With `with_kwargs`, it also gets the arguments by
        name, before the result. With `prepend`, it is called before the other hooks.
        """
        return self._add_hook("_forward_hooks", hook, prepend, with_kwargs)

    def forward(self, *a: Any, **k: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor, or None, that is not trained. Unless it is `persistent`, the state does not include it.

        Errors are those of `check_member`.
        """
        check_member(self, name, tensor, Tensor)
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or a name for one that is None. Errors are those of `check_member`."""
        check_member(self, name, param, Parameter)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule of this name, or None. A TypeError is raised for anything else; see also `check_member`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        check_member(self, name, module, Module)
        self._modules[name] = module

    register_module = add_module

    def get_submodule(self, target: str) -> Module:
        """Return the module of this name, with dots between the names of modules in modules.

        Raises:
            AttributeError: there is none.
        """
        found: Module = self
        for name in target.split(".") if target else ():
            found = member(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter of this name, with the names of the modules in which it is.

        Raises:
            AttributeError: there is none.
        """
        where, _, name = target.rpartition(".")
        found = member(self.get_submodule(where), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer of this name, with the names of the modules in which it is.

        Raises:
            AttributeError: there is none.
        """
        where, _, name = target.rpartition(".")
        owner = self.get_submodule(where)
        found: Tensor = member(owner, name)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the name and the module of each direct submodule, each module once."""
        seen: set[int] = set()
        for n, m in self._modules.items():
            if m is not None and id(m) not in seen:
                seen.add(id(m))
                yield n, m

    def children(self) -> Iterator[Module]:
        for _, m in self.named_children():
            yield m

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield the full name and the module of this module and of all modules in it, itself first.

        Names begin with `prefix`. A module in `memo` is left out. With `remove_duplicate`, all that are yielded are
        added to it, so that none comes twice.
        """
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for n, m in self._modules.items():
                if m is not None:
                    yield from m.named_modules(memo, prefix + ("." if prefix else "") + n, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, m in self.named_modules():
            yield m

    def _named_members(
        self, own: Callable[[Module], Iterable[tuple[str, Any]]], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """Yield full names and values of what `own` returns for this module, and with `recurse` for all in it.

        Names begin with `prefix`. None is left out, and so is a value that occurs twice unless `remove_duplicate` is
        False.
        """
        seen: set[int] = set()
        for where, m in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for n, v in own(m):
                if v is not None and id(v) not in seen:
                    if remove_duplicate:
                        seen.add(id(v))
                    yield where + ("." if where else "") + n, v

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, p in self.named_parameters("", recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, b in self.named_buffers("", recurse):
            yield b

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        """Add this module's own parameters and persistent buffers to `destination`, by `prefix` and name.

        They are detached views, or with `keep_vars` the tensors themselves.

        Raises:
            NotImplementedError: the class has a `get_extra_state`.
        """
        if any("get_extra_state" in vars(kind) for kind in type(self).__mro__):
            refuse("`Module.get_extra_state`")
        saved = {n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set}
        for n, v in [*self._parameters.items(), *saved.items()]:
            if v is not None:
                destination[prefix + n] = v if keep_vars else v.detach()

    def state_dict(
        self, *, destination: dict[str, Tensor] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Return all parameters and persistent buffers by their full names, in `destination` if it is given.

        They are detached views, which share the numbers, or with `keep_vars` the tensors themselves.
        """
        state = OrderedDict() if destination is None else destination
        self._save_to_state_dict(state, prefix, keep_vars)
        for n, m in self._modules.items():
            if m is not None:
                m.state_dict(destination=state, prefix=f"{prefix}{n}.", keep_vars=keep_vars)
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the numbers of a state into the parameters and buffers of the same names.

        Return the names that the state misses, and those that the module does not know.

        Raises:
            RuntimeError: a shape differs, a value is no tensor, or with `strict`, a name is missing or not known. Then
                nothing is copied.
            TypeError: the state is no mapping.
            NotImplementedError: `assign` is set.
        """
        refuse_set("load_state_dict", assign=assign)
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state, own = state_dict, self.state_dict()
        missing, extra = [n for n in own if n not in state], [n for n in state if n not in own]
        text = ""
        if strict and extra:
            text += "\n\tUnexpected key(s) in state_dict: " + ", ".join([f'"{n}"' for n in extra]) + ". "
        if strict and missing:
            text = "\n\tMissing key(s) in state_dict: " + ", ".join([f'"{n}"' for n in missing]) + ". " + text
        for n, p in own.items():
            if n in state and not isinstance(state[n], Tensor):
                text += (
                    f'\n\tWhile copying the parameter named "{n}", expected torch.Tensor or Tensor-like object from checkpoint '
                    f"but received {type(state[n])}"
                )
            elif n in state and p.shape != state[n].shape:
                text += f"\n\tsize mismatch for {n}: copying a param with shape {state[n].shape} from checkpoint, the shape in current model is {p.shape}."
        if text:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:{text}")
        with no_grad():
            for n, v in state.items():
                if n in own:
                    own[n].copy_(v)
        return IncompatibleKeys(missing, extra)

    def to(self, *args: Any, dtype: Kind | None = None, device: Device = None, non_blocking: bool = False) -> Self:
        """Convert all parameters and floating-point buffers in place, and return the module.

        The arguments are those of `Tensor.to`; without a dtype, nothing changes. One that is not floating-point raises
        a TypeError.
        """
        dtype = target_dtype(args, dtype, device)
        if dtype is not None:
            if dtype.kind < FLOATING:
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the numbers of all parameters, their gradients and the buffers by what `fn` returns for each.

        With `recurse`, do so in all submodules, too. Return the module.
        """
        for m in self.children() if recurse else ():
            m._apply(fn)
        with no_grad():
            for p in self._parameters.values():
                if p is not None:
                    gradient, p.data = p.grad, fn(p)
                    p.grad = None if gradient is None else fn(gradient)
            for n, b in self._buffers.items():
                if b is not None:
                    self._buffers[n] = fn(b)
        return self

    def cpu(self) -> Self:
        return self

    def cuda(self, device: Device = None) -> Self:
        return self.to(device="cuda")

    def half(self) -> Self:
        return self.to(float16)

    def bfloat16(self) -> Self:
        return self.to(bfloat16)

    def float(self) -> Self:
        return self.to(float32)

    def double(self) -> Self:
        return self.to(float64)

    def train(self, mode: bool = True) -> Self:
        """Set the training mode of this module and of all modules in it, and return it.

        A mode that is no bool raises a ValueError.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else p.grad.detach_().zero_()

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def apply(self, f: Callable[[Module], object]) -> Self:
        """Call a function with each module in this one, from the inside out, and last with this one. Return it."""
        for m in self.children():
            m.apply(f)
        f(self)
        return self

    def extra_repr(self) -> str:
        return ""

    def _described(self) -> list[tuple[str, str]]:
        """Return the names and texts of the submodules."""
        return [(n, repr(m)) for n, m in self._modules.items()]

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """Return the name of the class with its `extra_repr`, and one part for each submodule, indented."""
        lines = [f"({n}): " + text.replace("\n", "\n  ") for n, text in self._described()]
        extra = self.extra_repr()
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = [*(extra.split("\n") if extra else ()), *lines]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


setattr(Module, "type", lambda self, dst_type: self.to(dst_type))  # noqa: B010 (in the class, it would hide `type`)


def typename(obj: Any) -> str:
    """Return the name of a type, or of an object's type, as in torch's errors.

    For instance `torch.FloatTensor`, `int`, `torch.nn.modules.linear.Linear`.
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None) or "builtins"
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def member(module: Module, name: str) -> Any:
    """Return an attribute of a module.

    Raises:
        AttributeError: there is none.
    """
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def check_ready(module: Module, what: str) -> None:
    if "_parameters" not in module.__dict__:
        raise AttributeError(f"cannot assign {what} before Module.__init__() call")


def check_member(module: Module, name: str, value: object, kind: type) -> None:
    """Raise torch's error if a module cannot register this value under this name; `kind` is the class of such values.

    Raises:
        AttributeError: `Module.__init__` has not run.
        TypeError: the name is no string, or the value is neither of this kind nor None.
        KeyError: the name is empty, contains a dot, or is that of another attribute.
        ValueError: a parameter is a computed tensor.
    """
    names: dict[type, str] = {Tensor: "buffer", Parameter: "parameter", Module: "module"}
    what = names[kind]
    if kind is not Module:
        check_ready(module, what)
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."' + (f", got: {name}" if kind is Module else ""))
    if not name:
        raise KeyError(f'{what} name can\'t be empty string ""')
    if hasattr(module, name) and name not in getattr(module, f"_{what}s"):
        raise KeyError(f"attribute '{name}' already exists")
    if value is not None and not isinstance(value, kind):
        wanted = "torch Tensor" if kind is Tensor else "torch.nn.Parameter"
        raise TypeError(f"cannot assign '{typename(value)}' object to {what} '{name}' ({wanted} or None required)")
    if isinstance(value, Parameter) and value.grad_fn:
        raise ValueError(
            f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
            f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
        )


def check_replacement(value: object, kind: type | None, what: str) -> None:
    """Raise a TypeError unless a value can replace a member: None, or one of the class `kind` if that is given.

    `what` says in the error what the member is.
    """
    if value is not None and not (kind and isinstance(value, kind)):
        raise TypeError(f"cannot assign '{typename(value)}' as {what} or None expected)")


class IncompatibleKeys(NamedTuple):
    """The names that `load_state_dict` did not find in the state, and those in the state that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
