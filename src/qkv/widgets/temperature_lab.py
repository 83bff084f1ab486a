"""TemperatureLab: the effect of a temperature on one row of weights (chapter 4)."""

from typing import Any

import traitlets

from qkv.widgets.base import Widget, choice, listed, real, text

_TOKENS = ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"]
HANDLES = ["scores", "width", "draws"]
_SCORES = [-0.8, 1.9, 0.1, -0.9, 1.5, -0.4, 0.6, -0.6, 0.9]


class TemperatureLab(Widget):
    """The weights softmax(√d_k · scores / T) of one query as bars, beside a thermometer; all of them can be dragged.

    At d_k = 1 the scores are used as they are. A larger d_k makes them as large as those of a head with d_k features
    that does not divide by √d_k. Then T = √d_k gives the same weights as d_k = 1.

    Traits:
        scores       a score for each token, from −1000 to 1000
        tokens       the names of the tokens, one for each score
        temperature  T, from 0.05 to 10
        d_k          a power of two from 1 to 64
        handles      what the widget has besides: "scores", as bars of their own; "width", the switch of d_k; "draws",
                     buttons that draw words
    """

    scores = listed(_SCORES, real(0.0, -1000, 1000))
    tokens = listed(_TOKENS, text(""))
    temperature = real(1.0, 0.05, 10)
    d_k = choice(1, [2**i for i in range(7)])
    handles = listed([], choice("scores", HANDLES))
    handles.tag(author=True)

    def __init__(self, **values: Any) -> None:
        if "scores" in values and "tokens" not in values:
            values["tokens"] = [f"key {i}" for i in range(1, len(values["scores"]) + 1)]
        super().__init__(**values)
        if not len(self.scores) == len(self.tokens) >= 2:
            lengths = f"{len(self.scores)} scores and {len(self.tokens)} tokens"
            raise traitlets.TraitError(f"scores and tokens must be lists of the same length, at least 2; got {lengths}")
