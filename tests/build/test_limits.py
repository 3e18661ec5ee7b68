"""Limit what a lesson may ask: words, cases, points, names, lines."""

import re
from functools import cache

import pytest
from cohort.run import ROOT
from mini_course import FIRST, SECOND, changed, exercise, given, graded, make_course, markdown
from mini_course import read_lesson as read

from proflab_course.build import limits
from proflab_course.build.command import build
from proflab_course.build.limits import LONGER, RULES, above, limit_mistakes, untimed_sections
from proflab_course.build.measures import measured
from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.sections import prose_words
from proflab_course.tracks.read import DEFAULT, Tracks

PLACE = "modules/01_first/01_first.py"


def mistakes(folder, text: str) -> list[str]:
    """Return what limits say of a lesson."""
    lesson = read(folder, text)
    return list(limit_mistakes(lesson, measured(lesson, folder / "modules/01_first")))


def test_only_what_a_student_meets_is_counted(tmp_path):
    words = prose_words(read(tmp_path, FIRST))
    answer = "# ### BEGIN SOLUTION\n# An answer.\n" + "# A word.\n" * 9 + "# ### END SOLUTION\n"
    own = FIRST.replace(
        "# An answer.\n", "# ### BEGIN SOLUTION\n# An answer.\n# ### END SOLUTION\n"
    )
    ours = FIRST.replace("# An answer.\n", answer)
    assert prose_words(read(tmp_path, own)) == prose_words(read(tmp_path, ours))
    longer = FIRST.replace("# Five points for", "# A word.\n" * 50 + "# Five points for")
    assert longer.count("\n") == FIRST.count("\n") + 50
    assert prose_words(read(tmp_path, longer)) == words
    more = FIRST + markdown("[One](https://example.org/a/b) two, three.\n\nfour")
    assert prose_words(read(tmp_path, more)) == words + 4


TEXT = '"' + "a" * 91 + '"'  # makes a line of 100 characters: no formatter shortens a text
SQUARE = """
def {name}(side):
    \"\"\"{docstring}

    >>> {name}(9)
    81
    \"\"\"
    ### BEGIN SOLUTION
    return side**2
    ### END SOLUTION
"""
PLAIN = FIRST.replace(', "points": 60', ', "points": 8').replace(', "points": 20', ', "points": 8')


for demo in ("for side in (1, 2, 3)", "from proflab.lesson import guesses"):
    assert demo in PLAIN
    PLAIN = PLAIN.replace(demo, f"# Shows areas.\n{demo}")
for call, value in (("area(2, 5)", 10), ("circle(0)", 0.0)):
    summary = (
        f'"""The area of a {"rectangle; ValueError for a negative side" if value else "circle"}.'
    )
    assert summary in PLAIN
    PLAIN = PLAIN.replace(f'{summary}"""', f'{summary}\n\n    >>> {call}\n    {value}\n    """')


def written(name: str, cells: list[tuple[str, float]], docstring: str = "A square.") -> str:
    """An exercise with test cells, each of a text and points."""
    parts = [exercise(SQUARE.format(name=name, docstring=docstring), name)]
    for number, (text, points) in enumerate(cells, start=1):
        parts.append(graded(text, f"test_{name}" + f"_{number}" * (number > 1), points))
    return "\n".join(parts)


def expects(count: int) -> str:
    return "\n".join(f'expect("{n}", square({n}), {n * n})' for n in range(count))


def table(count: int) -> str:
    rows = (f'("row {n}", ({n},), {n * n}),' for n in range(count))
    return "\n".join(["expect_table(", "    square,", *rows, ")"])


def errors(count: int, name: str = "square") -> str:
    rows = (f'("e{n}", [("{n}", 1), (None,)], TypeError),' for n in range(count))
    return "\n".join(["expect_table(", f"    {name},", *rows, ")"])


