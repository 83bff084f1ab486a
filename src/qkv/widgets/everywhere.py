"""Everywhere: one head of attention, without learned weights, on a picture, a sound and a graph (chapter 11)."""

from qkv.widgets.base import Widget, choice, flag, real, whole


class Everywhere(Widget):
    """Tokens of three kinds, and the weights of the one that is grabbed; the arithmetic is the same for all of them.

    A token's query and key are the token itself, brought to one scale by chapter 8's norm: it looks at what is like it.
    In a notebook it stands alone in a cell: `Everywhere()`, or `Everywhere(kind="graph", token=2, near=True)`.

    Traits:
        kind         "picture" (64 patches), "sound" (34 frames) or "graph" (9 atoms)
        token        whose weights are shown, from 0; past the end it is the last
        near         whether a token sees only what is near: patches that touch, frames up to 30 ms away, bound atoms
        temperature  of the softmax
    """

    kind = choice("picture", ["picture", "sound", "graph"])
    token = whole(16, 0, 63)
    near = flag(False)
    temperature = real(1, 0.05, 20)
