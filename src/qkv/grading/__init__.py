"""Grading notebooks: today a learner's own, on their own machine, with the checks that the notebook has."""
