"""Answers after public code and forum questions, labelled from the question's statement alone.

An answer is in the style of the source that its label names, written anew and adapted to the question's signature.
The chapters' modules came first, then `more`, `unseen`, `carried` and the `frozen` ones: no check had been tried on
an answer of a module when its labels were frozen. A check that disagrees with a label is wrong, or the disagreement is
listed with its reason in `test_corpus.py`.
"""
