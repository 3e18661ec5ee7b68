"""Hand-ins in tests of tracks: a release that is filled in, and graded in this process."""

from __future__ import annotations

from proflab_course.build.trial import Run, execute
from proflab_course.course.answer_cells import is_answer_cell, open_answers
from proflab_course.course.notebook import Lesson
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.match_cells import align

WHOLE = "the whole lesson was handed in; its other exercises were not graded"


def graded(notebook, source, folder):
    """Return a hand-in's scores, errors and notes, those of concept questions apart.

    source: the instructor's notebook.
    """
    key = make_key("", source)
    aligned = align(notebook, key)
    [run] = execute([Run(aligned, key, folder, full=False)], 1)
    found = run.conclude()
    names = [cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in found.notebook.cells]
    scores = {name: score for name, score in found.scores.items() if not is_answer_cell(name)}
    errors = [error for error in found.errors if not is_answer_cell(names[error[0]])]
    return scores, errors, aligned.notes


def filled(release: Lesson, whole: Lesson):
    """Return the release with the whole lesson's solutions in it, its metadata unchanged."""
    solutions = {cell.name: cell.source for cell in whole.named("exercise")}
    for cell in release.cells:
        if cell.role == "exercise":
            cell.node.source = solutions[cell.name]
        elif cell.role == "answer":
            names = open_answers(cell.source)
            cell.node.source = "\n".join(f'{name} = "A"' for name in names)
    return release.notebook
