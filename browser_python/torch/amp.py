"""Mixed precision, where it is switched off: without CUDA, torch disables it and warns."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from warnings import warn

from .dtypes import device
from .dtypes import dtype as Kind
from .missing import missing_getattr, refuse


class autocast:
    """A block of code, or a function, with mixed precision: for CUDA it is disabled, with torch's warning.

    Raises:
        NotImplementedError: it is enabled for the CPU or another device.
    """

    def __init__(
        self, device_type: str, dtype: Kind | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kind = device(device_type).type
        if enabled and kind != "cuda":
            refuse(f"`torch.autocast` for the device `{kind}`")
        if enabled:
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: it is disabled."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which runs as it is."""

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return called


class GradScaler:
    """A scaler of losses, which for CUDA is disabled, with torch's warning: it changes nothing.

    Raises:
        NotImplementedError: it is enabled for another device.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cuda":
            refuse(f"`torch.amp.GradScaler` for the device `{device}`")
        if enabled:
            warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )

    def is_enabled(self) -> bool:
        return False

    def scale(self, outputs: Any) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Do nothing: nothing was scaled."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Do nothing: there is no scale."""

    def get_scale(self) -> float:
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing: there is no state."""


__getattr__ = missing_getattr("torch.amp")
