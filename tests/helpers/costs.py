"""A plugin of pytest that records what each test costs: `make costs` writes tests/suite/costs.csv.

    python -m pytest -p costs -n 0 -m "not soak" tests/cohort    # renews the rows of these files

CPU seconds are those of all processes that a test starts, where benchmarks/account.py may make a
control group; elsewhere the children that nobody waits for are missing, such as the process that
judges the cohort. A module's fixtures are charged to its first test, as setup. test_suite.py holds
the record to what runs in `make test`.
"""

from __future__ import annotations

import atexit
import csv
import os
import resource
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import account  # noqa: E402
from behaviours import RUNS_IN, runs_in  # noqa: E402

PLACE = ROOT / "tests" / "suite" / "costs.csv"
COLUMNS = ("test", RUNS_IN, "setup", "call", "processes")
STARTS = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty")
# What costs less is summed up, one line a file.
LEAST = 0.5

_started: Counter[str] = Counter()
_place = ExitStack()
_group: Path | None = None


def _count(event: str, _: object) -> None:
    if event in STARTS:
        _started[event] += 1


# As if it were Python's own: proflab/standalone/lines.py then leaves its time to what called it.
_count.__code__ = _count.__code__.replace(co_filename=os.__file__)


def _cpu() -> float:
    if _group is not None:
        return account.used(_group)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Recorder:
    """Measures each phase where it runs, and gathers the rows where the reports arrive."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Counter[str]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item):
        yield from self._measure(item, "setup")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        yield from self._measure(item, "call")

    def _measure(self, item: pytest.Item, phase: str):
        before, processes = _cpu(), _started.total()
        yield
        item.user_properties.append((phase, _cpu() - before))
        item.user_properties.append((RUNS_IN, runs_in(item)))
        item.user_properties.append(("processes", _started.total() - processes))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        told = report.user_properties
        row = self.rows.setdefault((report.nodeid, dict(told)[RUNS_IN]), Counter())
        for name, value in told:
            if name != RUNS_IN:
                row[name] += value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput") and self.rows:
            write(self.rows, Path(os.environ.get("COSTS_TO", PLACE)))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record: in the process that gathers, and in each that runs tests."""
    global _group
    sys.addaudithook(_count)
    atexit.register(_place.close)  # last of all: warm processes are closed by their owners first
    _group = _place.enter_context(account.inside())
    config.pluginmanager.register(Recorder(), "costs-recorder")


def write(rows: dict[tuple[str, str], Counter[str]], place: Path) -> None:
    """Write a line for each dear test, and one for the rest of a file, in `make test` and after it.

    Lines of files of which no test has run stay as they are.
    """
    dear = {test: row for test, row in rows.items() if row["setup"] + row["call"] >= LEAST}
    rest: dict[tuple[str, str], Counter[str]] = {}
    for (test, run), row in rows.items():
        if (test, run) not in dear:
            rest.setdefault((test.partition("::")[0], run), Counter()).update(row)
    lines = _others({(test.partition("::")[0], run) for test, run in rows}, place)
    for (test, run), row in [*dear.items(), *rest.items()]:
        seconds = f"{row['setup']:.1f}", f"{row['call']:.1f}"
        lines.append([test, run, *seconds, str(int(row["processes"]))])
    with open(place, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *sorted(lines)])


def _others(ran: set[tuple[str, str]], place: Path) -> list[list[str]]:
    """Return a record's lines but those of files that ran there, or are gone."""
    if not place.exists():
        return []
    with open(place, newline="") as file:
        lines = [(line[0].partition("::")[0], line) for line in [*csv.reader(file)][1:]]
    return [line for path, line in lines if (path, line[1]) not in ran and (ROOT / path).exists()]
