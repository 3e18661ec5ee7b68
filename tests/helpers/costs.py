"""A plugin of pytest that records what each test costs: `make costs` writes tests/suite/costs.csv.

CPU seconds are those of the process and of the children that it has waited for; what the init of a
sandbox reaps is in nobody's account. A module's fixtures are charged to its first test, as setup.
test_suite.py holds the record to what runs in `make test`.
"""

from __future__ import annotations

import csv
import os
import resource
import sys
from collections import Counter
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[1] / "suite" / "costs.csv"
COLUMNS = ("test", "setup", "call", "processes")
STARTS = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty")
# What costs less is summed up, one line a file.
LEAST = 0.5

_started: Counter[str] = Counter()


def _count(event: str, _: object) -> None:
    if event in STARTS:
        _started[event] += 1


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Recorder:
    """Measures each phase where it runs, and gathers the rows where the reports arrive."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, float]] = {}

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
        item.user_properties.append(("processes", _started.total() - processes))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        row = self.rows.setdefault(report.nodeid, dict.fromkeys(COLUMNS[1:], 0.0))
        for name, value in report.user_properties:
            row[name] = row.get(name, 0) + value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput") and self.rows:
            write(self.rows, Path(os.environ.get("COSTS_TO", PLACE)))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record: in the process that gathers, and in each that runs tests."""
    sys.addaudithook(_count)
    config.pluginmanager.register(Recorder(), "costs-recorder")


def write(rows: dict[str, dict[str, float]], place: Path) -> None:
    """Write one line for each dear test, and one for the rest of each file."""
    dear = {test: row for test, row in rows.items() if row["setup"] + row["call"] >= LEAST}
    rest: dict[str, Counter[str]] = {}
    for test, row in rows.items():
        if test not in dear:
            rest.setdefault(test.partition("::")[0], Counter()).update(row)
    with open(place, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for test, row in sorted([*dear.items(), *rest.items()]):
            table.writerow(
                [test, f"{row['setup']:.1f}", f"{row['call']:.1f}", int(row["processes"])]
            )
