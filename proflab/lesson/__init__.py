"""Tools that a lesson's cells import: the three test calls, doubles, hardware, plots."""

from proflab.checks.expect import expect, expect_between, expect_raises
from proflab.lesson.run_all import install

__all__ = ["expect", "expect_between", "expect_raises"]

install()
