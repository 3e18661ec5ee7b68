"""A course whose settings name another gradebook than its own file is refused by all commands."""

import pytest
from grading_course import LESSON, command, copy_course, grade

from proflab_course.course.layout import CourseError

ROSTER = "student_id,first_name,last_name,email\ns1,A,B,a@example.org\n"
COMMANDS = (
    ["grade", LESSON, "--no-sandbox"],
    ["report", LESSON],
    ["report"],
    ["export", LESSON, "--canvas", "grades.csv"],
    ["collect", "mail", LESSON, "--roster", "roster.csv"],
)


def set_url(course, url, name="jupyter_config.py"):
    with (course.root / name).open("a") as file:
        file.write(f"\nc.CourseDirectory.db_url = {url!r}\n")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_refuses_another_database_in_one_sentence(tmp_path, words):
    course = copy_course(tmp_path, [])
    set_url(course, "postgresql://teacher:geheim@db.example.org/course")
    (tmp_path / "roster.csv").write_text(ROSTER)
    (tmp_path / "grades.csv").write_text("Student,ID,SIS Login ID\n")
    (tmp_path / "mail/s1").mkdir(parents=True)
    notebook = tmp_path / "release" / LESSON / f"{LESSON}.ipynb"
    (tmp_path / "mail/s1" / notebook.name).write_bytes(notebook.read_bytes())
    before = course.root.joinpath("gradebook.db").read_bytes()
    done = command(course, "proflab", *words)
    assert done.returncode == 2
    [sentence] = done.stderr.splitlines()
    assert "db_url to postgresql://teacher:***@db.example.org/course" in sentence
    assert "remove this setting" in sentence and "geheim" not in sentence
    assert course.root.joinpath("gradebook.db").read_bytes() == before


@pytest.mark.parametrize("url", ["sqlite:///{}/gradebook.db", "sqlite:///gradebook.db"])
def test_the_courses_own_file_may_be_named(tmp_path, url):
    course = copy_course(tmp_path, ["not_json"])
    set_url(course, url.format(tmp_path))
    assert grade(course)["not_json"].status == "not a notebook"


def test_another_file_and_the_other_settings_file_are_seen(tmp_path):
    course = copy_course(tmp_path, [])
    set_url(course, "sqlite:////srv/other.db", "nbgrader_config.py")
    with pytest.raises(CourseError, match="nbgrader_config.py sets .*other.db"):
        grade(course)


def test_a_setting_in_a_comment_is_none(tmp_path):
    course = copy_course(tmp_path, [])
    with (course.root / "jupyter_config.py").open("a") as file:
        file.write("\n# c.CourseDirectory.db_url = 'postgresql://db/course'\n")
    assert course.gradebook.name == "gradebook.db"
