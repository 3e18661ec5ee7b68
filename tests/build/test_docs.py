"""The documents: their commands run, their links lead somewhere, and open the course's lessons."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
import warm_commands
from mini_course import FIRST, SECOND, write_lesson

from proflab_course.course.address import Address
from proflab_course.course.layout import Course

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/ai.md", "docs/architecture.md",
    "docs/assistants.md", "docs/cost.md", "docs/engine.md", "docs/first-evening.md",
    "docs/instructors.md", "docs/security.md", "docs/students.md", "docs/teaching.md",
    "docs/torch.md", "docs/without-a-hub.md", "docs/write-a-lesson.md",
)  # fmt: skip
LESSON, *LATER = Course(ROOT).lessons()
# After ```sh: nothing (run here), by-sandbox (run here where there is one), by-class (run by
# test_printed_commands.py), by-hand (not run: the network, a browser, an account, or minutes).
BLOCK = re.compile(r"^( *)```sh(?: (by-\w+))?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

# What the shell has nothing to do in.
WARM = re.compile(r"(?:proflab|nbgrader) [^|&<>;#*$`\\~]*")


def blocks(page: str) -> list[tuple[str, str]]:
    """The shell blocks of a page: kind and text."""
    return [(m[2] or "", m[3]) for m in BLOCK.finditer((ROOT / page).read_text())]


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def copy_repository(place: Path, lessons: dict[str, str] | None = None) -> Path:
    """A folder in which commands may write what they like; later lessons only cost time there.

    lessons: texts that stand for the course's own, where what is in a lesson does not matter.
    """
    hidden = {path.name for path in ROOT.iterdir() if path.name.startswith(".")}
    generated = {"autograded", "feedback", "reports", "gradebook.db", "build", "exchange"}
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")

    def ignore(folder: str, names: list[str]) -> set[str]:
        top = hidden | generated if Path(folder) == ROOT else set()
        return top | left_out(folder, names)

    shutil.copytree(ROOT, place / "course", ignore=ignore)
    for folder in (place / "course/submitted").iterdir():
        if folder.is_dir() and folder.name != "not_json":
            shutil.rmtree(folder)
    for name in LATER if lessons is None else [LESSON, *LATER]:
        for room in ("modules", "source", "release"):
            shutil.rmtree(place / "course" / room / name, ignore_errors=room != "modules")
    if lessons is not None:
        (place / "course/modules/tracks.toml").unlink()  # of the course's own lessons
    for name, text in (lessons or {}).items():
        write_lesson(place / "course", name, text)
    return place / "course"


def solved(course: Path) -> nbformat.NotebookNode:
    """The release of the course's first lesson with the solutions filled in."""
    source, release = (
        nbformat.read(course / room / LESSON / f"{LESSON}.ipynb", as_version=4)
        for room in ("source", "release")
    )
    solutions = {cell.id: cell.source for cell in source.cells if cell.metadata.get("nbgrader")}
    for cell in release.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = solutions[cell.id]
    return release


def run(block: str, course: Path) -> None:
    """Run a block, by lines if it can be, as a reader would who has activated the environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PYTHONPATH": str(course), "PROFLAB_DEMO": "small"}
    for line in [block] if re.search(r"^cd ", block, re.MULTILINE) else block.strip().splitlines():
        answer = run_line(line, course, env)
        assert answer.returncode == 0, f"{line}\n{answer.stdout}{answer.stderr}"


def run_line(line: str, course: Path, env: dict[str, str]) -> subprocess.CompletedProcess:
    """Run a command of this environment from a process that has imported it, another in a shell."""
    if WARM.fullmatch(line):
        return warm_commands.run(shlex.split(line), course, env)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        cwd=course,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The copy in which the instructors' page has been followed from top to bottom."""
    lessons = {LESSON: FIRST, "02_second": SECOND}
    place = copy_repository(tmp_path_factory.mktemp("instructors"), lessons)
    sandbox = os.environ.get("PROFLAB_NO_SANDBOX_TESTS") != "1"
    for kind, block in blocks("docs/instructors.md"):
        if not kind or (kind == "by-sandbox" and sandbox):
            run(block, place)
    return place


@pytest.mark.whole
def test_the_instructors_page_leads_to_what_it_promises(course):
    assert sorted(p.name for p in (course.parent / "class-01/release").iterdir()) == [LESSON]
    assert (course.parent / "class-01/README.md").read_text().startswith("# For students")
    assert (course / f"autograded/s1234567/{LESSON}/{LESSON}.ipynb").exists()
    assert (course / f"feedback/s1234567/{LESSON}/{LESSON}.html").exists()
    for name in (f"{LESSON}.html", f"{LESSON}.public.html"):
        assert (course / "reports" / name).exists()
    assert "s1234567" in (course / "grades.csv").read_text()


@pytest.mark.whole
def test_the_penalty_that_the_page_shows_takes_off_late_points(course):
    page = (ROOT / "docs/instructors.md").read_text()
    files = re.findall(r"```toml\n(.*?)```", page, re.S)
    [dates] = [text for text in files if "[penalty]" in text]
    (course / "private").mkdir(exist_ok=True)
    (course / "private/dates.toml").write_text(dates)
    late = course / f"submitted/late/{LESSON}"
    late.mkdir(parents=True)
    nbformat.write(solved(course), late / f"{LESSON}.ipynb")
    shutil.copy(course / f"submitted/s1234567/{LESSON}/timestamp.txt", late)
    run(f"proflab grade {LESSON} --student late --no-sandbox", course)
    run("nbgrader export --to late.csv", course)
    [row] = [s for s in (course / "late.csv").read_text().splitlines() if ",late," in s]
    assert ",100.0,10.0,90.0," in row  # raw score, penalty, score: late by a day


