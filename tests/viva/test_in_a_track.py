"""A lesson of which a track leaves functions out: what can be asked about the rest."""

import ast

import nbformat
import pytest
from viva_class import HELPERS, LESSON, WRONG, Local, make_course, write_wrong

from proflab_classroom.viva.command import Lesson
from proflab_classroom.viva.definitions import Definitions
from proflab_classroom.viva.inputs import Input, find_inputs, with_draws
from proflab_classroom.viva.known_wrong import CACHE, Known, Mutant
from proflab_classroom.viva.questions import Draws, SheetQuestion, tell_questions, value_questions
from proflab_classroom.viva.seen import Outcome
from proflab_classroom.viva.sheet import MOST_NEW_LINES, Candidates, choose, missing_kinds
from proflab_course.cli import main
from proflab_course.grading.answer_key import make_key, read_key

DRAWS = Draws(bytes(32), ("viva", "1", "ada", LESSON))
# The class's track has no such function, and a helper of other wrong solutions calls it.
GONE = "larger = volume_of_all\n"


def lesson_with(tmp_path, wrong=WRONG, helpers=HELPERS):
    course = make_course(tmp_path, {})
    write_wrong(course, wrong, helpers)
    lesson = Lesson(course, read_key(course.source(LESSON)))
    lesson.secret = bytes(32)
    return lesson


def test_helpers_that_a_wrong_solution_does_not_need_cannot_break_it(tmp_path):
    lesson = lesson_with(tmp_path, helpers=GONE + HELPERS)
    for name, known in lesson.all_known(Local()).items():
        assert known.mutants and all(map(all, known.wrong)), name
    [squared] = [v for v in lesson.mutants["rectangle"] if v.sentence == "a square on the width"]
    assert "def product" in squared.code and "larger" not in squared.code


def test_a_wrong_solution_that_needs_what_the_track_has_not_is_left_out(tmp_path):
    other = WRONG["rectangle"].replace("width * height / 2", "volume_of_all(width) / 2")
    lesson = lesson_with(tmp_path, WRONG | {"rectangle": other})
    sentences = {v.sentence for v in lesson.mutants["rectangle"]}
    assert "half of it" not in sentences and "the sides are added" in sentences


class Failing(Local):
    """Has no outcome for anything that is defined anew."""

    def run(self, notebook, runs, turn=0, apart=False):
        found = super().run(notebook, runs, turn, apart)
        return [None if run.code else one for run, one in zip(runs, found, strict=True)]


def test_a_table_without_any_outcome_is_told_and_not_kept(tmp_path, capsys):
    lesson = lesson_with(tmp_path)
    assert all(known.is_silent for known in lesson.all_known(Failing()).values())
    told = capsys.readouterr().out
    assert "note: fence: none of its 4 known wrong solutions returns anything" in told
    assert not [*(tmp_path / CACHE).glob("*")]
    assert not any(known.is_silent for known in lesson.all_known(Local()).values())
    assert len([*(tmp_path / CACHE).glob("*")]) == 4


def asked(lesson, sandbox, cells):
    notebook = lesson.solved
    found = Candidates(sandbox, notebook, cells, lesson.all_known(sandbox), DRAWS)
    found.run_own()
    return found


def test_one_exercise_alone_is_asked_about_in_every_way(tmp_path):
    lesson = lesson_with(tmp_path)
    source = next(c for c in lesson.key.cells if c.grade_id == "test_fence").master
    source.source += "".join(f"\n# viva: fence({n}, {2 * n + 1})" for n in range(1, 7))
    cells = {"fence": lesson.solutions["fence"]}
    chosen = choose(asked(lesson, Local(), cells), {"fence": 20.0}, {})
    assert len(chosen) == 4 and {q.kind for q in chosen} == {"change", "tell", "value"}
    assert missing_kinds(chosen, 4) == ""


def test_without_wrong_solutions_the_sheet_says_which_kind_is_missing(tmp_path):
    lesson = lesson_with(tmp_path)
    chosen = choose(asked(lesson, Failing(), lesson.solutions), lesson.points, {})
    assert "tell" not in {q.kind for q in chosen}
    assert "“which input tells another program apart”" in missing_kinds(chosen, 4)


def test_values_with_a_line_changed_are_options_where_wrong_solutions_give_too_few():
    inputs, mine = [Input("f(3)")], [Outcome(3)]
    known = Known(inputs, mine, [Mutant("wrong", "", "")], [[Outcome(4)]])
    assert not [*value_questions("f", known, mine, DRAWS)]
    changed = [(Outcome(3), "with `a`"), (Outcome(5), "with `b`")]
    [question] = value_questions("f", known, mine, DRAWS, lambda one: changed)
    assert {*question.options} == {"3", "4", "5"} and "with `b`" in question.results


