"""A Dask cluster on this machine, for the tests of grading on one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest

distributed = pytest.importorskip("distributed")


@contextmanager
def local_cluster(n_workers: int = 1, processes: bool = False) -> Iterator:
    """Yield a cluster on the loopback interface, whose workers have one thread each.

    What it sets in the environment for its workers is taken back.
    """
    with (
        mock.patch.dict(os.environ),
        distributed.LocalCluster(
            n_workers=n_workers,
            processes=processes,
            threads_per_worker=1,
            silence_logs=50,
            host="127.0.0.1",
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
    ):
        yield cluster
