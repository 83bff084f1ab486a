"""The base class of all layers."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype as dtype_
from ..dtypes import float32, float64
from ..modes import no_grad
from ..tensors import Tensor
from .parameter import Parameter


class Hook:
    """A handle of a registered hook: the module calls the hook at each forward pass until `remove` is called."""

    def __init__(self, place: dict[Hook, Any], function: Any) -> None:
        self.place = place
        place[self] = function

    def remove(self) -> None:
        self.place.pop(self, None)


class Module:
    """The base class of layers: an object with parameters, buffers, submodules and the method `forward`."""

    training = True
    _bufs: dict[str, Any]
    _before: dict[Hook, Any]
    _after: dict[Hook, Any]

    def __init__(self, *a: Any, **k: Any) -> None:
        object.__setattr__(self, "_ready", True)
        object.__setattr__(self, "_bufs", {})
        object.__setattr__(self, "_before", {})
        object.__setattr__(self, "_after", {})

    def __setattr__(self, name: Any, value: Any) -> None:
        if isinstance(value, (Parameter, Module)) and "_ready" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {'parameters' if isinstance(value, Parameter) else 'module'} before Module.__init__() call"
            )
        old = self.__dict__.get(name)
        if isinstance(old, Parameter) and value is not None and not isinstance(value, Parameter):
            raise TypeError(
                f"cannot assign '{'torch.FloatTensor' if isinstance(value, Tensor) else type(value).__name__}' as parameter '{name}' (torch.nn.Parameter or None expected)"
            )
        object.__setattr__(self, name, value)
        if "_bufs" in self.__dict__ and name in self._bufs:
            self._bufs[name] = value

    def __call__(self, *a: Any, **k: Any) -> Any:
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

    def register_forward_pre_hook(self, hook: Any) -> Hook:
        return Hook(self._before, hook)

    def register_forward_hook(self, hook: Any) -> Hook:
        return Hook(self._after, hook)

    def forward(self, *a: Any, **k: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def register_buffer(self, name: Any, value: Any, persistent: Any = True) -> None:
        self._bufs[name] = value
        object.__setattr__(self, name, value)

    def register_parameter(self, name: Any, value: Any) -> None:
        setattr(self, name, value)

    def add_module(self, name: Any, module: Any) -> None:
        setattr(self, name, module)

    def _own(self, kind: Any) -> Any:
        return [(n, v) for n, v in self.__dict__.items() if isinstance(v, kind)]

    def named_children(self) -> Any:
        return self._own(Module)

    def children(self) -> Any:
        return [m for _, m in self.named_children()]

    def named_modules(self, prefix: Any = "", seen: Any = None) -> Any:
        seen = set() if seen is None else seen
        if id(self) not in seen:
            seen.add(id(self))
            yield prefix, self
            for n, m in self._own(Module):
                yield from m.named_modules(prefix + ("." if prefix else "") + n, seen)

    def modules(self) -> Any:
        return [m for _, m in self.named_modules()]

    def named_parameters(self, prefix: Any = "", recurse: Any = True) -> Any:
        seen = set()
        for where, m in self.named_modules(prefix):
            for n, p in m._own(Parameter):
                if id(p) not in seen:
                    seen.add(id(p))
                    yield where + ("." if where else "") + n, p

    def parameters(self, recurse: Any = True) -> Any:
        for _, p in self.named_parameters():
            yield p

    def named_buffers(self) -> Any:
        for where, m in self.named_modules():
            for n, b in m._bufs.items():
                yield where + ("." if where else "") + n, b

    def buffers(self) -> Any:
        return [b for _, b in self.named_buffers()]

    def state_dict(self) -> Any:
        out = {n: p.detach() for n, p in self.named_parameters()}
        out.update({n: b for n, b in self.named_buffers() if b is not None})
        return out

    def load_state_dict(self, state: Any, strict: Any = True) -> Any:
        own = dict(self.named_parameters())
        own.update(dict(self.named_buffers()))
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
        return "<All keys matched successfully>"

    def to(self, *args: Any, dtype: Any = None, device: Any = None) -> Any:
        for a in args:
            if isinstance(a, dtype_):
                dtype = a
        if dtype is not None:
            for m in self.modules():
                for _, p in m._own(Parameter):
                    p.data = p.detach().to(dtype)
                for n, b in m._bufs.items():
                    if b is not None and b.is_floating_point():
                        setattr(m, n, b.to(dtype))
        return self

    def float(self) -> Any:
        return self.to(float32)

    def double(self) -> Any:
        return self.to(float64)

    def train(self, mode: Any = True) -> Any:
        for m in self.modules():
            m.training = mode
        return self

    def eval(self) -> Any:
        return self.train(False)

    def zero_grad(self, set_to_none: Any = True) -> Any:
        for p in self.parameters():
            p.grad = None

    def requires_grad_(self, on: Any = True) -> Any:
        for p in self.parameters():
            p.requires_grad = on
        return self

    def apply(self, f: Any) -> Any:
        for m in self.modules():
            f(m)
        return self

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        lines = [f"({n}): " + repr(m).replace("\n", "\n  ") for n, m in self._own(Module)]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"
