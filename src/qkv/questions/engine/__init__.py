"""The names that question files import. The modules of this package:

    question    the parts of a question, with examples of every kind: read it first
    draw        random sizes, tensors and seeds for cases
    evidence    the observations of an answer and of the reference in all cases
    precision   how far a right answer may be from the reference
    comparing   the differences between two observations of one case
    matching    the search for the wrong idea whose twin behaves like the answer
    causes      the message and the cause of a difference that no twin explains
    diagnosing  how wrong values relate to the right ones
    in_model    how an answer takes the place of ours in a trained model
    wording     descriptions of values, shapes and steps for messages
    judging     the verdict on an answer

An answer itself runs only in `qkv.sandboxed`, which records observations as plain data.
"""

from qkv.questions.engine.draw import Draw
from qkv.questions.engine.in_model import InModel, in_each_layer
from qkv.questions.engine.question import Layer, Misconception, Question, Seen, by_knob, mistake
from qkv.sandboxed.cases import (
    Carried,
    Case,
    Provided,
    Seeded,
    call,
    call_carrying,
    call_many,
    length,
    load,
    make,
    method,
)
from qkv.sandboxed.hidden import Hidden, behind

__all__ = [
    "Carried",
    "Case",
    "Draw",
    "Hidden",
    "InModel",
    "Layer",
    "Misconception",
    "Provided",
    "Question",
    "Seeded",
    "Seen",
    "behind",
    "by_knob",
    "call",
    "call_carrying",
    "call_many",
    "in_each_layer",
    "length",
    "load",
    "make",
    "method",
    "mistake",
]
