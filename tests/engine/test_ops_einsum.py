"""einsum where a dimension of size 1 stands under a label for more: it is used by all places."""

import numpy as np
import pytest

import proflab
from proflab import Tensor

CASES = [
    ("bij,bjk->bik", [(1, 4, 5), (3, 5, 6)]),
    ("...ij,...jk->...ik", [(2, 1, 4, 5), (3, 5, 6)]),
    ("ij,ij->", [(1, 4), (3, 4)]),
    ("ab,bc,cd->ad", [(2, 1), (3, 4), (1, 5)]),
    ("i,i->i", [(1,), (1,)]),
]


@pytest.mark.parametrize("equation, shapes", CASES)
def test_sizes_of_one_broadcast_as_in_numpy(equation, shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    tensors = [Tensor(a, requires_grad=True, dtype="float64") for a in arrays]
    result = proflab.einsum(equation, *tensors)
    np.testing.assert_allclose(result.detach().numpy(), np.einsum(equation, *arrays), rtol=1e-9)
    assert proflab.einsum(equation, *map(Tensor.meta, shapes)).shape == result.shape
    result.sum().backward()
    for i, tensor in enumerate(tensors):  # the sum is linear in each operand
        step = rng.standard_normal(shapes[i])
        moved = [a + step if j == i else a for j, a in enumerate(arrays)]
        change = np.einsum(equation, *moved).sum() - np.einsum(equation, *arrays).sum()
        np.testing.assert_allclose((tensor.grad.numpy() * step).sum(), change, rtol=1e-7)


def test_labels_are_letters_of_any_alphabet():
    x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[10.0, 1.0], [1.0, 0.0]])
    for plain, greek in (
        ("nd,nd->n", "βδ,βδ->β"),
        ("ij,ji->", "βδ,δβ->"),
        ("ij,jk->ik", "βδ,δγ->βγ"),
    ):
        assert proflab.einsum(greek, x, y).tolist() == proflab.einsum(plain, x, y).tolist()
