"""Provide the calls of a test cell: a line for what passes, an explanation for what fails.

In a notebook they compare where they stand. The grader never runs them: it reads them, evaluates
only what is to be tested in the student's process, and compares outside (`cases/reader.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from proflab.checks.compare import (
    Verdict,
    compare,
    compare_between,
    compare_raised,
    show,
    show_passed,
)
from proflab.checks.diagnose import counts_flops
from proflab.checks.values import NotPlainData, to_plain_data

__all__ = [
    "expect",
    "expect_between",
    "expect_cheaper",
    "expect_faster",
    "expect_log",
    "expect_raises",
    "expect_table",
]

# Of the races in each test cell, when it was last run: the share of the way by label.
shares: dict[str, dict[str, float]] = {}
RACES = ("expect_faster(", "expect_cheaper(")  # how a race begins in a test cell's text
_SOON = 3.0  # seconds that a race may take without a word
_ROW = "(label, arguments, result) or (label, arguments, result, mistakes)"


def expect(
    label: str,
    actual: Any,
    expected: Any,
    *,
    rel: float | None = None,
    abs: float | None = None,
    mistakes: dict[str, Any] | None = None,
) -> None:
    """Check that `actual` is `expected`, exactly or within `rel` or `abs`.

    label: what the case is about; printed whether it passes or fails.
    rel, abs: how far a number may be off, relative to the expected one or in its own unit.
    mistakes: maps the sentence that names a misconception to the value that it leads to.
    Raises AssertionError, which says what was got, what was expected and what that looks like.

    >>> expect("parameters of Linear(3, 2)", 3 * 2 + 2, 8)
    ✅ parameters of Linear(3, 2): 8
    >>> expect("parameters of Linear(3, 2)", 3 * 2, 8, mistakes={"is a bias left out?": 6})
    Traceback (most recent call last):
    proflab.checks.expect.CaseFailed: ❌ parameters of Linear(3, 2): got 6, expected 8 (2 too few)
       is a bias left out?
    """
    verdict = compare(actual, expected, rel, abs, mistakes, _flops(label, mistakes))
    _tell(label, verdict, _shown(actual, show_passed))


def expect_between(label: str, actual: float, low: float, high: float) -> None:
    """Check that `low <= actual <= high`; raises AssertionError otherwise.

    >>> expect_between("share of the peak", 0.25, 0.0, 1.0)
    ✅ share of the peak: 0.25
    """
    _tell(label, compare_between(actual, low, high), _shown(actual, show_passed))


def expect_cheaper(
    label: str,
    plan: Any,
    *,
    rule: str,
    given: float,
    full: float,
    best: float | None = None,
    **parameters: Any,
) -> None:
    """Check that a plan is valid by its rule, and show what it costs beside the given plan.

    plan: plain data, as the rule's simulator takes it (`proflab.lesson.race.plans`).
    rule: "cache", "buckets" or "loader". parameters: the rule's, by name.
    given, full: what the given plan costs, and the cost that earns full marks, in the rule's unit.
    best: the lowest cost that is known; it is shown, and earns no more.
    Raises AssertionError where the plan is not valid; one that is valid and dear passes, and earns
    the share of the way that it has gone from `given` to `full`.
    """
    from proflab.lesson.race import judge, plans, trail

    try:
        found = plans.judge_plan(to_plain_data(plan), rule, parameters, given)
    except NotPlainData as error:
        found = {"refused": str(error)}
    if refused := found.get("refused"):
        _tell(label, Verdict(False, refused), "")
    share = shares.setdefault(running_cell(), {})[label] = judge.share_of(found, full)
    trail.note(trail.plan_race_of(rule, parameters), found["ms"])
    print(f"🏁 {label}: {plans.told(found, rule, full)}{_earned(share)}")
    _show_best(best, found["ms"], plans.RULES[rule].unit)
    if (hint := plans.hint(found)) and share < 1:
        print(f"   {hint}")


def expect_faster(
    label: str,
    actual: Any,
    *,
    like: Callable,
    machine: str,
    full: float,
    best: float | None = None,
    **options: Any,
) -> None:
    """Check that a traced program returns what `like` does, and show what it costs beside it.

    actual: `traced(program, …)` of proflab.lesson.race. like: the given, slow program.
    machine: the declared machine's name, such as "DESK". full: the ms that earn full marks.
    best: the lowest cost that is known; it is shown, and earns no more.
    options: within, floor, draws, state, fast and memory, as `race.judge.judge` takes them.
    Raises AssertionError where the program is refused, or is cheaper and its results are wrong;
    else it passes, and earns the share of the way that it has gone from `like` to `full`. One that
    is no cheaper than `like` earns nothing, and is not run.
    """
    from proflab.lesson.race import judge, show, trail
    from proflab.lesson.race.hints import WORTH, texts
    from proflab.lesson.race.trace import Tape

    if not isinstance(actual, Tape):
        raise TypeError("expect_faster takes what `traced(program, …)` returns")
    given = actual.traced_with(like)
    op_facts = show.counting.get("op_facts")

    def announce(seconds: float) -> None:
        if seconds > _SOON:
            print(f"⏳ {label}: takes about {seconds:.0f} s")

    found = judge.judge(actual, given, op_facts, machine, announce=announce, **options)
    line_of = partial(show.line_of, actual)
    if wrong := show.refusal(actual, found, line_of) if "refused" in found else found["wrong"]:
        _tell(label, Verdict(False, wrong), "")
    if op_facts is None:
        print(f"🏁 {label}: same results")
        return
    told = judge.told(found, machine, full, options.get("fast"))
    share = shares.setdefault(running_cell(), {})[label] = judge.share_of(found, full)
    limits = (options.get("fast"), options.get("memory"))
    trail.note(trail.race_of(found["race"], machine, *limits), found["ms"])
    same = "no cheaper, so its results are not compared" if share == 0 else "same results"
    print(f"🏁 {label}: {same}; {told}{_earned(share)}")
    _show_best(best, found["ms"], judge.unit_of(machine, options.get("fast")))
    # Where less than a tenth of the cost is above the best known, hints.py has no more to say.
    known = min(full, (best or full) / (1 - WORTH))
    for text in texts(found, line_of) if found["ms"] > known else ():
        print(f"   {text}")


def _show_best(best: float | None, paid: float, unit: str) -> None:
    """Print the lowest cost that is known, a mark without points; paid: the program's own."""
    from proflab.lesson.race.show import number

    if best is not None:
        what = "it earns no more than full marks"
        if paid < 0.999 * best:  # the class's board calls costs within 0.1 % the same
            what = "yours is lower, tell your instructor"
        print(f"   best known: {number(best)} {unit}; {what}")


