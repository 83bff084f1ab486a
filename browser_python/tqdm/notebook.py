"""As `tqdm` itself."""

from . import tqdm, trange

__all__ = ["tqdm", "trange"]
