"""`proflab essays`: share the marking of a lesson's essays, and bring the marks together."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from proflab_classroom.marking.agreement import agreements
from proflab_classroom.marking.deal import deal
from proflab_classroom.marking.essay_log import FILE, FOLDER, EssayLog, Mark, Marking
from proflab_classroom.marking.essay_tables import (
    DECIDE,
    folder,
    is_of_another,
    read_sheet,
    sheet_path,
    write_decisions,
    write_scheme,
    write_sheet,
)
from proflab_classroom.marking.settle import State, event, from_formgrader, state_of, to_write
from proflab_course.collect.roster import is_student_id
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.rubric import Rubric, read_rubric
from proflab_course.course.words import amount, few
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.records.queries import EssayMark

_MOST_LISTED = 20
_NAME = re.compile(r"[^\s()]{1,40}")  # as in a line of a comment: see rubric.py
_LOW = 0.8  # share of equal marks below which an item's words are shown: they may be at fault


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab essays`."""
    parser.add_argument("lesson", help="the lesson: 07_scaling, 07 or 7")
    parser.add_argument(
        "--between",
        metavar="NAMES",
        help="deal the essays to these markers, as anna,ben, and write a table for each "
        "(default: read tables and formgrader's marks back)",
    )
    parser.add_argument(
        "--overlap",
        type=int,
        default=0,
        metavar="N",
        help="with --between: how many essays all of them mark, to see whether they agree",
    )


def run(arguments: argparse.Namespace) -> int:
    """Deal essays, or read marks back; return 1 if something was not taken."""
    if arguments.overlap and arguments.between is None:
        raise CourseError("--overlap belongs to --between: name the markers, too")
    course = Course.find()
    lesson = course.lesson(arguments.lesson, "source")
    rubric = read_rubric(course, lesson)
    if not course.gradebook.exists():
        raise CourseError(f"{lesson} is not graded yet: run `proflab grade {lesson}` first")
    log = EssayLog(course.root)
    with log.held(), Book(course.gradebook) as book:
        if line := log.broken():
            print(f"note: {FOLDER}/{FILE}, line {line}, does not follow the line before it")
        essays = book.essays(lesson, rubric.cell)
        if not essays:
            raise CourseError(f"no essay of {lesson} is to be marked: run `proflab grade {lesson}`")
        # Before tables are written anew, what stands in them is in the log.
        refused, decided = _read(course, rubric, log, essays)
        replaced = _replaced(log.marking(lesson), essays)
        decided = {student: mark for student, mark in decided.items() if student not in replaced}
        if arguments.between is not None:
            _deal(course, rubric, log, essays, arguments)
        elif replaced:
            _write_sheets(course, rubric, log, essays, ())
        if replaced:
            print(f"another essay than before, to be marked anew: {few(sorted(replaced))}")
        marking = log.marking(lesson)
        if gone := sorted(marking.dealt.keys() - essays.keys()):
            print(f"dealt, and no essay is there now: {few(gone)}")
        state = state_of(rubric, essays, marking, decided)
        _write(course, rubric, log, book, essays, state, decided, replaced)
        _tell(course, rubric, marking, state, len(essays))
        for student, marks in book.replaced(lesson, rubric.cell).items():
            told = ", ".join(f"{mark} until {at}" for mark, at in marks[-5:])
            print(f"{student}: the mark was {told}")
    for where, reason in refused.items():
        print(f"not taken: {where}: {reason}")
    return 1 if refused else 0


def _read(
    course: Course, rubric: Rubric, log: EssayLog, essays: dict
) -> tuple[dict[str, str], dict[str, Mark]]:
    """Take new marks of all tables and of formgrader; return what was not, and decisions."""
    marking = log.marking(rubric.lesson)
    log.add(list(from_formgrader(rubric.lesson, essays, marking)))
    refused: dict[str, str] = {}
    decided: dict[str, Mark] = {}
    for path in sorted(folder(course, rubric.lesson).glob("*.csv")):
        name = path.stem
        if name != DECIDE and name not in marking.names:
            refused[path.name] = f"no essays of {rubric.lesson} were dealt to {name}"
            continue
        known = {*essays, *marking.dealt}
        sheet = read_sheet(path, rubric, known, calibrated=name != DECIDE)
        refused |= sheet.refused
        if name == DECIDE:
            decided = {s: mark for s, mark in sheet.marks.items() if s in essays}
            continue
        new = []
        for student, mark in sheet.marks.items():
            digest = marking.shown.get(student, "")
            old = name in marking.outdated(student, digest)
            if old and is_of_another(course, rubric, sheet, student):
                again = "mark the one that is handed in now"
                refused[f"{path.name}, {student}"] = (
                    f"the row of {student} shows an earlier essay: {again}"
                )
            # The same items, given to another essay, are another mark.
            elif old or marking.marks.get(student, {}).get(name) != mark:
                new.append(event(rubric.lesson, student, name, mark, digest))
        log.add(new)
        if new:
            print(f"{path.name}: {amount(len(new), 'new mark')}")
    return refused, decided