def test_the_students_page_leads_to_a_profiler(tmp_path):
    place = copy_repository(tmp_path)
    for kind, block in blocks("docs/students.md"):
        if not kind:
            run(block, place)
    assert (place / "my_profiler_alone.py").exists()


# What other tests do, and what would take a minute here: notebooks are run, and five pages made.
LESS = {
    "^proflab build(?! --track)": "--audit static",
    "^nbgrader generate_feedback .*": "--student s0002",
}


@pytest.mark.whole
@pytest.mark.skipif(os.environ.get("PROFLAB_NO_SANDBOX_TESTS") == "1", reason="it grades isolated")
def test_the_first_evening_ends_with_grades_for_canvas(tmp_path):
    """The page's own commands after the set-up, with lesson 01 alone."""
    place = copy_repository(tmp_path)
    shutil.copytree(ROOT / "submitted", place / "submitted", dirs_exist_ok=True)
    page = "docs/first-evening.md"
    for kind, block in blocks(page):
        if kind != "by-hand":
            for command, less in LESS.items():
                block = re.sub(command, rf"\g<0> {less}", block, flags=re.MULTILINE)
            run(block, place)
    released = place.parent / "class"
    assert [path.name for path in (released / "release").glob("*/")] == [LESSON]
    assert (released / "README.md").read_text().startswith("# A week: 10 hours")
    with (place / "downloaded/gradebook_filled.csv").open(newline="") as file:
        grades = {row["SIS Login ID"]: row["01 Parameters (55501)"] for row in csv.DictReader(file)}
    lost = {student for student, grade in grades.items() if grade not in ("", "100")}
    assert lost == {"s0002", "s0003"} and grades["s0006"] == "" and grades["s0001"] == "100"
    page_of_two = (place / f"feedback/s0002/{LESSON}/{LESSON}.html").read_text()
    assert "Due 2026-12-01 18:00 Europe/Zurich." in page_of_two and "15 hours late" in page_of_two
    assert "A late hand-in cost " in page_of_two
    report = (place / f"reports/{LESSON}.html").read_text()
    assert "1 of 5 hand-ins late" in report
    assert "Student Two (s0002)" in report and "is a term left out, such as a bias?" in report
    for name in re.findall(r"`((?:feedback|reports|downloaded)/[^`]+)`", (ROOT / page).read_text()):
        assert (place / name).exists(), name


def test_the_clock_of_the_first_evening_is_that_of_its_steps():
    text = (ROOT / "docs/first-evening.md").read_text()
    steps = re.findall(r"^## (\d+ · .*?) · (\d+) min$", text, re.MULTILINE)
    rows = re.findall(r"^\| (.*?) +\| *([\d,]+) s \| *(\d+) min \| *(\d+) min \|$", text, re.M)
    *rows, total = rows
    assert [(title, reading) for title, _, reading, _ in rows] == steps and len(steps) == 7
    seconds, reading = (sum(int(row[n].replace(",", "")) for row in rows) for n in (1, 2))
    assert abs(int(total[1].replace(",", "")) - seconds) <= 4 and int(total[2]) == reading
    assert abs(int(total[3]) - (seconds / 60 + reading)) < 1 and int(total[3]) < 60


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_and_file_that_a_page_names_is_there(page):
    text = (ROOT / page).read_text()
    targets = set(re.findall(r"`?\bmake (?:[A-Z]+=\S+ )*([a-z-]+)\b`", text))
    targets |= {t for _, b in blocks(page) for t in re.findall(r"^ *make ([a-z-]+)", b, re.M)}
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets <= known
    for name in re.findall(r"\b(?:python|pytest)\s+((?:benchmarks|docs|tests)/[\w/.]+)", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_to_files_of_the_repository(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
        parts = urlsplit(target)
        if parts.scheme:
            continue
        assert page != "docs/students.md", f"{target}: this page is also a class's README"
        linked = (ROOT / page).parent / parts.path if parts.path else ROOT / page
        assert linked.exists(), target
        assert not parts.fragment or parts.fragment in anchors(linked), target


def test_clone_commands_name_the_address_in_pyproject():
    repository = Address.read(ROOT).repository
    for page in PAGES:
        cloned = re.findall(r"git clone (\S+)", (ROOT / page).read_text())
        assert set(cloned) <= {repository}


def test_what_rests_on_the_students_process_is_said_with_its_points():
    """The page names exercises that there are, and points that some of their cells have."""
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d\d) (`.*?) \| ([\d., ]+) \|", page, re.MULTILINE)
    assert len(rows) >= 5
    for number, names, points in rows:
        [lesson] = (ROOT / "modules").glob(f"{number}_*/{number}_*.py")
        text, names = lesson.read_text("utf-8"), re.findall(r"`(\w+)`", names)
        given = [float(each) for each in points.split(", ")]
        earned = r'(?:_\d)?".*?"points": ([\d.]+)'
        cells = {
            name: [float(each) for each in re.findall(f'"test_{name}{earned}', text)]
            for name in names
        }
        for name, each in zip(names * len(given), given, strict=False):
            sums = {sum(some) for n in range(1, 6) for some in combinations(cells[name], n)}
            assert each in sums, (name, each, cells[name])
