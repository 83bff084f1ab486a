"""HeadMicroscope: four heads of the trained repeater on a text, and the effect of replacing one (chapter 9)."""

from qkv.widgets.base import Widget, choice, listed, text, whole

STEPS = [0, 100, 150, 200, 225, 250, 275, 300, 350, 400, 500, 700, 1000, 1500]
MODES = ["on", "zeros", "mean", "other text"]


class HeadMicroscope(Widget):
    """The repeater (qkv.models) on a text of symbols: the weights of each head, and the predicted next symbol.

    Traits:
        symbols   the text: at most 32 symbols, A to Z and 1 to 6; other characters are left out
        position  the position whose weights and prediction are shown, from 0; −1 or too large a number: the last
        head      the head whose weights are shown in detail: 0 and 1 are in layer 1, 2 and 3 are in layer 2
        modes     what replaces the output of each head: "on" (nothing), "zeros", "mean" (its mean output over 16
                  random texts), or "other text" (its output on a text with the next symbol of the alphabet each time)
        step      the training step whose weights are used; 1500 is the end of training
    """

    weights = ("repeater",)

    symbols = text("LPBMSJLPBMSJLPBM")
    position = whole(-1, -1, 31)
    head = choice(2, [0, 1, 2, 3])
    modes = listed(["on"] * 4, choice("on", MODES), [4])
    step = choice(STEPS[-1], STEPS)
