"""A course of two lessons: the first counts ops and judges pairs, the second keeps a work log."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import nbformat
from built_lesson import BuiltLesson
from mini_course import HEADER, essay, exercise, given, graded, make_course, markdown
from race_course import COUNTS

from proflab import stack
from proflab.lesson.race import traced
from proflab_course.build.make import make
from proflab_course.build.prepare import prepare
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.races import METADATA, as_metadata, races_of

LESSON = "02_log"
PAIRS = "\n".join([
    exercise('''
def speedup_interval(before, after):
    """Return the middle ratio, and the smallest and the largest one.

    >>> speedup_interval([2.0], [1.0])
    {'speedup': 2.0, 'low': 2.0, 'high': 2.0}
    """
    ### BEGIN SOLUTION
    ratios = sorted(a / b for a, b in zip(before, after))
    return {"speedup": ratios[len(ratios) // 2], "low": ratios[0], "high": ratios[-1]}
    ### END SOLUTION
''', "speedup_interval"),
    graded('expect("it is there", callable(speedup_interval), True)', "test_speedup_interval", 1),
    exercise('''
def gate(before, after, tolerance):
    """Return the verdict on pairs."""
    ### BEGIN SOLUTION
    return "faster" if speedup_interval(before, after)["low"] > 1 else "unclear"
    ### END SOLUTION
''', "gate"),
    graded('expect("it is there", callable(gate), True)', "test_gate", 1),
])  # fmt: skip
SHAPES = "x=(16, 8), b=(8,)"
ASKED = f"race.traced(rows, {SHAPES})"
OPTIONS = 'like=slow_rows, machine="T4"'
LOG = "\n".join([
    HEADER,
    markdown("# 02 · A log"),
    given("from built import gate, op_facts, speedup_interval\n"
          "from proflab import stack\nfrom proflab.lesson import expect_faster, expect_log, race\n"
          "race.count_with(op_facts)", "log_imports"),
    markdown("## 1 · Faster · 10 min"),
    given(f'''
def slow_rows(x, b):
    return stack([(x[i] + b).relu() for i in range(x.shape[0])])

log = race.WorkLog(slow_rows, "T4", {SHAPES})
''', "slow_programs"),
    exercise('''
def rows(x, b):
    """Return what slow_rows returns, at least cost on T4."""
    ### BEGIN SOLUTION
    return (x + b).relu()
    ### END SOLUTION
''', "rows"),
    graded(f'expect_faster("16 rows", {ASKED}, {OPTIONS}, full=0.01021)', "test_rows", 75),
    exercise('''
def work_log(log):
    """Note two steps and an idea."""
    ### BEGIN SOLUTION
    def step_1(x, b):
        return stack([x[i] + b for i in range(x.shape[0])]).relu()

    def idea(x, b):
        return stack([x[i].relu() for i in range(x.shape[0])]) + b

    log.step(step_1, "relu once", 0.08, "add and relu are 32 ops of 5 µs")
    log.step(idea, "relu first", 0.08, "add takes most", rejected="its results are wrong")
    log.step(rows, "one add", 0.01, "16 × add")
    log.stop("add and relu share it, 2.0 times the floor: no op does both")
    ### END SOLUTION
''', "work_log"),
    *(graded(f'expect_log("{rule} hold", log.data(work_log), {ASKED}, rule="{rule}", {OPTIONS})',
             f"test_work_log{'' if number == 1 else f'_{number}'}", 5)
      for number, rule in enumerate(("costs", "times", "order", "largest", "stop"), start=1)),
    markdown("Which wall?"),
    essay("essay_log", "Ten."),
])  # fmt: skip


@functools.cache
def built_course() -> Path:
    """Return a course whose source and release are built, and not executed; not to be changed."""
    place = Path(tempfile.mkdtemp(prefix="proflab-log-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    counts = COUNTS.replace(markdown("Why?"), f"{PAIRS}\n{markdown('Why?')}")
    course = make_course(place, {"01_counts": counts, LESSON: LOG})
    failed = make(prepare(course, [LESSON]), place / "work", "static")
    assert not failed, failed
    for step in ("source", "release"):
        shutil.move(place / "work" / step, place / step)
    path = course.source(LESSON)
    notebook = nbformat.read(path, as_version=4)
    key, scope = make_key(LESSON, notebook), {"stack": stack, "traced": traced}
    code = key.cell("slow_programs").master.source.partition("log =")[0]
    exec(code, scope)
    tapes = {n: list(eval(r.given.removeprefix("race."), scope)) for n, r in races_of(key).items()}
    notebook.metadata[METADATA] = as_metadata(tapes)
    nbformat.write(notebook, path)
    return place


_lesson = BuiltLesson(LESSON, built_course)
course_in, source, support, handed = (
    _lesson.course_in, _lesson.source, _lesson.support, _lesson.handed,
)  # fmt: skip
