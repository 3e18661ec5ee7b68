"""Whatever is handed in, reading and matching it ends, and the class is graded."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import nbformat
import psutil
import pytest
from adversarial import BLANKS, texts
from chosen import chosen
from grading_course import LESSON, ROOT, copy_course, grade, hand_in, release, solved, source
from nbformat.v4 import new_code_cell
from pace import at_most

from proflab.lesson.outline import squeezed
from proflab_course.course.layout import CourseError
from proflab_course.export.code_for_comparison import write_code
from proflab_course.grading import limited_process
from proflab_course.grading import reader as reading
from proflab_course.grading.answer_key import make_key, read_key
from proflab_course.grading.defined_names import (
    defined_functions,
    defined_names,
    may_define_unseen,
    names_by_line,
    word_pattern,
)
from proflab_course.grading.grader_errors import NOT_GRADED
from proflab_course.grading.late_blocks import late_blocks
from proflab_course.grading.limited_process import CallFailed, LimitedProcesses
from proflab_course.grading.limits import MB
from proflab_course.grading.match_cells import Aligned, Slot, align
from proflab_course.grading.plan import RunCell
from proflab_course.grading.reader import Reader
from proflab_course.grading.run.suspects import Suspects
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.read_notebook import parse_bytes, parse_handin
from proflab_course.grading.submissions.timestamp import parse_timestamp
from proflab_course.grading.submissions.which_lesson import Lessons
from proflab_course.grading.work_limit import TooMuchWork

KEY = make_key(LESSON, source())
EXERCISES = {cell.grade_id for cell in KEY.cells if cell.kind == "solution"}


def without(*names):
    """The solved notebook without these exercises' cells."""
    notebook = solved()
    notebook.cells = [
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") not in names
    ]
    return notebook


def blanks():
    """The notebook that Python's own tokenizer would read for hours."""
    notebook = without("linear_parameters")
    cells = [f"# {name}\n{BLANKS}" for name in ("linear_parameters", *["reflect"] * 9)]
    notebook.cells += [new_code_cell(f"# linear_parameters\n{text}") for text in cells]
    return notebook


# ── what a text costs ────────────────────────────────────────────────────────────────────────


def matched(text):
    """Match a notebook from which an exercise is missing, with this text in it."""
    notebook = release()
    notebook.cells = [new_code_cell(f"linear_parameters\n{text}"), *notebook.cells[-2:]]
    align(notebook, KEY)


def planned(text):
    """Say which blocks may wait where a cell of the student's has this text."""
    slots = [Slot(cell.released, cell) for cell in KEY.cells]
    slots.append(Slot(new_code_cell(text)))
    late_blocks(Aligned(slots), KEY, list(range(len(slots))))


def suspected(text):
    """Suspect a function that a cell with this text defines."""
    cell = RunCell(f"def f(): pass\n{text}")
    suspects = Suspects((cell,))
    suspects.note(cell, "f()")
    assert suspects.concern(cell)


READERS = {
    "its names": defined_names,
    "its functions": defined_functions,
    "names by line": names_by_line,
    "unseen names": may_define_unseen,
    "words": lambda text: word_pattern(EXERCISES).findall(text),
    "squeezed": squeezed,
    "as JSON": lambda text: parse_handin(text, "x"),
    "as bytes": lambda text: parse_bytes(text.encode("utf-16"), "x"),
    "as a cell": lambda text: parse_handin(
        json.dumps({"cells": [{"cell_type": "code", "source": text, "metadata": {}}]}), "x"
    ),
    "as a time": parse_timestamp,
    "matched": matched,
    "planned": planned,
    "suspected": suspected,
}


def taken(name, text):
    """The CPU time of reading a text; a second try tells a slow reader from a busy machine."""
    before = time.process_time()
    READERS[name](text)
    return time.process_time() - before


@pytest.mark.whole
@pytest.mark.parametrize("name", READERS)
def test_a_text_eight_times_as_long_costs_about_eight_times_as_much(name):
    """Where time grows with the square of the length, it costs 64 times as much."""
    short, long = 2_000, 16_000
    for small, large in zip(texts(short), texts(long), strict=True):
        most = 28 * max(min(taken(name, small), taken(name, small)), 0.001)
        shown = repr(large[:12] + "…" + large[-3:])
        assert taken(name, large) < most or taken(name, large) < most, shown


