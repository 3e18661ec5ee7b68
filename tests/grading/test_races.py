"""Races in the grader: shares become points, and no attack earns more than its program is worth."""

import json
import re
import shutil
import sqlite3
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import pytest
from cohort.attacks.racing import RACE_ATTACKS, RIGHT, SLOW
from grading_course import ROOT, STOCK, command, warm_runner
from nbformat.v4 import new_code_cell
from nbgrader.utils import determine_grade
from race_course import (
    LESSON,
    PAIRS,
    RACES,
    course_in,
    handed,
    make_race_course,
    source,
    support,
    tapes,
)
from sandboxes import needs_sandbox

from proflab.lesson.race.judge import BELOW_FLOOR
from proflab_course.build.trial import MOST_ABOVE, Trial
from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split
from proflab_course.course.layout import CourseError
from proflab_course.course.release_stamp import STAMP, make_stamp
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.command import grade_class
from proflab_course.grading.grade_notebook import grade_notebook, make_plan
from proflab_course.grading.match_cells import align
from proflab_course.grading.pages.feedback import HideHidden
from proflab_course.grading.plan import Submission
from proflab_course.grading.races import METADATA, judge_jobs, races_of, solution_costs
from proflab_course.grading.records.gradebook import Book, Outcome
from proflab_course.grading.run import replies


@pytest.fixture(scope="module")
def key():
    return make_key(LESSON, source())


def graded(key, **functions):
    notebook = handed(**functions)
    return grade_notebook(notebook, key, folder=support(), full=False, runner=warm_runner())


def test_a_cell_earns_the_mean_of_its_shares_to_hundredths(key):
    result = graded(key, rows=PAIRS)
    assert result.scores["test_product"] == 50
    shares = [case.share for case in result.cases if case.cell == "test_rows"]
    assert 0 < shares[0] < 1 and 0 < shares[1] < 1
    assert result.scores["test_rows"] == round(40 * sum(shares) / 2, 2)
    assert result.status == "graded" and result.errors == []
    [cell] = [c for c in result.notebook.cells if "expect_faster(\n    \"64 rows" in c.source
              or '"64 rows"' in c.source]  # fmt: skip
    assert determine_grade(cell)[0] == result.scores["test_rows"]
    assert re.search(r"0\.645\d+ → 0\.\d+ ms on T4: \d+ % of the way", str(cell.outputs))
    hint = "overhead of 32 × add: parts = [x[i : i + 2] + b for i in range"
    assert hint in str(cell.outputs)


def test_a_program_that_is_refused_is_told_its_line(key):
    cell = "def rows(x, b):\n    y = x.reshape(x.shape)\n    y += b\n    return F.relu(y)"
    [first, *_] = [case for case in graded(key, rows=cell).cases if case.cell == "test_rows"]
    assert not first.passed
    assert first.reason.endswith("write to a clone of it\n   at: y += b")


def test_the_grader_itself_reads_no_tape(key, monkeypatch):
    read, loads = [], replies.loads
    monkeypatch.setattr(replies, "loads", lambda blob: read.append(blob) or loads(blob))
    assert graded(key, rows=PAIRS).scores["test_product"] == 50
    assert read and not any(b"matmul" in blob and b'"out"' in blob for blob in read)


def test_what_is_judged_already_is_not_judged_again(key):
    sessions, runner = [], warm_runner()

    def run(submission, plan):
        sessions.append(submission.name)
        return runner.run(submission, plan)

    counting = SimpleNamespace(run=run)
    notebook, submission = handed(rows=PAIRS), Submission("ann", None, support())
    aligned = align(notebook, key)
    plan, places = make_plan(aligned, key, full=False)
    result = runner.run(submission, plan)
    judged = {}
    first = judge_jobs(aligned, key, result, places, counting, submission, judged=judged)
    once = len(sessions)
    again = judge_jobs(aligned, key, result, places, counting, submission, judged=judged)
    assert once and len(sessions) == once and again == first
    (name, value), *_ = judged
    del judged[name, value]
    assert judge_jobs(aligned, key, result, places, counting, submission, judged=judged) == first
    assert len(sessions) == once + 1


