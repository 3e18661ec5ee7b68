"""Tools that a lesson's cells import: the four test calls, doubles, hardware, plots."""

from proflab.checks.expect import expect, expect_between, expect_raises, expect_table
from proflab.lesson.run_all import install

__all__ = ["expect", "expect_between", "expect_raises", "expect_table"]

install()
