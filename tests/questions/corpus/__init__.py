"""Answers after public code and forum questions, labelled from the question's statement alone.

Each module has the answers to the questions of one chapter, in the style of the source that its label names, written
anew and adapted to the question's signature. The labels are frozen: a check that disagrees with one is wrong, or the
disagreement is listed with its reason in `test_corpus.py`.
"""
