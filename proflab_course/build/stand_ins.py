"""Try every helper that a student can import in the place of each exercise: none may earn points.

A program of its own, `python -m proflab_course.build.stand_ins JOBS FOLDER…`, whose folders have a
lesson's notebook and files each: it imports once what all need, forks for each lesson, runs the
solved lesson there, and forks for each test cell. There each callable is tried on the cell's first
case that asks the exercise; what passes, or of a race can be traced, has the whole cell.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import json
import mmap
import os
import pkgutil
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from proflab.lesson.names import bound_names, used_names
from proflab_course.build.in_process import ask, made, run_cell
from proflab_course.cases.case import Step
from proflab_course.cases.hidden_doubles import DoubleSpec
from proflab_course.cases.race import Race
from proflab_course.cases.reader import TestCell, split_cell
from proflab_course.course.notebook import Lesson, read_notebook

_PACKAGE = "proflab.lesson"
_CPU_SECONDS = 0.1  # of a stand-in in the first case, at least, or
_TIMES = 20  # times what the solution takes there
_WHOLE_SECONDS = 5.0  # in the whole cell
_SILENT_SECONDS = 5.0  # in which a process that neither ends nor computes is given up
_CHEAP = 1e-3  # CPU seconds: what takes less is executed for each stand-in anew
_MEMORY = 256 * 2**20  # bytes: to fill more takes seconds, which no alarm ends
_READY = b"."
Found = tuple[str, str]  # a test cell's name, and the callable that passes it


def stand_in_mistakes(lessons: Sequence[tuple[Lesson, Path]], jobs: int) -> list[Iterator[str]]:
    """Return, for each lesson, a sentence for each importable callable that earns points in it.

    lessons: each with its folder: notebook, support files, built.py. Reading the sentences raises
    RuntimeError where nothing could be tried.
    """
    with tempfile.TemporaryDirectory() as place:
        for lesson, folder in lessons:
            shutil.copytree(folder, Path(place) / lesson.name)
        words = [sys.executable, "-m", __name__, str(jobs), *(lesson.name for lesson, _ in lessons)]
        environment = {**os.environ, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        subprocess.run(words, cwd=place, env=environment, capture_output=True, check=False)
        answers = [Path(place) / f"{lesson.name}.json" for lesson, _ in lessons]
        found = [json.loads(each.read_text()) if each.exists() else "it ended" for each in answers]
    return [_told(lesson, each) for (lesson, _), each in zip(lessons, found, strict=True)]


def _told(lesson: Lesson, found: list[Found] | str) -> Iterator[str]:
    if isinstance(found, str):
        raise RuntimeError(found)
    places = {cell.name: cell.where for cell in lesson.cells if cell.name}
    for test, name in found:
        passed = f"`{name}`, which students can import, passes it in the exercise's place"
        yield f"{places[test]}: {passed}"


def search(lesson: Lesson, folder: Path) -> list[Found]:
    """Return what passes a test cell of the lesson; its solutions are executed here."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    statements: list[ast.stmt] = []
    for cell in lesson.named("exercise", "given", "free", "setup"):
        exec(compile(cell.code, cell.name or "cell", "exec"), scope)
        statements += cell.statements()
    notebook = types.ModuleType("__main__")
    notebook.__dict__.update(scope)
    sys.modules["__main__"] = notebook  # where a scripted clock looks for what reads it
    helpers = list(_helpers(folder))
    found: list[Found] = []
    for exercise, tests in lesson.tests.items():
        for test in map(split_cell, tests):
            if any(hidden for hidden, _ in test.answers):
                trial = _Trial(test, exercise, vars(notebook), _dependents(statements, exercise))
                found += [(test.name, name) for name in _passing(trial, helpers)]
    return found


def _helpers(folder: Path) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the callables of the package and of the lesson's own files, each once."""
    package = importlib.import_module(_PACKAGE)
    inside = [m.name for m in pkgutil.walk_packages(package.__path__, f"{_PACKAGE}.")]
    seen: set[int] = set()
    for name in [_PACKAGE, *inside, *sorted(path.stem for path in folder.glob("*.py"))]:
        try:
            module = importlib.import_module(name)
        except Exception:  # needs what is not installed
            continue
        for attribute, value in sorted(vars(module).items()):
            own = str(getattr(value, "__module__", "")).startswith(("proflab", name))
            if callable(value) and own and id(value) not in seen:
                seen.add(id(value))
                yield f"{name}.{attribute}", value


def _dependents(statements: list[ast.stmt], exercise: str) -> set[str]:
    """Return the names whose meaning depends on the exercise."""
    found, size = {exercise}, 0
    while len(found) > size:
        size = len(found)
        for statement in statements:
            if used_names([statement]) & found:
                found |= bound_names([statement])
    return found


# ── one test cell ────────────────────────────────────────────────────────────────────────────


class _TooLong(BaseException):
    """A stand-in has used up its time."""


