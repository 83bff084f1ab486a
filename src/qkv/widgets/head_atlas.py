"""HeadAtlas: the attention weights of all heads of a model on a text. `qkv.look` makes it."""

from array import array

from qkv.widgets.base import Widget, binary, choice, flag, listed, real, records, text, whole

ORDERS = ["layer", "previous", "next", "same", "first", "separator", "induction", "uniform"]
WORDS = ["the", "cat", "saw", "it"]


def _example() -> bytes:
    """Return the weights of two heads on four words, packed as integers of 16 bits from 0 to 65535.

    One head looks at the word before, the other at the word itself and all before it, equally.
    """
    before = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    mean = [[1 / (i + 1) if j <= i else 0 for j in range(4)] for i in range(4)]
    return array("H", [round(65535 * weight) for head in (before, mean) for row in head for weight in row]).tobytes()


class HeadAtlas(Widget):
    """All heads of a model at a glance, one large, what each of them does, and what is lost without some of them.

    Traits:
        title     what the widget shows, for the page that it is saved as
        untrained True if the model's weights are random: then the first line says so
        words     the tokens: of the text, and of the decoder's own text, if there is one
        parts     the parts of the model: ["self"], or ["encoder", "decoder", "cross"]
        shapes    the shape of each part's weights: layers, heads, queries, keys
        packed    the weights of all parts, as numbers of 16 bits (65,535 is 1) in the machine's order
        scores    for each part the scores of its heads, a list for each of `ORDERS` but the first; or none
        switches  True if heads can be switched off
        effects   what was measured with heads switched off, as `qkv.look` writes it
        part, layer, head  the head that is shown large, from 0
        token     the query whose weights are shown, from 0; −1: the last
        matrix    True if the large map has names at both sides, in place of the list of tokens beside it
        contrast  True if the colours show each row divided by its largest weight; numbers stay as they are
        order     "layer", or the score by which the heads are ordered
        off       the heads that are switched off, each as [part, layer, head]
    """

    title = text("Attention weights")
    untrained = flag(False)
    words = listed([WORDS], listed([], text("")))
    parts = listed(["self"], choice("self", ["self", "encoder", "decoder", "cross"]))
    shapes = listed([[1, 2, 4, 4]], listed([1, 1, 1, 1], whole(1, 1, 100_000), [4]))
    packed = binary(_example())
    scores = listed(
        [[[1, 0.52], [0, 0], [0, 0.36], [0.33, 0.36], [0, 0], [0, 0], [0, 1]]], listed([], listed([], real(0)))
    )
    switches = flag(False)
    effects = records([])
    part = whole(0, 0, 2)
    layer = whole(0, 0, 1000)
    head = whole(0, 0, 1000)
    token = whole(-1, -1, 100_000)
    matrix = flag(False)
    contrast = flag(False)
    order = choice("layer", ORDERS)
    off = listed([], listed([0, 0, 0], whole(0, 0, 1000), [3]))
    for each in (title, untrained, words, parts, shapes, packed, scores, switches, effects):
        each.tag(author=True)
    del each