@pytest.mark.whole
def test_a_notebook_of_32_mb_is_matched_in_seconds(tmp_path):
    """Each cell's text is looked through once, however many exercises are missing."""
    lessons = Lessons(KEY, ROOT / "source")
    names = "\n".join(sorted(EXERCISES))
    for text in ("x ", "a = 1\n", f"{names}\n", "linear_parameters = 1\n"):
        notebook = json.loads(nbformat.writes(without(*EXERCISES)))
        size = 1_000_000 // (len(json.dumps(text)) - 2) * len(text)
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": (text * size)[:size]}
        notebook["cells"] += [cell] * 30
        folder = tmp_path / "me" / LESSON
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
        assert (folder / f"{LESSON}.ipynb").stat().st_size > 28 * MB
        with at_most(paces=600):  # it used to be three thousand
            align(find_handin(folder, lessons).notebook, KEY)


# ── a class in which reading does not end ────────────────────────────────────────────────────


@pytest.fixture
def course(tmp_path):
    course = copy_course(tmp_path, [])
    hand_in(course, "zz_honest", solved())
    return course


@pytest.mark.whole
def test_blanks_that_python_reads_for_hours_cost_nobody_the_grade(course):
    for student in ("aa_blanks", "bb_blanks"):
        hand_in(course, student, blanks())
    loose = course.root / "submitted" / "cc_loose" / "work.ipynb"
    loose.parent.mkdir()
    bare = blanks()
    for cell in bare.cells:
        cell.metadata.pop("nbgrader", None)
    loose.write_text(nbformat.writes(bare))
    with at_most(paces=1000):
        rows = grade(course, jobs=2)
        code = write_code(course, LESSON, course.root / "code")
    assert rows["zz_honest"].score == 100
    assert {rows[name].status for name in ("aa_blanks", "bb_blanks", "cc_loose")} <= {
        "graded",
        "renamed",
    }
    assert (code.written, code.without) == (sorted(rows), {})


def endless():
    while True:
        pass


def asleep():
    time.sleep(1_000)


def greedy():
    return [bytes(64 * MB) for _ in range(1_000)]


def crashed():
    os.abort()


def make_stuck(patch, fault):
    """Let reading a student's files fail in this way where the student's name says so."""
    patch.setattr(limited_process, "READ_SECONDS", 0.5)
    for name in ("find_handin", "has_strays"):
        real = getattr(reading, name)

        def stuck(path, lessons, real=real):
            return fault() if "stuck" in str(path) else real(path, lessons)

        patch.setattr(reading, name, stuck)


@pytest.mark.proves
@pytest.mark.parametrize("fault", chosen([endless, asleep, greedy, crashed], {endless, crashed}))
def test_reading_that_does_not_end_is_ended_and_the_others_are_graded(course, fault, monkeypatch):
    hand_in(course, "aa_stuck", solved())
    loose = course.root / "submitted" / "bb_stuck" / "work.ipynb"
    loose.parent.mkdir()
    loose.write_text(nbformat.writes(solved()))
    with monkeypatch.context() as patch:
        make_stuck(patch, fault)
        rows = grade(course, jobs=2)
    assert (rows.pop("zz_honest").score, len(rows)) == (100, 2)
    for row in rows.values():
        assert (row.status, row.score) == (NOT_GRADED, 0)
        assert "reading it takes more than 0.5 s or 1,024 MB" in row.sentence
        assert "hand in the notebook alone, with its outputs cleared" in row.sentence
    assert {row.score for row in grade(course).values()} == {100}


def test_the_others_code_is_written_where_reading_does_not_end(course, monkeypatch):
    hand_in(course, "aa_stuck", solved())
    make_stuck(monkeypatch, crashed)
    code = write_code(course, LESSON, course.root / "code")
    assert code.written == ["zz_honest"]
    assert "reading it takes more" in code.without["aa_stuck"]


# ── memory ───────────────────────────────────────────────────────────────────────────────────

MEASURE = """
    import json, sys
    from pathlib import Path
    import psutil
    from proflab_course.grading.answer_key import read_key
    from proflab_course.grading.reader import Reader
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    reader = Reader(read_key(source), source.parents[1])
    handin, aligned = reader.handin(folder)
    peaks, own = [], psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        status = Path(f"/proc/{process.pid}/status").read_text().split()
        peaks.append(int(status[status.index("VmHWM:") + 1]) // 1024)
    print(json.dumps([handin.outcome, handin.sentence, peaks]))
"""


@pytest.mark.whole
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_sixty_archives_take_the_room_of_one(tmp_path):
    folder = tmp_path / "me" / LESSON
    folder.mkdir(parents=True)
    notebook = json.loads(nbformat.writes(release()))
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": " " * 1_000_000}
    for number in range(60):
        cells = [{**cell, "source": f"{number}{cell['source']}"}] * 6
        data = json.dumps({**notebook, "cells": [*notebook["cells"], *cells]})
        with zipfile.ZipFile(folder / f"{number}.zip", "w", zipfile.ZIP_DEFLATED, True, 1) as file:
            file.writestr(f"{LESSON}.ipynb", data)
            file.writestr("data.bin", bytes(4 * MB))
    words = [sys.executable, "-c", textwrap.dedent(MEASURE)]
    words += [str(ROOT / "source" / LESSON / f"{LESSON}.ipynb"), str(folder)]
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    outcome, sentence, peaks = json.loads(said)
    assert outcome == "several notebooks"
    assert len(peaks) == 3 and max(peaks) < 300, peaks


