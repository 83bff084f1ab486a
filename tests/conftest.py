"""Shared by all tests."""

import os

# The tensors here are tiny, and pytest runs in as many processes as there are cores: a second thread only waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")