NAMES = "from proflab.lesson import (\n    {}\n)"
AT_LIMIT = {
    "words": lambda n: PLAIN + markdown("word " * (n - 36)),
    "imports": lambda n: changed(
        "import math\n", "import math\n" + "import sys\n" * (n - 2), PLAIN
    ),
    "helpers": lambda n: (
        PLAIN + given(NAMES.format("".join(f"name_{i},\n" for i in range(n - 3))), "more")
    ),
    "attributes": lambda n: (
        PLAIN
        + given(
            "from proflab.lesson import noise\n" + "".join(f"noise.x{i}\n" for i in range(n)), "a"
        )
    ),
    "exercises": lambda n: (
        PLAIN + "\n".join(written(f"square_{i}", [(expects(1), 1)]) for i in range(n - 2))
    ),
    "optional": lambda n: (
        PLAIN + "\n".join(written(f"square_{i}", [(expects(1), 0)]) for i in range(n))
    ),
    "cases": lambda n: PLAIN + written("square", [(f"{expects(2)}\n{table(n - 2)}", 1)]),
    "points": lambda n: PLAIN + written("square", [(expects(1), n)]),
    "error rows": lambda n: PLAIN + written("square", [(errors(n), 1)]),
    "error points": lambda n: (
        PLAIN
        + "\n".join(
            written(f"square_{i}", [(errors(1, f"square_{i}"), points)])
            for i, points in enumerate([1, 1, n - 2])
        )
    ),
    "doc words": lambda n: (
        PLAIN
        + written(
            "square",
            [(expects(1), 1)],
            "A " * 9 + "\n" + "A\n" * (n - 9),
        )
    ),
    "demo lines": lambda n: PLAIN + given("# Draws.\n" + "print()\n" * (n - 1), "drawn", ("demo",)),
    "given lines": lambda n: PLAIN + given("x = 1\n\n" * n, "rows"),
    "width": lambda n: PLAIN + given(f"x = 1\ntexts = '{'a' * (n - 10)}'", "rows"),
}


def test_each_rule_has_a_lesson_that_breaks_it():
    assert {
        *AT_LIMIT,
        "errors apart",
        "no example",
        "example asked",
        "says nothing",
    } == RULES.keys()


@pytest.mark.parametrize("rule", AT_LIMIT)
def test_a_lesson_may_reach_a_limit_and_not_exceed_it_by_one(tmp_path, rule):
    make, limit = AT_LIMIT[rule], RULES[rule].limit
    assert mistakes(tmp_path, make(limit)) == []
    (sentence,) = mistakes(tmp_path, make(limit + 1))
    assert f"{limit + 1:,} {RULES[rule].what}, {limit:,} at most" in sentence


@pytest.mark.parametrize(
    ("cells", "fine"),
    [
        ([(expects(2), 8)], True),
        ([(expects(2), 6), (errors(1), 2)], True),
        ([(expects(2), 7), (errors(1), 0.5)], True),
        ([(expects(2), 6), (errors(1), 3)], False),
        ([(expects(2), 8), (f"{table(1)}\n{errors(1)}", 2)], False),
        ([(f"{expects(1)}\n{errors(1)}", 7)], True),
        ([(f"{expects(1)}\n{errors(1)}", 8)], False),
        ([(errors(1), 2), (expects(2), 2)], False),
    ],
)
def test_errors_have_a_cell_of_their_own_where_there_are_points_for_it(tmp_path, cells, fine):
    found = mistakes(tmp_path, PLAIN + written("square", cells))
    assert found == [] if fine else RULES["errors apart"].what in found[0]


def test_an_exercise_has_an_example_and_another_one_than_its_first_case(tmp_path):
    (sentence,) = mistakes(tmp_path, changed("\n\n    >>> circle(0)\n    0.0\n    ", "", PLAIN))
    assert "cell circle: no example in its docstring" in sentence
    inside = changed("    >>> circle(0)\n    0.0\n", "", PLAIN)
    inside = changed(
        "    return math.pi",
        '    """\n    >>> circle(0)\n    0.0\n    """\n    return math.pi',
        inside,
    )
    assert mistakes(tmp_path, inside) == [sentence]  # of a solution students see nothing
    for first in ('expect("2", square(9), 81)', 'expect_table(square, ("2", ( 9,), 81))'):
        (sentence,) = mistakes(tmp_path, PLAIN + written("square", [(first, 1)]))
        assert "cell square: the example is the first visible case" in sentence


def test_a_demo_says_in_its_first_line_what_it_shows(tmp_path):
    (sentence,) = mistakes(tmp_path, changed("# Shows areas.\nfor", "for", PLAIN))
    assert "cell first_demo: the first line does not say what a demo shows" in sentence


