"""Set before numpy is imported: tests run side by side, so each process computes on one thread."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
