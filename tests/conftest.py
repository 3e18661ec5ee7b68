"""Set before numpy is imported: tests run side by side, so each process computes on one thread.

And which files come first: those that take longest, or the last of them would keep one process at
work while the others have nothing left to do.
"""

import gc
import os
import resource
import signal

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# As scikit-learn does when it is imported.
os.environ.setdefault("KMP_INIT_AT_FORK", "FALSE")
os.environ.setdefault("KMP_DUPLICATE_LIB_OK", "True")

LONGEST_FIRST = (
    "test_cohort.py",
    "test_docs.py",
    "test_grade_attacks.py",
    "test_nbgrader.py",
    "test_sandbox_attacks.py",
    "test_nbval.py",
    "test_grader_errors.py",
    "test_grade_kill.py",
    "test_site.py",
    "test_endless.py",
    "test_feedback.py",
    "test_cluster.py",
    "test_pages.py",
    "test_formgrader.py",
    "test_hostile_pages.py",
)


@pytest.fixture(scope="module")
def quick_clocks():
    """Freeze what is there: a scripted clock looks through all else, and pytest has much."""
    gc.freeze()
    yield
    gc.unfreeze()


LIMITS = [kind for kind in dir(resource) if kind.startswith("RLIMIT_")]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPROF, signal.SIGALRM)


def _state_of_this_process() -> dict[str, object]:
    """Return what a later test in this process would inherit, and its child processes too."""
    mask = os.umask(0o22)
    os.umask(mask)
    environ = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    limits = {kind: resource.getrlimit(getattr(resource, kind)) for kind in LIMITS}
    handlers = {each.name: str(signal.getsignal(each)) for each in SIGNALS}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    timers = {
        "PROF": signal.getitimer(signal.ITIMER_PROF)[0] > 0,
        "REAL": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
    }
    return (
        environ
        | limits
        | handlers
        | timers
        | {"cwd": os.getcwd(), "umask": mask, "blocked": blocked, "nice": os.nice(0)}
        | {"cores": os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None}
    )


@pytest.fixture(scope="module", autouse=True)
def process_as_it_was():
    """Check that a file of tests leaves the process as it found it: the next file runs in it."""
    before = _state_of_this_process()
    yield
    after = _state_of_this_process()
    changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    assert not changed, {k: (before.get(k), after.get(k)) for k in changed}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; with several processes each takes the next file of the list."""
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))
