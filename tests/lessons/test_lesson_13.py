"""Lesson 13: the capstone's program, its eight faults, what is drawn of them, and forgeries."""

import copy
import itertools
import math
import random
import runpy
import textwrap
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from cohort.run import solved

import proflab_course.build.draw as drawing
from proflab.lesson.race import MACHINES, Refused, traced
from proflab.lesson.race.cost import cost
from proflab.lesson.race.idle import at_work
from proflab.lesson.race.judge import judge, share_of
from proflab.lesson.race.known import draw, floor_of
from proflab.lesson.race.step_rules import _MUCH, _PART_OF_THE_WAY
from proflab.lesson.race.tape import inputs_of
from proflab_course.build.draw import drawn
from proflab_course.build.make import support_files
from proflab_course.course.notebook import read_module

FOLDER = Path(__file__).parents[2] / "modules" / "13_faster"
DRAW = runpy.run_path(str(FOLDER / "draw.py"))
FAULTS, LARGE, SMALL = DRAW["FAULTS"], DRAW["LARGE"], DRAW["SMALL"]
CLASS_NORMS = DRAW["OF_THE_CLASS"]["norm"]
VISIBLE = (8, 64)
DRAWS = {"tokens": 192, "weight": "fan-in"}


def run(text):
    scope = {}
    exec(compile(text, "program.py", "exec"), scope)
    return scope


def tape(scope, name="slow", shape=VISIBLE):
    return traced(scope[name], model=scope["make_model"], tokens=("int64", shape))


@cache
def ms(faults):
    """What the program with these faults costs on DESK, at the visible size."""
    scope = run(DRAW["program"](faults, DRAW["SIZES"]))
    op_facts = solved("lesson_13").scope["op_facts"]
    return cost(list(tape(scope)), MACHINES["DESK"], op_facts).ms


def without(*mended):
    return tuple(fault for fault in FAULTS if fault not in mended)


def share(faults, given=FAULTS):
    return share_of({"ms": ms(faults), "given": ms(given)}, ms(()))


def table():
    """The lines of the table of faults: each mended alone, and each left alone in the end."""
    yield f"given {ms(FAULTS):.3f} ms, all mended {ms(()):.3f} ms"
    for fault in FAULTS:
        alone, lost = share(without(fault)), 1 - share((fault,))
        yield f"{fault:<10} alone {ms(without(fault)):7.3f} ms ({alone:.2f})  left {lost:.2f}"


def test_the_program_that_lies_there_is_the_one_that_is_drawn_without_a_seed():
    text = (FOLDER / "program.py").read_text(encoding="utf-8")
    assert text == DRAW["program"](DRAW["CHOSEN"], DRAW["SIZES"])
    assert text.count("\n") < 120 and max(map(len, text.splitlines())) <= 100


def test_students_get_the_program_and_its_counts_and_nothing_that_draws_or_solves():
    shipped = {path.name for path in support_files(FOLDER)}
    assert shipped == {"counting.py", "program.py"}
    written = {path.name for path in FOLDER.glob("*.py")} - shipped
    assert written == {"13_faster.py", "draw.py", "draw_floor.py", "draw_solutions.py"}


@pytest.mark.whole
def test_each_fault_has_its_place_in_the_table():
    """`pytest -s` prints it."""
    print("", *table(), sep="\n")
    assert ms(FAULTS) / ms(()) == pytest.approx(11.5, abs=0.2)
    for fault in LARGE:
        assert 0.1 < share(without(fault)) < 0.3
    for fault in SMALL:
        assert 0 <= share(without(fault)) < 0.08
    # what a change is worth depends on what was mended before
    assert share(without("gelu")) < 0.08 and 1 - share(("gelu",)) > 0.2
    assert 1 - share(("heads",)) < share(without("heads"))


