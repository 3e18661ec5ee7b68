"""Convolution and pooling in pieces of every size: what they are defined to be, both ways."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from proflab import Tensor
from proflab.nn import functional as F
from proflab.ops import conv, parts

# (batch, channels, h, w), (filters, kernel h, kernel w), stride, padding, dilation, groups
CASES = [
    ((3, 4, 11, 9), (2, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # few filters: by the columns of grad
    ((3, 2, 11, 9), (4, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # many: by those of the input
    ((2, 4, 10, 11), (4, 3, 2), (2, 3), (1, 0), (1, 1), 2),
    ((3, 6, 12, 10), (6, 3, 3), (1, 1), (2, 1), (2, 3), 6),
    ((5, 3, 4, 4), (5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((5, 3, 5, 4), (2, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 3, 5, 5), (3, 2, 2), (1, 1), (3, 3), (1, 1), 1),  # a border wider than a window
]


def by_definition(x, w, stride, padding, dilation, groups):
    """Return each window's products with the filters of its group, summed up."""
    (p, q), (d, e) = padding, dilation
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (q, q)))
    span = [d * (w.shape[2] - 1) + 1, e * (w.shape[3] - 1) + 1]
    windows = sliding_window_view(x, span, (2, 3))[:, :, :: stride[0], :: stride[1], ::d, ::e]
    windows = windows.reshape(len(x), groups, -1, *windows.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    out = np.einsum("ngchwij,gfcij->ngfhw", windows, filters)
    return out.reshape(len(x), len(w), *out.shape[3:])


@pytest.mark.parametrize("wide, cached", [(512, 2**18), (1, 1), (7, 1), (40, 1), (10**6, 1)])
@pytest.mark.parametrize("shape, filters, stride, padding, dilation, groups", CASES)
def test_pieces_of_any_size_give_the_same(
    shape, filters, stride, padding, dilation, groups, wide, cached, monkeypatch
):
    monkeypatch.setattr(conv, "_WIDE", wide)
    monkeypatch.setattr(conv, "_CACHED", cached)
    random, settings = np.random.default_rng(0), (stride, padding, dilation, groups)
    x, x2 = random.standard_normal((2, *shape))
    w, w2 = random.standard_normal((2, filters[0], shape[1] // groups, *filters[1:]))
    inputs = [Tensor(a, requires_grad=True, dtype="float64") for a in (x, w)]
    out = F.conv2d(*inputs, None, *settings)
    np.testing.assert_allclose(out.detach().numpy(), by_definition(x, w, *settings), atol=1e-12)
    grad = random.standard_normal(out.shape)
    out.backward(Tensor(grad, dtype="float64"))
    # The result is linear in each of the two: its gradient says what any other one would give.
    for place, other in enumerate(((x2, w), (x, w2))):
        expected = np.sum(grad * by_definition(*other, *settings))
        assert np.sum(inputs[place].grad.numpy() * other[place]) == pytest.approx(expected)


@pytest.mark.parametrize("bytes_cached", [1, 500, 2**20])
@pytest.mark.parametrize("stride, padding, dilation", [(1, 1, 1), (2, 1, 1), (3, 0, 2), (4, 1, 1)])
def test_pooling_in_parts_of_any_size(stride, padding, dilation, bytes_cached, monkeypatch):
    monkeypatch.setattr(parts, "_CACHED", bytes_cached)
    x = np.random.default_rng(0).permutation(2 * 3 * 11 * 10).reshape(2, 3, 11, 10) + 1.0
    tensor = Tensor(x, requires_grad=True, dtype="float64")
    out = F.max_pool2d(tensor, (3, 2), stride, padding, dilation)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    span = 2 * dilation + 1, dilation + 1
    windows = sliding_window_view(padded, span, (2, 3))[
        :, :, ::stride, ::stride, ::dilation, ::dilation
    ]
    np.testing.assert_array_equal(out.detach().numpy(), windows.max(axis=(4, 5)))
    grad = np.random.default_rng(1).standard_normal(out.shape)
    out.backward(Tensor(grad, dtype="float64"))
    largest = out.detach().numpy()
    expected = [grad[largest == value].sum() for value in x.reshape(-1)]  # no two are equal
    np.testing.assert_allclose(tensor.grad.numpy().reshape(-1), expected)


@pytest.mark.parametrize("size", [7, 1 << 14, (1 << 14) + 1, 50_000])
def test_relu_of_any_size(size):
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    x[:3] = np.nan, -np.inf, np.inf
    np.testing.assert_array_equal(F.relu(Tensor(x)).numpy(), np.where(x < 0, 0, x))
