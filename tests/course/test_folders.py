"""The plan of the packages: no import cycle, and folders that rest on those below.

Ground (what a course is) ← features (each whole) ← commands, which know no feature by name.
`python tests/course/test_folders.py` prints the arrows between the folders.
"""

import ast
import re
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

import pytest
from imports import ROOT, import_graph, modules

from proflab.lesson.names import bound_names

COMMANDS = ("build", "assemble", "collect", "export", "report", "doctor", "check", "grading")
USERS = ("tests", "benchmarks", "docs", "modules")  # of the packages
IMPORTS = re.compile(
    r"^ *from (proflab(?:_\w+)?(?:\.\w+)*) import (?:\(([^)]*)\)|([\w ,*]+))", re.MULTILINE
)
# Which folders import none of which others, at the top of a file or inside a function.
PACKAGES = ("proflab", "proflab_course", "proflab_classroom")
RULES = [
    ("proflab", ["proflab_course", "proflab_classroom"]),
    ("proflab_course", ["proflab_classroom"]),
    (
        "proflab_course.course",
        [f"proflab_course.{name}" for name in ("cases", "tracks", *COMMANDS)],
    ),
    ("proflab_course.tracks", [f"proflab_course.{name}" for name in COMMANDS]),
    ("proflab_course.cases", [f"proflab_course.{name}" for name in COMMANDS]),
    ("proflab_course.assemble", ["proflab_course.build", "proflab_course.grading"]),
    ("proflab_course.collect", ["proflab_course.build", "proflab_course.assemble"]),
    (
        "proflab_course.grading",
        [f"proflab_course.{name}" for name in COMMANDS if name != "grading"],
    ),
    *((f"proflab_course.{name}", ["proflab_course.cli"]) for name in ("course", *COMMANDS)),
]

# Modules that know a kind of cell which a feature puts into lessons: answers by letters. Hand-ins
# of all releases may have such cells, so these stay, each with its reason. The list may only become
# shorter.
ANSWER_CELLS = "proflab_course.course.answer_cells"
KNOW_ANSWERS = {
    "proflab_course.build.redrawn": "another order of options than in source/ is refused or told",
    "proflab_course.build.trial": "a lesson as released answers nothing, and no error is raised",
    "proflab_course.course.notebook": "a cell of answers has a role of its own",
    "proflab_course.grading.answer_key": "answers stay open in a release, and are no exercise",
    "proflab_course.grading.answers": "what was answered is undone to the file's letters",
    "proflab_course.grading.grade_notebook": "answers in the replies of a hand-in are kept",
    "proflab_course.grading.pages.feedback": "the keys are hidden until the deadline",
    "proflab_course.grading.pages.overview": "answers have a line of their own",
    "proflab_course.grading.submissions.which_lesson": "an answer tells no lesson from another",
    "proflab_course.report.lesson_page": "figures of exercises leave answers out",
}


Graph = dict[str, set[str]]  # which modules each imports


@cache
def plan() -> Graph:
    """Return what the modules of the packages load; they are read once for all tests.

    What is imported for types alone is not loaded: passes name the facts they are called with.
    """
    return import_graph(modules(*PACKAGES), types=False)


