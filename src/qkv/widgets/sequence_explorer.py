"""SequenceExplorer: text, speech, a graph and an image, each as the rows of one matrix (chapter 1)."""

from qkv.widgets.base import Widget, choice, flag, whole


class SequenceExplorer(Widget):
    """An object beside its (n, d) matrix; a row of the matrix lights up the piece that it came from.

    Traits:
        kind      text, speech, graph or image
        row       which row is looked at, from 0; past the end it is the last
        sentence  which of three sentences, from 0
        embedded  whether tokens are dense vectors; one-hot otherwise
        tenths    tenths of a second of speech, 1 to 5
        molecule  water, ethanol or acetic acid
        patch     pixels on the side of an image's patch: 1, 2, 4 or 8
    """

    kind = choice("text", ["text", "speech", "graph", "image"])
    row = whole(1, 0, 255)
    sentence = whole(0, 0, 2)
    embedded = flag(False)
    tenths = whole(3, 1, 5)
    molecule = choice("ethanol", ["water", "ethanol", "acetic acid"])
    patch = choice(4, [1, 2, 4, 8])
