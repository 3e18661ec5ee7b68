"""What of ours a student's process can read: `proflab`, the programs in inside/, nothing else.

A grader of its own works with a copy of all packages, into each folder of which a secret was put.
"""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from imports import ROOT
from sandboxes import needs_sandbox

from proflab_course.grading.run import bubblewrap

PACKAGES = sorted(path.parent.name for path in ROOT.glob("proflab*/__init__.py"))
SECRET = "# the canary of {}\nvalue = 918273645\n"
PLANTED = "planted_by_the_test.py"
# A student's code: it looks at every file, whatever it is called, and tries to import the secrets.
STUDENT = """
import importlib, json, os, sys

def canaries(start):
    for parent, folders, names in os.walk(start):
        folders[:] = [f for f in folders if os.path.join(parent, f) not in ("/proc", "/sys")]
        for name in names:
            path = os.path.join(parent, name)
            try:
                if os.path.isfile(path) and os.path.getsize(path) < 200:
                    text = open(path, "rb").read().decode("latin-1")
                    if "the canary " + "of " in text:
                        yield text.split()[4]
            except OSError:
                pass

found = {}
for start in ("/", "/proc/self/root", "/proc/1/root", "/proc/1/cwd", REAL):
    found[start] = sorted(set(canaries(start)))
imported = []
sys.path += [REAL]
for module in MODULES:
    try:
        imported.append((module, importlib.import_module(module).value))
    except ImportError:
        pass
print(json.dumps([found, imported]))
"""
GRADER = """
import sys
from pathlib import Path
import proflab_course
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner
assert Path(proflab_course.__file__).is_relative_to(sys.argv[1]), proflab_course.__file__
with SandboxRunner(Limits(cell_seconds=120, notebook_seconds=300)) as runner:
    result = runner.run(Submission("x"), (RunCell(sys.stdin.read()),))
print(result.replies[0][0].outputs[0]["text"] if result.status == "finished" else result)
"""


def folders(package: Path) -> list[Path]:
    """Return a package's folder and all below it, but caches."""
    every = [package, *(p for p in package.rglob("*") if p.is_dir())]
    return [folder for folder in every if "__pycache__" not in folder.parts]


@pytest.mark.whole
@needs_sandbox
@pytest.mark.parametrize(
    "site", ["checkout", pytest.param("site-packages", marks=pytest.mark.soak)]
)
def test_a_new_file_of_the_instructors_package_is_not_in_the_sandbox(tmp_path, site):
    place = tmp_path / site
    for name in PACKAGES:
        # With what is compiled, or that takes seconds; but not what another process compiles now.
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    secrets = [folder.relative_to(place) for name in PACKAGES for folder in folders(place / name)]
    for folder in secrets:
        (place / folder / PLANTED).write_text(SECRET.format(folder))
    modules = [".".join((*folder.parts, PLANTED[:-3])) for folder in secrets]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(GRADER), place],
        input=f"REAL = {str(place)!r}\nMODULES = {modules!r}\n{STUDENT}",
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found, imported = json.loads(done.stdout)
    inside = Path("proflab_course/grading/inside")
    allowed = {str(f) for f in secrets if f.parts[0] == "proflab" or f.is_relative_to(inside)}
    assert len(secrets) - len(allowed) >= 9
    assert set(found["/"]) == allowed  # what may be seen is seen: the search works
    assert not set().union(*found.values()) - allowed
    assert not found[str(place)]
    own = {module.split(".")[0] for module, _ in imported}
    assert own == {"proflab"} and all(value == 918273645 for _, value in imported)


def test_what_is_bound_is_the_package_and_the_one_folder():
    sources = [source for source, _ in bubblewrap.package_binds()]
    assert sources == [str(ROOT / "proflab"), str(ROOT / "proflab_course/grading/inside")]


def test_in_site_packages_every_package_is_covered(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    for name in PACKAGES:
        (site / name).mkdir(parents=True)
    (site / "proflab-1.2.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(site), str(tmp_path)])
    assert bubblewrap.installed_packages() == [str(site / name) for name in PACKAGES]
    after = bubblewrap.make_view(bubblewrap.Limits(), True, 3).after
    for name in PACKAGES:
        at = after.index(str(site / name))
        assert after[at - 1 : at + 3] == ["--tmpfs", str(site / name), "--remount-ro", after[at]]


def test_the_programs_inside_import_nothing_of_the_instructors():
    for path in (ROOT / "proflab_course/grading/inside").glob("*.py"):
        assert "import proflab_course" not in path.read_text(), path
        assert "from proflab_course" not in path.read_text(), path
