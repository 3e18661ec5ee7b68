"""What holds for the text of every lesson, of its pictures and of its exercises' names."""

import ast
import json
import re
import runpy
import struct
from pathlib import Path

import jupytext
import pytest
from chosen import chosen
from docstrings import is_imperative
from PIL import Image

from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module
from proflab_course.tracks.read import Tracks

NO_TORCH = "torch is not installed: the box is compiled, and run by `make test-torch`"
COURSE = Course(Path(__file__).resolve().parents[2])
TRACK = Tracks.read(COURSE.root).track("term")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")


# Exercises and their points, then the essay. Hand-ins of earlier releases are graded by the names.
SYLLABUS = {
    "01_parameters": """
        linear_parameters 8 conv2d_parameters 14 attention_parameters 7 count_parameters 18
        parameter_memory_mb 16 parameter_table 14 gpt2_parameters 16 reflect_deployment 7
        essay_parameters""",
    "02_flops": """
        matmul_flops 8 linear_flops 8 conv2d_output_shape 9 conv2d_flops 14 attention_flops 18
        elementwise_flops 6 einsum_flops 8 op_flops 10 count_flops 22 gradient_flops 20
        backward_flops 7 training_flops 4 reflect_6nd 10 essay_flops""",
    "03_latency": """
        Timer 16 timer_resolution_ms 8 calibrate 14 measure_latency 26 latency_statistics 4
        confidence_interval 24 measurement_warnings 12 throughput 4 best_batch 16 essay_latency""",
    "04_memory": """
        MemoryTracker 4 measure_memory 14 saved_activations 20 optimizer_memory_mb 8
        training_memory 14 memory_table 4 find_leak 16.5 recomputed_gradients 19.5 checkpointed 8
        reflect_training_mb 6 essay_memory""",
    "05_profiler": """
        op_bytes 16 op_facts 10 self_times 14 record 12 top_operations 8 chrome_trace 8
        find_bottleneck 8 rows_at_ridge 8.5 triage 6 hot_functions 6 profiling_overhead 11.5
        samples_needed 8 profile_forward_pass 8 profile_layer 4 profile_backward_pass 0
        compare_architectures 6 essay_profiler""",
    "06_roofline": """
        arithmetic_intensity 6 ridge_point 4 attainable_flops 7 matmul_bytes 7 elementwise_bytes 6
        attention_bytes 0 measure_peak_flops 14 measure_bandwidth 16 write_allocate 0
        roofline_points 8 classify 12 inspect_step 8 chain 4 experts 4 fewer_passes 5
        mfu 4 amdahl 5 reflect_relu 3 essay_roofline""",
    "07_scaling": """
        local_exponents 8.5 fit_cost 15.5 holdout_error 8.5 batch_cost 10 predict_ms 23
        matmul_addresses 12 cache_misses 19.5 traffic_bound 6 order 10 set_misses 0
        speedup_steps 12 path 2 distances 8 reflect_crossover_tokens 5 essay_scaling""",
    "08_benchmarking": """
        run_order 7 rank_test 16.5 speedup_interval 8.5 gate 13 runs_interval 8
        compare_results 5 percentile_interval 0 response_times 14 quantize 12 sparse_bytes 2
        pareto 7 energy_joules 0 audit_speedups 7 audit_memory 0 essay_benchmarking""",
    "09_optimization": """
        diagnose 8.5 simulate_loader 13.5 loader_plan 5 half_gradients 8 scale_after 8 single_ops 4
        accumulate 8 recompute 11 checkpoint_plan 0 fuse 14 graph_bytes 10 attend 2 merge 8
        through_tiles 18 essay_optimization""",
    "10_cuda_roofline": """
        fma_lines 6 fma_flops 4 stream_line 5 stream_bytes 5 softmax_row 0 warp_sectors 14
        bank_conflicts 14 occupancy 14 events_to_ms 12 ceilings 14 place 14 energy_model 7
        crossover 4 gpu_mistakes 15 reflect_launch 3 reflect_speedup 3 essay_gpu""",
    "11_gpu_training": """
        gpu_busy 12 gap_causes 14 ops_table 12 step_report 8 interaction 2 train_epoch 9.5
        memory_peak 8.5 largest_hole 0 training_mfu 8 ring_allreduce 16 allreduce_ms 4 overlapped 8
        buckets 8 serial_share 0 sharded_bytes 0 essay_gpu_training""",
    "12_serving": """
        kv_bytes 7 generate 8 generation_flops 0 pass_ms 14 batch_limits 7 simulate_serving 19.5
        shared_pages 8 prefix_hits 0 best_draft 8.5 draft_acceptance 0 moe_parameters 7 round_to 7
        block_scaled 14 cheapest_batch 7 reflect_service 5 essay_service""",
}
# Exercises that take whatever they are given, or raise what the given code raises.
RAISING_NOTHING = {
    "MemoryTracker",
    "merge",
    "op_bytes",
    "ops_table",
    "recomputed_gradients",
    "roofline_points",
}
# Given code that stands between an exercise and its test.
BETWEEN = ("given", "text")