def test_three_good_ideas_are_most_of_the_way_and_not_all():
    best = ("samples", "attention", "gelu")  # of all sets of three and, with two more, of five
    middling = ("samples", "last", "lowrank")
    found = [share(without(*each)) for each in (best, middling, (*best, "norm", "last"))]
    assert found == pytest.approx([0.69, 0.33, 0.89], abs=0.01)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_with_and_without_a_fault_returns_the_same(fault):
    tapes = [
        list(tape(run(DRAW["program"](faults, DRAW["SIZES"])), shape=(2, 9)))
        for faults in (FAULTS, without(fault))
    ]
    found = judge(*reversed(tapes), None, "DESK", draws=DRAWS)
    assert found["wrong"] == "" and found["error"] < 5e-6


@pytest.mark.parametrize("norm", CLASS_NORMS)
def test_each_fault_costs_something_with_each_norm(norm):
    design = DRAW["DESIGN"] | {"norm": norm}
    op_facts = solved("lesson_13").scope["op_facts"]

    def paid(*faults):
        scope = run(DRAW["program"](faults, DRAW["SIZES"], design))
        return cost(list(tape(scope)), MACHINES["DESK"], op_facts).ms

    assert all(paid(fault) > 1.005 * paid() for fault in FAULTS)


def test_no_draw_is_much_shorter_than_another():
    short, long = ("samples", "heads", "norm", "onehot", "lowrank"), without("heads", "onehot")
    assert ms(short) / ms(()) > 3.4 and ms(long) / ms(()) < 8.5


def test_a_draw_has_five_faults_two_of_them_large_and_can_be_traced():
    sizes, sets = set(), set()
    for seed in range(12):
        found = drawn(FOLDER, seed.to_bytes(32, "big"))
        scope = run(found.files["program.py"])
        sizes.add((scope["WORDS"], scope["WIDTH"], scope["BLOCKS"]))
        sets.add(found.files["program.py"])
        assert scope["WORDS"] >= DRAWS["tokens"]
        for shapes in found.shapes.values():
            texts, length = shapes["tokens"][1]
            assert texts * length <= 8 * 96 and length <= scope["LENGTH"]
    assert len(sizes) > 6 and len(sets) > 6


def test_the_largest_program_that_can_be_drawn_is_a_program_that_can_be_raced():
    sizes = {"WORDS": 320, "WIDTH": 80, "HEADS": 4, "BLOCKS": 4}
    small = ("gelu", "norm", "onehot")
    for large in (("samples", "heads"), ("samples", "attention")):
        scope = run(DRAW["program"](large + small, sizes))
        assert len(tape(scope, shape=(18, 15))) < 10_000


def test_a_student_has_faults_of_their_own_and_the_sizes_of_the_class():
    secret = random.Random(1).randbytes(32)
    names = [f"student {n}" for n in range(20)]
    found = [drawn(FOLDER, secret, name) for name in names]
    first_lines = {each.files["program.py"].split("class Block")[0][-60:] for each in found}
    assert len(first_lines) == 1 and all(each.shapes == found[0].shapes for each in found)
    assert len({each.files["program.py"] for each in found}) > 8
    assert drawn(FOLDER, secret, names[3]) == found[3]


# ── a classmate's file ──

SMALL_SHAPE = (2, 9)
CLASS, STUDENT = DRAW["OF_THE_CLASS"], DRAW["OF_A_STUDENT"]


def solved_for(scope, body):
    """The drawn program's scope with a `faster` of this body in it."""
    helpers = {name: solved("lesson_13").scope[name] for name in ("proflab", "F")}
    scope = dict(scope) | helpers
    exec("def faster(model, tokens):\n" + textwrap.indent(body, "    "), scope)
    return scope


def right(given, scope, name="faster"):
    """Whether a program answers as the given one, at a small shape."""
    try:
        found = judge(list(tape(scope, name, SMALL_SHAPE)), given, None, "DESK", draws=DRAWS)
    except Exception:  # it asks the model for what only another one has
        return False
    return found.get("wrong") == ""


