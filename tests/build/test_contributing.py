"""The contributor's pages: what they name exists, the map is complete, the walks are walked."""

import argparse
import importlib
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from grading_course import LESSON, copy_course
from imports import ROOT
from mini_course import make_course

import proflab
from proflab import Tensor, dispatch, nn
from proflab_course.cli import COMMANDS, main

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
PAGES = {"CONTRIBUTING.md": CONTRIBUTING, "docs/architecture.md": ARCHITECTURE}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
# A name of the repository's: a word with a slash in it or a known ending, nothing else.
PATH = re.compile(r"\.?[\w-]+(/[\w.-]*)+|[\w-]+\.(py|md|yml|toml|txt|cff)")
MADE_BY_USERS = {"my_profiler.py"}
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


def test_every_folder_of_both_packages_is_on_the_map():
    on_the_map = set(re.findall(r"^\| `(proflab\S*)/` \|", CONTRIBUTING, re.MULTILINE))
    tracked = subprocess.run(
        ["git", "ls-files", "proflab", "proflab_course"], cwd=ROOT, capture_output=True, text=True
    ).stdout.splitlines()
    files = tracked or [
        str(path.relative_to(ROOT))
        for package in ("proflab", "proflab_course")
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
    importlib.import_module(COMMANDS[subcommand][0]).add_arguments(parser)
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
        for folder in ("proflab", "proflab_course", "tests/cohort")
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


def test_there_are_four_walks():
    starts = ("A submission", "A value", "A call", "A lesson")
    assert len(WALKS) == 4
    assert all(walk.startswith(start) for walk, start in zip(WALKS, starts, strict=True))


@contextmanager
def executed() -> Iterator[list[str]]:
    """List the files of both packages in the order in which this process first enters them."""
    seen: list[str] = []

    def trace(frame, event, argument):
        path = frame.f_code.co_filename
        if path.startswith((f"{ROOT}/proflab/", f"{ROOT}/proflab_course/")):
            if (name := path.removeprefix(f"{ROOT}/")) not in seen:
                seen.append(name)

    before = sys.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        yield seen
    finally:
        sys.settrace(before)
        threading.settrace(before)


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
    named = paths(ARCHITECTURE)
    for path in seen:
        folder = f"{Path(path).parent}/"
        assert path in named or folder in named, f"docs/architecture.md does not name {path}"


def test_the_walk_of_a_lesson_is_what_python_executes(tmp_path, monkeypatch):
    course = make_course(tmp_path)
    monkeypatch.chdir(course.root)
    with executed() as seen:
        assert main(["build"]) == 0
    assert set(walk("A lesson")) <= set(seen)
    # Nothing of the build's own is left out but what makes a tree for a class.
    own = {path for path in seen if path.startswith("proflab_course/build/")}
    assert own <= set(walk("A lesson"))


# ── citation, workflows, hooks ───────────────────────────────────────────────────────────────


def test_one_version_stands_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version == proflab.__version__
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert citation["repository-code"] == repository["Repository"]
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


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
    [pythons] = [j["strategy"]["matrix"]["python"] for j in jobs.values() if "strategy" in j]
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest, above = map(int, re.fullmatch(r">=3\.(\d+),<3\.(\d+)", wanted).groups())
    assert pythons == [f"3.{minor}" for minor in range(oldest, above)]
    assert "make test" in text and "make build" in text and "git diff --exit-code" in text


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
