"""What takes long: a thousand sessions, and graders killed at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from sandboxes import needs_sandbox

from proflab_course.grading.limits import MB, Limits
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [needs_sandbox, pytest.mark.soak]
CELL = "import numpy as np\nx = np.ones((200, 200)) @ np.ones((200, 200))\nprint(x.sum())"


@pytest.fixture(autouse=True)
def only_when_asked_for(request):
    if "soak" not in request.config.getoption("markexpr"):
        pytest.skip("`make soak` runs it")


def memory() -> int:
    """Bytes that this process and all below it take."""
    me = psutil.Process()
    total = me.memory_info().rss
    for child in me.children(recursive=True):
        try:
            total += child.memory_info().rss
        except psutil.Error:
            continue
    return total


def test_a_thousand_turns_take_no_more_memory_than_the_first_hundred():
    with SandboxRunner(Limits(), jobs=2) as runner, ThreadPoolExecutor(2) as pool:

        def one(number: int) -> str:
            return runner.run(Submission("x"), (RunCell(CELL),)).status

        assert set(pool.map(one, range(100))) == {"finished"}
        first, descriptors = memory(), len(os.listdir("/proc/self/fd"))
        assert set(pool.map(one, range(900))) == {"finished"}
        assert memory() < first + 100 * MB
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 8


GRADER = """
    from concurrent.futures import ThreadPoolExecutor
    from proflab_course.grading.limits import Limits
    from proflab_course.grading.plan import RunCell, Submission
    from proflab_course.grading.run.sandbox_runner import SandboxRunner
    print("begun", flush=True)
    runner = SandboxRunner(Limits(), jobs=2)
    code = "import os, time\\nos.fork()\\nif os.fork() == 0: os.setsid()\\ntime.sleep(0.05)"
    def one(number):
        runner.run(Submission("x"), (RunCell(code),))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(10**6)))
"""


def test_graders_killed_at_random_moments_leave_nothing():
    chance = random.Random(3)
    for _ in range(60):
        grader = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(GRADER)], stdout=subprocess.PIPE, text=True
        )
        assert grader.stdout.readline() == "begun\n"
        time.sleep(chance.uniform(0, 3))
        family = psutil.Process(grader.pid).children(recursive=True)
        grader.send_signal(signal.SIGKILL)
        grader.wait()
        grader.stdout.close()
        _, alive = psutil.wait_procs(family, timeout=60)
        assert alive == []
