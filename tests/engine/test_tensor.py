"""What a tensor is, how gradients flow, and what it says to bad input."""

import copy
import gc
import math
import pickle
import weakref

import numpy as np
import pytest

import proflab
from proflab import Tensor, models, nn
from proflab.nn import functional as F


def test_micrograds_example():
    a, b = Tensor(-4.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    c = a + b
    d = a * b + b**3
    c = c + c + 1
    c = c + 1 + c + (-a)
    d = d + d * 2 + (b + a).relu()
    d = d + 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g = g + 10.0 / f
    g.backward()
    assert g.item() == pytest.approx(24.7041, abs=1e-4)
    assert a.grad.item() == pytest.approx(138.8338, abs=1e-4)
    assert b.grad.item() == pytest.approx(645.5773, abs=1e-4)


def test_dtypes_are_torchs():
    assert Tensor([1.0, 2.0]).dtype == Tensor(np.ones(2)).dtype == proflab.float32
    assert Tensor([1, 2]).dtype == proflab.tensor(3).dtype == proflab.int64
    assert proflab.tensor(np.ones(2)).dtype == proflab.float64
    i, f = proflab.arange(3), proflab.ones(3)
    assert (i + f).dtype == (i * 2.5).dtype == (i / 2).dtype == (f * np.float64(2)).dtype
    assert (i + f).dtype == i.exp().dtype == i.sqrt().dtype == (1 / (i + 1)).dtype == f.dtype
    assert (i + 1).dtype == (i // 2).dtype == i.sum().dtype == proflab.int64
    assert (f > 1).dtype == proflab.bool and (f > 1).sum().dtype == proflab.int64
    assert (f * proflab.tensor(np.float64(2))).dtype == proflab.float32
    assert f.double().dtype == f.to("cpu", dtype=proflab.float64).dtype == proflab.float64
    assert f.half().long().dtype == proflab.int64


def test_creation_follows_device_and_context():
    x = Tensor.meta((2, 3))
    for made in (
        proflab.zeros(2, 3, device="meta"),
        proflab.ones_like(x),
        x.new_zeros(2, 3),
        proflab.randn(2, 3, device=x.device),
        proflab.arange(6, device="meta").view(2, 3),
        proflab.full_like(x, 7),
        proflab.tensor([[1.0] * 3] * 2).to("meta"),
    ):
        assert made.is_meta and made.shape == (2, 3)
    with proflab.meta():
        assert proflab.rand(2).is_meta and nn.Linear(2, 3).weight.is_meta
        assert Tensor([1.0]).is_meta and proflab.eye(3).is_meta
    assert not proflab.rand(2).is_meta
    assert proflab.full((2,), 3).tolist() == [3, 3] and proflab.linspace(0, 1, 3).tolist()[1] == 0.5
    proflab.manual_seed(3)
    a = proflab.randn(5)
    proflab.manual_seed(3)
    assert proflab.equal(a, proflab.randn(5))
    assert sorted(proflab.randperm(5).tolist()) == list(range(5))
    assert set(proflab.randint(2, 4, (50,)).tolist()) == {2, 3}


def test_gradients_accumulate_and_are_not_shared():
    a, b = proflab.ones(3).requires_grad_(), proflab.ones(3).requires_grad_()
    (a + b).sum().backward()
    (a + b).sum().backward()
    assert a.grad.tolist() == [2, 2, 2]
    a.grad.mul_(5)
    assert b.grad.tolist() == [2, 2, 2]
    a.grad, b.grad, given = None, None, proflab.ones(3)
    (a + b).backward(given)
    a.grad.mul_(5)
    assert b.grad.tolist() == given.tolist() == [1, 1, 1]


def test_a_tensor_used_many_times_gets_every_part():
    x = proflab.tensor([2.0, 3.0], requires_grad=True)
    y = x
    for _ in range(3000):  # deep, and without recursion
        y = y * 1.0 + x * 0.0
    (y * x + x).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_no_grad_detach_and_frozen_parameters():
    x = proflab.ones(2, requires_grad=True)
    with proflab.no_grad():
        assert not (x * 2).requires_grad
        with proflab.enable_grad():
            assert (x * 2).requires_grad

    @proflab.no_grad()
    def double(x):
        return x * 2

    assert not double(x).requires_grad and (x * 2).requires_grad
    assert not (x.detach() * 2).requires_grad
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad_(False)
    layer(x).sum().backward()
    assert layer.weight.grad is None and layer.bias.grad is not None
    proflab.set_grad_enabled(False)
    try:
        assert not proflab.is_grad_enabled()
    finally:
        proflab.set_grad_enabled(True)


def test_gradients_of_chosen_inputs_leave_others_alone():
    x, w = proflab.ones(2, requires_grad=True), proflab.ones(2, requires_grad=True)
    (gx,) = proflab.autograd.grad((x * w * 3).sum(), [x])
    assert gx.tolist() == [3, 3] and x.grad is None and w.grad is None


@pytest.mark.parametrize(
    ("outputs", "inputs", "kind"),
    [
        (0, [], "int"),
        ([0.0], [], "float"),
        (None, [], "NoneType"),
        (Tensor([1.0], requires_grad=True).sum(), [3], "int"),
    ],
)
def test_grad_says_what_is_no_tensor(outputs, inputs, kind):
    with pytest.raises(TypeError, match=f"grad needs a Tensor, not an object of type {kind}"):
        proflab.autograd.grad(outputs, inputs)


def test_an_activation_that_backward_does_not_need_is_freed():
    x = proflab.randn(4, 4).requires_grad_()
    hidden = x + 1
    watch = weakref.ref(hidden)
    array = weakref.ref(hidden.array)
    out = hidden + 1
    del hidden
    gc.collect()
    assert watch() is None and array() is None
    out.sum().backward()


def test_in_place_on_data_writes_into_the_memory():
    x = proflab.zeros(2, 3)
    row = x[0]
    row += 1
    x[:, 1].mul_(5)
    x[1, 2] = 7
    assert x.tolist() == [[1, 5, 1], [0, 0, 7]]
    p = nn.Parameter(proflab.zeros(3))
    with proflab.no_grad():
        p += 2
        p[0] = 1
    assert p.tolist() == [1, 2, 2] and p.requires_grad and p.is_leaf
    p.data = proflab.ones(2)
    p.data.fill_(4)
    assert p.tolist() == [4, 4]


def test_reading_a_tensor():
    x = proflab.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    assert x.size() == (2, 2) and x.size(0) == 2 and x.dim() == 2 and x.numel() == 4
    assert x.T.tolist() == x.mT.tolist() == [[1, 3], [2, 4]]
    assert (
        float(x.sum()) == 10 and int(x[0, 1]) == 2 and bool(x[0, 0]) and f"{x.max():.1f}" == "4.0"
    )
    assert np.asarray(x).sum() == 10 and (np.ones(2, np.float32) @ x).tolist() == [4, 6]
    assert repr(x) == "Tensor([[1., 2.],\n        [3., 4.]])"
    assert repr(Tensor.meta((2,))) == "Tensor.meta((2,), dtype=float32)"
    values, places = x.max(1)
    assert values.tolist() == [2, 4] and places.tolist() == [1, 1]
    assert proflab.nonzero(x > 2).tolist() == [[1, 0], [1, 1]]
    assert F.one_hot(proflab.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert proflab.allclose(x, x + 1e-9) and not proflab.equal(x, x + 1)
    a, b = proflab.meshgrid(proflab.arange(2), proflab.arange(3), indexing="ij")
    assert a.shape == b.shape == (2, 3)


def test_copies():
    model = nn.Linear(2, 2)
    twin = copy.deepcopy(model)
    twin.weight.data.zero_()
    assert model.weight.detach().abs().sum() > 0
    again = pickle.loads(pickle.dumps(model))
    assert proflab.equal(again.weight, model.weight) and isinstance(again.weight, nn.Parameter)


def test_example_inputs():
    x = proflab.example_input(models.LeNet5(), (2, 1, 32, 32))
    assert x.dtype == proflab.float32 and x.shape == (2, 1, 32, 32)
    assert proflab.equal(x, proflab.example_input(None, (2, 1, 32, 32)))
    model = models.GPT2(vocab_size=5, context=8, d_model=4, layers=1, heads=1)
    tokens = proflab.example_input(model, (2, 8))
    assert tokens.dtype == proflab.int64 and 0 <= tokens.min() and tokens.max() < 5
    assert proflab.example_input(model, tokens) is tokens
    assert proflab.example_input(model, tokens, meta=True).is_meta
    pair = proflab.example_input(None, (x, (2, 3)), meta=True)
    assert [t.shape for t in pair] == [(2, 1, 32, 32), (2, 3)] and all(t.is_meta for t in pair)
    for bad in [(2, 0), (2, -1), (1.5,), "ab"]:
        with pytest.raises(ValueError, match="positive integers"):
            proflab.example_input(None, bad)


r, m = proflab.randn, Tensor.meta
BAD = {
    "add": (lambda: r(2, 3) + r(4), r"add: .*\(2, 3\), \(4,\)"),
    "add meta": (lambda: m((2, 3)) + r(4), r"add: .*\(2, 3\), \(4,\)"),
    "matmul": (lambda: r(2, 3) @ r(4, 5), r"matmul: .*\(2, 3\), \(4, 5\)"),
    "matmul dtype": (lambda: r(2, 2) @ r(2, 2).double(), "matmul: .*float32 and float64"),
    "linear": (lambda: nn.Linear(3, 4)(r(2, 5)), r"linear: .*\(2, 5\), \(4, 3\)"),
    "linear dtype": (lambda: nn.Linear(3, 4)(proflab.ones(2, 3).long()), "linear: .*int64"),
    "conv channels": (lambda: nn.Conv2d(3, 4, 3)(r(1, 2, 5, 5)), r"conv2d: .*\(1, 2, 5, 5\)"),
    "conv size": (lambda: nn.Conv2d(3, 4, 3)(r(1, 3, 2, 2)), "conv2d: a window of 3"),
    "conv size meta": (lambda: nn.Conv2d(3, 4, 3)(m((1, 3, 2, 2))), "conv2d: a window of 3"),
    "conv groups": (lambda: nn.Conv2d(3, 4, 3, groups=2), "Conv2d: 2 groups"),
    "conv same stride": (lambda: F.conv2d(r(1, 1, 4, 4), r(1, 1, 3, 3), stride=2, padding="same"),
                         "same"),
    "negative layer": (lambda: nn.Linear(-1, 2), "Linear: in_features is -1"),
    "conv stride": (lambda: F.conv2d(r(1, 1, 4, 4), r(1, 1, 3, 3), stride=0), "conv2d: stride 0"),
    "pool dilation": (lambda: F.max_pool2d(r(1, 4, 4), 2, dilation=0), "max_pool2d: .*dilation 0"),
    "three sizes": (lambda: F.max_pool2d(r(1, 1, 4, 4), (2, 2, 2)), "one size for both"),
    "no windows": (lambda: F.adaptive_max_pool2d(r(1, 1, 4, 4), 0), r"\(0, 0\) does not divide"),
    "pixel shuffle": (lambda: F.pixel_shuffle(r(1, 4, 2, 2), 0), "pixel_shuffle: 0²"),
    "pixel shuffle dims": (lambda: F.pixel_shuffle(r(4, 2, 2), 2), r"pixel_shuffle: .*\(4, 2, 2\)"),
    "interpolate dims": (lambda: F.interpolate(r(1, 2, 3), 6), "interpolate: .* four dimensions"),
    "pool": (lambda: F.max_pool2d(r(1, 1, 2, 2), 3), "max_pool2d: a window of 3"),
    "layer norm": (lambda: nn.LayerNorm(4)(r(2, 3)), r"layer_norm: .*\(2, 3\)"),
    "group norm": (lambda: F.group_norm(r(2, 4), 0), "group_norm: 0 groups"),
    "rms norm": (lambda: F.rms_norm(r(2, 3), 4), r"rms_norm: .*\(2, 3\) are not \(4,\)"),
    "batch norm": (lambda: nn.BatchNorm2d(4)(r(2, 3, 4, 4)), r"batch_norm: .*\(2, 3, 4, 4\)"),
    "batch norm dims": (lambda: nn.BatchNorm2d(4)(r(2, 4)), r"BatchNorm2d: .*\(2, 4\)"),
    "batch norm one": (lambda: nn.BatchNorm1d(4)(r(1, 4)), r"batch_norm: one value.*\(1, 4\)"),
    "reshape": (lambda: r(2, 3).reshape(4, -1), r"reshape: 6 elements .*\(4, -1\)"),
    "reshape meta": (lambda: m((2, 3)).view(5), r"reshape: 6 elements .*\(5,\)"),
    "view": (lambda: r(2, 3).T.view(6), r"view: .*\(3, 2\)"),
    "view meta": (lambda: m((2, 3)).T.view(6), r"view: .*\(3, 2\)"),
    "cat": (lambda: proflab.cat([r(2, 3), r(3, 4)]), r"cat: .*\(2, 3\), \(3, 4\)"),
    "stack": (lambda: proflab.stack([r(2), r(3)]), r"stack: .*\(2,\), \(3,\)"),
    "nothing to stack": (lambda: proflab.hstack([]), "there are no tensors"),
    "meshgrid": (lambda: proflab.meshgrid(r(2), r(3), indexing="yx"), "meshgrid: .*'yx'"),
    "movedim": (lambda: r(2, 3).movedim(5, 0), "no dimension 5"),
    "split": (lambda: r(5).split([2, 2]), r"split: .*\(5,\)"),
    "pad": (lambda: F.pad(r(2, 3), (-4, 9)), r"pad: 4 numbers .* dimension 1 of size 3 .*\(2, 3\)"),
    "pad that grows first": (lambda: F.pad(r(2, 3), (5, -4)), "pad: 4 numbers cannot be cut"),
    "pad meta": (lambda: F.pad(m((2, 3)), (0, 0, -3, 7)), "pad: 3 .* dimension 0 of size 2"),
    "dim": (lambda: r(2, 3).sum(2), r"sum: .*\(2, 3\)"),
    "product": (lambda: r(2, 3).prod((0, 1)), r"prod: takes one dimension, not \(0, 1\)"),
    "argmax": (lambda: r(2, 3).argmax((0, 1)), "argmax: takes one dimension"),
    "argmin meta": (lambda: m((2, 3)).argmin((0, 1)), "argmin: takes one dimension"),
    "norm": (lambda: r(3).norm(0), "norm: p is 0"),
    "arange": (lambda: proflab.arange(0, 5, 0), "arange: .* 0 to 5"),
    "from numpy": (lambda: proflab.from_numpy([1.0]), "from_numpy: a list"),
    "transpose": (lambda: r(2, 3).transpose(0, 2), "no dimension 2"),
    "index": (lambda: r(2, 3)[5], r"getitem: .*\(2, 3\)"),
    "index meta": (lambda: m((2, 3))[5], r"getitem: .*\(2, 3\)"),
    "too many indices": (lambda: r(2)[0, 0], r"getitem: .*\(2,\)"),
    "float index": (lambda: r(2)[r(2)], r"getitem: .*float32.*\(2,\)"),
    "boolean index on meta": (lambda: m((3,))[m((3,), bool)], "index: .*depends on data"),
    "embedding": (lambda: nn.Embedding(3, 2)(proflab.tensor([3])), "embedding: .*0 to 2"),
    "embedding dtype": (lambda: nn.Embedding(3, 2)(r(2)), "embedding: .*float32"),
    "einsum": (lambda: proflab.einsum("ij,jk->ik", r(2, 3), r(4, 5)), "einsum: the label 'j'"),
    "einsum operands": (lambda: proflab.einsum("ij,jk->ik", r(2, 3)), "einsum: .*2 operands of 1"),
    "attention": (lambda: F.scaled_dot_product_attention(r(2, 3), r(2, 4), r(2, 4)),
                  r"scaled_dot_product_attention: .*\(2, 3\), \(2, 4\)"),
    "heads": (lambda: nn.MultiheadAttention(10, 3), "MultiheadAttention: 3 heads"),
    "cross entropy": (lambda: F.cross_entropy(r(1, 3), proflab.tensor([3])), "nll_loss: .*0 to 2"),
    "cross entropy shape": (lambda: F.cross_entropy(r(2, 3), proflab.tensor([0])),
                            r"nll_loss: .*\(2, 3\), \(1,\)"),
    "deprecated": (lambda: F.mse_loss(r(2), r(2), size_average=False), "mse_loss.*size_average"),
    "by position": (lambda: F.cross_entropy(r(1, 2), proflab.tensor([0]), r(2), True),
                    "cross_entropy.* positional"),
    "mse": (lambda: F.mse_loss(r(2), r(3)), r"mse_loss: .*\(2,\) and \(3,\)"),
    "mean of integers": (lambda: proflab.arange(3).mean(), "mean: .*int64"),
    "softmax dim": (lambda: r(2).softmax(3), r"softmax: .*\(2,\)"),
    "masked fill": (lambda: r(2).masked_fill(r(2), 0), r"masked_fill: .*float32"),
    "one hot": (lambda: F.one_hot(proflab.tensor([3]), 3), "one_hot: .*0 to 2"),
    "causal": (lambda: nn.TransformerEncoderLayer(4, 2)(r(3, 1, 4), is_causal=True), "is_causal"),
    "causal layers": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1)(
                          r(3, 1, 4), is_causal=True), "is_causal"),
    "truncated": (lambda: nn.init.trunc_normal_(r(2), std=0.02, a=1.0), "trunc_normal_: .*to 2"),
    "one bound": (lambda: nn.init.trunc_normal_(r(2), a=1, b=1), "trunc_normal_: .*1 to 1"),
    "a loop over a scalar": (lambda: list(r(())), "without dimensions has no length"),
    "fan": (lambda: nn.init.kaiming_normal_(r(2, 2), mode="fan_sum"), "'fan_sum'"),
    "optimizer": (lambda: proflab.optim.SGD(nn.Linear(2, 2).weight), "SGD: params is a Parameter"),
    "a model": (lambda: proflab.optim.Adam(nn.Linear(2, 2)), "Adam: params is a Linear"),
    "dropout of channels": (lambda: F.dropout2d(r(1, 1, 2, 2), 1.5), "dropout: p is 1.5"),
    "dropout": (lambda: nn.Dropout(1.5), "Dropout: p is 1.5"),
    "item": (lambda: r(2).item(), r"item: .*\(2,\)"),
    "data of meta": (lambda: m((2, 3)).numpy(), r"numpy: a meta tensor of shape \(2, 3\)"),
    "item of meta": (lambda: m(()).item(), "item: a meta tensor"),
    "list of meta": (lambda: m((2,)).tolist(), "tolist: a meta tensor"),
    "truth of meta": (lambda: bool(m(())), "item: a meta tensor"),
    "array of meta": (lambda: np.asarray(m((2,))), "numpy: a meta tensor"),
    "meta to cpu": (lambda: m((2,)).to("cpu"), "to: a meta tensor"),
    "numpy in the graph": (lambda: r(2).requires_grad_().numpy(), r"numpy: .*\(2,\)"),
    "an array": (lambda: nn.Linear(2, 2)(np.ones((1, 2))), "linear: .*ndarray, Parameter"),
    "text": (lambda: Tensor(["a"]), "Tensor: no tensor"),
    "integer gradient": (lambda: Tensor([1], requires_grad=True), "Tensor: only floating"),
    "backward": (lambda: (r(2).requires_grad_() * 2).backward(), r"backward: .*\(2,\)"),
    "backward of a number": (lambda: (r(2).requires_grad_() * 2).backward(1.0),
                             "backward: .*a float, not a Tensor"),
    "gradient of two": (lambda: proflab.autograd.grad([r(1), r(1)], r(1)), "one output, not 2"),
    "backward shape": (lambda: (r(2).requires_grad_() * 2).backward(r(3)), r"backward: .*\(3,\)"),
    "second derivatives": (lambda: (r(1).requires_grad_() * 2).backward(create_graph=True),
                           "backward: create_graph"),
    "backward without": (lambda: r(2).sum().backward(), "backward: .*requires no gradient"),
    "leaf in place": (lambda: r(2).requires_grad_().add_(1), r"in-place: a leaf .*\(2,\)"),
    "leaf setitem": (lambda: r(2).requires_grad_().__setitem__(0, 1), r"setitem: a leaf .*\(2,\)"),
    "part in place": (lambda: (r(2, 3).requires_grad_() * 1)[0].add_(1), r"add_: .*\(3,\)"),
    "in place shape": (lambda: r(1).add_(r(3)), r"add_: .*\(3,\)"),
    "in place dtype": (lambda: proflab.arange(3).add_(0.5), "add_: .*int64"),
    "device": (lambda: r(2).to("cuda"), "'cuda'"),
    "context": (lambda: models.GPT2(5, 4, 4, 1, 1)(proflab.zeros(1, 5).long()), "GPT2: 5 tokens"),
    "gpt2 size": (lambda: models.gpt2("huge"), "gpt2: .*'huge'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence(name):
    run, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError, RuntimeError), match=sentence) as error:
        run()
    assert "\n" not in str(error.value)


def test_a_number_on_the_left_keeps_its_value():
    """As in torch; in the tensor's own dtype 2.5 would be 2, and 2 would be True."""
    two, yes = proflab.tensor([2]), proflab.tensor([True])
    assert (2.5**two).tolist() == proflab.pow(2.5, two).tolist() == [6.25]
    assert proflab.mul(2.5, two).tolist() == [5.0] and proflab.sub(2.5, two).tolist() == [0.5]
    assert proflab.div(1.5, two).tolist() == [0.75] and proflab.add(2, yes).tolist() == [3]
    assert proflab.where(yes, two, 0.5).tolist() == proflab.where(~yes, 0.5, two).tolist() == [2.0]
    assert proflab.where(~yes, two, 0.5).tolist() == proflab.where(yes, 0.5, two).tolist() == [0.5]
    assert (2**two).dtype == two.dtype and (2.5 ** Tensor([2.0]).double()).dtype == proflab.float64


def test_a_bound_that_is_no_integer_makes_floats():
    bounded = proflab.arange(3).clamp(min=0.5)
    assert bounded.tolist() == [0.5, 1.0, 2.0] and bounded.dtype == proflab.float32
    assert proflab.arange(3).clamp(1).dtype == proflab.int64


def test_the_gradient_of_a_single_input_is_asked_for():
    w, b = Tensor([[1.0], [2.0]], requires_grad=True), Tensor([3.0], requires_grad=True)
    (w * b).sum().backward(inputs=w)
    assert w.grad.tolist() == [[3.0], [3.0]] and b.grad is None


def test_a_tensor_of_a_tensor_keeps_its_dtype():
    assert proflab.tensor(proflab.zeros(2, dtype=proflab.float64)).dtype == proflab.float64


@pytest.mark.parametrize("norm", [
    lambda x, bias: F.layer_norm(x, 3, None, bias),
    lambda x, bias: F.group_norm(x, 3, None, bias),
    lambda x, bias: F.batch_norm(x, None, None, None, bias, training=True),
])  # fmt: skip
def test_a_norm_takes_a_bias_without_a_weight(norm):
    x, bias = r(4, 3), Tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = norm(x, bias)
    assert proflab.allclose(out, norm(x, None) + bias, atol=1e-6)
    out.sum().backward()
    assert bias.grad.tolist() == [4.0, 4.0, 4.0]


def test_a_logsumexp_of_infinities_is_one_of_them():
    rows = Tensor([[-math.inf, -math.inf], [math.inf, 0.0], [0.0, 0.0]])
    assert rows.logsumexp(1).tolist() == pytest.approx([-math.inf, math.inf, math.log(2)])


def test_a_norm_is_of_any_order_but_zero():
    values = Tensor([1.0, -2.0, 4.0])
    assert values.norm(-1).item() == pytest.approx(4 / 7)
    assert values.norm(-math.inf).item() == 1 and values.norm(math.inf).item() == 4


def test_normal_numbers_without_spread_are_their_mean():
    assert nn.init.trunc_normal_(proflab.zeros(2), mean=1.0, std=0.0).tolist() == [1.0, 1.0]


def test_backward_twice_says_which_graph_is_gone():
    w = r(3, 2).requires_grad_()
    out = (r(4, 3) @ w).sum()
    out.backward()
    with pytest.raises(RuntimeError, match="sum: backward a second time"):
        out.backward()
    out = (r(4, 3) @ w).sum()
    out.backward(retain_graph=True)
    out.backward()


@pytest.mark.parametrize(
    "run, name",
    [
        (lambda: nn.LSTM(2, 3), "LSTM"),
        (lambda: F.grid_sample, "grid_sample"),
        (lambda: proflab.fft, "fft"),
        (lambda: r(2).svd(), "svd"),
        (lambda: proflab.optim.LBFGS, "LBFGS"),
        (lambda: nn.Linear(1, 1).nothing, "nothing"),
    ],
)
def test_an_unknown_name_is_named(run, name):
    with pytest.raises(AttributeError, match=name):
        run()
    assert not hasattr(proflab, name) and not hasattr(r(2), name)


def test_a_tensor_that_was_taken_for_a_model_says_so():
    with pytest.raises(AttributeError, match="^a Tensor is not a model: it has no 'parameters'$"):
        r(2).parameters()
    assert not hasattr(r(2), "train")
    with pytest.raises(AttributeError, match="docs/torch.md"):
        r(2).svd()


def test_names_that_do_not_exist_cannot_be_imported():
    with pytest.raises(ImportError, match="LSTM"):
        from proflab.nn import LSTM  # noqa: F401


def test_numpy_prints_no_warning_where_torch_is_silent(recwarn):
    x = proflab.tensor([0.0, -1.0, 1000.0], requires_grad=True)
    for y in (x.log(), x / 0, 1 / x, x.exp(), x.sqrt(), x**-1.5, x.sigmoid(), x.var(0),
              proflab.zeros(0).mean(), proflab.ones(1).var(), F.softplus(x)):  # fmt: skip
        if y.requires_grad:
            y.sum().backward()
    assert not recwarn.list


def test_sizes_are_no_values():
    with pytest.raises(TypeError, match=r"proflab.empty\(2, 3\)"):
        Tensor(2, 3)
    assert proflab.zeros(2, 3).scatter_(1, proflab.tensor([[0], [2]]), 1.0).sum().item() == 2
    x = proflab.tensor([1.0, -2.0])
    assert x.where(x > 0, 0.0).tolist() == [1.0, 0.0]
