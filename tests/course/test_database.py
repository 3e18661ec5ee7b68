"""A course whose settings name another gradebook than its own file is refused by all commands."""

import pytest
from grading_course import LESSON, command, copy_course, grade

from proflab_course import cli
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


# What is added to jupyter_config.py, and the sentence about it.
BROKEN = {
    "a bracket": ("c.HideHidden.explain = [\n", "SyntaxError: '[' was never closed (jupyter_"),
    "a name": ("c.HideHidden.explain = [loss]\n", "NameError: name 'loss' is not defined: mend"),
    "the gradebook's": ("c.CourseDirectory.db_url = url\n", "NameError: name 'url' is not"),
    "two lines": ("raise ValueError('two\\nlines')\n", "ValueError: two lines: mend that line"),
    "a limit's": ("c.SandboxedExecute.cell_seconds = ten\n", "NameError: name 'ten' is not"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_mistake_in_the_settings_names_its_line(tmp_path, monkeypatch, capsys, broken):
    text, said = BROKEN[broken]
    course = copy_course(tmp_path, [])
    path = course.root / "jupyter_config.py"
    lines = len(path.read_text().splitlines())
    with path.open("a") as file:
        file.write(text)
    monkeypatch.chdir(course.root)
    assert cli.main(["grade", LESSON, "--no-sandbox"]) == 2
    [sentence] = capsys.readouterr().err.splitlines()
    assert said in sentence and f"jupyter_config.py, line {lines + 1}" in sentence


def test_a_gradebooks_setting_that_cannot_be_run_is_not_passed_over(tmp_path):
    """Grading needs nbgrader_config.py for this alone: the results may belong elsewhere."""
    course = copy_course(tmp_path, [])
    path = course.root / "nbgrader_config.py"
    path.write_text("c = get_config()\nc.CourseDirectory.db_url = url\n")
    with pytest.raises(CourseError, match=f"^{path}, line 2: NameError: name 'url' is not"):
        grade(course)


def test_a_penalty_that_nbgrader_refuses_is_one_sentence(tmp_path):
    course = copy_course(tmp_path, [])
    with (course.root / "jupyter_config.py").open("a") as file:
        file.write("\nc.AssignLatePenalties.plugin_class = 'nowhere.Penalty'\n")
    with pytest.raises(CourseError, match="^jupyter_config.py: .*plugin_class"):
        grade(course)
