"""The sandbox from the grader's side: what enters it, what ends it, who may use it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from attack_modes import as_ordinary_user
from chosen import chosen
from sandboxes import needs_sandbox

from proflab_course.cases.reader import split
from proflab_course.course.layout import CourseError
from proflab_course.grading.limits import MB, Limits
from proflab_course.grading.plan import Result, RunBlock, RunCell, Submission
from proflab_course.grading.run import sandbox_runner as sandbox_module
from proflab_course.grading.run import zygote_client as warm
from proflab_course.grading.run.cgroups import Group
from proflab_course.grading.run.processes import ProcessTree
from proflab_course.grading.run.runners import SharedLock, run_fairly
from proflab_course.grading.run.sandbox_runner import SandboxRunner, make_runner

HERE = Submission("someone")
pytestmark = needs_sandbox


def text(result, item: int = 0) -> str:
    return "".join(o.get("text", "") for o in result.replies[item][0].outputs)


@pytest.fixture(scope="module")
def sandbox():
    with SandboxRunner(Limits(), jobs=2) as runner:
        yield runner


# ── what enters ──────────────────────────────────────────────────────────────────────────────

SECRETS = {
    "expected": "918273645", "float": "0.7264519", "bound": "5512.25", "tolerance": "0.00731",
    "label": "zebra", "mistake": "giraffe", "comment": "okapi", "exception": "ArithmeticError",
    "script": "31.4159", "later in the script": "27.1828", "look-up in a log": "model.calls",
}  # fmt: skip
LESSON_TEST = """
# okapi: think of 918273645
first = 3  # okapi
expect("zebra one", square(first), 918273645, mistakes={"giraffe": 12})
expect("zebra two", square(0.5), 0.7264519, rel=0.00731)
### BEGIN HIDDEN TESTS
second = 4444
expect_between("zebra three", square(second), 5512.25, 6000)  # okapi
expect_raises("zebra four", lambda: square(None), ArithmeticError)
clock = doubles.Clock(tick_ns=1)
model = doubles.Model(clock, ms=[31.4159, 27.1828])
expect("zebra five", clock.run(timed, model), 0.0314159, abs=1e-9)
expect("zebra six", model.calls, 1)
### END HIDDEN TESTS
"""


@pytest.fixture
def sent(monkeypatch):
    """Everything that the grader writes to any socket, and gives to any program, in order."""
    record: list[bytes] = []

    class Recorded(socket.socket):
        def send(self, data, *rest):
            record.append(bytes(data))
            return super().send(data, *rest)

        def sendall(self, data, *rest):
            record.append(bytes(data))
            return super().sendall(data, *rest)

        def sendmsg(self, buffers, *rest):
            record.extend(bytes(b) for b in buffers)
            return super().sendmsg(buffers, *rest)

    real_pair, real_popen = socket.socketpair, subprocess.Popen

    def pair(*arguments):
        return tuple(Recorded(fileno=end.detach()) for end in real_pair(*arguments))

    class Popen(real_popen):
        def __init__(self, arguments, **options):
            record.append(repr((arguments, options.get("env"))).encode())
            super().__init__(arguments, **options)

    monkeypatch.setattr(socket, "socketpair", pair)
    monkeypatch.setattr(subprocess, "Popen", Popen)
    return record


def test_no_expected_value_tolerance_label_or_later_case_enters(sent):
    cell = split(LESSON_TEST, "test_square", 10)
    blocks = [RunBlock(block.hidden, block.steps, block.doubles) for block in cell.blocks]
    student = """
import time
from proflab.lesson import doubles

def square(x):
    return x

def timed(model):
    start = time.perf_counter()
    model(0)
    return time.perf_counter() - start