# The capstone is a program and not a course of sections: tests/lessons/test_lesson_13.py.
each_lesson = pytest.mark.parametrize("name", TRACK.lessons)


def cells_of(lesson):
    return read_module(COURSE.module(lesson), lesson)


def text_of(lesson):
    return COURSE.module(lesson).read_text("utf-8")


PICTURES = [(name, *p) for name in COURSE.lessons() for p in PICTURE.findall(text_of(name))]


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_jupytext_gives_the_same_text_back(lesson):
    text = text_of(lesson)
    config = {
        "notebook_metadata_filter": "kernelspec,accelerator,colab,"
        "-jupytext.text_representation.jupytext_version",
        "cell_metadata_filter": "nbgrader,tags",
    }
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["jupytext"].update(config)
    again = jupytext.reads(json.dumps(notebook), fmt="ipynb")
    assert jupytext.writes(again, fmt="py:percent") == text


@each_lesson
def test_exercises_points_and_essay_are_those_of_the_syllabus(name):
    lesson, points = cells_of(name), {}
    for cell in lesson.named("exercise"):
        points[cell.name] = 0
    for cell in lesson.named("test"):
        points[re.sub(r"^test_|_\d+$", "", cell.name)] += cell.points
    [essay] = lesson.named("manual")
    told = [f"{exercise} {worth:g}" for exercise, worth in points.items()]
    assert " ".join([*told, essay.name]).split() == SYLLABUS[name].split()
    term = sum(points[exercise] for exercise in TRACK.exercises[name])
    assert (term, essay.points) == (100, 10)
    assert "**Mark scheme.**" in essay.source


@each_lesson
def test_each_exercise_has_its_test_below(name):
    cells = [cell for cell in cells_of(name).cells if cell.role not in BETWEEN]
    for cell, below in zip(cells, cells[1:], strict=False):
        assert cell.role != "exercise" or below.name == f"test_{cell.name}"


@each_lesson
def test_docstrings_are_imperatives_and_name_errors_and_what_is_optional(name):
    optional = set(re.findall(r"(\w+) 0\b", SYLLABUS[name]))
    for cell in cells_of(name).named("exercise"):
        [node] = [n for n in cell.statements() if getattr(n, "name", "") == cell.name]
        parts = [
            ast.get_docstring(each) or ""
            for each in (node, *node.body)
            if isinstance(each, (ast.FunctionDef, ast.ClassDef))
        ]
        assert is_imperative(parts[0]), cell.name
        named = re.search(r"Raises\s|\w+Error", " ".join(parts)) is not None
        assert not (named and cell.name in RAISING_NOTHING), cell.name
        if name >= "08":
            assert ("(Optional.)" in parts[0]) == (cell.name in optional), cell.name
    if name >= "08":
        assert text_of(name).count("**Optional.**") == len(optional)


@each_lesson
def test_no_paragraph_has_two_bare_dollar_signs(name):
    """JupyterLab, Colab and VS Code would show what stands between them as a formula."""
    for cell in cells_of(name).named("text"):
        text = re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL)
        for paragraph in text.split("\n\n"):
            assert len(re.findall(r"(?<!\\)\$", paragraph)) < 2, paragraph


