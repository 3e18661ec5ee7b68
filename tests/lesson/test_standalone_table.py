"""The profiler in one file makes lesson 05's rows of any model of torch."""

from __future__ import annotations

import json
import re
import sys

import pytest
from cohort.run import ROOT, solved

from proflab.standalone import main
from proflab.standalone.aten import flops_of, products
from proflab.standalone.torch_table import NEEDED_FOR_TORCH

MODELS = """
import torch
from torch import nn


def made(name):
    torch.manual_seed(0)
    if name == "gru":
        return nn.GRU(8, 12, num_layers=2), torch.zeros(5, 3, 8)
    if name == "tied":
        first, last = nn.Linear(6, 4, bias=False), nn.Linear(6, 4, bias=False)
        last.weight = first.weight
        return nn.Sequential(first, nn.ReLU(), nn.Linear(4, 6), last), torch.zeros(7, 6)
    if name == "grouped":
        return nn.Conv2d(8, 16, 3, groups=4), torch.zeros(2, 8, 6, 6)
    if name == "transposed":
        return nn.ConvTranspose2d(16, 8, 2, stride=2, groups=2), torch.zeros(2, 16, 6, 6)
    if name == "projected":
        return nn.LSTM(8, 12, proj_size=5), torch.zeros(4, 3, 8)
    return nn.LSTM(8, 12), torch.zeros(4, 3, 8)


def gru(): return made("gru")
def tied(): return made("tied")
def grouped(): return made("grouped")
def transposed(): return made("transposed")
def projected(): return made("projected")
def lstm(): return made("lstm")
def nothing(): return 3
"""
GRU = 2 * 5 * 3 * 36 * (8 + 12 + 12 + 12)
GROUPED = 2 * (2 * 4 * 4) * (2 * 9) * 16
TRANSPOSED = 2 * (2 * 6 * 6) * (4 * 4) * 16
PROJECTED = 4 * 3 * 2 * (48 * 8 + 48 * 5 + 12 * 5)
# Multiply-adds counted by hand, forward; what the whole step multiplies; what torch's counter says.
STEPS = {
    "gru": (GRU, None),
    "tied": (2 * 7 * 24 * 3, "agrees"),
    "grouped": (GROUPED, "it leaves out that channels are in groups"),
    "transposed": (TRANSPOSED, "it leaves out that channels are in groups"),
    "projected": (PROJECTED, "agrees"),
    "lstm": (4 * 3 * 2 * 48 * (8 + 12), None),
}


@pytest.fixture(scope="module")
def names():
    scopes = [solved(f"lesson_{number}").scope for number in ("02", "05", "06", "07")]
    return {k: v for scope in scopes for k, v in scope.items()} | {"__file__": "my_profiler.py"}


@pytest.fixture
def models(tmp_path):
    (tmp_path / "net.py").write_text(MODELS, encoding="utf-8")
    return tmp_path / "net.py"


def test_what_is_recorded_of_four_models_is_right_by_hand():
    """Millions of FLOPs; nobody asks for an input's gradient, nor for a GRU's first state's."""
    record = json.loads((ROOT / "docs/figures/torch_table.json").read_text(encoding="utf-8"))
    rows = {line[:28].strip(): line[28:].split() for line in record["table"].splitlines()}
    gru = 2 * 32 * 16 * 384 * ((64 + 128 + 128 + 128) * 3 - 64)
    gru -= 2 * 16 * 384 * (128 + 128)
    places = 2 * 8 * 32 * 32
    grouped = places * 64 * (27 * 2 + 2 * 3 * (9 * 8 + 64))
    own = 3 * 3 * 2 * 256 * 512 * 512  # asks for all
    for name, flops in {
        "GRU, two layers": gru,
        "grouped convolutions": grouped,
        "custom autograd function": own,
    }.items():
        assert float(rows[name][0].replace(",", "")) == round(flops / 1e6, 1), name


def test_without_torch_it_says_what_is_needed(names, models, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError):
        import torch  # noqa: F401
    assert main(names, {}, ["table", f"{models}:gru"]) == 2
    assert "table needs torch" in capsys.readouterr().err


def test_exercises_that_lack_are_named(names, capsys):
    assert main({}, {}, ["table", "net.py:gru"]) == 2
    said = capsys.readouterr().err
    assert all(f"{name} ({lesson})" in said for name, lesson in NEEDED_FOR_TORCH.items())
    assert set(NEEDED_FOR_TORCH) <= names.keys()


NO = [None] * 20


