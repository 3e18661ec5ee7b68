"""The hook: what it sees, forward and backward, on data and on meta; and what is saved."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import proflab
from proflab import Tensor, dispatch, models, nn
from proflab.nn import functional as F

DATA = Path(__file__).parents[1] / "data"


def watch(run) -> list:
    """The calls that `run()` makes, each with its result."""
    calls = []

    def h(call):
        result = call()
        calls.append((call.op, call.phase, call.module_path, [t.shape for t in call.inputs],
                      dict(call.attributes), [t.requires_grad for t in call.inputs]))  # fmt: skip
        return result

    with dispatch.hook(h):
        run()
    return calls


def test_forward_and_backward_of_a_linear_layer():
    layer = nn.Linear(3, 2)
    calls = watch(lambda: layer(proflab.randn(4, 3)).sum().backward())
    shapes = [(4, 3), (2, 3), (2,)]
    assert calls[0] == ("linear", "forward", "", shapes, {}, [False, True, True])
    assert [c[:2] for c in calls[1:]] == [
        ("sum", "forward"),
        ("sum", "backward"),
        ("linear", "backward"),
    ]
    assert calls[-1] == ("linear", "backward", "", shapes, {}, [False, True, True])


@pytest.mark.parametrize("meta", [False, True])
def test_in_backward_a_call_shows_what_the_op_kept(meta):
    seen = []

    def h(call):
        seen.append((call.op, call.phase, [t.storage for t in call.saved]))
        return call()

    x, w, b = (Tensor.meta(s) if meta else proflab.randn(*s) for s in ((4, 3), (2, 3), (2,)))
    w.requires_grad_(), b.requires_grad_()
    with dispatch.hook(h):
        F.linear(x, w, b).sum().backward()
    assert seen[:2] == [("linear", "forward", []), ("sum", "forward", [])]
    # The gradient of the weight is made with the input; nobody wants the input's, made with w.
    assert seen[2:] == [("sum", "backward", []), ("linear", "backward", [x.storage])]


def test_what_was_packed_is_shown_unpacked():
    seen = []

    def h(call):
        seen.extend(t.tolist() for t in call.saved)
        return call()

    x = Tensor([1.0, 2.0], requires_grad=True)
    disk = proflab.saved_tensors(lambda t: t.numpy().copy(), Tensor)
    with dispatch.hook(h), disk:
        (x * x).sum().backward()
    assert seen == [[1.0, 2.0], [1.0, 2.0]]
    assert x.grad.tolist() == [2.0, 4.0]


def test_attributes_say_what_a_count_needs():
    x, w = Tensor.meta((1, 4, 8, 8)), Tensor.meta((6, 2, 3, 3))
    (call,) = watch(lambda: F.conv2d(x, w, stride=2, padding=1, groups=2))
    assert call[4] == {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 2}
    a, b = Tensor.meta((2, 3)), Tensor.meta((3, 4))
    (call,) = watch(lambda: proflab.einsum("i j, j k", a, b))
    assert call[4] == {"equation": "ij,jk->ik"}
    (call,) = watch(lambda: a * 3)
    assert call[3:5] == ([(2, 3)], {"other": 3})
    (call,) = watch(lambda: F.scaled_dot_product_attention(a, a, a, is_causal=True))
    assert call[0] == "scaled_dot_product_attention" and call[4]["is_causal"] is True
    calls = watch(lambda: proflab.einsum("ij,jk,kl->il", a, b, Tensor.meta((4, 5))))
    assert [c[4]["equation"] for c in calls] == ["ij,jk->ik", "ik,kl->il"]


def test_module_paths_are_those_a_person_would_name():
    model = models.GPT2(vocab_size=17, context=8, d_model=8, layers=2, heads=2)
    calls = watch(lambda: model(proflab.example_input(model, (1, 4))).sum().backward())
    paths = {(c[0], c[2]) for c in calls if c[1] == "forward"}
    assert ("linear", "blocks.1.attn.qkv") in paths
    assert ("matmul", "blocks.0.attn") in paths
    assert ("embedding", "wte") in paths and ("linear", "lm_head") in paths
    backward = {(c[0], c[2]) for c in calls if c[1] == "backward"}
    assert ("linear", "blocks.1.attn.qkv") in backward
    assert ("gelu", "blocks.0.mlp.gelu") in backward


def test_paths_of_modules_that_are_called_by_others_than_their_owners():
    class Odd(nn.Module):
        def __init__(self):
            self.inner = nn.Sequential(nn.ReLU())
            self.blocks = nn.ModuleList([nn.Sequential(nn.Tanh()), nn.Sequential(nn.Tanh())])
            self.again = self.inner
            self.hidden = [nn.Sequential(nn.Sigmoid())]  # a plain list: no module of the model's

        def forward(self, x):
            x = self.inner[0](x)
            for module in [*self.blocks, *self.hidden, self.again]:
                x = module(x)
            return x.exp()

    model = Odd()
    calls = watch(lambda: [model(proflab.ones(2)), model.blocks[1](proflab.ones(2))])
    paths = [c[2] for c in calls]
    assert paths == ["inner.0", "blocks.0.0", "blocks.1.0", "", "inner.0", "", "0"]


def test_hooks_nest_and_the_last_is_innermost():
    order = []

    def named(name):
        def h(call):
            order.append(f"{name} in")
            result = call()
            order.append(f"{name} out")
            return result

        return h

    with dispatch.hook(named("a")), dispatch.hook(named("b")):
        proflab.ones(2) + 1
    assert order == ["a in", "b in", "b out", "a out"]
    proflab.ones(2) + 1
    assert len(order) == 4


def test_what_a_hook_computes_is_not_observed():
    def h(call):
        result = call()
        seen.append(float((result * 2).sum()))
        return result

    seen = []
    with dispatch.hook(h):
        proflab.ones(3) + 1
    assert seen == [12.0]


def test_a_hook_that_forgets_to_return_is_told():
    with pytest.raises(TypeError, match="must return call"):
        with dispatch.hook(lambda call: print(call().shape)):
            proflab.ones(2).exp()
    assert dispatch.hooks == ()


def test_an_error_leaves_no_hook_and_no_module_behind():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 5))
    with pytest.raises(ValueError, match="linear"), dispatch.hook(lambda call: call()):
        model(proflab.ones(1, 2))
    assert dispatch.hooks == () and dispatch.module_path() == ""


def test_values_are_the_same_under_a_hook():
    model, x = models.LeNet5(), proflab.randn(2, 1, 32, 32)
    plain = model(x)
    plain.sum().backward()
    expected = [p.grad.numpy().copy() for p in model.parameters()]
    model.zero_grad()
    with dispatch.hook(lambda call: call()):
        hooked = model(x)
        hooked.sum().backward()
    assert proflab.equal(plain.detach(), hooked.detach())
    for p, grad in zip(model.parameters(), expected, strict=True):
        np.testing.assert_array_equal(p.grad.numpy(), grad)


def test_multihead_attention_hides_no_product():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), Tensor.meta((1, 5, 8))
    for mode in ("train", "eval"):
        getattr(layer, mode)()
        plain = [c[0] for c in watch(lambda: layer(x)) if c[0] in ("linear", "matmul")]
        assert plain == ["linear", "matmul", "matmul", "linear"]
        fused = [c[0] for c in watch(lambda: layer(x, need_weights=False))]
        assert fused.count("linear") == 2 and "scaled_dot_product_attention" in fused


SAVED = json.loads((DATA / "saved_reference.json").read_text())
MAKE = {
    "lenet5": models.LeNet5,
    "resnet18": models.resnet18,
    "vit_tiny16": models.vit_tiny16,
    "gpt2_small_s128": models.gpt2,
}


def saved_bytes(model, x) -> tuple[int, dict[str, int]]:
    """Bytes kept for backward, each storage once, without inputs, parameters and buffers; and the
    same by dtype."""
    known = {t.storage for t in [*model.parameters(), *model.buffers(), x]}
    kept = {}

    def pack(tensor):
        if tensor.storage not in known:
            kept[tensor.storage] = str(tensor.dtype)
        return tensor

    with proflab.saved_tensors(pack, lambda t: t):
        model(x)
    by_dtype = {}
    for storage, dtype in kept.items():
        by_dtype[dtype] = by_dtype.get(dtype, 0) + storage.nbytes
    return sum(by_dtype.values()), by_dtype


@pytest.mark.parametrize("name", MAKE)
def test_saved_bytes_are_torchs_less_the_differences_in_the_table(name):
    differences = json.loads((DATA / "saved_differences.json").read_text())
    less = sum(row["bytes"] for row in differences if row["model"] == name)
    with proflab.meta():
        model = MAKE[name]()
    x = proflab.example_input(model, tuple(SAVED[name]["input_shape"]), meta=True)
    total, _ = saved_bytes(model, x)
    assert total == SAVED[name]["saved_activation_bytes"] - less


@pytest.mark.parametrize(
    "name, shape",
    [
        ("lenet5", (3, 1, 32, 32)),
        ("resnet18", (2, 3, 64, 64)),
        ("vit_tiny16", (1, 3, 224, 224)),
    ],
)
def test_saved_bytes_are_the_same_on_data_and_on_meta(name, shape):
    real = MAKE[name]()
    with proflab.meta():
        meta = MAKE[name]()
    assert saved_bytes(real, proflab.example_input(real, shape)) == saved_bytes(
        meta, proflab.example_input(meta, shape, meta=True)
    )


def test_a_convolution_saves_its_input_and_not_its_columns():
    layer, x = nn.Conv2d(4, 8, 3, padding=1), proflab.randn(2, 4, 9, 9)
    kept = []
    with proflab.saved_tensors(lambda t: kept.append(t) or t, lambda t: t):
        layer(x)
    assert [t.storage for t in kept] == [x.storage]


def test_packed_tensors_come_back_in_backward():
    x = proflab.randn(3, 4).requires_grad_()
    expected = (x.exp() * x).sum()
    expected.backward()
    plain, x.grad = x.grad, None
    disk = []

    def pack(t):
        disk.append(t.numpy().copy())
        return len(disk) - 1

    with proflab.saved_tensors(pack, lambda i: Tensor(disk[i])):
        (x.exp() * x).sum().backward()
    assert len(disk) == 3
    np.testing.assert_allclose(x.grad.numpy(), plain.numpy())


def test_storages_are_shared_by_views_only():
    x = proflab.randn(4, 6)
    assert x.storage != x.t().reshape(-1).storage
    assert x.storage == x[1:].T.storage == x.view(-1).storage
    assert x.storage != (x + 0).storage and x.storage != x.clone().storage
    assert x[1:].storage.nbytes == x.nbytes
    y = Tensor.meta((4, 6))
    assert y.storage == y[1:].T.storage == y.view(-1).storage
    assert y.storage != y.t().reshape(-1).storage
    assert y[1:].storage.nbytes == y.nbytes == 96


def test_a_function_of_ones_own_is_seen_op_by_op():
    class Product(proflab.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.T, a.T @ grad

    for make in (proflab.randn, lambda *s: Tensor.meta(s)):
        a, b = make(2, 3).requires_grad_(), make(3, 4).requires_grad_()
        calls = watch(lambda a=a, b=b: Product.apply(a, b).sum().backward())
        assert [c[0] for c in calls if c[0] == "matmul"] == ["matmul"] * 3
        assert a.grad.shape == (2, 3) and b.grad.shape == (3, 4)
    a, b = proflab.randn(2, 3).requires_grad_(), proflab.randn(3, 4).requires_grad_()
    Product.apply(a, b).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.ones((2, 4)) @ b.detach().numpy().T, 1e-5, 1e-6)


def test_a_large_model_on_meta_needs_no_memory():
    with proflab.meta():
        model = models.GPT2(50257, 2048, 12288, 96, 96)
    assert sum(p.numel() for p in model.parameters()) == 174_604_259_328
    calls = watch(lambda: model(proflab.example_input(model, (1, 2048), meta=True)))
    assert math.prod(calls[-1][3][1]) == 50257 * 12288
