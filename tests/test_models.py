"""The models: published sizes, on real and on meta tensors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import proflab
from proflab import models

PUBLISHED = {
    name: row["parameters"]
    for name, row in json.loads(
        (Path(__file__).parent / "data" / "published_parameters.json").read_text()
    ).items()
}
MAKE = {
    "lenet5": models.LeNet5,
    "resnet18": models.resnet18,
    "resnet34": models.resnet34,
    "resnet50": models.resnet50,
    "mobilenet_v2": models.mobilenet_v2,
    "vit_tiny16": models.vit_tiny16,
    "bert_layer": models.bert_layer,
    "gpt2_small": lambda: models.gpt2("small"),
    "gpt2_medium": lambda: models.gpt2("medium"),
    "gpt2_large": lambda: models.gpt2("large"),
    "gpt2_xl": lambda: models.gpt2("xl"),
    "gpt2_small_untied": lambda: models.gpt2("small", tied=False),
}
SMALL = ["lenet5", "resnet18", "mobilenet_v2", "vit_tiny16", "bert_layer"]


def parameters(model) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", MAKE)
def test_published_parameter_counts_on_meta(name):
    with proflab.meta():
        assert parameters(MAKE[name]()) == PUBLISHED[name]


@pytest.mark.parametrize("name", [*SMALL, "gpt2_small"])
def test_published_parameter_counts_on_data(name):
    assert parameters(MAKE[name]()) == PUBLISHED[name]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_gpt2_xl_on_meta_takes_no_memory_for_its_parameters():
    code = (
        "import proflab\n"
        "with proflab.meta(): m = proflab.models.gpt2('xl')\n"
        "n = sum(p.numel() for p in m.parameters())\n"
        "peak = next(s for s in open('/proc/self/status') if s.startswith('VmHWM'))\n"
        "print(n, peak.split()[1])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, kilobytes = map(int, out.stdout.split())
    assert count == PUBLISHED["gpt2_xl"]
    assert kilobytes < 200 * 1024


def test_importing_the_engine_imports_numpy_only():
    code = (
        "import sys; before = set(sys.modules); import numpy\n"
        "with_numpy = set(sys.modules); import proflab\n"
        "new = {m.split('.')[0] for m in set(sys.modules) - with_numpy}\n"
        "print(sorted(new - sys.stdlib_module_names))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {m for m in eval(out.stdout) if "cython" not in m}  # numpy.random brings its runtime
    assert others <= {"numpy", "proflab"}
