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
        (Path(__file__).parents[1] / "data" / "published_parameters.json").read_text()
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


@pytest.mark.whole
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


INPUTS = {
    "lenet5": ((2, 1, 32, 32), (2, 10)),
    "resnet18": ((2, 3, 224, 224), (2, 1000)),
    "resnet34": ((1, 3, 64, 64), (1, 1000)),
    "resnet50": ((1, 3, 224, 224), (1, 1000)),
    "mobilenet_v2": ((2, 3, 224, 224), (2, 1000)),
    "vit_tiny16": ((2, 3, 224, 224), (2, 1000)),
    "bert_layer": ((2, 128, 768), (2, 128, 768)),
    "gpt2_small": ((2, 128), (2, 128, 50257)),
    "gpt2_xl": ((1, 1024), (1, 1024, 50257)),
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_pass_and_its_gradients_on_meta(name):
    shape, expected = INPUTS[name]
    with proflab.meta():
        model = MAKE[name]()
    out = model(proflab.example_input(model, shape, meta=True))
    assert out.is_meta and out.shape == expected
    out.sum().backward()
    for parameter in model.parameters():
        assert parameter.grad.shape == parameter.shape and parameter.grad.is_meta


@pytest.mark.parametrize("name, shape", [
    ("lenet5", (2, 1, 32, 32)), ("resnet18", (2, 3, 32, 32)), ("resnet50", (2, 3, 32, 32)),
    ("mobilenet_v2", (2, 3, 32, 32)), ("vit_tiny16", (1, 3, 224, 224)), ("bert_layer", (1, 8, 768)),
])  # fmt: skip
def test_a_pass_and_its_gradients_on_data(name, shape):
    proflab.manual_seed(0)
    model = MAKE[name]()
    model(proflab.example_input(model, shape)).square().mean().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad.shape == parameter.shape, path
        assert proflab.isfinite(parameter.grad).all(), path


def test_mlp_takes_its_sizes():
    assert parameters(models.MLP(4, 3, 2)) == 4 * 3 + 3 + 3 * 2 + 2
    assert models.MLP(4, 3, 2)(proflab.zeros(5, 2, 2)).shape == (5, 2)
    with pytest.raises(ValueError, match="MLP"):
        models.MLP(4)


def test_parameter_names_are_the_usual_ones():
    with proflab.meta():
        resnet = dict(models.resnet18().named_parameters())
        gpt = dict(models.gpt2().named_parameters())
    assert "layer2.0.downsample.0.weight" in resnet and "bn1.bias" in resnet
    assert "blocks.11.attn.qkv.weight" in gpt and "lm_head.weight" not in gpt
    state = models.GPT2(5, 4, 4, 1, 1).state_dict()
    assert state["lm_head.weight"].storage == state["wte.weight"].storage
