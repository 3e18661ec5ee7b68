"""`make ai-baseline`: what an assistant leaves is graded as a student's notebook, and noted."""

import csv
import runpy
import sys

import pytest
from grading_course import LESSON, copy_course
from mini_course import ROOT

pytestmark = pytest.mark.whole("grading/test_grade.py")

# Takes the instructor's solutions, where the first word is "all"; else leaves all as it is. The
# task is its last argument.
ASSISTANT = """
import shutil, sys
from pathlib import Path
what, source, task = sys.argv[1:]
[notebook] = Path().glob("*.ipynb")
assert f"in {notebook.name}, in this folder" in task and not Path("../../source").exists()
if what == "all":
    shutil.copyfile(source, notebook)
sys.exit(what == "fails")
"""


@pytest.fixture
def measure(tmp_path):
    (tmp_path / "course").mkdir()
    course = copy_course(tmp_path / "course", [])
    assistant, table = tmp_path / "assistant.py", tmp_path / "baseline.csv"
    assistant.write_text(ASSISTANT)
    main = runpy.run_path(str(ROOT / "benchmarks/ai_baseline.py"))["main"]

    def run(what):
        command = f"{sys.executable} {assistant} {what} {course.source(LESSON)}"
        words = [command, "1", "--times", "1", "--name", what]
        status = main([*words, "--course", str(course.root), "--table", str(table)])
        return status, list(csv.DictReader(table.open())) if table.exists() else []

    return run


def test_each_try_is_a_row_with_the_grader_s_points(measure, capfd):
    assert measure("fails") == (2, []) and "ended with 1" in capfd.readouterr().err
    assert measure("nothing")[0] == 0
    status, [nothing, everything] = measure("all")
    assert status == 0
    assert (nothing["assistant"], nothing["lesson"], nothing["points"]) == ("nothing", LESSON, "0")
    assert (everything["assistant"], everything["points"]) == ("all", "100")
    assert everything["essay"] == "" and float(everything["minutes"]) >= 0
    assert nothing["release"] == everything["release"] and len(nothing["release"]) == 12
