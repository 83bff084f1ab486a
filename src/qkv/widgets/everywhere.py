"""Everywhere: one head of attention without learned weights, on a picture, a sound and a graph (chapter 11)."""

from qkv.widgets.base import Widget, choice, flag, whole


class Everywhere(Widget):
    """Tokens of a picture, a sound or a graph, and the attention weights of one token.

    The query and the key of a token are the token itself after the norm of chapter 8, so a token attends to similar
    tokens. In a notebook: `Everywhere()`, or `Everywhere(kind="graph", token=2, near=True)`.

    Traits:
        kind   the kind of tokens: "picture" (64 patches), "sound" (34 frames) or "graph" (9 atoms)
        token  the token whose weights are shown, from 0; if there are fewer tokens, the last one is shown
        near   True if a token sees only near ones: touching patches, frames up to 30 ms away, bound atoms
    """

    kind = choice("picture", ["picture", "sound", "graph"])
    token = whole(10, 0, 63)
    near = flag(False)
