"""`xray`: which tokens reach each number of a program, and the first line that mixes tokens where none should mix."""

from qkv.xraying.finding import Found, xray

__all__ = ["Found", "xray"]
