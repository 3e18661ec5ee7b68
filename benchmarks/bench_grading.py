"""`proflab grade` beside `nbgrader autograde`: the same hand-ins of lesson 01, in one run.

    python benchmarks/bench_grading.py            # 60 hand-ins, without and with demo cells
    python benchmarks/bench_grading.py --quick    # 10 hand-ins, without demo cells
    python benchmarks/bench_grading.py --growth   # 1,000 hand-ins: seconds and memory as it goes on

Each row grades the class twice, one hand-in and then all, in fresh courses: the first is the fixed
cost with one, the slope is the cost of one more. The programs take turns, so that a disturbance
meets all of them. Without demo cells: `proflab grade` skips them by itself; nbgrader gets hand-ins
and a lesson in which they were emptied beforehand. Isolation is on for `proflab grade`; nbgrader
has none. CPU is what all processes of a program used for one more, which a busy machine changes
little. Memory is the most that they took together, shared pages counted once (PSS).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from record import recording

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import sample_class  # noqa: E402
from grading_course import copy_course  # noqa: E402

LESSON = sample_class.LESSON
BIN = Path(sys.executable).parent
KINDS = ("complete", "half_done", "forgets_biases", "other_megabyte", "empty", "syntax_error")
PROFLAB = {
    "proflab grade --jobs 1": ["proflab", "grade", LESSON, "--jobs", "1"],
    "proflab grade --jobs 2": ["proflab", "grade", LESSON, "--jobs", "2"],
}
STOCK = {"nbgrader autograde": ["nbgrader", "autograde", LESSON]}


@dataclass(frozen=True)
class Run:
    """One program, run once: seconds, CPU seconds of all its processes, and bytes at most."""

    seconds: float
    cpu: float
    memory: int


def make_class(place: Path, count: int, demo: bool, stock: bool):
    """A course with `count` hand-ins, each text different from all others."""
    course = copy_course(place, [])
    texts = sample_class.make_all()
    for number in range(count):
        notebook = json.loads(texts[KINDS[number % len(KINDS)]])
        for cell in notebook["cells"]:
            if "grade_id" in cell["metadata"].get("nbgrader", {}) and cell["cell_type"] == "code":
                if cell["metadata"]["nbgrader"].get("solution"):
                    source = "".join(cell["source"])
                    cell["source"] = f"{source}\n# student {number}"
        if not demo and stock:
            empty_demos(notebook)
        folder = course.root / "submitted" / f"student_{number:04}" / LESSON
        folder.mkdir(parents=True)
        (folder / f"{LESSON}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    if not demo and stock:
        path = course.source(LESSON)
        lesson = json.loads(path.read_text("utf-8"))
        empty_demos(lesson)
        path.write_text(json.dumps(lesson), encoding="utf-8")
    if stock:
        # As a class is graded with nbgrader's own preprocessors, unsandboxed.
        (course.root / "jupyter_config.py").write_text(
            "c = get_config()\n"
            f"c.CourseDirectory.root = {str(course.root)!r}\n"
            'c.CourseDirectory.course_id = "proflab"\n'
        )
        run([*"nbgrader generate_assignment --force".split(), LESSON], course.root)
    return course


def empty_demos(notebook: dict) -> None:
    """Leave nothing to execute in cells that only show."""
    for cell in notebook["cells"]:
        if "demo" in cell["metadata"].get("tags", []):
            cell["source"] = ""


def run(words: list[str], folder: Path) -> Run:
    """Run a program to its end and watch what it takes."""
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PROFLAB_DEMO": "small",
    }
    began, used = time.perf_counter(), cpu_of_children()
    process = subprocess.Popen(
        [str(BIN / words[0]), *words[1:]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    most = [0]
    watch = threading.Thread(target=watch_memory, args=(process, most))
    watch.start()
    said, _ = process.communicate()
    seconds = time.perf_counter() - began
    watch.join()
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{said.decode(errors='replace')[-3000:]}")
    return Run(seconds, cpu_of_children() - used, most[0])


def cpu_of_children() -> float:
    """CPU seconds of all processes that this one, or one below it, has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch_memory(process: subprocess.Popen, most: list[int]) -> None:
    """Look now and then, seldom enough to cost nothing: how much all of its processes take."""
    while process.poll() is None:
        most[0] = max(most[0], tree_memory(process.pid))
        time.sleep(0.5)


