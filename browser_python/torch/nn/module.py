"""The base class of all layers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

from ..creation import zeros_like
from ..dtypes import FLOATING, Device, bfloat16, float16, float32, float64
from ..dtypes import dtype as Kind
from ..missing import no_attribute, note_missing, refuse_set
from ..modes import no_grad
from ..tensors import Tensor
from ..views import target_dtype
from .parameter import Parameter

Member = TypeVar("Member")


class Hook:
    """A handle of a registered hook: the module calls the hook at each forward pass until `remove` is called."""

    def __init__(self, place: dict[Hook, Any], function: Callable[..., Any]) -> None:
        self.place = place
        place[self] = function

    def remove(self) -> None:
        self.place.pop(self, None)


# what the modules of torch have, and those of the page do not
ABSENT = {
    *("_apply", "_backward_hooks", "_backward_pre_hooks", "_call_impl", "_forward_hooks", "_forward_pre_hooks"),
    *("_load_from_state_dict", "_load_state_dict_post_hooks", "_load_state_dict_pre_hooks", "_named_members"),
    *("_non_persistent_buffers_set", "_register_load_state_dict_pre_hook", "_register_state_dict_hook"),
    *("_save_to_state_dict", "_state_dict_hooks", "_state_dict_pre_hooks", "_version", "compile", "get_extra_state"),
    *("register_backward_hook", "register_full_backward_hook", "register_full_backward_pre_hook"),
    *("register_load_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_state_dict_post_hook"),
    *("register_state_dict_pre_hook", "set_extra_state", "set_submodule", "share_memory", "to_empty"),
}


class Module:
    """The base class of layers: an object with parameters, buffers, submodules and the method `forward`."""

    training = True
    _bufs: dict[str, Any]
    _not_saved: set[str]  # names of the buffers that the state does not include
    _emptied: dict[str, Any]  # names of parameters and modules whose value is None, and which of the two they are
    _before: dict[Hook, Any]
    _after: dict[Hook, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            given = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else "takes 1 positional argument"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {given}")
        object.__setattr__(self, "_ready", True)
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "_not_saved", set())
        object.__setattr__(self, "_emptied", {})
        object.__setattr__(self, "_bufs", {})
        object.__setattr__(self, "_before", {})
        object.__setattr__(self, "_after", {})

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a buffer also becomes part of the state.

        Raises:
            AttributeError: `Module.__init__` has not run.
            TypeError: a parameter or a module is replaced by a value of another type.
        """
        if isinstance(value, (Parameter, Module)) and "_ready" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {'parameters' if isinstance(value, Parameter) else 'module'} before Module.__init__() call"
            )
        old, emptied = self.__dict__.get(name), self.__dict__.get("_emptied", {})
        was = next((kind for kind in (Parameter, Module) if isinstance(old, kind)), emptied.get(name))
        if was is Parameter and value is not None and not isinstance(value, Parameter):
            raise TypeError(
                f"cannot assign '{'torch.FloatTensor' if isinstance(value, Tensor) else type(value).__name__}' as parameter '{name}' (torch.nn.Parameter or None expected)"
            )
        if was is Module and value is not None and not isinstance(value, Module):
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as child module '{name}' (torch.nn.Module or None expected)"
            )
        if isinstance(value, Tensor) and "_is_buffer" in value.__dict__:
            self.register_buffer(name, value, value.persistent)
        if was is None and isinstance(value, (Parameter, Module)):
            self.__dict__.pop(name, None)  # it comes after the parameters and modules so far
        elif was is not None and value is None:
            emptied[name] = was
        object.__setattr__(self, name, value)
        if value is not None:
            emptied.pop(name, None)
        if "_bufs" in self.__dict__ and name in self._bufs:
            self._bufs[name] = value

    def __call__(self, *a: Any, **k: Any) -> Any:
        """Call `forward`, and the hooks before and after it, which may replace its arguments and its result."""
        if "_ready" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_backward_hooks'")
        for hook in list(self._before.values()):
            found = hook(self, a)
            if found is not None:
                a = found if isinstance(found, tuple) else (found,)
        out = self.forward(*a, **k)
        for hook in list(self._after.values()):
            found = hook(self, a, out)
            out = out if found is None else found
        return out

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Hook:
        """Call `hook(module, arguments)` before each forward pass; what it returns replaces the arguments."""
        refuse_set("register_forward_pre_hook", prepend=prepend, with_kwargs=with_kwargs)
        return Hook(self._before, hook)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Hook:
        """Call `hook(module, arguments, result)` after each forward pass; what it returns replaces the result."""
        refuse_set("register_forward_hook", prepend=prepend, with_kwargs=with_kwargs)
        return Hook(self._after, hook)

    def forward(self, *a: Any, **k: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained. Unless it is `persistent`, the state does not include it."""
        check_member(self, name, tensor, Tensor)
        self._bufs[name] = tensor
        (self._not_saved.discard if persistent else self._not_saved.add)(name)
        object.__setattr__(self, name, tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or a name for one that is None."""
        check_member(self, name, param, Parameter)
        setattr(self, name, param)
        if param is None:
            self._emptied[name] = Parameter

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module, or a name for one that is None."""
        check_member(self, name, module, Module)
        setattr(self, name, module)
        if module is None:
            self._emptied[name] = Module

    register_module = add_module

    def get_submodule(self, target: str) -> Module:
        """Return the module of this name, with dots between the names of modules in modules.

        Raises:
            AttributeError: there is none.
        """
        found: Module = self
        for name in target.split(".") if target else ():
            if not isinstance(inside := found.__dict__.get(name), Module):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            found = inside
        return found

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter of this name, with the names of the modules in which it is.

        Raises:
            AttributeError: there is none.
        """
        where, _, name = target.rpartition(".")
        found = self.get_submodule(where)
        if not isinstance(p := found.__dict__.get(name), Parameter):
            raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
        return p

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer of this name, with the names of the modules in which it is.

        Raises:
            AttributeError: there is none.
        """
        where, _, name = target.rpartition(".")
        found = self.get_submodule(where)
        if name not in found._bufs:
            raise AttributeError(f"`{name}` is not a buffer")
        return found._bufs[name]

    def __getattr__(self, name: str) -> NoReturn:
        """Raise the error for an attribute that a module lacks, here or also in torch."""
        if name in ABSENT:
            note_missing(f"`Module.{name}`")
            raise AttributeError(no_attribute(type(self).__name__, name))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        """Remove an attribute, also from what is saved with the state."""
        object.__delattr__(self, name)
        self._emptied.pop(name, None)
        self._bufs.pop(name, None)
        self._not_saved.discard(name)

    @property
    def _parameters(self) -> dict[str, Parameter | None]:
        return self._own_or_none(Parameter)

    @property
    def _modules(self) -> dict[str, Module | None]:
        return self._own_or_none(Module)

    @property
    def _buffers(self) -> dict[str, Any]:
        return self._bufs

    def _own(self, kind: type[Member]) -> list[tuple[str, Member]]:
        return [(n, v) for n, v in self.__dict__.items() if isinstance(v, kind)]

    def _own_or_none(self, kind: type[Member]) -> dict[str, Member | None]:
        own = dict(self._own(kind))
        return {n: own.get(n) for n in self.__dict__ if n in own or self._emptied.get(n) is kind}

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the name and the module of each direct submodule, each module once."""
        seen: set[int] = set()
        for n, m in self._own(Module):
            if id(m) not in seen:
                seen.add(id(m))
                yield n, m

    def children(self) -> Iterator[Module]:
        for _, m in self.named_children():
            yield m

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield the full name and the module of this module and of all modules in it."""
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for n, m in self._own(Module):
                yield from m.named_modules(memo, prefix + ("." if prefix else "") + n, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, m in self.named_modules():
            yield m

    def _members(
        self, own: Callable[[Module], Iterable[tuple[str, Any]]], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """Yield the full names and values of what `own` returns for this module, and for all modules in it."""
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
        yield from self._members(lambda m: m._own(Parameter), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, p in self.named_parameters("", recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        yield from self._members(lambda m: m._bufs.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, b in self.named_buffers("", recurse):
            yield b

    def _state(self) -> list[tuple[str, Tensor | None]]:
        return [*self._own(Parameter), *((n, b) for n, b in self._bufs.items() if n not in self._not_saved)]

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Return all parameters and buffers by their full names, as views unless `keep_vars` is set."""
        state: OrderedDict[str, Tensor] = OrderedDict()
        for where, m in self.named_modules(remove_duplicate=False):
            for n, v in m._state():
                if v is not None:
                    state[prefix + where + ("." if where else "") + n] = v if keep_vars else v.detach()
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the numbers of a state into the parameters and buffers of the same names.

        Raises:
            RuntimeError: a shape differs, or with `strict`, a name is missing or not known.
        """
        refuse_set("load_state_dict", assign=assign)
        state, own = state_dict, self.state_dict()
        missing, extra = [n for n in own if n not in state], [n for n in state if n not in own]
        text = ""
        if strict and extra:
            text += "\n\tUnexpected key(s) in state_dict: " + ", ".join([f'"{n}"' for n in extra]) + ". "
        if strict and missing:
            text = "\n\tMissing key(s) in state_dict: " + ", ".join([f'"{n}"' for n in missing]) + ". " + text
        for n, p in own.items():
            if n in state and p.shape != state[n].shape:
                text += f"\n\tsize mismatch for {n}: copying a param with shape {state[n].shape} from checkpoint, the shape in current model is {p.shape}."
        if text:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:{text}")
        with no_grad():
            for n, v in state.items():
                if n in own:
                    own[n].copy_(v)
        return IncompatibleKeys(missing, extra)

    def to(self, *args: Any, dtype: Kind | None = None, device: Device = None, non_blocking: bool = False) -> Self:
        """Convert all parameters and floating-point buffers to another floating-point dtype, in place."""
        dtype = target_dtype(args, dtype, device)
        if dtype is not None:
            if dtype.kind < FLOATING:
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            for m in self.modules():
                for _, p in m._own(Parameter):
                    p.data = p.detach().to(dtype)
                for n, b in m._bufs.items():
                    if b is not None and b.is_floating_point():
                        setattr(m, n, b.to(dtype))
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
        """Set the training mode of this module and of all modules in it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for m in self.modules():
            m.training = mode
        return self

    def eval(self) -> Self:
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else zeros_like(p.grad)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def apply(self, f: Callable[[Module], object]) -> Self:
        for m in self.modules():
            f(m)
        return self

    def extra_repr(self) -> str:
        return ""

    def _described(self) -> list[tuple[str, str]]:
        """Return the names and texts of the submodules."""
        return [(n, repr(m)) for n, m in self._modules.items()]

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """Return the name of the class, with one line for each submodule, indented."""
        lines = [f"({n}): " + text.replace("\n", "\n  ") for n, text in self._described()]
        extra = self.extra_repr()
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = [*(extra.split("\n") if extra else ()), *lines]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


setattr(Module, "type", lambda self, dst_type: self.to(dst_type))  # noqa: B010 (in the class, it would hide `type`)


def check_member(module: Module, name: str, value: object, kind: type) -> None:
    """Raise torch's error if a module cannot register this value under this name."""
    if not isinstance(name, str):
        raise TypeError(f"name should be a string. Got {type(name).__name__}")
    if "." in name or not name:
        raise KeyError(f'name can\'t be empty or contain ".", got: {name}')
    if hasattr(module, name) and name not in module._bufs and not isinstance(module.__dict__.get(name), kind):
        raise KeyError(f"attribute '{name}' already exists")
    if value is not None and not isinstance(value, kind):
        raise TypeError(
            f"cannot assign '{type(value).__name__}' object to '{name}' (torch {kind.__name__} or None required)"
        )


class IncompatibleKeys(NamedTuple):
    """The names that `load_state_dict` did not find in the state, and those in the state that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
