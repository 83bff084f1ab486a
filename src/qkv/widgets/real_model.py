"""RealModel: the heads of a pretrained encoder on any English sentence (chapter 9, deeper)."""

import json
from pathlib import Path

from qkv.widgets.base import Widget, binary, choice, flag, listed, real, text, whole
from qkv.widgets.head_atlas import ORDERS

_STORED = Path(__file__).with_name("real_model_stored.json")
_FIRST = "The animal did not cross the street because it was too tired."


def _stored() -> tuple[list[dict[str, list[str] | str]], bytes]:
    """Return sentences with their tokens, and their weights: (layers, heads, n, n) bytes each, where 255 is 1."""
    found = json.loads(_STORED.read_text(encoding="utf-8"))
    return found["sentences"], bytes.fromhex(found["weights"])


class RealModel(Widget):
    """The attention weights of all-MiniLM-L6-v2 (6 layers, 12 heads) on a sentence.

    On the course's site a reader can load the model into the page, and type a sentence. Elsewhere, and before that, the
    widget shows sentences whose weights are stored in it.

    Traits:
        sentence     the sentence; one that is not stored is shown once the model is loaded
        other        the sentence that it is compared with
        layer, head, token, matrix, contrast, order   as in HeadAtlas
        off          the heads that are switched off, each as [layer, head], from 0
        temperature  the temperature of every softmax, 0.1 to 10
        scaled       True if scores are divided by √d_k
        stored       the tokens of the stored sentences, each list after its sentence
        packed       their weights: (layers, heads, n, n) bytes each, where 255 is 1
    """

    sentence = text(_FIRST)
    other = text("A tired animal stayed on its side of the road.")
    layer = whole(3, 0, 5)
    head = whole(1, 0, 11)
    token = whole(9, -1, 63)
    matrix = flag(False)
    contrast = flag(False)
    order = choice("layer", ORDERS)
    off = listed([], listed([0, 0], whole(0, 0, 11), [2]))
    temperature = real(1, 0.1, 10)
    scaled = flag(True)
    stored = listed([], listed([], text("")))
    packed = binary(b"")
    for each in (stored, packed):
        each.tag(author=True)
    del each

    def __init__(self, **values: object) -> None:
        sentences, weights = _stored()
        lists = [[each["sentence"], *each["tokens"]] for each in sentences]
        super().__init__(**{"stored": lists, "packed": weights, **values})
