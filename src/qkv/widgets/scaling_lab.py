"""ScalingLab: why scores are divided by √d_k (chapter 3)."""

from qkv.widgets.base import Widget, choice, flag, whole


class ScalingLab(Widget):
    """Scores of random queries and keys, their softmax, and the size of the softmax's gradient, as functions of d_k.

    The data are 16 sequences of 16 tokens, with independent standard normal queries and keys. `d_k` selects the first
    d_k features of each vector, so a larger d_k adds features to the same vectors.

    Traits:
        d_k     the number of features of a query and a key: a power of two from 1 to 1024
        scaled  True if the scores are divided by √d_k before the softmax
        seed    the seed of the random numbers
    """

    d_k = choice(256, [2**i for i in range(11)])
    scaled = flag(False)
    seed = whole(76, 0, 2**32 - 1)  # a sample that shows the effect, with typical standard deviations