"""
    with SandboxRunner(Limits()) as runner:
        result = runner.run(HERE, (RunCell(student), *blocks, RunCell("print('end')")))
    assert result.status == "finished"
    *_, measured, calls = result.replies[2]
    assert (round(measured.value, 9), calls.value) == (0.0314159, 1)
    everything = b"".join(sent)
    assert b"square(first)" in everything and b"square(second)" in everything  # it was recorded
    for kind, secret in SECRETS.items():
        assert secret.encode() not in everything, kind


def test_each_case_enters_once_and_the_hidden_ones_after_the_notebook(sent):
    cell = split(LESSON_TEST, "test_square", 10)
    blocks = [RunBlock(block.hidden, block.steps, block.doubles) for block in cell.blocks]
    with SandboxRunner(Limits()) as runner:
        runner.run(HERE, (RunCell("square = abs"), *blocks, RunCell("print('end')")))
    codes = [
        "square(first)",
        "square(0.5)",
        "print('end')",
        "4444",
        "square(second)",
        "square(None)",
    ]
    where = [[i for i, data in enumerate(sent) if code.encode() in data] for code in codes]
    assert all(len(places) == 1 for places in where), where
    assert where == sorted(where)


def test_the_environment_and_the_arguments_hold_nothing_of_the_graders(sent, monkeypatch):
    monkeypatch.setenv("COURSE_TOKEN", "hyena")
    with SandboxRunner(Limits()) as runner:
        code = "import os\nprint(dict(os.environ), open('/proc/1/cmdline').read())"
        result = runner.run(HERE, (RunCell(code),))
    assert "hyena" not in text(result)
    assert b"hyena" not in b"".join(sent)


# ── limits that only the sandbox has ─────────────────────────────────────────────────────────

TWO_HOGS = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        hoard = bytearray(b"x" * 100_000_000)
        time.sleep(1000)
time.sleep(1000)
"""


def test_polling_counts_the_memory_of_all_processes(monkeypatch):
    monkeypatch.setattr(Group, "make", classmethod(lambda cls, name: None))
    check_memory_is_limited()


def test_where_there_are_cgroups_the_kernel_does_too_and_it_is_noticed(monkeypatch):
    group = Group.make("probe")
    if group is None:
        pytest.skip("no memory cgroup can be had here")
    group.remove()
    monkeypatch.setattr(ProcessTree, "memory", lambda self, members, enough: 0)
    check_memory_is_limited()


def check_memory_is_limited() -> None:
    limits = Limits(memory=300 * MB, scratch=16 * MB)
    with SandboxRunner(limits) as runner:
        result = runner.run(HERE, (RunCell(TWO_HOGS), RunCell("print('next')")))
        again = runner.run(HERE, (RunCell("print('fine')"),))
    assert result.status == "out of memory"
    assert "300 MB" in result.sentence
    assert (again.status, text(again)) == ("finished", "fine\n")


def test_scratch_space_is_new_for_every_session_and_limited(sandbox):
    code = "import os, shutil\nprint(os.listdir('.'), shutil.disk_usage('.').total)\nopen('x', 'w')"
    for _ in range(3):
        listed = text(sandbox.run(HERE, (RunCell(code),)))
        assert listed == f"[] {Limits().scratch}\n"


def test_what_lessons_import_is_there_before_a_session_starts(sandbox):
    code = (
        "import sys; print(*({'psutil', 'cProfile', 'proflab.lesson.cuda.rows'} - {*sys.modules}))"
    )
    assert text(sandbox.run(HERE, (RunCell(code),))).strip() == ""


def test_what_the_machine_did_before_is_forgotten(sandbox):
    code = "import psutil; print(psutil._last_cpu_times, psutil._last_per_cpu_times)"
    assert text(sandbox.run(HERE, (RunCell(code),))).strip() == "{} {}"


def test_the_time_of_short_statements_is_no_whole_tick_or_none(sandbox):
    cells = tuple(RunCell("_ = sum(range(100_000))") for _ in range(20))
    seconds = [replies[0].seconds for replies in sandbox.run(HERE, cells).replies]
    assert all(0.0005 < each for each in seconds)


def test_products_take_one_thread_however_many_jobs_there_are():
    """Threads that wait for each other spin on a busy machine, and their time counts."""
    code = "import numpy as np, os\nprint((np.ones((300, 300)) @ np.ones((300, 300))).sum())"
    look = "print(os.environ['OPENBLAS_NUM_THREADS'])"
    with SandboxRunner(Limits(), jobs=1) as runner:
        result = runner.run(HERE, (RunCell(code), RunCell(look)))
    assert text(result) == "27000000.0\n"
    assert text(result, 1) == "1\n"


