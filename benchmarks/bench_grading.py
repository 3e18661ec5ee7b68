"""`proflab grade` beside `nbgrader autograde`: the same hand-ins of lesson 01, in one run.

    python benchmarks/bench_grading.py                 # 40 right hand-ins, without demo cells
    python benchmarks/bench_grading.py --quick         # 10 of them
    python benchmarks/bench_grading.py --mixed         # of six kinds, right and wrong
    python benchmarks/bench_grading.py --demo          # with demo cells, on both sides
    python benchmarks/bench_grading.py --against v0.1  # and this program as it was then
    python benchmarks/bench_grading.py --growth        # 1,000: seconds and memory as it goes on

Each row grades the class twice in each round, one hand-in and then all, in fresh courses: the first
is the fixed cost with one, the slope is the cost of one more. The programs take turns, so that a
disturbance meets all of them; a row shows the median of its rounds. CPU is what the machine's
processors did meanwhile, less this program's own work, so leave the machine alone: processes that
nobody waits for count, too. The load is printed for each round. Without demo cells: `proflab grade`
skips them by itself; nbgrader gets hand-ins and a lesson in which they were emptied beforehand.
Isolation is on for `proflab grade`; nbgrader has none. Memory is the most that they took together,
shared pages counted once (PSS).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
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
RIGHT = ("complete",)
MIXED = (*RIGHT, "half_done", "forgets_biases", "other_megabyte", "empty", "syntax_error")
PROFLAB = ["proflab", "grade", LESSON]
STOCK = "nbgrader autograde"


@dataclass(frozen=True)
class Program:
    """A command that grades the class; the folder with its package, if not the installed one."""

    words: tuple[str, ...]
    package: Path | None = None


@dataclass(frozen=True)
class Run:
    """One program, run once: seconds, CPU seconds of all its processes, and bytes at most."""

    seconds: float
    cpu: float
    memory: int


def make_class(place: Path, count: int, demo: bool, stock: bool, kinds: tuple[str, ...] = MIXED):
    """Make a course with `count` hand-ins of these kinds, each text different from all others."""
    course = copy_course(place, [])
    texts = sample_class.make_all()
    for number in range(count):
        notebook = json.loads(texts[kinds[number % len(kinds)]])
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
        run(Program(("nbgrader", "generate_assignment", "--force", LESSON)), course.root)
    return course


def empty_demos(notebook: dict) -> None:
    """Leave nothing to execute in cells that only show."""
    for cell in notebook["cells"]:
        if "demo" in cell["metadata"].get("tags", []):
            cell["source"] = ""


def run(program: Program, folder: Path) -> Run:
    """Run a program to its end and watch what it takes."""
    words = program.words
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PROFLAB_DEMO": "small",
    }
    if program.package is not None:
        environment["PYTHONPATH"] = str(program.package)
    began, used = time.perf_counter(), cpu_of_others()
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
    return Run(seconds, cpu_of_others() - used, most[0])


def cpu_of_others() -> float:
    """Return the CPU seconds of all processes but this one, also of those nobody waits for."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    return sum(times[:8]) - idle - time.process_time()


def watch_memory(process: subprocess.Popen, most: list[int]) -> None:
    """Look now and then, seldom enough to cost nothing: how much all of its processes take."""
    while process.poll() is None:
        most[0] = max(most[0], tree_memory(process.pid))
        time.sleep(0.5)


def tree_memory(pid: int) -> int:
    """Return the bytes of a process and all below it, pages that they share counted once."""
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


def compare(arguments: argparse.Namespace, programs: dict[str, Program]) -> None:
    """Grade one hand-in and all of them, with each program in turn, and print a table."""
    count, kinds = arguments.count, MIXED if arguments.mixed else RIGHT
    rounds: list[dict[str, tuple[Run, Run]]] = []
    loads: list[float] = []
    for _ in range(arguments.rounds):
        found: dict[str, list[Run]] = {name: [] for name in programs}
        for size in (1, count):
            for name, program in programs.items():
                loads.append(os.getloadavg()[0])
                with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
                    stock = name == STOCK
                    course = make_class(Path(place), size, arguments.demo, stock, kinds)
                    found[name].append(run(program, course.root))
        rounds.append({name: (one, all_) for name, (one, all_) in found.items()})
    kind = "hand-ins of six kinds" if arguments.mixed else "right hand-ins"
    demo = "with demo cells (--full)" if arguments.demo else "without demo cells"
    print(
        f"\n{count} {kind} of {LESSON}, {demo}, median of {arguments.rounds}; "
        f"load {min(loads):.1f} to {max(loads):.1f}"
    )
    print_rows(rounds, count)


