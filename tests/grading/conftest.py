"""Shared by the tests of the grader."""

import pytest

from qkv.grading import sandbox


@pytest.fixture(scope="session")
def needs_sandbox() -> None:
    """The real sandbox. Where bubblewrap is missing this fails; where the system forbids it, it says so and skips."""
    why = sandbox.why_unavailable()
    if why and sandbox.FORBIDDEN in why:
        pytest.skip(why)
    if why:
        pytest.fail(f"These tests need a sandbox: {why}")
