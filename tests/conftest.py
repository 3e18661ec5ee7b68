"""Set before numpy is imported: tests run side by side, so each process computes on one thread.

And which files come first: those that take longest, or the last of them would keep one process at
work while the others have nothing left to do.
"""

import csv
import functools
import gc
import os
import signal
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from behaviours import MARKED, REST, RUNS_IN, runs_in
from made_once import made_once

import proflab_course  # noqa: F401  # before any test imports nbformat, which is slow without

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def quick_clocks():
    """Freeze what the files before have made: a scripted clock looks through all else."""
    gc.freeze()


@pytest.fixture(scope="session")
def once(request, tmp_path_factory):
    """Return `once(name, make)`: a folder that is made once, by whichever process comes first."""
    base = tmp_path_factory.getbasetemp()
    several = hasattr(request.config, "workerinput")
    return functools.partial(made_once, base.parent if several else base)


@pytest.fixture(scope="module", autouse=True)
def environment_as_it_was():
    """Restore the environment and a signal after each file.

    nbgrader and Dask set variables. A profiler's command line lets a closed pipe end the process,
    which would be that of later tests.
    """
    before, pipe = dict(os.environ), signal.getsignal(signal.SIGPIPE)
    yield
    os.environ.clear()
    os.environ.update(before)
    signal.signal(signal.SIGPIPE, pipe)


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: almost all of what is made then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among the tests themselves: that took a tenth of all time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000)  # as the commands have it (proflab_course/cli.py)
    if "hypothesis" in sys.modules:  # not imported for files that draw nothing: it takes 0.3 s
        from hypothesis import HealthCheck, settings

        # By default a test fails for a draw that was slow, as each is on a busy machine.
        patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.register_profile("patient", patient)
        settings.load_profile("patient")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file for `make test-rest` that has no test in it: that is half of them."""
    if config.option.markexpr != REST or not collection_path.match("test_*.py"):
        return None
    return True if not MARKED.search(collection_path.read_bytes()) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; with several processes each takes the next file of the list.

    The tests of a file stay in its order, in which some of them need each other.
    """
    costs, found = _costs(), defaultdict[str, float](float)
    for file, where in {(_file(item), runs_in(item)) for item in items}:
        found[file] += costs.get((file, where), 0.0)  # 0: it is not in the record yet
    items.sort(key=lambda item: -found[_file(item)])


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _costs() -> dict[tuple[str, str], float]:
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    with open(Path(__file__).with_name("suite") / "costs.csv", newline="") as file:
        for row in csv.DictReader(file):
            path = row["test"].partition("::")[0]
            found[path, row[RUNS_IN]] += float(row["setup"]) + float(row["call"])
    return found
