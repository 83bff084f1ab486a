"""TrainLab: a model that is trained in the page, as a whole or with one part left out (first page, chapters 1 to 9)."""

from qkv.widgets.base import Widget, choice, flag, listed, text, whole

HANDLES = ["residual", "scaled", "positions", "norm", "feed_forward", "mask", "warm_up"]
HANDLES += ["layers", "heads", "rate", "rule", "sentences", "language", "sees"]
SEES = ["alone", "window", "attention", "attention, positions"]


class TrainLab(Widget):
    """A small model that starts with random weights and learns while the reader watches, in a few seconds.

    The tagger learns which noun *it* stands for, the repeater how a sequence goes on that repeats. They are trained as
    with TAGGER_ON_THE_PAGE and REPEATER_ON_THE_PAGE of `qkv.models.training`. The labeller is one of the four taggers
    of chapter 1: it learns whether *saw* is a verb or a noun.

    Traits:
        task            "tagger", "repeater" or "labeller"
        scaled          True if scores are divided by √d_k
        positions       True if position vectors are added
        residual        True if each part adds to the residual stream
        norm            True if a norm comes before each part
        feed_forward    True if the tagger has feed-forward networks
        mask_forgotten  True if the repeater is trained without its causal mask
        warm_up         True if the learning rate rises at first
        layers          the number of layers: 1 or 2
        heads           the number of heads in a layer: 1, 2 or 4
        rate            the learning rate, as a factor of the usual one: 0.1, 0.3, 1, 3 or 10
        language        "english" or "chinese"
        sentences       the number of sentences that the tagger is trained on: 50, 200, 1,000, 5,000 or 20,000
        rule            the adjectives that are turned round: "hungry" after every verb, "chased hungry" after one
        sees            what a word sees in the labeller: "alone", "window", "attention" or "attention, positions"
        seed            the seed of the next training
        handles         the settings that the reader can change; the values of the first one stand beside the curves
        stored          the names of stored trainings that are shown at first
    """

    weights = ("training-runs-{task}",)

    task = choice("tagger", ["tagger", "repeater", "labeller"])
    scaled = flag(True)
    positions = flag(True)
    residual = flag(True)
    norm = flag(True)
    feed_forward = flag(True)
    mask_forgotten = flag(False)
    warm_up = flag(True)
    layers = choice(2, [1, 2])
    heads = choice(2, [1, 2, 4])
    rate = choice(1, [0.1, 0.3, 1, 3, 10])
    language = choice("english", ["english", "chinese"])
    sentences = choice(20_000, [50, 200, 1000, 5000, 20_000])
    rule = listed([], text(""))
    sees = choice("attention, positions", SEES)
    seed = whole(1, 0, 1_000_000)
    handles = listed(HANDLES, choice("scaled", HANDLES))
    stored = listed(["as it is"], text(""))
    for _trait in (task, handles, stored):
        _trait.tag(author=True)
