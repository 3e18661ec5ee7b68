"""Grading on a Dask cluster: the same scores, nothing secret sent, nothing lost, refusals told."""

import json
import os
import signal
import sys
import threading
import time
from contextlib import closing

import nbformat
import numpy as np
import pytest
import race_course
from dask_clusters import distributed, local_cluster
from grading_course import (
    LESSON,
    command,
    copy_course,
    grade_class,
    hand_in,
    solved,
    source,
    warm_runner,
)
from killing import files, tables
from sandboxes import needs_sandbox

from proflab.checks.values import dumps
from proflab_course.cases.case import Step
from proflab_course.cases.hidden_doubles import DoubleSpec
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import make_plan
from proflab_course.grading.limits import Limits
from proflab_course.grading.match_cells import align
from proflab_course.grading.plan import Reply, Result, RunBlock, RunCell, Submission
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run import cluster as cluster_module
from proflab_course.grading.run.cluster import ClusterRunner, Workers
from proflab_course.grading.run.cluster_messages import (
    BadCrossing,
    Refusal,
    Task,
    pack_refusal,
    pack_result,
    pack_task,
    unpack_answer,
    unpack_task,
)
from proflab_course.grading.run.sandbox_runner import SandboxRunner

PATIENCE = 120
STUDENTS = ["complete", "forgets_biases", "lost_metadata", "syntax_error", "not_json"]


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own."""
    with local_cluster(n_workers=2, processes=True) as made:
        yield made


@pytest.fixture
def threads():
    """A worker in this process, which tests can bend."""
    with local_cluster(n_workers=1, processes=False) as made:
        yield made.scheduler_address
    cluster_module.RUNNERS.clear()


def outcome(rows):
    return {row.student: (row.score, row.status, row.sentence) for row in rows}


def grade_on(course, address, **options):
    """Grade on a cluster, with as many jobs as it has threads."""
    runner = ClusterRunner(address)
    try:
        rows = grade_class(course, LESSON, runner, jobs=runner.jobs, progress=False, **options)
    finally:
        runner.close()
    return outcome(rows)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Five of the sample class, graded here."""
    course = copy_course(tmp_path_factory.mktemp("local"), STUDENTS)
    with SandboxRunner(jobs=2) as runner:
        return course, outcome(grade_class(course, LESSON, runner, jobs=2, progress=False))


@pytest.mark.proves("a cluster grades as one machine does")
@needs_sandbox
def test_the_same_on_two_workers_as_here(cluster, local, tmp_path):
    course = copy_course(tmp_path, STUDENTS)
    assert grade_on(course, cluster.scheduler_address) == local[1]
    assert tables(course.gradebook) == tables(local[0].gradebook)
    assert files(course) == files(local[0])


@pytest.mark.whole
@needs_sandbox
def test_races_earn_the_same_on_a_worker_as_here(cluster, tmp_path):
    found = []
    for place in ("here", "there"):
        course = race_course.course_in(tmp_path / place)
        for name, functions in {
            "ben": {"rows": race_course.PAIRS},
            "cem": {"product": "1 / 0"},
        }.items():
            folder = course.root / "submitted" / name / race_course.LESSON
            folder.mkdir(parents=True)
            notebook = race_course.handed(**functions)
            nbformat.write(notebook, folder / f"{race_course.LESSON}.ipynb")
        if place == "here":
            grade_class(course, race_course.LESSON, warm_runner(), jobs=2, progress=False)
        else:
            with closing(ClusterRunner(cluster.scheduler_address)) as runner:
                grade_class(course, race_course.LESSON, runner, jobs=2, progress=False)
        found.append(tables(course.gradebook))
    assert found[0] == found[1]
    with Book(course.gradebook) as book:
        cases = book.outcome(race_course.LESSON, "ben").cases
    assert 0 < next(case.share for case in cases if case.label == "64 rows") < 1


@pytest.mark.whole
@needs_sandbox
def test_a_worker_that_is_killed_loses_nothing(cluster, local, tmp_path, capsys):
    course = copy_course(tmp_path, STUDENTS)
    with distributed.Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
    address, pid = next(iter(pids.items()))
    killer = threading.Thread(target=kill_when_busy, args=(cluster, address, pid))
    killer.start()
    rows = grade_on(course, cluster.scheduler_address)
    killer.join()
    assert rows == local[1]
    assert f"worker {address} was lost" in capsys.readouterr().err
    assert tables(course.gradebook) == tables(local[0].gradebook)