def test_each_slot_keeps_to_its_share_of_the_cores(monkeypatch):
    everything = os.sched_getaffinity(0)
    look = "import os\nprint(sorted(os.sched_getaffinity(0)))"
    with SandboxRunner(Limits(), jobs=len(everything)) as runner:
        shares = [runner.share(n) for n in range(runner.jobs)]
        assert sorted(core for share in shares for core in share) == sorted(everything)
        assert text(runner.run(HERE, (RunCell(look),))) == f"{shares[0]}\n"
    assert os.sched_getaffinity(0) == everything
    runner = SandboxRunner(Limits(), jobs=3 * len(everything))
    assert [len(runner.share(n)) for n in range(runner.jobs)] == [1] * runner.jobs
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6, 7, 9})
    runner = SandboxRunner(Limits(), jobs=2)
    assert [runner.share(0), runner.share(1)] == [[3, 6, 9], [5, 7]]


# ── sessions that run out of real time ──────────────────────────────────────────────────────────


def test_a_sleeper_is_not_tried_twice(monkeypatch):
    tries = []
    real = warm.ZygoteClient.run_session
    monkeypatch.setattr(
        warm.ZygoteClient, "run_session", lambda self, *a: tries.append(1) or real(self, *a)
    )
    with SandboxRunner(Limits(cell_seconds=0.5, wall_factor=1.0)) as runner:
        result = runner.run(HERE, (RunCell("import time\ntime.sleep(1000)"),))
    assert (result.status, result.hit_wall) == ("timed out", False)
    assert "0.5 seconds" in result.sentence
    assert len(tries) == 1


def test_the_second_try_is_alone_and_counts():
    lock, log, factors = SharedLock(), [], []

    def busy(allowance):
        log.append("in")
        time.sleep(0.05)
        log.append("out")
        return Result()

    results = iter([Result("timed out", "slow", hit_wall=True), Result()])

    def unlucky(allowance):
        log.append("in")
        factors.append((allowance.limits.wall_factor, allowance.alone))
        result = next(results)
        log.append("out")
        return result

    with ThreadPoolExecutor(4) as pool:
        others = [pool.submit(run_fairly, lock, (), Limits(), busy) for _ in range(6)]
        mine = pool.submit(run_fairly, lock, (), Limits(), unlucky)
        assert mine.result(60).status == "finished"
        assert all(other.result(60).status == "finished" for other in others)
    assert log.count("in") == log.count("out") == 8
    assert factors == [(10.0, False), (2.0, True)]  # others wait no longer than twice its limit


# ── slots and zygotes ────────────────────────────────────────────────────────────────────────


def test_as_many_threads_as_jobs_and_more_may_call_at_once(sandbox):
    def one(number: int) -> str:
        return text(sandbox.run(HERE, (RunCell(f"print({number} ** 2)"),)))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(24))) == [f"{n * n}\n" for n in range(24)]


def test_a_zygote_outlives_the_thread_that_first_called(sandbox):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sandbox.run, HERE, (RunCell("1"),)).result()
    before = sandbox._slots.queue[-1].zygote()
    assert sandbox.run(HERE, (RunCell("2"),)).status == "finished"
    assert sandbox._slots.queue[-1].zygote() is before


def test_a_zygote_is_replaced_when_worn_or_dead():
    with SandboxRunner(Limits()) as runner:
        runner.run(HERE, (RunCell("1"),))
        slot = runner._slots.queue[-1]
        first = slot.zygote()
        first.process.kill()
        assert runner.run(HERE, (RunCell("print(2)"),)).status == "finished"
        second = slot.zygote()
        assert second is not first
        second.sessions = warm.MAX_SESSIONS - 1
        runner.run(HERE, (RunCell("3"),))
        assert not slot.zygotes


