"""The course's dates: strict, with a zone, and each mistake in a sentence that names its place."""

import datetime

import pytest
from mini_course import make_course

from proflab_course.course.dates import Dates
from proflab_course.course.layout import CourseError

ZURICH = 'zone = "Europe/Zurich"\n'


def read(place, text, extensions=None):
    course = make_course(place)
    (course.root / "private").mkdir()
    (course.root / "private/dates.toml").write_text(text, encoding="utf-8")
    if extensions is not None:
        (course.root / "extensions.csv").write_text(extensions, encoding="utf-8")
    return Dates.read(course)


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ('"2026-12-01 18:00"', (2026, 12, 1, 17)),
        ('"2026-07-01T18:00:00"', (2026, 7, 1, 16)),
        ('"2026-12-01 18:00 UTC"', (2026, 12, 1, 18)),
        ('"2026-12-01 18:00 America/New_York"', (2026, 12, 1, 23)),
        ('"2026-10-25 02:30 +01:00"', (2026, 10, 25, 1, 30)),
        ("2026-12-01T18:00:00", (2026, 12, 1, 17)),
        ("2026-12-01T18:00:00+02:00", (2026, 12, 1, 16)),
    ],
)
def test_a_due_date_is_a_time_of_the_courses_zone_or_of_its_own(tmp_path, written, utc):
    dates = read(tmp_path, f"\ufeff{ZURICH}due = {{ 01 = {written} }}\n")
    assert dates.due == {"01_first": datetime.datetime(*utc)}


def test_a_date_is_shown_by_the_courses_clock_with_its_zone(tmp_path):
    dates = read(tmp_path, f'{ZURICH}due = {{ 01_first = "2026-12-01 17:00 UTC" }}\n')
    assert dates.shown(dates.due["01_first"]) == "2026-12-01 18:00 Europe/Zurich"
    assert Dates().shown(dates.due["01_first"]) == "2026-12-01 17:00 UTC"


def test_a_lesson_has_its_own_penalty_or_that_of_all(tmp_path):
    text = '[penalty]\n"*" = { per_day = 0.1 }\n02 = { per_day = 0.5, free_days = 2 }\n'
    dates = read(tmp_path, ZURICH + text)
    assert dates.penalty("01_first").told == ("10 % of the points for each day that has begun")
    assert dates.penalty("02_second").told == (
        "50 % of the points for each day that has begun after 2 free days"
    )


def test_extensions_of_both_files_count_and_one_for_the_lesson_goes_first(tmp_path):
    own = '[[extension]]\nstudent = "anna"\nlesson = "*"\ndays = 1\n'
    own += '[[extension]]\nstudent = "ben"\nlesson = "1"\ndue = "2026-12-08 18:00"\n'
    dates = read(tmp_path, ZURICH + own, "student,lesson,days\nanna,01,3\n")
    assert dates.extensions_of("01_first") == {
        "anna": datetime.timedelta(days=3),
        "ben": datetime.datetime(2026, 12, 8, 17),
    }
    assert dates.extensions_of("02_second") == {"anna": datetime.timedelta(days=1)}


def test_without_a_word_on_extensions_those_of_the_gradebook_stay(tmp_path):
    assert read(tmp_path, ZURICH).extensions_of("01_first") is None
    (tmp_path / "private/dates.toml").write_text(f"{ZURICH}extension = []\n")
    assert Dates.read(make_course(tmp_path)).extensions_of("01_first") == {}


def test_times_of_extensions_csv_have_the_courses_zone(tmp_path):
    table = "student,lesson,due\nanna,01,2026-12-08 18:00\n"
    dates = read(tmp_path, ZURICH, table)
    assert dates.extensions_of("01_first") == {"anna": datetime.datetime(2026, 12, 8, 17)}


