"""Which tests need the sandbox, and what happens where there is none.

They fail where bubblewrap is missing: isolation that is not tested is not there. On a machine where
it cannot be had, PROFLAB_NO_SANDBOX_TESTS=1 skips them.
"""

import os

import pytest

needs_sandbox = pytest.mark.skipif(
    os.environ.get("PROFLAB_NO_SANDBOX_TESTS") == "1",
    reason="PROFLAB_NO_SANDBOX_TESTS=1: the sandbox is not tested here",
)
