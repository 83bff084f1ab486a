"""SequenceExplorer: text, speech, a graph and an image, each as the rows of a matrix (chapter 1)."""

from qkv.widgets.base import Widget, choice, flag, whole


class SequenceExplorer(Widget):
    """A text, sound, graph or image and its (n, d) matrix; the piece that the selected row encodes is highlighted.

    Traits:
        kind      "text", "speech", "graph" or "image"
        row       the selected row, from 0; if there are fewer rows, the last one is selected
        sentence  the number of the sentence, 0 to 2
        embedded  True if tokens are dense vectors, False if they are one-hot vectors
        tenths    the length of the speech in tenths of a second, 1 to 5
        molecule  the molecule of the graph: "water", "ethanol" or "acetic acid"
        patch     the side of an image patch in pixels: 1, 2, 4 or 8
    """

    kind = choice("text", ["text", "speech", "graph", "image"])
    row = whole(1, 0, 255)
    sentence = whole(0, 0, 2)
    embedded = flag(False)
    tenths = whole(3, 1, 5)
    molecule = choice("ethanol", ["water", "ethanol", "acetic acid"])
    patch = choice(4, [1, 2, 4, 8])
