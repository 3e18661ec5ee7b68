"""The corpus of attacks where a layer of isolation is missing, or where others execute it.

`MODES` says for each mode which attacks then get further than they should. As a program, with the
names of attacks as arguments (none: all), it runs them as the user that it is and prints JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from attacked import LIMITS, Surroundings, findings, left_processes, plan_for
from cohort.attacks import ATTACKS

from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Runner
from proflab_course.grading.run import bubblewrap
from proflab_course.grading.run import zygote_client as warm
from proflab_course.grading.run.cgroups import Group
from proflab_course.grading.run.cluster import ClusterRunner
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.seccomp import SeccompMissing

Findings = dict[str, list[str]]
MakeRunner = Callable[[Limits], Runner]
ROOT = Path(__file__).resolve().parents[2]
# What `make test` runs in every mode, beside those that get further: one of each kind.
SAMPLE = (
    "writing outside",
    "notes for the next student",
    "files as notes for the next hidden block",
    "the channel's methods replaced",
    "buffers of sockets",
)


@dataclass(frozen=True)
class Mode:
    """How attacks are run in a mode, and the names of those that then get further.

    row: of the table of layers in docs/security.md, as its first column names it.
    """

    run: Callable[[list[str]], Findings]
    row: str = ""
    further: tuple[str, ...] = ()


def run_attacks(names: list[str], make: MakeRunner) -> Findings:
    """Run these attacks, each with a runner for its limits: what each had; empty for nothing."""
    runners: dict[str, Runner] = {}
    found: Findings = {}
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        os.environ["PROFLAB_CANARY"] = "canary-of-environment"
        stack.callback(os.environ.pop, "PROFLAB_CANARY")
        surroundings = Surroundings(Path(place))
        stack.callback(surroundings.close)
        for attack in ATTACKS:
            if attack.name not in names:
                continue
            if attack.runner not in runners:
                runners[attack.runner] = make(LIMITS[attack.runner])
                stack.callback(runners[attack.runner].close)
            plan = plan_for(surroundings, attack.cells, attack.after, attack.late)
            result = runners[attack.runner].run(surroundings.submission(attack), plan)
            found[attack.name] = findings(attack, result, surroundings)
            found[attack.name] += left_processes(runners[attack.runner])
    return found


def whole(names: list[str]) -> Findings:
    """With every layer that this machine has."""
    return run_attacks(names, SandboxRunner)


def without_nesting(names: list[str]) -> Findings:
    """Each session in a bubblewrap of its own."""
    return run_attacks(names, lambda limits: SandboxRunner(limits, nested=False))


def without_landlock(names: list[str]) -> Findings:
    """As on a kernel that does not know Landlock."""
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.object(bubblewrap, "package_binds", older_kernel(Path(place))),
    ):
        return whole(names)


def older_kernel(place: Path) -> Callable[[], list[tuple[str, str]]]:
    """Return the package's binds with another confine.py, to which the kernel has no Landlock."""
    place.chmod(0o755)
    binds, real = bubblewrap.package_binds(), bubblewrap.INSIDE
    older = shutil.copytree(real, place / "inside")
    with (older / "confine.py").open("a") as confine:
        confine.write("\n\ndef landlock_abi() -> int:\n    return 0\n")
    return lambda: [(str(older) if s == str(real) else s, target) for s, target in binds]


def without_seccomp(names: list[str]) -> Findings:
    """As where libseccomp is not installed."""
    missing = mock.Mock(side_effect=SeccompMissing("libseccomp is not installed"))
    with mock.patch.object(warm, "seccomp_program", missing):
        return whole(names)


def without_cgroups(names: list[str]) -> Findings:
    """As where no memory cgroup can be had."""
    with mock.patch.object(Group, "make", classmethod(lambda cls, name: None)):
        return whole(names)


def _closed_parent(path: Path) -> Path | None:
    """Return the topmost folder above `path` that other users cannot enter, if there is one."""
    return next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)


def as_ordinary_user(arguments: list[str], place: Path) -> subprocess.CompletedProcess:
    """Run this Python with arguments as user 12345; needs root, and an empty folder `place`."""
    drop = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
    # This Python or the repository may lie where another user cannot enter: bind them in for them.
    wanted = [Path(sys.base_prefix), Path(sys.prefix), Path(__file__).parents[2]]
    closed = {path: _closed_parent(path) for path in wanted if _closed_parent(path)}
    stands = {path: shlex.quote(f"{place}/{n}") for n, path in enumerate(closed)}
    lines = [f"mkdir {s}\nmount --rbind {shlex.quote(str(p))} {s}" for p, s in stands.items()]
    for cover in dict.fromkeys(closed.values()):
        lines.append(f"mount -t tmpfs -o mode=755 none {shlex.quote(str(cover))}")
    for path, stand in stands.items():
        there = shlex.quote(str(path))
        lines.append(f"mkdir -p {there}\nmount --rbind {stand} {there}")
    script = "\n".join([*lines, 'exec "$@"'])
    command = ["unshare", "--mount", "sh", "-ec", script, "sh", *drop, sys.executable]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, cwd="/", env=env)


def ordinary_user(names: list[str]) -> Findings:
    """As whoever is not root: without cgroups, and each session is the grader's own user's."""
    with tempfile.TemporaryDirectory() as place:
        done = as_ordinary_user([str(Path(__file__)), *names], Path(place))
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def through_dask(names: list[str]) -> Findings:
    """On a worker of a cluster."""
    from dask_clusters import local_cluster

    with local_cluster(processes=True) as cluster:
        address = cluster.scheduler_address
        return run_attacks(names, lambda limits: ClusterRunner(address, limits=limits))


WITHOUT_SECCOMP = (
    "a larger share of the processors",
    "a namespace by clone",
    "asking about mounts, modules and other processes",
    "asking which pages are in memory",
    "changing what is mounted",
    "children for which nobody waits",
    "children for which nobody waits, of an orphan",
    "doors of the kernel",
    "evicting pages of shared libraries",
    "locks on files that all see",
    "memory and notes that no limit counts",
    "sockets of every family",
    "system calls by the processor's other ABIs",
    "watching what others open",
)
MODES = {
    "without nesting": Mode(
        without_nesting, "nested namespaces", ("counts of the whole machine", "inodes")
    ),
    "without Landlock": Mode(
        without_landlock, "Landlock", ("another process first when memory runs out",)
    ),
    "without seccomp": Mode(without_seccomp, "seccomp", WITHOUT_SECCOMP),
    "without cgroups": Mode(without_cgroups, "memory cgroups (not root, or only version 1)"),
    "as an ordinary user": Mode(ordinary_user),
    "through Dask": Mode(through_dask),
}


WORSE = ("it passed", "it changed", "it called", "it brought back 'canary")


def got_further(found: Findings) -> dict[str, list[str]]:
    """Those of the attacks that had something: in no mode a case, a secret or a change."""
    assert not [s for had in found.values() for s in had if s.startswith(WORSE)], found
    return {name: had for name, had in found.items() if had}


if __name__ == "__main__":
    wanted = sys.argv[1:] or [attack.name for attack in ATTACKS]
    print(json.dumps(whole(wanted)))
