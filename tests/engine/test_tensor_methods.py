"""Tensor's methods: given by decorators, known to editors through a generated stub."""

import cProfile
import inspect
import pstats
from pathlib import Path

import jedi
import pytest
from lesson_demos import module_at

import proflab
from proflab import Tensor
from proflab.tensor_methods import method

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = sorted(
    name
    for name in dir(Tensor)
    if not name.startswith("_") and name not in Tensor.__slots__ and callable(getattr(Tensor, name))
)


def test_the_stub_is_in_step():
    make = module_at(ROOT / "docs/make_tensor_pyi.py")
    assert make.STUB.read_text() == make.page(), "run: make api"


def editor(text: str) -> jedi.Script:
    """What an editor sees at the end of a text; nothing is run."""
    return jedi.Script(
        f"import proflab\nfrom proflab import Tensor, nn\n{text}", project=jedi.Project(ROOT)
    )


@pytest.mark.whole
@pytest.mark.parametrize("expression", ["Tensor", "proflab.randn(2, 3)", "(Tensor(1) + 2).exp()"])
def test_an_editor_completes_sum_and_shows_its_docstring(expression):
    [found] = [c for c in editor(f"{expression}.su").complete() if c.name == "sum"]
    assert "Return the sum over some dimensions" in found.docstring()
    assert "proflab/ops/reduce.py" in found.docstring()
    [inferred] = editor(f"{expression}.sum").infer()
    assert inferred.full_name == "proflab.tensor.Tensor.sum"


def test_an_editor_knows_every_method_and_function():
    completed = {c.name for c in editor("Tensor.").complete()}
    assert set(PUBLIC) <= completed
    functions = {c.name for c in editor("proflab.").complete()}
    assert {"sum", "exp", "where", "zeros", "einsum", "Tensor", "no_grad"} <= functions
    functional = {c.name for c in editor("nn.functional.").complete()}
    assert {"relu", "conv2d", "linear", "cross_entropy", "pad"} <= functional


@pytest.mark.parametrize("name", PUBLIC)
def test_every_method_has_a_docstring(name):
    assert len(inspect.getdoc(getattr(Tensor, name)) or "") > 10


def test_an_operator_and_its_methods_are_one_function():
    assert Tensor.__add__ is Tensor.__radd__ is Tensor.add is proflab.add
    assert Tensor.multiply is Tensor.mul is proflab.multiply
    x = Tensor([1.0, 2.0])
    y = x
    x += 1
    assert x is y and x.add_(1) is y and y.tolist() == [3.0, 4.0]


def test_a_profile_and_a_traceback_name_each_op():
    x = Tensor([1.0, 2.0])
    with cProfile.Profile() as profile:
        x.exp(), x.sqrt(), x == x, x < x, x.isnan()
    found = {name for file, _, name in pstats.Stats(profile).stats if "ops" in Path(file).parts}
    assert {"exp", "sqrt", "eq", "lt", "isnan"} <= found
    with pytest.raises(AttributeError) as error:
        proflab.exp("text")
    assert "exp" in [step.name for step in error.traceback]


def test_no_function_takes_another_ones_name():
    def sum(input):
        """Return nothing that anyone asked for."""

    before = Tensor.sum
    with pytest.raises(ValueError, match="'sum' already"):
        method(sum)
    assert Tensor.sum is before
