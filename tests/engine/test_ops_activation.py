"""erf, GELU, ties, ignored classes and small batches by exact values; dropout's statistics."""

import math

import numpy as np
import pytest

import proflab
from proflab import Tensor, nn
from proflab.nn import functional as F
from proflab.ops.pointwise import erf_array


def test_erf_in_float32_is_within_5e7_of_the_exact_one():
    x = np.concatenate([np.linspace(-6, 6, 40_001), [0, 1e-30, -1e-8, 40, -np.inf, np.inf]])
    x = x.astype(np.float32)
    exact = np.array([math.erf(v) for v in x.tolist()])
    got = erf_array(x)
    assert got.dtype == np.float32
    assert np.abs(got - exact).max() < 5e-7
    near = np.abs(x) < 1
    np.testing.assert_allclose(got[near], exact[near], rtol=1e-6)
    assert np.isnan(erf_array(np.array([np.nan], np.float32)))[0]


def test_gelu_is_exact_in_both_layouts_and_in_blocks():
    x = np.linspace(-8, 8, 60_000, dtype=np.float32).reshape(300, 200)
    exact = np.array([v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.ravel().tolist()])
    for layout in (x, np.asfortranarray(x)):
        got = F.gelu(Tensor(layout)).numpy()
        assert np.abs(got.ravel() - exact).max() < 3e-6
    tanh = F.gelu(Tensor(x), approximate="tanh").numpy()
    assert 1e-5 < np.abs(tanh.ravel() - exact).max() < 1e-3
    with pytest.raises(ValueError, match="'fast'"):
        F.gelu(Tensor(x), approximate="fast")


def test_equal_numbers_share_a_gradient_and_keep_their_order():
    x = Tensor([1.0, 2.0, 2.0], requires_grad=True)
    x.amax().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5]
    assert Tensor([2.0, 1.0, 2.0]).argsort(descending=True).tolist() == [0, 2, 1]


def test_label_smoothing_does_not_count_an_ignored_class():
    logits, heard = Tensor([[0.0, 2.0], [5.0, 1.0]]), proflab.tensor([1])
    both = F.cross_entropy(logits, proflab.tensor([1, -100]), label_smoothing=0.2)
    assert both.item() == F.cross_entropy(logits[:1], heard, label_smoothing=0.2).item()


def test_what_has_no_probability_adds_nothing_to_a_divergence():
    found = F.kl_div(Tensor([[0.5, 0.5]]).log(), Tensor([[0.0, 1.0]]), reduction="sum")
    assert found.item() == pytest.approx(math.log(2))


def test_the_running_variance_is_that_of_a_sample():
    norm = nn.BatchNorm1d(1, momentum=1.0)
    norm(Tensor([[1.0], [3.0]]))
    assert (norm.running_mean.tolist(), norm.running_var.tolist()) == ([2.0], [2.0])


def test_a_window_that_hangs_over_starts_inside():
    x = proflab.ones(1, 1, 5, 5)
    assert F.max_pool2d(x, 2, 3, padding=1, ceil_mode=True).shape == (1, 1, 2, 2)  # as in torch
    assert F.max_pool2d(x, 2, 2, ceil_mode=True).shape == (1, 1, 3, 3)


def test_softmax_neither_overflows_nor_hides_nan():
    x = Tensor([[1000.0, 1000.0], [-1000.0, 0.0]])
    assert x.softmax(1).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert F.log_softmax(x, 1).tolist()[1] == [-1000.0, 0.0]
    with np.errstate(invalid="ignore"):
        assert np.isnan(Tensor([math.nan, 1.0]).softmax(0).numpy()).all()


def test_dropout_in_training_and_in_eval():
    proflab.manual_seed(0)
    layer, x = nn.Dropout(0.25), proflab.ones(100, 100).requires_grad_()
    out = layer(x)
    assert set(np.unique(out.detach().numpy())) == {np.float32(0), np.float32(1 / 0.75)}
    assert (out == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    out.sum().backward()
    assert proflab.equal(x.grad, out.detach())
    layer.eval()
    assert layer(x) is x
    channels = nn.Dropout2d(0.5)(proflab.ones(8, 16, 3, 3))
    assert (channels.std((2, 3)) == 0).all()
    assert nn.Dropout(1.0)(proflab.ones(5)).tolist() == [0] * 5


def test_dropout_keeps_one_byte_an_element_on_data_and_on_meta():
    for x in (proflab.ones(4, 5).requires_grad_(), Tensor.meta((4, 5), requires_grad=True)):
        kept = []
        with proflab.saved_tensors(lambda t, kept=kept: kept.append(t) or t, lambda t: t):
            F.dropout(x, 0.5)
        assert [(t.dtype, t.nbytes) for t in kept] == [(proflab.bool, 20)]


def test_attention_with_dropout_is_composed_and_hides_nothing():
    q = proflab.randn(2, 3, 4, 8)
    ops = []

    def h(call):
        ops.append(call.op)
        return call()

    with proflab.dispatch.hook(h):
        F.scaled_dot_product_attention(q, q, q, dropout_p=0.5, is_causal=True)
    assert ops.count("matmul") == 2 and "dropout" in ops
    proflab.manual_seed(0)
    out = F.scaled_dot_product_attention(q, q, q, dropout_p=1e-9, is_causal=True)
    fused = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    np.testing.assert_allclose(out.numpy(), fused.numpy(), atol=1e-5)


def test_fused_attention_keeps_no_scores():
    q = proflab.randn(2, 3, 50, 8).requires_grad_()
    kept = []
    with proflab.saved_tensors(lambda t: kept.append(t.shape) or t, lambda t: t):
        F.scaled_dot_product_attention(q, q, q)
    assert (2, 3, 50, 50) not in kept and (2, 3, 50, 1) in kept


@pytest.mark.parametrize("layer", ["ReLU", "ReLU6", "GELU", "SiLU", "Hardswish", "Mish"])
def test_a_layer_calls_what_stands_in_functional(layer, monkeypatch):
    """As in torch: a program may try a function of its own in all layers of a model."""
    monkeypatch.setattr(F, layer.lower(), lambda input, *settings, **named: input + 1)
    assert getattr(nn, layer)()(Tensor([-1.0])).tolist() == [0.0]
