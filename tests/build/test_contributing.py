"""The contributor's pages: what they name exists, the map is complete, the walks are walked."""

import argparse
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import essay_class
import nbformat
import pytest
import race_course
import viva_class
import yaml
from archives import solved, zipped
from following import executed
from grading_course import LESSON, copy_course
from imports import ROOT
from mini_course import make_course
from nbformat.v4 import new_code_cell
from run_all import NAME, SOLUTIONS, filled, released, run_all

import proflab
from proflab import Tensor, dispatch, nn
from proflab_course.cli import all_commands, main

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
PAGES = {"CONTRIBUTING.md": CONTRIBUTING, "docs/architecture.md": ARCHITECTURE}
PACKAGES = ("proflab", "proflab_course", "proflab_classroom")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
# A name of the repository's: a word with a slash in it or a known ending, nothing else.
PATH = re.compile(r"\.?[\w-]+(/[\w.-]*)+|[\w-]+\.(py|md|yml|toml|txt|cff)")
MADE_BY_USERS = {"my_profiler.py", "mine.py"}
WALK = re.compile(r"^## ([^\n]+): (\d+) files\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
WALKS = {
    m[1]: (int(m[2]), re.findall(r"^\| (\d+) \| `(\S+)` \|", m[3], re.M))
    for m in WALK.finditer(ARCHITECTURE)
}


# What grading without isolation does without.
SANDBOXED = (
    "proflab_course/grading/run/sandbox_runner.py",
    "proflab_course/grading/run/zygote_client.py",
)


def paths(text: str) -> set[str]:
    """Return the files and folders that a page names in backticks, __init__.py of all apart."""
    spans = {word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()}
    return {s for s in spans if PATH.fullmatch(s)} - MADE_BY_USERS - {"__init__.py"}


@pytest.mark.parametrize("page", PAGES)
def test_every_path_on_the_page_exists(page):
    found = paths(PAGES[page])
    assert len(found) >= 30
    for name in found:
        pattern = name.replace("NN", "[0-9][0-9]").replace("slug", "*")
        assert list(ROOT.glob(pattern.rstrip("/"))), name
        assert not name.endswith("/") or all(p.is_dir() for p in ROOT.glob(pattern)), name


def test_every_folder_of_the_packages_is_on_the_map():
    on_the_map = set(re.findall(r"^\| `(proflab\S*)/` \|", CONTRIBUTING, re.MULTILINE))
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True
    ).stdout.splitlines()
    files = tracked or [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    folders = {str(parent) for f in files for parent in Path(f).parents} - {"."}
    missing = {f for f in folders if (ROOT / f).is_dir()} - on_the_map
    # A folder that only holds folders needs no line of its own.
    assert not missing and on_the_map <= folders


def commands(text: str) -> list[list[str]]:
    """Return the commands of the shell blocks and backticks of a page, as words."""
    blocks = re.findall(r"^```sh[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [part for block in blocks for line in block.splitlines() for part in line.split("&&")]
    spans = re.findall(r"`((?:make|proflab|python|pytest) [^`\n]+)`", text)
    return [words for line in lines + spans if (words := line.split("#")[0].split())]


def options(subcommand: str) -> set[str]:
    """Return the options that a subcommand of `proflab` takes."""
    parser = argparse.ArgumentParser()
    importlib.import_module(all_commands()[subcommand][0]).add_arguments(parser)
    return set(parser._option_string_actions)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_the_page_exists(page):
    for words in commands(PAGES[page]):
        match words:
            case ["make", target, *_]:
                assert target in TARGETS
            case ["proflab", subcommand, *more]:
                assert {w for w in more if w.startswith("--")} <= options(subcommand)
            case ["python", "-m", module, *_]:
                assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
            case ["pytest" | "python", path, *_]:
                assert path in MADE_BY_USERS or (ROOT / path).exists(), path


def test_the_contributors_page_names_every_way_to_run_what():
    for target in ("help", "setup", "lint", "test", "test-torch", "soak", "bench", "api", "demo"):
        assert f"make {target}" in CONTRIBUTING


def test_the_glossary_is_in_order_and_its_words_are_the_codes():
    words = re.findall(r"^- \*\*([^*]+)\*\*[:,]", CONTRIBUTING, re.MULTILINE)
    assert words == sorted(words) and len(words) >= 25
    code = " ".join(
        path.read_text()
        for folder in (*PACKAGES, "tests/cohort")
        for path in (ROOT / folder).rglob("*.py")
    ).lower()
    code = re.sub(r"[\s_]+", " ", code)
    for word in words:
        assert word in code, word


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_has_as_many_files_as_it_says(walk):
    said, rows = WALKS[walk]
    assert [int(number) for number, _ in rows] == list(range(1, said + 1))
    assert len({path for _, path in rows}) == said


def test_there_are_as_many_walks_as_the_page_says():
    [told] = re.findall(r"code in (\w+) walks", ARCHITECTURE)
    assert told == "fourteen" and len(WALKS) == 14


def test_each_question_of_a_newcomer_is_answered_by_one_file():
    section = ARCHITECTURE.split("## Where to look\n")[1]
    rows = re.findall(r"^\| (Where .*\?) \| `(\S+)`", section, re.M)
    assert len({question for question, _ in rows}) == len(rows) >= 20
    assert [place for _, place in rows if not (ROOT / place).exists()] == []


def test_the_map_of_a_folder_names_each_of_its_files():
    missing = {
        f"{folder.parent.relative_to(ROOT)}/{path.name}"
        for package in PACKAGES[1:]
        for folder in (ROOT / package).rglob("__init__.py")
        for path in folder.parent.glob("*.py")
        if path != folder and path.name not in folder.read_text() and path.stem != "cli"
    }
    assert missing == set()


def walk(start: str) -> list[str]:
    """Return the files of the walk whose heading begins so."""
    [rows] = [rows for name, (_, rows) in WALKS.items() if name.startswith(start)]
    return [path for _, path in rows]


def test_the_walk_of_a_call_is_what_python_executes():
    layer, x = nn.Linear(2, 2), Tensor([[1.0, 2.0]])
    with executed() as seen, dispatch.hook(lambda call: call()):
        layer(x).sum().backward()
    assert walk("A call") == seen


def test_the_walks_of_a_submission_and_of_a_value_are_what_python_executes(tmp_path, monkeypatch):
    course = copy_course(tmp_path, ["complete"])
    monkeypatch.chdir(course.root)
    with executed() as seen:
        assert main(["grade", LESSON, "--no-sandbox"]) == 0
    for path in (*walk("A submission"), *walk("A value")):
        elsewhere = "/inside/" in path or path in SANDBOXED
        assert path in seen or elsewhere and (ROOT / path).exists(), path
    [told] = re.findall(r"enters about (\d+) files of the grader's", ARCHITECTURE)
    assert abs(len(seen) - int(told)) <= 5, f"{len(seen)} files"
    named = paths(ARCHITECTURE)
    for path in seen:
        folder = f"{Path(path).parent}/"
        assert path in named or folder in named, f"docs/architecture.md does not name {path}"


def followed(*arguments: str) -> set[str]:
    """Return the files that a command enters. Raises AssertionError where it fails."""
    with executed() as seen:
        assert main(list(arguments)) == 0
    return set(seen)


@pytest.mark.whole
def test_the_walks_of_collect_report_and_export_are_what_python_executes(tmp_path, monkeypatch):
    course = copy_course(tmp_path, ["complete"])
    monkeypatch.chdir(course.root)
    name = f"A_1_assignsubmission_file_/{LESSON}.ipynb"
    (tmp_path / "all.zip").write_bytes(zipped({name: solved("a")}))
    columns = 'Identifier,Full name,ID number,Email address,Status,"Last modified (submission)"'
    row = 'Participant 1,A,s1,,Submitted,"Monday, 30 November 2026, 6:30 PM"'
    (tmp_path / "sheet.csv").write_text(f"{columns}\n{row}\n")
    found = followed("collect", f"{tmp_path}/all.zip", LESSON, "--roster", f"{tmp_path}/sheet.csv")
    assert set(walk("An archive")) <= found
    assert followed("grade", LESSON, "--no-sandbox", "--student", "complete")
    assert set(walk("A class")) <= followed("report", LESSON)
    columns = "Student,ID,SIS User ID,SIS Login ID,Section,01 Parameters (55)"
    (tmp_path / "canvas.csv").write_text(f"{columns}\nPoints,,,,,110\nC,1,,complete,A,\n")
    assert set(walk("Grades")) <= followed("export", LESSON, "--canvas", f"{tmp_path}/canvas.csv")


@pytest.mark.whole
def test_the_walks_of_check_assemble_and_run_all_are_what_python_executes(tmp_path, monkeypatch):
    folder = released(tmp_path) / NAME
    notebook = filled(folder, **{n: text for n, text in SOLUTIONS.items() if n != "area"})
    start = f"import sys\nsys.path.append({str(ROOT / 'tests/helpers')!r})\n"
    start += "import following\nseen = []\nfollowing.follow(seen)"
    notebook.cells.insert(0, new_code_cell(start))
    notebook.cells.append(new_code_cell("sys.settrace(None)\nprint(*seen)"))
    run_all(folder, notebook)
    printed = "".join(output.text for output in notebook.cells[-1].outputs)  # in several parts
    assert set(walk("A lesson through Run")) <= set(printed.split())
    nbformat.write(filled(folder, **SOLUTIONS), folder / f"{NAME}.ipynb")
    monkeypatch.chdir(tmp_path)
    assert set(walk("A notebook")) <= followed("check", "01")
    options = "-o", "my_profiler.py", "--standalone"
    assert set(walk("Notebooks")) <= followed("assemble", "release", *options)


@pytest.mark.whole
def test_the_walk_of_a_lesson_is_what_python_executes(tmp_path, monkeypatch):
    course = make_course(tmp_path)
    monkeypatch.chdir(course.root)
    with executed() as seen:
        assert main(["build"]) == 0
    assert set(walk("A lesson through the build")) <= set(seen)
    # Nothing of the build's own is left out but what makes a tree for a class.
    own = {path for path in seen if path.startswith("proflab_course/build/")}
    assert own <= set(walk("A lesson through the build"))


@pytest.mark.whole
def test_the_walks_of_a_race_and_of_a_number_are_what_python_executes(tmp_path, monkeypatch):
    course = race_course.course_in(tmp_path / "races")
    folder = course.root / "submitted" / "ada" / race_course.LESSON
    folder.mkdir(parents=True)
    notebook = race_course.handed(rows=race_course.HALF)
    nbformat.write(notebook, folder / f"{race_course.LESSON}.ipynb")
    monkeypatch.chdir(course.root)
    found = followed("grade", race_course.LESSON, "--no-sandbox")
    # What the grader leaves to other processes, the notebook does in its own.
    monkeypatch.syspath_prepend(str(race_course.support()))
    scope: dict = {}
    with executed() as seen:
        for code in (cell.source for cell in notebook.cells if cell.cell_type == "code"):
            exec(code, scope)
    assert not set(seen) >= set(walk("A race"))
    assert set(walk("A race")) <= {*found, *seen}
    (tmp_path / "numbers").mkdir()
    course = copy_course(tmp_path / "numbers", ["complete"])
    (course.root / "private").mkdir()
    (course.root / "private/course.toml").write_text('[course]\nvariants = "student"\n')
    monkeypatch.chdir(course.root)
    assert set(walk("A number")) <= followed("grade", LESSON, "--no-sandbox")


@pytest.mark.whole
def test_the_walks_of_a_viva_and_of_an_essay_are_what_python_executes(tmp_path, monkeypatch):
    course = viva_class.make_course(tmp_path / "viva", {"ada": {}})
    monkeypatch.chdir(course.root)
    found = followed("viva", "1", "--jobs", "1", "--no-sandbox")
    (course.root / "marks.csv").write_text("student,q1,q2,q3,q4\nada,1,1,0,1\n")
    assert set(walk("A viva sheet")) <= found | followed("viva", "1", "--marks", "marks.csv")
    (tmp_path / "essays").mkdir()
    course = essay_class.essay_class(tmp_path / "essays", ["ada", "ben"])
    monkeypatch.chdir(course.root)
    found = followed("essays", "1", "--between", "anna,bert", "--overlap", "2")
    assert set(walk("An essay")) <= found | followed("essays", "1")


# ── citation, workflows, hooks ───────────────────────────────────────────────────────────────


def test_one_version_and_one_date_stand_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    released = re.findall(
        r"^## \[([\d.]+)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert released == sorted(released, key=lambda row: row[1], reverse=True)
    version = project["version"]
    assert released[0] == (version, str(citation["date-released"]))
    assert citation["version"] == version == proflab.__version__
    assert citation["repository-code"] == project["urls"]["Repository"]
    # A tag stands in an address: the links of the README and of each lesson, and Colab's cell.
    pages = [ROOT / "README.md", *ROOT.glob("source/*/*.ipynb"), *ROOT.glob("release/*/*.ipynb")]
    assert len(pages) >= 23
    for page in pages:
        tags = re.findall(r"(?:proflab/|blob/|tags/)v(\d+\.\d+\.\d+)", page.read_text("utf-8"))
        assert len(tags) >= 2 and set(tags) == {version}, page


def test_a_vulnerability_is_reported_to_the_repository_and_every_page_leads_there():
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    page = (ROOT / "SECURITY.md").read_text()
    assert f"({repository['Repository']}/security/advisories/new)" in page
    assert "(docs/security.md)" in page
    assert "(SECURITY.md)" in CONTRIBUTING
    assert "(../SECURITY.md)" in (ROOT / "docs/security.md").read_text()


def test_the_changelog_has_kinds_of_change_that_readers_know():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[([^]]+)\]", text, re.MULTILINE)[0] == "Unreleased"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= kinds


def workflows() -> list[Path]:
    """Return the files of continuous integration."""
    return sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", workflows(), ids=lambda path: path.name)
def test_a_workflow_runs_targets_that_the_makefile_has(path):
    jobs = yaml.safe_load(path.read_text())["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    commands = [line for run in runs for line in run.splitlines() if line.startswith("make ")]
    named = {command.split()[1] for command in commands}
    assert named and named <= TARGETS


def test_the_workflows_run_the_tests_on_every_supported_python_and_check_the_build():
    text = "\n".join(path.read_text() for path in workflows())
    jobs = {
        k: v for path in workflows() for k, v in yaml.safe_load(path.read_text())["jobs"].items()
    }
    matrices = [job["strategy"]["matrix"] for job in jobs.values() if "strategy" in job]
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    [systems] = [matrix["system"] for matrix in matrices if "system" in matrix]
    assert {re.split(r"\W", system)[0] for system in systems} == {"macos", "windows"}
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    pinned = [line.rpartition(" ")[2] for line in listed if "Python :: 3" in line]
    assert pythons == pinned
    rows = jobs["lessons"]["strategy"]["matrix"]["include"]
    assert [row["python"] for row in rows if row["numpy"] == "numpy"] == ["3.13", "3.14"]
    assert {row["python"]: row["numpy"] for row in rows}[pinned[0]] == "numpy==2.0.*"  # the oldest
    page = (ROOT / "docs/students.md").read_text(encoding="utf-8")
    assert f"| Linux | {', '.join(pythons)} |" in page
    assert (
        f"| macOS, Windows | {', '.join(jobs['students']['strategy']['matrix']['python'])} |"
        in page
    )
    assert "make test" in text and "make build" in text and "git diff --exit-code" in text


def test_every_action_is_named_by_a_commit_and_its_release():
    text = "\n".join(path.read_text() for path in workflows())
    used = re.findall(r"uses: (.*)", text)
    assert len(used) >= 10
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), action


def test_the_hooks_before_a_commit_run_with_the_pinned_ruff(tmp_path):
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"].split() for repo in hooks for hook in repo["hooks"]]
    assert [entry[1] for entry in entries] == ["check", "format"]
    (tmp_path / "untidy.py").write_text("import sys\nimport os\nprint( os,sys )\n")
    for program, *arguments in entries:
        assert program == ".venv/bin/ruff"  # what `make setup` installs
        command = [Path(sys.executable).parent / "ruff", *arguments, "untidy.py"]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "untidy.py").read_text().endswith("\nprint(os, sys)\n")
