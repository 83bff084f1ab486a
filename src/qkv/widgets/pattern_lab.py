"""PatternLab: patterns of keys that each query may see, their cost, and their reach over layers (chapter 10)."""

from qkv.widgets.base import Widget, choice, flag, whole

N = 32
PATTERNS = ["full", "window", "window and global", "dilated", "strided"]


class PatternLab(Widget):
    """A pattern of attention on 32 tokens: its mask, its pairs, its errors, and the tokens in reach after some layers.

    Traits:
        pattern  "full", "window", "window and global" (the first two tokens see all and are seen by all), "dilated"
                 (every third token) or "strided" (also every token whose distance is a multiple of the window)
        window   the number of tokens in the window on each side, the token itself included: 1 to 16
        causal   True if a token sees only itself and the tokens before it
        layers   the number of layers: 1 to 6
        token    the number of the token whose reach is shown: 1 to 32
    """

    pattern = choice("window", PATTERNS)
    window = whole(4, 1, 16)
    causal = flag(True)
    layers = whole(1, 1, 6)
    token = whole(N, 1, N)
