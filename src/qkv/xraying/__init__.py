"""`xray`: which tokens reach each number of a program, and the first line that mixes tokens where none should mix."""

from qkv.xraying.finding import Found, Step, xray

__all__ = ["Found", "Step", "xray"]