EXTENSION = '[[extension]]\nstudent = "anna"\nlesson = "01"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "private/dates.toml: zone is missing: give it a text in quotes"),
        ('zone = "Zurich"', "private/dates.toml: zone Zurich is not known: write it as Europe/Zu"),
        ('due = { 01 = "2026-12-01" }', "due.01 is '2026-12-01', without a time of day: write 20"),
        ("due = { 01 = 2026-12-01 }", "due.01 must be a date and a time in quotes, such as"),
        (
            'due = { 01 = "03.12.2026 18:00" }',
            "due.01 is '03.12.2026 18:00', which is not a date in ISO order (is it 3 December 2026 "
            "or 12 March 2026?): write it as 2026-12-03 18:00",
        ),
        (
            'due = { 01 = "2026-12-01 18:00 CEZT" }',
            "due.01 is '2026-12-01 18:00 CEZT', whose time ",
        ),
        ('due = { 01 = "2026-02-30 18:00" }', "which is not a date of the calendar"),
        (
            'due = { 01 = "2026-03-29 02:30" }',
            "due.01: no clock shows 2026-03-29 02:30, because clocks go forward that night",
        ),
        (
            'due = { 01 = "2026-10-25 02:30" }',
            "due.01: clocks show 2026-10-25 02:30 twice, because",
        ),
        (
            'due = { 09 = "2026-12-01 18:00" }',
            "due.09: there is no lesson '09' in modules/ or source/ (there is 01_f",
        ),
        (
            'due = { 01 = "2026-12-01 18:00", 01_first = "2026-12-02 18:00" }',
            "due.01_first: 01 is the same lesson: keep one of the two",
        ),
        ("penalty = { 01 = 0.1 }", "private/dates.toml: penalty.01 must be a table, not 0.1"),
        ("penalty = { 01 = { per_day = 10 } }", "penalty.01.per_day must be a share from 0 to 1, "),
        (
            "penalty = { 01 = { per_day = nan } }",
            "penalty.01.per_day must be a share from 0 to 1, ",
        ),
        ("penalty = { 01 = { perday = 0.1 } }", "penalty.01 has an entry 'perday'; it may have fr"),
        (
            "penalty = { 01 = { per_day = 0.1, free_days = -1 } }",
            "penalty.01.free_days must be a number, 0 or more, not -1",
        ),
        ("[dues]", "has an entry 'dues'; it may have due, extension, penalty, zone; perhaps due"),
        (f"{EXTENSION}days = -2", "extension, number 1: days must be a number, 0 or more, not -2"),
        (
            f"{EXTENSION}days = nan",
            "extension, number 1: days must be a number, 0 or more, not nan",
        ),
        (EXTENSION, "private/dates.toml: extension, number 1: give either due or days"),
        (
            f"{EXTENSION}days = 1\nhours = 5",
            "extension, number 1 has an entry 'hours'; it may have",
        ),
        (
            f"{EXTENSION}days = 1\n{EXTENSION}days = 2",
            "extension, number 2: anna has an extension for 01_first already (private/dates.toml: "
            "extension, number 1): keep one of the two",
        ),
        (
            f'due = {{ 01 = "2026-12-01 18:00" }}\n{EXTENSION}due = "2026-11-08 18:00"',
            "extension, number 1: 2026-11-08 18:00 Europe/Zurich is before the due date of 01_f",
        ),
        (
            "due = 1\ndue = 2\n",
            "private/dates.toml is not TOML (Cannot overwrite a value (at line 3",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_file_key_and_mend(tmp_path, text, said):
    zone = "" if text == "" or text.startswith("zone") else ZURICH
    with pytest.raises(CourseError) as error:
        read(tmp_path, zone + text)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_an_extension_that_stands_in_both_files_names_both_places(tmp_path):
    table = "student,lesson,days\nanna,01_first,3\n"
    with pytest.raises(CourseError, match=r"extensions.csv, line 2: anna has .* number 1\)"):
        read(tmp_path, f"{ZURICH}{EXTENSION}days = 1\n", table)
