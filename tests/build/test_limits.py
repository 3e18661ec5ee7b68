"""Limit what a lesson may ask: words, width of code, imports, minutes beside an exercise."""

import pytest
from mini_course import FIRST, SECOND, changed, given, make_course, markdown
from mini_course import read_lesson as read

from proflab_course.build import limits
from proflab_course.build.command import build
from proflab_course.build.limits import limit_mistakes, prose_words
from proflab_course.course.layout import CourseError

PLACE = "modules/01_first/01_first.py"


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


def test_words(tmp_path):
    (sentence,) = limit_mistakes(read(tmp_path, FIRST + "\n" + markdown("word " * 2_990)))
    assert sentence.startswith(f"{PLACE}: its prose has 3,0") and "at most" in sentence
    assert not list(limit_mistakes(read(tmp_path, FIRST + "\n" + markdown("word " * 2_000))))


TEXT = '"' + "a" * 91 + '"'  # makes a line of 100 characters: no formatter shortens a text


@pytest.mark.parametrize("one_more", [0, 1])
def test_a_line_of_code_has_a_hundred_characters_at_most(tmp_path, one_more):
    line = f"texts = {TEXT[:one_more]}{TEXT}"[: 100 + one_more]
    found = list(limit_mistakes(read(tmp_path, FIRST + given(f"\nx = 1\n{line}", "rows"))))
    told = f"{PLACE}, cell rows: 101 characters, 100 at most, in `texts = "
    assert len(found) == one_more and all(each.startswith(told) for each in found)


def test_what_a_student_does_not_meet_may_be_wider(tmp_path):
    wide = FIRST.replace("long_side = 7_919\n", f"long_side = 7_919\ntexts = [1, {TEXT}]\n")
    wide = wide.replace("    return surface\n", f"    text = 'ab' + {TEXT}\n    return surface\n")
    assert wide.count(TEXT) == 2
    assert list(limit_mistakes(read(tmp_path, wide))) == []
    prose = read(tmp_path, FIRST + markdown("A sentence of more than a hundred letters. " * 4))
    assert list(limit_mistakes(prose)) == []


@pytest.mark.parametrize("source", [FIRST, SECOND])
@pytest.mark.parametrize("place", ["### END HIDDEN TESTS", "    ### END SOLUTION"])
def test_no_line_of_a_lesson_is_kept_from_the_formatter(tmp_path, source, place):
    indent = place[: len(place) - len(place.lstrip())]
    text = changed(place, f"{indent}x = [1,2]  # fmt: skip\n{place}", source)
    (sentence,) = limit_mistakes(read(tmp_path, text))
    assert "`# fmt: skip`; let the formatter lay it out" in sentence and ", line " in sentence


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
    words = prose_words(read(tmp_path, FIRST))
    monkeypatch.setattr(limits, "WORDS", words)  # what the build adds is not counted
    build(course, ["1"], audit="static")
    monkeypatch.setattr(limits, "WORDS", words - 1)
    with pytest.raises(CourseError, match="its prose has .* at most: write less"):
        build(course, ["1"], audit="static")
