"""Set before numpy is imported: tests run side by side, so each process computes on one thread.

And which files come first: those that take longest, or the last of them would keep one process at
work while the others have nothing left to do.
"""

import gc
import os

import pytest

import proflab_course  # noqa: F401  # before any test imports nbformat, which is slow without

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

LONGEST_FIRST = (
    "test_cohort.py",
    "test_docs.py",
    "test_grade_attacks.py",
    "test_nbgrader.py",
    "test_sandbox_attacks.py",
    "test_nbval.py",
    "test_add_an_op.py",
    "test_grader_errors.py",
    "test_grade_kill.py",
    "test_site.py",
    "test_endless.py",
    "test_feedback.py",
    "test_cluster.py",
    "test_pages.py",
    "test_formgrader.py",
    "test_hostile_pages.py",
    "test_lesson_09_demos.py",
    "test_windows.py",
    "test_reader.py",
    "test_binder.py",
    "test_standalone.py",
    "test_lesson_drafts.py",
    "test_every_track.py",
    "test_everything.py",
    "test_course_tracks.py",
    "test_write_a_lesson.py",
    "test_build_failures.py",
    "test_run_all_in_a_browser.py",
)


@pytest.fixture(scope="module")
def quick_clocks():
    """Freeze what is there: a scripted clock looks through all else, and pytest has much."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def environment_as_it_was():
    """Restore the environment after each file: nbgrader and Dask set variables in it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; with several processes each takes the next file of the list."""
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))
