"""The rules by which questions are made, chosen and verified at last."""

from collections import Counter

import pytest
from viva_class import LESSON, SOLUTIONS, Local, make_course

from proflab_classroom.viva.command import Lesson
from proflab_classroom.viva.execute import Notebook, Run
from proflab_classroom.viva.inputs import Input
from proflab_classroom.viva.known_wrong import Known, Mutant
from proflab_classroom.viva.questions import (
    Draws,
    are_alike,
    change_questions,
    tell_questions,
    value_questions,
)
from proflab_classroom.viva.seen import Outcome, differ
from proflab_classroom.viva.sheet import MOST_LINES, Candidates, choose, in_order, printed
from proflab_course.grading.answer_key import read_key

DRAWS = Draws(bytes(32), ("viva", "1", "ada", LESSON))
KINDS = ("value", "tell", "change")


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("questions"), {})
    lesson = Lesson(course, read_key(course.source(LESSON)))
    lesson.secret = bytes(32)
    return lesson


def candidates(lesson, sandbox=None, draws=DRAWS, **codes):
    """Return what may be asked of a hand-in with these functions."""
    cells = lesson.solutions | codes
    notebook = Notebook(tuple(cells.values()), lesson.solved.submission)
    found = Candidates(sandbox or Local(), notebook, cells, lesson.all_known(Local()), draws)
    found.run_own()
    return found


def every(found):
    return [q for name in SOLUTIONS for kind in KINDS for q in found.of(name, kind)]


def test_rule_1_what_depends_on_earlier_calls_is_not_asked_about(lesson):
    counting = "calls = []\ndef fence(w, h):\n    calls.append(w)\n    return 2 * (w + h) + SEEN()"
    before = "import math\ndef SEEN():\n    math.seen = getattr(math, 'seen', 0) + 1\n"
    before += "    return math.seen"
    found = candidates(lesson, fence=f"{before}\n{counting}")
    assert found.working.count("fence") <= 1
    assert sum(outcome is not None for outcome in found.own["fence"]) <= 1
    assert all(outcome is not None for outcome in found.own["box"])


def test_rule_3_exactly_one_option_is_right(lesson):
    questions = every(candidates(lesson))
    assert {q.kind for q in questions} == set(KINDS)
    for q in questions:
        (right,) = [n for n in range(len(q.options)) if n == q.key]
        outcomes = Local().run(Notebook(tuple(lesson.solutions.values()), None), q.runs)
        assert q.holds(outcomes)
        if q.kind == "tell":
            telling = [differ(*pair) for pair in zip(outcomes[::2], outcomes[1::2], strict=True)]
            assert telling == [n == right for n in range(len(q.options))]
        if q.kind == "change":
            told = outcomes[1:][right]
            others = [o for n, o in enumerate(outcomes[1:]) if n != right]
            assert all(differ(told, other) for other in others)


def test_rule_3_a_change_is_no_key_if_another_that_was_tried_gives_the_same():
    one, mine = Input("f(1)"), Outcome(1)
    code = "def f(x):\n    a = x\n    b = x\n    c = x\n    return a"
    from proflab_classroom.viva.changes import Change

    made = [Change(n, "x", f"changed {n}", code) for n in range(2, 6)]
    values = [7, 7, 8, 9]
    tried = [(one, mine, [(c, Outcome(v)) for c, v in zip(made, values, strict=True)])]
    for seed in "abcdef":
        draws = Draws(bytes(32), (seed,))
        for q in change_questions("f", tried, draws, lambda line: line):
            assert q.options[q.key] in ("line 4: changed 4", "line 5: changed 5")


def test_rule_4_values_and_mutants_that_are_long_are_not_printed():
    inputs = [Input(f"f({n})") for n in range(6)]
    long = [Outcome("x" * 60 + str(n) * 20) for n in range(6)]
    short = Mutant("is wrong", "def f(x): ...", "def f(x): ...")
    wrong = [[Outcome(n + 100 * k) for n in range(6)] for k in range(4)]
    known = Known(inputs, long, [short] * 4, wrong)
    assert list(value_questions("f", known, long, DRAWS)) == []
    numbers = [Outcome(n) for n in range(5)] + [Outcome(99)]
    wrong = [[Outcome(n) for n in range(6)]]
    wordy = Mutant("is long", "def f(x): ...", "\n".join(["x = 1"] * 19))
    for mutant, count in ((short, 1), (wordy, 0)):
        known = Known(inputs, numbers, [mutant], wrong)
        assert len(list(tell_questions("f", known, numbers, DRAWS))) == count


