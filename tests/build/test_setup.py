"""What a newcomer's machine must have, what set-up says where it has it not, and what is promised.

Python, pip and apt-get are scripts of ours here: nothing is installed and no network is needed.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3" in line]
MINORS = [int(version.partition(".")[2]) for version in PYTHONS]
TOOLS = "bash cut grep id mkdir rm sed tail touch cat env".split()

# A Python of version $1, whose pip prints what stands in the file `pip` and ends with its status.
PYTHON = """#!/bin/bash
here={here}
if [ "$1" = -V ]; then echo "Python {version}"
elif [ "$1" = -c ] && [[ $2 == *version_info* ]]; then echo "{version}"
elif [ "$1" = -c ]; then [ -e $here/ensurepip ]
elif [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; touch "$3/bin/pip"
    chmod +x "$3/bin/pip"
else echo "$@" >>$here/asked; cat $here/pip >&2; exit $(cat $here/status)
fi
"""


@pytest.fixture
def machine(tmp_path):
    """A folder of commands that stands for a machine: pythons are added by `has_python`."""
    for name in [*TOOLS, "cp", "chmod"]:
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "ensurepip").touch()
    (tmp_path / "pip").write_text("WARNING: a wall\nof text\n")
    (tmp_path / "status").write_text("0")
    return tmp_path


def has_command(machine: Path, name: str, script: str) -> None:
    path = machine / name
    path.unlink(missing_ok=True)
    path.write_text(script)
    path.chmod(0o755)


def has_python(machine: Path, name: str, version: str) -> None:
    has_command(machine, name, PYTHON.format(here=machine, version=version))


def set_up(machine: Path, *asked: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [ROOT / ".ci/environment", machine / "venv", *asked],
        cwd=ROOT,
        env={"PATH": str(machine)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def refused(answer: subprocess.CompletedProcess) -> str:
    """The one sentence with which set-up refused."""
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1 and answer.stderr.endswith(".\n"), answer.stderr
    return answer.stderr


# ── what is promised ─────────────────────────────────────────────────────────────────────────


def pins() -> list[tuple[str, str]]:
    """Name and version of each pin that is meant for this machine."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    here = [each for each in found if not each.marker or each.marker.evaluate()]
    return [(each.name, str(each.specifier).removeprefix("==")) for each in here]


def installed(name: str, version: str) -> metadata.PackageMetadata:
    found = metadata.metadata(name)
    assert found["Version"] == version, f"{name} {version} is pinned: run `make setup`"
    return found


def test_every_pin_installs_on_the_first_release_of_every_promised_python():
    refusing = {
        f"{name}=={version} needs Python {needed}"
        for name, version in pins()
        if (needed := installed(name, version).get("Requires-Python"))
        for minor in MINORS
        if f"3.{minor}.0" not in SpecifierSet(needed)
    }
    assert refusing == set()


def test_what_exists_for_some_systems_only_is_pinned_for_those_alone():
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    asked = [Requirement(line) for lines in lists for line in lines]
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pinned = [Requirement(line) for line in lines if not line.startswith("#")]
    marked = {normal(each.name): str(each.marker) for each in asked if each.marker}
    assert marked == {normal(each.name): str(each.marker) for each in pinned if each.marker}
    assert marked.keys() == {"nvidia-cuda-nvrtc-cu12", "psutil"}


def test_what_a_pin_needs_on_any_promised_python_is_pinned():
    pinned = {normal(name) for name, _ in pins()}
    for name, version in pins():
        for line in installed(name, version).get_all("Requires-Dist") or []:
            needed = Requirement(line)
            for minor in MINORS:
                here = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0"}
                if not needed.marker or needed.marker.evaluate({**here, "extra": ""}):
                    assert normal(needed.name) in pinned, f"{name} on 3.{minor}: {line}"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_students_may_have_any_newer_python():
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert all(f"3.{minor}.0" in allowed for minor in range(MINORS[0], MINORS[-1] + 20))
    assert f"3.{MINORS[0] - 1}.9" not in allowed
    limits = [str(Requirement(line).specifier) for line in PROJECT["dependencies"]]
    assert all(limit.startswith(">=") and "<" not in limit for limit in limits), limits


def test_every_document_promises_the_same_pythons():
    told = {
        "README.md": "Python 3.11, 3.12 or 3.13",
        "docs/instructors.md": "Python 3.13, 3.12 or 3.11",
        "requirements.txt": "Python 3.11, 3.12 and 3.13",
    }
    for name, words in told.items():
        assert sorted(re.findall(r"3\.(\d+)", words)) == [str(minor) for minor in MINORS]
        assert words in (ROOT / name).read_text(), name
    oldest = f"3.{MINORS[0]}"
    assert (ROOT / "binder/runtime.txt").read_text().strip() == f"python-{oldest}"
    assert f"pins: PYTHON ?= python{oldest}\n" in (ROOT / "Makefile").read_text()


def test_the_time_that_is_promised_is_the_same_everywhere():
    for name in (".ci/environment", "README.md", "docs/instructors.md"):
        assert "one to four minutes" in (ROOT / name).read_text(), name


# ── which Python is taken ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("version", ["3.10.13", "3.14.0", "2.7.18"])
def test_a_python_that_is_too_old_or_too_new_is_refused_before_pip_runs(machine, version):
    has_python(machine, "other-python", version)
    sentence = refused(set_up(machine, "other-python"))
    assert "ProfLab needs Python 3.11, 3.12 or 3.13" in sentence
    assert f"other-python is Python {version}" in sentence
    assert "make PYTHON=/path/to/python3 setup" in sentence
    assert not (machine / "venv").exists() and not (machine / "asked").exists()


def test_a_machine_without_python_is_told_what_to_install(machine):
    sentence = refused(set_up(machine))
    assert "none by the name of python3.13, python3.12, python3.11, python3:" in sentence
    assert "apt install python3-venv" in sentence


@pytest.mark.parametrize("minor", MINORS)
def test_the_first_release_of_every_promised_python_is_taken(machine, minor):
    has_python(machine, "python3", f"3.{minor}.0")
    answer = set_up(machine)
    assert answer.returncode == 0, answer.stderr
    assert f"with Python 3.{minor}.0: one to four minutes" in answer.stdout


def test_of_several_the_newest_is_taken_and_what_does_not_work_is_passed_by(machine):
    has_command(machine, "python3.13", "#!/bin/bash\necho 'pyenv: not found' >&2; exit 127\n")
    has_python(machine, "python3.11", "3.11.7")
    has_python(machine, "python3.12", "3.12.1")
    assert "Python 3.12.1" in set_up(machine).stdout


def test_a_python_that_is_named_wrongly_is_refused_before_anything_is_installed(machine):
    has_command(machine, "id", "#!/bin/bash\necho 0\n")
    has_command(machine, "apt-get", f'#!/bin/bash\necho "apt-get $*" >>{machine}/asked\n')
    has_python(machine, "python3", "3.12.3")
    sentence = refused(set_up(machine, "nopython"))
    assert sentence.startswith(
        "nopython is no Python that starts here: name one as in make PYTHON="
    )
    assert not (machine / "asked").exists() and not (machine / "venv").exists()
    has_python(machine, "old-python", "3.8.1")
    assert "old-python is Python 3.8.1" in refused(set_up(machine, "old-python"))
    assert not (machine / "asked").exists()


def test_make_says_one_sentence_about_a_python_that_is_named_wrongly(tmp_path):
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    words = ["make", "-C", str(tmp_path), "PYTHON=nopython", "setup"]
    answer = subprocess.run(words, capture_output=True, text=True)
    first, *rest = answer.stderr.splitlines()
    assert first.startswith("nopython is no Python that starts here")
    assert all(line.startswith("make") for line in rest)


def test_without_ensurepip_the_package_to_install_is_named(machine):
    (machine / "ensurepip").unlink()
    has_python(machine, "python3", "3.12.3")
    sentence = refused(set_up(machine))
    assert sentence.startswith("python3 cannot make environments")
    assert "apt install python3.12-venv" in sentence


def test_as_root_on_debian_what_is_missing_is_installed(machine):
    (machine / "ensurepip").unlink()
    has_python(machine, "python3", "3.11.2")
    has_command(machine, "id", "#!/bin/bash\necho 0\n")
    script = f'#!/bin/bash\necho "apt-get $*" >>{machine}/asked\ntouch {machine}/ensurepip\n'
    has_command(machine, "apt-get", script)
    answer = set_up(machine)
    assert answer.returncode == 0, answer.stderr
    assert "Installing python3.11-venv …" in answer.stdout
    assert " install --no-install-recommends python3.11-venv\n" in (machine / "asked").read_text()


# ── what pip says ────────────────────────────────────────────────────────────────────────────


def test_pips_text_goes_into_the_log_alone(machine):
    has_python(machine, "python3", "3.11.2")
    answer = set_up(machine)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert re.fullmatch(r"Setting up .* …\nSet up in \d+ s\.\n", answer.stdout)
    assert "a wall\nof text" in (machine / "venv/setup.log").read_text()


NOTHING_FOUND = "ERROR: No matching distribution found for soup==4"
FAILURES = {
    NOTHING_FOUND: "No matching distribution found for soup==4",
    "ERROR: Could not install packages: [Errno 28] No space left on device": "the disk is full",
    f"Retrying after NewConnectionError\n{NOTHING_FOUND}": "the package index cannot be reached",
    "Killed": "it ended with an error",
}


@pytest.mark.parametrize("wall", FAILURES)
def test_a_failed_installation_is_one_sentence_with_its_reason_and_the_log(machine, wall):
    has_python(machine, "python3", "3.11.2")
    (machine / "pip").write_text(f"a wall\nof text\n{wall}\n")
    (machine / "status").write_text("1")
    sentence = refused(set_up(machine))
    assert "stopped while pip installed requirements.txt" in sentence
    assert FAILURES[wall] in sentence and f"{machine}/venv/setup.log" in sentence
    assert wall in (machine / "venv/setup.log").read_text()
    (machine / "status").write_text("0")
    assert set_up(machine).returncode == 0


def test_an_environment_of_another_python_is_made_anew(machine):
    has_python(machine, "python3", "3.11.2")
    assert set_up(machine).returncode == 0
    (machine / "venv/old").touch()
    assert set_up(machine).returncode == 0 and (machine / "venv/old").exists()
    has_python(machine, "python3", "3.12.1")
    assert set_up(machine).returncode == 0 and not (machine / "venv/old").exists()


def test_pins_are_made_by_the_oldest_python_only(tmp_path):
    """Its markers hold for the others; a newer one would leave out what only the oldest needs."""
    program = (ROOT / ".ci/pins").read_text().replace("sys.version_info[:2]", "(3, 13)")
    (tmp_path / "pins").write_text(program)
    command = [sys.executable, tmp_path / "pins"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    told = "pins are made on Python 3.11, the oldest: make PYTHON=python3.11 pins\n"
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, "", told)


# ── make demo ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("isolation", [0, 1])
def test_each_stage_of_the_demo_is_announced_before_it_begins(machine, isolation):
    script = f'#!/bin/bash\necho "> $*"; [ "$1" != doctor ] || exit {isolation}\n'
    has_command(machine, "proflab", script)
    answer = subprocess.run(
        [ROOT / ".ci/demo", "01_x"], env={"PATH": str(machine)}, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    for number, command in enumerate(("build 01_x", "doctor", "grade 01_x", "report 01_x"), 1):
        [announced] = (n for n, line in enumerate(lines) if line.startswith(f"── {number} of 4 ·"))
        assert f"proflab {command} (" in lines[announced]
        if command != "doctor":
            assert lines[announced + 1].startswith(f"> {command}")
    assert ("> grade 01_x --no-sandbox" in lines) == bool(isolation)
