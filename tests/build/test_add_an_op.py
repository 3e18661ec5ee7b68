"""The engine's page "How to add an op", followed in a clone and without torch."""

import re
import textwrap

import pytest
from clones import ROOT, clone, run, set_up

pytestmark = pytest.mark.whole("build/test_contributing.py")

SECTION = (ROOT / "docs/engine.md").read_text().split("## How to add an op\n")[1]
[(OPS, OP)] = re.findall(r"^```python add-to=(\S+)\n(.*?)^```$", SECTION, re.M | re.S)
[(CASES, CASE)] = re.findall(r"^```python add-below=(\S+)\n(.*?)^```$", SECTION, re.M | re.S)
[COMMANDS] = re.findall(r"^```sh by-clone\n(.*?)^```$", SECTION, re.M | re.S)
TAPE = "proflab/lesson/race/tape.py"
RIGHT = "grad / np.square(1 + np.abs(input))"
# What takes long and is about no op of one's own; the schema of tapes is in test_race_tapes.py, the
# list of methods and functions in test_tensor_methods.py.
RACES = ["", *"_charges _hints _in_a_notebook _log _memory _pairs _plans _trail".split()]
LONG = (
    "tests/engine/test_nn_training.py",
    "tests/engine/test_tensor_methods.py::test_an_editor_knows_every_method_and_function",
    *(f"tests/lesson/test_race{end}.py" for end in RACES),
    "tests/lesson/test_race_work.py::test_a_log_of_many_long_programs",
    "tests/lesson/test_race_work.py::test_the_work_of_an_op_with_odd_attributes",
    "tests/build/test_contributing.py::test_the_walk",
)
SHORTER = " ".join(f"--deselect {path}" for path in LONG)
USE = """
    from proflab import Tensor, dispatch
    from proflab.nn import functional as F

    x = Tensor([3.0, -1.0], requires_grad=True)
    y = x.softsign()
    assert y.tolist() == F.softsign(x).tolist() == [0.75, -0.5]
    y.sum().backward()
    assert x.grad.tolist() == [1 / 16, 1 / 4]
    assert Tensor.meta((2, 3)).softsign().shape == (2, 3)
    z = Tensor([3.0])
    assert z.softsign_() is z and z.tolist() == [0.75]
    assert dispatch.OPS["softsign"].kind == "activation"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A clone in which the page was followed up to its commands."""
    place = set_up(clone(tmp_path_factory.mktemp("op")))
    ops, cases = place / OPS, place / CASES
    text = ops.read_text()
    assert text.count('"softplus",\n]') == 1
    ops.write_text(text.replace('"softplus",\n]', '"softplus", "softsign",\n]') + "\n\n" + OP)
    [last] = re.findall(r'^unary\("gelu tanh".*\n', cases.read_text(), re.M)
    cases.write_text(cases.read_text().replace(last, last + CASE))
    tape = place / TAPE
    assert tape.read_text().count("relu relu6 silu hardswish ") == 1
    tape.write_text(tape.read_text().replace("relu relu6 silu ", "relu relu6 silu softsign "))
    return place


def test_an_op_that_is_added_as_the_page_says_passes_make_check(place):
    done = run(place, "python", "-c", textwrap.dedent(USE))
    assert done.returncode == 0, done.stdout
    for line in COMMANDS.splitlines():
        done = run(place, *line.split(), PYTEST_ADDOPTS=f"-rs {SHORTER}")
        assert done.returncode == 0, done.stdout
    assert "torch's values of the case 'softsign' are not recorded: where torch is" in done.stdout
    changed = run(place, "git", "status", "--porcelain").stdout.split()[1::2]
    assert sorted(changed) == sorted([OPS, CASES, TAPE, "docs/torch.md", "proflab/tensor.pyi"])


def test_make_check_refuses_an_op_with_a_wrong_sign_in_its_backward(place):
    ops = place / OPS
    right = ops.read_text()
    assert right.count(RIGHT) == 1
    ops.write_text(right.replace(RIGHT, f"-{RIGHT}"))
    try:
        done = run(place, "make", "check", PYTEST_ADDOPTS="-k softsign")
    finally:
        ops.write_text(right)
    assert done.returncode != 0
    assert "FAILED tests/engine/test_ops_gradients.py" in done.stdout
