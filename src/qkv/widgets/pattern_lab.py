"""PatternLab: which keys each query may see, what that costs, and how far it reaches through layers (chapter 10)."""

from qkv.widgets.base import Widget, choice, flag, whole

N = 32
PATTERNS = ["full", "window", "window and global", "dilated", "strided"]


class PatternLab(Widget):
    """A pattern of attention on 32 tokens: its picture, its pairs, its errors, and who knows of whom after some layers.

    Traits:
        pattern  "full", "window", "window and global" (the first two tokens see all and are seen by all), "dilated"
                 (every third token) or "strided" (also every token whose distance is a multiple of the window)
        window   how many tokens a window holds to either side, the token itself included: 1 to 16
        causal   whether a token sees only itself and those before it
        layers   how many layers stand on top of each other: 1 to 6
        token    whose row is followed: 1 to 32
    """

    pattern = choice("window", PATTERNS)
    window = whole(4, 1, 16)
    causal = flag(True)
    layers = whole(1, 1, 6)
    token = whole(N, 1, N)