def tree_memory(pid: int) -> int:
    """Bytes of a process and all below it, pages that they share counted once."""
    try:
        leader = psutil.Process(pid)
        family = [leader, *leader.children(recursive=True)]
    except psutil.Error:
        return 0
    total = 0
    for each in family:
        try:
            text = Path(f"/proc/{each.pid}/smaps_rollup").read_text()
            total += next(int(x.split()[1]) for x in text.splitlines() if x.startswith("Pss:"))
        except (OSError, StopIteration, psutil.Error):
            continue
    return total * 1024


def compare(count: int, demo: bool, rounds: int) -> None:
    """Grade one hand-in and `count`, with each program in turn, and print a table."""
    programs = STOCK | PROFLAB
    singles: dict[str, list[Run]] = {name: [] for name in programs}
    alls: dict[str, list[Run]] = {name: [] for name in programs}
    for _ in range(rounds):
        for size, results in ((1, singles), (count, alls)):
            for name, words in programs.items():
                stock = name in STOCK
                full = ["--full"] if demo and not stock else []
                with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
                    course = make_class(Path(place), size, demo, stock)
                    results[name].append(run([*words, *full], course.root))
    with_or_without = "with demo cells (--full)" if demo else "without demo cells"
    print(f"\n{count} hand-ins of {LESSON}, {with_or_without}, median of {rounds}")
    heads = ("one alone", "all", "one more", "ratio", "CPU", "memory")
    print(" " * 24 + "".join(f"{head:>10}" for head in heads))
    base = 0.0
    for name in programs:
        one, all_ = (median(r.seconds for r in runs[name]) for runs in (singles, alls))
        cpu_one, cpu_all = (median(r.cpu for r in runs[name]) for runs in (singles, alls))
        more, cpu = (all_ - one) / (count - 1), (cpu_all - cpu_one) / (count - 1)
        base = base or more
        memory = max(r.memory for r in alls[name])
        shown = (f"{one:.2f} s", f"{all_:.1f} s", f"{more * 1000:.0f} ms", f"{base / more:.1f}×")
        shown += (f"{cpu * 1000:.0f} ms", f"{memory / 1024**2:,.0f} MB")
        print(f"{name:<24}" + "".join(f"{each:>10}" for each in shown), flush=True)


def growth(count: int) -> None:
    """Grade a large class and print how seconds and memory develop."""
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
        course = make_class(Path(place), count, demo=False, stock=False)
        rows = watch_growth(course, count)
    print(f"\n{count:,} hand-ins of {LESSON}, without demo cells, --jobs 2")
    print(f"{'graded':>8}{'one more':>11}{'grader alone':>15}{'all processes':>15}")
    for graded, seconds, own, tree in rows:
        print(f"{graded:>8,}{seconds * 1000:>8.0f} ms{own:>12,.0f} MB{tree:>12,.0f} MB", flush=True)


def watch_growth(course, count: int, steps: int = 10) -> list[tuple[int, float, float, float]]:
    """(graded so far, seconds for one more lately, MB of the grader, MB of all) in `steps`."""
    process = subprocess.Popen(
        [str(BIN / "proflab"), *PROFLAB["proflab grade --jobs 2"][1:]],
        cwd=course.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows: list[tuple[int, float, float, float]] = []
    place, last, since = course.root / "autograded", 0, 0.0
    while process.poll() is None:
        time.sleep(0.2)
        done = len(list(place.glob("*"))) if place.is_dir() else 0
        now = time.perf_counter()
        if done and not since:
            last, since = done, now
        if done - last >= count // steps:
            own = psutil.Process(process.pid).memory_info().rss / 1024**2
            tree = tree_memory(process.pid) / 1024**2
            rows.append((done, (now - since) / (done - last), own, tree))
            last, since = done, now
    if process.returncode:
        sys.exit("proflab grade failed")
    return rows


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10 hand-ins, no demo cells")
    parser.add_argument("--growth", action="store_true", help="only 1,000 hand-ins, ours alone")
    parser.add_argument("--count", type=int, default=None, help="how many hand-ins")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    print(f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
          f"{cores} cores, load {load:.1f} before, isolation on for proflab")  # fmt: skip
    if load > 0.5 * cores:
        print("The machine was busy already: figures will be worse than they are on an idle one.")
    if shutil.which("bwrap") is None:
        sys.exit("bubblewrap is not installed, and grading without isolation is not measured here")
    if arguments.growth:
        return growth(arguments.count or 1_000)
    compare(arguments.count or (10 if arguments.quick else 60), False, arguments.rounds)
    if not arguments.quick:
        compare(arguments.count or 60, True, arguments.rounds)
    return None


if __name__ == "__main__":
    with recording(__file__, "Grading: a class"):
        main()
