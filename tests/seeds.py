"""The seed by which a run of the tests draws a few of many: that of the commit, or QKV_SEED."""

import os
import subprocess
from pathlib import Path


def commit() -> str:
    """Return the hash of the commit that is checked out; zeros outside a git repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "0" * 40


SEED = int(os.environ.get("QKV_SEED") or int(commit()[:8], 16))