@pytest.mark.proves("a race that is wrong earns nothing")
def test_one_wrong_case_costs_the_cell_and_the_given_program_earns_nothing(key):
    wrong = graded(key, product=RIGHT.replace("a @ (b @ x)", "a @ (b @ x) if len(x) > 50 else x"))
    assert wrong.scores["test_product"] == 0
    assert [c.passed for c in wrong.cases if c.cell == "test_product"] == [True, False]
    slow = graded(key, product=SLOW)
    assert (
        slow.scores == {"test_product": 0, "test_rows": 40, "test_order": 10} and slow.errors == []
    )
    [cell] = [c for c in slow.notebook.cells if '"square"' in c.source]
    assert determine_grade(cell)[0] == 0
    stub = graded(key, product="def product(a, b, x):\n    raise NotImplementedError")
    assert stub.scores["test_product"] == 0


ODD = {
    "renamed": (
        "def product(a, b, y):\n    return a @ (b @ y)",
        "got an unexpected keyword argument 'x': its parameters have to be a, b, x",
        "line 1:  def product(a, b, y):",
    ),
    "numbers": (
        "def product(a, b, x):\n    y = b @ x\n    return a @ y * y.sum().item()",
        "(item: a meta tensor of shape () has no data): it may know shapes only",
        "line 3 in product:  return a @ y * y.sum().item()",
    ),
    "raises": (
        "def product(a, b, x):\n    return a @ b @ None",
        "`product` raised TypeError: ",
        "line 2 in product:  return a @ b @ None",
    ),
    "returns": (
        "def product(a, b, x):\n    return (a @ (b @ x)).shape",
        "the program returns a result of type int: return Tensors",
        "line 1:  def product(a, b, x):",
    ),
    "unknown": (
        "def product(a, b, x):\n    return F.dropout(a @ (b @ x), 0.5)",
        "dropout is random: two runs cannot be compared",
        "line 2:  return F.dropout(a @ (b @ x), 0.5)",
    ),
}


@pytest.mark.proves("what stops a trace reaches the student as a sentence with the program's line")
@pytest.mark.parametrize("odd", ODD)
def test_feedback_on_what_stops_a_trace_is_a_sentence_with_the_programs_line(odd, key):
    code, sentence, line = ODD[odd]
    result = graded(key, product=code)
    assert result.scores["test_product"] == 0 and result.scores["test_rows"] == 40
    [cell] = [c for c in result.notebook.cells if '"square"' in c.source]
    shown = [text for each in cell.outputs for text in each.get("traceback", ())]
    first, last = shown[0].splitlines()
    assert first.startswith("❌ square: ") and sentence in first and last.strip() == line
    assert shown[1:] == ["❌ 1 case on other input failed"]


def test_a_name_that_a_broken_cell_lacks_is_that_cells_fault_in_a_race_too(key):
    notebook = handed(product="def product(a, b, x):\n    return a @ times(b, x)")
    at = next(n for n, c in enumerate(notebook.cells) if "times(b, x)" in c.source)
    notebook.cells.insert(at, new_code_cell("def times(a, b=:\n    return a @ b"))
    result = grade_notebook(notebook, key, folder=support(), full=False, runner=warm_runner())
    reasons = {case.reason for case in result.cases if case.cell == "test_product"}
    assert reasons == {"the cell of times ended with SyntaxError: invalid syntax (line 1)"}


def test_a_plan_earns_its_share_and_feedback_says_what_costs_most(key):
    rows = "[(i, j, k) for k in range(n) for i in range(n) for j in range(n)]"
    result = graded(key, order=f"def order(n, lines, line):\n    return {rows}")
    shares = [case.share for case in result.cases if case.cell == "test_order"]
    assert 0 < result.scores["test_order"] == round(10 * sum(shares) / 2, 2) < 10
    assert result.errors == []
    [cell] = [c for c in result.notebook.cells if '"a small product"' in c.source]
    assert determine_grade(cell)[0] == result.scores["test_order"]
    assert re.search(r"544 → \d+ misses: \d+ % of the way\\n   largest: \d+ %", str(cell.outputs))
    wrong = graded(key, order="def order(n, lines, line):\n    return [(0, 0, 0)]")
    assert wrong.scores["test_order"] == 0 and wrong.scores["test_rows"] == 40


