"""PositionExplorer: clock hands, and what a shift of the whole text leaves as it was (chapter 6)."""

from qkv.widgets.base import Widget, choice, flag, real, whole


class PositionExplorer(Widget):
    """A query and a key at two of 128 positions, their score, and how it follows distance and place.

    Traits:
        scheme    "sinusoidal" adds codes to the tokens, "rope" turns them, "alibi" lowers their scores
        query     where the query stands, 0 to 127
        key       where the key stands, 0 to 127
        together  whether moving one moves the other, as in a text that moves as a whole
        words     whether the two tokens have features of their own; without, only positions speak
        d         how many features a token has: two for each clock
        base      the base of the clocks' speeds, 10 to 1,000,000: ω_i = base^(−2i/d)
        head      which of ALiBi's eight heads is drawn, 1 to 8
    """

    scheme = choice("sinusoidal", ["sinusoidal", "rope", "alibi"])
    query = whole(6, 0, 127)
    key = whole(1, 0, 127)
    together = flag(True)
    words = flag(False)
    d = choice(16, [4, 8, 16, 32, 64, 128])
    base = real(10_000, 10, 1_000_000)
    head = whole(1, 1, 8)
