"""The students' part on a system that lacks what Unix alone has, and whose text is not UTF-8.

The modules and functions that Python has on Unix only are taken away as soon as a process imports
proflab, in the command's process and in the notebook's kernel. A text file that is opened without
an encoding is an error, and output is encoded in code page 1252. What is run is `.ci/students`,
which continuous integration runs on Windows and macOS.
"""

import os
import subprocess
import sys

import pytest
from clones import ROOT

pytestmark = pytest.mark.whole("lesson/test_standalone.py")

# What a library imports late is imported first: libraries look at the real system, and may. What a
# kernel and its client take, two seconds of imports, is for them alone.
HIDING = r'''
import importlib.abc, sys, warnings

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty", "syslog", "curses")
OF_OS = """
    RWF_NOWAIT chown fchmod fork forkpty getegid geteuid getgid getloadavg getpgid getpriority
    getuid killpg memfd_create mkfifo nice pipe2 posix_fadvise preadv pwritev sched_getaffinity
    sched_setaffinity sendfile setsid statvfs sync sysconf uname wait3 wait4
""".split()
OF_TIME = """
    CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_REALTIME CLOCK_THREAD_CPUTIME_ID clock_getres
    clock_gettime clock_gettime_ns clock_settime pthread_getcpuclockid tzset
""".split()
OF_SIGNAL = """
    SIGALRM SIGCHLD SIGCONT SIGKILL SIGPROF SIGSTOP SIGUSR1 alarm getitimer pthread_kill
    pthread_sigmask setitimer sigwait
""".split()


class Windows(importlib.abc.MetaPathFinder):
    """Hide what Windows has not when proflab is first imported."""

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("proflab", "proflab_course"):
            sys.meta_path.remove(self)
            hide()
        return None


def hide():
    sys.modules["rfc3987_syntax"] = None  # as proflab_course does, but before nbclient
    import asyncio, multiprocessing.context, os, pathlib, signal, subprocess, tempfile, time
    kernel = ("ipykernel.kernelapp", "nbclient", "matplotlib.pyplot",
              "matplotlib_inline.backend_inline", "tornado.ioloop")
    runs_cells = any("ipykernel" in word or word == "check" for word in sys.orig_argv)
    for late in ("numpy", "psutil", "tqdm", "threadpoolctl", *(kernel if runs_cells else ())):
        try:
            __import__(late)
        except ImportError:
            pass
    for module in MODULES:
        sys.modules[module] = None
    for module, names in ((os, OF_OS), (time, OF_TIME), (signal, OF_SIGNAL)):
        for name in names:
            vars(module).pop(name, None)
    ours = r"proflab|proflab_course|__main__|demos|built|mine"
    warnings.filterwarnings("error", "", EncodingWarning, rf"({ours})(\.|$)")


sys.meta_path.insert(0, Windows())
'''


def run(place, *words: str) -> str:
    """Run a program as on Windows, with what hides Unix in `place`; return what it printed."""
    (place / "sitecustomize.py").write_text(HIDING, encoding="utf-8")
    windows = {
        "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)]),
        "PYTHONWARNDEFAULTENCODING": "1",
        "PYTHONIOENCODING": "cp1252",
    }
    done = subprocess.run(
        [sys.executable, *words], cwd=place, env=os.environ | windows, capture_output=True
    )
    out, err = done.stdout.decode("cp1252"), done.stderr.decode("cp1252")
    assert done.returncode == 0, out + err
    return out


def test_what_is_hidden_is_hidden(tmp_path):
    see = "import proflab.lesson, os, sys; print(hasattr(os, 'fork'), sys.modules['resource'])"
    assert run(tmp_path, "-c", see).split() == ["False", "None"]
    unencoded = "import proflab\ntry: open('made', 'w')\nexcept EncodingWarning: print('refused')"
    assert run(tmp_path, "-c", unencoded).split() == ["refused"]


def test_a_lesson_is_checked_and_run_and_all_are_assembled_into_a_profiler(tmp_path):
    out = run(tmp_path, str(ROOT / ".ci/students"), "03")  # it has the scripted clock
    assert out.count("So far 100 of 100 points by the visible checks.") == 1
    assert out.count("Run All: ") == 1 and out.count("my_profiler.py lenet5") == 2
