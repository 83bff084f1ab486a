"""Fixtures of the grader's tests."""

import pytest

from qkv.grading import sandbox


@pytest.fixture(scope="session")
def needs_sandbox() -> None:
    """Require the sandbox: fail if bubblewrap is missing, and skip the tests if the system forbids sandboxes."""
    why = sandbox.why_unavailable()
    if why and why.startswith(sandbox.FORBIDDEN.format(why="")):
        pytest.skip(why)
    if why:
        pytest.fail(f"These tests need a sandbox: {why}")
