"""The inputs that a sheet may show, and draws of them."""

import pytest
from viva_class import LESSON, make_course

from proflab_classroom.viva.inputs import Input, exercises, find_inputs, with_draws
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import read_key


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return read_key(make_course(tmp_path_factory.mktemp("inputs"), {}).source(LESSON))


def texts(inputs):
    return [one.text for one in inputs]


def test_exercises_come_with_their_points(key):
    assert exercises(key) == {"rectangle": 30, "box": 25, "fence": 20, "tiles": 25}


def test_calls_come_from_cases_and_docstrings_with_the_set_up_they_need(key):
    assert texts(find_inputs(key, "box")) == [
        "box(2, 2, 2)",
        "side = 3\nbox(side, 4, 5)",
        "box(2, 3, 4)",
    ]


def test_hidden_inputs_are_for_after_the_deadline(key):
    assert not any("7919" in text for text in texts(find_inputs(key, "rectangle")))
    assert "rectangle(6, 7919)" in texts(find_inputs(key, "rectangle", hidden=True))


def test_a_case_that_asks_for_an_error_is_known_as_such(key):
    assert [i.text for i in find_inputs(key, "rectangle") if i.error] == ["rectangle(-1, 2)"]


def with_test_cell(key, code):
    """Return the inputs of `fence` with this test cell."""
    from proflab_course.cases.reader import split

    before, key.tests["test_fence"] = key.tests["test_fence"], split(code, "test_fence")
    try:
        return texts(find_inputs(key, "fence"))
    finally:
        key.tests["test_fence"] = before


def with_test(key, code):
    """Return the inputs of `fence` after a change of its test cell."""
    cell = key.cell("test_fence")
    before = cell.master.source
    cell.master.source = f"{before}\n{code}"
    try:
        return texts(find_inputs(key, "fence"))
    finally:
        cell.master.source = before


def test_of_a_tuple_only_what_is_needed_comes_along(key):
    cases = "a, b, c = 1, (2, 3), 4\nexpect('x', fence(*b), 10)"
    assert with_test_cell(key, cases) == ["b = (2, 3)\nfence(*b)"]


def test_a_written_input_comes_first(key):
    assert with_test(key, "# viva: w = 5; fence(w, 6)")[0] == "w = 5\nfence(w, 6)"
    assert with_test(key, "# viva: fence(2e9, 25e11)")[0] == "fence(2e9, 25e11)"
    assert with_test(key, "# viva: fence(7,\n#     8)\n# other")[0] == "fence(7, 8)"


def test_a_written_input_that_is_not_python_is_told_with_its_cell(key):
    told = r"01_small, cell test_fence: `# viva: fence\(3,` is not Python"
    with pytest.raises(CourseError, match=told):
        with_test(key, "# viva: fence(3,")


def test_rule_4_longer_inputs_are_left_out(key):
    long = f"fence({'1 + ' * 30}1, 2)"
    assert len(long) > 120
    assert long not in with_test(key, f"# viva: {long}")


@pytest.mark.parametrize(
    "written, shown",
    [
        ("(lambda a: fence(a, 2))(7)", "fence(7, 2)"),
        ("(lambda *sides: fence(*sides))(7, 8)", "fence(7, 8)"),
        ("(lambda more: fence(**{'w': 1} | more))({'h': 2})", "fence(**{'w': 1} | {'h': 2})"),
        ("(lambda *sides: fence(len(sides), 1))(7, 8)", "fence(len((7, 8)), 1)"),
    ],
)
def test_a_tables_lambda_is_not_printed(key, written, shown):
    assert with_test(key, f"# viva: {written}")[0] == shown


def test_draws_move_numbers_and_nothing_else():
    one = Input("f(3, 'a1', [400, 0.5], table[2], 10**9)", ("n = 12",))
    drawn = with_draws([one], bytes(32), "x")
    assert drawn[0] == one
    assert len(drawn) == 4
    for each in drawn[1:]:
        assert "'a1'" in each.call
        assert "table[2]" in each.call
        assert "10 ** 9" in each.call
    assert drawn == with_draws([one], bytes(32), "x")
    assert drawn != with_draws([one], bytes(31) + b"1", "x")


def test_small_numbers_move_by_little_and_stay_positive():
    drawn = with_draws([Input(f"f(1, 15, {n})") for n in range(100, 160)], bytes(32), "x")
    for each in drawn:
        one, fifteen, large = eval(each.call, {"f": lambda *numbers: numbers})
        assert 1 <= one <= 4
        assert 13 <= fifteen <= 18
        assert 50 <= large <= 320


def test_errors_are_not_drawn():
    one = Input("f(-1)", error=True)
    assert with_draws([one], bytes(32), "x") == [one]
