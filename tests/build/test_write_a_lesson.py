"""The page "Write a lesson": its lesson is built, released, solved and graded; its rules hold."""

import csv
import re
import tomllib

import nbformat
import pytest
from clones import clone, set_up
from clones import run as run_in
from grading_course import command
from mini_course import ROOT, make_course
from sandboxes import needs_sandbox

from proflab.lesson import expect_table
from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split

PAGE = (ROOT / "docs/write-a-lesson.md").read_text()
NAME = "20_padding"
[TEXT] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
COMMANDS = re.findall(r"^```sh(?: by-sandbox)?\n(.*?)^```$", PAGE, re.M | re.S)
[MESSAGE] = re.findall(r"^```text\n(.*?)\n```$", PAGE, re.M | re.S)
[HANDED_IN] = re.findall(r"hand-in lies in `(\S+)`", PAGE)
RULES = PAGE.split("## The rules of a graded cell")[1].split("\n## ")[0]
REFUSED = [m[1] for m in re.finditer(r"^\| .* \| `([^`|]+)` \|$", RULES, re.M)]
WRONG = "def padding_share(lengths):\n    return 1 - sum(lengths) / (len(lengths) * lengths[-1])"


def run(course, words: str) -> str:
    """Run a command of the page in the course; return what it printed."""
    done = command(course, *words.split())
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course of the page's lesson alone, built."""
    course = make_course(tmp_path_factory.mktemp("own"), {NAME: TEXT})
    for line in COMMANDS[0].splitlines():
        run(course, line)
    return course


def hand_in(course, student: str, solution: str | None, essay: str = "") -> None:
    """Hand in the release, with this solution and this essay, where there are any."""
    notebook = nbformat.read(course.release(NAME), as_version=4)
    written = {"padding_share": solution, "essay_padding": essay}
    for cell in notebook.cells:
        if text := written.get(cell.metadata.get("nbgrader", {}).get("grade_id")):
            cell.source = text
    place = course.root / HANDED_IN.replace("NAME", student)
    place.parent.mkdir(parents=True)
    nbformat.write(notebook, place)


@pytest.mark.proves
def test_the_release_has_the_lesson_without_what_is_secret(course):
    text = course.release(NAME).read_text()
    assert "About 25 min · 12.5 points and 5 for the essay" in text
    assert "2, 4 and 4 tokens" in text and "places = len" not in text
    assert "the longest one comes first" not in text and "Three points for" not in text


@pytest.mark.proves
@needs_sandbox
def test_hand_ins_are_graded_and_given_back(course):
    [solution] = re.findall(r"^def padding_share.*?### END SOLUTION", TEXT, re.M | re.S)
    hand_in(course, "right", solution, "Similar lengths together.")
    hand_in(course, "empty", None)
    hand_in(course, "wrong", WRONG)
    graded, *_ = [run(course, line) for line in COMMANDS[1].splitlines()]
    found = dict(re.findall(r"^(\w+) +([\d.]+) / 12\.5", graded, re.M))
    assert found == {"empty": "0", "right": "12.5", "wrong": "0"}
    with (course.root / "grades.csv").open() as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {row["max_score"] for row in rows.values()} == {"17.5"}
    assert rows["right"]["raw_score"] == "12.5"
    report = (course.root / f"reports/{NAME}.html").read_text()
    assert "Points are of 12.5" in report and "the essay is marked apart" in report
    feedback = (course.root / f"feedback/wrong/{NAME}/{NAME}.html").read_text()
    assert "0 of 17.5 points" in feedback and "the longest one comes first" in feedback


@pytest.mark.whole
def test_in_a_clone_the_lesson_passes_make_check_and_is_warned_of_its_missing_cohort(tmp_path):
    place = set_up(clone(tmp_path))
    (place / "modules" / NAME).mkdir()
    (place / "modules" / NAME / f"{NAME}.py").write_text(TEXT)
    # `course` above is built with all checks, and `make check` executes the lesson here.
    for line in [*(f"{line} --audit static" for line in COMMANDS[0].splitlines()), "make check"]:
        done = run_in(place, *line.split())
        assert done.returncode == 0, done.stdout
    assert "warning: " in done.stdout and "modules/20_padding/wrong/ is missing" in done.stdout


@pytest.mark.whole
def test_a_lesson_without_an_essay_is_built_and_its_report_speaks_of_none(tmp_path):
    text = TEXT[: TEXT.index("# %% [markdown]\n# ## 2 · Reflect")]
    course = make_course(tmp_path, {NAME: text})
    run(course, "proflab build 20 --audit static")
    assert "About 15 min · 12.5 points." in course.release(NAME).read_text()
    hand_in(course, "empty", None)
    run(course, "proflab grade 20 --no-sandbox")
    run(course, "proflab report 20")
    assert "graded automatically.</p>" in (course.root / f"reports/{NAME}.html").read_text()


@pytest.mark.whole
def test_a_solution_that_fails_is_told_in_the_words_of_the_page(tmp_path):
    wrong = TEXT.replace("return 1 - sum(lengths) / places", "return sum(lengths) / places")
    course = make_course(tmp_path, {NAME: wrong})
    done = command(course, "proflab", "build", "20")
    assert done.returncode and MESSAGE in done.stderr


@pytest.mark.parametrize("code", REFUSED)
def test_what_the_table_says_is_refused(code):
    with pytest.raises(GrammarError):
        split(f'expect("another", 1, 1)\n{code}' if code != "f(1)" else code, "test_f")


def test_the_table_has_an_example_of_most_rules_and_the_rewrite_of_an_assert():
    assert len(REFUSED) >= 10
    with pytest.raises(GrammarError) as error:
        split("assert f(2) == 4", "test_f")
    assert str(error.value).split(": ", 1)[1] in PAGE


def test_the_table_of_cases_is_one_that_the_solution_passes(capsys):
    [table] = re.findall(r"^```py\n(expect_table.*?)^```$", PAGE, re.M | re.S)
    [solution] = re.findall(r"^def padding_share.*?### END SOLUTION", TEXT, re.M | re.S)
    scope = {"expect_table": expect_table}
    exec(f"{solution}\n{table}", scope)
    assert capsys.readouterr().out.count("✅") == 3
    assert len(split(table, "test_padding_share").answers) == 4


def test_the_packages_that_a_lesson_may_import_are_the_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [listed] = re.findall(r"is installed with\s+ProfLab: (.*?)\.", PAGE, re.S)
    expected = [re.match(r"[\w-]+", line)[0] for line in project["dependencies"]]
    assert re.findall(r"`([\w-]+)`", listed) == expected
