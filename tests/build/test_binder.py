"""What Binder shows to students: binder/postBuild is run in a copy, and the result is searched."""

import ast
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pytest
from clones import clone

from proflab.lesson.cuda.sheets import MULTIPROCESSORS
from proflab_course.build.leaks import leaks
from proflab_course.build.make import support_files
from proflab_course.build.prepare import prepare
from proflab_course.course.concepts import is_concept_cell
from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.course.notebook import HIDDEN, SOLUTION, Lesson, read_module, regions

ROOT = Path(__file__).resolve().parents[2]
LESSONS = counted(Course(ROOT).lessons("release"))
# What the instructor's environment has and Binder's has not.
NOT_ON_BINDER = ("nbgrader", "jupytext", "sqlalchemy", "nbval", "pytest", "pyseccomp")


@dataclass(frozen=True)
class Binder:
    """The two places that hold anything of the course: the repository and the packages."""

    tree: Path
    packages: Path

    def files(self) -> list[Path]:
        """All files in both."""
        both = (path for place in (self.tree, self.packages) for path in place.rglob("*"))
        return sorted(path for path in both if path.is_file())

    def python(self, code: str, *arguments: str, cwd: str = ".") -> subprocess.CompletedProcess:
        """Run code as a student's kernel there would, without the instructor's packages."""
        block = f"import sys; sys.modules.update(dict.fromkeys({NOT_ON_BINDER}))\n"
        return subprocess.run(
            [sys.executable, "-c", block + code, *arguments],
            cwd=self.tree / cwd,
            env=environment(self.tree.parent, self.packages),
            capture_output=True,
            text=True,
        )


