"""Views on meta tensors: shapes, strides, and whether memory is shared, against numpy's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import proflab
from proflab import Tensor
from proflab.shapes import broadcast, unbroadcast

MORE = settings(max_examples=150, deadline=None)


@st.composite
def views(draw):
    """A shape, and some steps that each make another view or copy."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    return (
        shape,
        [draw(st.integers(0, 5)) for _ in range(draw(st.integers(1, 5)))],
        draw(st.randoms(use_true_random=False)),
    )


def step(x, kind: int, random):
    """One step, chosen by numbers that depend on shapes only."""
    if kind == 0:
        return x.permute(random.sample(range(x.dim()), x.dim()))
    if kind == 1 and x.dim():
        return x[..., random.randint(0, x.shape[-1]) :: random.randint(1, 2)]
    if kind == 2 and x.dim() and x.shape[0]:
        return x[random.randrange(-x.shape[0], x.shape[0])]
    if kind == 3:
        return x.unsqueeze(-1).expand(*x.shape, 3)
    if kind == 4 and x.dim() > 1 and x.numel():
        return x.flatten(random.randrange(x.dim() - 1))
    n = x.numel()
    return x.reshape([d for d in (2, 3, n // 6) if d] if n and n % 6 == 0 else (-1,) if n else (0,))


@MORE
@given(views())
def test_a_view_on_meta_is_the_view_on_data(case):
    shape, kinds, random = case
    state = random.getstate()
    real, meta = Tensor(np.zeros(shape)), Tensor.meta(shape)
    start = real, meta
    results = []
    for x in start:
        random.setstate(state)
        for kind in kinds:
            x = step(x, kind, random)
        results.append(x)
    real, meta = results
    assert real.shape == meta.shape
    assert real.is_contiguous() == meta.is_contiguous()
    assert (real.storage == start[0].storage) == (meta.storage == start[1].storage)
    assert real.storage.nbytes == meta.storage.nbytes
    if real.numel():
        used = [i for i, n in enumerate(real.shape) if n > 1]
        assert [real.array.strides[i] for i in used] == [meta.array.strides[i] for i in used]


@MORE
@given(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), min_size=1, max_size=3))
def test_broadcast_is_numpys(shapes):
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        expected = None
    try:
        assert broadcast(*shapes) == expected
    except ValueError:
        assert expected is None
        return
    for shape in shapes:
        grad = np.ones(expected)
        back = unbroadcast(grad, shape)
        assert back.shape == shape and back.sum() == grad.sum()


def test_parts_of_one_tensor_share_its_storage():
    for x in (proflab.zeros(4, 6), Tensor.meta((4, 6))):
        for part in (*x.split(2, 1), *x.unbind(0), *x.chunk(2), x.T, x[None], x.detach()):
            assert part.storage == x.storage and part.storage.nbytes == 96
        for copy in (x.clone(), x + 0, x.T.reshape(-1), x[[0, 1]], x.repeat(1, 1), x.flip(0)):
            assert copy.storage != x.storage
