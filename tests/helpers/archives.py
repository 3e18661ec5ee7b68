"""Archives of a class's hand-ins, and what `proflab collect` makes of them."""

from __future__ import annotations

import datetime
import io
import sqlite3
import zipfile

from grading_course import LESSON, ROOT

from proflab_course import cli

NOTEBOOK = (ROOT / "release" / LESSON / f"{LESSON}.ipynb").read_bytes()
NAME = f"{LESSON}.ipynb"
TOOK = (2026, 11, 30, 18, 4, 10)


def solved(mark):
    """A notebook that can be told from others by `mark`."""
    return NOTEBOOK.replace(b'"cells": [', b'"cells": [\n ' + _cell(mark) + b",", 1)


def _cell(mark):
    text = f'{{"cell_type": "markdown", "id": "{mark}", "metadata": {{}}, "source": ["{mark}"]}}'
    return text.encode()


def zipped(files, at=TOOK, days_apart=0):
    """An archive whose files were last changed `at`; each next student's so many days before.

    Moodle 4 packs all files of a class at one time, older versions keep those of submission.
    """
    data, tops = io.BytesIO(), {}
    with zipfile.ZipFile(data, "w") as archive:
        for path, content in files.items():
            place = tops.setdefault(path.partition("/")[0], len(tops))
            then = datetime.datetime(*at) - place * datetime.timedelta(days=days_apart)
            archive.writestr(zipfile.ZipInfo(path, then.timetuple()[:6]), content)
    return data.getvalue()


def collect(source, *options):
    return cli.main(["collect", str(source), "01", *options])


def tree(course):
    """What lies in submitted/, by path; the README apart."""
    place = course / "submitted"
    return {p.relative_to(place).as_posix(): p for p in place.rglob("*") if p.is_file()}


def students(course):
    rows = sqlite3.connect(course / "gradebook.db").execute(
        "select id, first_name, last_name, email from student"
    )
    return {row[0]: row[1:] for row in rows}


# ── as the platforms write them ──────────────────────────────────────────────────────────────


def moodle(hand_ins, at=TOOK, days_apart=0):
    """Moodle 4: `hand_ins` maps "Name_NUMBER", or a group's, to the notebook's content."""
    files = {f"{who}_assignsubmission_file/{NAME}": data for who, data in hand_ins.items()}
    return zipped(files, at, days_apart)


def canvas(hand_ins):
    """Canvas: `hand_ins` maps "lastfirst_NUMBER" to the notebook's content."""
    return zipped(
        {
            f"{who}_{98000 + place}_{NAME}": data
            for place, (who, data) in enumerate(hand_ins.items())
        }
    )


def blackboard(hand_ins, assignment="Lesson 01", about=True):
    """Blackboard: `hand_ins` maps (login, name, time) to the notebook's content."""
    files = {}
    for (login, name, at), data in hand_ins.items():
        stem = f"{assignment}_{login}_attempt_{at}"
        files[f"{stem}_{NAME}"] = data
        if about:
            text = (
                f"Name: {name} ({login})\nAssignment: {assignment}\nFiles:\n\tOriginal filename: x"
            )
            files[f"{stem}.txt"] = text.encode()
    return zipped(files)


def gradescope(hand_ins, metadata=True):
    """Gradescope: `hand_ins` maps (number, time, ((name, sid, email), …)) to the content."""
    top, lines, files = "assignment_5551234_export", ["---"], {}
    for (number, at, people), data in hand_ins.items():
        files[f"{top}/submission_{number}/{NAME}"] = data
        lines += [f"submission_{number}:", "  :submitters:"]
        for name, sid, email in people:
            lines += [f"  - :name: {name}", f"    :sid: '{sid}'", f"    :email: {email}"]
        lines += [f"  :created_at: {at}", "  :score: 0.0", "  :history: []"]
    if metadata:
        files[f"{top}/submission_metadata.yml"] = "\n".join(lines).encode()
    return zipped(files)
