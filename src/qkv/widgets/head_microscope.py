"""HeadMicroscope: four heads of the trained repeater on a text, and what changes when one is replaced (chapter 9)."""

from qkv.widgets.base import Widget, choice, listed, text, whole

STEPS = [0, 100, 150, 200, 225, 250, 275, 300, 350, 400, 500, 700, 1000, 1500]
MODES = ["on", "zeros", "mean", "other text"]


class HeadMicroscope(Widget):
    """The repeater (qkv.models) on a text of symbols: a map for each head, and what it predicts next.

    Traits:
        symbols   the text: A to Z and 1 to 6, at most 32 of them; other characters are left out
        position  whose weights and whose prediction are shown, from 0; −1, or past the end, is the last
        head      which head is looked at: 0 and 1 are those of layer 1, 2 and 3 those of layer 2
        modes     what each head hands on: its output ("on"), "zeros", its "mean" output over 16 random texts, or its
                  output on the "other text", in which each symbol is the next of the alphabet
        step      after how many steps of its training the repeater is shown; 1500 is the trained one
    """

    weights = ("repeater",)

    symbols = text("LPBMSJLPBMSJLPBM")
    position = whole(-1, -1, 31)
    head = choice(2, [0, 1, 2, 3])
    modes = listed(["on"] * 4, choice("on", MODES), [4])
    step = choice(STEPS[-1], STEPS)
