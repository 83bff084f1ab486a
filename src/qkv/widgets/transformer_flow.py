"""TransformerFlow: one sentence through the whole trained tagger, stage by stage, with the shapes (chapter 8)."""

from qkv.widgets.base import Widget, choice, flag, whole

SENTENCES = [
    "the cat chased the mouse because it was hungry",
    "the cat chased the mouse because it was tasty",
    "I saw a saw",
]
PARTS = ["norm 1", "attention", "sum 1", "norm 2", "hidden", "sum 2"]
STAGES = ["embedding", *(f"{layer} {part}" for layer in (1, 2) for part in PARTS), "norm", "classes", "nouns"]


class TransformerFlow(Widget):
    """The tagger (qkv.models) as a flow from words to answers; each stage shows its numbers.

    Traits:
        sentence      one of three
        word          whose row is looked at, from 0; −1, or past the end, is *it*, or the last word
        stage         which table is shown: "embedding" (with positions), then for each of two blocks "1 norm 1",
                      "1 attention" (the weights), "1 sum 1", "1 norm 2", "1 hidden", "1 sum 2"; then "norm", "classes",
                      "nouns"
        residual      whether what comes in is added to what attention and the feed-forward network make of it
        norm          whether there are norms
        feed_forward  whether there are feed-forward networks
    """

    weights = ("tagger",)

    sentence = choice(SENTENCES[0], SENTENCES)
    word = whole(-1, -1, 10)
    stage = choice("2 attention", STAGES)
    residual = flag(True)
    norm = flag(True)
    feed_forward = flag(True)
