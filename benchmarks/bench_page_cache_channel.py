"""Measure what the timing of reads carries from one submission to another, in bits per second.

    python benchmarks/bench_page_cache_channel.py

One submission reads some pages of a file that all see, or looks up some names that do not exist;
a later one times the same and tells which they were. Nobody but the file's owner can put such a
page out of memory, so each serves once; what counts is how many there are, and how fast they are
written and read. The rows differ in where the file lies: on a disk, on a disk but wholly read
beforehand, in memory (tmpfs). Rates count what the errors leave: 1 - H(errors) of each bit.
"""

from __future__ import annotations

import json
import math
import os
import platform
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from record import recording

from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.run import bubblewrap
from proflab_course.grading.run.sandbox_runner import SandboxRunner

ROOT = Path(__file__).resolve().parents[1]
BITS, STRIDE, NAMES, TRIALS = 512, 256 * 1024, 48, 5
SEEN = "/proflab/library/shared"  # where the submissions see the folder
PAGES = f"""
import json, os, time
file = os.open("{SEEN}/data", os.O_RDONLY)
def touch(bit):
    os.pread(file, 1, bit * {STRIDE})
"""
LOOKUPS = f"""
import json, os, time
def touch(bit):
    for number in range({NAMES}):
        os.access(f"{SEEN}/{{secret}}-{{bit}}-{{number}}", os.F_OK)
"""
SEND = """
start = time.perf_counter()
for bit in {ones}:
    touch(bit)
print(time.perf_counter() - start)
"""
RECEIVE = f"""
start, times = time.perf_counter(), []
for bit in range({BITS}):
    before = time.perf_counter_ns()
    touch(bit)
    times.append(time.perf_counter_ns() - before)
print(json.dumps([time.perf_counter() - start, times]))
"""


@dataclass(frozen=True)
class Row:
    """One way, measured: the share of wrong bits, and seconds to write and to read all."""

    errors: float
    send: float
    receive: float

    @property
    def rate(self) -> float:
        """Bits a second that came across, writing and reading; 0 where it may be chance."""
        if abs(self.errors - 0.5) < 3 * 0.5 / math.sqrt(TRIALS * BITS / 2):
            return 0.0
        p = self.errors
        entropy = 0.0 if p == 0 else -p * math.log2(p) - (1 - p) * math.log2(1 - p)
        return BITS * (1 - entropy) / (self.send + self.receive)


def evict(place: Path) -> None:
    """Put the file out of memory, which only its owner can."""
    with open(place / "data", "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_all(place: Path) -> None:
    """Read the file into memory as a whole."""
    evict(place)
    (place / "data").read_bytes()


def one_trial(runner: SandboxRunner, way: str, seed: int) -> Row:
    """Send random bits from one submission, receive them in the next."""
    bits = random.Random(seed).choices((0, 1), k=BITS)
    ones = [number for number, bit in enumerate(bits) if bit]
    way = way.replace("{secret}", f"name{seed}")
    sent = run(runner, way + SEND.replace("{ones}", str(ones)))
    seconds, times = json.loads(run(runner, way + RECEIVE))
    # Half of the bits are known to both, as a training sequence: they give the threshold.
    known, told = range(0, BITS, 2), range(1, BITS, 2)
    quick = median(times[n] for n in known if bits[n])
    slow = median(times[n] for n in known if not bits[n])
    threshold = math.sqrt(quick * slow)
    wrong = sum((times[n] < threshold) != bits[n] for n in told)
    return Row(wrong / len(told), float(sent), seconds)


def run(runner: SandboxRunner, code: str) -> str:
    """Return what a submission of this cell prints."""
    result = runner.run(Submission("x"), (RunCell(code),))
    return "".join(output.get("text", "") for output in result.replies[0][0].outputs)


def measure(place: Path, way: str, before: Callable[[Path], None]) -> Row:
    """Return the median of several trials, with `place` bound where all submissions see it."""
    binds = bubblewrap.package_binds
    bubblewrap.package_binds = lambda: [*binds(), (str(place), SEEN)]
    try:
        rows = []
        with SandboxRunner(Limits()) as runner:
            runner.warm()
            for seed in range(TRIALS):
                before(place)
                rows.append(one_trial(runner, way, seed))
    finally:
        bubblewrap.package_binds = binds
    errors = sum(row.errors for row in rows) / TRIALS
    return Row(errors, median(row.send for row in rows), median(row.receive for row in rows))


def make(parent: Path) -> Path:
    """Make a folder with a file of random bytes that any user can read."""
    place = Path(tempfile.mkdtemp(prefix="proflab-channel-", dir=parent))
    place.chmod(0o755)
    with open(place / "data", "wb") as file:
        for _ in range(BITS):
            file.write(os.urandom(STRIDE))
    return place


def main() -> None:
    """Measure every way and print a table."""
    disk, memory = make(ROOT), make(Path("/dev/shm"))
    nothing = lambda place: None  # noqa: E731
    ways = {
        "pages of a file on disk": (disk, PAGES, evict),
        "pages of a file on disk, all read before": (disk, PAGES, read_all),
        "pages of a file in memory": (memory, PAGES, nothing),
        "names in a folder on disk": (disk, LOOKUPS, nothing),
        "names in a folder in memory": (memory, LOOKUPS, nothing),
    }
    print(f"{platform.processor() or platform.machine()}, Linux {platform.release()}, {BITS} bits")
    print(f"{'':42} {'errors':>7} {'write ms':>9} {'read ms':>9} {'bits/s':>9}")
    try:
        for name, (place, way, before) in ways.items():
            row = measure(place, way, before)
            times = f"{1e3 * row.send:9.1f} {1e3 * row.receive:9.1f}"
            print(f"{name:42} {row.errors:7.1%} {times} {row.rate:9,.0f}", flush=True)
    finally:
        shutil.rmtree(disk)
        shutil.rmtree(memory)


if __name__ == "__main__":
    with recording(__file__, "Isolation: what the page cache would tell"):
        main()
