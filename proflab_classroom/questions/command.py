"""`proflab questions`: make the pages of a lesson's questions for a lecture."""

from __future__ import annotations

import argparse
from pathlib import Path

from proflab_classroom.items.quizzes import as_gift, as_qti
from proflab_classroom.questions.asked import asked_concepts
from proflab_classroom.questions.guesses import asked_guesses
from proflab_classroom.questions.pages import Files, concept_pages, guess_pages
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course, CourseError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab questions`."""
    parser.add_argument("lesson", metavar="LESSON", help="the lesson: 01_parameters, 01 or 1")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--guesses",
        action="store_true",
        help="what the lesson lets its readers guess, in place of its concept questions",
    )
    kind.add_argument(
        "--exam",
        action="store_true",
        help="write an examination on paper, and a page with its keys; it needs --seed",
    )
    kind.add_argument("--gift", action="store_true", help="write a quiz for Moodle instead")
    kind.add_argument("--qti", action="store_true", help="write a quiz for Canvas instead")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="with --exam: numbers, functions and the order of options are drawn by it",
    )
    parser.add_argument(
        "--write",
        nargs="+",
        default=[],
        metavar="EXERCISE",
        help="with --exam: the functions to write (default: some that your track leaves out)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="the folder for the pages (default: reports/)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the pages and print the names of their files."""
    course = Course.find()
    lesson = course.lesson(arguments.lesson, "source")
    if (arguments.seed is not None or arguments.write) and not arguments.exam:
        raise CourseError("--seed and --write belong to --exam: add it")
    files = _files(course, lesson, arguments)
    folder = arguments.output or course.root / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    for name, what, data in files:
        replace_file((folder / name).resolve(), data)
        print(f"{what}: {folder / name}")
    if arguments.gift or arguments.qti or arguments.exam:
        return 0
    told = "the table" if not arguments.guesses else "the table or of what phones have saved"
    print(f"\nAfterwards, of {told}: proflab report {lesson[:2]} --votes FILE.csv")
    return 0


def _files(course: Course, lesson: str, arguments: argparse.Namespace) -> Files:
    if arguments.guesses:
        return _guesses(course, lesson)
    if not arguments.exam:
        return _concepts(course, lesson, arguments)
    if arguments.seed is None:
        what = "--exam draws numbers and the order of options by a seed: choose one"
        raise CourseError(f"{what}, --seed 4711, and keep it to yourself")
    from proflab_classroom.questions.exam import exam_pages

    return exam_pages(course, lesson, arguments.seed, arguments.write)


def _guesses(course: Course, lesson: str) -> Files:
    questions = asked_guesses(course.source(lesson))
    if not questions:
        raise CourseError(f"lesson {lesson} asks for no guess")
    return guess_pages(lesson, questions)


def _concepts(course: Course, lesson: str, arguments: argparse.Namespace) -> Files:
    asked = asked_concepts(course, lesson)
    if not asked:
        raise CourseError(f"lesson {lesson} has no concept questions; --guesses has what it asks")
    pool = [each.as_question() for each in asked]
    if arguments.gift:
        keys = "Quiz for Moodle, with the keys"
        return iter([(f"{lesson[:2]}.gift.txt", keys, as_gift(lesson, pool).encode())])
    if arguments.qti:
        data = as_qti(lesson, pool, "concepts")
        return iter([(f"{lesson[:2]}.qti.zip", "Quiz for Canvas, with the keys", data)])
    from proflab_classroom.questions.concept_items import class_items

    figures = {each.asked.id: each for each in class_items(course, lesson)}
    return concept_pages(lesson, asked, figures)
