"""The benchmarks' account of CPU time holds what nobody waits for, and nothing of others."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from imports import ROOT

# A grandchild computes for as long as it takes; its parent ends at once and waits for nobody.
ORPHAN = """
import os, time
if os.fork() == 0:
    os.setsid()
    while time.process_time() < 0.5:
        pass
    os._exit(0)
os._exit(0)
"""
BUSY = "while True: pass"
ONE = """
import contextlib, os, sys
from pathlib import Path
import account
if sys.argv[1] == "subreaper":
    account._MOUNTS = ()
run = account.run([sys.executable, "-c", sys.argv[2]], Path("/"), os.environ, watched=False)
print(run.cpu)
"""


@contextlib.contextmanager
def a_busy_machine():
    """Within, a process that does not belong to the account computes."""
    other = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        yield
    finally:
        other.kill()
        other.wait()


@pytest.mark.whole
@pytest.mark.skipif(sys.platform != "linux", reason="cgroups and subreapers are Linux's")
@pytest.mark.parametrize("way", ["cgroup", "subreaper"])
def test_an_orphan_is_counted_and_a_neighbour_is_not(way):
    words = [sys.executable, "-c", ONE, way, ORPHAN]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "benchmarks")}
    with a_busy_machine():
        told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert 0.5 <= float(told.stdout) < 1.0


def test_a_program_that_fails_ends_the_benchmark_with_what_it_said(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import account

    with pytest.raises(SystemExit, match="no such luck"):
        account.run([sys.executable, "-c", "raise OSError('no such luck')"], Path("/"), os.environ)
