"""Predict: a question to commit to before the cell that answers it (every chapter)."""

from collections.abc import Sequence
from string import ascii_uppercase

import traitlets

from qkv.widgets.base import Widget, choice, flag, listed, text


class Predict(Widget):
    """A prediction: choose an option, commit to it, then see why each option is right or wrong.

        Predict("How large is it?", [("About 1.", "That is one product."), ("About 32.", "√1024 = 32.")], answer="B")

    Texts may hold `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  what is asked
        options   pairs (what the reader may choose, why it is right or wrong)
        answer    the letter of the right option
        guess     the letter that the reader committed to; empty before that
        sure      whether the reader was sure of it
    """

    question = text("").tag(author=True)
    options = listed([], listed(["", ""], text(""), lengths=[2])).tag(author=True)
    answer = choice("A", ascii_uppercase).tag(author=True)
    guess = choice("", ["", *ascii_uppercase])
    sure = flag(False)

    def __init__(self, question: str, options: Sequence[tuple[str, str]], answer: str, **values: str) -> None:
        super().__init__(question=question, options=options, answer=answer, **values)

    @traitlets.validate("answer", "guess")
    def _names_an_option(self, proposal: traitlets.Bunch) -> str:
        letters = ascii_uppercase[: len(self.options)]
        if proposal.value and self.options and proposal.value not in letters:
            raise traitlets.TraitError(f"{proposal.trait.name} is one of {', '.join(letters)}; got {proposal.value!r}")
        return str(proposal.value)