def designs():
    choices = {**CLASS, **STUDENT}
    for values in itertools.product(*choices.values()):
        design = dict(zip(choices, values, strict=True)) | {"groups": DRAW["GROUPS"]}
        if (design["parts"], design["place"]) != ("side by side", "after"):
            yield design


def solutions(design):
    return DRAW["solutions"](DRAW["CHOSEN"], design)


def tried(design):
    """Whether the program without faults, and the solution, answer as the one with all faults."""
    slow, quick = (run(DRAW["program"](f, DRAW["SIZES"], design)) for f in (FAULTS, ()))
    given = list(tape(slow, shape=SMALL_SHAPE))
    return right(given, quick, "slow"), right(given, solved_for(slow, solutions(design)["faster"]))


@pytest.mark.whole
def test_each_choice_of_the_design_can_be_solved():
    usual = DRAW["DESIGN"] | {"groups": DRAW["GROUPS"]}
    singles = [DRAW["DESIGN"]]
    singles += [usual | {name: v} for name, values in {**CLASS, **STUDENT}.items() for v in values]
    assert [design for design in singles if tried(design) != (True, True)] == []


@pytest.mark.soak
def test_every_design_can_be_solved():
    assert [design for design in designs() if tried(design) != (True, True)] == []


def test_the_lesson_s_own_solution_is_the_one_without_a_seed():
    text = (FOLDER / "13_faster.py").read_text(encoding="utf-8")
    for body in DRAW["solutions"](DRAW["CHOSEN"]).values():
        assert textwrap.indent(body, "    ") in text


def matrix(count):
    """Which draw's solution is right for which draw's program, and each draw's design."""
    found = [drawn(FOLDER, seed.to_bytes(32, "big")) for seed in range(count)]
    scopes = [run(each.files["program.py"]) for each in found]
    given = [list(tape(scope, shape=SMALL_SHAPE)) for scope in scopes]
    bodies = [each.solutions["faster"] for each in found]
    rows = [
        [right(tape_of, solved_for(scope, body)) for body in bodies]
        for tape_of, scope in zip(given, scopes, strict=True)
    ]
    return rows, bodies


@pytest.mark.whole
@pytest.mark.parametrize("count", [6, pytest.param(24, marks=pytest.mark.soak)])
def test_a_solution_is_right_for_its_own_design_alone(count):
    rows, bodies = matrix(count)
    assert len(set(bodies)) > 0.8 * count
    assert rows == [[body == other for body in bodies] for other in bodies]


def test_students_of_a_class_pay_alike_and_answer_differently():
    secret = random.Random(2).randbytes(32)
    found = [drawn(FOLDER, secret, f"student {n}") for n in range(30)]
    bodies = {each.solutions["faster"]: each for each in found}
    assert len(bodies) > 15
    op_facts, costs = solved("lesson_13").scope["op_facts"], []
    for body, each in bodies.items():
        scope = solved_for(run(each.files["program.py"]), body)
        costs.append(cost(list(tape(scope, "faster")), MACHINES["DESK"], op_facts).ms)
    assert max(costs) < 1.04 * min(costs)  # less than what full marks leave (build/draw.py)


def test_no_best_cost_is_claimed_for_a_program_that_is_drawn(monkeypatch, tmp_path):
    lesson = read_module(FOLDER / "13_faster.py", "13_faster")
    assert any("best=" in cell.source for cell in lesson.named("test"))
    labels = ("8 texts of 64 tokens", "many short texts", "a few long texts")
    raced = {("test_faster", label): {"ms": 3.0, "wrong": ""} for label in labels}
    run = SimpleNamespace(conclude=lambda: None, raced=raced)
    monkeypatch.setattr(drawing, "solved_run", lambda *_: run)
    monkeypatch.setattr(drawing, "execute", lambda runs, jobs: runs)
    drawing.set_full_marks(lesson, tmp_path)
    text = "\n".join(cell.source for cell in lesson.cells)
    assert "best=" not in text
    assert text.count("full=3.135") == 4  # three cases, and the picture of the first