def test_feedback_tells_the_share_of_a_hidden_race_and_not_its_inputs(key):
    result = graded(key, rows=PAIRS)
    [share] = [case.share for case in result.cases if case.label == "9 rows"]
    [cell] = [c for c in result.notebook.cells if '"64 rows"' in c.source]
    cell.metadata.nbgrader = key.cell("test_rows").master.metadata.nbgrader
    HideHidden().preprocess_cell(cell, {}, 0)
    text = cell.outputs[-1].text
    assert f"✅ 9 rows: {100 * share:.0f} % of the way" in text and "ms" not in text
    assert "(9, 5)" not in cell.source


def test_below_the_floor_a_person_decides(key, tmp_path):
    test = key.tests["test_product"]
    blocks = []
    for block in test.blocks:
        answers = [replace(a, held=replace(a.held, options={"floor": 1.0})) for a in block.answers]
        blocks.append(replace(block, answers=tuple(answers)))
    strict = replace(key, tests=key.tests | {"test_product": replace(test, blocks=tuple(blocks))})
    result = graded(strict)
    assert result.below_floor and BELOW_FLOOR in result.sentence
    assert result.scores["test_product"] == 0 and result.scores["test_rows"] == 40
    with Book(tmp_path / "gradebook.db") as book:
        book.register(strict)
        book.write(strict, Outcome("ann", strict.name, "graded", "", ""), result)
        mark = book.gradebook.find_grade("test_product", strict.name, strict.name, "ann")
        assert (mark.auto_score, mark.needs_manual_grade) == (None, True)


def test_only_the_count_says_that_a_program_is_below_the_floor(key):
    """Else a student would send a person to look for a fault of the count, and to give points."""
    said = f"""
def product(a, b, x):
    return a @ (b @ x)

def traced(program, **shapes):
    raise type("Refused", (Exception,), {{}})({BELOW_FLOOR!r})
"""
    result = graded(key, product=said)
    assert [case.passed for case in result.cases if case.cell == "test_product"] == [False, False]
    assert not result.below_floor and BELOW_FLOOR not in result.sentence


@needs_sandbox
@pytest.mark.parametrize("attack", RACE_ATTACKS, ids=lambda a: a.name)
def test_an_attack_is_refused_or_worthless(attack, key):
    result = graded(key, **{attack.exercise: attack.cell})
    cell = f"test_{attack.exercise}"
    case = next(case for case in result.cases if case.cell == cell and not case.hidden)
    assert re.search(attack.says, said := f"{case.reason} {case.diagnosis}"), said
    assert result.scores[cell] == pytest.approx(key.tests[cell].points * attack.worth)
    assert result.scores["test_rows"] == 40 or "traced" in attack.cell


@pytest.mark.whole
@needs_sandbox
def test_a_class_gets_the_same_points_with_one_job_and_with_two(tmp_path):
    course = course_in(tmp_path)
    for name, functions in {"ada": {}, "ben": {"rows": PAIRS}, "cem": {"product": SLOW}}.items():
        folder = course.root / "submitted" / name / LESSON
        folder.mkdir(parents=True)
        nbformat.write(handed(**functions), folder / f"{LESSON}.ipynb")
    found = []
    for jobs in (1, 2):
        rows = grade_class(course, LESSON, warm_runner(), jobs=jobs, regrade=True, progress=False)
        found.append({row.student: (row.status, row.score) for row in rows})
    assert found[0] == found[1]
    assert found[0]["ada"] == ("graded", 100) and found[0]["cem"] == ("graded", 50)
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["ben"]["auto"] == found[0]["ben"][1]
        outcome = book.outcome(LESSON, "ben")
    assert 0 < next(case.share for case in outcome.cases if case.label == "9 rows") < 1


