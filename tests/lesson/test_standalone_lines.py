"""The profiler in one file says which lines of a program take its time, and pins BLAS's threads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from assembled import course_profiler
from cohort.run import solved

from proflab.standalone import main, pinned
from proflab.standalone.lines import _doubts

PROGRAM = """\
import json, sys, time

def squares(n):
    return sum(i * i for i in range(n))

print(sys.argv[1:])
squares(1_500_000)
json.dumps([1.5] * 600_000)
time.sleep(0.1)
sys.exit(3)
"""
ROW = re.compile(r"^prog\.py line (\d+) +(\S+) +(\S+)% +(\S+)  +(.+)$", re.M)


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "prog.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def names():
    return solved("lesson_05").scope | {"__file__": "my_profiler.py"}


def test_a_programs_lines_have_their_time_and_it_runs_unchanged(names, program, capsys):
    argv, path = sys.argv, sys.path[:]
    assert main(names, {}, ["lines", "prog.py", "--fast", "7"]) == 3
    assert (sys.argv, sys.path) == (argv, path)
    said = capsys.readouterr().out
    assert said.startswith("['--fast', '7']\n")
    rows = {int(line): (float(share), code) for line, _, share, _, code in ROW.findall(said)}
    assert rows[9][1] == "time.sleep(0.1)" and {4, 8, 9} <= set(rows)
    assert sum(share for share, _ in rows.values()) > 90
    cpu = {int(line): float(cpu.replace(",", "")) for line, _, _, cpu, _ in ROW.findall(said)}
    assert cpu[9] < 0.5 * min(cpu[4], cpu[8])  # what sleeps takes no processor
    assert "it waited" in said and "pyinstrument" in said and "scalene" in said


def test_json_is_time_of_the_line_that_calls_it(program, once):
    """No file of Python's own is in the table, nor one of this project.

    In a process of its own: other tests leave hooks in this one, and their lines are theirs.
    """
    command = [sys.executable, course_profiler(once), "lines", "prog.py"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert set(re.findall(r"^(\S+\.py) line", ran.stdout, re.M)) == {"prog.py"}


@pytest.mark.parametrize(
    "text, status, out, err",
    [
        ("raise KeyError('weights')", 1, "it ended before|line 1|outside", "KeyError: 'weights'\n"),
        ("import sys; sys.exit('no data')", 1, "", "no data\n"),
        ("raise SystemExit(['no', 'data'])", 1, "", "['no', 'data']\n"),
        ("import io, sys\nsys.stdout = io.StringIO()", 0, "matrix products on 1 thread", ""),
        ("x = (1,", 1, "it ended before|outside", "prog.py\", line 1\n    x = (1,\n"),
        ("sum(range(10**6))\nraise KeyboardInterrupt", 130, "line 1", "KeyboardInterrupt\n"),
        ("import threading\nend = threading.Event()\nthreading.Thread(target=end.wait).start()\n"
         "sum(range(2_000_000))\nend.set()", 0, "it has other threads: their CPU time", ""),
    ],
)  # fmt: skip
def test_a_program_that_ends_otherwise(names, program, capsys, text, status, out, err):
    Path("prog.py").write_text(text)
    assert main(names, {}, ["lines", "prog.py"]) == status
    said = capsys.readouterr()
    assert re.search(out, said.out) and err in said.err
    assert "standalone" not in said.err  # a traceback has the program's own lines


def test_a_program_finds_itself_from_any_folder(names, program, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    text = "import os, __main__\nos.chdir('there')\nsum(range(2_000_000))\nopen(__file__).close()"
    Path("prog.py").write_text(f"{text}\nassert __main__.os is os")
    assert main(names, {}, ["lines", "prog.py"]) == 0
    assert re.search(r"^prog.py line 3 .+  sum\(range", capsys.readouterr().out, re.M)


def test_lines_of_files_of_one_name_stay_apart(names, program, tmp_path, capsys):
    for folder in "ab", "site-packages/c":
        (tmp_path / folder).mkdir(parents=True)
        text = "def f():\n    return sum(range(3_000_000))"
        (tmp_path / folder / "__init__.py").write_text(text)
    Path("prog.py").write_text(
        "import sys\nsys.path.append('site-packages')\nimport ab, c\nab.f()\nc.f()"
    )
    assert main(names, {}, ["lines", "prog.py"]) == 0
    places = re.findall(r"^(\S+\.py line \d) .+(?:sum|c\.f)", capsys.readouterr().out, re.M)
    assert set(places) == {"ab/__init__.py line 2", "prog.py line 5"}


@pytest.mark.parametrize("call", ["alarm(9)", "setitimer(signal.ITIMER_REAL, 9)"])
def test_a_program_that_takes_the_timer_gets_it(names, program, capsys, call):
    text = "import signal, time\nsum(range(2_000_000))\nbefore = signal.{}\nassert before in (0, ("
    text += (
        "0, 0))\nheard = []\nassert not signal.signal(signal.SIGALRM, lambda *x: heard.append(x))"
    )
    text += "\ntime.sleep(0.02)\nassert not heard"
    Path("prog.py").write_text(text.format(call))
    functions, handler = vars(signal).copy(), signal.getsignal(signal.SIGALRM)
    assert main(names, {}, ["lines", "prog.py"]) == 0
    said = capsys.readouterr().out
    assert "prog.py line 2" in said and "it uses the system's timer or signals itself" in said
    assert vars(signal) == functions and signal.getsignal(signal.SIGALRM) == handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_alarm_that_still_waits_at_the_end_ends_nothing(names, program):
    """As on a busy machine, where another thread is to take it: here the program blocks it."""
    text = "signal.pthread_sigmask(signal.SIG_{}, [signal.SIGALRM])"
    Path("prog.py").write_text(f"import signal, time\n{text.format('BLOCK')}\ntime.sleep(0.05)")
    code = "import signal\nfrom proflab.standalone import main\n"
    code += "main({'top_operations': lambda rows, n: []}, {}, ['lines', 'prog.py'])\n"
    ran = subprocess.run([sys.executable, "-c", code + text.format("UNBLOCK")])
    assert ran.returncode == 0


@pytest.mark.parametrize("end", ["os._exit(0)", "os.execv('/bin/true', ['true'])", "sys.exit()"])
def test_a_process_that_the_program_forks_reports_nothing(names, program, end):
    """In a process of its own, for it would be the tests that are forked."""
    text = f"import os, sys, time\nif not os.fork():\n    {end}\nassert os.wait()[1] == 0"
    Path("prog.py").write_text(text)
    code = "import sys\nfrom proflab.standalone import main\n"
    code += "sys.exit(main({'top_operations': lambda rows, n: []}, {}, ['lines', 'prog.py']))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr, ran.stdout.count(", one a ms")) == (0, "", 1)


@pytest.mark.parametrize(
    "call, status, why",
    [
        ("os._exit(7)", 7, "it ended itself by os._exit"),
        ("os.execlp('true', 'true')", 0, "it became another program by exec"),
        ("sys.stdout = io.StringIO()\nos._exit(0)", 0, "it ended itself by os._exit"),
        # nothing of that name is in any folder of PATH, and the program goes on
        ("try:\n    os.execlp('none', 'it')\nexcept OSError:\n    os._exit(5)", 5, "by os._exit"),
        # as a watchdog does, in a thread of its own
        ("threading.Timer(0, os._exit, [7]).start()\ntime.sleep(60)", 7, "by os._exit"),
    ],
)
def test_a_program_that_leaves_python_has_lines_before_it_does(names, program, call, status, why):
    begun = "import io, os, sys, threading, time\nprint('begun')\nsum(range(4_000_000))"
    Path("prog.py").write_text(f"{begun}\n{call}")
    code = "import sys\nfrom proflab.standalone import main\n"
    code += "top = lambda rows, n: [{'name': r['op'], 'ms': 1, 'share': 1} for r in rows]\n"
    code += "sys.exit(main({'top_operations': top}, {}, ['lines', 'prog.py']))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (status, "")
    assert ran.stdout.startswith("begun\n") and "prog.py line 3" in ran.stdout
    assert ran.stdout.count(f"{why}: no line has what came later") == 1


def test_an_output_that_the_program_closes_is_said(names, program):
    Path("prog.py").write_text("import sys\nsys.stdout.close()")
    code = "from proflab.standalone import main\n"
    code += "main({'top_operations': None}, {}, ['lines', 'prog.py'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "prog.py closes sys.stdout: nothing can be printed there\n" in ran.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_ends_it_without_a_word(names, program, once, unbuffered):
    """As of `| head`; the exit status is the one of a command that the signal has ended."""
    Path("flood.py").write_text("for n in range(100_000):\n    print(n)")
    Path("exit.py").write_text("import os\nos._exit(0)")
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    for words in "lines prog.py", "lines flood.py", "lines exit.py", "lines --help", "trace --help":
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, course_profiler(once), *words.split()]
        with open(writing) as output:
            ran = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.PIPE)
        assert (ran.returncode, ran.stderr) == (-signal.SIGPIPE, b""), words


def test_an_output_of_few_signs_has_the_table_and_the_programs_own_error(names, program):
    """As of a pipe on Windows, which lacks arrows: what the program may print stays as it is."""
    Path("prog.py").write_text("sum(range(4_000_000))" + " # so long" * 9 + "\nprint('\\u2190')")
    code = "import sys\nfrom proflab.standalone import main\n"
    code += "top = lambda rows, n: [{'name': r['op'], 'ms': 1, 'share': 1} for r in rows]\n"
    code += "sys.exit(main({'top_operations': top}, {}, ['lines', 'prog.py']))"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1 and "UnicodeEncodeError" in ran.stderr
    assert re.search(r"^prog\.py line 1 .+ # so long #.*\?$", ran.stdout, re.M)


def test_a_pipe_of_the_programs_own_that_breaks_is_its_error(names, program, capsys):
    text = "import socket\none, other = socket.socketpair()\nother.close()\none.send(b'x')"
    Path("prog.py").write_text(text)
    assert main(names, {}, ["lines", "prog.py"]) == 1
    said = capsys.readouterr()
    assert "BrokenPipeError" in said.err and "matrix products on" in said.out
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN


def test_one_sample_is_no_samples(names):
    sampler = SimpleNamespace(samples=1, given_up_for="", most_threads=1)
    assert _doubts(sampler, 1, 1) == ["\n1 sample, one a ms where nothing held it up"]
    sampler.samples = 1000
    assert _doubts(sampler, 1, 1) == ["\n1,000 samples, one a ms where nothing held it up"]


def test_what_is_no_program_is_refused(names, program, capsys):
    assert main(names, {}, ["lines", "none.py"]) == 2
    assert "none.py is no file: give the program to run" in capsys.readouterr().err
    Path("prog.ipynb").write_text("{}")
    assert main(names, {}, ["lines", "prog.ipynb"]) == 2
    assert "prog.ipynb is a notebook: make a program of it" in capsys.readouterr().err
    assert main({}, {}, ["lines", "prog.py"]) == 2
    assert "still lacks top_operations (05_profiler)" in capsys.readouterr().err


@pytest.mark.whole
def test_one_thread_is_pinned_before_numpy_where_nothing_sets_it_later(program, once, tmp_path):
    """In a Python that hides threadpoolctl, and an environment that says nothing."""
    file = course_profiler(once)
    Path("prog.py").write_text("import os, json\nprint(json.dumps(dict(os.environ)))")
    hide = tmp_path / "hidden/threadpoolctl.py"
    hide.parent.mkdir()
    hide.write_text("raise ImportError('not here')")
    environment = {k: v for k, v in os.environ.items() if k not in pinned.VARIABLES}
    environment["PYTHONPATH"] = str(hide.parent)
    for words, number in ([], "1"), (["--threads", "2"], "2"):
        command = [sys.executable, file, "lines", *words, "prog.py"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        first, *others = ran.stdout.splitlines()
        seen = json.loads(first)
        assert {seen[name] for name in pinned.VARIABLES} == {number}
        assert f"matrix products on {number} thread" in " ".join(others)


def test_an_own_model_is_not_made_before_the_command_is_started_anew(names, program, monkeypatch):
    monkeypatch.setattr("proflab.standalone.cli.begin_anew", lambda words, threads: 10 + threads)
    Path("net.py").write_text("raise SystemExit('made')")
    assert main(names, {}, ["net.py:small", "--threads", "2"]) == 12


def test_a_signal_that_ends_what_was_started_anew_is_its_status(monkeypatch):
    monkeypatch.setattr(pinned, "blas_threads", lambda: None)
    monkeypatch.setattr(pinned, "threads_here", lambda: None)
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    monkeypatch.setattr(sys, "argv", ["my_profiler.py", "lenet5"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", code])
    assert pinned.begin_anew(["lenet5"], 1) == 128 + signal.SIGTERM


def test_another_program_is_never_started_anew(monkeypatch):
    monkeypatch.setattr(pinned, "blas_threads", lambda: None)
    monkeypatch.setattr(pinned, "threads_here", lambda: None)
    ends = iter([KeyboardInterrupt, 5])  # Ctrl-C goes to both, and the other one ends

    class Started:
        def __init__(self, *words, **options): ...

        def wait(self):
            if (end := next(ends)) is KeyboardInterrupt:
                raise end
            return end

    monkeypatch.setattr(pinned.subprocess, "Popen", Started)
    assert pinned.begin_anew(["lenet5"], 1) is None
    monkeypatch.setattr(sys, "argv", ["my_profiler.py", "lenet5"])
    assert pinned.begin_anew(["lenet5"], 1) == 5
    monkeypatch.setattr(pinned, "threads_here", lambda: 1)
    assert pinned.begin_anew(["lenet5"], 1) is None