@each_lesson
def test_each_lesson_says_that_arguments_stay_as_they_are(name):
    assert "arguments stay as they are" in text_of(name).lower()


@pytest.mark.whole
@pytest.mark.parametrize("name", COURSE.lessons())
def test_what_lies_beside_a_lesson_imports_matplotlib_only_to_draw(name):
    """A session that draws nothing would take a tenth of a second to import it."""
    folder = COURSE.module(name).parent
    for path in folder.glob("*.py"):
        for statement in ast.parse(path.read_text("utf-8")).body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                assert "matplotlib" not in ast.unparse(statement), path


@each_lesson
def test_each_guess_is_none_and_compared_once_in_a_later_demo_cell(name):
    cells = cells_of(name).cells
    asked = [place for place, cell in enumerate(cells) if "guess" in cell.tags]
    assert 3 <= len(asked) <= 8
    for place, line in ((n, line) for n in asked for line in cells[n].source.splitlines()):
        guess = re.fullmatch(r"(guess_\w+) = None  # your guess.*", line)[1]
        used = re.compile(rf"compare\((?:\s*[^\n]*\n)?[^\n]*\b{guess}\b")
        users = [(n, cell.role) for n, cell in enumerate(cells) if used.search(cell.source)]
        assert [role for _, role in users] == ["demo"] and users[0][0] > place, guess


@each_lesson
def test_hints_are_folded_and_come_in_pairs(name):
    text = text_of(name)
    first, second = (text.count(f"<details><summary>Hint {n}: ") for n in (1, 2))
    assert first == second > 0


@pytest.mark.parametrize("lesson, description, picture", PICTURES)
def test_pictures_in_the_text_are_there_small_and_described(lesson, description, picture):
    data = (COURSE.module(lesson).parent / picture).read_bytes()
    assert len(data) < 100_000
    width, height = struct.unpack(">II", data[16:24])
    assert 400 < width < 1200 and height < 600
    assert len(description) > 60


@pytest.mark.parametrize("lesson, description, picture", PICTURES)
def test_a_picture_in_the_text_is_a_card_with_round_corners(lesson, description, picture):
    """On white nobody sees its edge; in the dark it has one, and its letters keep their ground."""
    with Image.open(COURSE.module(lesson).parent / picture) as card:
        assert card.mode == "RGBA"
        right, bottom = (length - 1 for length in card.size)
        for x, y in ((0, 0), (right, 0), (0, bottom), (right, bottom)):
            assert card.getpixel((x, y)) == (255, 255, 255, 0)
        for x, y in ((right // 2, 0), (0, bottom // 2), (right // 2, bottom), (right, bottom // 2)):
            assert card.getpixel((x, y)) == (255, 255, 255, 255)
        inside = card.getchannel("A").crop((5, 5, right - 5, bottom - 5))
        assert inside.getextrema() == (255, 255)


@pytest.mark.parametrize("lesson", chosen(TRACK.lessons, TRACK.lessons[:3]))
def test_pictures_are_drawn_by_their_script(lesson, monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    script = runpy.run_path(str(COURSE.root / "docs" / "pictures" / f"lesson_{lesson[:2]}.py"))
    names = [picture.stem for picture in COURSE.module(lesson).parent.glob("*.png")]
    assert names
    for name in names:
        picture = script[name]()
        assert picture.alt and picture.png(dpi=40).startswith(b"\x89PNG"), name


@pytest.mark.torch
@each_lesson
def test_the_box_on_torch_has_one_piece_of_code_that_runs(name, tmp_path, monkeypatch):
    cells = read_module(COURSE.module(name), name).cells
    text = "\n\n## \n".join(cell.source for cell in cells if cell.role == "text")
    (box,) = re.findall(r"^### In torch$(.*?)^##? ", f"{text}\n## ", re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", box, re.DOTALL)
    program = compile(code, f"{name}, In torch", "exec")
    assert "torch" in code and len(code.strip().splitlines()) <= 14
    pytest.importorskip("torch", reason=NO_TORCH)
    monkeypatch.chdir(tmp_path)  # a box may write a file
    exec(program, {"__name__": "box"})