def print_rows(rounds: list[dict[str, tuple[Run, Run]]], count: int) -> None:
    """Print each program's row; one more: the slope in each round, and then the median."""
    print(f"{'':<26}{'CPU time':>28}{'time':>22}")
    heads = ("one alone", "one more", "of stock", "one alone", "one more", "memory")
    print(" " * 26 + "".join(f"{head:>11}" for head in heads))
    for name in rounds[0]:
        pairs = [found[name] for found in rounds]
        more = slope([(one.cpu, all_.cpu) for one, all_ in pairs], count)
        stock = slope([(one.cpu, all_.cpu) for one, all_ in (f[STOCK] for f in rounds)], count)
        wall = slope([(one.seconds, all_.seconds) for one, all_ in pairs], count)
        shown = (
            f"{median(one.cpu for one, _ in pairs):.2f} s",
            f"{more * 1000:.0f} ms",
            "" if name == STOCK else f"1/{stock / more:.1f}",
            f"{median(one.seconds for one, _ in pairs):.2f} s",
            f"{wall * 1000:.0f} ms",
            f"{max(all_.memory for _, all_ in pairs) / 1024**2:,.0f} MB",
        )
        print(f"{name:<26}" + "".join(f"{each:>11}" for each in shown), flush=True)


def slope(pairs: list[tuple[float, float]], count: int) -> float:
    """Return the median, over (with one, with all), of what one more takes."""
    return median((all_ - one) / (count - 1) for one, all_ in pairs)


def chosen_programs(arguments: argparse.Namespace, place: Path) -> dict[str, Program]:
    """Return the programs to compare; an earlier revision is put into `place`."""
    full = ["--full"] if arguments.demo else []
    one, two = ((*PROFLAB, *full, "--jobs", str(jobs)) for jobs in (1, 2))
    programs = {STOCK: Program(("nbgrader", "autograde", LESSON))}
    if arguments.against:
        archive = ["git", "-C", str(ROOT), "archive", arguments.against]
        packed = subprocess.run([*archive, "proflab", "proflab_course"], capture_output=True)
        if packed.returncode:
            sys.exit(packed.stderr.decode(errors="replace"))
        subprocess.run(["tar", "-x", "-C", str(place)], input=packed.stdout, check=True)
        programs[f"{arguments.against[:12]} --jobs 1"] = Program(one, place)
    now = {f"proflab grade --jobs {jobs}": Program(w) for jobs, w in ((1, one), (2, two))}
    return programs | now


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
    """Return (graded so far, seconds for one more, MB of the grader, MB of all) in `steps`."""
    process = subprocess.Popen(
        [str(BIN / "proflab"), *PROFLAB[1:], "--jobs", "2"],
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
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10 hand-ins")
    parser.add_argument("--mixed", action="store_true", help="six kinds, right and wrong")
    parser.add_argument("--demo", action="store_true", help="demo cells are executed, too")
    parser.add_argument("--against", metavar="REVISION", help="also this program as it was there")
    parser.add_argument("--growth", action="store_true", help="only 1,000 hand-ins, ours alone")
    parser.add_argument("--count", type=int, default=None, help="how many hand-ins")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    print(
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{cores} cores, load {load:.1f} before, isolation on for proflab"
    )
    if load > 0.5 * cores:
        print("The machine was busy already: figures will be worse than they are on an idle one.")
    if shutil.which("bwrap") is None:
        sys.exit("bubblewrap is not installed, and grading without isolation is not measured here")
    if arguments.growth:
        return growth(arguments.count or 1_000)
    arguments.count = arguments.count or (10 if arguments.quick else 40)
    with tempfile.TemporaryDirectory(prefix="proflab-before-") as place:
        compare(arguments, chosen_programs(arguments, Path(place)))
    return None


if __name__ == "__main__":
    with recording(__file__, "Grading: a class"):
        main()
