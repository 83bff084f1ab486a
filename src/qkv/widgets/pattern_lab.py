"""PatternLab: patterns of keys that each query may see, their cost, and their reach over layers (chapter 10)."""

from qkv.widgets.base import Widget, choice, flag, whole

N = 32  # words of the text
PATTERNS = ["full", "window", "window and global", "dilated", "strided"]


class PatternLab(Widget):
    """The cone below a token: the words that it depends on after some layers, in a pattern of attention, and the cost.

    Traits:
        pattern  "full", "window", "window and global" (the first two tokens see all and are seen by all), "dilated"
                 (every third token) or "strided" (also every token whose distance is a multiple of the window)
        window   the number of tokens in the window on each side, the token itself included: 1 to 16
        causal   True if a token sees only itself and the tokens before it
        layers   the number of layers: 1 to 6
        token    the number of the token on top, whose cone is drawn: 1 to 32; token 30 is *it*
    """

    pattern = choice("window", PATTERNS)
    window = whole(4, 1, 16)
    causal = flag(True)
    layers = whole(4, 1, 6)
    token = whole(30, 1, N)