def expect_log(
    label: str,
    log: Any,
    handed: Any,
    *,
    rule: str,
    like: Callable,
    machine: str,
    **options: Any,
) -> None:
    """Check one thing about a work log: "costs", "times", "order", "largest" or "stop".

    log: plain data, as `log.data()` of a race's WorkLog returns it. handed: `traced(program, …)` of
    the program that is handed in. rule: a key of `proflab.lesson.race.check_log.RULES`, which says
    what it asks. like: the given, slow program. machine: the declared machine's name.
    options: within, draws, state and floor, as for expect_faster; one_by_one, as for `check_log`.
    Raises AssertionError with a sentence on what is not consistent.
    """
    from proflab.lesson.race import show
    from proflab.lesson.race.check_log import FUNCTIONS, RULES, found_in, methods_of
    from proflab.lesson.race.known import Content
    from proflab.lesson.race.trace import Tape

    if not isinstance(handed, Tape):
        raise TypeError("expect_log takes a log and what `traced(program, …)` returns")
    given, functions = handed.traced_with(like), methods_of(like) | show.counting
    try:
        asked = Content([to_plain_data(log), list(handed), list(given), machine, options])
        found = found_in(asked, *(functions[name] for name in FUNCTIONS))
    except NotPlainData as error:
        found = {rule: str(error)}
    _tell(label, Verdict(not found[rule], found[rule]), RULES[rule])


def expect_raises(label: str, action: Callable[[], Any], exception: type[Exception]) -> None:
    """Check that `action()` raises `exception`; raises AssertionError otherwise.

    An exercise that is still to be written raises NotImplementedError, which is passed on.

    >>> expect_raises("no such key", lambda: {}["x"], KeyError)
    ✅ no such key: KeyError
    """
    verdict = _raised(action, exception)
    if not verdict.passed:
        raise CaseFailed(failed_text(label, verdict), only_refusals=True)
    print(passed_line(label, exception.__name__))


def expect_table(
    function: Callable[..., Any],
    *rows: tuple,
    rel: float | None = None,
    abs: float | None = None,
) -> None:
    """Check what `function` gives for each row: (label, arguments, result), or (…, mistakes).

    arguments: a tuple, passed as they stand. result: as `expect` takes it, or an exception's type;
    then the arguments may be a list of tuples, each of which has to raise it.
    mistakes: as in `expect`. rel, abs: for every row.
    All rows are tried; raises AssertionError with a sentence for each that fails. What the function
    raises where a value is expected is passed on, once all rows are tried.

    >>> rows = ("no rest", (6, 3), (2, 0)), ("by 0", [(1, 0), (0, 0)], ZeroDivisionError)
    >>> expect_table(divmod, *rows)
    ✅ no rest: (2, 0)
    ✅ by 0: ZeroDivisionError
    """
    if not rows:
        raise TypeError(f"expect_table takes a function and at least one row, {_ROW}")
    passed: list[str] = []
    failed: list[str] = []
    errors: list[Exception] = []
    only_refusals = True
    for row in [_read_row(number, row) for number, row in enumerate(rows, start=1)]:
        wrong, shown = _try_row(function, row, rel, abs, errors)
        failed += wrong
        only_refusals &= not wrong or _is_exception(row[2])
        passed += [] if wrong else [passed_line(row[0], shown)]
    for line in passed + (failed if errors else []):
        print(line)
    if errors:
        raise errors[0]
    if failed:
        raise CaseFailed("\n".join(failed), only_refusals=only_refusals)