def test_rule_4_two_options_never_look_alike():
    assert are_alike(("line 1: x = 1", "line 1:  x=1", "line 2: y"))
    assert not are_alike(("f(1)", "a = 2\nf(1)"))


def test_rule_5_mutants_whose_fault_is_form_are_not_read(lesson):
    sentences = {v.sentence for v in lesson.mutants["rectangle"]}
    assert sentences == {"the sides are added", "a square on the width", "half of it"}


def test_rule_5_at_most_one_key_is_an_error(lesson):
    picky = {name: f"def {name}(*sizes):\n    raise ValueError('no')" for name in ("box", "fence")}
    assert candidates(lesson, **picky).working == ["rectangle", "tiles"]
    for seed in range(5):
        found = candidates(lesson, draws=DRAWS.at(str(seed)))
        assert sum(q.error for q in choose(found, lesson.points, {})) <= 1


def test_rule_6_a_sheet_has_one_value_two_tells_and_one_change(lesson):
    chosen = choose(candidates(lesson), lesson.points, {})
    assert Counter(q.kind for q in chosen) == {"value": 1, "tell": 2, "change": 1}
    assert len({q.name for q in chosen}) >= 3
    shown = [one for q in chosen for one in q.inputs]
    assert len(shown) == len(set(shown))


def test_rule_6_no_row_is_made_for_a_sheet_that_is_full(lesson):
    def rows():
        raise AssertionError("a race would be executed for nothing")

    assert len(choose(candidates(lesson), lesson.points, {}, 2, rows)) == 2


def test_rule_6_lost_points_come_first_then_more_points(lesson):
    order = in_order(list(SOLUTIONS), lesson.points, {"fence": 20.0}, DRAWS)
    assert order[:2] == ["fence", "rectangle"]
    assert set(order[2:]) == {"box", "tiles"}


def test_rule_7_the_same_words_give_the_same_sheet_and_other_words_another(lesson):
    def asked(draws):
        chosen = choose(candidates(lesson, draws=draws), lesson.points, {})
        return [(q.stem, q.options, q.key) for q in chosen]

    assert asked(DRAWS) == asked(DRAWS)
    assert asked(DRAWS) != asked(Draws(bytes(32), ("viva", "2", "ada", LESSON)))
    assert asked(DRAWS) != asked(Draws(bytes(31) + b"1", DRAWS.words))


def test_rule_8_a_key_that_does_not_come_out_again_is_dropped(lesson):
    first = choose(candidates(lesson), lesson.points, {})
    for question in first:
        call = question.runs[0].one.call
        again = choose(candidates(lesson, Local({call: 123_456})), lesson.points, {})
        assert question.stem not in [q.stem for q in again if q.options == question.options]
        assert len(again) == len(first)


def test_two_students_with_different_code_get_different_sheets(lesson):
    other = "def fence(a, b):\n    sides = [a, b, a, b]\n    return sum(sides)"
    sheets = []
    for codes in ({}, {"fence": other}):
        chosen = choose(candidates(lesson, **codes), lesson.points, {"fence": 1.0})
        sheets.append([(q.stem, q.options) for q in chosen])
    assert sheets[0] != sheets[1]


def test_a_wrong_function_is_asked_about_and_the_key_page_has_the_right_value(lesson):
    found = candidates(lesson, fence="def fence(w, h):\n    return w * h + 1")
    for q in found.of("fence", "value"):
        (outcome,) = Local().run(found.notebook, q.runs)
        assert q.options[q.key] == f"{outcome.value:,}"
        assert q.note.startswith("A right fence returns ")


def test_an_unwritten_function_is_not_asked_about(lesson):
    found = candidates(lesson, fence="def fence(w, h):\n    raise NotImplementedError()")
    assert "fence" not in found.working


def test_a_docstring_is_not_printed_and_lines_keep_their_numbers():
    code = 'def f(x):\n    """Say.\n\n    More.\n    """\n\n    y = x\n    return y'
    function = printed("f", code)
    assert function.lines == ("def f(x):", "    y = x", "    return y")
    assert function.numbers == {1: 1, 7: 2, 8: 3}
    long = printed("g", "def g(x):\n" + "    x += 1\n" * 60)
    assert (len(long.lines), long.cut) == (MOST_LINES, 61 - MOST_LINES)


def test_inputs_that_the_solution_cannot_take_are_out(lesson):
    known = lesson.known(Local(), "rectangle")
    for one, right in zip(known.inputs, known.right, strict=True):
        assert bool(right.raised) == one.error
    assert Local().run(lesson.solved, [Run(Input("fence(1)"))])[0].raised == "TypeError"
