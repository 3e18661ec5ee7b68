"""The course without the package proflab_classroom: it builds, grades, reports and exports."""

import subprocess
import sys

import pytest
from mini_course import make_course

# As if the package were not installed: whoever imports it fails, and features of it are not there.
HIDDEN = """
import sys

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "proflab_classroom":
            raise ModuleNotFoundError(f"No module named {name!r}", name="proflab_classroom")

sys.meta_path.insert(0, Hidden)
"""
COMMANDS = """
from pathlib import Path
from proflab_course.cli import main

assert main(["build", "--audit", "static"]) == 0
work = Path("submitted/ann/01_first")
work.mkdir(parents=True)
(work / "01_first.ipynb").write_bytes(Path("source/01_first/01_first.ipynb").read_bytes())
assert main(["grade", "01", "--no-sandbox", "--jobs", "1"]) == 0
assert main(["report", "01"]) == main(["report", "01", "--public"]) == main(["report"]) == 0
table = "Student,ID,SIS Login ID,Section,01_first (1)\\nann,1,ann,a,\\n"
Path("canvas.csv").write_text(table)
assert main(["export", "01", "--without-essay", "--canvas", "canvas.csv"]) == 0
assert main(["export", "term", "--csv", "term.csv"]) == 0
assert main(["essays", "01"]) == 2
"""
PAGES = """
from nbgrader.apps.nbgraderapp import NbGraderApp

sys.argv = ["nbgrader", "generate_feedback", "01_first"]
NbGraderApp.launch_instance()
"""


def run(course, program):
    words = [sys.executable, "-c", HIDDEN + program]
    return subprocess.run(words, cwd=course.root, capture_output=True, text=True)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("bare"))
    (course.root / "modules/01_first/keys.toml").write_text('key = "B"')
    done = run(course, COMMANDS)
    assert done.returncode == 0, done.stderr
    assert "there is no command 'essays'" in done.stderr
    return course


@pytest.mark.proves("the course works without what teachers add")
def test_a_class_is_built_graded_reported_and_exported(course):
    assert (course.root / "release/01_first/01_first.ipynb").exists()
    assert not list(course.root.glob("release/*/*.toml")), "keys, also where no feature reads them"
    page = (course.root / "reports/01_first.html").read_text()
    assert "ann" in page and "100" in page
    assert "100" in (course.root / "canvas_filled.csv").read_text()
    assert "ann" in (course.root / "term.csv").read_text()


@pytest.mark.whole
def test_students_get_their_pages(course):
    done = run(course, PAGES)
    assert done.returncode == 0, done.stderr
    page = (course.root / "feedback/ann/01_first/01_first.html").read_text()
    assert "100 of 100 points." in page and "Ask about a verdict" not in page
