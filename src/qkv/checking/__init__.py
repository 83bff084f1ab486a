"""Check answers: `check` and `progress` for notebooks, and `examine`, through which every check goes."""

from qkv.checking.examining import Progress, Report, check, examine, progress

__all__ = ["Progress", "Report", "check", "examine", "progress"]