@pytest.mark.parametrize(
    ("name", "shapes", "values", "out", "flops"),
    [
        ("addmm", [(5,), (3, 4), (4, 5)], NO, (3, 5), 120),
        ("convolution", [(2, 8, 6, 6), (16, 2, 3, 3)], [*NO[:6], False], (2, 16, 4, 4), GROUPED),
        (
            "convolution",
            [(2, 16, 6, 6), (16, 4, 2, 2)],
            [*NO[:6], True],
            (2, 8, 12, 12),
            TRANSPOSED,
        ),
        ("convolution", [(1, 2, 9), (3, 2, 4)], [*NO[:6], False], (1, 3, 6), 2 * 6 * 3 * 8),
        (
            "convolution_backward",
            [(2, 16, 4, 4), (2, 8, 6, 6), (16, 2, 3, 3)],
            [*NO[:7], False, None, 4, [True, False, True]],
            None,
            GROUPED,
        ),
        ("mkldnn_rnn_layer", [(4, 3, 8), (48, 8), (48, 12), (48,), (48,)], NO, None, 24 * 48 * 20),
        ("_cudnn_rnn", [(4, 3, 8), [(48, 8), (48, 5), (5, 12), (48,)]], NO, None, PROJECTED),
        # Two heads of keys for four of queries.
        (
            "_scaled_dot_product_flash_attention",
            [(1, 4, 6, 8), (1, 2, 6, 8), (1, 2, 6, 8)],
            NO,
            None,
            2 * 2 * 4 * 6 * 6 * 8,
        ),
        ("_scaled_dot_product_attention_math", [(1, 4, 6, 8)] * 3, NO, None, 0),
        ("add", [(3, 4), (3, 4)], NO, (3, 4), 0),
    ],
)  # fmt: skip
def test_products_are_what_the_op_multiplies(names, name, shapes, values, out, flops):
    assert flops_of(names["op_flops"], products(name, shapes, values, out)) == flops


# ── with torch ───────────────────────────────────────────────────────────────────────────────

torch_is_needed = pytest.mark.torch


@torch_is_needed
@pytest.mark.parametrize("options", [[], ["--meta"]])
@pytest.mark.parametrize("model", STEPS)
def test_a_foreign_model_is_counted_by_hand(names, models, capsys, model, options):
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    flops, _ = STEPS[model]
    assert main(names, {}, ["table", f"{models}:{model}", "--passes", "2", *options]) == 0
    said = capsys.readouterr().out
    assert f" {flops:,} FLOPs of its products" in said
    assert ("nothing is timed" in said) == ("CPU" not in said) == bool(options)


@torch_is_needed
@pytest.mark.parametrize("model", [name for name, (_, says) in STEPS.items() if says])
def test_a_training_step_says_where_torchs_counter_differs(names, models, capsys, model):
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    assert main(names, {}, ["table", f"{models}:{model}", "--train", "--passes", "1"]) == 0
    assert STEPS[model][1] in capsys.readouterr().out


@torch_is_needed
def test_rows_name_lines_walls_and_what_is_shared(names, models, capsys):
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    machine = ["--peak", "1e9", "--bandwidth", "1e12", "--meta", "--train"]
    assert main(names, {}, ["table", f"{models}:tied", *machine]) == 0
    said = capsys.readouterr().out
    assert "0.00 MB held, shared ones once" in said
    found = [line for line in said.splitlines() if line.startswith("mm ") and "7×6, 6×4" in line]
    assert "compute" in found[0] and found[0].split()[1] == "2"  # the shared weight, called twice
    assert "test_standalone_table.py line" not in said and "torch_table.py line" not in said
    assert main(names, {}, ["table", f"{models}:nothing"]) == 2
    assert "must return a model of torch" in capsys.readouterr().err
    assert main(names, {}, ["table", f"{models}:tied", "--peak", "1e9"]) == 2
    assert "give --peak and --bandwidth" in capsys.readouterr().err


