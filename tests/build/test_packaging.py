"""The package, its pins and the commands of the Makefile, as a newcomer meets them."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BIN = Path(sys.executable).parent
PACKAGES = ("proflab", "proflab_course", "proflab_classroom")


def pins(name: str) -> dict[str, str]:
    """The lines of a requirements file: normal name and version."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    pairs = [re.fullmatch(r"([\w.-]+)==([\w.]+)( ;.*)?", line) for line in lines]
    assert all(pairs), [line for line, pair in zip(lines, pairs, strict=True) if not pair]
    return {normal(pair[1]): pair[2] for pair in pairs}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: list[str]) -> set[str]:
    """The names in a list of requirements."""
    return {normal(re.match(r"[\w.-]+", line)[0]) for line in requirements}


def needed_imports(path: Path) -> set[str]:
    """Return the top names that a file imports, but where it says what to do without them."""
    tree = ast.parse(path.read_text())
    tried = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    optional = {inner for node in tried for line in node.body for inner in ast.walk(line)}
    found = set()
    for node in set(ast.walk(tree)) - optional:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return {name.split(".")[0] for name in found}


@pytest.mark.whole
@pytest.mark.parametrize("package", PACKAGES)
def test_everything_that_is_imported_is_declared(package):
    """A student's package needs the dependencies alone; the instructor's has its extras, too."""
    extras = PROJECT["optional-dependencies"]
    declared = required(PROJECT["dependencies"])
    if package != "proflab":
        declared |= required(extras["instructor"])
    ours = {*PACKAGES, "proflab_grader"}  # the last is made in a student's process
    ours |= {path.stem for path in (ROOT / "proflab_course/grading/inside").glob("*.py")}
    distributions = metadata.packages_distributions()
    seen = set()
    for path in sorted((ROOT / package).rglob("*.py")):
        more = required(extras["cluster"]) if path.stem == "cluster" else set()
        if path.name == "torch_ops.py":  # only a table of a program of torch asks for it
            more = {"torch"}
        for name in needed_imports(path) - ours - sys.stdlib_module_names:
            names = {normal(found) for found in distributions.get(name, [name])}
            assert names & (declared | more), f"{path.relative_to(ROOT)} imports {name}"
            seen |= names
    assert len(seen) >= 2


def test_an_import_is_seen_wherever_it_stands_but_not_what_can_be_gone_without(tmp_path):
    path = tmp_path / "x.py"
    path.write_text(
        "import a.b\ndef f():\n    from c.d import e\n    try:\n        import g\n"
        "    except ImportError:\n        import h\n"
    )
    assert needed_imports(path) == {"a", "c", "h"}


def test_everything_that_the_project_asks_for_is_pinned():
    extras = PROJECT["optional-dependencies"]
    wanted = required(PROJECT["dependencies"]).union(*map(required, extras.values()))
    assert wanted <= pins("requirements.txt").keys()


def test_pins_are_complete():
    """What a pinned package needs here is pinned, too, so that a set-up next year is the same."""
    pinned = pins("requirements.txt")
    for name in pinned:
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            pytest.skip(f"{name} is not installed: this is not the environment of `make setup`")
        always = [line for line in needs if ";" not in line]
        assert required(always) <= pinned.keys(), name


def test_students_get_the_same_versions_as_the_instructor():
    all_pins = pins("requirements.txt")
    for name, version in pins("binder/requirements.txt").items():
        assert all_pins[name] == version
    assert required(PROJECT["dependencies"]) <= pins("binder/requirements.txt").keys()


def test_no_pinned_package_is_torch():
    assert not {"torch", "triton"} & set(pins("requirements.txt"))


def test_make_test_torch_runs_what_is_skipped_without_torch():
    """And installs the version that the recorded values of torch are of."""
    skipping = re.compile(r"""importorskip\("torch"|find_spec\("torch"\) is None""")
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    found = [path for path in files if skipping.search(path.read_text(encoding="utf-8"))]
    assert len(found) >= 3
    assert [path for path in found if "mark.torch" not in path.read_text(encoding="utf-8")] == []
    [version] = re.findall(r"^torch=([\d.]+)$", (ROOT / ".ci/test-torch").read_text(), re.MULTILINE)
    assert f"torch {version}" in (ROOT / "tests/data/record_torch.py").read_text()


@pytest.mark.whole
def test_the_wheel_holds_the_package_and_its_templates_and_nothing_else(tmp_path):
    copy = tmp_path / "copy"
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=left_out)
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    environment = os.environ | {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    subprocess.run([*command, "-w", tmp_path, copy], check=True, env=environment)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name == f"proflab-{PROJECT['version']}-py3-none-any.whl"
    held = {Path(n) for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    kept = (".py", ".pyi", ".typed", ".html", ".css", ".js", ".j2", ".json", ".npz", ".toml")
    there = (path for name in PACKAGES for path in (copy / name).rglob("*"))
    files = {path.relative_to(copy) for path in there if path.suffix in kept}
    assert held == files


def test_the_command_is_installed_and_lists_its_subcommands():
    answer = subprocess.run([BIN / "proflab", "--help"], capture_output=True, text=True)
    assert answer.returncode == 0
    for command in ("build", "assemble", "grade", "report", "doctor"):
        assert f"proflab {command} " in answer.stdout


def make(*arguments: str) -> subprocess.CompletedProcess:
    """`make`, outside of the make that may be running these tests."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_make_alone_shows_every_target():
    answer = make()
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == make("help").stdout
    shown = set(re.findall(r"^  make ([\w-]+)", answer.stdout, re.MULTILINE))
    phony = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert shown == set(phony.split()) - {"FORCE"}


def write_command(path: Path, script: str) -> None:
    """Put a program of our own in the place of one of the system's."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_the_environment_script_says_what_to_do_without_a_usable_python(tmp_path):
    write_command(tmp_path / "apt-get", "exit 100")  # nothing is to be installed by a test
    answer = subprocess.run(
        [ROOT / ".ci/environment", tmp_path / "venv", "no-such-python"],
        cwd=ROOT,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "CI": "true"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1
    assert "no-such-python is no Python that starts here" in answer.stderr
    assert not (tmp_path / "venv").exists()


def test_ci_runs_all_tests_and_fails_where_one_part_does(tmp_path):
    for status in (0, 3):
        write_command(tmp_path / "make", f'echo "make $@ in $PWD"; exit {status}')
        answer = subprocess.run(
            [ROOT / ".ci/run"],
            cwd=tmp_path,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        parts = [f"make {part} in {ROOT}\n" for part in ("test", "test-rest")]
        assert (answer.returncode, answer.stdout) == (int(status > 0), "".join(parts))