def row_labels(label: str, tuples: int) -> list[str]:
    """Return the labels of a row's cases: one for each tuple of arguments.

    >>> row_labels("by 0", 2)
    ['by 0 (1 of 2)', 'by 0 (2 of 2)']
    """
    if tuples == 1:
        return [label]
    return [f"{label} ({number} of {tuples})" for number in range(1, tuples + 1)]


class CaseFailed(AssertionError):
    """A case that does not hold. Jupyter shows its sentence alone: where we raised says nothing.

    only_refusals: True where nothing but an exception is missing, so that no value was wrong.
    """

    def __init__(self, text: str, only_refusals: bool = False) -> None:
        super().__init__(text)
        self.only_refusals = only_refusals

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def running_cell() -> str:
    """Return the name of the test cell that runs; `run_all.install` puts a notebook's in place."""
    return ""


def race_points() -> float:
    """Return the points of each visible race in the test cell that runs; as `running_cell`."""
    return 0.0


def _earned(share: float) -> str:
    points = race_points()
    return f", {round(share * points, 2):g} of {points:g} points" if points else ""


def _flops(label: str, mistakes: dict[str, Any] | None) -> bool:
    return counts_flops(label, running_cell(), *(mistakes or {}))


def passed_line(label: str, shown: str) -> str:
    """Return the line that a passed case prints; where nothing is shown, the label alone."""
    return f"✅ {label}: {shown}" if shown else f"✅ {label}"


def failed_text(label: str, verdict: Verdict) -> str:
    """Return what a failed case says."""
    hint = f"\n   {verdict.diagnosis}" if verdict.diagnosis else ""
    return f"❌ {label}: {verdict.reason}{hint}"


def _read_row(number: int, row: Any) -> tuple[str, list[tuple], Any, dict[str, Any]]:
    """Return a row's label, tuples of arguments, result and mistakes; raise TypeError."""
    if not isinstance(row, tuple) or len(row) not in (3, 4):
        raise TypeError(f"row {number} of expect_table: write {_ROW}")
    label, arguments, result, mistakes = row if len(row) == 4 else (*row, {})
    several = isinstance(arguments, list) and arguments and _is_exception(result)
    tuples = arguments if several else [arguments]
    if not all(isinstance(each, tuple) for each in tuples):
        how = "the arguments are a tuple, (x,) for one; a list of tuples where each has to raise"
        raise TypeError(f"row {number} of expect_table ({label!r}): {how}")
    return label, tuples, result, mistakes


def _try_row(
    function: Callable[..., Any],
    row: tuple[str, list[tuple], Any, dict[str, Any]],
    rel: float | None,
    abs: float | None,
    errors: list[Exception],
) -> tuple[list[str], str]:
    """Return what a row's failed cases say, and its value as shown; what it raises is added."""
    label, tuples, result, mistakes = row
    failed, shown = [], ""
    for name, arguments in zip(row_labels(label, len(tuples)), tuples, strict=True):
        if _is_exception(result):
            verdict, shown = _raised(partial(function, *arguments), result), result.__name__
        else:
            try:
                value = function(*arguments)
            except NotImplementedError:  # still to be written
                raise
            except Exception as error:
                errors.append(error)
                told = ": ".join(filter(None, (type(error).__name__, _said(error))))
                verdict = Verdict(False, told)
            else:
                verdict = compare(value, result, rel, abs, mistakes, _flops(label, mistakes))
                shown = _shown(value, show_passed)
        failed += [] if verdict.passed else [failed_text(name, verdict)]
    return failed, shown


def _is_exception(result: Any) -> bool:
    return isinstance(result, type) and issubclass(result, Exception)


def _raised(action: Callable[[], Any], exception: type[Exception]) -> Verdict:
    try:
        value = action()
    except Exception as error:
        if isinstance(error, NotImplementedError) and exception is not NotImplementedError:
            raise
        raised, message = [kind.__name__ for kind in type(error).__mro__], _said(error)
    else:
        raised, message = [], _shown(value)
    return compare_raised(raised, message, exception.__name__)


def _shown(value: Any, as_text: Callable[[Any], str] = show) -> str:
    """Return the value as text, without asking it how it wants to be shown."""
    try:
        return as_text(to_plain_data(value))
    except NotPlainData:
        return f"a {type(value).__name__}"


def _said(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _tell(label: str, verdict: Verdict, shown: str) -> None:
    if not verdict.passed:
        raise CaseFailed(failed_text(label, verdict))
    print(passed_line(label, shown))