def test_a_session_whose_zygote_is_ended_from_outside_is_repeated():
    with SandboxRunner(Limits()) as runner:
        runner.run(HERE, (RunCell("1"),))
        first = runner._slots.queue[-1].zygote()
        kill = threading.Timer(0.3, first.process.kill)
        kill.start()
        result = runner.run(HERE, (RunCell("import time\ntime.sleep(1)\nprint(2)"),))
        kill.join()
        assert (result.status, text(result)) == ("finished", "2\n")
        assert runner._slots.queue[-1].zygote() is not first


@pytest.mark.whole
def test_where_namespaces_cannot_be_nested_each_session_gets_its_own_bubblewrap():
    look = "import os\nprint(os.listdir('.'), os.path.exists('/tmp/note'))\nopen('/tmp/note', 'w')"
    with SandboxRunner(Limits(), nested=False) as runner:
        for _ in range(2):
            result = runner.run(HERE, (RunCell(look), RunCell("open('x', 'w')")))
            assert (result.status, text(result)) == ("finished", "[] False\n")
            assert not runner._slots.queue[-1].zygotes


@pytest.mark.whole
@pytest.mark.parametrize("before", ["", "# import matplotlib.pyplot\n"])
def test_figures_are_drawn_whether_or_not_pyplot_was_warm(before):
    draw = (
        "import importlib\nplt = importlib.import_module('matplot' + 'lib.py' + 'plot')\n"
        "plt.plot([1, 2])\nplt.show()"
    )
    look = f"{before}import sys\nprint('matplot' + 'lib' in sys.modules)"
    with SandboxRunner(Limits()) as runner:
        result = runner.run(HERE, (RunCell(look), RunCell(draw)))
        assert [*runner._slots.queue[-1].zygotes] == [bool(before)]
    assert text(result) == f"{bool(before)}\n"
    assert "image/png" in result.replies[1][0].outputs[-1]["data"]


GRADER = """
    import sys, time
    from proflab_course.grading.limits import Limits
    from proflab_course.grading.plan import RunCell, Submission
    from proflab_course.grading.run.sandbox_runner import SandboxRunner
    runner = SandboxRunner(Limits())
    runner.warm()
    print("warm", flush=True)
    code = "import os, time\\nos.fork()\\nif os.fork() == 0: os.setsid()\\ntime.sleep(1000)"
    runner.run(Submission("x"), (RunCell(code),))
"""


@pytest.mark.parametrize("delay", chosen([0.0, 0.005, 0.02, 0.3], {0.0, 0.3}))
def test_a_killed_grader_leaves_no_process_behind(delay):
    grader = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(GRADER)], stdout=subprocess.PIPE, text=True
    )
    assert grader.stdout.readline() == "warm\n"
    time.sleep(delay)
    family = psutil.Process(grader.pid).children(recursive=True)
    assert family
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    grader.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []


# ── whose machine it is ──────────────────────────────────────────────────────────────────────


def test_without_bubblewrap_grading_refuses_and_says_what_to_do(monkeypatch):
    monkeypatch.setattr(sandbox_module, "find_bubblewrap", lambda: None)
    with pytest.raises(CourseError, match="apt install bubblewrap.*--no-sandbox"):
        make_runner("auto")


def test_where_the_sandbox_does_not_start_grading_refuses_and_names_doctor(monkeypatch):
    monkeypatch.setattr(warm, "find_bubblewrap", lambda: "/bin/false")
    with pytest.raises(CourseError, match="proflab doctor.*--no-sandbox"):
        make_runner("auto")


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to become someone else")
def test_an_ordinary_user_has_the_same_sandbox(tmp_path):
    code = """
        import os
        from proflab_course.grading.plan import RunCell, Submission
        from proflab_course.grading.run.sandbox_runner import make_runner
        assert os.getuid() == 12345
        runner = make_runner("auto")
        look = "print(os.getuid(), [p for p in os.listdir('/proc') if p.isdigit()])"
        cell = RunCell(f"import os\\n{look}")
        result = runner.run(Submission("x"), (cell,))
        print(runner.nested, result.status, result.replies[0][0].outputs[0]["text"])
    """
    done = as_ordinary_user(["-c", textwrap.dedent(code)], tmp_path)
    assert done.stdout.split("\n")[0] == "True finished 1000 ['1', '2']", done.stderr
