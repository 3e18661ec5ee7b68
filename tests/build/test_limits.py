"""How long a lesson may be: lines, words, imports, and minutes where there is an exercise."""

import pytest
from mini_course import FIRST, SECOND, changed, given, make_course, markdown
from mini_course import read_lesson as read

from proflab_course.build import limits
from proflab_course.build.command import build
from proflab_course.build.limits import limit_mistakes, size
from proflab_course.course.layout import CourseError

PLACE = "modules/01_first/01_first.py"


def test_only_what_a_student_meets_is_counted(tmp_path):
    lesson = read(tmp_path, FIRST)
    lines, words = size(lesson)
    secret = "expect('one more', area(1, 1), 1)\n" * 50
    longer = FIRST.replace("long_side = 7_919\n", f"long_side = 7_919\n{secret}")
    longer = longer.replace("    return surface\n", "    surface = +surface\n" * 50)
    longer = longer.replace("# Five points for", "# A word.\n" * 50 + "# Five points for")
    answer = "# ### BEGIN SOLUTION\n# An answer.\n" + "# A word.\n" * 9 + "# ### END SOLUTION\n"
    own = FIRST.replace(
        "# An answer.\n", "# ### BEGIN SOLUTION\n# An answer.\n# ### END SOLUTION\n"
    )
    ours = FIRST.replace("# An answer.\n", answer)
    assert size(read(tmp_path, own)) == size(read(tmp_path, ours))
    assert longer.count("\n") > FIRST.count("\n") + 140
    assert size(read(tmp_path, longer)) == (lines, words)
    more = FIRST + markdown("[One](https://example.org/a/b) two, three.\n\nfour")
    assert size(read(tmp_path, more)) == (lines + 2, words + 4)


def test_a_line_that_is_too_long_to_be_seen_counts_as_several(tmp_path):
    lines, _ = size(read(tmp_path, FIRST))
    long = given(f"values = [{'1, ' * 110}]  # fmt: skip", "rows")
    assert size(read(tmp_path, FIRST + long))[0] == lines + 4


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (given("one = [\n" + "    1,\n" * 600 + "]", "rows"), ": students meet 6"),
        (markdown("word " * 2_990), ": its prose has 3,0"),
        (given("print(1)", "more"), ""),
    ],
)
def test_lines_and_words(tmp_path, extra, sentence):
    found = list(limit_mistakes(read(tmp_path, FIRST + "\n" + extra)))
    assert len(found) == bool(sentence), found
    assert not sentence or found[0].startswith(PLACE + sentence) and "at most" in found[0]


def test_imports(tmp_path):
    many = changed("import math\n", "import math\n" + "import sys\n" * 7)
    assert list(limit_mistakes(read(tmp_path, many))) == [
        f"{PLACE}, cell first_imports: 9 lines of imports, 8 at most; the others go into the cells "
        "that need them"
    ]


def test_a_section_with_an_exercise_says_its_minutes(tmp_path):
    (sentence,) = limit_mistakes(read(tmp_path, changed(" · 25 min", "")))
    assert "`2 · Circles` has an exercise and says no minutes" in sentence


def test_a_lesson_without_any_minutes_is_not_held_to_them(tmp_path):
    assert list(limit_mistakes(read(tmp_path, SECOND + markdown("word " * 4_000)))) == []


def test_the_build_refuses_what_is_too_long(tmp_path, monkeypatch):
    course = make_course(tmp_path)
    build(course, ["1"], audit="static")
    lesson = read(tmp_path, FIRST)
    monkeypatch.setattr(limits, "LINES", size(lesson)[0])  # what the build adds is not counted
    build(course, ["1"], audit="static")
    monkeypatch.setattr(limits, "LINES", size(lesson)[0] - 1)
    with pytest.raises(CourseError, match="students meet .* at most: write less"):
        build(course, ["1"], audit="static")
