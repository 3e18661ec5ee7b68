"""`compare` and `gate` of the profiler in one file: what they print, keep, and end with."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from cohort.run import ROOT, solved

from proflab.lesson.hardware import Machine
from proflab.standalone import compare, main
from proflab.standalone.compare import NEEDED_TO_COMPARE
from proflab_course.cli import main as proflab

BEFORE = [100.0, 110.0, 120.0, 130.0, 140.0, 150.0]
FASTER = [ms / 1.5 for ms in BEFORE]
KEYS = ["verdict", "before_ms", "after_ms", "speedup", "low", "high", "confidence", "rounds"]
KEYS += ["tolerance", "comparisons", "start_up_ms", "load", "notes"]


@pytest.fixture(scope="module")
def names():
    return solved("lesson_08").scope | {"__file__": "my_profiler.py"}


def python(code: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", "-c", code])


class Script:
    """A machine with a clock of its own: each process takes the ms that the script says."""

    def __init__(self, monkeypatch, ms, load=0.0):
        self.ms, self.now, self.seen = ms, 0.0, []
        monkeypatch.setattr(compare, "subprocess", self)
        monkeypatch.setattr(compare, "time", self)
        monkeypatch.setattr(compare, "this_machine", lambda: Machine(processors=2, load=load))

    PIPE = DEVNULL = None

    def run(self, words, *, env, **options):
        self.seen.append(words[0])
        self.now += self.ms(words[0], int(env["OPENBLAS_NUM_THREADS"]))
        return subprocess.CompletedProcess(words, 0, "", "")

    def perf_counter_ns(self):
        return self.now * 1e6


def scripted(monkeypatch, before, after):
    """Return the arguments of two commands that take these ms, once the first runs are over."""
    left = {"before": iter([1.0, *before]), "after": iter([1.0, *after])}
    Script(monkeypatch, lambda command, threads: next(left[command]) if command in left else 1.0)
    rounds = str(len(before))
    return ["before", "after", "--start-up", "nothing", "--rounds", rounds, "--most", rounds]


@pytest.mark.parametrize(
    "before, after, options, verdict, status",
    [
        (BEFORE, FASTER, [], "faster", 0),
        (FASTER, BEFORE, [], "slower", 1),
        (BEFORE, BEFORE, [], "same", 0),
        (FASTER, BEFORE, ["--tolerance", "0.6"], "same", 0),
        (BEFORE, BEFORE[::-1], [], "unclear", 0),
        (BEFORE, BEFORE[::-1], ["--strict"], "unclear", 1),
        (FASTER * 2, BEFORE * 2, ["--comparisons", "40"], "slower", 1),
    ],
)
def test_the_gate_ends_as_a_ci_reads_it(
    names, monkeypatch, capsys, before, after, options, verdict, status
):
    options = [*scripted(monkeypatch, before, after), *options]
    assert main(names, {}, ["gate", "--json", *options]) == status
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == verdict and list(found) == KEYS
    scripted(monkeypatch, before, after)
    assert main(names, {}, ["gate", *options]) == status
    assert capsys.readouterr().out.startswith(f"{verdict}: ")


def test_cpu_time_stands_beside_the_clocks(names, capsys):
    """A sleep takes time of the clock and hardly any of a processor."""
    command = [sys.executable, "-S", "-c"]
    before = shlex.join([*command, "sum(i * i for i in range(1_500_000))"])
    after = shlex.join([*command, "import time; time.sleep(0.05)"])
    assert main(names, {}, ["compare", before, after, "--rounds", "6", "--json"]) == 0
    cpu = json.loads(capsys.readouterr().out)["cpu_ms"]
    assert cpu["before"] > 2 * cpu["after"] > 0


def busy(rng):
    """A neighbour that takes up to both processors: on one thread it does less harm than on two.

    Start-up takes 250 ms, the work 30 ms before and 20 times as much after.
    """

    def ms(command, threads):
        load = np.exp(rng.normal(0, 0.3 if threads == 1 else 3))
        return load * (250 + {"before": 30, "after": 600}.get(command, 0))

    return ms


@pytest.mark.parametrize("seed", range(20))
def test_twenty_times_the_work_is_slower_beside_a_busy_neighbour(names, monkeypatch, capsys, seed):
    script = Script(monkeypatch, busy(np.random.default_rng(seed)), load=3.5)
    options = ["--rounds", "12", "--most", "12", "--start-up", "nothing"]
    assert main(names, {}, ["gate", "before", "after", *options]) == 1
    said = capsys.readouterr().out
    assert said.startswith("slower: ") and ", 12 rounds)" in said
    assert script.seen[3:] == ["nothing", "before", "after", "after", "before", "nothing"] * 6
    assert "% of the shorter time, and hides most of a change" in said
    assert "load: 3.5 on 2 processors" in said and "warning: other programs" in said


@pytest.mark.parametrize("work, told, left", [(100.0, "100", "80"), (12_345, "12,345", "12,325")])
def test_start_up_is_no_warning_where_the_work_is_longer(
    names, monkeypatch, capsys, work, told, left
):
    Script(monkeypatch, lambda command, threads: {"nothing": 20.0}.get(command, work))
    assert main(names, {}, ["compare", "before", "after", "--start-up", "nothing"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{told} ms before, {told} ms after; 1.000 times as fast")
    assert f"start-up: 20 ms, which leaves {left} ms before and {left} after" in said
    assert "warning" not in said


@pytest.mark.parametrize(
    "quarrel, options, rounds, verdict",
    [
        (12, [], 36, "slower"),  # unclear at first: then it goes on
        (0, [], 12, "slower"),
        (99, [], 36, "unclear"),
        (99, ["--rounds", "6", "--most", "20"], 20, "unclear"),
        (99, ["--most", "12"], 12, "unclear"),
    ],
)
def test_the_gate_goes_on_until_it_is_clear_or_to_the_stated_end(
    names, monkeypatch, capsys, quarrel, options, rounds, verdict
):
    """In the first rounds the two disagree by turns; then after takes twice as long."""
    seen = []

    def ms(command, threads):
        seen.append(command)
        count = seen.count("after") - 1
        return {"before": 100.0, "after": 200.0 if count > quarrel or count % 2 else 50.0}[command]

    asked = []

    def gate(before, after, tolerance, comparisons):
        asked.append(comparisons)
        return names["gate"](before, after, tolerance, comparisons)

    Script(monkeypatch, ms)
    command = ["gate", "before", "after", "--start-up", "before", "--json", *options]
    main(names | {"gate": gate}, {}, command)
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["rounds"]) == (verdict, rounds)
    looks = 1 if options == ["--most", "12"] else 2
    assert set(asked) == {looks}  # so that two looks ring falsely no more often than one
    assert found["confidence"] == pytest.approx(1 - 0.05 / looks)


@pytest.mark.whole
def test_children_multiply_on_one_thread_unless_told(names, tmp_path):
    log = tmp_path / "log.txt"
    code = f"import os; open({str(log)!r}, 'a').write(os.environ['OPENBLAS_NUM_THREADS'])"
    command = ["compare", python(code), python(code), "--rounds", "6"]
    assert main(names, {}, command) == 0
    assert main(names, {}, [*command, "--threads", "3"]) == 0
    assert log.read_text() == "1" * 14 + "3" * 14


def test_the_gate_ends_as_the_students_page_says(names, monkeypatch):
    """Its table has the verdict, the status, and the status with --strict."""
    page = (ROOT / "docs/students.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| (\d) \| (\d) \|$", page, re.M)
    times = {
        "faster": (BEFORE, FASTER),
        "same": (BEFORE, BEFORE),
        "unclear": (BEFORE, BEFORE[::-1]),
        "slower": (FASTER, BEFORE),
        "nothing could be compared": ([], []),
    }
    assert sorted(row[0] for row in rows) == sorted(times)
    for verdict, *statuses in rows:
        for options, status in zip(([], ["--strict"]), statuses, strict=True):
            options = [*scripted(monkeypatch, *times[verdict]), *options]
            assert main(names, {}, ["gate", *options]) == int(status), verdict


def test_the_gate_asks_the_students_functions(names, monkeypatch, capsys):
    options = scripted(monkeypatch, BEFORE, BEFORE)
    own = names | {"gate": lambda before, after, tolerance, comparisons: "slower"}
    assert main(own, {}, ["gate", "--json", *options]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "slower"


def test_the_gate_uses_its_share_of_the_false_alarms(names, monkeypatch, capsys):
    options = [*scripted(monkeypatch, BEFORE * 2, FASTER * 2), "--comparisons", "40"]
    assert main(names, {}, ["gate", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["confidence"] == pytest.approx(0.99875) and found["rounds"] == 12


def test_compare_runs_both_commands_in_the_students_order(names, tmp_path, capsys):
    log = tmp_path / "log.txt"
    commands = [python(f"open({str(log)!r}, 'a').write({name!r})") for name in "ba"]
    assert main(names, {}, ["compare", *commands, "--rounds", "6", "--json"]) == 0
    assert log.read_text() == "ba" + "baab" * 3  # one of each first, which is not counted
    found = json.loads(capsys.readouterr().out)
    assert found["rounds"] == 6 and "verdict" not in found


def test_compare_says_what_the_students_interval_says(names, monkeypatch, capsys):
    options = scripted(monkeypatch, BEFORE, FASTER)[:-2]  # without --most, which is the gate's
    assert main(names, {}, ["compare", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    again = names["speedup_interval"](BEFORE, FASTER)
    assert [found[key] for key in again] == pytest.approx(list(again.values()))


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["compare", "no-such-command-here", "b"], "'no-such-command-here' cannot be run"),
        (["compare", python("raise SystemExit(3)"), "b"], "failed with 3: it wrote no error"),
        (["compare", python("1 / 0"), "b"], "ZeroDivisionError: division by zero"),
        (["compare", python(""), python(""), "--rounds", "3"], "rounds must be even"),
        (["compare", "", "b"], "a command is empty"),
        (["compare", "python 'it", "b"], "python 'it\" cannot be read: No closing quotation"),
        (["gate", "echo a | cat", "b"], "'echo a | cat' has |, for a shell: write sh -c '…'"),
        (["gate", python(""), python(""), "--most", "35"], "--most must be even, not 35"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(names, capsys, arguments, sentence):
    assert main(names, {}, arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("my_profiler.py: ") and sentence in said and said.count("\n") == 1


def test_too_few_rounds_are_the_students_own_sentence(names, monkeypatch, capsys):
    assert main(names, {}, ["gate", *scripted(monkeypatch, [1.0] * 4, [2.0] * 4)]) == 2
    assert "too few" in capsys.readouterr().err


def test_versions_must_be_two(names, capsys):
    for command in ("compare", "gate"):
        with pytest.raises(SystemExit) as stopped:
            main(names, {}, [command, "a"])
        assert stopped.value.code == 2 and "required: AFTER" in capsys.readouterr().err


def test_an_exercise_that_lacks_is_named(names, capsys):
    assert main({"__file__": "bob.py"}, {}, ["gate", "a", "b"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("bob.py still lacks run_order (08_benchmarking), ")
    assert main(names, {"gate": "08_benchmarking"}, ["gate", "a", "b"]) == 2
    assert "still lacks gate (08_benchmarking)" in capsys.readouterr().err


def test_what_is_needed_is_an_exercise(names):
    for name, lesson in NEEDED_TO_COMPARE.items():
        text = (ROOT / "modules" / lesson / f"{lesson}.py").read_text(encoding="utf-8")
        assert f"\ndef {name}(" in text


@pytest.mark.whole
def test_the_assembled_file_gates(tmp_path):
    file = tmp_path / "my_profiler.py"
    assert proflab(["assemble", str(ROOT / "modules"), "-o", str(file), "--standalone"]) == 0
    commands = [python("pass"), python("import time; time.sleep(0.2)")]
    command = [sys.executable, "-I", file, "gate", *commands, "--json", "--rounds", "6"]
    ran = subprocess.run([*command, "--most", "6"], cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    assert ran.stderr == "" and found["before_ms"] < found["after_ms"]
    assert ran.returncode == (found["verdict"] == "slower")


@pytest.mark.parametrize("slowdown, least, most", [(1.0, 0, 13), (1.15, 170, 200)])
def test_the_gate_keeps_its_promises_over_200_repetitions(names, slowdown, least, most):
    """Noise of 6 %, and a load common to both that changes from round to round.

    Of 200 gates on equal programs at most 5 % may ring falsely in one direction or the other, so
    2.5 % say "slower": more than 13 has a probability below 1 in 1,000.
    """
    rng, stopped = np.random.default_rng(5), 0
    for _ in range(200):
        load = np.exp(rng.normal(0, 0.5, 12))
        before, after = (100 * load * np.exp(rng.normal(0, 0.06, (2, 12)))).tolist()
        after = [ms * slowdown for ms in after]
        stopped += names["gate"](before, after, 0.02) == "slower"
    assert least <= stopped <= most, stopped