def environment(home: Path, packages: Path) -> dict[str, str]:
    """Nothing of this account, no index of packages to ask."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": str(home), "PATH": path, "PYTHONPATH": str(packages), "MPLBACKEND": "Agg"}
    pip = {"PIP_NO_INDEX": "1", "PIP_TARGET": str(packages), "PIP_CONFIG_FILE": os.devnull}
    return own | pip | {"PROFLAB_DEMO": "small"}


@pytest.fixture(scope="module")
def binder(tmp_path_factory) -> Binder:
    """The copy after postBuild."""
    home = tmp_path_factory.mktemp("home")
    place = Binder(home / "repository", home / "packages")
    clone(place.tree)
    for leftover in ("gradebook.db", "autograded/s/x.ipynb", "feedback/s/x.html", "build/x.py"):
        (place.tree / leftover).parent.mkdir(parents=True, exist_ok=True)
        (place.tree / leftover).write_text("everyone's points")
    subprocess.run(
        ["binder/postBuild"],
        cwd=place.tree,
        env=environment(home, place.packages) | {"REPO_DIR": str(place.tree)},
        check=True,
    )
    return place


@pytest.fixture(scope="module")
def lessons() -> list[Lesson]:
    """The lessons as written, with all their secrets."""
    places = {name: f"modules/{name}/{name}.py" for name in LESSONS}
    return [read_module(ROOT / place, name, place) for name, place in places.items()]


@pytest.mark.proves("a Binder holds what students work with and nothing else")
def test_only_what_students_work_with_is_left(binder):
    left = {path.name for path in binder.tree.iterdir()}
    assert left == {"release", "binder", "README.md", "LICENSE"}
    released = sorted(path.name for path in (binder.tree / "release").iterdir())
    assert counted(released) == LESSONS


@pytest.mark.whole
def test_no_lesson_shows_a_hidden_case_a_mark_scheme_or_a_solution(binder, lessons):
    taken = prepare(Course(ROOT)).taken
    for lesson in lessons:
        folder = binder.tree / "release" / lesson.name
        assert leaks(folder, lesson, lessons, lesson.name, taken[lesson.name].given) == []


@pytest.mark.whole
def test_no_other_file_shows_a_hidden_case_or_a_solution(binder, lessons):
    secrets = [
        line
        for lesson in lessons
        for cell in lesson.cells
        for pair in (HIDDEN, SOLUTION)
        for region in regions(cell.source, pair)
        for line in map(str.strip, region)
        # A set-up line or a line of a solution may occur elsewhere by chance; none of these may.
        if line.startswith(("expect", "return", "raise ValueError")) and len(line) > 30
    ]
    assert len(secrets) > 50
    others = [path for path in binder.files() if binder.tree / "release" not in path.parents]
    assert binder.packages / "proflab" / "tensor.py" in others
    for path in others:
        text = path.read_text(errors="ignore")
        assert [line for line in secrets if line in text] == [], path


def test_the_search_would_have_found_them(binder, lessons, tmp_path):
    """The same search finds the secrets in the files that postBuild removes."""
    for step in ("modules", "source"):
        shutil.copytree(ROOT / step / LESSONS[0], tmp_path / step)
        kinds = " ".join(leaks(tmp_path / step, lessons[0], lessons, step))
        assert "the hidden block of" in kinds and "the solution of" in kinds


def test_no_hidden_number_is_left_in_text_or_compiled(binder, lessons):
    numbers = hidden_numbers(lessons)
    assert 2_360_064 in numbers
    for path in binder.files():
        found = set(integers(path)) & numbers
        assert not found, f"{path} holds {found}"


def hidden_numbers(lessons: list[Lesson]) -> set[int]:
    """The whole numbers of six digits and more in hidden blocks, but in nothing that is shown.

    Round ones, such as 200,000, are nobody's secret.
    """
    hidden, shown = set(), set()
    for lesson in lessons:
        for path in support_files(ROOT / "modules" / lesson.name):
            shown |= set(numbers_in(path.read_text(errors="ignore")))
        for cell in lesson.cells:
            secret = [line for region in regions(cell.source, HIDDEN) for line in region]
            hidden |= set(numbers_in("\n".join(secret)))
            shown |= set(numbers_in("\n".join(set(cell.source.splitlines()) - set(secret))))
    published = json.loads((ROOT / "tests/data/published_parameters.json").read_text())
    shown |= set(numbers_in(str(MULTIPROCESSORS)))  # data sheets are published, too
    secrets = hidden - shown - set(numbers_in(json.dumps(published)))
    return {number for number in secrets if len(str(number).rstrip("0")) > 1}


def numbers_in(text: str) -> Iterator[int]:
    """The whole numbers of six digits and more, however their digits are grouped."""
    for match in re.finditer(r"(?<![\d.])\d[\d_,]{5,}", text):
        digits = re.sub("[_,]", "", match[0])
        if len(digits) < 40 and int(digits) >= 100_000:  # longer ones are lists without blanks
            yield int(digits)


def integers(path: Path) -> Iterator[int]:
    """The numbers in a file: of a compiled one, the constants."""
    if path.suffix == ".pyc":
        yield from constants(marshal.loads(path.read_bytes()[16:]))
    else:
        yield from numbers_in(path.read_text(errors="ignore"))


def constants(value: object) -> Iterator[int]:
    """The whole numbers in a code object, in those inside it, and in its texts."""
    if isinstance(value, CodeType):
        yield from constants(value.co_consts)
    elif isinstance(value, (tuple, frozenset)):
        for inner in value:
            yield from constants(inner)
    elif isinstance(value, str):
        yield from numbers_in(value)
    elif isinstance(value, int):
        yield value


def test_the_package_comes_from_the_packages_and_is_no_link(binder):
    answer = binder.python("import proflab; print(proflab.__file__)")
    assert Path(answer.stdout.strip()) == binder.packages / "proflab" / "__init__.py"
    assert not any(path.is_symlink() for path in binder.packages.rglob("*"))
    assert not list(binder.packages.glob("__editable__*"))


RUN_NOTEBOOK = """
import ast, json, sys
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        try:
            exec("".join(cell["source"]), names)
        except (NotImplementedError, ValueError) as error:
            # A concept question without an answer says which letters it takes.
            if isinstance(error, NotImplementedError) or "in place of None" in error.args[0]:
                print(cell["metadata"]["nbgrader"]["grade_id"])
            else:
                raise
"""


# Each lesson's empty release is run by `proflab build --check`, with more beside it than here.
ENDS = {LESSONS[0], LESSONS[-1]}


@pytest.mark.whole
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in ENDS else pytest.mark.soak) for n in LESSONS]
)
def test_a_release_notebook_runs_with_what_is_left(binder, name):
    answer = binder.python(RUN_NOTEBOOK, f"{name}.ipynb", cwd=f"release/{name}")
    assert answer.returncode == 0, answer.stderr
    tests = {cell.name for cell in prepare(Course(ROOT)).taken[name].lesson.named("test")}
    assert any(map(is_concept_cell, answer.stdout.split()))
    assert tests <= set(answer.stdout.split())


def test_students_can_assemble_their_profiler_there(binder):
    code = "from proflab_course.cli import main; sys.exit(main(sys.argv[1:]))"
    answer = binder.python(code, "assemble", "release", "-o", "my_profiler.py")
    assert answer.returncode == 0, answer.stderr
    assert "exercises" in answer.stdout
    module = ast.parse((binder.tree / "my_profiler.py").read_text())
    assert "linear_parameters" in {getattr(node, "name", "") for node in module.body}


@pytest.mark.whole
def test_post_build_refuses_to_delete_a_checkout(tmp_path):
    place = Binder(tmp_path / "repository", tmp_path / "packages")
    clone(place.tree)
    answer = subprocess.run(
        [place.tree / "binder" / "postBuild"],
        cwd=place.tree,
        env=environment(tmp_path, place.packages),
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1 and "for Binder only" in answer.stderr
    assert (place.tree / "modules").is_dir()
