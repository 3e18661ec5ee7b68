"""The profiler in one file: what it prints and writes, and what it says where something lacks."""

from __future__ import annotations

import html.parser
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from assembled import assemble, course_profiler, expected_counts, names_of
from cohort.run import ROOT, entries

from proflab import meta
from proflab.lesson.hardware import Hardware
from proflab.standalone import main, svg
from proflab.standalone.measure import NEEDED, add_up_alike
from proflab.standalone.predict import NEEDED_TO_PREDICT
from proflab.standalone.zoo import CHOICES
from proflab_course.assemble.bundle import with_engine


@pytest.fixture(scope="module")
def assembled(once):
    """The instructor's solutions as one file."""
    return course_profiler(once)


@pytest.fixture(scope="module")
def names(assembled):
    """The names that it defines, with roofs that need no measuring."""
    return names_of(assembled)


@pytest.fixture(scope="module")
def with_numpy_alone(tmp_path_factory):
    """A Python in whose environment there is numpy, and nothing else."""
    folder = tmp_path_factory.mktemp("numpy")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = next(folder.glob("bin/python"), None) or folder / "Scripts" / "python.exe"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    ran = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    here = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (here / name).exists():
            os.symlink(here / name, Path(ran.stdout.strip()) / name)
    return python


def run(python, file: Path, *arguments, at: Path):
    command = [python, "-I", file, *arguments]
    return subprocess.run(command, cwd=at, capture_output=True, text=True)


def printed_counts(text: str) -> tuple[str, str]:
    lines = text.splitlines()
    found = [next(line for line in lines if line.startswith(n)) for n in ("parameters", "FLOPs of")]
    return tuple(line.split()[-1] for line in found)


# ── the file as it is run ────────────────────────────────────────────────────────────────────


