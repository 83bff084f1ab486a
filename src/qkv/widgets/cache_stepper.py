"""CacheStepper: the work that a KV cache saves, token by token (chapter 7)."""

from qkv.widgets.base import Widget, choice, flag, whole


class CacheStepper(Widget):
    """A model that reads a prompt, writes six words, and reads a second prompt, with a KV cache and without one.

    The text is "the cat chased the mouse because it was hungry". Step 1 runs the first three words at once, steps 2 to
    7 run one word each, and step 8 runs the second prompt, in which one word differs.

    Traits:
        step     the step that is shown, 1 to 8
        changed  the number of the word that differs in the second prompt, 1 to 9; 0 for none
        cached   True if the rows are shown that are computed with a cache, False for those without one
        model    the model whose multiply-adds and bytes are counted: "one layer", "GPT-2 small", "Llama 2 7B",
                 "Llama 3 8B", "Llama 3 70B" or "Falcon 7B"
        token    the number of a later token whose cost is shown too: a power of two from 1 to 131072
    """

    step = whole(1, 1, 8)
    changed = whole(9, 0, 9)
    cached = flag(True)
    model = choice("one layer", ["one layer", "GPT-2 small", "Llama 2 7B", "Llama 3 8B", "Llama 3 70B", "Falcon 7B"])
    token = choice(8192, [2**i for i in range(18)])