def test_an_empty_pool_is_refused_and_writes_nothing(tmp_path, monkeypatch, capsys):
    course = make_course(tmp_path, {})
    write_wrong(course, {})
    monkeypatch.chdir(course.root)
    monkeypatch.setattr("proflab_classroom.viva.command.Sandbox", lambda *_: Local())
    assert main(["viva", "1", "--gift", "--no-sandbox"]) == 2
    assert "no pool was written: `proflab questions 01`" in capsys.readouterr().err
    assert not (course.root / "viva").exists()


# ── what a reader can know ───────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The lesson with given names that its calls use, and with a scripted clock."""
    course = make_course(tmp_path_factory.mktemp("toy"), {})
    notebook = read_notebook_of(course)
    given = next(c for c in notebook.cells if "expect_raises" in c.source)
    given.source += (
        "\nfrom proflab.lesson import doubles\nimport machines"
        "\nTOY = (4, 6)\nTABLE = machines.TABLE\nLONG = [\n    1,\n    2,\n    3,\n    4,\n]"
    )
    tests = next(c for c in notebook.cells if 'expect("a field"' in c.source)
    tests.source = "\n".join([
        'expect("toy", fence(*TOY), 20)',
        'expect("table", fence(*TABLE), 20)',
        'expect("long", fence(*LONG[:2]), 6)',
        'expect("clock", doubles.Clock().run(fence, 2, 3), 10)',
        'expect("large", fence(4096, 1024), 10240)',
        'expect("power", fence(2**9, 1), 1026)',
        'expect("small", fence(7, 9), 32)',
    ])  # fmt: skip
    return make_key(LESSON, notebook)


def read_notebook_of(course):
    return nbformat.read(course.source(LESSON), as_version=4)


def test_a_call_comes_with_the_definitions_that_it_uses_or_is_not_asked_about(toy):
    found = {one.call: one for one in find_inputs(toy, "fence")}
    assert found["fence(*TOY)"].given == ("TOY = (4, 6)",)
    assert not {"fence(*TABLE)", "fence(*LONG[:2])"} & {*found}
    assert Definitions.of(toy).needed("fence(*TOY)", {"fence"}) == ("TOY = (4, 6)",)


def test_calls_without_helpers_of_test_cells_and_with_small_numbers_come_first(toy):
    calls = [one.call for one in find_inputs(toy, "fence")]
    assert calls[:2] == ["fence(*TOY)", "fence(7, 9)"]
    assert {*calls[2:]} == {"fence(4096, 1024)", "fence(2 ** 9, 1)"}


def is_number(node):
    return isinstance(node, ast.Constant)


def test_of_large_numbers_the_halves_are_asked_about():
    one = Input("f(768, 12, 3072)")
    reduced = with_draws([one], bytes(32), "x")[1]
    assert reduced.call == "f(48, 12, 48)" and reduced.is_small
    small = with_draws([Input("f(7, 9)")], bytes(32), "x")
    numbers = [n.value for each in small for n in ast.walk(ast.parse(each.call)) if is_number(n)]
    assert max(numbers) < 20


def test_a_question_prints_its_definitions_once():
    inputs = [Input(f"f(TOY, {n})", given=("TOY = (4, 6)",)) for n in range(4)]
    mine = [Outcome(n) for n in range(4)]
    mutant = Mutant("wrong", "def f(): ...", "def f(): ...")
    known = Known(inputs, mine, [mutant], [[Outcome(9), *mine[1:]]])
    [question] = tell_questions("f", known, mine, DRAWS)
    assert question.text == "TOY = (4, 6)\ndef f(): ..."
    known = Known(inputs, mine, [mutant] * 3, [[Outcome(n)] * 4 for n in (7, 8, 9)])
    question = next(value_questions("f", known, mine, DRAWS))
    assert question.stem.startswith("With the definitions below: what does your `f(TOY, ")
    assert question.text == "TOY = (4, 6)"


def test_a_sheet_has_few_lines_that_are_new_to_its_reader(tmp_path):
    lines = [f"    step{n} = {n}" for n in range(12)]
    wordy = "".join(
        "\n".join([f"\nwrong (value): wordy {name}", *lines, "    return 7\n"])
        for name in ("one", "two", "three")
    )
    more = {name: wordy + WRONG[name] for name in ("fence", "box", "tiles")}
    lesson = lesson_with(tmp_path, WRONG | more)
    chosen = choose(asked(lesson, Local(), lesson.solutions), lesson.points, {})
    assert len(chosen) == 4
    assert sum(len(q.text.splitlines()) for q in chosen) <= MOST_NEW_LINES
    assert SheetQuestion("f", "", (), 0, text="a\nb", kind="tell").new_lines == 2
