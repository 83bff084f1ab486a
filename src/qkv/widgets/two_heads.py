"""TwoHeads: a task that one head cannot do, and two heads can (chapter 5)."""

from qkv.widgets.base import Widget, choice, listed, whole


class TwoHeads(Widget):
    """Two trained layers, one with one head and one with two, that say by how much four prices changed yesterday.

    The answer on day i is the price on day i − 1 minus the price on day i − 2. Both layers have as many parameters, and
    were trained on this task (benchmarks/two_heads.py). They read (price − 5) / 2.5. The three other
    prices stand still at 5, and so is the last day's, which is not known yet.

    Traits:
        heads   the number of heads of the layer that is shown: 1 or 2
        prices  the prices on the five days before the last, whole numbers from 1 to 9
    """

    heads = choice(1, [1, 2])
    prices = listed([2, 4, 8, 3, 7], whole(5, 1, 9), [5])
