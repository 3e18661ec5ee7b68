"""Hold what `py.typed` promises: a checker passes right programs and finds mistakes in others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RIGHT = """
import numpy as np

import proflab
from proflab import Tensor, dispatch, nn, optim
from proflab.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int):
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


def record(call: dispatch.Call) -> object:
    shapes: list[tuple[int, ...]] = [t.shape for t in call.inputs]
    print(call.phase, call.op, shapes, call.module_path, call.attributes.get("dim"))
    return call()


model = nn.Sequential(Block(8), nn.ReLU(), nn.Linear(8, 2))
with proflab.meta():
    large = nn.Linear(100_000, 100_000)
total: int = sum(p.numel() for p in [*model.parameters(), *large.parameters()])
x, y = proflab.randn(4, 8), proflab.tensor([0, 1, 1, 0], dtype=proflab.int64)
adam = optim.Adam(model.parameters(), lr=1e-3)
with dispatch.hook(record):
    loss: Tensor = F.cross_entropy(model(x), y)
    loss.backward()
adam.step()
adam.zero_grad()
with proflab.no_grad():
    best: Tensor = model(x).argmax(dim=-1)
array: np.ndarray = x.detach().numpy()
z = (2 * x - x.mean(dim=0, keepdim=True)) / (x.std() + 1e-5)
z += 1
equal: Tensor = z == x
rows: list[Tensor] = [row for row in z.T]
weights = model.state_dict()["2.weight"]
resnet: nn.Module = proflab.models.resnet18()
number = float(loss.item()) + float(z[0, 0])
"""

# Each line's mistake, and the words by which the checker names it.
WRONG = [
    ("Tensor([1.0]).sume()", '"Tensor" has no attribute "sume"'),
    ("proflab.zeroes(2, 3)", 'Module has no attribute "zeroes"'),
    ("nn.Lineal(2, 3)", 'Module has no attribute "Lineal"'),
    ("nn.functional.relo(x)", 'Module has no attribute "relo"'),
    ('nn.Linear("2", 3)', 'has incompatible type "str"; expected "int"'),
    ("x.shape = (2, 3)", 'Property "shape" defined in "Tensor" is read-only'),
    ("total: int = x.sum()", 'expression has type "Tensor", variable has type "int"'),
    ("nn.Linear(2, 3, biass=True)", 'Unexpected keyword argument "biass"'),
]


@pytest.fixture(scope="module")
def findings(tmp_path_factory) -> list[str]:
    """Return what mypy finds in both programs, read outside of ProfLab's own folder."""
    folder = tmp_path_factory.mktemp("programs")
    head = ["import proflab", "from proflab import Tensor, nn", "x = proflab.zeros(2, 3)"]
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text("\n".join([*head, *(line for line, _ in WRONG)]))
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-implicit-reexport"]
    answer = subprocess.run(
        [*command, "--cache-dir", folder, "right.py", "wrong.py"],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1, answer.stdout + answer.stderr
    return [line for line in answer.stdout.splitlines() if ": error: " in line]


@pytest.mark.proves("the types of the engine serve a program of a student")
def test_a_student_s_program_has_no_type_errors(findings):
    assert [line for line in findings if line.startswith("right.py")] == []


@pytest.mark.parametrize("line, words", WRONG)
def test_a_mistake_in_a_call_is_a_type_error(findings, line, words):
    at = [one for one, _ in WRONG].index(line) + 4  # below the three lines of the head
    [found] = [text for text in findings if re.match(rf"wrong\.py:{at}:", text)]
    assert words in found
