"""Predict: a multiple-choice question before the cell that answers it (every chapter)."""

from collections.abc import Sequence
from string import ascii_uppercase

import traitlets

from qkv.widgets.base import Widget, choice, flag, listed, text


class Predict(Widget):
    """A multiple-choice question: the reader commits to an option, and then sees why each option is right or wrong.

        Predict("How large is it?", [("About 1.", "That is one product."), ("About 32.", "√1024 = 32.")], answer="B")

    Texts may contain `code`, *emphasis*, and subscripts such as d_k.

    Traits:
        question  the text of the question
        options   pairs (text of an option, explanation why it is right or wrong)
        answer    the letter of the right option
        guess     the letter of the option that the reader committed to; empty before that
        sure      True if the reader was sure of the guess
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
        """Return the proposed value, or raise a TraitError if it is not the letter of an option.

        Empty is valid, and so is any value while there are no options.
        """
        letters = ascii_uppercase[: len(self.options)]
        if proposal.value and self.options and proposal.value not in letters:
            takes = f"one of {', '.join(letters)}"
            raise traitlets.TraitError(f"{proposal.trait.name} must be {takes}; got {proposal.value!r}")
        return str(proposal.value)
