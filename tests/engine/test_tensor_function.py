"""Functions of one's own: exp, a clipped one, several results, and gradient checkpointing."""

import numpy as np
import pytest

import proflab
from proflab import Tensor, nn


class Exp(proflab.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = (x * scale).exp()
        ctx.save_for_backward(y)
        ctx.scale = scale
        assert ctx.needs_input_grad == (True, False)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y * ctx.scale, None


class SumAndDifference(proflab.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b, a - b

    @staticmethod
    def backward(ctx, plus, minus):
        zero = 0 if plus is None or minus is None else None
        plus = zero if plus is None else plus
        minus = zero if minus is None else minus
        return plus + minus, plus - minus


class Checkpoint(proflab.Function):
    """Run a module without a graph, and again with one when gradients are asked for."""

    @staticmethod
    def forward(ctx, x, module):
        ctx.module = module
        ctx.save_for_backward(x)
        return module(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with proflab.enable_grad():
            ctx.module(x).backward(grad)
        return x.grad, None


def test_a_function_of_one_tensor():
    x = Tensor([0.5, -1.0], requires_grad=True)
    Exp.apply(x, 2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, -2.0]), rtol=1e-6)
    assert not Exp.apply(x, 2.0).is_leaf


def test_several_results_of_which_one_is_used():
    a, b = proflab.ones(2, requires_grad=True), proflab.ones(2, requires_grad=True)
    plus, minus = SumAndDifference.apply(a, b)
    (plus * 3 + minus).sum().backward()
    assert a.grad.tolist() == [4, 4] and b.grad.tolist() == [2, 2]
    SumAndDifference.apply(a, b)[1].sum().backward()
    assert a.grad.tolist() == [5, 5] and b.grad.tolist() == [1, 1]


def test_too_few_gradients_are_told():
    class Bad(Exp):
        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="Bad: backward returned 1 gradients for 2"):
        Bad.apply(Tensor([1.0], requires_grad=True), 2.0).sum().backward()


@pytest.mark.parametrize("meta", [False, True])
def test_checkpointing_saves_less_and_computes_more(meta):
    def build():
        proflab.manual_seed(0)
        return nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(4)))

    def run(use_checkpoints: bool):
        if meta:
            with proflab.meta():
                model = build()
            x = Tensor.meta((5, 8), requires_grad=True)
        else:
            model = build()
            x = proflab.example_input(None, (5, 8)).requires_grad_()
        kept, forwards = [], 0

        def h(call):
            nonlocal forwards
            forwards += call.op == "linear" and call.phase == "forward"
            return call()

        known = {p.storage for p in model.parameters()}

        def pack(t):
            if t.storage not in known:
                kept.append(t.nbytes)
            return t

        with proflab.dispatch.hook(h):
            with proflab.saved_tensors(pack, lambda t: t):
                y = x
                for layer in model:
                    y = Checkpoint.apply(y, layer) if use_checkpoints else layer(y)
            y.sum().backward()
        return sum(kept), forwards, [x.grad, *(p.grad for p in model.parameters())]

    plain_bytes, plain_forwards, plain = run(False)
    few_bytes, more_forwards, checked = run(True)
    assert few_bytes < plain_bytes and (plain_forwards, more_forwards) == (4, 8)
    for a, b in zip(plain, checked, strict=True):
        assert a.shape == b.shape
        if not meta:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_one_gradient_returned_twice_is_not_shared():
    class Both(proflab.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            twice = grad * 2
            return twice, twice

    a, b = proflab.ones(2, requires_grad=True), proflab.ones(2, requires_grad=True)
    Both.apply(a, b).sum().backward()
    a.grad.zero_()
    assert b.grad.tolist() == [2, 2]