def test_a_hand_in_from_before_a_race_keeps_what_it_earned(tmp_path):
    """The lesson had an exercise with a double of its own where it has a race now."""
    course = course_in(tmp_path)
    today, path = source(), course.source(LESSON)
    before, old = source(), handed()
    for notebook in (before, old):
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in ("rows", "test_rows"):
                cell.metadata.nbgrader.grade_id = name.replace("rows", "tiles")
                cell.source = "def tiles(rows):\n    return 2 * rows"
                if name == "test_rows":
                    cell.source = 'expect("moved", tiles(3), 6)'
    old.metadata[STAMP] = make_stamp(LESSON, old.cells)
    folder = course.root / "submitted" / "ada" / LESSON
    folder.mkdir(parents=True)
    nbformat.write(old, folder / f"{LESSON}.ipynb")
    nbformat.write(before, path)
    [row] = grade_class(course, LESSON, warm_runner(), progress=False)
    assert (row.status, row.score) == ("graded", 100)

    nbformat.write(today, path)
    notes: list[str] = []
    [row] = grade_class(course, LESSON, warm_runner(), progress=False, notes=notes)
    assert (row.status, row.score) == ("graded", 60)
    assert any("has lost test_tiles and gained test_rows" in note for note in notes)
    with sqlite3.connect(course.gradebook) as connection:
        asked = "SELECT student, marks FROM proflab_former_marks WHERE kind = 'Grade'"
        [(student, marks)] = connection.execute(asked).fetchall()
    assert (student, json.loads(marks)["auto_score"]) == ("ada", 40)


def test_a_lesson_that_was_not_executed_is_not_graded(key):
    notebook = source()
    del notebook.metadata[METADATA]
    with pytest.raises(CourseError, match="has not been traced: run `proflab build 02_races`"):
        graded(make_key(LESSON, notebook))


@pytest.mark.whole
def test_nbgrader_as_it_comes_gives_a_race_all_points_or_none(tmp_path):
    course = course_in(tmp_path)
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    config = (ROOT / "jupyter_config.py").read_text() + STOCK
    (course.root / "jupyter_config.py").write_text(config)
    wrong = RIGHT.replace("a @ (b @ x)", "a @ (b @ x) if len(x) > 50 else x")
    for name, functions in {"ben": {"rows": PAIRS}, "cem": {"product": wrong}}.items():
        folder = course.root / "submitted" / name / LESSON
        folder.mkdir(parents=True)
        nbformat.write(handed(**functions), folder / f"{LESSON}.ipynb")
    for words in (["generate_assignment", LESSON, "--force"], ["autograde", LESSON],
                  ["generate_feedback", LESSON]):  # fmt: skip
        done = command(course, "nbgrader", *words)
        assert done.returncode == 0, done.stderr
    with Book(course.gradebook) as book:
        found = {student: row["auto"] for student, row in book.scores(LESSON).items()}
    assert found == {"ben": 100, "cem": 50}
    page = course.root / "feedback" / "ben" / LESSON / f"{LESSON}.html"
    text = re.sub(r"<[^>]*>", "", page.read_text("utf-8"))
    assert "✅ 9 rows" in text and "🏁 64 rows: same results" in text and "ms on T4" in text
    assert not re.search(r"9 rows.*ms on T4", text)


# ── the lesson ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_the_build_traces_the_given_programs_and_keeps_them_out_of_the_release(tmp_path):
    course = make_race_course(tmp_path, "full")
    notebook = nbformat.read(course.source(LESSON), as_version=4)
    key = make_key(LESSON, notebook)
    traced = {(cell, label): text for cell, label, text in notebook.metadata[METADATA]}
    from proflab_course.grading.races import as_metadata

    assert traced == {(cell, label): text for cell, label, text in as_metadata(tapes(key))}
    costs = solution_costs(key)
    assert {cell for cell, _ in costs.keys() - traced.keys()} == {"test_order"}  # no tape
    assert all(1 <= each.full / costs[name] <= MOST_ABOVE for name, each in races_of(key).items())
    released = (tmp_path / "release" / LESSON / f"{LESSON}.ipynb").read_text()
    assert METADATA not in released and "(40, 200)" not in released


