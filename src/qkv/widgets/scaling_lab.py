"""ScalingLab: why scores are divided by √d_k (chapter 3)."""

from qkv.widgets.base import Widget, choice, flag, whole


class ScalingLab(Widget):
    """Scores of random queries and keys, their softmax, and what is left of its gradient, against d_k.

    Drawn are 16 sequences of 16 tokens, with independent standard normal queries and keys. Setting `d_k` uses the
    first d_k features of each, so that a larger d_k adds features to the same vectors.

    Traits:
        d_k     how many features a query and a key have: a power of two from 1 to 1024
        scaled  whether the scores are divided by √d_k before the softmax
        seed    which sample is drawn
    """

    d_k = choice(256, [2**i for i in range(11)])
    scaled = flag(False)
    seed = whole(76, 0, 2**32 - 1)  # here the query that is shown makes the point, and every std is close
