"""Live widgets: `from qkv.widgets import ScalingLab`. The files of a widget in this folder are found by their names."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_STEMS = sorted(path.stem for path in Path(__file__).parent.glob("*.css") if path.stem != "base")


def __getattr__(name: str) -> Any:
    """Import a widget at its first use: ScalingLab from scaling_lab.py, QKVStepper from qkv_stepper.py."""
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    if stem in _STEMS and name != stem:
        return getattr(import_module(f"{__name__}.{stem}"), name)
    raise AttributeError(f"there is no widget {name!r}; the modules of {__name__} are {', '.join(_STEMS)}")