ODD = """
import threading
import torch


class Threads(torch.nn.Linear):
    def forward(self, x):
        found = []
        thread = threading.Thread(target=lambda: found.append(super(Threads, self).forward(x)))
        thread.start()
        thread.join()
        return found[0]


class Largest(torch.nn.Module):
    def forward(self, x):
        return x.argmax()


def threads(): return Threads(4, 3), torch.ones(2, 4)
def largest(): return Largest(), torch.ones(2, 4)
class Strict(torch.nn.Module):
    def forward(self, x):
        assert x.shape[1] == 5, "five wide"


def unlike(): return torch.nn.Linear(4, 3), torch.ones(2, 5)
def strict(): return Strict(), torch.ones(2, 4)
class Nested(torch.nn.Module):
    def forward(self, x):
        return torch.nested.nested_tensor([x[:1], x]).to_padded_tensor(0.0)


def sparse(): return torch.nn.Embedding(9, 4, sparse=True), torch.arange(3)
def nested(): return Nested(), torch.ones(2, 4)
def alone(): return torch.nn.BatchNorm1d(4), torch.ones(1, 4)
class Dice(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) if torch.rand(()) < 2 else x


class Inner(torch.nn.Sequential):
    def forward(self, x):
        return torch.func.vmap(torch.func.grad(lambda row: self[0](row).sum()))(x)


class Layers(torch.nn.ModuleList):
    def forward(self, x):
        for layer in self:
            x = layer(x) if torch.rand(()) < 0.5 else x
        return x


def layers(): return Layers(torch.nn.Linear(4, 4) for _ in range(40)), torch.ones(2, 4)
def dice(): return Dice(4, 3), torch.ones(2, 4)
def inner(): return Inner(torch.nn.Linear(4, 3)), torch.ones(2, 4)
"""


@torch_is_needed
def test_what_cannot_be_counted_or_run_is_said(names, tmp_path, capsys):
    """The dispatcher's modes are one thread's: zero ops would be no answer without a word."""
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    (tmp_path / "odd.py").write_text(ODD, encoding="utf-8")

    def said(name, *options):
        assert main(names, {}, ["table", f"{tmp_path}/odd.py:{name}", *options]) == (
            0 if name == "threads" else 2
        )
        return "".join(capsys.readouterr())

    assert "it starts threads: what torch does there stands in no row" in said("threads")
    assert "has a gradient: leave out --train" in said("largest", "--train")
    for dense in said("sparse", "--train"), said("nested"):
        assert "table counts dense tensors, and here is a sparse or nested one\n" in dense
    for options in [], ["--meta"]:
        assert re.fullmatch(r".*odd\.py:unlike raises RuntimeError: .+\n", said("unlike", *options))
        assert said("strict", *options).endswith("odd.py:strict raises AssertionError: five wide\n")
    assert "odd.py:alone raises ValueError: Expected more than 1 value" in said("alone", "--train")


@torch_is_needed
def test_an_op_of_no_tensor_is_counted_and_what_torchs_counter_refuses_is_said(
    names, tmp_path, capsys
):
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    (tmp_path / "odd.py").write_text(ODD, encoding="utf-8")
    assert main(names, {}, ["table", f"{tmp_path}/odd.py:dice", "--train"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^rand +1 +0 +4 ", said, re.M)  # no FLOPs, one number of four bytes
    assert not re.search(r"^add ", said, re.M)  # the sum of one result is no addition
    assert "FlopCounterMode agrees: 96\n" in said  # 2 · 2 · 4 · 3, and as many for the weight
    assert main(names, {}, ["table", f"{tmp_path}/odd.py:layers"]) == 0
    assert "torch's FlopCounterMode agrees: " in capsys.readouterr().out  # the same ones of 40
    assert main(names, {}, ["table", f"{tmp_path}/odd.py:inner"]) == 0
    said = capsys.readouterr().out
    assert " FLOPs of its products" in said and "torch's FlopCounterMode fails here: " in said


NAP = """
import time
import torch


@torch.library.custom_op("proflab_tests::nap", mutates_args=())
def nap(x: torch.Tensor) -> torch.Tensor:
    time.sleep(0.1)
    return x.clone()


class Net(torch.nn.Module):
    def forward(self, x):
        return nap(x @ x)


def model():
    return Net(), torch.ones(4, 4)
"""


@torch_is_needed
def test_cpu_time_stands_beside_the_clocks_where_something_runs(names, tmp_path, capsys):
    """Count no processor time for what sleeps, however busy the machine is."""
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    (tmp_path / "nap.py").write_text(NAP, encoding="utf-8")
    assert main(names, {}, ["table", f"{tmp_path}/nap.py:model", "--passes", "3"]) == 0
    said = capsys.readouterr().out
    head, row = re.search(r"^(op .+)\n(nap .+)$", said, re.M).groups()
    ms, cpu = map(float, re.search(r" (\d+\.\d{3}) +(\d+\.\d{3}) +\S+%", row).groups())
    assert " ms  CPU, ms  share of time " in head and ms >= 100 and cpu < 50
    total = re.search(r"^([\d.]+) ms in ops, CPU time ([\d.]+) ms; torch on 1 thread, ", said, re.M)
    assert float(total[1]) >= ms and cpu <= float(total[2]) < 100
