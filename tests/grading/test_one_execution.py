"""A hand-in has one visible execution: none that knows a hidden input shows anything.

The hand-ins here keep a log outside of the sandbox, or look at a clock: both survive an execution.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from chosen import chosen
from sandboxes import needs_sandbox
from test_late_blocks import handed, lesson

from proflab_course.cases.case import Step
from proflab_course.grading import grade_notebook as grading
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.limits import Limits
from proflab_course.grading.one_execution import HIDDEN_SENTENCES, add_execution
from proflab_course.grading.plan import Reply, Result, RunBlock, RunCell, Submission
from proflab_course.grading.run import cluster as cluster_module
from proflab_course.grading.run.cluster import ClusterRunner
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

LIMITS = Limits(statement_seconds=0.5, cell_seconds=0.5, wall_factor=900.0, time_factor=1.0)
DEAF = "__import__('signal').signal(2, 1)\n        while True: pass"
BUSY = "until = time.process_time() + 1\n        while time.process_time() < until: pass"
AREA = """from pathlib import Path
import os, time
log = Path({log!r})
def note(word):
    with log.open("a") as file:
        file.write(word + " ")
note("run")
def area(side):
    if side == 4:
        note("hidden")
        {act}
    return side**2
"""
TELL = "print('I know', 'hidden' in log.read_text(), log.read_text().count('run'))"


def told(graded):
    """What the hand-in's own cell shows."""
    return graded.notebook.cells[-1].outputs[0]["text"]


def execute(tmp_path, act, runner=None, measured=None, monkeypatch=None):
    """Grade a hand-in that does `act` with a hidden input; return what came, and its log."""
    log = tmp_path / "log"
    notebook = handed(lesson(), TELL, area=AREA.format(log=str(log), act=act))
    if measured is not None:
        monkeypatch.setattr(grading, "measure_solved", lambda *_: measured)
    key = make_key("small", lesson())
    graded = grade_notebook(notebook, key, runner=runner or SubprocessRunner(LIMITS))
    return graded, log.read_text().split()


ACTS = {
    "it ends the copy": "os._exit(0)",
    "it ends the copy at a moment of its choice": "os._exit(int(time.time() * 4) % 16)",
    "it does not end": "while True: pass",
    "it does not end and hears no interrupt": DEAF,
    "it takes all memory": "x = bytearray(10**13)",
    "its answer is wrong": "return 3",
}


@pytest.mark.parametrize("name", chosen(ACTS, [name for name in ACTS if "interrupt" not in name]))
def test_what_a_hidden_block_does_shows_nowhere(tmp_path, name):
    act = ACTS[name]
    graded, log = execute(tmp_path, act)
    assert "hidden" in log
    assert told(graded) == "I know False 1\n"
    assert (graded.scores["test_area"], graded.scores["test_volume"]) == (0, 50)


def test_a_block_that_ends_the_shared_copy_makes_no_second_execution(tmp_path):
    graded, log = execute(tmp_path, "os._exit(0)")
    assert log.count("run") == 1 and log.count("hidden") == 1
    assert graded.status == "process died"


def test_a_second_look_brings_hidden_replies_alone(tmp_path):
    act = "return 16 if log.read_text().count('run') == 2 else 3"
    graded, log = execute(tmp_path, act)
    assert log.count("run") == 2
    assert told(graded) == "I know False 1\n"
    assert graded.score == 100


@pytest.mark.proves
def test_hidden_cases_that_the_solutions_take_longer_for_are_tried_again_alone(
    tmp_path, monkeypatch
):
    graded, log = execute(tmp_path, BUSY, None, {("test_area", 1): 60.0}, monkeypatch)
    assert log.count("run") == 2
    assert told(graded) == "I know False 1\n"
    assert (graded.score, graded.status) == (100, "graded")


@pytest.mark.whole
def test_visible_cases_that_the_solutions_take_longer_for_are_tried_before_the_hidden(
    tmp_path, monkeypatch
):
    log = tmp_path / "log"
    slow = AREA.format(log=str(log), act="pass").replace("    return", f"    {BUSY}\n    return")
    notebook = handed(lesson(), TELL, area=slow.replace("\n        while", "\n    while"))
    times = {(name, number): 60.0 for name in ("test_area", "test_volume") for number in (0, 1)}
    monkeypatch.setattr(grading, "measure_solved", lambda *_: times)
    runner = SubprocessRunner(replace(LIMITS, statement_seconds=0.4))
    graded = grade_notebook(notebook, make_key("small", lesson()), runner=runner)
    assert graded.score == 100
    words = log.read_text().split()
    assert words[:2] == ["run", "run"] and words.count("hidden") == 1
    assert told(graded) == "I know False 2\n"


