"""SentenceLab: a trained model on a sentence, and the words that each word attends to (first page)."""

from qkv.widgets.base import Widget, choice, flag, listed, real, text, whole

HANDLES = ["temperature", "scale", "positions", "heads", "layers"]


class SentenceLab(Widget):
    """A sentence whose words can be changed, with the predictions and attention weights of the tagger (qkv.models).

    Below the handles, the widget shows in how many of 100 new sentences the model finds the noun of *it*.

    Traits:
        sentence     the sentence, English or Chinese, in words that the model knows
        word         the word whose weights are shown, from 0; −1: *it*, or the last word if there is no *it*
        layer        the layer whose weights are shown: 1, 2 or "both" (the mean)
        head         the head whose weights are shown: 1, 2 or "both" (the mean)
        matrix       True if the weights of all words are shown as a matrix, in place of the arcs
        temperature  the temperature of every softmax, 0.01 to 1000
        scaled       True if scores are divided by √d_k
        positions    True if the position vectors are added
        heads        True for each head that is on: one list of two for each layer
        layers       True for each layer that is on
        handles      the settings that the reader can change: "temperature", "scale", "positions", "heads", "layers"
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
