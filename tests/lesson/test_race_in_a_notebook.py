"""Races in a notebook: what a try shows, what it runs, and which points the last cell counts."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import race_course
from nbformat.v4 import new_code_cell
from race_tapes import EXPERTS, crossed, experts, from_left, from_right, solved_op_facts
from run_all import run_all, shown

import proflab.lesson.race.judge as judging
import proflab.lesson.race.known as knowing
from proflab import stack
from proflab.checks import expect
from proflab.lesson import blas
from proflab.lesson.kernel_record import KernelRecord, TestRun
from proflab.lesson.outline import Exercise, Outline
from proflab.lesson.progress import measure
from proflab.lesson.race import show, traced, trail
from proflab.lesson.race.judge import judge
from proflab.lesson.race.replay import walk
from proflab.nn import functional as F


@pytest.fixture(scope="module")
def op_facts():
    return solved_op_facts()


def test_a_notebook_shows_the_best_that_is_known_which_earns_no_more(op_facts, capsys, monkeypatch):
    monkeypatch.setattr(expect, "shares", {})
    monkeypatch.setattr(show, "counting", {"op_facts": op_facts})
    tape = traced(lambda x, w, b: F.relu(x @ w + b[:, None]), **EXPERTS)
    common = {"like": experts, "machine": "T4", "full": 0.05}
    expect.expect_faster("64 experts", tape, best=0.027, **common)
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("100 % of the way")
    assert second == "   best known: 0.027 ms on T4; it earns no more than full marks"
    expect.expect_faster("64 experts", tape, best=0.04, **common)
    second = capsys.readouterr().out.splitlines()[1]
    assert second == "   best known: 0.04 ms on T4; yours is lower, tell your instructor"
    assert expect.shares[""] == {"64 experts": 1}
    looped = traced(lambda x, w, b: F.relu(stack(list(x @ w)) + b[:, None]), **EXPERTS)
    expect.expect_faster("64 experts", looped, best=0.027, **common)
    first, _, lead, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("100 % of the way") and "can still fall" in lead
    plan = {"rule": "cache", "n": 4, "lines": 2, "line": 4, "given": 90}
    order = [(i, j, k) for i in range(4) for k in range(4) for j in range(4)]
    expect.expect_cheaper("4 × 4", order, full=60, best=40, **plan)
    assert "best known: 40 misses" in capsys.readouterr().out


def test_a_notebook_shows_costs_and_what_can_still_fall(op_facts, capsys, monkeypatch):
    monkeypatch.setattr(expect, "shares", {})
    monkeypatch.setattr(show, "counting", {})

    def race(program):
        tape = traced(program, **EXPERTS)
        expect.expect_faster("64 experts", tape, like=experts, machine="T4", full=0.02872)
        return capsys.readouterr().out

    looped = lambda x, w, b: F.relu(stack([x[e] @ w[e] for e in range(64)]) + b[:, None])  # noqa: E731
    assert race(looped) == "🏁 64 experts: same results\n"
    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    first, second, third = race(looped).splitlines()
    assert first == "🏁 64 experts: same results; 0.98144 → 0.35144 ms on T4: 29 % of the way"
    falls = "can still fall: 97 % of the cost, overhead of 64 × matmul, 1 × add, …"
    assert second.startswith(f"   {falls}: looped = lambda")
    assert third == "   67 ops of 5 µs: the machine waits for the program"
    assert expect.shares[""]["64 experts"] == pytest.approx(0.29, abs=0.01)
    assert race(lambda x, w, b: F.relu(x @ w + b[:, None])).endswith("100 % of the way\n")
    with pytest.raises(
        expect.CaseFailed, match="❌ 64 experts: off by .* where 0.00002 is allowed"
    ):
        race(lambda x, w, b: x @ w)
    with pytest.raises(TypeError, match="takes what `traced"):
        expect.expect_faster("a", [1], like=experts, machine="T4", full=1.0)


def test_a_notebook_runs_nothing_that_the_cost_has_decided(op_facts, capsys, monkeypatch):
    monkeypatch.setattr(expect, "shares", {})
    monkeypatch.setattr(show, "counting", {"op_facts": op_facts})
    for module in (knowing, judging):
        monkeypatch.setattr(module, "walk", lambda *_, **__: pytest.fail("it was run"))

    def race(program):
        tape = traced(program, **EXPERTS)
        expect.expect_faster("64 experts", tape, like=experts, machine="T4", full=0.02872)
        return capsys.readouterr().out

    as_released = race(lambda x, w, b: experts(x, w, b))
    told = "no cheaper, so its results are not compared; 0.98144 → 0.98144 ms on T4: 0 %"
    assert as_released.startswith(f"🏁 64 experts: {told}")


def test_a_further_try_runs_its_own_program_alone(op_facts, monkeypatch):
    """The given program runs once for each draw that a notebook has come to, and never again."""
    judging._kept_known.cache_clear()
    monkeypatch.setattr(show, "counting", {"op_facts": op_facts})
    runs = {}
    for module, whose in ((knowing, "given"), (judging, "yours")):

        def counted(tape, inputs, *rest, whose=whose, **how):
            runs[whose] = runs.get(whose, 0) + isinstance(inputs["x"], np.ndarray)
            return walk(tape, inputs, *rest, **how)

        monkeypatch.setattr(module, "walk", counted)

    def race(program):
        runs.clear()
        tape = traced(program, **EXPERTS)
        expect.expect_faster("64 experts", tape, like=experts, machine="T4", full=0.02872)

    with pytest.raises(expect.CaseFailed, match="off by"):
        race(lambda x, w, b: x @ w)
    assert runs == {"given": 1, "yours": 1}  # the first draw shows it
    race(lambda x, w, b: F.relu(x @ w + b[:, None]))
    assert runs == {"given": 2, "yours": 3}
    race(lambda x, w, b: F.relu(b[:, None] + x @ w))
    assert runs.get("given", 0) == 0 and runs["yours"] == 3
    monkeypatch.setattr(show, "counting", {"op_facts": lambda *a: op_facts(*a)})
    race(lambda x, w, b: F.relu(x @ w + b[:, None]))
    assert runs["given"] == 3  # counted otherwise, and so known anew


def test_a_try_that_was_interrupted_can_be_made_again(op_facts, capsys, monkeypatch):
    judging._kept_known.cache_clear()
    monkeypatch.setattr(show, "counting", {"op_facts": op_facts})
    interrupts = [KeyboardInterrupt]

    def interrupted(tape, inputs, *rest, **how):
        if interrupts and isinstance(inputs["x"], np.ndarray):
            raise interrupts.pop()
        return walk(tape, inputs, *rest, **how)

    monkeypatch.setattr(knowing, "walk", interrupted)
    tape = traced(lambda x, w, b: F.relu(x @ w + b[:, None]), **EXPERTS)
    about = {"like": experts, "machine": "T4", "full": 0.02872}
    with pytest.raises(KeyboardInterrupt):
        expect.expect_faster("64 experts", tape, **about)
    expect.expect_faster("64 experts", tape, **about)
    assert "64 experts" in capsys.readouterr().out


def test_a_race_that_takes_long_says_so_first(op_facts, capsys, monkeypatch):
    monkeypatch.setattr(show, "counting", {"op_facts": op_facts})
    for soon, says in ((1e-6, True), (1e6, False)):
        monkeypatch.setattr(expect, "_SOON", soon)
        tape = traced(lambda x, w, b: F.relu(x @ w + b[:, None]), **EXPERTS)
        expect.expect_faster("64 experts", tape, like=experts, machine="T4", full=0.02872)
        assert ("⏳ 64 experts: takes about" in capsys.readouterr().out) == says


def test_numbers_are_judged_in_one_thread_where_that_can_be_set(op_facts, monkeypatch):
    seen = []

    class Library:
        num_threads = 2

        def set_num_threads(self, count):
            seen.append(count)
            self.num_threads = count

    library = Library()
    monkeypatch.setattr(blas, "_library", lambda: library)
    given, tape = (crossed(traced(f, x=(64, 64))) for f in (from_left, from_right))
    assert not judge(tape, given, op_facts, "DESK")["wrong"]
    assert {*seen[:-1]} == {1} and library.num_threads == 2
    monkeypatch.setattr(blas, "_library", lambda: None)  # as in a browser, without threadpoolctl
    assert not judge(tape, given, op_facts, "DESK")["wrong"]


def test_the_last_cell_counts_a_share_of_the_points():
    outline = Outline("06_x", {"f": Exercise("f", tests={"test_f": 4, "test_f_2": 2})}, {})
    record = KernelRecord(outline)
    record.tests |= {"test_f": TestRun("passed", share=0.29), "test_f_2": TestRun("passed")}
    progress = measure(record, record.outline)
    [row] = progress.rows
    assert (row.state, row.earned) == ("passed", 3.16)
    assert "29 % of the way, by the visible races" in progress.text()


def test_the_table_and_the_picture_show_where_a_program_stands(op_facts, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    fast = lambda x, w, b: F.relu(x @ w + b[:, None])  # noqa: E731
    text = show.table(experts, fast, "T4", **EXPERTS)
    assert "given: 0.9814 ms on T4, 193 ops" in text and "yours: 0.02816 ms on T4, 3 ops" in text
    assert "100%  overhead  return stack([F.relu(x[e] @ w[e] + b[e])" in text
    drawn = trail.picture(experts, fast, "T4", 0.02872, **EXPERTS)
    assert "given 0.9814, yours 0.02816, full marks 0.02872, floor 0.0116" in drawn.alt


@pytest.mark.whole
def test_a_kernel_shows_points_beside_the_share_and_the_last_cell_counts_them(tmp_path):
    folder = Path(shutil.copytree(race_course.support(), tmp_path / race_course.LESSON))
    cells = run_all(folder, race_course.handed(rows=race_course.HALF))
    line = shown(cells["test_rows"]).splitlines()[0]
    found = re.search(r"ms on T4: (\d+) % of the way, ([\d.]+) of 40 points$", line)
    share, points = float(found[1]), float(found[2])
    assert share < 100 and points == pytest.approx(40 * share / 100, abs=0.2)
    assert shown(cells["test_product"]).endswith("100 % of the way, 50 of 50 points")
    table = shown(cells["where_am_i"])
    assert f"{points:g} of 40 points  {share:g} % of the way, by the visible races" in table
    assert f"So far {60 + points:g} of 100 points" in table  # the plan has 10
    assert re.search(r"misses: \d+ % of the way, 10 of 10 points", shown(cells["test_order"]))


@pytest.mark.proves("what fails while a program is traced is a line of its case")
def test_what_goes_wrong_while_tracing_is_a_line_of_its_case(tmp_path):
    folder = Path(shutil.copytree(race_course.support(), tmp_path / race_course.LESSON))
    odd = {
        "product": "def product(a, b, y):\n    return a @ (b @ y)",
        "rows": "def rows(x, b):\n    return F.relu(x + b) * float(x[0, 0])",
        "order": "def order(n, lines, line):\n    return [(0, 0, n // 0)]",
    }
    notebook = race_course.handed(**odd)
    at = next(n for n, c in enumerate(notebook.cells) if c.source == odd["product"])
    own = "def broken(a):\n    return a @ None\n\nraced = traced(broken, a=(2, 2))"
    about = {"tags": ["raises-exception"]}
    notebook.cells.insert(at, new_code_cell(own, id="own", metadata=about))
    cells = run_all(folder, notebook)
    first, line = shown(cells["own"]).splitlines()  # no traceback, in a student's own cell, too
    assert first.startswith("`broken` raised TypeError: ") and line.endswith("return a @ None")
    table = shown(cells["where_am_i"])
    for name, label, says, line in (
        (
            "product",
            "square",
            "`product` raised TypeError: product() got an unexpected keyword argument 'x': ",
            "line 1:  def product(a, b, y):",
        ),
        (
            "rows",
            "64 rows",
            "the program asks for numbers while it is traced",
            "line 2 in rows:  return F.relu(x + b) * float(x[0, 0])",
        ),
        (
            "order",
            "a small product",
            "`order` (section 1) raised ZeroDivisionError",
            "line 2 in order:  return [(0, 0, n // 0)]",
        ),
    ):
        first, *others = shown(cells[f"test_{name}"]).splitlines()
        assert first.startswith(f"❌ {label}: {says}")
        assert [each.strip() for each in others] == [line]
        assert f" points {label}: {says}" in " ".join(table.split())  # long lines are folded
