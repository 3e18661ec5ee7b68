"""A new gradebook is nbgrader's own, table for table, though no program is started for it."""

import sqlite3

import nbgrader.api
import pytest
from grading_course import LESSON, ROOT, copy_course, read_key
from nbgrader.api import Gradebook

from proflab_course.grading.records import gradebook as records
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.records.new_gradebook import newest_version

OURS = {
    *("proflab_outcome", "proflab_guesses", "proflab_former_marks", "proflab_variants"),
    *("proflab_replaced", "proflab_replaced_mark", "proflab_replaced_comment", "proflab_removed"),
}
MIGRATION = 'revision = {}\ndown_revision = {}\n\n\ndef upgrade():\n    op.add("revision = 7")\n'


def contents(path):
    """Each table's definition and rows, but for ours and for random ids."""
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        rows = {
            name: connection.execute(f"SELECT * FROM {name}").fetchall()
            for name, sql in tables
            if sql and sql.startswith("CREATE TABLE")
        }
    kept = {name: " ".join(sql.split()) for name, sql in tables if sql and name not in OURS}
    return kept, {name: rows[name] for name in rows if name not in OURS}


@pytest.mark.whole
def test_it_has_the_tables_and_the_version_that_nbgrader_gives_one(tmp_path, monkeypatch):
    with Book(tmp_path / "ours.db"):
        pass
    bin_folder = records.Path(records.sys.executable).parent
    monkeypatch.setenv("PATH", str(bin_folder), prepend=":")
    Gradebook(f"sqlite:///{tmp_path / 'theirs.db'}", "").close()
    assert contents(tmp_path / "ours.db") == contents(tmp_path / "theirs.db")


def test_no_program_is_started_for_a_new_one_nor_for_one_that_is_there(tmp_path, monkeypatch):
    def refuse(*words, **_):
        raise AssertionError(words)

    monkeypatch.setattr(nbgrader.api.sp, "check_output", refuse)
    monkeypatch.setattr(nbgrader.api.sp, "Popen", refuse)
    for _ in range(2):
        with Book(tmp_path / "gradebook.db") as book:
            assert book.people() == {}


def test_where_it_is_unclear_which_version_is_newest_nbgrader_decides(tmp_path, monkeypatch):
    migrations = {
        "one": ("'one'", "None"),
        "two": ("'two'", "'one'"),
        "three": ('"three"', "'two'"),
    }
    for name, revisions in migrations.items():
        (tmp_path / f"{name}.py").write_text(MIGRATION.format(*revisions))
    assert newest_version(tmp_path) == "three"
    (tmp_path / "other.py").write_text(MIGRATION.format("'other'", "'two'"))
    assert newest_version(tmp_path) is None
    monkeypatch.setattr(records, "make_tables", lambda path: None)
    monkeypatch.setattr(nbgrader.api, "get_alembic_version", lambda: "asked")
    with Book(tmp_path / "gradebook.db"):
        pass
    assert contents(tmp_path / "gradebook.db")[1]["alembic_version"] == [("asked",)]


@pytest.mark.parametrize(
    ("statement", "asked"),
    [
        ("UPDATE grade_cells SET max_score = 99", "SELECT sum(max_score) FROM grade_cells"),
        ("UPDATE source_cell SET source = ''", "SELECT group_concat(source) FROM source_cell"),
        ("UPDATE notebook SET kernelspec = '{}'", "SELECT kernelspec FROM notebook"),
        ("DELETE FROM source_cell", "SELECT count(*) FROM source_cell"),
    ],
)
def test_a_lesson_is_entered_again_where_the_gradebook_differs_from_it(tmp_path, statement, asked):
    path = copy_course(tmp_path, []).gradebook
    key = read_key(ROOT / f"source/{LESSON}/{LESSON}.ipynb")
    with Book(path) as book, sqlite3.connect(path) as database:
        before = database.execute(asked).fetchall()
        database.execute(statement)
        database.commit()
        assert database.execute(asked).fetchall() != before
        assert book.register(key) == ""
        assert database.execute(asked).fetchall() == before


def test_nothing_is_written_where_the_gradebook_has_the_lesson_as_it_is(tmp_path):
    path = copy_course(tmp_path, []).gradebook
    with Book(path) as book, sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TRIGGER no BEFORE UPDATE ON source_cell BEGIN SELECT RAISE(FAIL, 'no'); END;"
            "CREATE TRIGGER none BEFORE INSERT ON source_cell BEGIN SELECT RAISE(FAIL, 'no'); END;"
        )
        assert book.register(read_key(ROOT / f"source/{LESSON}/{LESSON}.ipynb")) == ""