def test_the_build_says_which_full_marks_would_be_right(key):
    found = {"ms": 0.01, "given": 0.02, "floor": 0.011}
    trial = object.__new__(Trial)
    names = [SimpleNamespace(name=name, where=name) for name in key.tests]
    trial.lesson = SimpleNamespace(named=lambda role: names)
    trial.graded = SimpleNamespace(key=key, raced={next(iter(races_of(key))): found})
    marks, given = list(trial._race_mistakes())
    assert marks.endswith("the solution costs 0.01, and full is 0.01835: write full=0.0102")
    assert "the floor, 0.011, is above the solution" in given


@pytest.mark.parametrize(
    ("floor", "sentence"),
    [
        (0.029, None),
        (0.0001, "floor=0.0001 is below 0.0"),
        (0.031, "the floor, 0.031, is above the solution"),
    ],
)
def test_the_build_says_which_floor_cannot_be_one(floor, sentence, key):
    (name, race), *_ = races_of(key).items()
    told = replace(race, full=0.0306, options=race.options | {"floor": floor})
    test = key.tests[name[0]]
    [visible, *hidden] = test.blocks
    blocks = (replace(visible, answers=(replace(visible.answers[0], held=told),)), *hidden)
    trial = object.__new__(Trial)
    trial.lesson = SimpleNamespace(
        named=lambda role: [SimpleNamespace(name=each, where=each) for each in key.tests]
    )
    trial.graded = SimpleNamespace(
        key=replace(key, tests={name[0]: replace(test, blocks=blocks)}),
        raced={name: {"ms": 0.03, "given": 0.06, "floor": floor}},
        given={name: tapes(key)[name]},
    )
    found = list(trial._race_mistakes())
    assert len(found) == bool(sentence) and all(sentence in each for each in found)


def test_the_build_says_which_given_cost_would_be_right(key):
    trial = object.__new__(Trial)
    names = [SimpleNamespace(name=name, where=name) for name in key.tests]
    test = key.tests["test_order"]
    [[visible], [hidden]] = (block.answers for block in test.blocks)
    told = replace(visible, held=replace(visible.held, given=545.0, full=190.0))
    blocks = (replace(test.blocks[0], answers=(told,)), test.blocks[1])
    other = replace(key, tests={"test_order": replace(test, blocks=blocks)})
    trial.lesson = SimpleNamespace(named=lambda role: names)
    found = {"ms": 160, "given": 545.0, "floor": 0.0}
    raced = {
        ("test_order", visible.label): found,
        ("test_order", hidden.label): found | {"ms": 504},
    }
    trial.graded = SimpleNamespace(key=other, raced=raced)
    marks, given = list(trial._race_mistakes())
    assert marks.endswith("the solution costs 160, and full is 190: write full=163.2")
    assert given.endswith("the given plan costs 544: write given=544")


RACE = 'expect_faster("a", traced(f, x=(8, 8)), like=slow, machine="DESK", full=1.7)'


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (RACE.replace("(8, 8)", "shape"), "not `shape`"),
        (RACE.replace("(8, 8)", "8"), "shapes are literal tuples"),
        (RACE.replace("traced(f, x=(8, 8))", "tape"), "is a call of traced"),
        (RACE.replace("DESK", "CRAY"), "machine is one of DESK, T4"),
        (RACE.replace(", full=1.7", ""), "needs full="),
        (RACE.replace("full=1.7", "full=1.7, best=1.8"), "best is a cost, and no higher than full"),
        (RACE.replace("full=1.7", "full=1.7, best='low'"), "best is a cost"),
        (RACE.replace("full=1.7", "full=1.7, speed=1"), "takes no argument speed"),
        (RACE.replace("like=slow", "like=lambda x: x"), "name of a function"),
        (RACE.replace("x=(8, 8)", "model=make(n)"), "not `n`"),
        (RACE + '\nexpect("b", 1, 1)', "races have a cell of their own"),
    ],
)
def test_the_grammar_of_a_race(source, sentence):
    with pytest.raises(GrammarError, match=sentence):
        split(source, "test_f")


