"""`make test` runs each behaviour once, in minutes, and `make test-all` everything."""

import ast
import re
from collections import Counter

import pytest
from behaviours import COSTS, MARKED, REST, TESTS, costs, files, table
from costs import write

# CPU seconds of a test that `make test` runs although it is not the only one of its behaviour. The
# record was made with two hardware threads of one core at work: alone, half of them would do.
DEAR = 4.0
# What the tests of `make test` may take, in the CPU seconds of the record, which counts all
# processes that they start, on a quiet machine. Collecting and linting come beside it.
BUDGET = 600.0


def test_each_file_shows_something_in_make_test_or_says_which_other_one_does():
    silent = [
        path for path, file in files().items() if not re.match(r"[\w`].*[.:]", file.behaviour)
    ]
    assert silent == [], "their docstrings begin with the behaviour"
    hidden = {path: file.shown_by for path, file in files().items() if not file.in_make_test()}
    unseen = [
        path
        for path, shown_by in hidden.items()
        if "soak" not in files()[path].marks
        and not (shown_by in files() and files()[shown_by].in_make_test())
    ]
    assert unseen == [], 'pytest.mark.whole("FILE") names a file of `make test`'


def test_what_takes_long_runs_in_make_test_only_where_it_alone_shows_a_behaviour():
    dear = [
        f"{row.path}::{row.test} {row.cpu:.1f} s"
        for row in costs()
        if row.function and row.cpu > DEAR and row.in_make_test
        and "proves" not in files()[row.path].tests[row.function] | files()[row.path].marks
    ]  # fmt: skip
    assert dear == [], "mark them `whole`, or what they alone show with `proves`"


def test_what_make_test_rest_passes_over_has_no_test_of_it():
    """Its file says `whole`, or takes the mark from the one helper that gives it."""
    others = {*TESTS.rglob("*.py")} - {*TESTS.rglob("test_*.py")}
    assert [path.stem for path in others if marks(path)] == ["chosen"]
    tests = TESTS.rglob("test_*.py")
    passed_over = [path for path in tests if not MARKED.search(path.read_bytes())]
    assert len(passed_over) > 100 and not any(map(marks, passed_over))
    assert f'(-m "{REST}")' in (TESTS.parent / ".ci/test").read_text()


def marks(path):
    return bool(re.search(r"mark\.whole|^from chosen import", path.read_text("utf-8"), re.M))


@pytest.mark.whole
def test_no_behaviour_is_proved_twice():
    proved = [
        ast.unparse(node.args[0])
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.proves"
    ]
    assert sorted(set(proved)) == sorted(proved)


def test_make_test_takes_minutes():
    quick = sum(row.cpu for row in costs() if row.in_make_test)
    assert quick <= BUDGET, f"{quick:.0f} CPU seconds by {COSTS.name}"


def test_the_record_is_of_tests_that_there_are():
    gone = [
        f"{row.path}::{row.test}"
        for row in costs()
        if row.path not in files() or (row.function and row.function not in files()[row.path].tests)
    ]
    assert gone == [], f"take these out of {COSTS}, or run `make costs`"


def test_the_table_is_in_step():
    stands = (COSTS.parent / "README.md").read_text("utf-8")
    assert stands == table(), "python tests/suite/behaviours.py > tests/suite/README.md"


def test_a_record_of_some_files_leaves_the_lines_of_the_others(tmp_path):
    here, other = "tests/suite/test_suite.py", "tests/build/test_account.py"
    kept = [f"{other},test,0.0,1.0,3", f"{here},rest,0.0,9.0,0"]
    gone = [f"{here}::test_gone,test,0.0,3.0,0", "tests/gone/test_gone.py,test,0.0,9.0,0"]
    place = tmp_path / "costs.csv"
    place.write_text("\n".join(["test,runs_in,setup,call,processes", *kept, *gone]) + "\n")
    dear, cheap = Counter(setup=0.1, call=2.0, processes=1), Counter(call=0.2)
    ran = {f"{here}::test_dear[a]": dear, f"{here}::test_b": cheap, f"{here}::test_c": cheap}
    write({(test, "test"): row for test, row in ran.items()}, place)
    new = [f"{here},test,0.0,0.4,0", f"{here}::test_dear[a],test,0.1,2.0,1"]
    assert place.read_text().splitlines()[1:] == sorted([*kept, *new])