def kill_when_busy(cluster, address, pid):
    """Kill a worker once it has been given something to do."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        state = cluster.scheduler.workers.get(address)
        if state is not None and state.processing:
            break
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


@needs_sandbox
def test_the_command_takes_a_scheduler(cluster, tmp_path):
    course = copy_course(tmp_path, ["complete"])
    done = command(course, "proflab", "grade", LESSON, "--scheduler", cluster.scheduler_address)
    assert done.returncode == 0, done.stderr
    assert "complete    100 / 100  graded" in done.stdout


def test_a_task_holds_code_files_and_limits_and_no_answer():
    key = make_key(LESSON, source())
    plan, _ = make_plan(align(solved(), key), key, full=False)
    data = pack_task(Task(plan, {"built.py": b"x = 1"}, Limits(), "auto", "v"))
    assert unpack_task(data) == Task(plan, {"built.py": b"x = 1"}, Limits(), "auto", "v")
    assert set(json.loads(data)) == {"plan", "files", "limits", "isolation", "harness"}
    # What the student's own cells hold is no secret; what is sent for a test cell might be one.
    for test in key.tests.values():
        blocks = tuple(RunBlock(block.hidden, block.steps) for block in test.blocks)
        planned = {(item.hidden, item.steps) for item in plan if isinstance(item, RunBlock)}
        assert {(block.hidden, block.steps) for block in blocks} <= planned
        sent = json.dumps(json.loads(pack_task(Task(blocks, {}, Limits(), "auto", "v"))))
        assert "expect(" not in sent and "HIDDEN" not in sent
        for _, answer in test.answers:
            assert json.dumps(answer.label)[1:-1] not in sent or len(answer.label) < 12
            if isinstance(answer.expected, int) and abs(answer.expected) > 10**6:
                assert str(answer.expected) not in sent and f"{answer.expected:_}" not in sent


def test_results_cross_unchanged():
    plan = (RunCell("1"), RunBlock(True, (Step("setup", "a"), Step("value", "b"))), RunCell("2"))
    error = {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["t"]}
    value = {"a": (1, 2.5, -0.0, 10**40), "b": [None, True, "ü😀", 3j]}
    result = Result(
        "timed out",
        "too slow",
        [
            [Reply("raised", [error], raised=["E", "Exception"], message="e", traceback=["t"])],
            [Reply("done"), Reply("value", value=value)],
            [Reply("lost", message="gone")],
        ],
        True,
    )
    assert unpack_answer(pack_result(result), plan) == result
    array = Result(replies=[[Reply("value", value=np.array([[0.1, np.nan]], np.float32))]])
    block = (RunBlock(False, (Step("value", "x"),)),)
    back = unpack_answer(pack_result(array), block).replies[0][0].value
    assert back.dtype == np.float32 and np.array_equal(back, [[np.float32(0.1), np.nan]], True)
    tape = Result(replies=[[Reply("value", value=dumps([["out", [0]]]))]])
    told = RunBlock(False, (Step("tape", "traced(f)"),))
    assert unpack_answer(pack_result(tape), (told,)) == tape
    refused = Result(replies=[[Reply("refused", message="no plain data")]])
    assert unpack_answer(pack_result(refused), block) == refused
    refusal = Refusal("tcp://a", "no bubblewrap")
    assert unpack_answer(pack_refusal(refusal), plan) == refusal


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        None,
        3,
        b'{"status": "graded", "sentence": "", "hit_wall": false, "replies": [[{}]]}',
        b'{"status": "finished", "sentence": "", "hit_wall": false, "replies": []}',
        b'{"status": "finished", "sentence": "", "hit_wall": false, "replies": [[]]}',
        b'{"status": "finished", "sentence": "", "hit_wall": false, "replies": [[3]]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_result_is_told_apart(data):
    with pytest.raises(BadCrossing):
        unpack_answer(data, (RunCell("1"),))


def test_a_worker_that_cannot_isolate_refuses_and_nobody_gets_a_zero(
    threads, tmp_path, monkeypatch, capsys
):
    def refuse(*_):
        raise CourseError("bubblewrap is not installed")

    monkeypatch.setattr(cluster_module, "make_runner", refuse)
    course = copy_course(tmp_path, ["complete"])
    with pytest.raises(CourseError, match="no worker of .*: bubblewrap is not installed"):
        grade_on(course, threads)
    assert "gets no more work: bubblewrap is not installed" in capsys.readouterr().err
    assert "proflab_outcome" not in [name for name, _ in tables(course.gradebook)]


def test_a_worker_with_another_version_refuses(threads, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "harness_here", lambda: "older")
    course = copy_course(tmp_path, ["complete"])
    with pytest.raises(CourseError, match="it has another version of ProfLab than the grader"):
        grade_on(course, threads)


@pytest.mark.whole
def test_without_the_cluster_it_is_done_here_after_one_wait(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster_module, "NO_WORKER_SECONDS", 0.1)
    monkeypatch.setattr(cluster_module, "POLL_SECONDS", 0.1)
    course = copy_course(tmp_path, [])
    hand_in(course, "one", solved())
    hand_in(course, "two", solved())
    with local_cluster(n_workers=1, processes=False) as made:
        runner = ClusterRunner(made.scheduler_address, "none")
        made.scale(0)
        rows = grade_class(course, LESSON, runner, progress=False)
        runner.close()
    assert {name: row[:2] for name, row in outcome(rows).items()} == {
        "one": (100, "graded"),
        "two": (100, "graded"),
    }
    said = capsys.readouterr().err
    assert said.count("was lost: its submissions are executed again") == 1
    assert said.count("has no worker left: waiting 0.1 seconds for one") == 1
    assert said.count("the rest is executed on this machine") == 1


class ScriptedClient:
    """A client whose workers come and go by a script; the last entry stays."""

    def __init__(self, *script):
        self.script, self.status = list(script), "running"

    def nthreads(self):
        """The workers of now, with two threads each."""
        names = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return dict.fromkeys(names, 2)


def test_a_lost_worker_is_said_once_and_all_are_waited_for_once(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(cluster_module.time, "monotonic", lambda: now[0])
    workers = Workers(ScriptedClient("ab", "ab", "ab", "a", "a", "", "", "", ""))
    assert workers.most == 4
    for _ in range(3):
        now[0] += cluster_module.POLL_SECONDS
        workers.look()
    assert capsys.readouterr().err == (
        "proflab grade: worker b was lost: its submissions are executed again\n"
    )
    while not workers.wait_is_over():
        now[0] += cluster_module.POLL_SECONDS
    assert now[0] == pytest.approx(140.0, abs=2 * cluster_module.POLL_SECONDS)
    said = capsys.readouterr().err
    assert said.count("worker a was lost") == said.count("waiting 30 seconds for one") == 1
    assert said.count("the rest is executed on this machine") == 1


def test_a_worker_that_comes_in_time_ends_the_wait(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(cluster_module.time, "monotonic", lambda: now[0])
    workers = Workers(ScriptedClient("a", "a", "", "", "b"))
    for _ in range(40):
        now[0] += cluster_module.POLL_SECONDS
        assert not workers.wait_is_over()
    workers._client.status = "closed"
    now[0] += cluster_module.POLL_SECONDS
    assert not workers.wait_is_over()
    now[0] += cluster_module.NO_WORKER_SECONDS + 1
    assert workers.wait_is_over()
    assert capsys.readouterr().err.count("was lost") == 2


def test_a_workers_grader_holds_the_doubles(threads):
    clock = DoubleSpec("clock", "Clock", {"tick_ns": 100, "read_ns": 100})
    elapsed = "clock.run(lambda: -time.perf_counter() + time.perf_counter())"
    steps = ("setup", clock.stub), ("value", elapsed), ("lookup", "clock.readings")
    block = RunBlock(True, tuple(Step(*step) for step in steps), ((0, clock),))
    runner = ClusterRunner(threads, "none")
    cell = RunCell("import time\nfrom proflab.lesson import doubles")
    result = runner.run(Submission("me"), (cell, block))
    runner.close()
    assert [r.value for r in result.replies[1][1:]] == [pytest.approx(1e-7, rel=1e-3), 2]


def test_a_scheduler_that_is_not_there_gets_a_sentence(tmp_path):
    course = copy_course(tmp_path, ["complete"])
    began = time.monotonic()
    done = command(course, "proflab", "grade", LESSON, "--scheduler", "tcp://127.0.0.1:9")
    assert time.monotonic() - began < PATIENCE
    assert done.returncode == 2
    assert done.stderr.startswith("proflab grade: no Dask scheduler answers at tcp://127.0.0.1:9 (")
    assert done.stderr.count("\n") == 1
    with pytest.raises(CourseError, match="no Dask scheduler answers at nonsense"):
        ClusterRunner("nonsense://x")


def test_a_scheduler_without_workers_gets_a_sentence(monkeypatch):
    monkeypatch.setattr(cluster_module, "FIRST_WORKER_SECONDS", 0.2)
    with local_cluster(n_workers=0, processes=False) as made:
        with pytest.raises(CourseError, match="has no workers: start some with `dask worker"):
            ClusterRunner(made.scheduler_address)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CourseError, match=r"needs dask.distributed.*pip install 'proflab"):
        ClusterRunner("tcp://127.0.0.1:9")