def test_the_second_try_alone_brings_hidden_replies_alone(tmp_path):
    class Starved(SubprocessRunner):
        """The machine takes its time with the first session's hidden blocks."""

        def _run_session(self, files, plan, allowance):
            result = super()._run_session(files, plan, allowance)
            if not allowance.alone:
                result.status, result.sentence, result.hit_wall = "timed out", "slow", True
                result.place = 3
            return result

    graded, log = execute(tmp_path, "pass", Starved(LIMITS))
    assert log == ["run", "hidden", "run", "hidden"]
    assert told(graded) == "I know False 1\n"
    assert (graded.score, graded.status) == (100, "graded")


WAITS = "import time\nprint(time.time())\ndef f():\n    time.sleep(600)"


@needs_sandbox
def test_after_the_sandbox_was_ended_the_first_outputs_stand():
    block = RunBlock(True, (Step("value", "f()"),), cell=1)
    with SandboxRunner(Limits(idle_seconds=2.0, wall_factor=900.0)) as runner:
        slot = runner._all[0]
        zygote = slot.zygote()
        sent = threading.Event()

        def kill():
            sent.wait(120)
            times.append(time.time())
            zygote.process.kill()

        from proflab_course.grading.run.session import Session

        real, times = Session._hidden, []

        def hidden(self, *arguments):
            threading.Timer(0.3, sent.set).start()
            return real(self, *arguments)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Session, "_hidden", hidden)
            result = runner.run(Submission("someone"), (RunCell(WAITS), block))
        killer.join()
    assert float(result.replies[0][0].outputs[0]["text"]) < times[0]
    assert result.hidden_sent


@pytest.mark.whole
def test_a_dask_worker_keeps_to_it(tmp_path, monkeypatch):
    from dask_clusters import local_cluster

    with local_cluster() as cluster:
        runner = ClusterRunner(cluster.scheduler_address, "none", LIMITS)
        try:
            times = {("test_area", 1): 60.0}
            graded, log = execute(tmp_path, BUSY, runner, times, monkeypatch)
        finally:
            runner.close()
            cluster_module.RUNNERS.clear()
    assert log.count("run") == 2
    assert told(graded) == "I know False 1\n"
    assert graded.score == 100


ENDINGS = {
    "its exit status": "os._exit(77)",
    "a signal": "os.kill(os.getpid(), 6)",
    "the length of a reply": "import sys\n        for f in (sys._getframe(n) for n in range(9)):\n"
    "            if 'self' in f.f_locals and hasattr(f.f_locals['self'], 'channel'): break\n"
    "        f.f_locals['self'].channel.sock.sendall(b'\\x11' * 8)",
}


@pytest.mark.parametrize("act", ENDINGS.values(), ids=ENDINGS)
def test_how_a_hidden_block_ends_tells_students_no_number(tmp_path, act):
    graded, _ = execute(tmp_path, act)
    assert graded.sentence in HIDDEN_SENTENCES.values()
    reason = next(case.reason for case in graded.cases if case.label == "four")
    assert reason not in HIDDEN_SENTENCES.values()  # instructors read more


PLAN = (RunCell("x"), RunBlock(True, (Step("value", "x"),)), RunBlock(False, (Step("value", "x"),)))


def result(value, status="finished", sentence="", place=None, sent=True):
    replies = [[Reply("value", value=value)] for _ in PLAN]
    return Result(status, sentence, replies, place=place, hidden_sent=sent)


def test_of_two_executions_the_first_counts_for_what_is_shown():
    both = add_execution(PLAN, result(1), result(2))
    assert [reply.value for [reply] in both.replies] == [1, 2, 1]
    assert add_execution(PLAN, result(1, sent=False), result(2)) == result(2)
    unwanted = add_execution(PLAN, result(1), result(2), wanted=set())
    assert [reply.value for [reply] in unwanted.replies] == [1, 1, 1]


@pytest.mark.parametrize(
    "first, later, status, sentence",
    [
        (("timed out", "a cell slept", 0), ("finished", "", None), "timed out", "a cell slept"),
        (("timed out", "slow", 1), ("finished", "", None), "finished", ""),
        (("finished", "", None), ("process died", "exit status 7", 0), "process died", None),
        (("finished", "", None), ("timed out", "7 seconds", 1), "timed out", None),
    ],
)
def test_its_status_says_no_word_of_a_later_execution(first, later, status, sentence):
    both = add_execution(PLAN, result(1, *first), result(2, *later))
    expected = HIDDEN_SENTENCES[status] if sentence is None else sentence
    assert (both.status, both.sentence) == (status, expected)
    assert both.place is None or both.place in (first[2], 1)