def _deal(
    course: Course,
    rubric: Rubric,
    log: EssayLog,
    essays: dict[str, EssayMark],
    arguments: argparse.Namespace,
) -> None:
    names = [name.strip() for name in arguments.between.split(",") if name.strip()]
    for name in names:
        if not (is_student_id(name) and _NAME.fullmatch(name)) or name.casefold() == DECIDE:
            raise CourseError(f"{name!r} cannot be a marker's name: use letters and digits")
    if not names or len({name.casefold() for name in names}) < len(names):
        raise CourseError("--between needs markers with different names, as anna,ben")
    if arguments.overlap < 0:
        raise CourseError("--overlap is a number of essays: 0 or more")
    if len(rubric.anchors) < 2:
        raise CourseError(f"{rubric.lesson} has no good and poor answer to calibrate on")
    marking = log.marking(rubric.lesson)
    log.add(list(deal(rubric.lesson, essays, names, marking, arguments.overlap)))
    _write_sheets(course, rubric, log, essays, names)
    print(f"{_shown(course, write_scheme(course, rubric))}: the question and the items")
    print("The first two lines of each table are marked first, by everybody: they calibrate.")


def _replaced(marking: Marking, essays: dict[str, EssayMark]) -> set[str]:
    """Return the students whose essay is another one than tables show, and is not marked yet.

    Once one of the markers has marked it, a decision is about this essay.
    """
    return {
        student
        for student, essay in essays.items()
        if marking.is_another(student, essay.digest)
        or ((old := marking.outdated(student, essay.digest)) and old == {*marking.marks[student]})
    }


def _write_sheets(
    course: Course,
    rubric: Rubric,
    log: EssayLog,
    essays: dict[str, EssayMark],
    names: Collection[str],
) -> None:
    """Write the tables that are there, and those of `names`; then log which essays they show.

    Were it logged before, a killed command would take marks of the earlier essay for new ones.
    """
    marking = log.marking(rubric.lesson)
    for name in marking.names:
        if name in names or sheet_path(course, rubric.lesson, name).exists():
            path, count = write_sheet(course, rubric, name, marking, essays)
            print(f"{_shown(course, path)}: {amount(count, 'essay')}")
    log.add(
        {"event": "shown", "lesson": rubric.lesson, "student": student, "essay": essay.digest}
        for student, essay in essays.items()
        if essay.digest and student in marking.dealt and marking.shown.get(student) != essay.digest
    )


def _write(
    course: Course,
    rubric: Rubric,
    log: EssayLog,
    book: Book,
    essays: dict,
    state: State,
    decided: dict[str, Mark],
    replaced: Collection[str],
) -> None:
    """Write settled marks: into the log first, so that a killed command knows its own."""
    marking = log.marking(rubric.lesson)
    due = list(to_write(essays, marking, state, decided))
    log.add(
        {"event": "written", "lesson": rubric.lesson, "student": student, "mark": mark}
        for student, mark, _ in due
    )
    for student, mark, comment in due:
        book.mark_essay(rubric.lesson, rubric.cell, student, mark, comment)
    if due:
        print(f"{amount(len(due), 'mark')} written into the gradebook")
    table = sheet_path(course, rubric.lesson, DECIDE)
    if state.differing or decided or (replaced and table.exists()):
        write_decisions(course, rubric, marking, state.differing, replaced)


def _tell(course: Course, rubric: Rubric, marking: Marking, state: State, count: int) -> None:
    """Print where the marking stands."""
    print(f"{len(state.settled)} of {amount(count, 'essay')} settled")
    waits = Counter(name for names in state.waiting.values() for name in names)
    for name, number in waits.items():
        print(f"{name} has {amount(number, 'essay')} to mark")
    _tell_calibration(rubric, marking)
    for name, number in Counter(name for names in state.off.values() for name in names).items():
        wait = f"{amount(number, 'essay')} {'waits' if number == 1 else 'wait'}"
        mend = f"{name} marks both answers again, or you decide in {DECIDE}.csv"
        print(f"{name} is off the scheme on both answers, so {wait}: {mend}")
    anchors = set(rubric.anchor_marks)
    for first, second, found in agreements(marking, len(rubric.items), anchors):
        print(f"{first} and {second}, on {amount(found[0].count, 'essay')} that both marked:")
        print("  item  equal      κ")
        for each in found:
            kappa = "–" if each.kappa is None else f"{each.kappa:.2f}"
            low = f"  {rubric.items[each.item - 1]}" if each.equal < _LOW else ""
            print(f"  {each.item:>4}  {each.equal:>4.0%}  {kappa:>6}{low}")
    if state.differing:
        path = _shown(course, sheet_path(course, rubric.lesson, DECIDE))
        print(f"markers differ on {few(state.differing)}: decide in {path}, then run this again")
    for student, reason in [*state.left.items()][:_MOST_LISTED]:
        print(f"{student}: {reason}: it stays; to settle it, give it a line in {DECIDE}.csv")


def _tell_calibration(rubric: Rubric, marking: Marking) -> None:
    for answer, items in rubric.anchor_marks.items():
        for name, mark in marking.marks.get(answer, {}).items():
            differ = sorted(mark.items ^ items)
            if differ:
                listed = ", ".join(map(str, differ))
                print(f"{name} on the {answer}: otherwise than the scheme in item {listed}")


def _shown(course: Course, path: Path) -> str:
    return path.relative_to(course.root).as_posix()