PLAN = 'expect_cheaper("a", f(4), rule="cache", n=4, lines=2, line=4, given=90, full=51)'


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (PLAN.replace('"cache"', '"tiles"'), "rule is one of cache, buckets, loader"),
        (PLAN.replace("n=4, ", ""), "the rule 'cache' needs n="),
        (PLAN.replace("n=4", "n=size"), "not `size`"),
        (PLAN.replace("n=4", "n=4, m=4"), "takes no argument m"),
        (PLAN.replace("n=4", 'n="four"'), "there is no 'four' in race.WORKLOADS"),
        (PLAN.replace("full=51", "full=91"), "full is the lower one"),
        (PLAN.replace("full=51", "full=51, best=52"), "best is a cost, and no higher than full"),
        (PLAN.replace("f(4)", "f(4), f(5)"), "takes a label and a plan"),
        (PLAN + '\nexpect("b", 1, 1)', "races have a cell of their own"),
    ],
)
def test_the_grammar_of_a_plan(source, sentence):
    with pytest.raises(GrammarError, match=sentence):
        split(source, "test_f")


def test_a_plan_crosses_as_code_without_its_costs():
    [block] = split(PLAN, "test_f").blocks
    assert block.steps[0].code == "f(4)"
    plan = block.answers[0].held
    assert (plan.rule, plan.parameters["lines"], plan.given, plan.full) == ("cache", 2, 90, 51)


def test_the_best_that_is_known_is_no_option_of_the_judge():
    for written, best in ((RACE, 1.5), (PLAN, 40)):
        full = written.partition("full=")[2].rstrip(")")
        [block] = split(written.replace(f"full={full}", f"full={full}, best={best}"), "f").blocks
        case = block.answers[0].held
        assert (case.best, case.full) == (best, float(full))
        assert "best" not in getattr(case, "options", {}) | getattr(case, "parameters", {})


def test_the_build_refuses_a_best_that_the_solution_is_better_than(key):
    trial = object.__new__(Trial)
    names = [SimpleNamespace(name=name, where=name) for name in key.tests]
    [name] = [each for each in races_of(key) if each[1] == "square"]
    test = key.tests[name[0]]
    case = test.blocks[0].answers[0]

    def said(best, floor=0.001):
        told = replace(case, held=replace(case.held, best=best))
        blocks = (replace(test.blocks[0], answers=(told,)), test.blocks[1])
        other = replace(key, tests={name[0]: replace(test, blocks=blocks)})
        trial.lesson = SimpleNamespace(named=lambda role: names)
        found = {"ms": 0.01799, "given": 0.05, "floor": floor}
        trial.graded = SimpleNamespace(key=other, raced={name: found})
        return list(trial._race_mistakes())

    assert said(0.017) == [] == said(None)
    assert "and best is 0.0182: it lies between the two" in said(0.0182)[0]
    assert "and best is 0.0005: it lies between the two" in said(0.0005)[0]


def test_a_races_model_is_a_functions_name_or_its_call():
    for model in ("make", "make(2, width=8)"):
        [block] = split(RACE.replace("x=(8, 8)", f"model={model}, x=(8, 8)"), "test_f").blocks
        assert block.answers[0].held.given == f"traced(slow, model={model}, x=(8, 8))"


def test_a_race_crosses_as_code_without_its_threshold():
    [block] = split(RACE, "test_f").blocks
    assert block.steps[0].code == "traced(f, x=(8, 8)).with_lines()"
    race = block.answers[0].held
    assert (race.given, race.machine, race.full) == ("traced(slow, x=(8, 8))", "DESK", 1.7)
    assert "1.7" not in block.steps[0].code and RACES
