"""The times in Moodle's archives: those of a download are no times of submission."""

import datetime

import pytest
from archives import collect, moodle, solved, tree

from proflab_course.collect.times import are_times_of_download, read_platform_time

CLASS = {
    f"{name}_{4711 + n}": solved(f"m{n}") for n, name in enumerate(("Ann Lee", "Bo Chen", "Cy Dee"))
}
WORKSHEET = (
    "Identifier,Full name,ID number,Last modified (submission)\n"
    'Participant 4711,Ann Lee,s1,"Sunday, 29 November 2026, 6:30 PM"\n'
    'Participant 4712,Bo Chen,s2,"Sunday, 29 November 2026, 7:30 PM"\n'
    "Participant 4713,Cy Dee,s3,-\n"
)


def stamps(course):
    found = {path.split("/")[0]: p for path, p in tree(course).items() if "timestamp" in path}
    return {student: path.read_text() for student, path in found.items()}


def save(place, data, name="all.zip"):
    (place / name).write_bytes(data)
    return place / name


def test_one_time_for_all_is_no_time_of_submission(course, tmp_path, capsys):
    assert collect(save(tmp_path, moodle(CLASS)), "--timezone", "UTC") == 1
    out = capsys.readouterr().out
    assert len(tree(course)) == 3 and not stamps(course)
    assert "those of the download, so no time is known of ann-lee, bo-chen, cy-dee" in out
    assert "grading worksheet of this assignment with --roster" in out
    # Downloaded again another day, nothing changes: nobody is retimed.
    later = save(tmp_path, moodle(CLASS, at=(2026, 12, 24, 18, 0, 0)))
    assert collect(later, "--timezone", "UTC") == 1
    assert "3 unchanged" in capsys.readouterr().out and not stamps(course)


def test_the_worksheet_is_the_source(course, tmp_path, capsys):
    sheet = save(tmp_path, WORKSHEET.encode(), "sheet.csv")
    source = save(tmp_path, moodle(CLASS))
    assert collect(source, "--roster", str(sheet), "--timezone", "UTC") == 1
    assert stamps(course) == {
        "s1": "2026-11-29 18:30:00 UTC\n",
        "s2": "2026-11-29 19:30:00 UTC\n",
    }
    assert "no time is known of s3:" in capsys.readouterr().out
    full = WORKSHEET.replace("s3,-", 's3,"Sunday, 29 November 2026, 8:30 PM"')
    sheet = save(tmp_path, full.encode(), "sheet.csv")
    assert collect(source, "--roster", str(sheet), "--timezone", "UTC") == 0
    assert len(stamps(course)) == 3
    # Collected again without the worksheet, what is known stays known.
    assert collect(source, "--timezone", "UTC", "--roster", str(by_names(tmp_path))) == 0
    assert len(stamps(course)) == 3


def by_names(place):
    text = "student_id,name\ns1,Ann Lee\ns2,Bo Chen\ns3,Cy Dee\n"
    return save(place, text.encode(), "class.csv")


def test_files_without_any_time(course, tmp_path, capsys):
    """1980 is zip's word for a time that is not known."""
    assert collect(save(tmp_path, moodle(CLASS, at=(1980, 1, 1, 0, 0, 0)))) == 1
    assert not stamps(course) and "no time is known of" in capsys.readouterr().out


def test_the_worksheet_of_another_assignment_tells_no_times(course, tmp_path, capsys):
    """Moodle numbers the participants of each assignment anew."""
    other = WORKSHEET.replace("Participant 47", "Participant 58")
    options = ["--roster", str(save(tmp_path, other.encode(), "sheet.csv")), "--timezone", "UTC"]
    assert collect(save(tmp_path, moodle(CLASS)), *options) == 1
    assert len(tree(course)) == 3 and not stamps(course)
    assert "no time is known of" in capsys.readouterr().out


def at(*minutes):
    start = datetime.datetime(2026, 11, 30, 12)
    return [start + datetime.timedelta(minutes=each) for each in minutes]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (at(0, 0, 0), True),
        (at(0, 1, 2, 50), True),  # a slow download
        (at(0, 0, 0, 9_000, 9_000, 9_000), True),  # two downloads in one folder
        (at(0), True),  # one alone proves nothing
        (at(0, 600, 3_000), False),
        (at(0, 600, 3_000, 3_000, 3_002), False),
    ],
)
def test_times_of_download(times, expected):
    assert are_times_of_download(times) is expected


@pytest.mark.parametrize(
    "text",
    [
        "Monday, 30 November 2026, 6:30 PM",
        "Monday, 30 November 2026, 6:30\u202fPM",
        "Monday, November 30, 2026, 6:30 PM",
        "Monday, 30 November 2026, 18:30",
        "Montag, 30. November 2026, 18:30",
        "lundi 30 novembre 2026, 18:30",
        "lundi 30 novembre 2026 à 18:30",
        "lunes, 30 de noviembre de 2026, 18:30",
    ],
)
def test_moodles_times_in_four_languages(text):
    assert read_platform_time(text) == datetime.datetime(2026, 11, 30, 18, 30)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Saturday, 2 January 2027, 12:05 AM", 0),
        ("Saturday, 2 January 2027, 12:05 PM", 12),
        ("Samstag, 2. Jänner 2027, 12:05", 12),  # as in Austria
    ],
)
def test_midnight_and_noon_in_january(text, hour):
    assert read_platform_time(text) == datetime.datetime(2027, 1, 2, hour, 5)


@pytest.mark.parametrize(
    "text", ["", "-", "31 April 2026, 18:30", "30 Foo 2026, 18:30", "3.12.2026"]
)
def test_what_is_no_time(text):
    assert read_platform_time(text) is None