def test_the_lesson_says_the_floor_that_follows_from_its_sizes():
    answers = [a for test in solved("lesson_13").tests["faster"] for _, a in test.answers]
    for answer, shape in zip(answers, (VISIBLE, (17, 21), (3, 93)), strict=True):
        due = DRAW["floor_ms"](DRAW["SIZES"], DRAW["DESIGN"], *shape)
        floor = answer.held.options["floor"]
        assert due * 0.999 < floor <= due < (answer.held.best or answer.held.full)


def test_a_floor_is_made_of_products_by_hand():
    sizes = {"WORDS": 100, "WIDTH": 16, "HEADS": 4, "BLOCKS": 2}
    design = DRAW["DESIGN"] | {"groups": 2, "memory": True}
    # two texts of 300 tokens: the first block has a row for each of 100 words and 300 places
    seen = 256 + 128 + min(128 + 8 * 16, 8 * 4 * 16)
    first = 400 * seen + 600 * (8 * 16 + 8 * 256) + 400 * 256
    last = 600 * 2 * min(4 * 16, 128) + 2 * (256 + 8 * 16 + 8 * 256 + 256) + 2 * 16 * 100
    pairs = 2 * 4 * (300 * 301 // 2) * (4 + 4)
    due = 2 * (first + last + pairs) / 100e9 * 1e3 + 0.005 * (2 * 6 + 3)
    assert DRAW["floor_ms"](sizes, design, 2, 300) == pytest.approx(due)


@pytest.mark.parametrize("seed", range(6))
def test_a_drawn_floor_is_below_what_solves_the_draw_and_above_its_bytes(seed):
    found = drawn(FOLDER, seed.to_bytes(32, "big"))
    scope = solved_for(run(found.files["program.py"]), found.solutions["faster"])
    op_facts = solved("lesson_13").scope["op_facts"]
    shapes = {"8 texts of 64 tokens": VISIBLE} | {
        label: shape["tokens"][1] for label, shape in found.shapes.items()
    }
    assert shapes.keys() == found.floors.keys()
    for label, shape in shapes.items():
        paid = cost(list(tape(scope, "faster", shape)), MACHINES["DESK"], op_facts).ms
        least = floor_of(list(tape(scope, "slow", shape)), MACHINES["DESK"])
        assert least < found.floors[label] < paid < 4 * found.floors[label]


@pytest.mark.whole
@pytest.mark.parametrize("seed", [3, 7, 14])  # of 24 draws, those where it is most
def test_an_eps_that_changes_no_digit_is_too_little_to_decide_on_a_step(seed):
    """Count no op in a log whose `variance + eps` gives back the variance."""
    given = tape(run(drawn(FOLDER, seed.to_bytes(32, "big")).files["program.py"]))
    paid = cost(list(given), MACHINES["DESK"], solved("lesson_13").scope["op_facts"])
    needed = at_work(list(given), draw(inputs_of(given), 1, "normal", DRAWS), paid.walk)
    idle = [row for row in paid.rows if row["at"] not in needed]
    assert {row["op"] for row in idle} == {"add"}
    way = math.log(paid.ms / (paid.ms - sum(row["ms"] for row in idle))) / math.log(_MUCH)
    assert way < _PART_OF_THE_WAY / 5


def test_a_class_and_all_its_students_have_one_floor():
    secret = random.Random(3).randbytes(32)
    floors = drawn(FOLDER, secret).floors
    assert [drawn(FOLDER, secret, f"student {n}").floors for n in range(10)] == [floors] * 10


def test_a_drawn_floor_is_put_into_races_log_and_picture():
    lesson = read_module(FOLDER / "13_faster.py", "13_faster")
    [cell] = [cell for cell in lesson.named("test") if "expect_faster" in cell.source]
    drawing.set_floor(lesson, cell, "8 texts of 64 tokens", 1.5)
    drawing.set_floor(lesson, cell, "many short texts", 0.8)
    text = "\n".join(cell.source for cell in lesson.cells)
    assert text.count("floor=1.5") == 8  # the race, the log and its five cases, the picture
    assert text.count("floor=0.8") == 1 and "floor=1.034" not in text


# ── what a hand-in may try ──


@pytest.fixture(scope="module")
def given():
    return list(tape(solved("lesson_13").scope))


@pytest.fixture
def worth(given):
    """Return what the grader says of a tape: `judge` is all that it runs."""
    op_facts = solved("lesson_13").scope["op_facts"]
    return partial(judge, given=given, op_facts=op_facts, machine="DESK", draws=DRAWS)


def test_a_smaller_model_is_another_race(worth):
    small = DRAW["SIZES"] | {"BLOCKS": 1}
    found = worth(list(tape(run(DRAW["program"]((), small)))))
    assert found["refused"] == "it was traced with other inputs than this case has"


def test_fewer_tokens_are_another_race(worth):
    found = worth(list(tape(solved("lesson_13").scope, "faster", (2, 8))))
    assert "other inputs" in found["refused"]


def test_weights_cannot_be_multiplied_beforehand(worth):
    scope = dict(solved("lesson_13").scope)
    model = scope["make_model"]()
    ready = [block.up.weight @ block.down.weight for block in model.blocks]  # of other weights

    def prepared(model, tokens):
        x = scope["faster"](model, tokens)
        return x + sum((each.sum() for each in ready[1:]), ready[0].sum())

    found = worth(list(tape(scope | {"prepared": prepared}, "prepared")))
    assert found["wrong"].startswith("off by")


def test_a_table_of_answers_does_not_fit_into_a_tape(worth):
    scope = dict(solved("lesson_13").scope)

    def known(model, tokens):
        table = solved("lesson_13").scope["proflab"].randn(1200, 256)
        return table[:8] + 0 * table.sum()

    with pytest.raises(Refused, match="random|nowhere|constant"):
        found = worth(list(tape(scope | {"known": known}, "known")))
        raise Refused(found.get("refused") or f"constant: {found['wrong']}")


def test_a_tape_without_its_costly_instructions_is_no_program(worth):
    tape_of = list(tape(solved("lesson_13").scope, "faster"))
    for at in (n for n, line in enumerate(tape_of) if line[0] == "op" and line[1] == "linear"):
        forged = copy.deepcopy(tape_of)
        del forged[at]
        found = worth(forged)
        assert "refused" in found or found["wrong"]


def test_the_same_tape_has_the_same_share_each_time(worth):
    tape_of = list(tape(solved("lesson_13").scope, "faster"))
    found = [share_of(worth(tape_of), 2.466) for _ in range(3)]
    assert len(set(found)) == 1 and not math.isnan(found[0])


def test_a_program_is_tried_on_shapes_that_its_race_does_not_show():
    counting = runpy.run_path(str(FOLDER / "counting.py"))
    scope = run(DRAW["program"]((), DRAW["SIZES"]))
    slow, told = scope["slow"], partial(counting["on_other_shapes"], model=scope["make_model"])
    assert told(slow, slow) == "1 × 1 tokens: same results\n5 × 93 tokens: same results"
    lost = told(lambda model, tokens: slow(model, tokens).squeeze(), slow)
    first, _ = lost.splitlines()
    assert first == "1 × 1 tokens: ❌ got (256,), expected a Tensor of shape (1, 256)"
    assert "5 × 93 tokens: ❌ off by 1" in told(lambda *given: slow(*given) * 2, slow)
    refused = told(lambda model, tokens: slow(model, tokens.reshape(8, -1)), slow)
    assert refused.startswith("1 × 1 tokens: ❌ ValueError: reshape: 1 element")
