"""A course of two lessons: the first counts ops, the second races two exercises by that count.

A third exercise of the second is a plan.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import nbformat
from built_lesson import BuiltLesson
from mini_course import HEADER, essay, exercise, given, graded, make_course, markdown

from proflab import stack
from proflab.lesson.race import traced
from proflab.nn import functional as F
from proflab_course.build.make import Depth, make
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import Key, make_key
from proflab_course.grading.races import METADATA, as_metadata, races_of

LESSON = "02_races"
# The bias and the activation outside the loop, and the loop still there.
HALF = "def rows(x, b):\n    return F.relu(stack([x[i] for i in range(x.shape[0])]) + b)"
# A loop over pairs of rows: half of the ops.
PAIRS = """
def rows(x, b):
    parts = [x[i : i + 2] + b for i in range(0, x.shape[0], 2)]
    from proflab import cat
    return F.relu(cat(parts))
"""
COUNTS = "\n".join([
    HEADER,
    markdown("# 01 · Counts"),
    given("import math\n\nfrom proflab.lesson import expect\n"
          "from proflab.lesson.tensor_memory import bytes_by_memory", "counts_imports"),
    markdown("## 1 · One op · 10 min"),
    exercise('''
def op_facts(call, result):
    """Return what is known of one op: FLOPs of a product, elements, bytes read and written."""
    ### BEGIN SOLUTION
    results = [result] if not isinstance(result, tuple) else [t for t in result if t is not None]
    read, out = bytes_by_memory(call.inputs), bytes_by_memory(results)
    written = sum(size for memory, size in out.items() if memory not in read)
    shapes = [t.shape for t in call.inputs]
    size = math.prod(results[0].shape)
    product = 2 * size * shapes[0][-1] if call.op == "matmul" else 0
    plain = call.op in ("matmul", "clone", "cat", "to")
    return {
        "op": call.op, "module": "", "phase": call.phase, "input_shapes": shapes,
        "output_shape": results[0].shape, "dtype": str(results[0].dtype),
        "matmul_flops": product, "elementwise_flops": 0 if plain or not written else size,
        "bytes_read": sum(read.values()) if written else 0, "bytes_written": written,
    }
    ### END SOLUTION
''', "op_facts"),
    graded('expect("it is there", callable(op_facts), True)', "test_op_facts", 100),
    markdown("Why?"),
    essay("essay_counts", "Ten."),
])  # fmt: skip

SHAPES = "a=(96, 96), b=(96, 96), x=(96, 4)"
TALL = "a=(40, 200), b=(200, 40), x=(40, 2)"
RACES = "\n".join([
    HEADER,
    markdown("# 02 · Races"),
    given("from built import op_facts\n"
          "from proflab.lesson import expect, expect_cheaper, expect_faster, race\n"
          "from proflab.lesson.race import traced\nfrom proflab.nn import functional as F\n"
          "from proflab import stack\n\nrace.count_with(op_facts)", "races_imports"),
    markdown("## 1 · A product of three · 10 min"),
    given('''
def slow_product(a, b, x):
    return (a @ b) @ x


def slow_rows(x, b):
    return stack([F.relu(x[i] + b) for i in range(x.shape[0])])
''', "slow_programs"),
    exercise('''
def product(a, b, x):
    """Return what slow_product returns, at least cost on DESK."""
    ### BEGIN SOLUTION
    return a @ (b @ x)
    ### END SOLUTION
''', "product"),
    graded(f'''
expect_faster("square", traced(product, {SHAPES}), like=slow_product, machine="DESK",
    full=0.01835)
### BEGIN HIDDEN TESTS
# about: the order of the products matters more where the middle is long
expect_faster("a long middle", traced(product, {TALL}), like=slow_product, machine="DESK",
    full=0.01762)
### END HIDDEN TESTS
''', "test_product", 50),
    exercise('''
def rows(x, b):
    """Return what slow_rows returns, at least cost on T4."""
    ### BEGIN SOLUTION
    return F.relu(x + b)
    ### END SOLUTION
''', "rows"),
    graded('''
expect_faster("64 rows", traced(rows, x=(64, 8), b=(8,)), like=slow_rows, machine="T4",
    full=0.01026)
### BEGIN HIDDEN TESTS
expect_faster("9 rows", traced(rows, x=(9, 5), b=(5,)), like=slow_rows, machine="T4",
    full=0.0102)
### END HIDDEN TESTS
''', "test_rows", 40),
    exercise('''
def order(n, lines, line):
    """Return every (i, j, k) below n once, in an order with few misses."""
    ### BEGIN SOLUTION
    return [(i, j, k) for i in range(n) for k in range(n) for j in range(n)]
    ### END SOLUTION
''', "order"),
    graded('''
expect_cheaper("a small product", order(8, 10, 4), rule="cache", n=8, lines=10, line=4,
    given=544, full=163)
### BEGIN HIDDEN TESTS
expect_cheaper("a larger one", order(12, 14, 4), rule="cache", n=12, lines=14, line=4,
    given=1800, full=514)
### END HIDDEN TESTS
''', "test_order", 10),
    markdown("Which wall?"),
    essay("essay_races", "Ten."),
])  # fmt: skip


def make_race_course(place: Path, audit: Depth, races: str = RACES) -> Course:
    """Write the course and build the lesson with races; raise CourseError for its mistakes."""
    course = make_course(place, {"01_counts": COUNTS, LESSON: races})
    work = place / "work"
    failed = make(prepare(course, [LESSON]), work, audit)
    assert not failed, failed
    for step in ("source", "release"):
        shutil.move(work / step, place / step)
    return course


@functools.cache
def built_course() -> Path:
    """Return a course whose source and release are built; made once, and not to be changed.

    The lesson is not executed, which would take ten seconds: the given programs are traced here.
    """
    place = Path(tempfile.mkdtemp(prefix="proflab-race-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    course = make_race_course(place, "static")
    path = course.source(LESSON)
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[METADATA] = as_metadata(tapes(make_key(LESSON, notebook)))
    nbformat.write(notebook, path)
    return place


def tapes(key: Key) -> dict:
    """Return the given programs' tapes, traced in this process."""
    scope = {"F": F, "stack": stack, "traced": traced}
    exec(key.cell("slow_programs").master.source, scope)
    return {name: list(eval(race.given, scope)) for name, race in races_of(key).items()}


_lesson = BuiltLesson(LESSON, built_course)
course_in, source, support, handed = (
    _lesson.course_in, _lesson.source, _lesson.support, _lesson.handed,
)  # fmt: skip
