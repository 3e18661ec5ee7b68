"""A GPU lesson with its solutions, as a dict of names: what the scripts beside this work with."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]

from cohort.run import solved as cohort  # noqa: E402
from lesson_demos import beside  # noqa: E402

from proflab_course.course.notebook import read_module  # noqa: E402

LESSON = "10_cuda_roofline"
ROOFLINE = beside(LESSON, "roofline_document")
TRAINING = beside("11_gpu_training", "train_document")
PACKED = beside("11_gpu_training", "packed")
TRACES = beside("11_gpu_training", "trace_doubles")
MEASURED = ROOT / "modules" / TRAINING.LESSON  # the folder of what others measured
CONSTRUCTED = ROOT / "modules" / LESSON / "constructed_t4.json"
CARDS = CONSTRUCTED.with_name("cards.json")


def solved(name: str = LESSON) -> dict:
    """Return the names that the lesson's cells define, without its tests and demos."""
    return dict(cohort(f"lesson_{name[:2]}").scope)


def measures(scope: dict, name: str = LESSON, record: str = "record") -> dict:
    """Return kind → the function that measures its rows, as the lesson's device cells name them.

    record: the name of the cells' record whose kinds they are.
    """
    found: dict = {"record": {}, "anywhere": {}}
    folder = ROOT / "modules" / name
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # where the cells' own modules lie

    class Listing:
        def __init__(self, kinds):
            self.kinds = kinds

        def measure(self, kind, measure):
            self.kinds[kind] = measure

        def save(self):
            pass

    listings = {each: Listing(kinds) for each, kinds in found.items()}
    for cell in read_module(folder / f"{name}.py", name).cells:
        if "device" in cell.tags and "record" in cell.code:
            exec(compile(cell.code, cell.name, "exec"), scope | listings)
    return found[record]
