"""What one more hand-in costs, counted: statements of SQL, digests, copies, forks. No clock."""

import ast
import subprocess
import sys
from collections import Counter

import pytest
from grading_course import copy_course, grade, hand_in, solved
from sqlalchemy import event
from sqlalchemy.engine import Engine

from proflab_course.grading import answer_key, failed_setup, match_cells
from proflab_course.grading import command as grading


@pytest.fixture
def statements():
    """The statements that reach any database."""
    seen = []

    def note(connection, cursor, statement, *_):
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


def hand_in_some(course, count):
    for number in range(count):
        hand_in(course, f"s{number}", solved())


@pytest.mark.proves
@pytest.mark.parametrize(
    "again, most",
    [
        pytest.param(False, 18, id="the first time"),
        pytest.param(True, 11, id="graded again", marks=pytest.mark.whole),
    ],
)
def test_a_hand_in_takes_few_statements_of_sql(tmp_path, statements, again, most):
    counts = {}
    for size in (1, 3):
        (tmp_path / str(size)).mkdir()
        course = copy_course(tmp_path / str(size), [])
        hand_in_some(course, size)
        for _ in range(1 + again):
            statements.clear()
            grade(course, regrade=again)
        counts[size] = len(statements)
    assert (counts[3] - counts[1]) / 2 <= most


def test_the_lessons_release_is_digested_once_for_the_class(tmp_path, monkeypatch):
    course = copy_course(tmp_path, [])
    hand_in_some(course, 3)
    monkeypatch.setattr(grading, "read_key", answer_key.read_key)  # as a new process reads it
    digests, digest = [], match_cells.release_digest
    monkeypatch.setattr(match_cells, "release_digest", lambda c: digests.append(1) or digest(c))
    grade(course)
    assert len(digests) == 1


def test_a_statement_of_set_up_is_parsed_once_however_many_follow(tmp_path, monkeypatch):
    course = copy_course(tmp_path, [])
    key = answer_key.read_key(course.source("01_parameters"))
    parsed, parse = Counter(), ast.parse
    monkeypatch.setattr(ast, "parse", lambda code: parsed.update([code]) or parse(code))
    failed_setup.prepare(key)
    assert parsed and max(parsed.values()) <= 3, parsed.most_common(3)


# Of Jupyter's server, of installing, of dates in schemas; and what draws.
UNUSED = "IPython arrow jupyter_server matplotlib pandas setuptools".split()


def told_by(code):
    """Return what a new process prints, without the last line break."""
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_a_grading_imports_nothing_that_it_does_not_use(tmp_path):
    course = copy_course(tmp_path, ["complete"])
    code = f"""
import os, sys
os.chdir({str(course.root)!r})
from proflab_course.cli import main
assert main(["grade", "01", "--no-sandbox", "--jobs", "1"]) == 0
print(sorted(set({UNUSED!r}) & sys.modules.keys()))
import nbformat.validator
print(len(nbformat.validator.validators), "schemas compiled")
"""
    assert told_by(code).splitlines()[-2:] == ["[]", "0 schemas compiled"]


@pytest.mark.whole
def test_what_a_grading_does_not_import_is_there_for_others():
    code = """
import os, sys, tempfile, zipfile
from proflab_course.grading.lean import import_nbgrader
import_nbgrader()
import nbgrader.api
print([name for name in sys.modules if name.startswith("nbgrader.server_extensions.")])
import nbgrader.server_extensions.formgrader.handlers
import nbconvert, nbgrader.preprocessors, requests, setuptools
from nbconvert.preprocessors import *
from nbgrader.apps import NbGraderApp
from nbgrader.utils import unzip
named = [getattr(nbgrader.preprocessors, name) for name in nbgrader.preprocessors.__all__]
print(all(isinstance(each, type) for each in named), nbconvert.HTMLExporter.__name__)
print(requests.get.__name__, ExecutePreprocessor.__name__, len(NbGraderApp().classes) > 50)
with tempfile.TemporaryDirectory() as place:
    with zipfile.ZipFile(f"{place}/some.zip", "w") as archive:
        archive.writestr("inside.txt", "1")
    unzip(f"{place}/some.zip", place)
    print(sorted(os.listdir(place)))
"""
    lines = told_by(code).splitlines()
    assert lines == [
        "[]",
        "True HTMLExporter",
        "get ExecutePreprocessor True",
        "['inside.txt', 'some.zip']",
    ]