def test_archives_share_one_limit_and_the_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("proflab_course.grading.submissions.zip_archive.MAX_UNPACKED", 3_000_000)
    folder = tmp_path / "me" / LESSON
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("large.bin", bytes(2_000_000))
        (folder / f"{name}.zip").write_bytes(packed.getvalue())
    found = find_handin(folder, Lessons(KEY))
    assert found.outcome == "unreadable"
    assert (
        "a.zip is a zip archive without a notebook" in found.sentence or "a.zip (" in found.sentence
    )
    assert "b.zip and the archives before it hold more than 2 MB together" in found.sentence


# ── the processes ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def processes():
    made = LimitedProcesses(
        {
            "pid": lambda: (os.getpid(), []),
            "echo": lambda *a: (list(a), [b"\0\xff", b""]),
            "fail": lambda: 1 / 0,
            "descriptors": lambda: (os.listdir("/proc/self/fd"), []),
            "end": lambda: os._exit(0),
        }
    )
    yield made
    made.close()


def test_answers_come_back_as_they_were_sent(processes):
    assert processes.call("echo", "é\ud800", 1, None) == (["é\ud800", 1, None], [b"\0\xff", b""])
    assert processes.call("pid") == processes.call("pid")  # it is kept for the next call


def test_a_failure_comes_back_with_its_name_and_its_traceback(processes):
    with pytest.raises(CallFailed, match="ZeroDivisionError: division by zero") as caught:
        processes.call("fail")
    assert caught.value.kind == "ZeroDivisionError"


def test_a_process_that_ends_is_replaced(processes):
    first, _ = processes.call("pid")
    template = psutil.Process(psutil.Process(first).ppid())
    with pytest.raises(TooMuchWork):
        processes.call("end")
    assert processes.call("pid")[0] != first
    template.kill()
    template.wait(120)
    with pytest.raises(TooMuchWork):
        processes.call("end")
    assert processes.call("echo", 1)[0] == [1]


@pytest.mark.parametrize("of_template", [False, True])
def test_a_machine_that_starts_no_process_is_no_fault_of_a_hand_in(
    of_template, processes, monkeypatch
):
    fork, own = os.fork, os.getpid()

    def few():
        if (os.getpid() != own) is of_template:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return fork()

    with monkeypatch.context() as patch:
        patch.setattr(os, "fork", few)
        for _ in range(2):
            with pytest.raises(CourseError, match="cannot start another process .* command again"):
                processes.call("echo", 1)
    processes.close()
    assert processes.call("echo", 1)[0] == [1]


def test_no_process_is_left_and_none_has_the_callers_files(processes):
    with open(__file__) as kept:
        own = [number for number in processes.call("descriptors")[0] if int(number) > 2]
        assert len(own) == 2  # the connection, and the folder that is being listed
        assert kept.readline()
    reader = psutil.Process(processes.call("pid")[0])
    template = psutil.Process(reader.ppid())
    processes.close()
    _, alive = psutil.wait_procs([reader, template], timeout=120)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


def test_what_has_not_changed_starts_no_process(course, monkeypatch):
    assert grade(course)["zz_honest"].fresh
    monkeypatch.setattr(limited_process, "_fork", lambda *_: 1 / 0)
    assert not grade(course)["zz_honest"].fresh


def test_an_answer_that_is_none_is_met_like_any_failure(course, monkeypatch):
    hand_in(course, "aa_odd", solved())
    answer = reading._answer_handin
    odd = {"cells": [["x", 1, 2, 3]], "recovered": 0}

    def changed(lessons, folder):
        found, blobs = answer(lessons, folder)
        return (found | odd if "aa_odd" in folder else found), blobs

    monkeypatch.setattr(reading, "_answer_handin", changed)
    rows = grade(course)
    assert (rows["aa_odd"].status, rows["zz_honest"].score) == (NOT_GRADED, 100)


def test_the_reader_reads_as_the_grader_would(course):
    key = read_key(course.source(LESSON))
    folder = course.root / "submitted" / "zz_honest" / LESSON
    reader = Reader(key, course.root / "source")
    try:
        handin, aligned = reader.handin(folder)
    finally:
        reader.close()
    alone = find_handin(folder, Lessons(key, course.root / "source"))
    assert aligned == align(alone.notebook, key)
    assert (handin.outcome, handin.sentence) == (alone.outcome, alone.sentence)