class _Trial:
    """A test cell up to its first case that asks the exercise."""

    def __init__(
        self, test: TestCell, exercise: str, scope: dict[str, Any], dependents: set[str]
    ) -> None:
        self.test, self.exercise, self.scope = test, exercise, scope
        self.ahead: list[tuple[Step, DoubleSpec | None]] = []
        self.case = None
        self.seconds = _CPU_SECONDS
        known = set(dependents)
        for block in test.blocks:
            doubles = dict(block.doubles)
            for index, (step, answer) in enumerate(zip(block.steps, block.answers, strict=True)):
                nodes = ast.parse(step.code).body
                depends = bool(used_names(nodes) & known)
                if answer is not None and depends:
                    self.case = step, answer
                    return
                if answer is None:
                    self.ahead.append((step, doubles.get(index)))
                    known |= bound_names(nodes) if depends else set()
        self.ahead.clear()  # the whole cell has its own

    def prepare(self) -> None:
        """Execute set-up and case with the solution; drop the set-up that costs and may stay.

        It may not where the rest does not pass without it, for it changes what another step made.
        """
        kept = []
        for step, double in self.ahead:
            begin = time.process_time()
            self._set_up(step, double)
            if double or time.process_time() - begin < _CHEAP or self.exercise in step.code:
                kept.append((step, double))
        whole, self.ahead = self.ahead, kept
        if not self._passes_again():
            self.ahead = whole
        begin = time.process_time()
        self._first_passes()
        raced = self.case is not None and isinstance(self.case[1].held, Race)
        times = 2 if raced else _TIMES  # a trace can take seconds, and nothing like it is a helper
        self.seconds = max(_CPU_SECONDS, times * (time.process_time() - begin))

    def passes(self, helper: Callable[..., Any]) -> bool:
        """Return True if the cell is passed with a stand-in in the exercise's place."""
        self.scope[self.exercise] = helper
        # Of CPU time, which a busy machine does not use up.
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        if not self._first_passes():
            return False
        signal.setitimer(signal.ITIMER_PROF, _WHOLE_SECONDS)
        return all(case.passed for case in run_cell(self.test, self.scope))

    def _passes_again(self) -> bool:
        with contextlib.suppress(Exception):
            return self._first_passes()
        return False

    def _set_up(self, step: Step, double: DoubleSpec | None) -> None:
        if double is not None:
            self.scope[double.name] = made(double, self.scope)
        else:
            exec(step.code, self.scope)

    def _first_passes(self) -> bool:
        for step, double in self.ahead:
            self._set_up(step, double)
        if self.case is None:
            return True
        step, answer = self.case
        if isinstance(answer.held, Race):  # traced, it has the whole cell: data take seconds
            eval(step.code, self.scope)
            return True
        return ask(step, answer, self.scope).passed


def _passing(trial: _Trial, helpers: list[tuple[str, Callable[..., Any]]]) -> Iterator[str]:
    """Yield the names of the helpers that pass; one that ends its process does not."""
    begin = 0
    while begin < len(helpers):
        verdicts = _in_fork(trial, helpers[begin:])
        for (name, _), verdict in zip(helpers[begin:], verdicts, strict=False):
            if verdict == "+":
                yield name
        begin += len(verdicts) + 1  # the next one is what has ended it


def _in_fork(trial: _Trial, helpers: list[tuple[str, Callable[..., Any]]]) -> str:
    """Return "+" or "-" for each helper, up to one that ends the process or keeps it silent.

    Raises RuntimeError where the test cell cannot be set up.
    """
    reader, writer = os.pipe()
    verdicts = mmap.mmap(-1, len(helpers))  # shared: a byte in the pipe would wake this process
    child = os.fork()
    if child == 0:
        os.close(reader)
        _silence()
        signal.signal(signal.SIGPROF, _stop)
        gc.freeze()  # as the grader does: a scripted clock looks through what is made from here on
        try:
            trial.prepare()
            os.write(writer, _READY)
            _forbid_waiting()
            _forbid_more_memory()
            for place, (_, helper) in enumerate(helpers):
                verdicts[place] = ord("+" if _verdict(trial, helper) else "-")
        finally:
            os._exit(0)
    os.close(writer)
    before, told = None, b""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        ready = pipe.read(1) == _READY
        while told != before and not select.select([pipe], [], [], _SILENT_SECONDS)[0]:
            before, told = told, verdicts[:].rstrip(b"\0")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not ready:
        raise RuntimeError(f"no stand-in can be tried in {trial.test.name}: its set-up raises")
    return verdicts[:].rstrip(b"\0").decode()


def _verdict(trial: _Trial, helper: Callable[..., Any]) -> bool:
    try:
        return trial.passes(helper)
    except BaseException:  # SystemExit, too
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _stop(*_: Any) -> None:
    raise _TooLong


def _forbid_waiting() -> None:
    """Have a stand-in fail that sleeps or starts a process or a thread: its wait costs no CPU."""
    waiting = (
        (time, "sleep"),
        (os, "fork"),
        (subprocess.Popen, "__init__"),
        (threading.Thread, "start"),
    )
    for owner, name in waiting:
        setattr(owner, name, _stop)


def _forbid_more_memory() -> None:
    """Have a stand-in fail that asks for gigabytes."""
    with contextlib.suppress(OSError, ValueError):  # where the system has no such limit
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (taken + _MEMORY, resource.RLIM_INFINITY))


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _search_in(folder: Path) -> None:
    """Search the lesson in a folder; write what was found, or why nothing was, beside it."""
    os.chdir(folder)
    # It goes first: built and demos are this lesson's, whatever else has their names.
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"
    found: list[Found] | str
    try:
        found = search(read_notebook(Path(f"{folder.name}.ipynb"), folder.name), folder)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    Path(f"{folder}.json").write_text(json.dumps(found), encoding="utf-8")


def main(jobs: int, names: list[str]) -> None:
    """Search the lessons in folders of these names, `jobs` at a time, each in a fork."""
    importlib.import_module("matplotlib.pyplot")  # or what plots imports it anew in each fork
    for place, name in enumerate(names):
        if place >= jobs:
            os.wait()
        if os.fork() == 0:
            _search_in(Path(name).absolute())
            return
    for _ in names[-jobs:]:  # those that still run
        os.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