def test_what_a_student_does_not_meet_may_be_wider(tmp_path):
    wide = PLAIN.replace("long_side = 7_919\n", f"long_side = 7_919\ntexts = [1, {TEXT}]\n")
    wide = wide.replace("    return surface\n", f"    text = 'ab' + {TEXT}\n    return surface\n")
    assert wide.count(TEXT) == 2
    assert mistakes(tmp_path, wide) == []
    prose = PLAIN + markdown("A sentence of more than a hundred letters. " * 4)
    assert mistakes(tmp_path, prose) == []


@pytest.mark.parametrize("source", [PLAIN, SECOND])
@pytest.mark.parametrize("place", ["### END HIDDEN TESTS", "    ### END SOLUTION"])
def test_no_line_of_a_lesson_is_kept_from_the_formatter(tmp_path, source, place):
    indent = place[: len(place) - len(place.lstrip())]
    text = changed(place, f"{indent}x = [1,2]  # fmt: skip\n{place}", source)
    assert "`# fmt: skip`; let the formatter lay it out" in mistakes(tmp_path, text)[0]


def test_a_section_with_an_exercise_says_its_minutes(tmp_path):
    (sentence,) = untimed_sections(read(tmp_path, changed(" · 25 min", "")))
    assert "`2 · Circles` has an exercise and says no minutes" in sentence


TRACKS = """
limits = true
[track.short]
title = "A day"
text = "Less."
hours = 1
01_first = ["area"]
[track.term]
title = "A term"
text = "All."
hours = 2
except = {}
[lesson.01_first.minutes]
area = 5
circle = 10
"""


UNTIMED = re.sub(r"(## .*) · \d+ min", r"\1", PLAIN)  # the build computes them from the table


@pytest.fixture
def listed(tmp_path):
    """A course whose first lesson is in modules/tracks.toml, and has no more than it may have."""
    course = make_course(tmp_path, {"01_first": UNTIMED, "02_second": SECOND})
    (tmp_path / "modules/tracks.toml").write_text(TRACKS)
    return course


def test_the_build_refuses_what_is_above_a_limit(listed, monkeypatch):
    (words,) = (e.amount for e in prepare(listed, ["1"]).figures["01_first"] if e.rule == "words")
    monkeypatch.setitem(RULES, "words", limits.Rule(words, "words of prose", "write less"))
    build(listed, ["1"], audit="static")  # what the build adds is not counted
    monkeypatch.setitem(RULES, "words", limits.Rule(words - 1, "words of prose", "write less"))
    with pytest.raises(CourseError, match=f"{words} words of prose, {words - 1} at most"):
        build(listed, ["1"], audit="static")
    monkeypatch.setitem(LONGER, ("01_first", "words"), words)
    build(listed, ["1"], audit="static")


def test_of_lessons_of_ones_own_and_of_other_tracks_it_is_told(listed, monkeypatch):
    monkeypatch.setitem(RULES, "points", limits.Rule(7, "points", "make two cells"))
    notes: list[str] = []
    build(listed, ["2"], audit="static", notes=notes)
    assert [n for n in notes if "beyond the limits of this course's lessons: 100 points (7)" in n]
    short = prepare(listed, track="short")
    assert not any(short.too_much.values())
    assert any("8 points (7)" in sentence for sentence in short.notes)
    with pytest.raises(CourseError, match="8 points, 7 at most"):
        build(listed, ["1"], audit="static")


def test_sizes_are_listed(listed, monkeypatch, capsys):
    monkeypatch.chdir(listed.root)
    monkeypatch.setitem(RULES, "points", limits.Rule(7, "points", "make two cells"))
    assert main(["build", "--sizes"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["lesson", "words", "exercises"]
    assert first.split()[0] == "01_first" and second.split()[0] == "02_second"
    assert main(["build", "--sizes", "1"]) == 0
    assert "cell test_area: 8 points, 7 at most" in capsys.readouterr().out


@cache
def figures():
    """Return what each lesson of the default track asks of its readers."""
    return prepare(Course(ROOT), track=DEFAULT).figures


@pytest.mark.whole
@pytest.mark.parametrize("name", Tracks.read(ROOT).track(DEFAULT).lessons)
def test_a_lesson_is_no_longer_than_it_may_be_and_may_be_no_longer_than_it_is(name):
    assert [*above(name, figures()[name])] == []
    for rule in (rule for lesson, rule in LONGER if lesson == name):
        most = max(each.amount for each in figures()[name] if each.rule == rule)
        assert RULES[rule].limit < most <= LONGER[name, rule], f"LONGER in limits.py: {rule}"
