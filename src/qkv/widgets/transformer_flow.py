"""TransformerFlow: the stages of the trained tagger on one sentence, with the shapes (chapter 8)."""

from qkv.widgets.base import Widget, choice, flag, whole

SENTENCES = [
    "the cat chased the mouse because it was hungry",
    "the cat chased the mouse because it was tasty",
    "I saw a saw",
]
PARTS = ["norm 1", "attention", "sum 1", "norm 2", "hidden", "sum 2"]
STAGES = ["embedding", *(f"{layer} {part}" for layer in (1, 2) for part in PARTS), "norm", "classes", "nouns"]


class TransformerFlow(Widget):
    """The stages of the tagger (qkv.models), from words to predictions, each with a table of its numbers.

    Traits:
        sentence      one of three sentences, listed in SENTENCES
        word          the word whose row is shown, from 0; −1 or too large a number: *it*, or the last word
        stage         the stage whose table is shown: "embedding" (with positions); in block 1 "1 norm 1", "1 attention"
                      (the weights), "1 sum 1", "1 norm 2", "1 hidden", "1 sum 2"; the same in block 2 with "2 …"; then
                      "norm", "classes", "nouns"
        residual      True if the inputs of attention and of the feed-forward network are added to their outputs
        norm          True if the model has its norms
        feed_forward  True if the model has its feed-forward networks
    """

    weights = ("tagger",)

    sentence = choice(SENTENCES[0], SENTENCES)
    word = whole(-1, -1, 10)
    stage = choice("2 attention", STAGES)
    residual = flag(True)
    norm = flag(True)
    feed_forward = flag(True)
