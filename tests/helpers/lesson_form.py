"""A lesson's form in tests: its points, its guesses, its hints, its box of torch code."""

from __future__ import annotations

import re

from cohort.run import judge, solved, stub


def points_of(lesson) -> dict[str, float]:
    """Return exercise → the points of its test cells, in the lesson's order."""
    found = {cell.name: 0 for cell in lesson.named("exercise")}
    for cell in lesson.named("test"):
        found[re.sub(r"_\d+$", "", cell.name.removeprefix("test_"))] += cell.points
    return found


def check_essay(lesson, name: str) -> None:
    """Assert that this essay is what is marked by hand, and that its mark scheme shares out 10."""
    [essay] = lesson.named("manual")
    assert (essay.name, essay.points) == (name, 10)
    assert sum(map(int, re.findall(r"\*(\d+) points?:\*", essay.source))) == 10


def check_guesses(lesson) -> list[str]:
    """Assert that each guess is None below a prediction, and compared once, in a later demo cell.

    Returns their names.
    """
    cells = lesson.cells
    asked = {
        cell.source.split(" = ")[0]: at for at, cell in enumerate(cells) if "guess" in cell.tags
    }
    assert 3 <= len(asked) <= 7
    for name, at in asked.items():
        assert re.fullmatch(rf"{name} = None  # your guess.*", cells[at].source)
        assert "**Predict.**" in cells[at - 1].source
        used = re.compile(rf"compare\((?:\s*[^\n]*\n)?[^\n]*\b{name}\b")
        users = [n for n, cell in enumerate(cells) if used.search(cell.source)]
        assert len(users) == 1 and users[0] > at and cells[users[0]].role == "demo", name
    return list(asked)


def check_optional(points: dict[str, float], scope: dict) -> list[str]:
    """Assert that the docstrings of exercises say so if they are optional; return those names."""
    optional = [name for name, worth in points.items() if not worth]
    for name in points:
        assert ("(Optional.)" in scope[name].__doc__) == (name in optional), name
    return optional


def check_hints(text: str) -> int:
    """Assert that hints are folded, and that a first has a second; return the number of pairs."""
    first, second = (text.count(f"<details><summary>Hint {n}: ") for n in (1, 2))
    assert first == second and text.count("</details>") == first + second
    return first


def torch_box(text: str) -> str:
    """Return the code under "In torch" after compiling it."""
    [box] = re.findall(r"### In torch\n.*?```python\n(.*?)```", text, re.S)
    compile(box, "box", "exec")
    assert "import torch" in box
    return box


def check_unwritten(lesson: str) -> None:
    """Assert that each case of `lesson_NN` fails for an exercise that nobody began, and says so.

    Else the report would count the exercise as attempted.
    """
    original = solved(lesson)
    for exercise, solution in original.solutions.items():
        for case in judge(original, exercise, stub(solution)):
            assert not case.passed and "NotImplementedError" in case.reason, (exercise, case.label)