def cycle(graph: Graph) -> list[str]:
    """Return the modules of one import cycle; nothing if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def is_within(name: str, package: str) -> bool:
    """Return True if a module is a package or lies in it."""
    return f"{name}.".startswith(f"{package}.")


def between_folders(graph: Graph) -> Graph:
    """Return which folders import which others, two names deep."""
    found: Graph = {}
    for (start, end), _ in arrows(graph).items():
        found.setdefault(start, set()).add(end)
    return found


def against_rule(graph: Graph, folder: str, others: list[str]) -> list[str]:
    """Return a line for each import of one of the others, or of what lies in it, in a folder."""
    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        for target in sorted(targets)
        if is_within(name, folder) and any(is_within(target, other) for other in others)
    ]


def test_no_import_runs_in_a_circle():
    assert len(plan()) > 150
    assert not cycle(plan())


def test_no_two_folders_need_each_other():
    """Not even for types: neither can be read, or moved, without the other."""
    folders = between_folders(import_graph(modules("proflab_course", "proflab_classroom")))
    assert {"proflab_course.tracks", "proflab_classroom.items"} <= folders.keys()
    assert not cycle(folders)


@pytest.mark.parametrize("folder, others", RULES)
def test_folders_rest_on_those_below(folder, others):
    assert sum(is_within(name, folder) for name in plan()) >= 3
    assert all(other in plan() for other in others)
    assert not against_rule(plan(), folder, others)


def test_no_further_module_knows_cells_of_answers():
    found = {
        name
        for name, targets in plan().items()
        if is_within(name, "proflab_course") and ANSWER_CELLS in targets
    }
    assert not found - KNOW_ANSWERS.keys()
    assert not KNOW_ANSWERS.keys() - found, "these know none any longer: strike them off the list"


def test_no_command_names_the_package_of_features():
    """What is offered is found by entry points alone, not by a string or a path either."""
    texts = {path: path.read_text() for path in (ROOT / "proflab_course").rglob("*.py")}
    named = {path.name for path, text in texts.items() if "proflab_classroom" in text}
    assert len(texts) > 150 and not named


def test_what_tests_tools_and_lessons_import_is_there():
    """Many of these files run rarely, and would be the last to tell what a removal left behind."""
    known = modules(*PACKAGES)
    files = [path for folder in USERS for path in sorted((ROOT / folder).rglob("*.py"))]
    missing = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path in files
        for module, name in taken(path)
        if f"{module}.{name}" not in known
        and not (module in known and {name, "*"} & names_in(known[module]))
    ]
    assert len(files) > 500 and missing == []


def taken(path: Path) -> list[tuple[str, str]]:
    """Return what a file imports from the packages: module and name."""
    return [
        (module, each.split()[0])
        for module, inside, line in IMPORTS.findall(path.read_text("utf-8"))
        for each in (inside or line).split(",")
        if each.strip() not in ("", "*")
    ]


@cache
def names_in(path: Path) -> set[str]:
    """Return the names that a module binds; "*" where it has others, which are not known."""
    text = path.read_text("utf-8")
    bound = bound_names(ast.parse(text).body)
    return bound | ({"*"} if "__getattr__" in bound or "import *" in text else set())


def arrows(graph: Graph) -> Counter:
    """Return how many imports lead from each folder to each other one, two names deep."""
    folders = {name: ".".join(name.split(".")[:2]) for name in graph}
    return Counter(
        (folders[name], folders[target])
        for name, targets in graph.items()
        for target in targets
        if folders[name] != folders[target] and not is_within(target, "proflab")
    )


def graph(root: Path) -> Graph:
    """Return what the modules of a package below a folder import."""
    return import_graph(modules("house", root=root))


def test_a_circle_is_found_inside_functions_and_through_packages(tmp_path):
    room = tmp_path / "house"
    room.mkdir()
    (room / "__init__.py").write_text("from house.a import x\n")
    (room / "a.py").write_text("def f():\n    from house import b\n")
    (room / "b.py").write_text("import os\n")
    assert not cycle(graph(tmp_path))
    (room / "b.py").write_text("import os\n\ndef f():\n    import house\n")
    assert set(cycle(graph(tmp_path))) == {"house", "house.a", "house.b"}
    (room / "b.py").write_text("from house.a import x\n")
    assert set(cycle(graph(tmp_path))) == {"house.a", "house.b"}
    found = against_rule(graph(tmp_path), "house.a", ["house.b"])
    assert found == ["house.a imports house.b"]


def test_a_circle_of_folders_is_found_where_no_module_is_in_one(tmp_path):
    for name, text in {
        "a/__init__": "",
        "a/one": "from house.b import two\n",
        "a/three": "",
        "b/__init__": "",
        "b/two": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.a.three\n",
    }.items():
        file = tmp_path / "house" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert not cycle(graph(tmp_path))
    assert set(cycle(between_folders(graph(tmp_path)))) == {"house.a", "house.b"}


if __name__ == "__main__":
    for (start, end), count in sorted(arrows(plan()).items()):
        print(f"{count:>4}  {start} → {end}")
