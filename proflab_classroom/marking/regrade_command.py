"""`proflab regrade`: take students' questions about verdicts, share them, read answers back."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from proflab_classroom.marking.request_log import FILE, FOLDER, Log, Request
from proflab_classroom.marking.request_tables import dealt, read_answers, write_sheets
from proflab_classroom.marking.requests import Requests
from proflab_course.collect.roster import is_student_id
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import amount, few, shortened

_BRIEF = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab regrade`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    collect = actions.add_parser("collect", help="take the questions of students")
    collect.add_argument(
        "sources",
        nargs="*",
        type=Path,
        metavar="CSV_OR_ARCHIVE",
        help="a table with columns student, lesson, exercise, question; or what a platform has "
        "packed of students' own tables (default: the tables in submitted/STUDENT/LESSON/)",
    )
    collect.add_argument("--roster", metavar="CSV", type=Path, help="the class list")
    listed = actions.add_parser("list", help="list the questions, and where each is")
    listed.add_argument("lesson", nargs="?", help="of one lesson (default: of all)")
    listed.add_argument("--open", action="store_true", help="only those without an answer")
    share = actions.add_parser("share", help="write a table of open questions for each assistant")
    share.add_argument("names", nargs="+", metavar="ASSISTANT")
    answer = actions.add_parser("answer", help="read the assistants' tables back")
    answer.add_argument(
        "tables",
        nargs="*",
        type=Path,
        metavar="CSV",
        help=f"(default: all tables in {FOLDER}/)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for; return 1 if something was not taken."""
    course = Course.find()
    log = Log(course.root)
    if arguments.action == "list":
        return _list(course, log, arguments)
    with log.held():
        if line := log.broken():
            print(f"note: {FOLDER}/{FILE}, line {line}, does not follow the line before it")
        if arguments.action == "collect":
            return _collect(course, log, arguments)
        if arguments.action == "share":
            return _share(course, log, arguments.names)
        return _answer(course, log, arguments.tables)


def _collect(course: Course, log: Log, arguments: argparse.Namespace) -> int:
    reader = Requests(course, arguments.roster)
    for source in arguments.sources:
        reader.of(source)
    if not arguments.sources:
        reader.of_submitted()
    found = reader.found
    known = log.requests()
    new = [
        request
        for request in found.requests
        if request.id not in known and not any(map(request.is_again, known.values()))
    ]
    log.add(
        {
            "event": "asked",
            "id": r.id,
            "student": r.student,
            "lesson": r.lesson,
            "exercise": r.exercise,
            "question": r.question,
        }
        for r in new
    )
    for request in new:
        print(_line(request))
    _print_refused(found.refused)
    again = len(found.requests) - len(new)
    print(f"{amount(len(new), 'question')} taken, {again} known already")
    return 1 if found.refused else 0


def _list(course: Course, log: Log, arguments: argparse.Namespace) -> int:
    lesson = course.lesson(arguments.lesson, "source") if arguments.lesson else None
    every = [r for r in log.requests().values() if lesson in (None, r.lesson)]
    for request in every:
        if not (arguments.open and request.answers):
            print(_line(request))
    states = Counter("answered" if request.answers else "waiting" for request in every)
    print(f"{amount(len(every), 'question')}, {states['waiting']} without an answer")
    return 0


def _share(course: Course, log: Log, names: list[str]) -> int:
    for name in names:
        if not is_student_id(name):
            raise CourseError(f"{name!r} cannot be the name of a file: use letters and digits")
    if len({name.casefold() for name in names}) < len(names):
        raise CourseError("two assistants have one name: call one differently")
    log.add(dealt(log.requests().values(), names))
    for path, count in write_sheets(course, list(log.requests().values()), names).items():
        print(f"{path.relative_to(course.root)}: {amount(count, 'question')}")
    print("The column answer is for them; `proflab regrade answer` reads it.")
    return 0


def _answer(course: Course, log: Log, tables: list[Path]) -> int:
    tables = tables or sorted((course.root / FOLDER).glob("*.csv"))
    if not tables:
        raise CourseError(f"there is no table in {FOLDER}/: run `proflab regrade share NAME …`")
    known = log.requests()
    refused: dict[str, str] = {}
    lessons: set[str] = set()
    count = 0
    for path in tables:
        found = read_answers(path, known)
        refused |= found.refused
        events = []
        for name, answer in found.answers.items():
            events.append({"event": "answered", "id": name, "answer": answer, "by": path.stem})
            changed = " (changed)" if known[name].answers else ""
            known[name].answers.append((answer, path.stem))  # as the next table finds it
            lessons.add(known[name].lesson)
            print(f"{name}  {known[name].student}  {known[name].exercise}{changed}")
        log.add(events)
        count += len(events)
    _print_refused(refused)
    waiting = sum(not request.answers for request in known.values())
    print(f"{amount(count, 'answer')} taken, {amount(waiting, 'question')} without one")
    for lesson in sorted(lessons):
        print(f"Into feedback: nbgrader generate_feedback {lesson} --force")
    return 1 if refused else 0


def _line(request: Request) -> str:
    question = " ".join(request.question.split())
    brief = shortened(question, _BRIEF)
    about = f"{request.student}  {request.lesson}  {request.exercise}"
    return f"{request.id}  {about}  {request.state}: {brief}"


def _print_refused(refused: dict[str, str]) -> None:
    """Print a line for each table: why its first line was not taken, and which others were not."""
    tables: dict[str, list[tuple[str, str]]] = {}
    for where, reason in refused.items():
        table, _, line = where.rpartition(", line ")  # as course/hand_table.py writes places
        tables.setdefault(table or where, []).append((line, f"{where}: {reason}"))
    for lines in tables.values():
        (_, told), *others = lines
        more = f"; nor {amount(len(others), 'more line')} of it: {few([n for n, _ in others])}"
        print(f"not taken: {told}{more if others else ''}")
