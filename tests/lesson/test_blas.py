"""The threads of numpy's BLAS: read, set for a while, and honest where they are not known."""

import sys
from pathlib import Path

import numpy as np
import pytest

from proflab.lesson import blas

known = pytest.mark.skipif(blas.blas_threads() is None, reason="numpy's BLAS is not known here")


@pytest.fixture
def unknown(monkeypatch):
    monkeypatch.setattr(blas, "_library", lambda: None)


def test_numpys_wheels_are_known():
    """What `pip install numpy` brings on Linux and Windows is OpenBLAS; elsewhere None is fine."""
    beside = Path(np.__file__).parent.parent / "numpy.libs"
    if any("openblas" in path.name for path in beside.glob("*")):
        assert blas.blas_threads() >= 1
        assert blas.blas_name().startswith("OpenBLAS ")


@known
def test_threads_are_set_within_and_put_back_also_after_an_exception():
    before = blas.blas_threads()
    with blas.on_threads(1):
        assert blas.blas_threads() == 1
        with pytest.raises(KeyError), blas.on_threads(2):
            assert blas.blas_threads() == 2
            raise KeyError
        assert blas.blas_threads() == 1
        assert (np.ones((8, 8)) @ np.ones((8, 8)) == 8).all()
    assert blas.blas_threads() == before


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="at least 1, not 0"), blas.on_threads(0):
        pass


def test_where_the_library_is_not_known(unknown):
    assert blas.blas_threads() is None
    assert blas.blas_name() is None
    with blas.on_threads(2):  # what cannot be set stays, and nothing stops
        assert (np.ones((8, 8)) @ np.ones((8, 8)) == 8).all()


class Library:
    """A library as threadpoolctl describes one."""

    num_threads = 4

    def __init__(self, filepath, internal_api="openblas", version="0.3.9.dev", **others):
        self.filepath, self.internal_api, self.version = str(filepath), internal_api, version
        vars(self).update(others)


@pytest.fixture
def loaded(monkeypatch):
    """Set the BLAS libraries that threadpoolctl finds, in the order of their loading."""

    def load(*libraries):
        class Controller:
            lib_controllers = list(libraries)

            def select(self, user_api):
                assert user_api == "blas"
                return self

        monkeypatch.setattr("threadpoolctl.ThreadpoolController", Controller)
        blas._library.cache_clear()

    yield load
    blas._library.cache_clear()


def test_the_library_beside_numpy_is_taken_before_scipys(loaded, tmp_path, monkeypatch):
    package = tmp_path / "site" / "numpy"
    monkeypatch.setattr(np, "__file__", str(package / "__init__.py"))
    scipys = Library(tmp_path / "site/scipy.libs/libscipy_openblas.so", architecture="Zen")
    own = Library(tmp_path / "site/numpy.libs/libscipy_openblas64_.so", architecture="Haswell")
    loaded(scipys, own)
    assert (blas.blas_name(), blas.blas_threads()) == ("OpenBLAS 0.3.9 (Haswell)", 4)
    loaded(scipys)
    assert blas.blas_name() == "OpenBLAS 0.3.9 (Zen)"
    loaded()
    assert blas.blas_name() is None and blas.blas_threads() is None


def test_a_library_that_says_little_is_named_all_the_same(loaded):
    loaded(Library("/opt/libmkl_rt.so.2", "mkl", "2024.2-Product"))
    assert blas.blas_name() == "MKL 2024.2"
    loaded(Library("/opt/libblis.so", "blis", None, architecture=None))
    assert blas.blas_name() == "BLIS"


def test_without_threadpoolctl_nothing_is_known(loaded, monkeypatch):
    loaded()
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert blas.blas_name() is None and blas.blas_threads() is None
