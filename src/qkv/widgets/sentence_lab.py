"""SentenceLab: a trained model reads a sentence, and shows which words each word looks at (first page)."""

from qkv.widgets.base import Widget, choice, flag, listed, real, text, whole

HANDLES = ["temperature", "scale", "positions", "heads", "layers"]


class SentenceLab(Widget):
    """A sentence whose words can be changed, and what the trained tagger (qkv.models) makes of it.

    Beside the handles stands in how many of 100 new sentences the model finds the noun of *it*.

    Traits:
        sentence     English or Chinese, in the words that the model knows
        word         the word whose weights are shown, from 0; −1 is *it*, or the last word where there is no *it*
        layer        whose weights are shown: 1, 2 or "both" (their mean)
        head         likewise
        matrix       whether the weights of all words are shown as a matrix
        temperature  of every softmax
        scaled       whether scores are divided by √d_k
        positions    whether the vectors of the positions are added
        heads        which heads are on: a list for each layer
        layers       which layers are on
        handles      which of the last five a reader can turn: "temperature", "scale", "positions", "heads", "layers"
    """

    weights = ("tagger",)

    sentence = text("the cat chased the mouse because it was hungry")
    word = whole(-1, -1, 10)
    layer = choice(2, [1, 2, "both"])
    head = choice("both", [1, 2, "both"])
    matrix = flag(False)
    temperature = real(1, 0.01, 1000)
    scaled = flag(True)
    positions = flag(True)
    heads = listed([[True, True], [True, True]], listed([True, True], flag(True), [2]), [2])
    layers = listed([True, True], flag(True), [2])
    handles = listed([], choice("temperature", HANDLES))
    handles.tag(author=True)
