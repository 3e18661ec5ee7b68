"""The threads of numpy's BLAS: read, set for a while, and honest where they are not known."""

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
    with blas.with_blas_threads(1):
        assert blas.blas_threads() == 1
        with pytest.raises(KeyError), blas.with_blas_threads(2):
            assert blas.blas_threads() == 2
            raise KeyError
        assert blas.blas_threads() == 1
        assert (np.ones((8, 8)) @ np.ones((8, 8)) == 8).all()
    assert blas.blas_threads() == before


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="at least 1, not 0"), blas.with_blas_threads(0):
        pass


def test_where_the_library_is_not_known(unknown):
    assert blas.blas_threads() is None
    assert blas.blas_name() is None
    with pytest.raises(RuntimeError, match="cannot be set"), blas.with_blas_threads(1):
        pass


def test_libraries_are_looked_for_among_what_is_loaded(tmp_path, monkeypatch):
    package = tmp_path / "site" / "numpy"
    (package.parent / "numpy.libs").mkdir(parents=True)
    wheel = package.parent / "numpy.libs" / "libscipy_openblas64_-1.so"
    wheel.touch()
    (package.parent / "numpy.libs" / "libgfortran.so").touch()
    monkeypatch.setattr(np, "__file__", str(package / "__init__.py"))
    maps = tmp_path / "maps"
    maps.write_text(
        "7f0 r-xp 0 00:1 1 /opt/my libs/libmkl_rt.so.2\n7f1 r-xp 0 00:1 1 /lib/libc.so.6\n"
        "7f2 rw-p 0 00:0 0 \n7f3 rw-p 0 00:0 0 [heap]\n"
    )
    assert list(blas._loaded(maps)) == [wheel, Path("/opt/my libs/libmkl_rt.so.2")]
    assert list(blas._loaded(tmp_path / "none")) == [wheel]
