"""PositionExplorer: position encodings as clock hands, and how a shift of the text affects the score (chapter 6)."""

from qkv.widgets.base import Widget, choice, flag, real, whole


class PositionExplorer(Widget):
    """A query and a key at two of 128 positions, and their score as a function of distance and position.

    Traits:
        scheme    "sinusoidal" adds encodings to the tokens, "rope" rotates q and k, "alibi" lowers the scores
        query     the position of the query, 0 to 127
        key       the position of the key, 0 to 127
        together  True if moving one of the two moves the other too, as when the whole text is shifted
        words     True if the two tokens have features of their own; if False, the score depends on positions only
        d         the number of features of a token, two for each clock: 4, 8, 16, 32, 64 or 128
        base      the base of the angular frequencies ω_i = base^(−2i/d), 10 to 1,000,000
        head      the number of the ALiBi head that is drawn, 1 to 8
    """

    scheme = choice("sinusoidal", ["sinusoidal", "rope", "alibi"])
    query = whole(6, 0, 127)
    key = whole(1, 0, 127)
    together = flag(True)
    words = flag(False)
    d = choice(16, [4, 8, 16, 32, 64, 128])
    base = real(10_000, 10, 1_000_000)
    head = whole(1, 1, 8)
