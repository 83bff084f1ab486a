"""CacheStepper: what a KV cache spares, token by token (chapter 7)."""

from qkv.widgets.base import Widget, choice, whole


class CacheStepper(Widget):
    """A model reads a prompt, writes six words, and reads a second prompt: with a cache, and without one.

    The text is "the cat chased the mouse because it was hungry". Step 1 runs the first three words at once, steps 2 to
    7 run one word each, and step 8 runs the second prompt, in which one word differs.

    Traits:
        step     1 to 8
        changed  which word of the second prompt differs: 1 to 9, or 0 for none
        model    whose multiply-adds and bytes are counted: "one layer", "GPT-2 small", "Llama 2 7B", "Llama 3 8B",
                 "Llama 3 70B" or "Falcon 7B"
        token    the token, far on in a conversation, whose cost is shown too: a power of two from 1 to 131072
    """

    step = whole(1, 1, 8)
    changed = whole(9, 0, 9)
    model = choice("one layer", ["one layer", "GPT-2 small", "Llama 2 7B", "Llama 3 8B", "Llama 3 70B", "Falcon 7B"])
    token = choice(8192, [2**i for i in range(18)])
