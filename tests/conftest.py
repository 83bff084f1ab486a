"""Shared by all tests."""

import os
import tempfile

# The tensors here are tiny, and pytest runs in as many processes as there are cores: a second thread only waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Kernels that the tests start keep progress there, not among what the developer did.
os.environ.setdefault("QKV_STATE_DIR", os.path.join(tempfile.gettempdir(), "qkv-tests"))
