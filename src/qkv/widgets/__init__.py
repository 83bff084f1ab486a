"""Live widgets: `from qkv.widgets import ScalingLab`. Each family of files in this folder is one, found by its name."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_STEMS = sorted(path.stem for path in Path(__file__).parent.glob("*.css") if path.stem != "base")


def __getattr__(name: str) -> Any:
    """Import a widget when it is asked for: ScalingLab from scaling_lab.py, QKVStepper from qkv_stepper.py."""
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    if stem in _STEMS and name != stem:
        return getattr(import_module(f"{__name__}.{stem}"), name)
    raise AttributeError(f"there is no widget {name!r}; the modules of {__name__} are {', '.join(_STEMS)}")