@pytest.mark.proves
def test_one_file_with_numpy_alone_counts_as_the_lessons_do(assembled, with_numpy_alone, tmp_path):
    arguments = ["gpt2-small", "--batch", "2", "--tokens", "8", "--passes", "1"]
    ran = run(with_numpy_alone, assembled, *arguments, at=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert printed_counts(ran.stdout) == expected_counts("gpt2-small", (2, 8))
    assert "GPT-2 small, batch 2, 8 tokens: a forward pass" in ran.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(count in page for count in expected_counts("gpt2-small", (2, 8)))
    for said in (ran.stdout, page):  # pinned, though nothing is there that could set them later
        assert "matrix products: library unknown, threads 1" in said and "CPU time" in said
    others = ["psutil", "tqdm", "matplotlib", "threadpoolctl", "proflab"]
    ask = f"import importlib.util as u; print([n for n in {others}"
    ran = subprocess.run(
        [with_numpy_alone, "-I", "-c", ask + " if u.find_spec(n)])"],
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "[]\n"  # that is: nothing else was there


def test_without_words_it_explains_itself_by_an_example(assembled, with_numpy_alone, tmp_path):
    """Each line that it shows can be typed as it stands, and yields what it says."""
    ran = run(with_numpy_alone, assembled, at=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "") and not [*tmp_path.iterdir()]
    shown = ran.stdout.split(">>> ")
    assert shown[0].startswith("A profiler built in 01_parameters, ")
    results = dict(part.split("\n", 1) for part in shown[1:])
    found = {line.partition("(")[0]: value.strip() for line, value in results.items()}
    counts = expected_counts("lenet5", (1, 1, 32, 32))
    assert (found["my.count_parameters"], found["my.count_flops"]) == tuple(
        count.replace(",", "") for count in counts
    )
    lines = [line for line in results if "latency" not in line]
    shown_last = lines[-1].partition("  #")[0]
    typed = "\n".join([*lines[:-1], f"print(({shown_last}, recorder.rows))"])
    command = [with_numpy_alone, "-c", typed]
    ran = subprocess.run(command, cwd=assembled.parent, capture_output=True, text=True)
    named, rows = eval(ran.stdout)
    assert {row["op"] for row in rows} >= {"conv2d", "linear", "max_pool2d"}, ran.stderr
    # which ops took the most time is the machine's to say: the rows of the same run tell it
    own_ms = {row["op"]: 0.0 for row in rows}
    for row in rows:
        own_ms[row["op"]] += row["self_ms"]
    assert [own_ms[name] for name in named] == sorted(own_ms.values(), reverse=True)[:3]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_head_ends_it_without_a_traceback(assembled, with_numpy_alone):
    command = [with_numpy_alone, "-I", assembled]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # nobody reads
        assert process.stderr.read() == b""
    assert process.returncode


def test_what_the_example_lacks_is_named(capsys):
    def count_parameters(model):
        raise NotImplementedError

    def measure_latency(model, image):
        return model.time()

    names = {"count_parameters": count_parameters, "count_flops": len, "__file__": "mine.py"}
    names |= {"measure_latency": measure_latency}
    names["__doc__"] = "A profiler.\n\nTo be edited."
    assert main(names, {"count_parameters": "01_parameters"}, []) == 0
    said = capsys.readouterr().out
    assert "not written yet: count_parameters (01_parameters)\n" in said
    assert "TypeError: len() takes exactly one argument (2 given)\n" in said
    assert "AttributeError: LeNet5 has no attribute 'time'\n" in said
    assert "not written yet: OpRecorder (05_profiler)\n" in said
    assert said.startswith("A profiler.\n\nAn example") and "To be edited" not in said


def test_the_file_is_small(assembled):
    """Of what lessons import it carries what its commands use: it had 517,000 bytes once."""
    assert assembled.stat().st_size < 420_000


def test_what_is_not_installed_is_missed_only_where_it_is_used(
    assembled, with_numpy_alone, tmp_path
):
    code = f"""
import runpy
names = runpy.run_path({str(assembled)!r})
print(names["linear_parameters"](768, 3072))
names["MemoryProfiler"]().snapshot("now")  # psutil's stand-in reads it
"""
    ran = subprocess.run([with_numpy_alone, "-I", "-c", code], capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["2362368"] and not ran.returncode, ran.stderr
    carried = tmp_path / "carried.py"
    carried.write_text(with_engine("import nowhere\n\ndef f():\n    return nowhere.x\n"), "utf-8")
    code = f"""
import runpy
try:
    runpy.run_path({str(carried)!r})["f"]()
except ImportError as error:
    print(error)
"""
    ran = subprocess.run([with_numpy_alone, "-I", "-c", code], capture_output=True, text=True)
    assert ran.stdout == "nowhere is not installed here: pip install nowhere\n", ran.stderr


def solve(folder: Path, replaced: dict[str, str]) -> Path:
    """A student's folder: the instructor's notebooks, with some cells otherwise."""
    for source in sorted((ROOT / "source").glob("[0-9][0-9]_*")):
        target = folder / source.name / f"{source.name}.ipynb"
        target.parent.mkdir(parents=True)
        shutil.copy(source / target.name, target)
        notebook = nbformat.read(target, as_version=4)
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = replaced.get(name, cell.source)
        nbformat.write(notebook, target)
    return folder


@pytest.mark.whole
def test_a_students_own_folder_gives_the_same_counts(with_numpy_alone, tmp_path):
    replaced = {}
    for exercise, style in {"count_flops": "an object for a hook", "op_flops": None}.items():
        styles = entries("lesson_02", "ALTERNATES")[exercise]
        replaced[exercise] = styles[style] if style else next(iter(styles.values()))
    file = assemble(solve(tmp_path / "alice", replaced), tmp_path / "alice.py")
    assert "class Counter" in file.read_text(encoding="utf-8")
    ran = run(with_numpy_alone, file, "lenet5", "--train", "--passes", "1", at=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert printed_counts(ran.stdout) == expected_counts("lenet5", (1, 1, 32, 32), train=True)


@pytest.mark.whole
@pytest.mark.parametrize(
    "exercise, lesson",
    [
        ("measure_bandwidth", "06_roofline"),
        ("op_bytes", "05_profiler"),
    ],
)
def test_an_exercise_that_lacks_is_named_in_a_sentence(
    tmp_path, monkeypatch, capsys, exercise, lesson
):
    """Whether it is called from here, or only by another exercise."""
    monkeypatch.chdir(tmp_path)
    stub = f"def {exercise}(*args, **options):\n    raise NotImplementedError()"
    file = assemble(solve(tmp_path / "bob", {exercise: stub}), tmp_path / "bob.py")
    capsys.readouterr()
    names: dict = {"__name__": "__main__", "__file__": str(file)}
    monkeypatch.setattr(sys, "argv", [str(file), "lenet5", "--passes", "1"])
    with pytest.raises(SystemExit) as stopped:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    assert stopped.value.code == 2 and not Path("report.html").exists()
    said = f"bob.py still lacks {exercise} ({lesson}): write it, and assemble the file again\n"
    assert capsys.readouterr().err == said


def test_lessons_that_lack_are_named(capsys):
    assert main({"count_flops": len, "__file__": "/home/x/mine.py"}, {}, ["lenet5"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mine.py still lacks count_parameters (01_parameters), ")
    assert "classify (06_roofline)" in said and "count_flops" not in said


def test_an_op_without_a_rule_is_said_in_the_students_words(names, tmp_path, monkeypatch, capsys):
    def refuse(*args, **options):
        raise NotImplementedError("op_flops has no rule for fft")

    monkeypatch.chdir(tmp_path)
    assert main(names | {"count_flops": refuse}, {}, ["lenet5"]) == 2
    assert capsys.readouterr().err == "my_profiler.py: op_flops has no rule for fft\n"


def test_needed_are_exercises_or_given_with_their_lesson(names):
    for name, lesson in (NEEDED | NEEDED_TO_PREDICT).items():
        text = (ROOT / "modules" / lesson / f"{lesson}.py").read_text(encoding="utf-8")
        assert re.search(rf"^(def|class) {name}\b", text, re.M), name


# ── the command line ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["gpt5"], "invalid choice: 'gpt5'"),
        (["lenet5", "--tokens", "8"], "LeNet-5 takes no --tokens"),
        (["gpt2-small", "--image", "8"], "GPT-2 small takes no --image"),
        (["lenet5", "--batch", "0"], "must be at least 1, not 0"),
        (["lenet5", "-o", "no/report.html"], "no/report.html cannot be written"),
        (["lenet5", "-o", "."], ". cannot be written"),
        (["lenet5", "--at", "0"], "must be at least 1, not 0"),
        (["lenet5", "--at", "8", "--train"], "leave out --train"),
    ],
)
def test_arguments_that_cannot_be_used(names, tmp_path, monkeypatch, capsys, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(names, {}, arguments)
    assert stopped.value.code == 2 and sentence in capsys.readouterr().err


@pytest.mark.parametrize("model", sorted(CHOICES))
def test_every_model_is_made_and_takes_its_shape(model):
    choice = CHOICES[model]
    with meta():
        made = choice.make(choice.size)
    from proflab import example_input

    shape = choice.input_shape(2, choice.size)
    assert made(example_input(made, shape, meta=True)).shape[0] == 2 and shape[0] == 2


def test_sizes_can_be_chosen():
    assert CHOICES["gpt2-xl"].input_shape(3, 64) == (3, 64)
    assert CHOICES["bert-layer"].input_shape(3, 64) == (3, 64, 768)
    assert CHOICES["resnet18"].input_shape(3, 64) == (3, 3, 64, 64)
    assert CHOICES["lenet5"].input_shape(3, 32) == (3, 1, 32, 32)


# ── the page ─────────────────────────────────────────────────────────────────────────────────


class Page(html.parser.HTMLParser):
    """What a page loads, and whether every tag that is opened is closed."""

    VOID = ("meta", "wbr", "line", "rect", "circle", "polygon", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.tags = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def report(names, tmp_path_factory):
    """The page of a small convolutional network in training, and what was printed."""
    target = tmp_path_factory.mktemp("page") / "lenet.html"
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        arguments = ["lenet5", "--batch", "3", "--train", "--passes", "2", "-o", str(target)]
        assert main(names, {}, arguments) == 0
    return target.read_text(encoding="utf-8"), printed.getvalue()


def test_the_page_loads_nothing_and_is_well_formed(report):
    page = Page(report[0])
    assert page.open == [] and page.links == [] and "script" not in page.tags
    assert page.tags.count("svg") == 4 and page.tags.count("figure") == 4
    assert "@import" not in report[0] and "url(" not in report[0] and "http" not in report[0]
    assert '<html lang="en">' in report[0] and 'name="viewport"' in report[0]


def test_every_drawing_has_a_title_and_a_description(report):
    for drawing in re.findall(r"<svg.*?</svg>", report[0], re.S):
        assert re.match(r'<svg [^>]*role="img"[^>]*><title>[^<]+</title><desc>[^<]{20,}', drawing)


def test_page_and_table_say_the_same(report):
    page, printed = report
    assert printed_counts(printed) == expected_counts("lenet5", (3, 1, 32, 32), train=True)
    for line in printed.splitlines():
        if line.startswith(("parameters", "FLOPs of", "ridge", "memory of")):
            assert re.split(r"\s{2,}", line)[1] in page
    assert "ridge" in printed and "5 FLOPs a byte" in printed
    assert "conv2d" in printed and "written: " in printed


def test_shares_of_the_top_operations_are_those_of_the_time(report):
    shares = [float(s) for s in re.findall(r"\s([\d.]+)%  ", report[1])]
    assert len(shares) > 4 and sum(shares) == pytest.approx(100, abs=0.5)


# ── the drawings ─────────────────────────────────────────────────────────────────────────────


def row(op, module, start, ms, phase="forward"):
    return {"op": op, "module": module, "phase": phase, "start_ms": start, "ms": ms, "self_ms": ms}


def test_a_pass_that_the_model_refuses_is_said_in_a_sentence(names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(names, {}, ["mobilenet-v2", "--image", "32", "--train"]) == 2
    said = capsys.readouterr().err
    assert "a training step cannot be run: batch_norm: one value a channel has no variance" in said
    assert said.count("\n") == 1 and not [*tmp_path.iterdir()]


def test_a_page_that_cannot_be_written_is_said(names, tmp_path, monkeypatch, capsys):
    (tmp_path / "pages").mkdir()
    at = "proflab.standalone.cli"
    monkeypatch.setattr(f"{at}.measure", lambda *about: SimpleNamespace())
    monkeypatch.setattr(f"{at}._print_report", lambda report: (tmp_path / "pages").rmdir())
    monkeypatch.setattr(f"{at}.page", lambda report, when: "")
    with pytest.raises(SystemExit) as stopped:
        main(names, {}, ["lenet5", "-o", str(tmp_path / "pages/report.html")])
    assert stopped.value.code == 2
    assert "pages/report.html cannot be written: No such file" in capsys.readouterr().err


def test_roofs_take_as_many_products_and_copies_as_lesson_06(names, tmp_path, monkeypatch):
    """The default of both functions is 20; three rounds of it were three quarters of the time."""
    monkeypatch.chdir(tmp_path)
    asked = {"measure_peak_flops": [], "measure_bandwidth": []}

    def measured(name):
        return lambda *words, repeats: asked[name].append(repeats) or 1e10

    assert main(names | {name: measured(name) for name in asked}, {}, ["mlp", "--passes", "1"]) == 0
    assert all(len(repeats) == 3 and sum(repeats) in (20, 21) for repeats in asked.values())


def test_numbers_have_three_digits_and_no_exponent():
    told = [svg.rate(value, "B/s") for value in (27e9, 999.4e9, 999.7e9, 1e12, 12)]
    assert told == ["27 GB/s", "999 GB/s", "1 TB/s", "1 TB/s", "12 B/s"]
    assert [svg.digits(n) for n in (0.1712, 35, 999.7, 1495.2)] == ["0.171", "35", "1,000", "1,495"]
    assert [svg.digits(n, 4) for n in (999.7, 9999.7, 12345)] == ["999.7", "10,000", "12,345"]


def test_a_timeline_draws_every_operation_and_names_the_phases():
    rows = [row("linear", "blocks.0.fc", 5.0, 2.0), row("relu", "blocks.1", 7.0, 1.0)]
    all_rows = [*rows, row("linear", "blocks.0.fc", 8.0, 3.0, "backward")]
    drawn = svg.draw_timeline(all_rows, svg.colours(all_rows))
    for said in (
        "linear blocks.0.fc (forward): 2.000 ms",
        "backward: 3.00 ms",
        "blocks.1: 1.00 ms",
    ):
        assert f"<title>{said}</title>" in drawn
    assert "3 operations in 6 ms; most of it, 5 ms, is linear." in drawn
    drawn = svg.draw_timeline(rows, svg.colours(rows))
    assert "forward" not in drawn.replace("(forward)", "")  # one phase: no lane


def test_a_timeline_leaves_regions_out_and_escapes_names():
    region = row("region", "data <loading>", 0.0, 9.0)
    rows = [region, row("a<b", "x&y", 1.0, 1.0)]
    drawn = svg.draw_timeline(rows, svg.colours(rows))
    assert "loading" not in drawn and "a&lt;b x&amp;y" in drawn


def test_a_roofline_says_where_its_points_are():
    point = {"name": "linear fc", "op": "linear", "intensity": 50.0, "flops_per_second": 8e10}
    point |= {"attainable": 1e11, "efficiency": 0.8, "share": 0.9}
    drawn = svg.draw_roofline([point], Hardware(1e11, 2e10), 5.0, {"linear": "#0072B2"})
    said = "linear fc: 80 GFLOP/s at 50 FLOPs a byte, 80% of its roof, 90.0% of the time"
    assert f"<title>{said}</title>" in drawn
    assert "which meet at 5 FLOPs a byte, and 1 point below" in drawn
    assert "Most time is linear fc, at 80% of its roof." in drawn
    assert svg.draw_roofline([], Hardware(1e11, 2e10), 5.0, {}).startswith("<svg")
    odd = point | {"name": "f <g>"}
    odd = svg.draw_roofline([odd], Hardware(1e11, 2e10), 5.0, {"linear": "red"})
    assert "<title>f &lt;g&gt;: 80 GFLOP/s" in odd and "<g>" not in odd


def test_an_operation_has_one_colour_in_all_drawings_and_grey_is_named(report):
    """Each mark and each bar says what it is; of the grey ones the legend says so, too."""
    roofline, timeline, *_ = re.findall(r"<svg.*?</svg>", report[0], re.S)
    marks = r'fill="(#\w+)" fill-opacity[^>]*><title>(\w+)(?: [^<]*)?: '
    bars = r'height="34.0" fill="(#\w+)"><title>(\w+) '
    of_marks, of_bars = (
        {op: fill for fill, op in re.findall(*w)} for w in ((marks, roofline), (bars, timeline))
    )
    assert of_marks and {**of_bars, **of_marks} == of_bars
    rows = [row(f"op{n}", "", 10.0 * n, 10.0 - n) for n in range(9)]
    assert "others" in svg.draw_timeline(rows, svg.colours(rows))
    assert "others" not in svg.draw_timeline(rows[:7], svg.colours(rows[:7]))


def test_bars_are_as_long_as_their_values():
    drawn = svg.draw_bars({"a": 50.0, "b": 25.0, "c": 0.0}, "MB", "T")
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
    assert widths == [310.0, 155.0, 0.3] and "<desc>a 50.0 MB, b 25.0 MB, c 0.0 MB</desc>" in drawn


def test_rows_that_are_alike_are_added_up_and_stay_as_they_are():
    first = row("linear", "blocks.0.fc", 0.0, 2.0) | {"input_shapes": [(2, 3)]}
    counts = {"matmul_flops": 6, "elementwise_flops": 1, "bytes_read": 8, "bytes_written": 4}
    rows = [first | counts, first | counts | {"module": "blocks.11.fc"}]
    rows.append(first | counts | {"input_shapes": [(4, 3)]})
    one, other = add_up_alike(rows)
    assert (one["module"], one["matmul_flops"], one["self_ms"]) == ("blocks.*.fc", 12, 4.0)
    assert other["bytes_read"] == 8 and rows[0]["self_ms"] == 2.0
