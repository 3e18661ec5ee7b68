"""Offer the inventory to the commands: it is built, reported and exported by its name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from proflab_classroom.inventory.items import HALVES, NAME
from proflab_course.course.features import Feature, Survey
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError


class Inventory(Feature):
    """What a class knows before a course and after it."""

    def surveys(self) -> Sequence[Survey]:
        """Return the inventory, whose halves are graded like lessons."""
        return [Survey(NAME, tuple(HALVES), _build, _page, _export)]


def _build(course: Course, arguments: argparse.Namespace) -> None:
    """Make the inventory's notebooks, and for a class list the forms that students take."""
    from proflab_classroom.inventory.notebooks import build_inventory, write_list

    others = arguments.output or arguments.check or arguments.seed is not None
    if others or len(arguments.lessons) > 1:
        raise CourseError(f"`proflab build {NAME}` takes --per-student ROSTER and nothing else")
    for path in build_inventory(course):
        print(f"{path} is made from modules/{NAME}.toml")
    if arguments.per_student is not None:
        listed, count = write_list(course, arguments.per_student)
        print(f"{listed.relative_to(course.root)}: the forms of {count} students")


def _page(course: Course) -> str:
    from proflab_classroom.inventory.page import read_report, render_inventory

    return render_inventory(read_report(course))


def _export(course: Course, arguments: argparse.Namespace) -> None:
    """Write the answers of students who agreed."""
    from proflab_classroom.inventory.table import anonymised

    text, count = anonymised(course, arguments.label)
    output = arguments.output or Path(f"{NAME}.csv")
    replace_file(output, text.encode())
    print(f"{output}: the answers of {count} students who agreed")
